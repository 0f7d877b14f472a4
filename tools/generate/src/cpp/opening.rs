//! The options of `open()`, and how those of C are made of them. Functions and names are written by hand.

use super::Cpp;
use crate::c::opening::{name, ordered};
use crate::model::{OpenOption, OptionKind};

/// The options of C++, which has the types of its own library for them.
pub(super) fn options(cpp: &Cpp<'_>) -> String {
    let each = plain(cpp).map(|option| {
        let name = &option.name;
        match &option.kind {
            OptionKind::List => format!("    std::vector<std::string> {name} = {{}};\n"),
            OptionKind::Time => format!("    std::chrono::milliseconds {name} = {{}};\n"),
            OptionKind::Switch => format!("    bool {name} = false;\n"),
            OptionKind::YesNo => format!("    std::optional<bool> {name} = {{}};\n"),
            OptionKind::Number => format!("    std::uint32_t {name} = 0;\n"),
            OptionKind::NumberOrZero => format!("    std::optional<std::int32_t> {name} = {{}};\n"),
            OptionKind::Choice(of) => format!("    {of} {name} = {of}::standard;\n"),
            _ => format!("    std::optional<std::string> {name} = {{}};\n"),
        }
    });
    each.collect()
}

/// The statements that pass them on to C. A list is an array of pointers before.
pub(super) fn passed(cpp: &Cpp<'_>) -> String {
    let each = plain(cpp).map(|option| {
        let (name, c) = (&option.name, name(option));
        match &option.kind {
            OptionKind::List => {
                format!("    c.{c} = {name}.data();\n    c.{c}_count = {name}.size();\n")
            }
            OptionKind::Time => format!("    c.{c} = detail::milliseconds(options.{name});\n"),
            OptionKind::YesNo => format!("    c.{c} = detail::choice(options.{name});\n"),
            OptionKind::NumberOrZero => {
                format!("    c.{c} = detail::number_or_zero(options.{name});\n")
            }
            OptionKind::Choice(_) => {
                format!("    c.{c} = static_cast<std::int32_t>(options.{name});\n")
            }
            OptionKind::Switch | OptionKind::Number => format!("    c.{c} = options.{name};\n"),
            _ => format!("    c.{c} = detail::text(options.{name});\n"),
        }
    });
    let lists = plain(cpp).filter(|option| option.kind == OptionKind::List);
    let lists: String = lists
        .map(|OpenOption { name, .. }| {
            format!("    const std::vector<const char *> {name} = detail::texts(options.{name});\n")
        })
        .collect();
    format!("{lists}    seconder_open_options c = {{}};\n{}", each.collect::<String>())
}

fn plain<'a>(cpp: &'a Cpp<'_>) -> impl Iterator<Item = &'a OpenOption> {
    let options = ordered(&cpp.plan.interface.options).into_iter();
    options.filter(|option| !matches!(option.kind, OptionKind::Names | OptionKind::Function(_)))
}

//! The options of `seconder_open`: `src/capi/generated/open_options.rs`.

use super::Plan;
use super::source::Source;
use crate::Result;
use crate::docs::Translator;
use crate::model::{OpenOption, OptionKind};
use crate::text::{alternatives, constant, continued, doc_comment, with_form};

/// The functions of Rust that C has too, by their traits.
const FUNCTIONS: [(&str, &str); 3] =
    [("Deliver", "deliver"), ("Post", "post"), ("NumberLookup", "lookup")];

/// A field of the struct.
struct Field {
    name: String,
    rust: String,
    docs: String,
}

/// The options in the order of C: those with pointers, numbers, flags, and functions at last, which take three fields.
pub(crate) fn ordered(options: &[OpenOption]) -> Vec<&OpenOption> {
    let size = |option: &&OpenOption| match option.kind {
        OptionKind::Function(_) => 3,
        OptionKind::Switch => 2,
        OptionKind::Time
        | OptionKind::YesNo
        | OptionKind::Number
        | OptionKind::NumberOrZero
        | OptionKind::Choice(_) => 1,
        _ => 0,
    };
    let is_ours = |option: &&OpenOption| match &option.kind {
        OptionKind::Key => false,
        OptionKind::Function(of) => FUNCTIONS.iter().any(|(known, _)| known == of),
        _ => true,
    };
    let mut ours: Vec<&OpenOption> = options.iter().filter(is_ours).collect();
    ours.sort_by_key(size);
    ours
}

/// The name of an option in C.
pub(crate) fn name(option: &OpenOption) -> String {
    match option.kind {
        OptionKind::Time => format!("{}_ms", option.name),
        _ => option.name.clone(),
    }
}

pub(super) fn file(plan: &Plan<'_>) -> Result<String> {
    let options = ordered(&plan.interface.options);
    let mut source = Source::new("src/open_options.rs and src/app_settings.rs", "open_options");
    source.import("crate::capi::ffi", "Flag");
    source.import("crate::capi::ffi", "Plain");
    source.import("crate::capi::names", "seconder_names");
    source.import("crate::capi::settings", "Field");
    source.import("crate::capi::userdata", "seconder_userdata_free");
    source.import("std::ffi", "c_char");
    source.import("std::ffi", "c_void");
    let mut text = "\
        /// Options of seconder_open(). Nothing is read from the environment, and every text is copied.\n\
        /// An option says which URLs it is for: \"Remote service\" is https: (and http: to this machine)\n\
        /// and unix:, \"Network\" the former alone, \"Socket\" the latter alone, \"Engine\" is sqlite:,\n\
        /// postgres: and sandbox:. An option that is set and has no effect with the URL is\n\
        /// SECONDER_INVALID_ARGUMENT, so that no program relies on it.\n\
        #[derive(Clone, Copy)]\n#[repr(C)]\npub struct seconder_open_options {\n"
        .to_owned();
    for option in &options {
        for field in fields(&mut source, plan, option)? {
            text += &doc_comment(&[field.docs], 4);
            text += &format!("    pub {}: {},\n", field.name, field.rust);
        }
    }
    text += "}\n\n// SAFETY: numbers, pointers, and functions that may be NULL.\n\
             unsafe impl Plain for seconder_open_options {}\n";
    source.add(&text);
    source.add(&values(&options));
    Ok(source.finish())
}

/// The function that returns the values.
fn values(options: &[&OpenOption]) -> String {
    let mut values = Vec::new();
    for option in options {
        let (kind, name) = (&option.kind, name(option));
        let value = match kind {
            OptionKind::Names | OptionKind::Function(_) | OptionKind::Key => continue,
            OptionKind::List => format!("Texts(\"{name}_count\", self.{name}, self.{name}_count)"),
            OptionKind::Time => format!("Milliseconds(self.{name})"),
            OptionKind::Switch => format!("Switch(self.{name})"),
            OptionKind::YesNo | OptionKind::Choice(_) => format!("Choice(self.{name})"),
            OptionKind::Number => format!("Number(self.{name})"),
            OptionKind::NumberOrZero => format!("NumberOrZero(self.{name})"),
            _ => format!("Text(self.{name})"),
        };
        values.push(format!("(\"{}\", Field::{value})", option.name));
    }
    format!(
        "impl seconder_open_options {{\n    \
         /// The options but names and functions, by their names in other languages.\n    \
         pub(in crate::capi) fn fields(&self) -> [(&'static str, Field); {}] {{\n        [{}]\n    }}\n}}\n",
        values.len(),
        values.join(", ")
    )
}

fn fields(source: &mut Source, plan: &Plan<'_>, option: &OpenOption) -> Result<Vec<Field>> {
    let name = name(option);
    let docs = documented(plan, option)?;
    let field = |name: &str, rust: &str, docs: &str| Field {
        name: name.to_owned(),
        rust: rust.to_owned(),
        docs: docs.to_owned(),
    };
    Ok(match &option.kind {
        OptionKind::List => vec![
            field(&name, "*const *const c_char", &docs),
            field(
                &format!("{name}_count"),
                "usize",
                &format!("The number of texts at `{name}`, at most 1000."),
            ),
        ],
        OptionKind::Names => vec![
            field(&name, "*const seconder_names", &docs),
            field(
                &format!("{name}_size"),
                "usize",
                &format!("The size of the struct at `{name}`: `sizeof *{name}`."),
            ),
        ],
        OptionKind::Function(of) => {
            let known = FUNCTIONS.iter().find(|(known, _)| known == of);
            let (_, module) = known.ok_or_else(|| format!("{name}: C has no such function"))?;
            source.import(&format!("crate::capi::{module}"), &format!("seconder_{module}"));
            vec![
                field(&name, &format!("seconder_{module}"), &docs),
                field(
                    &format!("{name}_userdata"),
                    "*mut c_void",
                    &format!(
                        "Passed to `{name}`. It must be safe to use from many threads at once."
                    ),
                ),
                field(
                    &format!("{name}_userdata_free"),
                    "seconder_userdata_free",
                    &format!(
                        "Called exactly once with `{name}_userdata`, when nothing can use it any longer: \
                         at the latest when the last service that shares it is freed, and before \
                         seconder_open() returns if it fails."
                    ),
                ),
            ]
        }
        OptionKind::Time | OptionKind::Number => vec![field(&name, "u32", &docs)],
        OptionKind::Choice(_) | OptionKind::YesNo | OptionKind::NumberOrZero => {
            vec![field(&name, "i32", &docs)]
        }
        OptionKind::Switch => vec![field(&name, "Flag", &docs)],
        _ => vec![field(&name, "*const c_char", &docs)],
    })
}

/// The sentences of an option, after the URLs that it is for.
fn documented(plan: &Plan<'_>, option: &OpenOption) -> Result<String> {
    let translator = Translator::of_options(plan.interface, plan);
    let at = |e: String| format!("{}: {e}", option.name);
    let mut text = translator.translate(&option.docs).map_err(at)?;
    match &option.kind {
        OptionKind::YesNo => {
            text = text.replacen(": yes or no", ": SECONDER_YES or SECONDER_NO", 1)
        }
        OptionKind::NumberOrZero => text = text.replacen("; 0 ", "; -1 ", 1),
        OptionKind::Choice(name) => text = with_constants(plan, name, &text)?,
        OptionKind::Time => text = with_form(&text, "In milliseconds."),
        _ => {}
    }
    Ok(format!(
        "{}{}",
        scope(&option.scope),
        match option.scope.as_str() {
            "All" => text,
            _ => continued(&text),
        }
    ))
}

/// The URLs that an option is for, before its description.
pub(crate) fn scope(scope: &str) -> &'static str {
    match scope {
        "Client" => "Remote service: ",
        "Network" => "Network: ",
        "Outgoing" => "Network and engine: ",
        "Socket" => "Socket: ",
        "Engine" => "Engine: ",
        "Database" => "`sqlite:` and `postgres:`: ",
        _ => "",
    }
}

/// The description with the constants of an enum in place of its names.
fn with_constants(plan: &Plan<'_>, name: &str, text: &str) -> Result<String> {
    let found = plan.interface.find_enum(name).ok_or_else(|| format!("no file declares {name}"))?;
    let names: Vec<String> = found.variants.iter().map(|variant| variant.name.clone()).collect();
    let constants: Vec<String> = found
        .variants
        .iter()
        .map(|variant| format!("SECONDER_{}_{}", constant(name), constant(&variant.rust)))
        .collect();
    let constants = alternatives(&constants);
    let general = format!(": {}.", alternatives(&names));
    Ok(match text.contains(&general) {
        true => text.replacen(&general, &format!(": {constants}."), 1),
        false => with_form(text, &format!("{constants}.")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model;
    use std::path::Path;

    #[test]
    fn options_have_the_types_and_the_words_of_c() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let interface = model::read(&root).unwrap();
        let plan = Plan::new(&interface).unwrap();
        let text = file(&plan).unwrap();
        for wanted in [
            "    pub timeout_ms: u32,\n",
            "    /// Remote service: the format of responses: SECONDER_FORMAT_JSON or SECONDER_FORMAT_XML.\n",
            "    pub pins_count: usize,\n",
            "(\"pins\", Field::Texts(\"pins_count\", self.pins, self.pins_count))",
            "(\"offline_days\", Field::NumberOrZero(self.offline_days))",
            "    pub lookup_userdata_free: seconder_userdata_free,\n",
        ] {
            assert!(text.contains(wanted), "{wanted}\n{text}");
        }
        assert!(!text.contains("pub clock") && !text.contains("pub api_key"), "{text}");
    }
}

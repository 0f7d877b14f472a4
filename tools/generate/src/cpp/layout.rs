//! The layout of C++: at most 100 columns, and arguments below each other.

const WIDTH: usize = 100;

/// Items after a bracket, in lines that fit. Further lines begin below the first item, or, if that
/// leaves no space, all lines begin below the statement.
pub(super) fn list(open: &str, items: &[String], close: &str) -> String {
    let one = aligned(open, items, close);
    if fits(&one) {
        return one;
    }
    let indent = open.len() - open.trim_start().len() + 4;
    format!("{open}\n{}", aligned(&" ".repeat(indent), items, close))
}

/// Items after a bracket, below each other unless they fit on one line.
fn aligned(open: &str, items: &[String], close: &str) -> String {
    let (mut text, mut line) = (String::new(), open.to_owned());
    for (number, item) in items.iter().enumerate() {
        let end = if number + 1 < items.len() { "," } else { close };
        let fits = line.len() + 1 + item.len() + end.len() <= WIDTH;
        match number {
            0 => {}
            _ if fits => line.push(' '),
            _ => {
                text += &format!("{line}\n");
                line = " ".repeat(open.len());
            }
        }
        line += &format!("{item}{end}");
    }
    if items.is_empty() {
        line += close;
    }
    text + &line
}

fn fits(text: &str) -> bool {
    text.lines().all(|line| line.len() <= WIDTH)
}

/// The margin of the functions of a class.
pub(super) const MEMBER: &str = "    ";

/// The first lines of a function. Its type has a line of its own if there is no space for an
/// argument after it.
pub(super) fn head(
    margin: &str,
    returns: &str,
    name: &str,
    parameters: &[String],
    after: &str,
) -> String {
    let space = if returns.ends_with('*') { "" } else { " " };
    let close = format!("){after}");
    let one = aligned(&format!("{margin}{returns}{space}{name}("), parameters, &close);
    match fits(&one) {
        true => one,
        false => {
            let rest = list(&format!("{margin}{name}("), parameters, &close);
            format!("{margin}{returns}\n{rest}")
        }
    }
}

/// A function, on one line if it fits. `body` has the indent of statements.
pub(super) fn function(margin: &str, head: &str, body: &str) -> String {
    let one = format!("{head} {{ {} }}\n", body.trim());
    match one.lines().count() == 1 && fits(&one) {
        true => one,
        false => format!("{head}\n{margin}{{\n{body}\n{margin}}}\n"),
    }
}

/// The first line of a class with a base, which is a template.
pub(super) fn class(name: &str, base: &str, arguments: &[String]) -> String {
    let one = aligned(&format!("class {name} : public {base}<"), arguments, "> {");
    match one.lines().count() {
        1 => one,
        _ => format!("class {name}\n{}", list(&format!("    : public {base}<"), arguments, "> {")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_below_each_other() {
        let items = vec!["std::uint64_t argument".to_owned(); 4];
        let text = head(MEMBER, "Done", "function", &items, " const");
        assert_eq!(text.lines().count(), 2);
        assert!(text.lines().nth(1).unwrap().starts_with("                  std::"));
        assert!(
            function(MEMBER, &text, "        return 1;")
                .ends_with("\n    {\n        return 1;\n    }\n")
        );
    }

    #[test]
    fn a_type_has_its_own_line_if_no_argument_fits_after_it() {
        let name = "a_name_of_more_than_fifty_characters_that_something_long_has";
        let text = ["std::string_view text".to_owned()];
        let text = head(MEMBER, "std::optional<bool>", name, &text, "");
        assert!(text.starts_with("    std::optional<bool>\n    a_name"));
    }

    #[test]
    fn long_items_are_below_the_statement() {
        let item = "i".repeat(80);
        let text = list("        return function(", std::slice::from_ref(&item), ");");
        assert_eq!(text, format!("        return function(\n            {item});"));
    }

    #[test]
    fn short_functions_are_on_one_line() {
        let head = head(MEMBER, "const char *", "name", &[], " const");
        assert_eq!(
            function(MEMBER, &head, "        return name_;"),
            "    const char *name() const { return name_; }\n"
        );
    }
}

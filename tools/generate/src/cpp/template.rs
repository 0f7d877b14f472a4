//! The functions of the template that are written by hand, and those that follow from them.

use super::layout::{function, head, list};
use std::collections::BTreeMap;

/// Beginnings of functions that return a `Result`.
const STARTS: [&str; 3] = ["Result<", "static Result<", "inline Result<"];

/// The functions that throw, of each class and of none, for those of the template that return a
/// `Result`. They have the same documentation.
pub(super) fn throwing(template: &str) -> BTreeMap<String, String> {
    let lines: Vec<&str> = template.lines().collect();
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut class = "";
    for (at, line) in lines.iter().enumerate() {
        match line.strip_prefix("class ").filter(|rest| !rest.ends_with(';')) {
            Some(rest) => class = rest.split(' ').next().unwrap_or_default(),
            None if *line == "};" => class = "",
            None => {}
        }
        let is_function = STARTS.iter().any(|start| line.trim_start().starts_with(start));
        let text = is_function.then(|| counterpart(&signature(&lines[at..]))).flatten();
        let Some(text) = text else { continue };
        let documented = lines[..at].iter().rev().take_while(|line| is_comment(line)).count();
        let docs: String = lines[at - documented..at].iter().map(|l| format!("{l}\n")).collect();
        let name = match class {
            "" => "functions that throw".to_owned(),
            class => format!("functions of {class} that throw"),
        };
        let all = found.entry(name).or_default();
        if !all.is_empty() && !text.ends_with(" = delete;\n") {
            all.push('\n');
        }
        *all += &format!("{docs}{text}");
    }
    found
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("///")
}

/// The first lines of a function on one line, without its body.
fn signature(lines: &[&str]) -> String {
    let mut signature = lines[0].to_owned();
    for line in &lines[1..] {
        if signature.ends_with([';', '{', '}']) || line.trim() == "{" {
            break;
        }
        signature += &format!(" {}", line.trim());
    }
    signature
}

/// The function that throws, for one that returns a `Result`.
fn counterpart(signature: &str) -> Option<String> {
    let (before, rest) = signature.split_once("Result<")?;
    let (returned, rest) = rest.split_once("> try_")?;
    let (name, rest) = rest.split_once('(')?;
    let (parameters, after) = rest.rsplit_once(')')?;
    let margin = &before[..before.len() - before.trim_start().len()];
    let parameters: Vec<String> =
        parameters.split(", ").filter(|one| !one.is_empty()).map(str::to_owned).collect();
    let returns = format!("{}{returned}", before.trim_start());
    let head = head(margin, &returns, name, &parameters, after);
    if after.ends_with(';') {
        // Another function is defined where its type is complete.
        return after.ends_with(" = delete;").then(|| format!("{head}\n"));
    }
    let names: Vec<String> = parameters.iter().filter_map(|one| name_of(one)).collect();
    let returning = if returned == "void" { "" } else { "return " };
    let body = list(&format!("{margin}    {returning}try_{name}("), &names, ").value();");
    Some(function(margin, &head, &body))
}

/// The name in a declaration such as `const Text &number = nullptr`.
fn name_of(parameter: &str) -> Option<String> {
    let name = parameter.split(" = ").next()?.rsplit(' ').next()?;
    Some(name.trim_start_matches(['&', '*']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_return_a_result_have_counterparts_that_throw() {
        let template = "class Totp : public Handle {\n    /// A code.\n    Result<Code> \
                        try_code(const Text &name,\n        Time now = Time(5)) const\n    {\n    \
                        }\n    Result<View> try_key() const && = delete;\n    Result<int> \
                        try_later() const;\n};\ninline Result<void> try_sign()\n{\n}\n";
        let found = throwing(template);
        assert_eq!(
            found["functions of Totp that throw"],
            "    /// A code.\n    Code code(const Text &name, Time now = Time(5)) const { return \
             try_code(name, now).value(); }\n    View key() const && = delete;\n"
        );
        assert_eq!(found["functions that throw"], "inline void sign() { try_sign().value(); }\n");
    }
}

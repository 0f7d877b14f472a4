//! Templates: files that are written by hand, with places for generated parts.

use crate::Result;
use std::collections::BTreeMap;

/// The template with each part in its place: a line of the part's name between `@`.
pub(crate) fn fill(template: &str, mut parts: BTreeMap<String, String>) -> Result<String> {
    let mut text = String::new();
    for line in template.lines() {
        let name = line.trim().strip_prefix('@').and_then(|rest| rest.strip_suffix('@'));
        text += &match name {
            Some(name) => parts.remove(name).ok_or_else(|| format!("unknown part: {name}"))?,
            None => format!("{line}\n"),
        };
    }
    match parts.keys().next() {
        Some(name) => Err(format!("has no line @{name}@")),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_take_the_lines_of_their_names() {
        let parts = || BTreeMap::from([("calls".to_owned(), "one\ntwo\n".to_owned())]);
        assert_eq!(fill("a\n    @calls@\nb\n", parts()).unwrap(), "a\none\ntwo\nb\n");
        assert_eq!(fill("a\n", parts()).unwrap_err(), "has no line @calls@");
        assert_eq!(fill("@replies@\n", parts()).unwrap_err(), "unknown part: replies");
    }
}

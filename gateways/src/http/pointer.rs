//! JSON pointers (RFC 6901), in which `*` also stands for every item of a list.

use serde_json::Value;

/// A pointer to values of a response.
pub(super) struct Pointer(Vec<String>);

impl Pointer {
    /// Reads a pointer, such as `/messages/*/status`.
    pub(super) fn read(text: &str) -> Option<Pointer> {
        let steps = text.strip_prefix('/')?.split('/');
        Some(Pointer(steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect()))
    }

    /// Parses a pointer, or the name of a field.
    pub(super) fn or_name(text: &str) -> Option<Pointer> {
        match text.starts_with('/') {
            true => Pointer::read(text),
            false => (!text.is_empty()).then(|| Pointer(vec![text.to_owned()])),
        }
    }

    /// Returns the values that the pointer leads to: several if it goes through the items of a
    /// list.
    pub(super) fn all<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        self.0.iter().fold(vec![value], |found, step| {
            found.into_iter().flat_map(|value| next(value, step)).collect()
        })
    }

    /// Returns the first text or number that the pointer leads to.
    pub(super) fn text(&self, value: &Value) -> Option<String> {
        self.all(value).into_iter().find_map(text)
    }
}

fn next<'v>(value: &'v Value, step: &str) -> Vec<&'v Value> {
    match value {
        Value::Array(items) if step == "*" => items.iter().collect(),
        Value::Array(items) => {
            step.parse().ok().and_then(|index: usize| items.get(index)).into_iter().collect()
        }
        Value::Object(fields) => fields.get(step).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Returns a value as text: providers write `"0"`, `0` and `false` for one and the same thing.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pointer_leads_through_objects_and_lists() {
        let value = json!({"a": [{"b": 1}, {"b": "2"}, {"c": 3}], "d/e": {"~": true}, "": null});
        let found = |pointer: &str| -> Vec<String> {
            let found = Pointer::read(pointer).unwrap();
            found.all(&value).into_iter().filter_map(text).collect()
        };
        assert_eq!(found("/a/0/b"), ["1"]);
        assert_eq!(found("/a/*/b"), ["1", "2"]);
        assert_eq!(found("/d~1e/~0"), ["true"]);
        for nothing in ["/a/9/b", "/a/b", "/x", "/a/0/b/c", "/"] {
            assert!(found(nothing).is_empty(), "{nothing}");
        }
        assert!(Pointer::read("").is_none() && Pointer::read("a/b").is_none());
    }
}

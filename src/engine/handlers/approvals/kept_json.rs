//! Reads stored JSON as it was when it was checked: serde_json would read another value of some names and numbers.

use crate::Result;
use crate::calls::Logo;
use crate::engine::store::{Approval, damaged};
use crate::wire::json;
use serde_json::{Map, Value};

/// The value of a column.
pub(in crate::engine) fn value(text: &str, [table, column]: [&str; 2]) -> Result<Value> {
    json::read(text.as_bytes()).map_err(|_| damaged(table, column))
}

/// Returns the details of a request.
pub(in crate::engine) fn details(row: &Approval) -> Result<Map<String, Value>> {
    object(&row.details, "details")
}

/// Returns the details that are not shown to the user.
pub(in crate::engine) fn hidden_details(row: &Approval) -> Result<Map<String, Value>> {
    object(&row.hidden_details, "hidden_details")
}

/// Returns the pictures of a request.
pub(in crate::engine) fn logos(row: &Approval) -> Result<Vec<Logo>> {
    let logos = value(&row.logos, ["approvals", "logos"])?;
    serde_json::from_value(logos).map_err(|_| damaged("approvals", "logos"))
}

fn object(text: &str, column: &str) -> Result<Map<String, Value>> {
    match value(text, ["approvals", column])? {
        Value::Object(fields) => Ok(fields),
        _ => Err(damaged("approvals", column)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_as_it_is_or_is_damaged() {
        let read = |text| object(text, "details");
        let reserved = r#"{"a":{"$serde_json::private::Number":"1"}}"#;
        assert!(read(reserved).unwrap()["a"].is_object());
        for bad in ["", "{", "[]", r#"{"a":1,"a":2}"#] {
            assert!(read(bad).unwrap_err().to_string().contains("invalid details"), "{bad}");
        }
    }
}

//! The parameters of a request. Clients send them in the query, as a form or as JSON, and some
//! send a form with GET: all of these are read, and told apart by what is there.

use seconder::wire::{form, json};
use seconder::{Error, Result};
use serde_json::{Map, Value};

/// Reads the query and the body. A parameter that is in both is refused, because two readers could
/// read it differently.
pub(crate) fn read(query: &str, body: &[u8], media_type: &str) -> Result<Map<String, Value>> {
    let mut params = form::read(query)?;
    for (name, value) in read_body(body, media_type)? {
        if params.contains_key(&name) {
            return Err(twice(&name));
        }
        params.insert(name, value);
    }
    Ok(params)
}

fn read_body(body: &[u8], media_type: &str) -> Result<Map<String, Value>> {
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_none() {
        return Ok(Map::new());
    }
    if first == Some(&b'{') || media_type.to_ascii_lowercase().contains("json") {
        return match json::read(body) {
            Ok(Value::Object(params)) => Ok(params),
            Ok(_) => Err(bad("must be a JSON object")),
            Err(Error::InvalidResponse { message }) => Err(bad(&format!("is {message}"))),
            Err(other) => Err(other),
        };
    }
    form::read(std::str::from_utf8(body).map_err(|_| bad("is neither a form nor JSON"))?.trim())
}

fn twice(name: &str) -> Error {
    Error::InvalidArgument { parameter: form::shown(name).into(), reason: "is there twice".into() }
}

fn bad(reason: &str) -> Error {
    Error::InvalidArgument { parameter: "body".into(), reason: reason.to_owned().into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_whatever_is_there() {
        let wanted = json!({"user": {"email": "a@b", "cellphone": "1"}});
        let form = "user[email]=a%40b&user[cellphone]=1";
        let json = r#" {"user":{"email":"a@b","cellphone":"1"}}"#;
        for (query, body, media_type) in [
            (form, "", ""),
            ("", form, "application/x-www-form-urlencoded"),
            ("", form, ""),
            ("", json, "application/json; charset=utf-8"),
            ("", json, "text/plain"),
            (form, "\r\n", ""),
        ] {
            assert_eq!(Value::Object(read(query, body.as_bytes(), media_type).unwrap()), wanted);
        }
        let both = read("a=1", br#"{"b":2}"#, "application/json").unwrap();
        assert_eq!(Value::Object(both), json!({"a": "1", "b": 2}));
    }

    #[test]
    fn refuses_what_is_ambiguous_or_neither() {
        for (query, body, media_type) in [
            ("a=1", "a=1", ""),
            ("a=1", r#"{"a":1}"#, ""),
            ("", r#"{"a":1,"a":2}"#, ""),
            ("", "[1]", "application/json"),
            ("", "a=1", "application/json"),
            ("", "a=%ff", ""),
        ] {
            assert!(read(query, body.as_bytes(), media_type).is_err(), "{query} {body}");
        }
        assert!(read("", b"\xff", "").is_err());
        let tag = read("a%3E%3Cb=1", br#"{"a><b":1}"#, "").unwrap_err();
        assert_eq!(tag.to_string(), "parameters is there twice");
    }
}

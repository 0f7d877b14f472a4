//! The parameters of a request. Clients send them in the query, as a form, as JSON or as XML, and
//! some send a form with GET, so both the query and the body are read with every method.

use super::{BODY_LIMIT, BodyError, RawRequest, multipart};
use crate::wire::{Wiping, form, json, wipe, xml};
use crate::{Error, Result};
use serde_json::{Map, Value};

/// The bytes that some programs write before text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The parameters of a request. They are wiped when they are dropped, because they may include a
/// code or a key.
pub(super) struct Params(Map<String, Value>);

impl Params {
    pub(super) fn read(request: &RawRequest) -> Result<Params> {
        let body = request.body.as_ref().map_err(|error| *error)?;
        if body.len() > BODY_LIMIT {
            return Err(BodyError::TooLarge.into());
        }
        let media_type = request.values("content-type").next();
        let media_type = media_type.and_then(|value| std::str::from_utf8(value).ok());
        read(request.query(), body, media_type.unwrap_or_default())
    }

    /// Parameters in the query alone.
    pub(super) fn in_query(request: &RawRequest) -> Result<Params> {
        form::read(request.query()).map(Params)
    }

    /// Removes a parameter and returns it.
    pub(super) fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name)
    }

    /// The parameters, for a reader that wipes them.
    pub(super) fn take(mut self) -> Map<String, Value> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for Params {
    fn drop(&mut self) {
        self.0.values_mut().for_each(wipe);
    }
}

/// Reads the query and the body. A parameter that is in both is rejected, because two readers could
/// read it differently.
fn read(query: &str, body: &[u8], media_type: &str) -> Result<Params> {
    let mut params = Params(form::read(query)?);
    let mut in_body = Params(read_body(body, media_type)?);
    if let Some(name) = in_body.0.keys().find(|name| params.0.contains_key(*name)) {
        return Err(Error::invalid_argument(form::shown(name), "is given twice"));
    }
    params.0.extend(std::mem::take(&mut in_body.0));
    Ok(params)
}

fn read_body(body: &[u8], media_type: &str) -> Result<Map<String, Value>> {
    let bad = |reason: String| Error::invalid_argument("body", reason);
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_none() {
        return Ok(Map::new());
    }
    let media = media_type.to_ascii_lowercase();
    if media.starts_with("multipart/") {
        return multipart::read(body, media_type);
    }
    let reason = |error| match error {
        Error::InvalidResponse { message } => bad(format!("is {message}")),
        other => other,
    };
    // Some clients send JSON or XML and call it a form. No form begins with either character.
    if first == Some(&b'{') || media.contains("json") {
        return match json::read(body).map_err(reason)? {
            Value::Object(params) => Ok(params),
            other => {
                drop(Wiping(other));
                Err(bad("must be a JSON object".into()))
            }
        };
    }
    if first == Some(&b'<') || media.contains("xml") {
        return xml::read_params(body).map_err(reason);
    }
    let form = std::str::from_utf8(body);
    form::read(form.map_err(|_| bad("is neither a form nor JSON nor XML".into()))?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn params(query: &str, body: &[u8], media_type: &str) -> Result<Value> {
        read(query, body, media_type).map(|params| Value::Object(params.take()))
    }

    #[test]
    fn parameters_are_read_wherever_they_are() {
        let wanted = json!({"user": {"email": "a@b", "cellphone": "1"}});
        let form = "user[email]=a%40b&user[cellphone]=1";
        let json = r#" {"user":{"email":"a@b","cellphone":"1"}}"#;
        let xml = " <user><email>a@b</email><cellphone>1</cellphone></user>";
        let part = |name, value| {
            format!("--X-1\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let multipart = part("user[email]", "a@b") + &part("user[cellphone]", "1") + "--X-1--";
        for (query, body, media_type) in [
            (form, "", ""),
            ("", form, "application/x-www-form-urlencoded"),
            ("", form, ""),
            ("", json, "application/json; charset=utf-8"),
            ("", json, "text/plain"),
            ("", &format!("\u{feff}{json}"), ""),
            ("", &format!("\u{feff}{form}"), ""),
            (form, "\r\n", ""),
            ("", xml, "application/xml"),
            ("", xml, "text/plain"),
            ("", &format!("<hash>{xml}</hash>"), "text/xml; charset=utf-8"),
            ("", &multipart, "multipart/form-data; boundary=X-1"),
        ] {
            assert_eq!(params(query, body.as_bytes(), media_type).unwrap(), wanted);
        }
        let both = params("a=1", br#"{"b":2}"#, "application/json").unwrap();
        assert_eq!(both, json!({"a": "1", "b": 2}));
    }

    #[test]
    fn typed_elements_of_xml_may_be_empty() {
        let xml = "<hash><force type=\"boolean\"/><n type=\"integer\"> </n><m type=\"integer\">7</m></hash>";
        let read = params("", xml.as_bytes(), "application/xml").unwrap();
        assert_eq!(read, json!({"force": null, "n": null, "m": 7}));
    }

    #[test]
    fn ambiguous_and_unreadable_parameters_are_rejected() {
        for (query, body, media_type) in [
            ("a=1", "a=1", ""),
            ("a=1", r#"{"a":1}"#, ""),
            ("", r#"{"a":1,"a":2}"#, ""),
            ("", "[1]", "application/json"),
            ("", "a=1", "application/json"),
            ("", "a=1", "application/xml"),
            ("", "<a><b>1</b><b>2</b></a>", "application/xml"),
            ("", "<!DOCTYPE a><a>1</a>", "application/xml"),
            ("", "a=1", "multipart/form-data; boundary=x"),
            ("", "a=%ff", ""),
        ] {
            assert!(params(query, body.as_bytes(), media_type).is_err(), "{query} {body}");
        }
        assert!(params("", b"\xff", "").is_err());
        let tag = params("a%3E%3Cb=1", br#"{"a><b":1}"#, "").unwrap_err();
        assert_eq!(tag.to_string(), "parameters is given twice");
    }
}

//! Parameters as `multipart/form-data` (RFC 7578), which HTML forms and some HTTP libraries send.

use crate::wire::form;
use crate::{Error, Result};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// Reads a body. `media_type` is the value of `Content-Type`, which names the boundary.
///
/// # Errors
/// [`Error::InvalidArgument`] if the body is not of this media type, or contains a file, which no
/// call of the interface takes.
pub(super) fn read(body: &[u8], media_type: &str) -> Result<Map<String, Value>> {
    let boundary = parameter(media_type, "boundary").filter(|boundary| !boundary.is_empty());
    let boundary = boundary.ok_or_else(|| bad("has a media type without a boundary"))?;
    let delimiter = format!("\r\n--{boundary}").into_bytes();
    // The first delimiter need not follow a line end; bytes before it are ignored.
    let mut rest = match body.strip_prefix(&delimiter[2..]) {
        Some(rest) => rest,
        None => split(body, &delimiter).ok_or_else(incomplete)?.1,
    };
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        // Spaces may follow a delimiter (RFC 2046, section 5.1.1).
        let (padding, part) = split(rest, b"\r\n").ok_or_else(incomplete)?;
        if !padding.iter().all(|byte| b" \t".contains(byte)) {
            return Err(incomplete());
        }
        let (part, more) = split(part, &delimiter).ok_or_else(incomplete)?;
        parts.push(part);
        rest = more;
    }
    form::assemble(parts.into_iter().map(read_part))
}

/// Reads the name and the value of a part.
fn read_part(part: &[u8]) -> Result<(String, Zeroizing<String>)> {
    // Without headers, a part begins with the empty line that ends them.
    let (head, value) = split(part, b"\r\n\r\n").ok_or_else(incomplete)?;
    let head = std::str::from_utf8(head).map_err(|_| bad("has headers that are not UTF-8"))?;
    let disposition = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-disposition").then_some(value.trim())
    });
    let disposition = disposition.ok_or_else(|| bad("has a part without a name"))?;
    if parameter(disposition, "filename").is_some() {
        return Err(bad("contains a file, which no call takes"));
    }
    let name = parameter(disposition, "name").ok_or_else(|| bad("has a part without a name"))?;
    let value = std::str::from_utf8(value).map_err(|_| bad("has a value that is not UTF-8"))?;
    Ok((name, Zeroizing::new(value.to_owned())))
}

/// Returns a parameter of a header: `form-data; name="user[email]"`. Browsers write a quote inside a name as `%22` (the
/// form-data encoding of HTML), so a quoted text has no other escapes.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    let mut rest = header;
    loop {
        let (_, parameters) = rest.split_once(';')?;
        let (name, value) = parameters.split_once('=')?;
        let value = value.trim_start();
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => value.split_at(value.find(';').unwrap_or(value.len())),
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value.trim_end().to_owned());
        }
        rest = after;
    }
}

/// Splits bytes at the first occurrence of `separator`.
fn split<'a>(bytes: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let start = bytes.windows(separator.len()).position(|window| window == separator)?;
    Some((&bytes[..start], &bytes[start + separator.len()..]))
}

fn incomplete() -> Error {
    bad("is not complete multipart/form-data")
}

fn bad(reason: &'static str) -> Error {
    Error::invalid_argument("body", reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn params(body: &str, media_type: &str) -> Result<Value> {
        read(body.as_bytes(), media_type).map(Value::Object)
    }

    fn part(name: &str, value: &str) -> String {
        format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    }

    #[test]
    fn the_parts_are_the_parameters() {
        let parts = part("user[email]", "a@b") + &part("user[cellphone]", "1") + "--x--\r\n";
        let wanted = json!({"user": {"email": "a@b", "cellphone": "1"}});
        for (body, media_type) in [
            (parts.clone(), "multipart/form-data; boundary=x"),
            (parts.clone(), "Multipart/Form-Data; charset=utf-8; Boundary=\"x\""),
            (format!("preamble\r\n{parts}epilogue"), "multipart/form-data; boundary=x"),
            (parts.replace("--x\r\n", "--x \t\r\n"), "multipart/form-data; boundary=x"),
        ] {
            assert_eq!(params(&body, media_type).unwrap(), wanted, "{body}");
        }
        let text = "a\r\nb -- &=%2";
        let typed = format!(
            "--x\r\ncontent-disposition:form-data;name=a\r\nContent-Type: text/plain\r\n\r\n\
             {text}\r\n--x--"
        );
        assert_eq!(params(&typed, "multipart/form-data;boundary=x").unwrap(), json!({"a": text}));
        assert_eq!(params("--x--\r\n", "multipart/form-data;boundary=x").unwrap(), json!({}));
    }

    #[test]
    fn incomplete_and_ambiguous_bodies_are_rejected() {
        let one = part("a", "1");
        for body in [
            "",
            "a=1",
            "--x",
            "--x\r\n",
            &one,
            &format!("{one}--y--"),
            &format!("{one}{one}--x--"),
            &format!("{}--x--", one.replace("name=", "nam=")),
            &format!("{}--x--", one.replace("\"a\"", "\"a\"; filename=\"f\"")),
            &format!("{}--x--", one.replace("Content-Disposition", "Content-Type")),
            "--xx\r\n\r\n--xx--",
        ] {
            assert!(params(body, "multipart/form-data; boundary=x").is_err(), "{body}");
        }
        for media_type in ["multipart/form-data", "multipart/form-data; boundary="] {
            assert!(params(&format!("{one}--x--"), media_type).is_err(), "{media_type}");
        }
    }
}

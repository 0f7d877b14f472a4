//! XML bodies (interface 4). A success is a `<hash>`, a failure `<errors>`; names have dashes where
//! JSON has underscores; an attribute marks numbers, flags, lists and nulls. A field whose name would not
//! survive that is an `<entry>` with the name as an attribute.
//!
//! Document types, entities other than the five predefined ones, processing instructions and
//! duplicate names are rejected, because two parsers could interpret them differently.

use super::Wiping;
use crate::{Error, Result};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// The maximum nesting: as deep as the free-form parameters, which some replies repeat, and a few
/// more levels.
const DEPTH: usize = 40;
/// The element of a field whose name is not a valid element name.
const ENTRY: &str = "entry";
/// The version of XML, which decides how line ends are read.
const XML: XmlVersion = XmlVersion::Explicit1_0;
/// The fields of a failure that are at the top level of the JSON body only.
const TOP_LEVEL_ONLY: [&str; 2] = ["error_code", "success"];

/// Parses a body.
///
/// # Errors
/// [`Error::InvalidResponse`] if it is not one element in UTF-8, or contains anything that is
/// rejected.
pub fn read(bytes: &[u8]) -> Result<Value> {
    match root(bytes)? {
        (name, Value::Object(fields)) if name == "hash" => Ok(fields.into()),
        (name, Value::Object(fields)) if name == "errors" => Ok(failure(fields)),
        (_, Value::String(text)) if text.trim().is_empty() => Ok(Map::new().into()),
        _ => Err(invalid_response("neither a hash nor errors")),
    }
}

/// Parses the parameters of a request. The root is `<hash>`, or else the one parameter that the
/// request has, such as `<user>`.
///
/// # Errors
/// As for [`read`].
#[cfg(feature = "engine")]
pub(crate) fn read_params(bytes: &[u8]) -> Result<Map<String, Value>> {
    match root(bytes)? {
        (name, Value::Object(fields)) if name == "hash" => Ok(fields),
        (_, Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        (name, value) => Ok([(name, value)].into_iter().collect()),
    }
}

/// Reads the name of the root element, and its content.
fn root(bytes: &[u8]) -> Result<(String, Value)> {
    let text = std::str::from_utf8(bytes).map_err(|_| invalid_response("not UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::from_str(text);
    let found = match first(&mut reader)? {
        Event::Start(start) => (name(&start)?, element(&mut reader, &start, 0)?),
        Event::Empty(start) => (name(&start)?, empty(&start)?),
        _ => return Err(invalid_response("no element")),
    };
    match first(&mut reader)? {
        Event::Eof => Ok(found),
        _ => Err(invalid_response("more than one element")),
    }
}

/// Serialises a body.
pub fn write(value: &Value) -> Vec<u8> {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    match value.get("errors").and_then(Value::as_object) {
        Some(errors) => {
            let mut fields = value.as_object().cloned().unwrap_or_default();
            fields.shift_remove("errors");
            for (name, text) in errors {
                fields.entry(name.clone()).or_insert_with(|| text.clone());
            }
            put(&mut out, &Tag::of("errors"), &Value::Object(fields));
        }
        None => put(&mut out, &Tag::of("hash"), value),
    }
    out.push('\n');
    out.into_bytes()
}

/// `<errors>` combines the fields of the JSON body's `errors` and of its top level.
fn failure(fields: Map<String, Value>) -> Value {
    let top_level_only = |name: &String| TOP_LEVEL_ONLY.contains(&name.as_str());
    let errors = fields.iter().filter(|(name, _)| !top_level_only(name));
    let errors: Map<_, _> = errors.map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut body = fields;
    body.entry("success").or_insert(false.into());
    body.insert("errors".into(), errors.into());
    body.into()
}

/// Reads the next event that is not whitespace, a comment or the declaration.
fn first<'a>(reader: &mut Reader<&'a [u8]>) -> Result<Event<'a>> {
    loop {
        match next(reader)? {
            Event::Comment(_) => {}
            Event::Decl(decl) => match decl.encoding() {
                None => {}
                Some(Ok(name)) if name.eq_ignore_ascii_case("utf-8") => {}
                Some(_) => return Err(invalid_response("not in UTF-8")),
            },
            Event::Text(text) if text.trim().is_empty() => {}
            other => return Ok(other),
        }
    }
}

fn next<'a>(reader: &mut Reader<&'a [u8]>) -> Result<Event<'a>> {
    match reader.read_event() {
        Ok(Event::DocType(_)) => Err(invalid_response("document types are not allowed")),
        Ok(Event::PI(_)) => Err(invalid_response("processing instructions are not allowed")),
        Ok(event) => Ok(event),
        Err(_) => Err(invalid_response(&format!(
            "truncated or malformed at byte {}",
            reader.error_position()
        ))),
    }
}

/// Reads the content of an element.
fn element(reader: &mut Reader<&[u8]>, start: &BytesStart<'_>, depth: usize) -> Result<Value> {
    if depth > DEPTH {
        return Err(invalid_response("nested too deeply"));
    }
    let (mut text, mut children) = (Zeroizing::default(), Vec::new());
    loop {
        match next(reader)? {
            Event::Start(child) => {
                let value = Wiping(element(reader, &child, depth + 1)?);
                children.push((field(&child)?, value));
            }
            Event::Empty(child) => children.push((field(&child)?, Wiping(empty(&child)?))),
            Event::Text(part) => append(&mut text, &part.xml_content(XML)),
            Event::CData(part) => append(&mut text, &part.xml_content(XML)),
            Event::GeneralRef(entity) => {
                append(&mut text, character(&entity)?.encode_utf8(&mut [0; 4]));
            }
            Event::Comment(_) => {}
            Event::End(_) => break,
            _ => return Err(invalid_response("unclosed element")),
        }
    }
    value(start, text, children)
}

/// Appends to a text that may be a key or a code. If it has to move, its old place is wiped.
fn append(text: &mut Zeroizing<String>, part: &str) {
    if text.capacity() - text.len() < part.len() {
        let room = (text.len() + part.len()).max(2 * text.capacity());
        let mut longer = Zeroizing::new(String::with_capacity(room));
        longer.push_str(text);
        *text = longer;
    }
    text.push_str(part);
}

/// Reads an element without content.
fn empty(start: &BytesStart<'_>) -> Result<Value> {
    value(start, Zeroizing::default(), Vec::new())
}

fn value(
    start: &BytesStart<'_>,
    mut text: Zeroizing<String>,
    children: Vec<(String, Wiping)>,
) -> Result<Value> {
    let kind = attribute(start, "type")?;
    if attribute(start, "nil")?.as_deref() == Some("true") && children.is_empty() {
        return Ok(Value::Null);
    }
    if kind.as_deref() == Some("array") {
        return Ok(children.into_iter().map(|(_, mut value)| value.take()).collect());
    }
    if !children.is_empty() {
        if !text.trim().is_empty() {
            return Err(invalid_response("text between elements"));
        }
        let mut fields = Wiping(Map::new().into());
        for (name, mut value) in children {
            let fields = fields.0.as_object_mut();
            if fields.and_then(|fields| fields.insert(name, value.take())).map(Wiping).is_some() {
                return Err(invalid_response("duplicate element"));
            }
        }
        return Ok(fields.take());
    }
    match kind.as_deref() {
        // Programs that write a form as XML leave fields empty that were not filled in.
        Some("integer" | "boolean") if text.trim().is_empty() => Ok(Value::Null),
        Some("integer") => {
            let written = text.trim();
            let digits = written.strip_prefix('-').unwrap_or(written);
            match digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty() {
                // 007 is a number that JSON cannot have.
                true if digits.len() > 1 && digits.starts_with('0') => Ok(written.into()),
                true => Ok(super::json::number(written)),
                false => Err(invalid_response("invalid integer")),
            }
        }
        Some("boolean") => match text.trim() {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => Err(invalid_response("invalid boolean")),
        },
        _ => Ok(std::mem::take(&mut *text).into()),
    }
}

fn attribute(start: &BytesStart<'_>, name: &str) -> Result<Option<String>> {
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|_| invalid_response("malformed attribute"))?;
        if attribute.key.as_ref() == name {
            let value = attribute.normalized_value(XML);
            let value = value.map_err(|_| invalid_response("malformed attribute"))?;
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}

/// Returns the name of a field.
fn field(start: &BytesStart<'_>) -> Result<String> {
    let name = name(start)?;
    let own = if name == ENTRY { attribute(start, "name")? } else { None };
    Ok(own.unwrap_or(name))
}

/// Returns the name of an element, in its JSON spelling. It is checked here because quick_xml
/// accepts any name.
fn name(start: &BytesStart<'_>) -> Result<String> {
    match start.name().as_ref() {
        name if is_plain(name) => Ok(name.replace('-', "_")),
        _ => Err(invalid_response("invalid element name")),
    }
}

/// Resolves the five predefined entities, and character references.
fn character(entity: &quick_xml::events::BytesRef<'_>) -> Result<char> {
    if let Ok(Some(character)) = entity.resolve_char_ref() {
        return Ok(character);
    }
    match &**entity {
        "amp" => Ok('&'),
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "quot" => Ok('"'),
        "apos" => Ok('\''),
        _ => Err(invalid_response("unknown entity")),
    }
}

/// Returns whether a name is valid in a tag.
fn is_plain(name: &str) -> bool {
    let starts_a_name =
        |c: char| c.is_ascii_alphabetic() || c == '_' || (c >= '\u{c0}' && c.is_alphabetic());
    name.starts_with(starts_a_name)
        && name.chars().all(|c| starts_a_name(c) || c.is_ascii_digit() || "-.".contains(c))
}

/// A tag: its name, and its attributes.
struct Tag {
    name: String,
    attributes: String,
}

impl Tag {
    /// Returns the tag of a field. Names with a dash would be read with an underscore. Which letters beyond ASCII a
    /// name may have depends on the edition of XML. So such names, and all that could inject markup, are in an
    /// attribute.
    fn of(field: &str) -> Tag {
        // Underscores at the beginning stay, because no name can begin with a dash.
        let stem = field.trim_start_matches('_');
        let name = field[..field.len() - stem.len()].to_owned() + &stem.replace('_', "-");
        match field.is_ascii() && is_plain(&name) && !field.contains('-') {
            true => Tag { name, attributes: String::new() },
            false => {
                let field = escape(field).replace('\n', "&#10;").replace('\t', "&#9;");
                Tag { name: ENTRY.to_owned(), attributes: format!(" name=\"{field}\"") }
            }
        }
    }

    /// Returns the tag of an item of the list with this tag.
    fn of_item(&self) -> Tag {
        let singular = self.name.strip_suffix('s').filter(|name| !name.is_empty());
        let name = singular.unwrap_or(&self.name).to_owned();
        Tag { name, attributes: String::new() }
    }
}

fn put(out: &mut String, tag: &Tag, value: &Value) {
    let Tag { name, attributes } = tag;
    let (kind, text) = match value {
        Value::Null => return out.push_str(&format!("<{name}{attributes} nil=\"true\"/>")),
        Value::Object(fields) => {
            out.push_str(&format!("<{name}{attributes}>"));
            fields.iter().for_each(|(field, value)| put(out, &Tag::of(field), value));
            return out.push_str(&format!("</{name}>"));
        }
        Value::Array(items) => {
            out.push_str(&format!("<{name}{attributes} type=\"array\">"));
            items.iter().for_each(|item| put(out, &tag.of_item(), item));
            return out.push_str(&format!("</{name}>"));
        }
        Value::Bool(flag) => (" type=\"boolean\"", flag.to_string()),
        Value::Number(number) => match number.to_string() {
            float if float.contains(['.', 'e', 'E']) => ("", float),
            whole => (" type=\"integer\"", whole),
        },
        Value::String(text) => ("", escape(text)),
    };
    out.push_str(&format!("<{name}{attributes}{kind}>{text}</{name}>"));
}

/// Escapes text, and omits the characters that no XML can have.
fn escape(text: &str) -> String {
    let allowed: String = text.chars().filter(|c| super::is_in_xml(*c)).collect();
    quick_xml::escape::escape(allowed).into_owned()
}

fn invalid_response(problem: &str) -> Error {
    Error::invalid_response(format!("not the XML of this interface ({problem})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_what_it_writes() {
        for value in [
            json!({"user": {"id": 7}, "success": true, "x": null}),
            json!({"message": "a < b & \"c\" 'd' é"}),
            json!({"status": {"svc_id": 9223372036854775807i64, "devices": ["ios", "sms"]}}),
            json!({"stats": [{"month": "May", "sms_count": 0}], "empty": []}),
            json!({"token": "is valid", "success": "true", "device": {"os_type": "sms"}}),
            json!({"details": {"Email Address": "a", "a-b": 1, "a_b": 2, "a b": 3, "entry": 4, "name": 5,
                "Größe": null, "": true, "1": ["x"], "s": ["y", "z"], "_s": [], "a\tb\r\nc": {"-": "d"},
                "list-s": [{"x y": 1}, [2]], "a\u{85}\u{7f}": "b\u{85}\r\n", "\"><!--&lt;": "e"}}),
            json!({"largest": u64::MAX, "smallest": i64::MIN}),
        ] {
            assert_eq!(read(&write(&value)).unwrap(), value);
        }
    }

    #[test]
    fn integers_are_kept_as_they_are_written() {
        for written in ["-0", "007", "18446744073709551616", "-12345678901234567890123456789"] {
            let body = format!("<hash><a type=\"integer\"> {written} </a></hash>");
            let value = read(body.as_bytes()).unwrap();
            assert_eq!(crate::wire::scalar(&value["a"]).as_deref(), Some(written));
            assert_eq!(read(&write(&value)).unwrap(), value);
        }
        for bad in ["+1", "1.0", "1e5", "-", "1 2"] {
            let body = format!("<hash><a type=\"integer\">{bad}</a></hash>");
            assert!(read(body.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_cannot_inject_markup() {
        for name in ["a><script>alert(1)</script><b", "a b", "a=\"1\"", "", "1", "-a", "a:b", "a&b"]
        {
            let value = json!({"x": 1, name: {"y": 2}});
            let text = String::from_utf8(write(&value)).unwrap();
            assert!(!text.contains("<script"), "{text}");
            assert_eq!(read(text.as_bytes()).unwrap(), value, "{text}");
        }
        let text = String::from_utf8(write(&json!({"errors": {"a><b": "no", "c": "no"}}))).unwrap();
        assert!(text.contains("<entry name=\"a&gt;&lt;b\">no</entry><c>no</c>"), "{text}");
    }

    /// Values as deep as a free-form parameter may be, in the record that repeats it.
    #[test]
    fn deep_values_are_read() {
        let deep = (0..32).fold(json!("x"), |inner, _| json!({ "a": inner }));
        let record = json!({"approval_request": {"details": deep}});
        assert_eq!(read(&write(&record)).unwrap(), record);
    }

    #[test]
    fn a_failure_is_flat() {
        let json = json!({
            "message": "Token is invalid.",
            "token": "is invalid",
            "success": "false",
            "errors": {"message": "Token is invalid.", "token": "is invalid"},
            "error_code": "60020",
        });
        let text = String::from_utf8(write(&json)).unwrap();
        assert!(text.contains("<errors><message>Token is invalid.</message>"), "{text}");
        assert!(text.contains("<error-code>60020</error-code>"), "{text}");
        assert_eq!(read(text.as_bytes()).unwrap(), json);
    }

    #[test]
    fn ambiguous_and_malformed_bodies_are_rejected() {
        for bad in [
            "",
            "{}",
            "<hash>",
            "<hash></hash><hash></hash>",
            "<html><body/></html>",
            "<hash><token>is valid</token><token>is invalid</token></hash>",
            "<hash><a-b>1</a-b><a_b>2</a_b></hash>",
            "<!DOCTYPE hash [<!ENTITY x \"is valid\">]><hash><token>&x;</token></hash>",
            "<hash><token>&x;</token></hash>",
            "<?php echo ?><hash><a/></hash>",
            "<hash>text<token>is valid</token></hash>",
            "<hash><id type=\"integer\">x</id></hash>",
            "<hash><ok type=\"boolean\">maybe</ok></hash>",
            "<?xml version=\"1.0\" encoding=\"UTF-16\"?><hash><a/></hash>",
            "<a><token>is valid</token></a>",
            "<hash><a></b></hash>",
            "<hash><a\0b>x</a\0b></hash>",
            "<hash><a\"/></hash>",
            "<hash><token>is invalid</token><entry name=\"token\">is valid</entry></hash>",
            "<hash><entry name=\"a\">1</entry><entry name=\"a\">2</entry></hash>",
            "<hash><entry name=\"a\" name=\"b\">1</entry></hash>",
            "<hash><entry name=\"&x;\">1</entry></hash>",
        ] {
            assert!(matches!(read(bad.as_bytes()), Err(Error::InvalidResponse { .. })), "{bad}");
        }
        let deep = "<a>".repeat(10_000) + &"</a>".repeat(10_000);
        assert!(read(format!("<hash>{deep}</hash>").as_bytes()).is_err());
        assert!(read(b"<hash><a>\xff</a></hash>").is_err());
    }
}

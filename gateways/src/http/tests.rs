//! Checks that the text around values is read as it was written, for any values.

use super::placement;
use super::template::{Place, Template, Unsendable};
use super::values::Values;
use crate::{Outgoing, Urls};
use proptest::prelude::*;
use quick_xml::XmlVersion;
use quick_xml::events::Event;
use seconder::calls::Channel;
use seconder::model::Secret;
use serde_json::{Value, json};
use ureq::http::Uri;

const XML: XmlVersion = XmlVersion::Explicit1_0;

/// The values of a message.
#[derive(Clone, Debug)]
struct Hostile {
    text: String,
    code: String,
    from: String,
}

/// Texts of characters that mean something to some parser, and of any others.
fn hostile() -> impl Strategy<Value = Hostile> {
    let parts = prop_oneof![
        any::<char>().prop_map(String::from),
        prop::sample::select(vec![
            "\"",
            "'",
            "\\",
            "&",
            "=",
            "<",
            ">",
            "/",
            "?",
            "#",
            "%",
            "+",
            ";",
            "\r\n",
            "\n",
            "\0",
            "\u{7f}",
            "\u{2028}",
            "\u{feff}",
            "\u{fffe}",
            "]]>",
            "-->",
            "<!--",
            "&amp;",
            "%00",
            "%26",
            "\\u0022",
            "\\\"",
            "{{to}}",
            "}}",
            "{{",
            "..",
            " ",
            "\t",
            "\u{1b}[2J",
            "”",
            "ä",
            "\u{1f600}",
        ])
        .prop_map(str::to_owned),
    ];
    let value = || prop::collection::vec(parts.clone(), 0..20).prop_map(|parts| parts.concat());
    (value(), value(), value()).prop_map(|(text, code, from)| Hostile { text, code, from })
}

fn render(template: &Template, place: Place, values: &Hostile) -> Result<String, Unsendable> {
    let Hostile { text, code, from } = values;
    let (id, to) = ("00112233445566aa", "+15550100123");
    let urls = Urls { receipt: "https://s.example/receipts/a/b", document: "" };
    let message =
        Outgoing { id, to, text, language: "en", code, from, channel: Channel::Sms, urls };
    template.render(place, &Values { message: &message, settings: &[Secret::new("a&\"<>b")] })
}

fn rendered(text: &str, place: Place, values: &Hostile) -> String {
    let template = Template::read(text, &["token"]).unwrap();
    placement::check(&template, place).unwrap();
    render(&template, place, values).unwrap()
}

/// Returns the pairs of a form or a query, by the rules for forms (WHATWG URL, 5.1).
fn pairs(form: &str) -> Vec<(String, String)> {
    let pairs = form.split('&').map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let text = text.replace('+', " ");
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next().unwrap()).to_digit(16).unwrap() as u8;
        out.push(if byte == b'%' { 16 * digit() + digit() } else { byte });
    }
    String::from_utf8(out).unwrap()
}

/// Returns the characters of a text that XML can hold (XML 1.0, 2.2).
fn in_xml(text: &str) -> String {
    let holds = |c: &char| {
        matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
            || *c > '\u{ffff}'
    };
    text.chars().filter(holds).collect()
}

/// Returns the attributes and the text of a document that is one element, and nothing else.
fn element(xml: &str) -> (Vec<(String, String)>, String) {
    let mut reader = quick_xml::Reader::from_str(xml);
    let Event::Start(start) = reader.read_event().unwrap() else { panic!("{xml}") };
    let attributes = start.attributes().map(|attribute| {
        let attribute = attribute.unwrap();
        let name = attribute.key.as_ref().to_owned();
        (name, attribute.normalized_value(XML).unwrap().into_owned())
    });
    let attributes = attributes.collect();
    let mut text = String::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Text(part) => text.push_str(&part.xml_content(XML)),
            Event::GeneralRef(entity) => match entity.resolve_char_ref().unwrap() {
                Some(c) => text.push(c),
                None => {
                    text.push_str(quick_xml::escape::resolve_predefined_entity(&entity).unwrap())
                }
            },
            Event::End(_) => break,
            other => panic!("{other:?} in {xml}"),
        }
    }
    assert!(matches!(reader.read_event().unwrap(), Event::Eof), "{xml}");
    (attributes, text)
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

proptest! {
    #[test]
    fn a_form_holds_the_values_and_nothing_else(values in hostile()) {
        let body = "to={{to}}&text={{text}}&code={{ code }}&from={{from}}&key={{token}}";
        let Hostile { text, code, from } = &values;
        let wanted = [("to", "+15550100123"), ("text", text), ("code", code), ("from", from),
            ("key", "a&\"<>b")];
        prop_assert_eq!(pairs(&rendered(body, Place::Form, &values)), owned(&wanted));
    }

    #[test]
    fn json_holds_the_values_and_nothing_else(values in hostile()) {
        let body = r#"{"text":"{{text}}","list":["{{code}} {{from}}",1],"{{from}}x":"{{token}}"}"#;
        let Hostile { text, code, from } = &values;
        let mut wanted = json!({"text": text, "list": [format!("{code} {from}"), 1]});
        wanted[format!("{from}x")] = json!("a&\"<>b");
        let found: Value = serde_json::from_str(&rendered(body, Place::Json, &values)).unwrap();
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn xml_holds_the_values_and_nothing_else(values in hostile()) {
        let body = "<m a=\"{{code}}\" b='{{from}}' c='{{token}}'>x {{text}} y</m>";
        let (attributes, text) = element(&rendered(body, Place::Xml, &values));
        let wanted = [("a", &*in_xml(&values.code)), ("b", &*in_xml(&values.from)), ("c", "a&\"<>b")];
        prop_assert_eq!(attributes, owned(&wanted));
        prop_assert_eq!(text, format!("x {} y", in_xml(&values.text)));
    }

    #[test]
    fn a_url_holds_the_values_and_nothing_else(values in hostile()) {
        let target = "/a/{{code}}z/b?text={{text}}&from={{from}}&key={{token}}";
        let url = format!("https://api.example{}", rendered(target, Place::Url, &values));
        let url: Uri = url.parse().unwrap();
        prop_assert_eq!(url.host(), Some("api.example"));
        let steps: Vec<&str> = url.path().split('/').collect();
        prop_assert_eq!(steps.len(), 4);
        prop_assert_eq!(decoded(steps[2]), format!("{}z", values.code));
        let wanted = [("text", &*values.text), ("from", &values.from), ("key", "a&\"<>b")];
        prop_assert_eq!(pairs(url.query().unwrap()), owned(&wanted));
    }

    #[test]
    fn a_document_in_a_form_holds_the_values_and_nothing_else(values in hostile()) {
        let document = "<Say a=\"{{from|xml}}\">{{text|xml}}</Say>";
        let template = Template::read(document, &[]).unwrap().encoded();
        let body = render(&template, Place::Form, &values).unwrap();
        let (attributes, text) = element(&decoded(&body));
        prop_assert_eq!(attributes, owned(&[("a", &*in_xml(&values.from))]));
        prop_assert_eq!(text, in_xml(&values.text));
    }

    #[test]
    fn a_header_holds_no_control_characters(values in hostile()) {
        let template = Template::read("a {{text}}", &[]).unwrap();
        match render(&template, Place::Header, &values) {
            Ok(header) => prop_assert_eq!(header, format!("a {}", values.text)),
            Err(Unsendable) => prop_assert!(values.text.chars().any(char::is_control)),
        }
    }

    #[test]
    fn plain_text_holds_no_control_characters_but_the_ends_of_lines(values in hostile()) {
        let found = rendered("{{from}}|{{text}}", Place::Text, &values);
        let plain = |text: &str| text.replace(char::is_control, "");
        let lines: Vec<String> = values.text.split('\n').map(plain).collect();
        prop_assert_eq!(found, format!("{}|{}", plain(&values.from), lines.join("\n")));
    }

    #[test]
    fn no_text_makes_the_reader_of_templates_fail_but_with_an_error(text in ".{0,80}") {
        if let Ok(template) = Template::read(&text, &[]) {
            for place in [Place::Form, Place::Json, Place::Xml] {
                let _ = placement::check(&template, place);
            }
        }
    }
}

#[test]
fn unknown_placeholders_are_named_with_the_one_that_was_meant() {
    let problem = |text: &str| Template::read(text, &["token"]).err().unwrap();
    assert_eq!(problem("{{txt}}"), "has the unknown placeholder `txt`; {{text}} is near");
    assert_eq!(problem("{{tokem}}"), "has the unknown placeholder `tokem`; {{token}} is near");
    assert_eq!(problem("{{}}"), "has the unknown placeholder ``");
    assert_eq!(problem("a {{to"), "has {{ without }} after it");
    assert_eq!(problem("{{to|yaml}}"), "has `yaml` after |, where json, url or xml may be");
}

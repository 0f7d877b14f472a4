//! docs/gateways.md says of the gateways what the program does.

use seconder::remote::Dialer;
use seconder_gateways::Field;
use serde_json::Value;
use std::fs;

/// The gateways over HTTP. The settings of the others are compared by another test.
fn over_http() -> impl Iterator<Item = &'static str> {
    seconder_gateways::names().into_iter().filter(|name| !["smpp", "smtp"].contains(name))
}

fn document() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/gateways.md")).unwrap()
}

/// The part of the document about a gateway, whose heading names it.
fn section<'a>(document: &'a str, gateway: &str) -> &'a str {
    let heading = format!("\n## `{gateway}`");
    let start = document.find(&heading).unwrap_or_else(|| panic!("no heading{heading}"));
    let rest = &document[start + 1..];
    rest.find("\n## ").map_or(rest, |end| &rest[..end])
}

fn without_marks(cell: &str) -> String {
    cell.replace('`', "")
}

#[test]
fn the_tables_have_every_setting_as_it_is_accepted() {
    let document = document();
    for gateway in over_http() {
        let section = section(&document, gateway);
        let rows =
            section.lines().filter(|line| line.starts_with("| `") && !line.starts_with("| `{{"));
        let found: Vec<[String; 3]> = rows
            .map(|row| {
                let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
                assert_eq!(cells.len(), 4, "{gateway}: {row}");
                assert!(!cells[1].is_empty(), "{gateway}: {row}");
                [cells[0], cells[2], cells[3]].map(without_marks)
            })
            .collect();
        let row = |field: &Field| {
            let default = if field.default.is_empty() { "required" } else { field.default };
            let sealed = if field.sealed { ", sealed" } else { "" };
            [field.name.to_owned(), format!("{}{sealed}", field.accepted), default.to_owned()]
        };
        let wanted: Vec<[String; 3]> =
            seconder_gateways::fields(gateway).unwrap().iter().map(row).collect();
        assert_eq!(found, wanted, "{gateway}");
    }
}

#[test]
fn every_example_is_accepted() {
    let document = document();
    let mut named = Vec::new();
    for example in document.split("```json\n").skip(1) {
        let example = example.split("```").next().unwrap();
        let settings: Value = serde_json::from_str(example).unwrap();
        let name = settings["gateway"].as_str().unwrap();
        if !over_http().any(|known| known == name) {
            continue;
        }
        let opened = seconder_gateways::open(settings.as_object().unwrap(), &Dialer::default());
        assert!(opened.is_ok(), "{example}: {:?}", opened.err());
        named.push(name.to_owned());
    }
    for gateway in over_http() {
        assert!(named.iter().any(|name| name == gateway), "no example of {gateway}");
    }
}

#[test]
fn the_placeholders_are_those_of_the_table() {
    let document = document();
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `{{"));
    for row in rows {
        let name = row.split("}}").next().unwrap();
        let settings =
            format!(r#"{{"gateway":"http","url":"http://[::1]/","body":"a={{{{{name}}}}}"}}"#);
        let mut settings: Value = serde_json::from_str(&settings).unwrap();
        if name == "document_url" {
            settings["document"] = "<a/>".into();
        }
        assert!(
            seconder_gateways::open(settings.as_object().unwrap(), &Dialer::default()).is_ok(),
            "{name}"
        );
    }
    for name in [
        "to",
        "to_digits",
        "from",
        "text",
        "code",
        "id",
        "channel",
        "spoken",
        "spoken_text",
        "alphabet",
        "coding",
        "receipt_url",
        "dlr_mask",
        "spoken_ssml",
        "spoken_text_ssml",
    ] {
        assert!(document.contains(&format!("\n| `{{{{{name}}}}}` |")), "{name}");
    }
}

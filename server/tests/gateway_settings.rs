//! The tables of `docs/gateways.md` have the settings that the gateways have.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder_gateways::{Field, Smpp, Smtp};
use seconder_server::routes;

/// The rows of the first table under a heading, as their cells.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    let lines = section.lines().skip_while(|line| !line.starts_with('|'));
    let lines = lines.take_while(|line| line.starts_with('|')).skip(2);
    lines.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

#[test]
fn every_setting_has_its_row() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/gateways.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (heading, fields) in
        [("Routes", routes::FIELDS), ("SMPP", Smpp::FIELDS), ("SMTP", Smtp::FIELDS)]
    {
        let row = |field: &Field| {
            let default = if field.default.is_empty() { "required" } else { field.default };
            [format!("`{}`", field.name), field.accepted.to_owned(), default.to_owned()]
        };
        let expected: Vec<[String; 3]> = fields.iter().map(row).collect();
        let found: Vec<[String; 3]> = rows(&page, heading)
            .iter()
            .map(|row| [row[0], row[2], row[3]].map(str::to_owned))
            .collect();
        assert_eq!(found, expected, "{heading}");
    }
}

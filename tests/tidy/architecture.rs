//! ARCHITECTURE.md: its places are there, and each invariant says what holds it.

use super::complain;
use super::source::{read, root};

/// The folders whose paths it names from the top.
const TOP: &[&str] = &[
    "benches/",
    "bindings/",
    "docs/",
    "examples/",
    "fuzz/",
    "gateways/",
    "include/",
    "login/",
    "man/",
    "packaging/",
    "server/",
    "src/",
    "tests/",
    "tools/",
];

#[test]
fn every_place_in_the_architecture_is_there() {
    let text = read("ARCHITECTURE.md");
    let named =
        text.split('`').skip(1).step_by(2).map(|name| name.split("::").next().unwrap_or(name));
    let places =
        named.filter(|name| TOP.iter().any(|top| name.starts_with(top)) && !name.contains('*'));
    let gone = places.filter(|place| !root().join(place).exists());
    complain(gone.map(|place| format!("ARCHITECTURE.md: {place} is not there")));
}

#[test]
fn every_invariant_says_what_holds_it() {
    let text = read("ARCHITECTURE.md");
    let table = text.split_once("| invariant | held by |").map_or("", |(_, table)| table);
    let rows: Vec<&str> =
        table.lines().filter(|row| row.starts_with("| ") && !row.starts_with("| **")).collect();
    assert!(rows.len() > 30, "the table of invariants is gone");
    let unheld = rows.into_iter().filter(|row| {
        let held = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let by = |what: &str| held.contains(what);
        !(by("tests") || by("::") || by("the lint") || by("no test: "))
    });
    complain(unheld.map(|row| {
        format!("ARCHITECTURE.md: no test holds this, or say so with `no test: `: {row}")
    }));
}

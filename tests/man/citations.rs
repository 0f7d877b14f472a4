//! Every section of the interface that a comment, docstring or page cites is there to be read: in
//! docs/interface.md, and in the man page that is installed.

use super::header::{one_line, read, root};
use super::interface;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Where there are citations.
const PLACES: &[&str] =
    &["src", "include", "man", "bindings/python", "docs", "server/src", "tests"];
/// Citations in prose name the interface; the docstrings of Python have a section only.
const IN_PYTHON: &str = "bindings/python";

#[test]
fn every_section_that_is_cited_exists() {
    let sections = sections(&read("docs/interface.md"), "#");
    let page = sections_of_page();
    let mut seen = 0;
    let mut absent = Vec::new();
    for file in PLACES.iter().flat_map(|place| files(Path::new(place))) {
        // The text of these holds examples of citations, or is generated from the document.
        if file.ends_with("citations.rs") || file.ends_with("interface.7") {
            continue;
        }
        for (section, rule) in cited(&file, &read(&file)) {
            seen += 1;
            let rules = sections.get(&section);
            if rules.is_none_or(|rules| rule > *rules) {
                absent.push(format!("{file}: docs/interface.md has no {section}, rule {rule}"));
            }
            if !page.contains(&section) {
                absent.push(format!("{file}: {} has no section {section}", interface::PATH));
            }
        }
    }
    assert!(absent.is_empty(), "{}", absent.join("\n"));
    assert!(seen > 150, "only {seen} citations were found");
}

#[test]
fn citations_are_found_however_they_are_written() {
    let found = |text| cited("src/x.rs", text);
    assert_eq!(found("/// As above (interface 5.5)."), [("5.5".into(), 0)]);
    assert_eq!(found("/// (interface\n    /// 4.2, rule 2)"), [("4.2".into(), 2)]);
    assert_eq!(
        found(" * (interface 5.5, step 6). Interface 7 "),
        [("5.5".into(), 6), ("7".into(), 0)]
    );
    assert_eq!(found("RFC 6238, section 4; section 5"), []);
    let found = |text| cited("bindings/python/seconder/x.py", text);
    assert_eq!(found("(section 4.4,\n    rule 2)"), [("4.4".into(), 2)]);
    assert_eq!(found("RFC 4226, section 4"), []);
}

/// The sections of a document, each with the number of rules in it.
fn sections(text: &str, mark: &str) -> BTreeMap<String, usize> {
    let (mut found, mut current) = (BTreeMap::new(), String::new());
    for line in text.lines() {
        if let Some(title) = line.strip_prefix(mark) {
            current = number(title.trim_start_matches('#').trim());
            found.insert(current.clone(), 0);
        } else if line.split_once(". ").is_some_and(|(rule, _)| rule.parse::<usize>().is_ok()) {
            *found.entry(current.clone()).or_default() += 1;
        }
    }
    found.remove("");
    found
}

fn sections_of_page() -> Vec<String> {
    let page = read(interface::PATH);
    let titles = page.lines().filter_map(|line| line.strip_prefix(".S")?.split_once(' '));
    titles.map(|(_, title)| number(title)).collect()
}

/// The number at the start of a text, without the full stop at its end.
fn number(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

/// The sections that a file cites, each with a rule, or 0.
fn cited(path: &str, text: &str) -> Vec<(String, usize)> {
    let python = path.starts_with(IN_PYTHON);
    let marks = ['/', '*', '!', '#', ' '];
    let lines: Vec<&str> = text.lines().map(|line| line.trim_start_matches(marks)).collect();
    let text = one_line(&lines.join(" "));
    let mut found = Vec::new();
    for word in ["interface ", "Interface ", "section ", "Section "] {
        let named = word.starts_with(['i', 'I']);
        for (at, _) in text.match_indices(word) {
            let section = number(&text[at + word.len()..]);
            let after = &text[at + word.len() + section.len()..];
            let of_an_rfc =
                text[..at].trim_end_matches([' ', ',']).ends_with(|c: char| c.is_ascii_digit());
            let begins = text[..at].ends_with(|c: char| !c.is_alphanumeric()) || at == 0;
            if section.is_empty() || !begins || !named && (!python || of_an_rfc) {
                continue;
            }
            let rule = after.strip_prefix(", rule ").or(after.strip_prefix(", step "));
            found.push((section, rule.map_or(0, |rule| number(rule).parse().unwrap())));
        }
    }
    found
}

/// The text files below a folder of the project, without what was built.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap().flatten() {
        let path = folder.join(entry.file_name());
        let name = path.display().to_string();
        let text = [".rs", ".h", ".hpp", ".py", ".pyi", ".md", ".in", ".3", ".7", ".8", ".c"];
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&path));
        } else if text.iter().any(|ending| name.ends_with(ending)) {
            found.push(name);
        }
    }
    found
}

//! The man pages of section 3 match the header, from which they are generated, and that of section
//! 7 matches docs/interface.md.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

#[path = "man/citations.rs"]
mod citations;
#[path = "header/mod.rs"]
mod header;
#[path = "man/interface.rs"]
mod interface;
#[path = "man/page.rs"]
mod page;
#[path = "man/prose.rs"]
mod prose;

use header::{Header, one_line, read, root};
use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

#[test]
fn the_pages_match_the_header() {
    for (path, text) in page::pages(&Header::read()) {
        let committed = fs::read_to_string(root().join(&path)).unwrap_or_default();
        assert!(committed == text, "{path}:1: does not match include/seconder.h: run `make man`");
    }
}

#[test]
fn the_page_of_the_interface_matches_the_document() {
    let committed = fs::read_to_string(root().join(interface::PATH)).unwrap_or_default();
    let path = interface::PATH;
    assert!(
        committed == interface::page(),
        "{path}:1: does not match docs/interface.md: run `make man`"
    );
}

#[test]
#[ignore = "writes man/*.3 and man/*.7"]
fn write_pages() {
    let fresh = page::pages(&Header::read());
    for old in pages("3") {
        fs::remove_file(root().join(old)).unwrap();
    }
    for (path, text) in fresh {
        fs::write(root().join(path), text).unwrap();
    }
    fs::write(root().join(interface::PATH), interface::page()).unwrap();
}

/// The committed pages of a section.
fn pages(section: &str) -> Vec<String> {
    let names = fs::read_dir(root().join("man")).unwrap();
    let names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
    let ending = format!(".{section}");
    let mut pages: Vec<String> =
        names.filter(|name| name.ends_with(&ending)).map(|name| format!("man/{name}")).collect();
    pages.sort();
    pages
}

/// Reads the pages themselves, independently of the code that generates them.
#[test]
fn every_function_is_on_one_page_with_its_prototype() {
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for path in pages("3") {
        let page = read(&path);
        let named: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix(".Nm "))
            .map(|name| name.trim_end_matches(" ,"))
            .collect();
        for (name, prototype) in prototypes(&page) {
            assert!(named.contains(&name.as_str()), "{path}: NAME lacks {name}");
            assert!(
                shown.insert(name.clone(), prototype).is_none(),
                "{path}: {name} has another prototype in another page"
            );
        }
    }
    for function in Header::read().functions {
        let parameters = match function.parameters.is_empty() {
            true => "void".into(),
            false => function.parameters.join(", "),
        };
        let declared = format!("{} {}({parameters})", function.returns, function.name);
        assert_eq!(shown.remove(&function.name), Some(declared), "{}", function.name);
    }
    assert!(shown.is_empty(), "no longer in the header: {shown:?}");
}

fn prototypes(page: &str) -> Vec<(String, String)> {
    let bare = |text: &str| text.trim().trim_matches('"').to_owned();
    let (mut returns, mut name, mut parameters) = (String::new(), String::new(), Vec::new());
    let mut prototypes = Vec::new();
    let synopsis = page.split(".Sh SYNOPSIS").nth(1).unwrap().split(".Sh ").next().unwrap();
    for line in synopsis.lines() {
        match line.split_once(' ').unwrap_or((line, "")) {
            (".Ft", text) => returns = bare(text),
            (".Fo", text) => name = bare(text),
            (".Fa", text) => parameters.push(bare(text)),
            (".Fc", _) => {
                let all = std::mem::take(&mut parameters).join(", ");
                prototypes.push((name.clone(), one_line(&format!("{returns} {name}({all})"))));
            }
            _ => {}
        }
    }
    prototypes
}

#[test]
fn every_struct_is_described_once() {
    let text: String = pages("3").iter().map(|path| read(path)).collect();
    for one in Header::read().structs {
        let heading = format!(".Ss struct {}\n", one.name);
        assert_eq!(text.matches(&heading).count(), 1, "{heading}");
    }
}

#[test]
fn the_pages_pass_the_mandoc_linter() {
    for path in [pages("3"), pages("5"), pages("7"), pages("8")].concat() {
        let lint = Command::new("mandoc")
            .args(["-T", "lint", "-W", "style", &path])
            .current_dir(root())
            .output();
        let Ok(lint) = lint else {
            return eprintln!("skipped: mandoc is not installed; `make tools-test` installs it");
        };
        let output = String::from_utf8_lossy(&lint.stdout);
        // Only installed pages are where mandoc looks for the manuals that they reference.
        let complaints: Vec<&str> =
            output.lines().filter(|line| !line.contains("referenced manual not found")).collect();
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }
}

/// People copy the code in EXAMPLES, so it must compile.
#[test]
fn the_examples_compile() {
    let mut seen = 0;
    for path in pages("3") {
        let page = read(&path);
        let Some((_, examples)) = page.split_once(".Sh EXAMPLES\n") else { continue };
        let literal = |part: &str| part.split_once(".Ed").map(|(code, _)| code.to_owned());
        let codes: Vec<String> = examples
            .split(".Bd -literal -offset indent\n")
            .skip(1)
            .filter_map(literal)
            .map(|code| code.replace("\\e", "\\").replace("\\&", ""))
            .collect();
        assert!(!codes.is_empty(), "{path}: EXAMPLES contains no code");
        seen += codes.len();
        let source = format!(
            "#include <stdio.h>\n#include <string.h>\n#include <seconder.h>\n{}",
            codes.concat()
        );
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("example.c");
        fs::write(&file, source).unwrap();
        let outcome = Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I"])
            .arg(root().join("include"))
            .arg(&file)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(outcome.status.success(), "{path}: {}", String::from_utf8_lossy(&outcome.stderr));
    }
    assert!(seen > 5);
}

//! The list of operations in docs/administration.md.

use super::{read, root};
use seconder::engine::operator;
use std::fs;

const FILE: &str = "docs/administration.md";

#[test]
fn the_list_of_operations_is_up_to_date() {
    assert!(
        read(FILE) == document(),
        "{FILE}:1: is not up to date. Regenerate it with \
         `cargo test --test faces -- --ignored write_operations`"
    );
}

#[test]
#[ignore = "writes docs/administration.md"]
fn write_operations() {
    let path = root().join(FILE);
    fs::write(&path, document()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// The text of the document, with the table of operations as it should be.
fn document() -> String {
    let text = read(FILE);
    let (begin, end) = ("<!-- operations -->\n", "<!-- end of operations -->\n");
    let (before, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin}"));
    let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("no {end}"));
    let mut table = String::from("| operation | parameters | role |\n|---|---|---|\n");
    for operation in operator::operations() {
        let (name, role) = (operation.name, operation.role);
        let parameters = operation.parameters.iter().map(|name| format!("`{name}`"));
        let parameters: Vec<String> = parameters.collect();
        table += &format!("| `{name}` | {} | {role} |\n", parameters.join(", "));
    }
    format!("{before}{begin}{table}{end}{after}")
}

//! A module of Python that is being written.

use super::layout::{docstring, fits};
use std::collections::{BTreeMap, BTreeSet};

/// Names, by the modules that they are imported from.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// A module, with the names that it imports.
pub(super) struct Source {
    first: String,
    docs: String,
    imports: Imports,
    /// The modules that only annotations need, which name their members after a dot. Importing them takes time.
    later: BTreeSet<String>,
    body: String,
}

impl Source {
    /// A module that follows from what `from` names.
    pub(super) fn new(from: &str, docs: &str) -> Source {
        Source {
            first: format!("# Written by tools/generate from {from}.\n"),
            docs: docs.to_owned(),
            imports: Imports::new(),
            later: BTreeSet::new(),
            body: String::new(),
        }
    }

    pub(super) fn import(&mut self, module: &str, name: &str) {
        self.imports.entry(module.to_owned()).or_default().insert(name.to_owned());
    }

    /// Imports a module when an annotation is evaluated, and returns the name of its member there.
    pub(super) fn later(&mut self, module: &str, name: &str) -> String {
        self.later.insert(module.to_owned());
        format!("{}.{name}", last(module))
    }

    /// Adds lines of the module itself, after two empty lines.
    pub(super) fn add(&mut self, text: &str) {
        self.body += &format!("\n\n{text}");
    }

    pub(super) fn finish(self) -> String {
        let docs = docstring(0, std::slice::from_ref(&self.docs));
        let mut text = format!("{}{docs}\nfrom __future__ import annotations\n", self.first);
        // What the package imports anyway is imported at once.
        text += &statements(0, &self.imports);
        if !self.later.is_empty() {
            text += "\nTYPE_CHECKING = False\nif TYPE_CHECKING:\n";
            for module in &self.later {
                text += &match module.rsplit_once('.') {
                    Some((package, name)) => format!("    from {package} import {name}\n"),
                    None => format!("    import {module}\n"),
                };
            }
            let names: BTreeSet<String> = self.later.iter().map(|m| last(m).to_owned()).collect();
            text += &format!("else:\n{}", statement(4, "seconder._later", &names));
        }
        text + &self.body
    }
}

/// The modules of which hand-written annotations name members after a dot.
pub(super) const LATER: [&str; 3] = ["datetime", "typing", "typing_extensions"];

fn last(module: &str) -> &str {
    module.rsplit('.').next().unwrap_or(module)
}

/// Import statements, in groups with an empty line before each.
fn statements(indent: usize, imports: &Imports) -> String {
    let group = |module: &str| match module.split('.').next().unwrap_or_default() {
        "seconder" => 2,
        "typing_extensions" => 1,
        _ => 0,
    };
    let mut text = String::new();
    for number in 0..3 {
        let each = imports.iter().filter(|(module, _)| group(module) == number);
        let lines: String = each.map(|(module, names)| statement(indent, module, names)).collect();
        if !lines.is_empty() {
            text += &format!("\n{lines}");
        }
    }
    text
}

fn statement(indent: usize, module: &str, names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let pad = " ".repeat(indent);
    let line = format!("{pad}from {module} import {}", names.join(", "));
    if fits(&line) {
        return line + "\n";
    }
    let lines: String = names.iter().map(|name| format!("{pad}    {name},\n")).collect();
    format!("{pad}from {module} import (\n{lines}{pad})\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_annotations_alone_need_are_imported_later() {
        let mut source = Source::new("src/calls.rs", "Things.");
        source.import("seconder.results", "Done");
        assert_eq!(source.later("typing", "Any"), "typing.Any");
        assert_eq!(source.later("seconder.typed", "Logo"), "typed.Logo");
        source.add("x = 1\n");
        let wanted = "# Written by tools/generate from src/calls.rs.\n\"\"\"Things.\"\"\"\n\n\
             from __future__ import annotations\n\nfrom seconder.results import Done\n\n\
             TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from seconder import typed\n    \
             import typing\nelse:\n    from seconder._later import typed, typing\n\n\nx = 1\n";
        assert_eq!(source.finish(), wanted);
    }
}

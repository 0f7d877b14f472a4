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
    /// The names that only annotations need. Importing their modules takes time.
    annotations: Imports,
    body: String,
}

impl Source {
    /// A module that follows from what `from` names.
    pub(super) fn new(from: &str, docs: &str) -> Source {
        Source {
            first: format!("# Written by tools/generate from {from}.\n"),
            docs: docs.to_owned(),
            imports: Imports::new(),
            annotations: Imports::new(),
            body: String::new(),
        }
    }

    pub(super) fn import(&mut self, module: &str, name: &str) {
        self.imports.entry(module.to_owned()).or_default().insert(name.to_owned());
    }

    /// Imports a name for type checkers alone.
    pub(super) fn annotate(&mut self, module: &str, name: &str) {
        self.annotations.entry(module.to_owned()).or_default().insert(name.to_owned());
    }

    /// Imports a class of the package for type checkers alone, and returns its name.
    pub(super) fn annotated(&mut self, module: &str, name: &str) -> String {
        self.annotate(module, name);
        name.to_owned()
    }

    /// Adds lines of the module itself, after two empty lines.
    pub(super) fn add(&mut self, text: &str) {
        self.body += &format!("\n\n{text}");
    }

    pub(super) fn finish(mut self) -> String {
        for (module, names) in &self.imports {
            if let Some(others) = self.annotations.get_mut(module) {
                others.retain(|name| !names.contains(name));
            }
        }
        self.annotations.retain(|_, names| !names.is_empty());
        let docs = docstring(0, std::slice::from_ref(&self.docs));
        let mut text = format!("{}{docs}\nfrom __future__ import annotations\n", self.first);
        text += &statements(0, &self.imports);
        if !self.annotations.is_empty() {
            text += "\nTYPE_CHECKING = False\nif TYPE_CHECKING:";
            text += &statements(4, &self.annotations);
        }
        text + &self.body
    }
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
    fn names_that_annotations_alone_need_are_imported_for_type_checkers() {
        let mut source = Source::new("src/calls.rs", "Things.");
        source.import("seconder.results", "Done");
        source.annotate("seconder.results", "Done");
        source.annotate("typing_extensions", "Self");
        source.annotate("typing", "Any");
        source.add("x = 1\n");
        let wanted = "# Written by tools/generate from src/calls.rs.\n\"\"\"Things.\"\"\"\n\n\
             from __future__ import annotations\n\nfrom seconder.results import Done\n\n\
             TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from typing import Any\n\n    \
             from typing_extensions import Self\n\n\nx = 1\n";
        assert_eq!(source.finish(), wanted);
    }
}

//! A file of Rust that is being written.

use std::collections::{BTreeMap, BTreeSet};

/// A file, with the names that it imports.
pub(super) struct Source {
    declared_in: String,
    module: String,
    imports: BTreeMap<String, BTreeSet<String>>,
    body: String,
}

impl Source {
    pub(super) fn new(declared_in: &str, module: &str) -> Source {
        Source {
            declared_in: declared_in.to_owned(),
            module: module.to_owned(),
            imports: BTreeMap::new(),
            body: String::new(),
        }
    }

    pub(super) fn import(&mut self, module: &str, name: &str) {
        self.imports.entry(module.to_owned()).or_default().insert(name.to_owned());
    }

    /// Imports a name of a generated file, unless it is this one.
    pub(super) fn import_generated(&mut self, module: &str, name: &str) {
        if module != self.module {
            self.import(&format!("super::{module}"), name);
        }
    }

    pub(super) fn add(&mut self, text: &str) {
        self.body += text;
        self.body += "\n";
    }

    pub(super) fn finish(self) -> String {
        let mut text = format!("//! Written by tools/generate from {}.\n\n", self.declared_in);
        for (module, names) in &self.imports {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            match names.as_slice() {
                [one] if *one != "self" => text += &format!("use {module}::{one};\n"),
                ["self"] => text += &format!("use {module};\n"),
                _ => text += &format!("use {module}::{{{}}};\n", names.join(", ")),
            }
        }
        text + "\n" + self.body.trim_end() + "\n"
    }
}

//! Circles of files that import each other: none of them can be read alone.

use super::source::{Source, sources};
use std::collections::{BTreeMap, BTreeSet};

/// The files by their modules, each with the modules that it names.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Two files that import each other, such as a type and its parser, are one unit. More are a knot.
#[test]
fn no_more_than_two_files_of_the_engine_or_the_server_import_each_other() {
    for room in ["src/engine", "server/src"] {
        let mut files = sources();
        files.retain(|file| !file.test && file.is_in(&[room]) && file.module() != "crate");
        let modules: BTreeSet<String> = files.iter().map(Source::module).collect();
        let imports = files.iter().map(|file| (file.module(), imported(file, &modules))).collect();
        let circles = circles(&imports);
        assert!(circles.is_empty(), "move what they share to a file of its own: {circles:#?}");
    }
}

#[test]
fn a_circle_is_found_over_several_files() {
    let from = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a"), ("e", "f"), ("f", "e")];
    let imports = from.map(|(file, other)| (file.to_owned(), [other.to_owned()].into()));
    assert_eq!(circles(&Imports::from(imports)), [["a", "b", "c"]]);
}

/// Returns the groups of more than two files from each of which the others are reached.
fn circles(imports: &Imports) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        imports.keys().map(|file| (file, reached(file, imports))).collect();
    let circle = |file: &String| -> Vec<String> {
        let others = reached[file].iter().filter(|other| reached[*other].contains(file));
        others.map(|other| (*other).clone()).collect()
    };
    let found: BTreeSet<Vec<String>> = imports.keys().map(circle).collect();
    found.into_iter().filter(|circle| circle.len() > 2).collect()
}

fn reached<'a>(file: &'a String, imports: &'a Imports) -> BTreeSet<&'a String> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![file]);
    while let Some(file) = next.pop() {
        next.extend(imports[file].iter().filter(|other| reached.insert(*other)));
    }
    reached
}

/// Returns the modules of these that a file names.
fn imported(file: &Source, modules: &BTreeSet<String>) -> BTreeSet<String> {
    let own = file.module();
    // Other names are those of declarations and variables.
    let paths = file.paths().into_iter().filter(|(path, _)| path.contains("::"));
    let named = paths.flat_map(|(path, _)| {
        // A path may begin with a module of the file itself.
        [file_of(&path, modules), file_of(&format!("{own}::{path}"), modules)]
    });
    named.flatten().filter(|other| *other != own).collect()
}

/// Returns the innermost of these modules that a path leads through.
fn file_of(path: &str, modules: &BTreeSet<String>) -> Option<String> {
    let mut path = path;
    while !modules.contains(path) {
        path = path.rsplit_once("::")?.0;
    }
    Some(path.to_owned())
}

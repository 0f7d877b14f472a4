//! The Python package: the methods of the calls, the classes of replies, and the enums.

mod calls;
mod docs;
mod enums;
mod examples;
mod forwards;
mod groups;
mod kind;
mod layout;
mod native;
mod opening;
mod parameter;
mod results;
mod source;
mod typed;

use crate::Result;
use crate::model::{Interface, Struct};
use examples::Examples;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The name of this language in overrides.
const PYTHON: &str = "python";

/// The overrides that this generator knows, each with what it changes.
const NOTES: [&str; 14] = [
    // A hand-written class that the class has methods of.
    "base",
    // There is no class: the call returns a flag.
    "flag",
    // The group of a call that the service has in an attribute.
    "group",
    // The function of the extension module that decides what a reply means.
    "handled_by",
    // There is no attribute.
    "hidden",
    // The name of a parameter that may be left out need not be given.
    "positional",
    // The name of the class.
    "name",
    // `repr` does not show the value.
    "no_repr",
    // The texts that a value may be.
    "one_of",
    // Exceptions of Python alone, each with a sentence on a line.
    "raises",
    // A parameter that could be left out has no default.
    "required",
    // A number or a text that is a time.
    "time",
    // The only value of an enum that is true.
    "truthy",
    // A flag is true by default, though a request without it means no.
    "yes",
];

/// The folder of the package.
const PACKAGE: &str = "bindings/python/seconder";

/// The generated files, by their paths.
pub(crate) fn files(root: &Path, interface: &Interface) -> Result<BTreeMap<String, String>> {
    interface.check_notes(PYTHON, &NOTES)?;
    let load = |path: &str| fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: {e}"));
    let hand_written = |name: &str| load(&format!("{PACKAGE}/{name}"));
    let mut examples = Examples::parse(&load(examples::FILE)?);
    let aio = hand_written("aio.py")?;
    let modules = [
        ("_async_calls.py", forwards::module(interface, &hand_written, &aio)?),
        ("calls.py", calls::module(interface, &mut examples)?),
        ("enums.py", enums::module(interface, &mut examples)?),
        ("results.py", results::module(interface, &hand_written("records.py")?)?),
        ("typed.py", typed::module(interface, &mut examples)?),
    ];
    examples.finish()?;
    let modules = modules.into_iter().chain([
        ("opening.py", opening::module(interface, "opening.py", &load)?),
        ("opening_async.py", opening::module(interface, "opening_async.py", &load)?),
        ("options.py", opening::module(interface, "options.py", &load)?),
    ]);
    Ok(modules.map(|(name, text)| (format!("{PACKAGE}/{name}"), text)).collect())
}

/// The generated file of the extension module, by its path.
pub(crate) fn native(interface: &Interface) -> Result<(String, String)> {
    Ok(("bindings/python/src/generated.rs".to_owned(), native::file(interface)?))
}

/// The name of a struct's class.
fn class(declared: &Struct) -> &str {
    declared.overrides.note(PYTHON, "name").unwrap_or(&declared.name)
}

/// The public classes of a module, by the lines that begin them.
fn public_classes(module: &str) -> Vec<&str> {
    let names = module.lines().filter_map(|line| line.strip_prefix("class ")?.split('(').next());
    names.filter(|name| !name.starts_with('_')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model;

    #[test]
    fn the_modules_of_the_project_are_made() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let files = files(&root, &model::read(&root).unwrap()).unwrap();
        let calls = &files["bindings/python/seconder/calls.py"];
        let verify = calls.split("    def ").find(|text| text.starts_with("verify(")).unwrap();
        assert!(verify.contains("        user_id: int,\n        token: str,\n        *,\n"));
        assert!(verify.contains("force: bool = True,\n        action: str | None = None,\n"));
        assert!(verify.contains("            user_id: The user to verify.\n"));
        assert!(verify.contains("token = _typed(\"token\", token)\n"));
        assert!(verify.ends_with("        return Verification._read(reply)\n\n"));
        let results = &files["bindings/python/seconder/results.py"];
        let device = results.split("\nclass ").find(|text| text.starts_with("Device(")).unwrap();
        assert!(device.contains("    registration_date: datetime.datetime | None = None\n"));
        assert!(device.contains("    \"\"\"When it was registered, in UTC.\"\"\"\n"));
    }
}

//! Writes the source that follows from the declarations of the calls: `make generate`.
//!
//! With `--check`, it writes nothing and fails if a file differs from what it would write.

mod c;
mod cpp;
mod docs;
mod format;
mod model;
mod python;
mod template;
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The result of a step, whose error is a line for the developer.
type Result<T> = std::result::Result<T, String>;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let check = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--check") => true,
        Some(other) => return Err(format!("{other}: unknown option; --check is the only one")),
    };
    let interface = model::read(&root)?;
    let mut files = BTreeMap::new();
    for (path, text) in c::files(&interface)? {
        files.insert(path, format::rust(&root, &text)?);
    }
    let (path, header) = cpp::file(&root, &interface)?;
    files.insert(path, header);
    let (path, text) = python::native(&interface)?;
    files.insert(path, format::rust(&root, &text)?);
    files.extend(python::files(&root, &interface)?);
    let old = stale(&root, "src/capi/generated", &files)?;
    let differs = |(path, text): &(&String, &String)| {
        fs::read_to_string(root.join(path)).ok().as_ref() != Some(*text)
    };
    let changed: Vec<(&String, &String)> = files.iter().filter(differs).collect();
    if check {
        let paths: Vec<&str> = changed.iter().map(|(path, _)| path.as_str()).collect();
        let paths = [paths, old.iter().map(String::as_str).collect()].concat();
        return match paths.is_empty() {
            true => Ok(()),
            false => Err(format!("not up to date: {}: run `make generate`", paths.join(", "))),
        };
    }
    for (path, text) in changed {
        let path = root.join(path);
        let folder = path.parent().unwrap_or(&root);
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    for path in old {
        fs::remove_file(root.join(&path)).map_err(|e| format!("{path}: {e}"))?;
    }
    Ok(())
}

/// Old files of a generated folder, to which no declaration leads.
fn stale(root: &Path, folder: &str, files: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return Ok(Vec::new()) };
    let mut old = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| format!("{folder}: {e}"))?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if !files.contains_key(&path) {
            old.push(path);
        }
    }
    Ok(old)
}

//! The C++ header: `include/seconder.hpp`, of its template and the declarations of the calls.

mod call;
mod enums;
mod layout;
mod names;
mod opening;
mod options;
mod reply;
mod template;

use crate::Result;
use crate::c::Plan;
use crate::docs::Translator;
use crate::model::{Interface, Struct};
use crate::template::fill;
use enums::Enums;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The name of this language in overrides.
const CPP: &str = "cpp";

/// The overrides that this generator knows: `by_hand`, if the function that throws or reads is written by hand;
/// `kind`, the enum of a number of the C layer; `seconds`, if a number of seconds is a duration; and `yes`, if a flag is
/// true by default.
const NOTES: [&str; 4] = ["by_hand", "kind", "seconds", "yes"];

const TEMPLATE: &str = "include/seconder.hpp.in";

/// The header and its path.
pub(crate) fn file(root: &Path, interface: &Interface) -> Result<(String, String)> {
    interface.check_notes(CPP, &NOTES)?;
    let plan = Plan::new(interface)?;
    let at = |e: String| format!("{TEMPLATE}: {e}");
    let template = fs::read_to_string(root.join(TEMPLATE)).map_err(|e| at(e.to_string()))?;
    let enums = Enums::read(&template, &interface.constants).map_err(at)?;
    let cpp = Cpp { plan: &plan, enums: &enums };
    let mut parts = parts(&cpp)?;
    parts.append(&mut enums.parts());
    parts.append(&mut template::throwing(&template));
    let text = fill(&template, parts).map_err(at)?;
    let text = format!(
        "/* Written by tools/generate from {TEMPLATE}, src/calls/ and src/capi/. */\n{text}"
    );
    Ok(("include/seconder.hpp".to_owned(), text))
}

/// The types that C++ has: owners of C's handles, and structs for what the caller fills in.
struct Cpp<'a> {
    plan: &'a Plan<'a>,
    enums: &'a Enums<'a>,
}

impl Cpp<'_> {
    fn translator<'b>(&'b self, declared: &'b Struct) -> Translator<'b> {
        Translator::new(self.plan.interface, self, declared)
    }
}

/// The parts of the header that are generated, by the names of the places that they take.
fn parts(cpp: &Cpp<'_>) -> Result<BTreeMap<String, String>> {
    let (tries, throwing) = call::functions(cpp)?;
    let (structs, made) = options::inputs(cpp)?;
    let mut parts = BTreeMap::from([
        ("structs in lists".to_owned(), structs),
        ("structs of C in lists".to_owned(), made),
        ("options of the calls".to_owned(), options::options(cpp)?),
        ("options of opening".to_owned(), opening::options(cpp)),
        ("options of opening in C".to_owned(), opening::passed(cpp)),
        ("replies".to_owned(), reply::classes(cpp)?),
        ("calls that return a Result".to_owned(), tries),
        ("calls that throw".to_owned(), throwing),
    ]);
    for declared in reply::all(cpp)?.into_iter().filter(|one| reply::has_own_functions(one)) {
        parts.insert(format!("accessors of {}", declared.name), reply::accessors(cpp, declared)?);
    }
    for declared in cpp.plan.interface.records.iter().filter(|one| !one.fields.is_empty()) {
        parts.insert(format!("accessors of {}", declared.name), reply::accessors(cpp, declared)?);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_short() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (_, text) = file(&root, &crate::model::read(&root).unwrap()).unwrap();
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 100).collect();
        assert!(long.is_empty(), "{long:#?}");
    }
}

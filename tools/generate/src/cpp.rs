//! The C++ header: `include/seconder.hpp`, of its template.

mod template;

use crate::Result;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const TEMPLATE: &str = "include/seconder.hpp.in";

/// The header and its path.
pub(crate) fn file(root: &Path) -> Result<(String, String)> {
    let at = |e: String| format!("{TEMPLATE}: {e}");
    let template = fs::read_to_string(root.join(TEMPLATE)).map_err(|e| at(e.to_string()))?;
    let text = template::fill(&template, BTreeMap::new()).map_err(at)?;
    let text = format!("/* Written by tools/generate from {TEMPLATE}. */\n{text}");
    Ok(("include/seconder.hpp".to_owned(), text))
}

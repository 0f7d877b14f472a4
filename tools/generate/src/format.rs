//! Formats what was generated, with the settings of the project.

use crate::Result;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Rust source as rustfmt writes it.
pub(crate) fn rust(root: &Path, text: &str) -> Result<String> {
    let failed = |e: std::io::Error| format!("rustfmt: {e}");
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--config-path"])
        .arg(root.join("rustfmt.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    match (output.status.success(), String::from_utf8(output.stdout)) {
        (true, Ok(formatted)) => Ok(formatted),
        _ => Err(format!("rustfmt rejects what was generated:\n{text}")),
    }
}

//! Runs the program as an operator does, in a folder.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// What a command printed, which must have succeeded without messages.
#[track_caller]
pub(crate) fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.is_empty(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The message of a command, which must have failed.
#[track_caller]
pub(crate) fn error_of(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

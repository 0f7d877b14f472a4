//! The output of commands.

pub(crate) mod exit;
pub(crate) mod files;
pub(crate) mod qr;
pub(crate) mod table;

use crate::invalid;
use seconder::{Error, Result};
use std::io::{ErrorKind, Write};

/// Prints a result. Unlike `println!`, returns an error if standard output cannot be written; but a reader that has
/// closed the pipe, such as `head`, has all that it wants.
pub(crate) fn print(text: &str) -> Result<()> {
    print_to_reader(text).map(drop)
}

/// Prints what a reader must have for the command to go on.
pub(crate) fn print_needed(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}").map_err(|error| not_printed(&error))
}

/// Prints one of many lines. Returns whether there is still a reader: `head` has enough at some point.
pub(crate) fn print_to_reader(line: &str) -> Result<bool> {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(not_printed(&error)),
        Ok(()) => Ok(true),
    }
}

fn not_printed(error: &std::io::Error) -> Error {
    invalid("standard output", format!("cannot be written: {error}"))
}

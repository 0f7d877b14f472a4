//! Lines that are typed at a terminal, or that a program writes.

use crate::commands::invalid;
use seconder::Result;
use std::io::{BufRead, Read, Write};

/// The most bytes of a line that a user types.
const LONGEST_LINE: u64 = 4096;

/// Asks for a line; `None` at the end of the input.
pub(crate) fn ask(prompt: &str) -> Result<Option<String>> {
    let mut out = std::io::stdout();
    write!(out, "{prompt}")
        .and_then(|()| out.flush())
        .map_err(|error| invalid("standard output", format!("cannot be written: {error}")))?;
    line()
}

/// Reads a line; `None` at the end of the input.
pub(crate) fn line() -> Result<Option<String>> {
    let mut line = String::new();
    let mut input = std::io::stdin().lock().take(LONGEST_LINE);
    match input.read_line(&mut line) {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(line)),
        Err(error) => Err(invalid("standard input", format!("cannot be read: {error}"))),
    }
}

//! Lines that are typed at a terminal, or that a program writes.

use crate::invalid;
use clap::Args;
use seconder::Result;
use std::io::{BufRead, IsTerminal, Read, Write};

/// The most bytes of a line that a user types.
const LONGEST_LINE: u64 = 4096;

/// The option by which a command that destroys something does not ask.
#[derive(Args, Clone, Copy)]
pub(crate) struct Sure {
    /// Do not ask: for scripts. Without it, and without a terminal to ask at, the command is refused.
    #[arg(long)]
    yes: bool,
}

impl Sure {
    /// Asks whether to destroy what `what` describes.
    ///
    /// # Errors
    /// If the answer is not `yes`, and if there is no terminal; then nothing was changed.
    pub(crate) fn ask(self, what: impl FnOnce() -> Result<String>) -> Result<()> {
        if self.yes {
            return Ok(());
        }
        if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
            let reason = "is required without a terminal, because this cannot be undone; nothing was changed";
            return Err(invalid("yes", reason.to_owned()));
        }
        // Standard output is for the result.
        let shown = write!(std::io::stderr(), "{}\nType yes to go on: ", what()?);
        shown.map_err(|error| invalid("standard error", format!("cannot be written: {error}")))?;
        match line()?.as_deref().map(str::trim) {
            Some("yes") => Ok(()),
            _ => Err(invalid("yes", "was not typed, so nothing was changed".to_owned())),
        }
    }
}

/// Returns whether a person can be asked: standard input and output are a terminal.
pub(crate) fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

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

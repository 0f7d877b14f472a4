//! The exit statuses of the program: a command ends with one of these, and the manual lists them.

use std::process::ExitCode;

/// How a command has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Misused = 2,
}

impl Exit {
    /// Returns what the status says, for the manual.
    #[cfg(test)]
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Exit::Done => {
                "The command did what it is for. What was checked is right. With `seconder jobs run`, messages \
                 may have failed: its line says how many. A reader that closes the pipe early is no error."
            }
            Exit::Failed => {
                "The command did not do it, or not all of it, and a message on standard error says why; or what \
                 was checked is not right: a code of `seconder call`, a check of `seconder doctor`, the file of \
                 `seconder maintain`, a line of `seconder import`."
            }
            Exit::Misused => {
                "The options or their values are wrong, and nothing was done. Settings of a configuration file \
                 that are wrong have the status 1."
            }
        }
    }
}

impl From<bool> for Exit {
    /// Returns the status for whether what was checked is right.
    fn from(is_right: bool) -> Exit {
        if is_right { Exit::Done } else { Exit::Failed }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

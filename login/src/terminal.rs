//! A user at a terminal, and an operator who reads standard error.

use crate::conversation::{Conversation, Journal, Silent, Style, Typed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use seconder::model::Secret;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// The terminal of the process, whatever standard input and output are.
const TERMINAL: &str = "/dev/tty";
/// The most bytes that are typed in one line.
const LONGEST: usize = 512;
/// Ctrl-C.
const CONTROL_C: u8 = 3;

/// The user at the terminal of this process.
#[derive(Debug)]
pub struct Terminal(File);

impl Terminal {
    /// Opens the terminal.
    ///
    /// # Errors
    /// [`Silent`] if the process has none.
    pub fn open() -> Result<Terminal, Silent> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let flags = rustix::fs::OFlags::NOCTTY.bits();
        options.custom_flags(flags.try_into().map_err(|_| Silent)?);
        options.open(TERMINAL).map(Terminal).map_err(|_| Silent)
    }

    fn write(&mut self, text: &str) -> Result<(), Silent> {
        self.0.write_all(text.as_bytes()).map_err(|_| Silent)
    }

    /// Reads a line. Ctrl-D, Ctrl-C and the end of the connection are no answer.
    fn line(&mut self) -> Typed {
        let mut line = Zeroizing::new(Vec::with_capacity(LONGEST));
        let mut byte = [0];
        loop {
            match self.0.read(&mut byte) {
                Ok(0) => return Err(Silent),
                Ok(_) if byte[0] == b'\n' => break,
                Ok(_) if byte[0] == CONTROL_C || line.len() == LONGEST => return Err(Silent),
                Ok(_) => line.push(byte[0]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Silent),
            }
        }
        let text = std::str::from_utf8(&line).map_err(|_| Silent)?;
        Ok(Secret::new(text))
    }

    fn readable(&self, within: Duration) -> bool {
        let began = Instant::now();
        loop {
            let left = within.saturating_sub(began.elapsed());
            let Ok(time) = Timespec::try_from(left) else { return false };
            match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&time)) {
                Ok(count) => return count > 0,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

impl Conversation for Terminal {
    fn ask(&mut self, prompt: &str, echo: bool) -> Typed {
        let hidden = match echo {
            true => None,
            false => Some(Hidden::begin(&self.0)?),
        };
        self.write(prompt)?;
        let typed = self.line();
        drop(hidden);
        if !echo {
            self.write("\n")?;
        }
        typed
    }

    fn show(&mut self, text: &str, _: Style) -> Result<(), Silent> {
        self.write(&format!("{text}\n"))
    }

    fn pressed_enter(&mut self, within: Duration) -> bool {
        // A terminal that was closed is readable too, and nothing can be read from it.
        self.readable(within) && { self.line().map_or(true, |_| true) }
    }

    fn holds_text_back(&self) -> bool {
        false
    }
}

/// Does not show what is typed, until it is dropped. Ctrl-C ends the line instead of the process,
/// which would leave the terminal like this.
struct Hidden {
    terminal: File,
    before: Termios,
}

impl Hidden {
    fn begin(terminal: &File) -> Result<Hidden, Silent> {
        let terminal = terminal.try_clone().map_err(|_| Silent)?;
        let before = tcgetattr(&terminal).map_err(|_| Silent)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
        hidden.special_codes[SpecialCodeIndex::VEOL] = CONTROL_C;
        // What was typed ahead is kept: it may be the code.
        tcsetattr(&terminal, OptionalActions::Drain, &hidden).map_err(|_| Silent)?;
        Ok(Hidden { terminal, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Drain, &self.before);
    }
}

/// An operator who reads standard error.
#[derive(Debug)]
pub struct StandardError {
    program: &'static str,
}

impl StandardError {
    /// Each line begins with the program's name.
    pub fn new(program: &'static str) -> StandardError {
        StandardError { program }
    }

    fn write(&self, text: &str) {
        // A closed standard error changes no decision.
        let _ = writeln!(std::io::stderr(), "{}: {text}", self.program);
    }
}

impl Journal for StandardError {
    fn error(&mut self, text: &str) {
        self.write(&format!("error: {text}"));
    }

    fn notice(&mut self, text: &str) {
        self.write(text);
    }
}

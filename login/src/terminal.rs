//! A user at a terminal, and an operator who reads standard error.

use crate::conversation::{Conversation, Journal, Silent, Style, Typed};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use seconder::model::Secret;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind::{Interrupted, WouldBlock};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// The terminal of the process, independent of standard input and output.
const TERMINAL: &str = "/dev/tty";
/// Maximum length of the typed text, in bytes.
const LONGEST: usize = 512;
/// The signals that end or stop a process whose terminal shows nothing.
const SIGNALS: [Signal; 5] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGTSTP];

/// The user at the terminal of this process.
#[derive(Debug)]
pub struct Terminal {
    /// Opened a second time, so that reading waits for nothing: the input that was there when the wait for it ended may
    /// be gone, because Ctrl-C discards it.
    typed: File,
    shown: File,
}

impl Terminal {
    /// Opens the terminal.
    ///
    /// # Errors
    /// [`Silent`] if the process has none.
    pub fn open() -> Result<Terminal, Silent> {
        let open = |options: &mut OpenOptions, flags: OFlags| {
            let flags = (flags | OFlags::NOCTTY).bits().try_into().map_err(|_| Silent)?;
            options.custom_flags(flags).open(TERMINAL).map_err(|_| Silent)
        };
        let typed = open(OpenOptions::new().read(true), OFlags::NONBLOCK)?;
        let shown = open(OpenOptions::new().read(true).write(true), OFlags::empty())?;
        Ok(Terminal { typed, shown })
    }

    fn write(&mut self, text: &str) -> Result<(), Silent> {
        self.shown.write_all(text.as_bytes()).map_err(|_| Silent)
    }

    /// Reads a line, to its end even where it is too long: the next program must not read the rest.
    /// Ctrl-D and the end of the connection are no answer. `wait` waits until there is more of it, and
    /// is `false` if there will not be: a part of a line is there without the rest if Ctrl-D was pressed
    /// after it, or where the terminal does not pass on whole lines.
    fn line(&mut self, wait: impl Fn(&File) -> Result<bool, Silent>) -> Option<Typed> {
        let mut line = Zeroizing::new(Vec::with_capacity(LONGEST));
        let mut long = false;
        let mut byte = Zeroizing::new([0]);
        loop {
            match wait(&self.typed) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(silent) => return Some(Err(silent)),
            }
            match self.typed.read(&mut *byte) {
                Ok(0) => return Some(Err(Silent)),
                Ok(_) if byte[0] == b'\n' => break,
                Ok(_) if line.len() == LONGEST => long = true,
                Ok(_) => line.push(byte[0]),
                Err(error) if matches!(error.kind(), Interrupted | WouldBlock) => {}
                Err(_) => return Some(Err(Silent)),
            }
        }
        let text = std::str::from_utf8(&line).ok().filter(|_| !long);
        Some(text.map(Secret::new).ok_or(Silent))
    }
}

impl Conversation for Terminal {
    fn ask(&mut self, prompt: &str, echo: bool) -> Typed {
        if echo {
            self.write(prompt)?;
            return self.line(|typed| readable(typed, None)).unwrap_or(Err(Silent));
        }
        loop {
            let hidden = Hidden::begin(&self.shown)?;
            self.write(prompt)?;
            let typed = self.line(|typed| hidden.wait(typed));
            hidden.show();
            self.write("\n")?;
            // A signal ends the process here, or stops it, or is ignored.
            drop(hidden);
            if let Some(typed) = typed {
                return typed;
            }
        }
    }

    fn show(&mut self, text: &str, _: Style) -> Result<(), Silent> {
        self.write(&format!("{text}\n"))
    }

    fn pressed_enter(&mut self, within: Duration) -> bool {
        // A terminal that was closed is readable too, and nothing can be read from it.
        if !matches!(readable(&self.typed, Some(within)), Ok(true)) {
            return false;
        }
        // The rest of a line is discarded without waiting.
        let _ = self.line(|typed| readable(typed, Some(Duration::ZERO)));
        true
    }

    fn holds_text_back(&self) -> bool {
        false
    }
}

/// Waits until something was typed or the terminal is gone, for this long at most.
fn readable(terminal: &File, within: Option<Duration>) -> Result<bool, Silent> {
    let began = Instant::now();
    loop {
        let left = within.map(|within| within.saturating_sub(began.elapsed()));
        let Ok(time) = left.map(Timespec::try_from).transpose() else { return Err(Silent) };
        match poll(&mut [PollFd::new(terminal, PollFlags::IN)], time.as_ref()) {
            Ok(count) => return Ok(count > 0),
            Err(Errno::INTR) => {}
            Err(_) => return Err(Silent),
        }
    }
}

/// Hides typed text until it is dropped. Signals that would end or stop the process, such as the one of Ctrl-C, take
/// effect after that, because they would leave the terminal like this. They are held back instead of handled: a library
/// may not replace the handlers of a program, and a program that ignores one of them goes on ignoring it.
struct Hidden {
    terminal: File,
    before: Termios,
    mask: SigSet,
    signals: SignalFd,
}

impl Hidden {
    fn begin(terminal: &File) -> Result<Hidden, Silent> {
        let terminal = terminal.try_clone().map_err(|_| Silent)?;
        let before = tcgetattr(&terminal).map_err(|_| Silent)?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO);
        let held: SigSet = SIGNALS.into_iter().collect();
        let flags = SfdFlags::SFD_CLOEXEC;
        let signals = SignalFd::with_flags(&held, flags).map_err(|_| Silent)?;
        let mask = held.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(|_| Silent)?;
        let hidden = Hidden { terminal, before, mask, signals };
        // Text that was typed ahead is kept: it may be the code.
        tcsetattr(&hidden.terminal, OptionalActions::Now, &modes).map_err(|_| Silent)?;
        Ok(hidden)
    }

    /// Waits until something was typed, or the terminal is gone; or a signal came, which is `false`.
    fn wait(&self, typed: &File) -> Result<bool, Silent> {
        loop {
            let mut waits =
                [PollFd::new(&self.signals, PollFlags::IN), PollFd::new(typed, PollFlags::IN)];
            match poll(&mut waits, None) {
                Ok(_) => return Ok(waits[0].revents().is_empty()),
                Err(Errno::INTR) => {}
                Err(_) => return Err(Silent),
            }
        }
    }

    /// Shows typed text again.
    fn show(&self) {
        // At once, even where the user has stopped the output.
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        self.show();
        let _ = self.mask.thread_set_mask();
    }
}

/// An operator who reads standard error.
#[derive(Debug)]
pub struct StandardError {
    program: &'static str,
}

impl StandardError {
    /// Returns a journal on standard error. Each line begins with the program's name.
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

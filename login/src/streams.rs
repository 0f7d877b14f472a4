//! Users who are reached by another program, over standard input and output.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use seconder::model::Secret;
use seconder_login::{Conversation, Outcome, Silent, Style, Typed, exit_status};
use serde_json::{Value, json};
use std::io::{Stdin, Write};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// Maximum length of a line, in bytes.
const LONGEST: usize = 4096;

/// A program that asks the user, in JSON.
pub(crate) struct Programs {
    /// The time to wait for each answer.
    pub(crate) within: Duration,
}

impl Programs {
    fn write(&self, value: &Value) -> Result<(), Silent> {
        let mut out = std::io::stdout();
        writeln!(out, "{value}").and_then(|()| out.flush()).map_err(|_| Silent)
    }

    /// Writes how the login ended. The exit status says it too.
    pub(crate) fn end(&self, outcome: Outcome) {
        let _ = self.write(&json!({ "outcome": outcome.text(), "status": exit_status(outcome) }));
    }
}

impl Conversation for Programs {
    fn ask(&mut self, prompt: &str, echo: bool) -> Typed {
        self.write(&json!({ "ask": prompt, "echo": echo }))?;
        let line = line(self.within)?;
        let answer: Answered = serde_json::from_str(&line).map_err(|_| Silent)?;
        answer.answer.ok_or(Silent)
    }

    fn show(&mut self, text: &str, style: Style) -> Result<(), Silent> {
        let style = match style {
            Style::Info => "info",
            Style::Error => "error",
        };
        self.write(&json!({ "show": text, "style": style }))
    }

    fn pressed_enter(&mut self, within: Duration) -> bool {
        std::thread::sleep(within);
        false
    }

    fn holds_text_back(&self) -> bool {
        false
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    answer: Option<Secret>,
}

/// A user who typed one line before, and is not asked again.
pub(crate) struct OneCode(Option<Secret>);

impl OneCode {
    pub(crate) fn read(within: Duration) -> OneCode {
        OneCode(line(within).ok().map(|line| Secret::new(line.as_str())))
    }
}

impl Conversation for OneCode {
    fn ask(&mut self, _: &str, _: bool) -> Typed {
        self.0.take().ok_or(Silent)
    }

    fn show(&mut self, _: &str, _: Style) -> Result<(), Silent> {
        Ok(())
    }

    fn pressed_enter(&mut self, within: Duration) -> bool {
        std::thread::sleep(within);
        false
    }

    fn holds_text_back(&self) -> bool {
        false
    }
}

/// Reads a line of standard input, without its end. The writer may never write the end, or anything, so there is a
/// limit.
fn line(within: Duration) -> Result<Zeroizing<String>, Silent> {
    let input = std::io::stdin();
    let until = Instant::now() + within;
    let mut line = Zeroizing::new(Vec::with_capacity(LONGEST));
    // One at a time: the input after the line is for later, or for another program.
    while let Some(byte) = byte(&input, until)? {
        match byte {
            b'\n' => return text(&line),
            _ if line.len() == LONGEST => return Err(Silent),
            _ => line.push(byte),
        }
    }
    match line.is_empty() {
        true => Err(Silent),
        false => text(&line),
    }
}

fn text(line: &[u8]) -> Result<Zeroizing<String>, Silent> {
    let text = std::str::from_utf8(line).map_err(|_| Silent)?;
    Ok(Zeroizing::new(text.trim_end_matches('\r').to_owned()))
}

/// Returns the next byte of the input, unless it ended.
fn byte(input: &Stdin, until: Instant) -> Result<Option<u8>, Silent> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let time = Timespec::try_from(left).map_err(|_| Silent)?;
        match poll(&mut [PollFd::new(input, PollFlags::IN)], Some(&time)) {
            Ok(0) => return Err(Silent),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return Err(Silent),
        }
        let mut byte = Zeroizing::new([0]);
        match rustix::io::read(input, &mut *byte) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(byte[0])),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => return Err(Silent),
        }
    }
}

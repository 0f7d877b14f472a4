//! Users who are reached by another program, over standard input and output.

use seconder::model::Secret;
use seconder_login::{Conversation, Outcome, Silent, Style, Typed, exit_status};
use serde_json::{Value, json};
use std::io::{BufRead, Read, Write};
use std::time::Duration;
use zeroize::Zeroizing;

/// The most bytes of a line.
const LONGEST: u64 = 4096;

/// A program that asks the user, in JSON.
pub(crate) struct Programs;

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
        let line = line()?;
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
    pub(crate) fn read() -> OneCode {
        OneCode(line().ok().map(|line| Secret::new(line.as_str())))
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

/// Nobody: there is no terminal.
pub(crate) struct Nobody;

impl Conversation for Nobody {
    fn ask(&mut self, _: &str, _: bool) -> Typed {
        Err(Silent)
    }

    fn show(&mut self, _: &str, _: Style) -> Result<(), Silent> {
        Err(Silent)
    }

    fn pressed_enter(&mut self, _: Duration) -> bool {
        true
    }

    fn holds_text_back(&self) -> bool {
        true
    }
}

/// A line of standard input, without its end.
fn line() -> Result<Zeroizing<String>, Silent> {
    let mut line = Zeroizing::new(String::with_capacity(LONGEST as usize));
    let read = std::io::stdin().lock().take(LONGEST).read_line(&mut line);
    match read {
        Ok(0) | Err(_) => Err(Silent),
        Ok(_) => {
            let end = line.trim_end_matches(['\r', '\n']).len();
            line.truncate(end);
            Ok(line)
        }
    }
}

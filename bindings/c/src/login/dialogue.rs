//! The login of `seconder_login` with the functions of a C program.

use super::{
    Given, SECONDER_JOURNAL_ERROR, SECONDER_JOURNAL_NOTICE, seconder_journal,
    seconder_login_options,
};
use crate::prompt::*;
use seconder::capi::error::seconder_error;
use seconder::capi::open::seconder_service;
use seconder::capi::shared::{Outcome as Called, Text};
use seconder::capi::status::*;
use seconder::model::Secret;
use seconder::{Sleep, Sleeper};
use seconder_login::config::{Opened, Sources};
use seconder_login::{
    Conversation, Journal, Login, Outcome, Silent, Style, Trouble, Typed, log_in_as_configured,
};
use std::ffi::c_void;
use std::path::Path;
use std::time::Duration;

/// The interval at which a cancelled handle ends a login that waits for the user.
const SLICE: Duration = Duration::from_millis(100);

/// # Safety
/// The functions can be called with their userdata until this returns.
pub(super) unsafe fn log_in(
    service: Option<&seconder_service>,
    given: &Given<'_>,
    (converse, userdata): (seconder_converse, *mut c_void),
    options: &seconder_login_options,
) -> Called<()> {
    let sources = Sources {
        file: given.config_file.map(Path::new),
        arguments: &given.settings,
        opened: service
            .map(|handle| Opened { backend: handle.service(), remote_url: handle.remote_url() }),
    };
    let login = Login {
        user: given.login,
        remote: given.remote,
        program: given.program,
        typed_before: given.typed.map(Secret::new),
        answered: options.answered.is_set(),
        user_id: given.user_id,
        // SAFETY: reads what the kernel passed when the program began.
        started_by_user: unsafe { libc::getauxval(libc::AT_SECURE) } != 0,
        ..Login::default()
    };
    let holds_text_back = options.holds_text_back.is_set();
    let mut user = Program { converse, userdata, service, holds_text_back, is_gone: false };
    let mut journal =
        Lines { journal: options.journal, userdata: options.journal_userdata, lines: Vec::new() };
    let outcome = log_in_as_configured(&sources, &login, &mut user, &mut journal);
    match status_of(outcome) {
        SECONDER_OK => Ok(()),
        _ if user.is_cancelled() => {
            Err(seconder_error::with_message(SECONDER_CANCELLED, "the login was cancelled"))
        }
        status => Err(seconder_error::with_message(status, &journal.text())),
    }
}

/// The only place where the SECONDER_OK of a login comes from.
fn status_of(outcome: Outcome) -> seconder_status {
    match outcome {
        Outcome::Accepted => SECONDER_OK,
        Outcome::Excepted => SECONDER_LOGIN_EXCEPTED,
        Outcome::Ignored => SECONDER_LOGIN_IGNORED,
        Outcome::Denied => SECONDER_LOGIN_DENIED,
        Outcome::Locked => SECONDER_LOGIN_LOCKED,
        Outcome::Unenrolled => SECONDER_LOGIN_UNENROLLED,
        Outcome::NoTerminal => SECONDER_LOGIN_NO_ANSWER,
        Outcome::Trouble(Trouble::Configuration) => SECONDER_LOGIN_MISCONFIGURED,
        Outcome::Trouble(Trouble::Unavailable) => SECONDER_UNAVAILABLE,
        Outcome::Trouble(Trouble::Service) => SECONDER_INVALID_RESPONSE,
        Outcome::Trouble(Trouble::Internal) => SECONDER_INTERNAL,
    }
}

/// A conversation by the function of the program.
struct Program<'a> {
    converse: seconder_converse,
    userdata: *mut c_void,
    service: Option<&'a seconder_service>,
    holds_text_back: bool,
    /// Set once the user can no longer answer: the function is not called again.
    is_gone: bool,
}

impl Program<'_> {
    fn is_cancelled(&self) -> bool {
        self.service.is_some_and(seconder_service::is_cancelled)
    }

    /// Calls the function once. Returns whether it is done; if not, it is to be called again.
    fn call(&mut self, prompt: &mut seconder_prompt) -> Result<bool, Silent> {
        let Some(converse) = self.converse.filter(|_| !self.is_gone) else { return Err(Silent) };
        let mut sleep = Sleep::begin();
        // SAFETY: the prompt lives until the function returns, and the header requires that the function can
        // be called with its userdata until the login has ended.
        match unsafe { converse(prompt, self.userdata) } {
            SECONDER_CONVERSE_DONE => Ok(true),
            SECONDER_CONVERSE_NOT_YET => {
                prompt.repeated = true;
                // A function that does not wait must not be called all the time. A pause that is cancelled ends
                // early, which the caller of this sees.
                let left = SLICE.saturating_sub(sleep.elapsed());
                let _ = sleep.pause(left);
                Ok(false)
            }
            _ => {
                self.is_gone = true;
                Err(Silent)
            }
        }
    }

    /// Calls the function until it is done.
    fn put(&mut self, kind: i32, text: &str) -> Result<seconder_prompt, Silent> {
        let mut prompt = seconder_prompt::new(kind, text);
        while !self.call(&mut prompt)? {
            if self.is_cancelled() {
                return Err(Silent);
            }
        }
        Ok(prompt)
    }
}

impl Conversation for Program<'_> {
    fn ask(&mut self, prompt: &str, echo: bool) -> Typed {
        let kind = if echo { SECONDER_PROMPT_ECHO_ON } else { SECONDER_PROMPT_ECHO_OFF };
        self.put(kind, prompt)?.answer().ok_or(Silent)
    }

    fn show(&mut self, text: &str, style: Style) -> Result<(), Silent> {
        let kind = match style {
            Style::Info => SECONDER_PROMPT_INFO,
            Style::Error => SECONDER_PROMPT_ERROR,
        };
        self.put(kind, text).map(drop)
    }

    fn pressed_enter(&mut self, within: Duration) -> bool {
        let mut prompt = seconder_prompt::new(SECONDER_PROMPT_WAIT, "");
        let mut sleep = Sleep::begin();
        loop {
            let left = within.saturating_sub(sleep.elapsed());
            if left.is_zero() || self.is_cancelled() {
                return false;
            }
            prompt.wait_ms = left.min(SLICE).as_millis().try_into().unwrap_or_default();
            // A user who is gone approves nothing.
            if self.call(&mut prompt).unwrap_or(true) {
                return true;
            }
        }
    }

    fn holds_text_back(&self) -> bool {
        self.holds_text_back
    }

    fn pass_on(&mut self, password: Secret) -> Result<(), Silent> {
        self.put(SECONDER_PROMPT_PASSWORD, password.expose()).map(drop)
    }
}

/// A journal by the function of the program, if there is one, and the lines for the error.
struct Lines {
    journal: seconder_journal,
    userdata: *mut c_void,
    lines: Vec<String>,
}

impl Lines {
    fn write(&self, kind: i32, line: &str) {
        let Some(journal) = self.journal else { return };
        let line = Text::new(line);
        // SAFETY: the line lives until the function returns, and the header requires that the function can be
        // called with its userdata until the login has ended.
        unsafe { journal(kind, line.as_ptr(), self.userdata) };
    }

    /// The decision, followed by the errors that led to it.
    fn text(&self) -> String {
        self.lines.join("; ")
    }
}

impl Journal for Lines {
    fn error(&mut self, text: &str) {
        self.write(SECONDER_JOURNAL_ERROR, text);
        self.lines.push(text.to_owned());
    }

    fn notice(&mut self, text: &str) {
        self.write(SECONDER_JOURNAL_NOTICE, text);
        self.lines.insert(0, text.to_owned());
    }
}

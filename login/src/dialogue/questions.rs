//! The questions that a user is asked, and the effects of the answers.

use super::offline::{self, Cache};
use super::{End, Login};
use crate::Backend;
use crate::clean::clean;
use crate::config::{Config, Method, Offer};
use crate::conversation::{Conversation, Journal, Style, Typed};
use crate::networks::address_of;
use crate::outcome::{Outcome, Trouble, outcome_of};
use seconder::calls::{CodeRequested, RequestCall, RequestSms, UserStatus, Verdict};
use seconder::model::{Secret, Token, UserId};
use seconder::{Error, Verify};
use std::ops::ControlFlow;
use zeroize::Zeroizing;

/// The number of questions that are asked in addition to the tries: choices are no tries.
const MORE_QUESTIONS: u32 = 6;
/// The longest wait, in seconds, after which a user is asked again.
const LONGEST_WAIT: u64 = 60;
/// The message for a user if the login ends by trouble.
pub(super) const NOT_NOW: &str = "The second factor cannot be checked now. Try again later.";
/// The same message, of a service that asks to wait.
const BUSY: &str = "The second factor cannot be checked now, because the service is busy.";
const NOT_CHECKED: &str = "The code was not checked.";
const SAME_TEXT: &str = "the client answers every question with the same text: have its users type the \
                         password and the code in one field (first_pass=with_code)";
/// The same note, about OpenSSH's server.
const SAME_TEXT_BY_SSH: &str = "the client answers every question with the same text, as OpenSSH does \
                                for the method password: allow keyboard-interactive instead";

/// The next step: another question, unless the login ends.
pub(super) type Next = ControlFlow<End>;

/// A dialogue with one user.
pub(super) struct Dialogue<'a> {
    pub(super) config: &'a Config,
    pub(super) backend: &'a dyn Backend,
    pub(super) login: &'a Login<'a>,
    pub(super) user: UserId,
    pub(super) conversation: &'a mut dyn Conversation,
    pub(super) journal: &'a mut dyn Journal,
    /// The factors that the user has and the configuration offers.
    pub(super) offer: Offer,
    /// The password that was typed in one field with the code.
    pub(super) password: Option<Secret>,
    /// The last text that was no code.
    pub(super) no_code: Option<Secret>,
    pub(super) failures: u32,
    /// The cache for offline logins, if they are configured.
    pub(super) cache: Option<Cache<'a>>,
    /// Set if the service was not reached, so that the cache decides.
    pub(super) unreachable: bool,
    /// Set if offline logins were reported, or a report was attempted.
    pub(super) reported: bool,
    /// Set if the last failure was the rejection of a user who has to wait.
    locked: bool,
    questions: u32,
}

/// The choices of a user besides typing a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Push,
    Sms,
    Call,
}

impl<'a> Dialogue<'a> {
    pub(super) fn new(
        config: &'a Config,
        backend: &'a dyn Backend,
        login: &'a Login<'a>,
        user: UserId,
        conversation: &'a mut dyn Conversation,
        journal: &'a mut dyn Journal,
    ) -> Dialogue<'a> {
        Dialogue {
            config,
            backend,
            login,
            user,
            conversation,
            journal,
            offer: Offer::default(),
            password: None,
            no_code: None,
            failures: 0,
            cache: None,
            unreachable: false,
            reported: false,
            locked: false,
            questions: 0,
        }
    }

    /// Asks until the login ends.
    pub(super) fn run(&mut self) -> End {
        let mut next = self.first_pass();
        if next.is_continue() {
            next = self.begin();
        }
        loop {
            match next {
                ControlFlow::Break(end) => return end,
                ControlFlow::Continue(()) => next = self.ask(),
            }
        }
    }

    /// Finds out the factors of the user, and takes the action that the configuration asks for at once.
    fn begin(&mut self) -> Next {
        let by_code = self.config.method == Method::Code || self.unreachable;
        if by_code || self.failures >= self.config.tries {
            return Next::Continue(());
        }
        let user_ip = address_of(self.login.remote);
        let status =
            self.backend.user_status(&UserStatus { user_ip, ..UserStatus::new(self.user) });
        let status = match status {
            Ok(status) => status,
            Err(error) => return self.end_by(&error, "the user's record was not read"),
        };
        if status.account_disabled {
            self.report_offline();
            self.forget_codes();
            return Next::Break(End::new(Outcome::Denied, "the service has disabled the account"));
        }
        let has_app = status.devices.iter().any(|device| device != "sms");
        let has_phone = status.phone_number.is_some_and(|number| !number.is_empty());
        let has = Offer { push: has_app, sms: has_phone, call: has_phone };
        let offered = self.config.offer;
        self.offer = Offer {
            push: has.push && offered.push,
            sms: has.sms && offered.sms,
            call: has.call && offered.call,
        };
        match self.config.method {
            _ if self.login.answered => Next::Continue(()),
            Method::Push if has.push => self.push(),
            Method::Sms if has.sms => self.send(Choice::Sms),
            Method::Call if has.call => self.send(Choice::Call),
            _ => Next::Continue(()),
        }
    }

    /// Asks for a code or a choice.
    fn ask(&mut self) -> Next {
        if self.failures >= self.config.tries || self.questions_are_enough() {
            return Next::Break(self.out_of_tries());
        }
        let choices = self.choices();
        let typed = match self.unreachable {
            true => self.put(offline::QUESTION)?,
            false => self.put(&prompt(&choices))?,
        };
        let text = typed.expose().trim();
        let chosen = choices.iter().zip(1..).find(|(choice, number)| {
            text.eq_ignore_ascii_case(choice.word()) || text == format!("{number}")
        });
        match chosen {
            Some((Choice::Push, _)) => self.push(),
            Some((choice, _)) => self.send(*choice),
            None => self.code(&typed),
        }
    }

    fn questions_are_enough(&mut self) -> bool {
        self.questions += 1;
        self.questions > self.config.tries + MORE_QUESTIONS
    }

    /// Returns the outcome of a login with no tries left.
    pub(super) fn out_of_tries(&self) -> End {
        let why = match self.failures {
            1 => "one failed try".to_owned(),
            failures => format!("{failures} failed tries"),
        };
        End::new(if self.locked { Outcome::Locked } else { Outcome::Denied }, why)
    }

    /// Asks a question. Nothing is echoed: users type their passwords by mistake.
    pub(super) fn put(&mut self, question: &str) -> ControlFlow<End, Secret> {
        let typed: Typed = self.conversation.ask(question, false);
        match typed {
            Ok(typed) => ControlFlow::Continue(typed),
            Err(_) => ControlFlow::Break(self.silent()),
        }
    }

    /// Returns the outcome of a login without an answer. A user who failed before was denied.
    fn silent(&self) -> End {
        match self.failures {
            0 => End::new(Outcome::NoTerminal, "there is nobody to ask"),
            _ => self.out_of_tries(),
        }
    }

    pub(super) fn show(&mut self, text: &str, style: Style) -> Next {
        match self.conversation.show(text, style) {
            Ok(()) => Next::Continue(()),
            Err(_) => Next::Break(self.silent()),
        }
    }

    /// Checks the typed text as a code, in which spaces and dashes do not count.
    pub(super) fn code(&mut self, typed: &Secret) -> Next {
        if let Some(token) = lenient_code(typed) {
            return self.verify(token);
        }
        let same = |other: &Option<Secret>| other.as_ref().is_some_and(|other| other == typed);
        let empty = typed.expose().is_empty();
        if empty && same(&self.login.typed_before) {
            return Next::Break(match self.failures {
                0 => End::new(Outcome::NoTerminal, "nobody answered: every answer was empty"),
                _ => self.out_of_tries(),
            });
        }
        if !empty && (same(&self.login.typed_before) || same(&self.no_code)) {
            let by_ssh = self.login.program == "sshd";
            let reason = if by_ssh { SAME_TEXT_BY_SSH } else { SAME_TEXT };
            return Next::Break(End::new(Outcome::Denied, reason));
        }
        self.no_code = Some(typed.clone());
        self.fail("A code has 6 to 12 digits.")
    }

    /// Counts a try that failed, and shows why.
    pub(super) fn fail(&mut self, text: &str) -> Next {
        self.failures += 1;
        self.locked = false;
        self.show(text, Style::Error)
    }

    /// Checks a code. `force`, because a login never accepts a code that was not checked.
    pub(super) fn verify(&mut self, token: Token) -> Next {
        if self.unreachable {
            return self.check_offline(&token);
        }
        self.report_offline();
        let call = Verify::new(self.user, token);
        match self.backend.verify(&call) {
            Ok(found) => match found.verdict {
                Verdict::Right => {
                    self.used_online(&call.token, &found);
                    Next::Break(End::new(Outcome::Accepted, "by a code"))
                }
                Verdict::Wrong if found.reused => {
                    self.fail("This code was used before. Wait for the next one.")
                }
                Verdict::Wrong => self.fail("The code is wrong."),
                // Denied rather than trouble, which on_trouble=ignore would forgive.
                Verdict::NotChecked => {
                    self.journal.error("the service did not check a code, and ignores `force`");
                    Next::Break(End::new(Outcome::Denied, "the code was not checked"))
                }
            },
            Err(error) => match self.wait_or_end(&error) {
                // A client that asks once gives no other code, so this one is checked.
                ControlFlow::Continue(()) if self.unreachable => self.check_offline(&call.token),
                next => next,
            },
        }
    }

    /// Shows a user how long to wait after too many wrong codes; any other error ends the login.
    fn wait_or_end(&mut self, error: &Error) -> Next {
        let what = "the code was not checked";
        match error {
            error if error.is_operator_limit() => {
                self.log_error(what, error);
                (self.failures, self.locked) = (self.failures + 1, false);
                self.wait_for(NOT_CHECKED, error.retry_after_seconds())
            }
            Error::RateLimited { .. } if outcome_of(error) == Outcome::Locked => {
                self.locked_for(error.retry_after_seconds())
            }
            Error::RateLimited { code: None, .. } if !self.is_busy() => {
                self.log_error(what, error);
                (self.failures, self.locked) = (self.failures + 1, true);
                self.wait_for(NOT_CHECKED, error.retry_after_seconds())
            }
            error => self.end_by(error, what),
        }
    }

    /// Logs an error, with the name of a limit that the operator can raise.
    fn log_error(&mut self, what: &str, error: &Error) {
        let line = match error.limit().filter(|_| error.is_operator_limit()) {
            Some(limit) => format!("{what}: limit {limit} of the application: {error}"),
            None => format!("{what}: {error}"),
        };
        self.journal.error(&clean(&line));
    }

    /// Returns whether the service replies to nothing, after it did not check a code and did not say why. There
    /// may be services which lock a user like that, and on_trouble=ignore must not undo it.
    fn is_busy(&mut self) -> bool {
        let status = self.backend.user_status(&UserStatus::new(self.user));
        status.is_err_and(|error| outcome_of(&error) == Outcome::Trouble(Trouble::Unavailable))
    }

    /// Shows a user how long to wait after too many wrong codes, if it is known.
    pub(super) fn locked_for(&mut self, seconds: Option<u64>) -> Next {
        (self.failures, self.locked) = (self.failures + 1, true);
        self.wait_for("Too many wrong codes.", seconds)
    }

    /// Shows a user how long to wait, if it is known.
    fn wait_for(&mut self, why: &str, seconds: Option<u64>) -> Next {
        self.show(&wait_text(why, seconds), Style::Error)?;
        match seconds {
            Some(seconds) if seconds <= LONGEST_WAIT => Next::Continue(()),
            _ => Next::Break(self.out_of_tries()),
        }
    }

    /// Sends a code.
    fn send(&mut self, via: Choice) -> Next {
        let sent = match via {
            Choice::Call => self
                .backend
                .request_call(&RequestCall { force: Some(true), ..RequestCall::new(self.user) }),
            _ => self
                .backend
                .request_sms(&RequestSms { force: Some(true), ..RequestSms::new(self.user) }),
        };
        match sent {
            Ok(sent) => self.show(&sent_text(via, &sent), Style::Info),
            Err(error) => self.not_sent("The code could not be sent.", &error),
        }
    }

    /// Shows that something could not be sent. It does not end the login, because the user may have a code, and
    /// on_trouble=ignore must not forgive the user's choice; unless no other call would succeed either.
    pub(super) fn not_sent(&mut self, text: &str, error: &Error) -> Next {
        match error {
            Error::RateLimited { .. } => {
                if error.is_operator_limit() {
                    self.log_error(text, error);
                }
                self.show(&wait_text(text, error.retry_after_seconds()), Style::Error)
            }
            Error::Cancelled { .. } => self.end_by(error, text),
            error => match outcome_of(error) {
                Outcome::Unenrolled | Outcome::Trouble(Trouble::Configuration) => {
                    self.end_by(error, text)
                }
                _ => {
                    self.journal.error(&clean(&format!("{text} {error}")));
                    self.show(text, Style::Error)
                }
            },
        }
    }

    /// Ends the login by an error, which the operator reads; unless the cache decides from now on.
    pub(super) fn end_by(&mut self, error: &Error, what: &str) -> Next {
        let outcome = outcome_of(error);
        self.log_error(what, error);
        if self.goes_offline(outcome) {
            return Next::Continue(());
        }
        // A user whom the service rejects, or no longer knows, does not log in without it.
        if matches!(error, Error::Rejected(_)) {
            self.forget_codes();
        }
        let by_operator = error.is_operator_limit();
        if by_operator || matches!(outcome, Outcome::Trouble(_)) {
            let text = match error {
                Error::RateLimited { code: None, .. } if !by_operator => {
                    wait_text(BUSY, error.retry_after_seconds())
                }
                _ => NOT_NOW.to_owned(),
            };
            // The login ends in any case.
            let _ = self.conversation.show(&text, Style::Error);
        }
        Next::Break(End::new(outcome, what))
    }

    fn choices(&self) -> Vec<Choice> {
        let offer = self.offer;
        let all =
            [(Choice::Push, offer.push), (Choice::Sms, offer.sms), (Choice::Call, offer.call)];
        all.into_iter().filter(|(_, offered)| *offered).map(|(choice, _)| choice).collect()
    }
}

impl Choice {
    fn word(self) -> &'static str {
        match self {
            Choice::Push => "push",
            Choice::Sms => "sms",
            Choice::Call => "call",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Choice::Push => "a request on your phone",
            Choice::Sms => "an SMS",
            Choice::Call => "a call",
        }
    }
}

/// Returns the prompt: `Code, or 1 for an SMS, 2 for a call: `
fn prompt(choices: &[Choice]) -> String {
    let choices = choices.iter().zip(1..);
    let choices: Vec<String> =
        choices.map(|(c, number)| format!("{number} for {}", c.text())).collect();
    match choices.is_empty() {
        true => "Code: ".to_owned(),
        false => format!("Code, or {}: ", choices.join(", ")),
    }
}

/// Parses a code with the spaces and dashes with which people write it.
pub(super) fn lenient_code(typed: &Secret) -> Option<Token> {
    let digits = typed.expose().chars().filter(|c| !matches!(c, ' ' | '-' | '\t' | '\u{a0}'));
    // As long as the typed text, so that no reallocation leaves a copy behind.
    let mut plain = Zeroizing::new(String::with_capacity(typed.expose().len()));
    plain.extend(digits);
    plain.parse().ok()
}

fn wait_text(what: &str, seconds: Option<u64>) -> String {
    match seconds {
        Some(seconds) => format!("{what} Try again in {seconds} s."),
        None => format!("{what} Try again later."),
    }
}

fn sent_text(via: Choice, sent: &CodeRequested) -> String {
    if sent.ignored {
        return "No code was sent: use the app.".to_owned();
    }
    let to = sent.cellphone.as_deref().filter(|to| !to.is_empty());
    let to = to.map(|to| format!(" {}", clean(to))).unwrap_or_else(|| " your phone".to_owned());
    match via {
        Choice::Call => format!("A call with a code goes to{to}."),
        _ => format!("A code goes by SMS to{to}."),
    }
}

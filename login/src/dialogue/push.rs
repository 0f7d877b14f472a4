//! Approval on the user's phone.

use super::End;
use super::questions::{Dialogue, Next};
use crate::clean::short;
use crate::conversation::{Conversation, Style};
use crate::machine::host_name;
use crate::outcome::{Outcome, Trouble};
use seconder::calls::{ApprovalCreated, ApprovalStatus, CreateApproval};
use seconder::model::DisplayText;
use seconder::{ApprovalWait, Error, Result, Sleep, Sleeper};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// Maximum length of the question of an approval request, in bytes.
const LONGEST_MESSAGE: usize = 1024;

impl Dialogue<'_> {
    /// Asks the user to approve the login on their phone, and waits for the response.
    pub(super) fn push(&mut self) -> Next {
        self.report_offline();
        let began = Instant::now();
        let Some(call) = self.approval_request() else {
            let outcome = Outcome::Trouble(Trouble::Configuration);
            return Next::Break(End::new(outcome, "approval_message cannot be shown"));
        };
        let created = match self.backend.create_approval(&call) {
            Ok(created) => created,
            Err(error) => {
                self.failures += 1;
                return self.not_sent("The request could not be sent.", &error);
            }
        };
        let request = request(&created);
        if self.conversation.holds_text_back() {
            let typed = self.put(&format!("{request}, then press Enter, or type a code: "))?;
            if !typed.expose().trim().is_empty() {
                return self.code(&typed);
            }
        } else {
            self.show(&format!("{request}, or press Enter to give it up."), Style::Info)?;
        }
        self.wait(&created, began)
    }

    /// Waits until the user has responded, the time is over, or they press Enter.
    fn wait(&mut self, created: &ApprovalCreated, began: Instant) -> Next {
        let user = self.user;
        let wait = ApprovalWait::new(created.uuid.clone(), user, self.config.approval_timeout);
        let mut sleeper = EnterSleeper { conversation: self.conversation, began, pressed: false };
        let result = self.backend.wait_for_approval(wait, &mut sleeper);
        let pressed = sleeper.pressed;
        match result {
            Ok(approval) if approval.approved_by(user) => {
                Next::Break(End::new(Outcome::Accepted, "by an approval"))
            }
            Ok(approval) if approval.status == ApprovalStatus::Denied => {
                Next::Break(End::new(Outcome::Denied, "the user denied the request"))
            }
            Ok(_) => self.fail("The request was not approved in time."),
            Err(Error::Cancelled { .. }) if pressed => self.fail("The request was given up."),
            Err(error) => {
                self.failures += 1;
                self.not_sent("The response to the request could not be read.", &error)
            }
        }
    }

    fn approval_request(&self) -> Option<CreateApproval> {
        let host = host_name();
        let program = short(self.login.program);
        let mut text = self
            .config
            .approval_message
            .replace("{user}", self.login.user)
            .replace("{host}", &host)
            .replace("{service}", &program);
        text.truncate(text.floor_char_boundary(LONGEST_MESSAGE));
        let mut details = Map::new();
        let shown = [("Host", host), ("Service", program), ("From", self.remote())];
        for (name, value) in shown.into_iter().filter(|(_, value)| !value.is_empty()) {
            details.insert(name.to_owned(), Value::String(value));
        }
        Some(CreateApproval {
            details,
            seconds_to_expire: Some(self.config.approval_timeout.as_secs()),
            number_digits: self.config.number_digits,
            ..CreateApproval::new(self.user, text.parse::<DisplayText>().ok()?)
        })
    }

    fn remote(&self) -> String {
        short(self.login.remote.unwrap_or_default())
    }
}

/// Returns the instruction for the user. A request that has a number is approved by typing it on
/// the phone.
fn request(created: &ApprovalCreated) -> String {
    let number = created.number.as_ref().map(|number| short(number.expose()));
    match number.filter(|number| !number.is_empty()) {
        Some(number) => format!("To approve the request, type {number} on your phone"),
        None => "Approve the request on your phone".to_owned(),
    }
}

/// Passes the time between two polls, until the user presses Enter.
struct EnterSleeper<'a> {
    conversation: &'a mut dyn Conversation,
    began: Instant,
    pressed: bool,
}

impl Sleeper for EnterSleeper<'_> {
    fn elapsed(&mut self) -> Duration {
        self.began.elapsed()
    }

    fn pause(&mut self, time: Duration) -> Result<()> {
        let mut sleep = Sleep::begin();
        if self.conversation.pressed_enter(time) {
            self.pressed = true;
            return Err(Error::Cancelled { sent: false });
        }
        // A conversation that did not wait must not make this poll all the time.
        let left = time.saturating_sub(sleep.elapsed());
        sleep.pause(left)
    }
}

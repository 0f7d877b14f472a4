//! The report of a command about a message that it has caused.

use seconder::engine::{AfterAttempt, Outcome};
use std::fmt;

/// A message that was attempted, and may not have been sent. `Display` writes its state.
#[derive(Clone, Debug)]
pub struct Unsent {
    reason: String,
    /// Set if an attempt may have sent it nevertheless.
    may_be_sent: bool,
    /// Set if further attempts are made.
    is_repeated: bool,
}

impl Unsent {
    /// Returns the state of a message after another attempt; `None` if it was sent.
    pub(super) fn after(
        before: Option<Unsent>,
        outcome: &Outcome,
        then: &AfterAttempt,
    ) -> Option<Unsent> {
        let was_ambiguous = before.is_some_and(|before| before.may_be_sent);
        outcome.reason().map(|reason| Unsent {
            reason: reason.to_owned(),
            may_be_sent: was_ambiguous || matches!(outcome, Outcome::Ambiguous(_)),
            is_repeated: matches!(then, AfterAttempt::Repeated | AfterAttempt::Again(_)),
        })
    }
}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.may_be_sent { "may have been sent" } else { "was not sent" };
        let yet = if self.is_repeated && !self.may_be_sent { " yet" } else { "" };
        let next = match (self.is_repeated, self.may_be_sent) {
            (true, false) => "It waits for `seconder serve`, or `seconder jobs run`",
            (true, true) => "`seconder serve` or `seconder jobs run` will send it again",
            (false, _) => "It will not be sent again",
        };
        write!(f, "the message {what}{yet}: {}. {next}", self.reason)
    }
}

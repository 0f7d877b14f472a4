//! The questions that a user is asked, and what follows from the answers.

use crate::config::Config;
use crate::conversation::{Conversation, Journal};
use crate::outcome::{Outcome, Trouble};
use seconder::model::Secret;

/// What is known of a login.
#[derive(Debug, Default)]
pub struct Login<'a> {
    /// The login name.
    pub user: &'a str,
    /// The address or name of the machine that the user comes from, as the program says it.
    pub remote: Option<&'a str>,
    /// The program that asks, such as `sshd`.
    pub program: &'a str,
    /// What the user typed before, for another module: a password, or password and code.
    pub typed_before: Option<Secret>,
}

/// Asks the user for the second factor, and decides.
pub fn log_in(
    _config: &Config,
    _login: &Login<'_>,
    _conversation: &mut dyn Conversation,
    _journal: &mut dyn Journal,
) -> Outcome {
    Outcome::Trouble(Trouble::Internal)
}

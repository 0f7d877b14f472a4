//! The questions that a user is asked, and what follows from the answers.

use crate::config::Config;
use crate::conversation::{Conversation, Journal};
use crate::outcome::{Outcome, Trouble, outcome_of};
use crate::users;
use seconder::calls::Verdict;
use seconder::model::Secret;
use seconder::{Handle, Verify};
use std::path::Path;

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

/// Reads the configuration and asks the user for the second factor. What is wrong with the
/// configuration is reported to the journal.
pub fn log_in_as_configured(
    file: &Path,
    arguments: &[&str],
    login: &Login<'_>,
    conversation: &mut dyn Conversation,
    journal: &mut dyn Journal,
) -> Outcome {
    match Config::read(file, arguments) {
        Ok(config) => log_in(&config, login, conversation, journal),
        Err(problems) => {
            problems.iter().for_each(|problem| journal.error(&problem.to_string()));
            Outcome::Trouble(Trouble::Configuration)
        }
    }
}

/// Asks the user for the second factor, and decides.
pub fn log_in(
    config: &Config,
    login: &Login<'_>,
    conversation: &mut dyn Conversation,
    journal: &mut dyn Journal,
) -> Outcome {
    let service = match config.open() {
        Ok(service) => service,
        Err(error) => {
            journal.error(&error.to_string());
            return Outcome::Trouble(Trouble::Configuration);
        }
    };
    let user = match users::find(config, &service, login.user) {
        Ok(Some(user)) => user,
        Ok(None) => return Outcome::Unenrolled,
        Err((outcome, problems)) => {
            problems.iter().for_each(|problem| journal.error(problem));
            return outcome;
        }
    };
    for _ in 0..config.tries {
        let Ok(typed) = conversation.ask("Code: ", false) else { return Outcome::NoTerminal };
        let Ok(token) = typed.expose().parse() else { continue };
        let call = Verify { force: true, ..Verify::new(token, user) };
        match service.handle(&call) {
            Ok(found) if found.verdict == Verdict::Right => return Outcome::Accepted,
            Ok(_) => {}
            Err(error) => return outcome_of(&error),
        }
    }
    Outcome::Denied
}

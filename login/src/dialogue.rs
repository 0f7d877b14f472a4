//! The dialogue of a login: the request for a second factor, and the outcome.

mod first_pass;
mod offline;
mod push;
mod questions;

use crate::Backend;
use crate::clean::{clean, short, word};
use crate::command::RunCommand;
use crate::config::{Config, Sources, Users, count};
use crate::conversation::{Conversation, Journal};
use crate::machine::Machine;
use crate::networks::address_of;
use crate::outcome::{Outcome, Trouble};
use crate::users;
use crate::who::{self, Account};
use offline::Cache;
use questions::Dialogue;
use rustix::process::{geteuid, getuid};
use seconder::model::{Secret, UserId};

/// The facts that are known of a login.
#[derive(Clone, Debug, Default)]
pub struct Login<'a> {
    /// The login name.
    pub user: &'a str,
    /// The address or name of the machine that the user comes from, as the program gives it.
    pub remote: Option<&'a str>,
    /// The program that asks, such as `sshd`.
    pub program: &'a str,
    /// The text that the user typed before, for another module: a password, or password and code.
    pub typed_before: Option<Secret>,
    /// Set if the user has given the answer to the first question already, so that nothing is sent
    /// before it is asked.
    pub answered: bool,
    /// The service's user of the login name, if the program knows it. The key `users` is then not looked at.
    pub user_id: Option<UserId>,
    /// Runs the program of `users=command:`, as [`run_command`](crate::run_command) does. `None`: the process starts no
    /// others, and that value is an error.
    pub run_command: Option<RunCommand>,
    /// The machine, for offline logins. `None` is [`ThisMachine`](crate::ThisMachine).
    pub machine: Option<&'a dyn Machine>,
    /// Set if this process has more rights than the user who started it, as `su` and `sudo` have.
    /// Such a user can stop the process until its time is over, so neither `on_trouble=ignore` nor
    /// offline logins apply.
    pub started_by_user: bool,
}

/// The outcome of a login and its reason, for the log.
pub(crate) struct End {
    outcome: Outcome,
    why: String,
}

impl End {
    fn new(outcome: Outcome, why: impl Into<String>) -> End {
        End { outcome, why: why.into() }
    }
}

/// Reads the configuration and asks the user for the second factor, as [`log_in_with`] does if the program has opened a
/// service, and otherwise as [`log_in`] does. What is wrong with the configuration is reported to the journal.
pub fn log_in_as_configured(
    sources: &Sources<'_>,
    login: &Login<'_>,
    conversation: &mut dyn Conversation,
    journal: &mut dyn Journal,
) -> Outcome {
    match Config::read(sources) {
        Ok(config) => match sources.opened {
            Some(opened) => log_in_with(&config, opened.backend, login, conversation, journal),
            None => log_in(&config, login, conversation, journal),
        },
        Err(problems) => {
            problems.iter().for_each(|problem| journal.error(&problem.to_string()));
            let why = format!("{} in the configuration", count(&problems));
            let end = End::new(Outcome::Trouble(Trouble::Configuration), why);
            notice(login, &end, journal)
        }
    }
}

/// Asks the user for the second factor, and decides. The journal gets one notice, and errors that
/// the operator has to mend.
pub fn log_in(
    config: &Config,
    login: &Login<'_>,
    conversation: &mut dyn Conversation,
    journal: &mut dyn Journal,
) -> Outcome {
    match config.open() {
        Ok(service) => log_in_with(config, &service, login, conversation, journal),
        Err(error) => {
            journal.error(&clean(&error.to_string()));
            let end = End::new(Outcome::Trouble(Trouble::Configuration), "the url cannot be used");
            notice(login, &end, journal)
        }
    }
}

/// Logs a user in like [`log_in`], with calls that go to `backend`.
pub fn log_in_with(
    config: &Config,
    backend: &dyn Backend,
    login: &Login<'_>,
    conversation: &mut dyn Conversation,
    journal: &mut dyn Journal,
) -> Outcome {
    let account = who::account(login.user, journal);
    let login = &Login { user: account.name(login.user), ..login.clone() };
    let mut password = None;
    let mut end = decide(config, backend, login, &account, conversation, journal, &mut password);
    match end.outcome {
        Outcome::Trouble(Trouble::Unavailable | Trouble::Service)
            if config.ignore_trouble && started_by_user(login) =>
        {
            journal.error(
                "on_trouble=ignore does not apply: a user started this program, which has the rights \
                 of root, and can stop it until its time is over",
            );
        }
        Outcome::Trouble(Trouble::Unavailable | Trouble::Service) if config.ignore_trouble => {
            journal.error(&format!(
                "on_trouble=ignore: {} is NOT asked for a second factor: {}",
                short(login.user),
                end.why
            ));
            end.outcome = Outcome::Ignored;
        }
        Outcome::Unenrolled if config.ignore_unenrolled => end.outcome = Outcome::Ignored,
        _ => {}
    }
    let goes_on = matches!(end.outcome, Outcome::Accepted | Outcome::Ignored);
    if let Some(password) = password.filter(|_| goes_on)
        && conversation.pass_on(password).is_err()
    {
        end = End::new(Outcome::Trouble(Trouble::Internal), "the password was not handed on");
    }
    notice(login, &end, journal)
}

/// Returns whether a user started this process to get other rights than their own.
fn started_by_user(login: &Login<'_>) -> bool {
    login.started_by_user || getuid() != geteuid()
}

fn notice(login: &Login<'_>, end: &End, journal: &mut dyn Journal) -> Outcome {
    let from = login.remote.filter(|remote| !remote.is_empty());
    let from = from.map(|remote| format!(" from {}", word(remote))).unwrap_or_default();
    let by = if login.program.is_empty() { "a program" } else { &word(login.program) };
    // A text that is no login name may look like this line, or be a password.
    let name = if users::is_login_name(login.user) { login.user } else { "an invalid name" };
    journal.notice(&format!(
        "login of {name} by {by}{from}: {} ({})",
        end.outcome.text(),
        clean(&end.why)
    ));
    end.outcome
}

fn decide(
    config: &Config,
    backend: &dyn Backend,
    login: &Login<'_>,
    account: &Account,
    conversation: &mut dyn Conversation,
    journal: &mut dyn Journal,
    password: &mut Option<Secret>,
) -> End {
    if !users::is_login_name(login.user) {
        return End::new(Outcome::Denied, "not a valid login name");
    }
    if let Some(why) = who::excepted(config, account, journal) {
        return End::new(Outcome::Excepted, why);
    }
    let address = address_of(login.remote);
    if address.is_some_and(|address| config.trusted_networks.iter().any(|n| n.contains(address))) {
        return End::new(Outcome::Excepted, "trusted_networks");
    }
    let cache = Cache::open(config, login, journal);
    let (user, unreachable) = match find_user(config, backend, login, cache.as_ref(), journal) {
        Ok(found) => found,
        Err(end) => return end,
    };
    let mut dialogue = Dialogue::new(config, backend, login, user, conversation, journal);
    dialogue.cache = cache;
    if let Some(end) = unreachable
        && !dialogue.goes_offline(end.outcome)
    {
        return end;
    }
    let end = dialogue.run();
    *password = dialogue.password.take();
    end
}

/// Returns the service's user; and the outcome of the login without the cache, if the service was not reached and the
/// cache has the user.
///
/// # Errors
/// The outcome of the login.
fn find_user(
    config: &Config,
    backend: &dyn Backend,
    login: &Login<'_>,
    cache: Option<&Cache<'_>>,
    journal: &mut dyn Journal,
) -> Result<(UserId, Option<End>), End> {
    if let Some(user) = login.user_id {
        return Ok((user, None));
    }
    let found = users::find(config, backend, login);
    let of_directory = cache.filter(|_| config.users == Users::Directory);
    if let (Some(cache), Ok(user)) = (of_directory, &found) {
        cache.keep_login(login.user, *user, journal);
    }
    match found {
        Ok(Some(user)) => Ok((user, None)),
        Ok(None) => Err(End::new(Outcome::Unenrolled, "the login name has no user id")),
        Err((outcome, problems)) => {
            problems.iter().for_each(|problem| journal.error(&clean(problem)));
            let end = End::new(outcome, "the user id of the login name was not found out");
            let unreachable = outcome == Outcome::Trouble(Trouble::Unavailable);
            let remembered = of_directory.filter(|_| unreachable);
            match remembered.and_then(|cache| cache.remembered(login.user)) {
                Some(user) => Ok((user, Some(end))),
                None => Err(end),
            }
        }
    }
}

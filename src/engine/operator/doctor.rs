//! Health checks of the database and its surroundings.

use super::declaration::{Operation, operation};
use super::limits::ShowLimits;
use crate::engine::core::Engine;
use crate::engine::handlers::applications::FIRST;
use crate::engine::handlers::audit::AuditFilter;
use crate::engine::handlers::authenticators::AppAhead;
use crate::engine::handlers::jobs::JobStatus;
use crate::engine::handlers::rate::CodesOfHour;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The time by which the clock may be behind the newest decision, in seconds: other nodes have clocks of
/// their own.
const BEHIND: u64 = 60;
/// The time that a message may wait before the operator should look into it, in seconds.
const OLDEST: u64 = 60;
/// The share of codes, in percent, of which an operator is warned if fewer were used, of so many messages.
const LOW_COMPLETION: u64 = 10;
const FEW_CODES: u64 = 50;
/// The maximum number of users that are named.
const SHOWN: usize = 10;

operation! {
    /// Checks the keyring, the clock, the routes, the messages that wait and the limits, and says what to do. This
    /// reads all values that are sealed, in steps that hold up no call.
    CheckService = "doctor.check" -> Findings {}
}

/// The results of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Findings {
    /// The result of each check.
    pub findings: Vec<Finding>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// The name of the check, such as `keyring`.
    pub check: String,
    /// The health of what was checked.
    pub status: Health,
    /// The result, for people.
    pub found: String,
    /// The remedy, if something is wrong.
    pub advice: Option<String>,
}

/// The health of something that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Health {
    /// It is.
    Ok,
    /// The operator should look into it.
    Warning,
    /// Something does not work, or will not soon.
    Failed,
}

impl Finding {
    /// Returns a check that has found nothing wrong.
    pub fn ok(check: &str, found: impl Into<String>) -> Finding {
        Finding { check: check.to_owned(), status: Health::Ok, found: found.into(), advice: None }
    }

    /// Returns a finding that the operator should look into.
    pub fn warning(check: &str, found: impl Into<String>, advice: &str) -> Finding {
        let advice = Some(advice.to_owned());
        Finding { status: Health::Warning, advice, ..Finding::ok(check, found) }
    }

    /// A finding that something does not work.
    pub fn failed(check: &str, found: impl Into<String>, advice: &str) -> Finding {
        Finding { status: Health::Failed, ..Finding::warning(check, found, advice) }
    }

    /// One that could not be made. The message says what to do.
    pub fn of_error(check: &str, error: &Error) -> Finding {
        Finding { status: Health::Failed, ..Finding::ok(check, error.to_string()) }
    }
}

impl CheckService {
    fn run(&self, engine: &Engine) -> Result<Findings> {
        let made = |check, found: Result<Finding>| {
            found.unwrap_or_else(|error| Finding::of_error(check, &error))
        };
        Ok(Findings {
            findings: vec![
                Finding::ok("database", "can be read, and is of this version"),
                made("keyring", of_keyring(engine)),
                made("clock", of_clock(engine)),
                made("routes", of_routes(engine)),
                made("messages", of_jobs(engine)),
                made("limits", of_limits(engine)),
                made("rate", of_rate(engine)),
                made("codes", of_codes(engine)),
            ],
        })
    }
}

/// Checks that the keyring has all keys with which something is sealed.
fn of_keyring(engine: &Engine) -> Result<Finding> {
    let keys = engine.keyring()?.keys()?;
    let sealed = engine.sealed_values()?;
    let missing: Vec<_> =
        sealed.keys().filter(|id| !keys.iter().any(|key| key.id == **id)).collect();
    if let Some(id) = missing.first() {
        let found = format!("{} values are sealed with the key {id}, which it lacks", sealed[id]);
        return Ok(Finding::failed("keyring", found, "restore the keyring from its backup"));
    }
    let current = keys.iter().find(|key| key.is_current).map(|key| key.id);
    let old: u64 = sealed.iter().filter(|(id, _)| Some(**id) != current).map(|(_, n)| n).sum();
    let found = format!("{} with {} keys", engine.keyring()?.path().display(), keys.len());
    Ok(match old {
        0 => Finding::ok("keyring", found),
        old => Finding::warning(
            "keyring",
            format!("{found}; {old} values are sealed with earlier ones"),
            "`seconder keyring reseal` seals them with the current key",
        ),
    })
}

/// Checks that the clock is not behind earlier decisions, and was not ahead when codes were accepted.
fn of_clock(engine: &Engine) -> Result<Finding> {
    Ok(match behind(engine)? {
        Some(behind) => Finding::failed(
            "clock",
            format!("is {behind} s behind the newest decision"),
            "set it by NTP: codes of authenticator apps depend on it, and those of the time that \
             passes again are not accepted. If it is right now, it was ahead before: \
             `seconder user unlock --clock --clock-is-right`",
        ),
        None => of_apps(&engine.apps_ahead()?),
    })
}

/// Returns the number of seconds that the clock is behind the newest decision, if that is too much.
pub(super) fn behind(engine: &Engine) -> Result<Option<u64>> {
    let now = engine.now().clock.seconds();
    let newest = engine.audit(&AuditFilter::default(), None, 1)?;
    let newest = newest.entries.first().map_or(0, |entry| entry.time / 1000);
    let behind = u64::try_from(newest).unwrap_or(0).saturating_sub(now);
    Ok((behind > BEHIND).then_some(behind))
}

/// The authenticator apps that a clock that was ahead has left without codes: their users, and until when.
fn of_apps(ahead: &[AppAhead]) -> Finding {
    let Some(until) = ahead.iter().map(|app| app.until).max() else {
        return Finding::ok("clock", "is not behind what was decided");
    };
    // The commands are for the first application, unless they name another one.
    let is_of_another = |app: &AppAhead| app.app_id != FIRST;
    let shown = |app: &AppAhead| match is_of_another(app) {
        true => format!("{} (--app {})", app.user_id, app.app_id),
        false => app.user_id.to_string(),
    };
    let users: Vec<_> = ahead.iter().take(SHOWN).map(shown).collect();
    let more = if ahead.len() > SHOWN { " …" } else { "" };
    Finding::warning(
        "clock",
        format!(
            "was ahead: codes of {} authenticator apps are not accepted, of the last one until {}; \
             users {}{more}",
            ahead.len(),
            until.utc(),
            users.join(" ")
        ),
        match ahead.iter().any(is_of_another) {
            true => {
                "if it is right now, `seconder user unlock --clock --user ID` has a user's codes accepted \
                 again; with `--app N`, those of a user of another application"
            }
            false => {
                "if it is right now, `seconder user unlock --clock --user ID` has a user's codes accepted again"
            }
        },
    )
}

fn of_routes(engine: &Engine) -> Result<Finding> {
    let routes = engine.routes()?;
    let used: Vec<_> = routes.iter().filter(|route| route.settings.is_some()).collect();
    let unreadable: Vec<_> = routes.iter().filter(|route| route.unreadable.is_some()).collect();
    Ok(if let Some(route) = unreadable.first() {
        let found = format!("the settings of {} cannot be opened", route.name);
        Finding::failed("routes", found, "set it again with `seconder route set`")
    } else if used.is_empty() {
        let advice = "`seconder route set` adds a gateway: until then, messages are written to the \
                      spool folder, which nobody reads";
        Finding::warning("routes", "there are none", advice)
    } else {
        let names: Vec<_> = used.iter().map(|route| route.name.as_str()).collect();
        Finding::ok("routes", names.join(", "))
    })
}

/// Checks that messages and callbacks leave.
fn of_jobs(engine: &Engine) -> Result<Finding> {
    let status = engine.job_status()?;
    let sum = |of: fn(&JobStatus) -> u32| status.iter().map(of).fold(0, u32::saturating_add);
    let (waiting, failed) = (sum(|one| one.waiting), sum(|one| one.failed));
    let oldest = status.iter().filter_map(|one| one.oldest).max().unwrap_or_default() / 1000;
    let found = format!("{waiting} wait, and {failed} failed in the last 24 hours");
    Ok(if oldest > OLDEST {
        let found = format!("{found}; the oldest waits for {oldest} s");
        let advice = "see `seconder jobs list` for their last errors, and `seconder route test`";
        Finding::warning("messages", found, advice)
    } else if failed > 0 {
        Finding::warning("messages", found, "`seconder jobs list --state failed` says why")
    } else {
        Finding::ok("messages", found)
    })
}

/// Applications whose requests were refused because of their `key_rate`.
fn of_rate(engine: &Engine) -> Result<Finding> {
    let over: Vec<_> = engine.over_rate()?;
    let shown: Vec<_> = over
        .iter()
        .map(|(app, refused)| format!("at least {refused} of application {app}"))
        .collect();
    Ok(match shown.as_slice() {
        [] => Finding::ok("rate", "no request was refused because of key_rate in the last hour"),
        some => Finding::warning(
            "rate",
            format!("requests were refused because of key_rate: {}", some.join(", ")),
            "if they are logins, raise it: `seconder limits --app ID key_rate=N key_burst=N`",
        ),
    })
}

/// The share of codes that were used, by country, of those with the most messages.
fn of_codes(engine: &Engine) -> Result<Finding> {
    let mut all: Vec<_> = engine.codes_of_hour()?.into_iter().collect();
    all.sort_by_key(|(_, codes)| (!codes.is_paused, std::cmp::Reverse(codes.sent)));
    let is_low =
        |codes: &CodesOfHour| codes.sent >= FEW_CODES && codes.completion() < LOW_COMPLETION;
    let has_low = all.iter().any(|(_, codes)| codes.is_paused || is_low(codes));
    let shown = |(country, codes): &(u16, CodesOfHour)| {
        let paused = if codes.is_paused { " (paused)" } else { "" };
        format!("+{country} {} % of {}{paused}", codes.completion(), codes.sent)
    };
    let shown: Vec<_> = all.iter().take(SHOWN).map(shown).collect();
    let found = match shown.is_empty() {
        true => "none was sent in the last hour".to_owned(),
        false => format!("used in the last hour: {}", shown.join(", ")),
    };
    Ok(match has_low {
        false => Finding::ok("codes", found),
        true => Finding::warning(
            "codes",
            found,
            "these may be requested for their price alone (SMS pumping): see `seconder audit --by address`, and refuse \
             countries or prefixes with `seconder limits deny=CODE`; or the provider does not deliver",
        ),
    })
}

/// Limits that are switched off.
fn of_limits(engine: &Engine) -> Result<Finding> {
    let limits = ShowLimits {}.carry_out(engine)?;
    let off: Vec<_> = [
        ("number_10_minutes", limits.number_10_minutes),
        ("number_day", limits.number_day),
        ("address_hour", limits.address_hour),
        ("key_rate", limits.key_rate),
    ]
    .into_iter()
    .filter_map(|(name, limit)| (limit == 0).then_some(name))
    .collect();
    Ok(match off.as_slice() {
        [] => Finding::ok("limits", "none is switched off"),
        some => Finding::warning(
            "limits",
            format!("switched off: {}", some.join(", ")),
            "a person who can cause messages can cause any number of them: `seconder limits NAME=VALUE`",
        ),
    })
}

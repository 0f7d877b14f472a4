//! What the engine has decided: who decides what is written, and reading it page by page.

use super::clock::{Now, Time};
use super::limits::CLOCK_SLACK;
use super::operations::audit::{self, Noted, Reading, Trail};
use super::store::{Audit, Decided};
use super::{Engine, View};
use crate::calls::Call;
use crate::model::UserId;
use crate::{Error, Result};
use serde::Serialize;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long after a refusal further ones of the same kind are only counted.
const APART: Duration = Duration::from_secs(60);
/// The most kinds of refusals that are counted at once.
const MOST_KINDS: usize = 4096;
/// The most rows that one page is made of, of which a filter may leave few.
const MOST_READ: u32 = 1000;

/// The refusals that have no row yet, by what was refused. A refusal changes nothing else, so without
/// this, guesses that have to wait would fill the disk.
#[derive(Default)]
pub(super) struct Refusals(Mutex<HashMap<String, Tally>>);

struct Tally {
    written_at: Time,
    unwritten: u32,
}

impl Refusals {
    /// How many have no row, if the next one gets a row.
    fn unwritten(&self, kind: &str, now: Time) -> Option<u32> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(kind) {
            Some(tally) => (tally.written_at.plus(APART) <= now).then_some(tally.unwritten),
            None => Some(0),
        }
    }

    /// Counts a refusal, which got a row or not.
    fn count(&self, kind: &str, now: Time, written: bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if written {
            if all.len() >= MOST_KINDS {
                all.retain(|_, tally| tally.written_at.plus(APART) > now);
            }
            if all.len() >= MOST_KINDS {
                all.clear();
            }
            all.insert(kind.to_owned(), Tally { written_at: now, unwritten: 0 });
        } else if let Some(tally) = all.get_mut(kind) {
            tally.unwritten = tally.unwritten.saturating_add(1);
        }
    }
}

impl Engine {
    /// The trail of a call of the interface.
    pub(super) fn trail<C: Call>(&self, now: Now, user_ip: Option<IpAddr>) -> Result<Trail> {
        self.trail_of(C::ROUTE.name, now, user_ip)
    }

    pub(super) fn trail_of(
        &self,
        call: &'static str,
        now: Now,
        user_ip: Option<IpAddr>,
    ) -> Result<Trail> {
        let user_ip = user_ip.map(|address| address.to_string());
        let app = self.app.app_id;
        Ok(Trail { app, call, nonce: self.nonce()?, user_ip, now, unwritten: None })
    }

    /// Makes a decision that may be refused, and counts the refusals of this kind.
    pub(super) fn run_refusable<T: Send + 'static>(
        &self,
        trail: Trail,
        kind: &str,
        mut decide: impl FnMut(&mut View, &Trail) -> Decided<T> + Send + 'static,
        is_refused: impl Fn(&T) -> bool,
    ) -> Result<T> {
        let kind = format!("{} {} {kind}", trail.app, trail.call);
        let now = trail.now.steady;
        let unwritten = self.shared.refusals.unwritten(&kind, now);
        let trail = Trail { unwritten, ..trail };
        let outcome = self.run(move |view| decide(view, &trail))?;
        if is_refused(&outcome) {
            self.shared.refusals.count(&kind, now, unwritten.is_some());
        }
        Ok(outcome)
    }

    /// Notes a refusal that needs no decision.
    pub(super) fn note_refusal(&self, trail: Trail, kind: &str, noted: Noted) -> Result<()> {
        let decide = move |view: &mut View, trail: &Trail| {
            trail.note_refusal(view, noted.clone());
            Ok(())
        };
        self.run_refusable(trail, kind, decide, |()| true)
    }
}

/// Which decisions to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Those about this user; `None` for everybody.
    pub user_id: Option<UserId>,
    /// Those from this time on, in Unix seconds.
    pub since: Option<u64>,
    /// Those before this time, in Unix seconds.
    pub until: Option<u64>,
    /// Those with this verdict, such as `wrong`.
    pub verdict: Option<String>,
}

/// A decision of the engine. It has no secret and no code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AuditEntry {
    /// When, in milliseconds since the Unix epoch, by the clock of the process that decided.
    pub time: i64,
    /// Distinguishes those of one user and millisecond.
    pub nonce: i64,
    /// The application.
    pub app_id: i64,
    /// The user. `None` for a number that belongs to no user, and for the application.
    pub user_id: Option<u64>,
    /// The call, as it is named in all languages; `open` for the opening of the database.
    pub call: String,
    /// What was decided: `right`, `wrong`, `reused`, `not_checked`, `wait`, `locked`; `sent`, `refused`,
    /// `not_delivered`; `done`, `created`, `configured`; `approved`, `denied`, `reported`;
    /// `recognised`, `not_recognised`.
    pub verdict: String,
    /// Why.
    pub reason: Option<String>,
    /// `code`, `authenticator` or `recovery_code`; several are joined by `+`.
    pub factor: Option<String>,
    /// The number, masked.
    pub number: Option<String>,
    /// The address of the user, if the call has it.
    pub user_ip: Option<String>,
    /// The limit that was reached.
    pub over_limit: Option<String>,
    /// How many such decisions it stands for. Of those that change nothing, such as guesses that have
    /// to wait, a user has one row a minute.
    pub times: u32,
}

/// Some decisions, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditPage {
    /// The decisions. There may be none although more follow.
    pub entries: Vec<AuditEntry>,
    /// What to pass to read on; `None` at the end.
    pub next: Option<String>,
}

impl Engine {
    /// Reads what the engine has decided for this application, the latest first: in the order of the
    /// decisions, also where the clock was set back in between. Each page reads a limited number of rows
    /// by their keys, so it may hold less than `most`, also nothing, although more follow. They are kept
    /// for the days of the limit `audit_days`, also those of a user who was deleted.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for `after` that no page has returned, and `most` that is not 1 to
    /// 1000; [`Error::Storage`] if the database cannot be read.
    pub fn audit(&self, filter: &AuditFilter, after: Option<&str>, most: u32) -> Result<AuditPage> {
        if !(1..=MOST_READ).contains(&most) {
            return Err(Error::invalid_argument("most", "must be 1 to 1000"));
        }
        let (since, until) = (milliseconds(filter.since), milliseconds(filter.until));
        let before = match after {
            Some(place) => place_of(place)?,
            None => (until.map_or(Time(i64::MAX), |until| self.steady_after(until)), None),
        };
        let user_id = filter.user_id.map(UserId::get);
        let reading = Reading { user_id, app: self.app.app_id, before, most: MOST_READ };
        let rows = self.look(move |view| audit::read(view, &reading))?;
        let mut page = AuditPage::default();
        let is_full = rows.len() == MOST_READ as usize;
        let mut last = None;
        for row in rows {
            // The steady time is never behind a clock.
            if since.is_some_and(|since| row.steady_at < since) {
                return Ok(page);
            }
            if page.entries.len() == most as usize {
                page.next = last;
                return Ok(page);
            }
            last = Some(format!("{}.{}.{}", row.steady_at.0, row.user_id, row.nonce));
            let fits = filter.verdict.as_ref().is_none_or(|verdict| row.verdict == *verdict)
                && since.is_none_or(|since| row.noted_at >= since)
                && until.is_none_or(|until| row.noted_at < until);
            if fits && row.app_id == self.app.app_id {
                page.entries.push(entry(row));
            }
        }
        page.next = last.filter(|_| is_full);
        Ok(page)
    }

    /// A steady time before which everything is that was noted before the clock showed this one: how far
    /// the clock was set back altogether can only have grown since.
    fn steady_after(&self, shown: Time) -> Time {
        let now = self.now();
        let ahead = now.steady.0.saturating_sub(now.clock.0);
        Time(shown.0.saturating_add(ahead)).plus(CLOCK_SLACK)
    }
}

fn milliseconds(seconds: Option<u64>) -> Option<Time> {
    Some(Time(i64::try_from(seconds?).unwrap_or(i64::MAX).saturating_mul(1000)))
}

fn place_of(text: &str) -> Result<(Time, Option<(u64, i64)>)> {
    let mut parts = text.split('.');
    let place = (|| {
        let (at, user_id) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let nonce = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some((Time(at), Some((user_id, nonce))))
    })();
    place.ok_or_else(|| Error::invalid_argument("after", "must be what the page before returned"))
}

fn entry(row: Audit) -> AuditEntry {
    AuditEntry {
        time: row.noted_at.0,
        nonce: row.nonce,
        app_id: row.app_id,
        user_id: (row.user_id > 0).then_some(row.user_id),
        call: row.call,
        verdict: row.verdict,
        reason: row.reason,
        factor: row.factor,
        number: row.number,
        user_ip: row.user_ip,
        over_limit: row.over_limit,
        times: row.times,
    }
}

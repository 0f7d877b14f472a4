//! The audit: writing the decisions of the engine, and reading them page by page.

use super::applications::FIRST;
use crate::calls::Call;
use crate::engine::core::Engine;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::limits::CLOCK_SLACK;
pub use crate::engine::operations::audit::AUDIT_VERDICTS;
use crate::engine::operations::audit::{self, AuditVerdict, Noted, Reading, Trail};
use crate::engine::operations::steady as stored;
use crate::engine::store::View;
use crate::engine::store::{Audit, Decided};
use crate::model::UserId;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The most rows that one page is made of; a filter may leave few of them.
const MOST_READ: u32 = 1000;

impl Engine {
    /// Returns the trail of a call of the interface.
    pub(in crate::engine) fn trail<C: Call>(
        &self,
        now: Now,
        user_ip: Option<IpAddr>,
    ) -> Result<Trail> {
        self.trail_of(C::ROUTE.name, now, user_ip)
    }

    pub(in crate::engine) fn trail_of(
        &self,
        call: &'static str,
        now: Now,
        user_ip: Option<IpAddr>,
    ) -> Result<Trail> {
        let user_ip = user_ip.map(|address| address.to_canonical().to_string());
        let app = self.app.app_id;
        let (nonce, author) = (self.nonce()?, self.author.clone());
        Ok(Trail { app, call, nonce, user_ip, author, now, refused: None })
    }

    /// Returns the trail of a decision for all applications of the database: it is in the audit of the first one, which
    /// cannot be removed with its audit.
    pub(in crate::engine) fn trail_of_database(&self, call: &'static str) -> Result<Trail> {
        Ok(Trail { app: FIRST, ..self.trail_of(call, self.now(), None)? })
    }

    /// Notes an operation on the database as a whole.
    pub(in crate::engine) fn note_of_database(
        &self,
        call: &'static str,
        verdict: AuditVerdict,
        reason: Option<String>,
    ) -> Result<()> {
        let trail = self.trail_of_database(call)?;
        self.run(move |view| {
            trail.note(view, Noted { verdict, reason: reason.clone(), ..Noted::default() });
            Ok(())
        })
    }

    /// Makes a decision that may be refused. A refusal changes nothing, so its row is written after
    /// the decision, and only if it needs one: equal refusals of a minute share a row. They are
    /// counted `of` a user, for example.
    pub(in crate::engine) fn run_refusable<T: Send + 'static>(
        &self,
        mut trail: Trail,
        of: &str,
        mut decide: impl FnMut(&mut View, &mut Trail) -> Decided<T> + Send + 'static,
    ) -> Result<T> {
        let (outcome, refused) = self.run(move |view| {
            trail.refused = None;
            let outcome = decide(view, &mut trail)?;
            Ok((outcome, trail.refused.take().map(|noted| (trail.clone(), noted))))
        })?;
        if let Some((trail, noted)) = refused {
            self.note_refusal(trail, of, noted)?;
        }
        Ok(outcome)
    }

    /// Notes a refusal.
    pub(in crate::engine) fn note_refusal(
        &self,
        trail: Trail,
        of: &str,
        noted: Noted,
    ) -> Result<()> {
        if let Some(limit) = noted.over {
            self.shared.rates.reached.count(limit);
        }
        match self.shared.refusals.count(of, trail, noted) {
            Some(row) => self.write_refusals(vec![row]),
            None => Ok(()),
        }
    }
}

/// Declares the filter of the audit for each macro that takes one: its fields are parameters of
/// `audit.list` too.
macro_rules! audit_filter {
    ($then:ident) => {
        $then! {
            /// Those about this user; `None` for everybody.
            user_id: Option<UserId>,
            /// Those from this time on, in Unix seconds.
            since: Option<u64>,
            /// Those before this time, in Unix seconds.
            until: Option<u64>,
            /// Decisions with this verdict, such as `wrong`: one of `AUDIT_VERDICTS`, or several with commas in between.
            verdict: Option<String>,
            /// Those of this call, such as `verify`.
            call: Option<String>,
            /// Those of calls that had this address of the user.
            user_ip: Option<IpAddr>,
            /// Decisions that the operator, or the user of the machine, of this name made.
            operator_name: Option<String>,
        }
    };
}
pub(in crate::engine) use audit_filter;

macro_rules! filter {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// Selects decisions.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct AuditFilter {
            $($(#[$doc])* pub $field: $type,)*
        }
    };
}

audit_filter!(filter);

/// A decision of the engine. It has no secret and no code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditEntry {
    /// The time of the decision, in milliseconds since the Unix epoch, by the clock of the process
    /// that decided.
    pub time: i64,
    /// Distinguishes decisions of one user and millisecond.
    pub nonce: i64,
    /// The application.
    pub app_id: i64,
    /// The user. `None` for a number that belongs to no user, and for the application.
    pub user_id: Option<u64>,
    /// The call, as it is named in all languages; `open` for the opening of the database.
    pub call: String,
    /// The verdict, one of [`AUDIT_VERDICTS`].
    pub verdict: String,
    /// The reason, if the verdict leaves it open: `none_to_compare`, `unverified`, `taken`, `other_action`, `too_many_tries`, `wrong_number`,
    /// `not_confirmed`, `forwarded`; `expired`, `rejected`, `number_refused`, `ambiguous`, `cancelled`,
    /// `undeliverable`, `unreadable`, `void`; `landline`, `voip`, `disposable`; `lookup_failed`, `lookup_paused`; for
    /// `configured`, the names of the settings that changed, or the id of the key.
    pub reason: Option<String>,
    /// `code`, `authenticator` or `recovery_code`; several are joined by `+`.
    pub factor: Option<String>,
    /// The number, masked.
    pub number: Option<String>,
    /// The address of the user, if the call has it.
    pub user_ip: Option<String>,
    /// The limit that was reached.
    pub over_limit: Option<String>,
    /// The name of the operator with a token who did it, or of the user of the machine who ran the command.
    pub operator_name: Option<String>,
    /// The id of the request, as it is in the log of the service and in the reply; `None` for what no request made.
    pub request_id: Option<String>,
    /// The number of such decisions that it stands for. If they change nothing, such as guesses that have to wait, a
    /// user has one row a minute for each kind. With `maybe_sent`, the number of attempts that may have sent the
    /// message.
    pub times: u32,
}

/// Some decisions, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditPage {
    /// The decisions. There may be none although more follow.
    pub entries: Vec<AuditEntry>,
    /// The value of `after` for the next page; `None` at the end.
    pub next: Option<String>,
}

impl AuditFilter {
    /// Returns the verdict, if it is a single one: by it, rows are found.
    fn one_verdict(&self) -> Option<&str> {
        self.verdict.as_deref().map(str::trim).filter(|verdict| !verdict.contains(','))
    }

    /// Returns whether an index selects all of it, apart from the time.
    fn is_by_index(&self) -> bool {
        let by = [self.user_id.is_some(), self.user_ip.is_some(), self.verdict.is_some()];
        let one = by.into_iter().filter(|by| *by).count() <= 1;
        let has_several = self.verdict.is_some() && self.one_verdict().is_none();
        one && !has_several && self.call.is_none() && self.operator_name.is_none()
    }

    /// Returns whether the decision is as the filter says, apart from its user and its time.
    fn has(&self, entry: &AuditEntry) -> bool {
        let is = |found: Option<&str>, wanted: &Option<String>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        self.verdict
            .as_deref()
            .is_none_or(|wanted| verdicts(wanted).any(|one| one == entry.verdict))
            && is(Some(&entry.call), &self.call)
            && self.user_ip.is_none_or(|wanted| {
                // As the limits compare them: an address of IPv4 may come as one of IPv6.
                let found = entry.user_ip.as_deref().and_then(|found| found.parse().ok());
                found.map(|found: IpAddr| found.to_canonical()) == Some(wanted.to_canonical())
            })
            && is(entry.operator_name.as_deref(), &self.operator_name)
    }
}

impl Engine {
    /// Reads the decisions of the engine for this application, the latest first: in the order of the
    /// decisions, also where the clock was set back in between. Each page reads a limited number of rows
    /// by their keys, so it may hold less than `most`, also nothing, although more follow. They are kept
    /// for the days of the limit `audit_days`, also if the user was deleted.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for `after` that no page has returned, and `most` that is not 1 to
    /// 1000, and for a verdict that does not exist; [`Error::Storage`] if the database cannot be read.
    pub fn audit(&self, filter: &AuditFilter, after: Option<&str>, most: u32) -> Result<AuditPage> {
        if !(1..=MOST_READ).contains(&most) {
            return Err(Error::invalid_argument("most", "must be 1 to 1000"));
        }
        // Without this, a misspelt one would look like decisions that were never made.
        let is_known = |verdict: &str| verdicts(verdict).all(|one| AUDIT_VERDICTS.contains(&one));
        if !filter.verdict.as_deref().is_none_or(is_known) {
            let known = AUDIT_VERDICTS.join(", ");
            return Err(Error::invalid_argument("verdict", format!("must be one of {known}")));
        }
        let (since, until) = (milliseconds(filter.since), milliseconds(filter.until));
        let before = match after {
            Some(place) => place_of(place)?,
            None => (until.map_or(Ok(Time(i64::MAX)), |until| self.steady_after(until))?, None),
        };
        let user_id = filter.user_id.map(UserId::get);
        // One more than the page has says if more follow. Rows that no index selects are read and left out.
        let read = if filter.is_by_index() { most + 1 } else { MOST_READ };
        let reading = Reading {
            user_id,
            app: self.app.app_id,
            user_ip: filter.user_ip.map(|address| address.to_canonical().to_string()),
            verdict: filter.one_verdict().map(str::to_owned),
            before,
            most: read,
        };
        let rows = self.look(move |view| audit::read(view, &reading))?;
        let mut page = AuditPage::default();
        let is_full = rows.len() == read as usize;
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
            let fits = since.is_none_or(|since| row.noted_at >= since)
                && until.is_none_or(|until| row.noted_at < until);
            if fits && row.app_id == self.app.app_id {
                let entry = entry(row);
                page.entries.extend(filter.has(&entry).then_some(entry));
            }
        }
        page.next = last.filter(|_| is_full);
        Ok(page)
    }

    /// Returns a steady time after everything that was noted before the clock showed this one, by
    /// any process.
    fn steady_after(&self, shown: Time) -> Result<Time> {
        let ahead = self.look(stored::most_ahead)?;
        Ok(Time(shown.0.saturating_add(ahead)).plus(CLOCK_SLACK))
    }
}

/// Returns the verdicts of a filter.
fn verdicts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim)
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
        operator_name: row.operator,
        request_id: row.request_id,
        times: row.times,
    }
}

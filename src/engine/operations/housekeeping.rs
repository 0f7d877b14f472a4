//! Housekeeping: deletes expired rows of all users, in small steps that no login waits for.

use super::jobs::job::{DEAD, FAILED, SENT};
use super::jobs::{self};
use super::limits;
use super::lookups::{self, Kind};
use crate::engine::delivery::{HOST, SPOOL};
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::limits::CLOCK_SLACK;
use crate::engine::store::{
    Application, Audit, Browser, Budget, Decided, Document, Due, FactorState, Invitation, Job,
    KeptLine, Logo, NumberCheck, Receipt, Retention, Row, SentCode, Value, View,
};
use std::time::Duration;

/// The time for which a clock that has moved by more than this is not believed: see [`retention`].
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The interval at which the time of the last look is stored.
const AN_HOUR: Duration = Duration::from_secs(60 * 60);

/// The name of the table whose rows are retained.
const AUDIT: &str = "audit";

/// The number of deleted rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Deleted {
    pub(in crate::engine) rows: u32,
    /// The number of deleted rows with an invalid value in a column.
    pub(in crate::engine) unreadable: u32,
}

/// Deletes rows that have expired, and at most so many.
///
/// Nothing that has expired is accepted, deleted or not. But the rows take space.
pub(in crate::engine) fn delete_expired(view: &mut View, now: Now, most: u32) -> Decided<Deleted> {
    let mut sweep = Sweep { most, deleted: Deleted::default() };
    let until = now.steady;
    sweep.each::<SentCode>(view, until, |_, _| {})?;
    sweep.each::<Document>(view, until, |_, _| {})?;
    sweep.jobs(view, now)?;
    sweep.each::<Receipt>(view, until, |_, _| {})?;
    sweep.each::<Browser>(view, until, |_, _| {})?;
    sweep.each::<NumberCheck>(view, until, forget_number)?;
    sweep.each::<Budget>(view, until, |_, _| {})?;
    sweep.each::<KeptLine>(view, until, |_, _| {})?;
    sweep.each::<Invitation>(view, until, |_, _| {})?;
    sweep.each::<Logo>(view, until, |_, _| {})?;
    sweep.audit(view, now)?;
    Ok(sweep.deleted)
}

/// Removes the name of a number's verification, if that can be read, and the wrong codes.
fn forget_number(view: &mut View, check: &[Value]) {
    let value = |name| NumberCheck::SCHEMA.place(Some(name)).and_then(|place| check.get(place));
    if let (Some(Value::Int(app)), Some(Value::Text(uuid))) = (value("app_id"), value("uuid")) {
        lookups::remove(view, Kind::Verification, *app, uuid);
    }
    if let Some(Value::Text(subject)) = value("subject") {
        view.delete_all::<FactorState>((subject.clone(),));
    }
}

struct Sweep {
    most: u32,
    deleted: Deleted,
}

impl Sweep {
    fn left(&self) -> u32 {
        self.most.saturating_sub(self.deleted.rows)
    }

    /// Deletes the rows of one table, each with the rows that belong to it.
    fn each<R: Row>(
        &mut self,
        view: &mut View,
        until: Time,
        along: impl Fn(&mut View, &[Value]),
    ) -> Decided<()> {
        let rows = self.due::<R>(view, &Due::until(until, self.left()), &along)?;
        for row in rows {
            along(view, &row.values());
            self.delete(view, &row);
        }
        Ok(())
    }

    /// Deletes the jobs that are over and whose time to be looked at has passed.
    fn jobs(&mut self, view: &mut View, now: Now) -> Decided<()> {
        for lane in [SENT, DEAD] {
            let due = Due::until(now.steady, self.left()).of(lane.to_owned());
            for row in self.due::<Job>(view, &due, |_, _| {})? {
                self.delete(view, &row);
            }
        }
        let due = Due::until(now.steady, self.left()).of(FAILED.to_owned());
        for row in self.due::<Job>(view, &due, |_, _| {})? {
            jobs::forget_contents(view, row, now);
            self.deleted.rows += 1;
        }
        // If no process runs jobs, the jobs whose time is over end here. The routes of a server
        // have workers.
        let apps = view.all_readable::<Application>()?;
        let callbacks = apps.into_iter().map(|app| jobs::callbacks(app.app_id));
        let others = [HOST, SPOOL, jobs::PUSHES].map(str::to_owned);
        for lane in others.into_iter().chain(callbacks) {
            self.deleted.rows += jobs::bury_expired(view, &lane, self.left(), now)?;
        }
        Ok(())
    }

    /// Deletes the decisions of each application that are older than it keeps them, both by the monotonic time and by
    /// the clock: a clock that was ahead for a moment has moved the former permanently, and one that was behind has
    /// dated decisions too early.
    fn audit(&mut self, view: &mut View, now: Now) -> Decided<()> {
        let believed = retention(view, now.steady)?;
        // An application that cannot be read keeps everything.
        for app in view.all_readable::<Application>()? {
            let Ok(limits) = limits(&app) else { continue };
            let kept = A_DAY.saturating_mul(limits.audit_days);
            let due = |most| Due::until(believed.minus(kept), most).of(app.app_id);
            let is_old = |row: &Audit| {
                let is_ahead = row.noted_at > now.clock.plus(CLOCK_SLACK);
                is_ahead || row.noted_at <= now.clock.minus(kept)
            };
            // After a clock was ahead, the earliest may stay for long, and those after them too: they
            // must not all be read each time.
            let (first, _) = view.due::<Audit>(&due(1))?;
            if first.first().is_some_and(|row| !is_old(row)) {
                continue;
            }
            for row in self.due::<Audit>(view, &due(self.left()), |_, _| {})? {
                if is_old(&row) {
                    self.delete(view, &row);
                }
            }
        }
        Ok(())
    }

    /// Returns the rows that are due. Unreadable rows are deleted at once, with the rows that belong
    /// to them.
    fn due<R: Row>(
        &mut self,
        view: &mut View,
        due: &Due,
        along: impl Fn(&mut View, &[Value]),
    ) -> Decided<Vec<R>> {
        if due.most == 0 {
            return Ok(Vec::new());
        }
        let (rows, unreadable) = view.due::<R>(due)?;
        for values in unreadable {
            along(view, &values);
            view.delete_values::<R>(&values);
            self.deleted.rows += 1;
            self.deleted.unreadable += 1;
        }
        Ok(rows)
    }

    fn delete<R: Row>(&mut self, view: &mut View, row: &R) {
        view.delete(row);
        self.deleted.rows += 1;
    }
}

/// Returns the time that counts for the audit. A clock that jumps forward looks like a service that did not run. So
/// after more than a day without a look, the time before it counts for another day: a clock that is corrected within
/// that day deletes nothing.
fn retention(view: &mut View, now: Time) -> Decided<Time> {
    let Some(before) = view.get::<Retention>((AUDIT.to_owned(),))? else {
        let name = AUDIT.to_owned();
        view.put(Retention { name, seen_at: now, held_until: None, believed: None });
        return Ok(Time(0));
    };
    let mut after = before.clone();
    let held = before.held_until.is_some_and(|until| now < until);
    let believed = match before.believed {
        Some(believed) if held => believed,
        believed if before.seen_at.plus(A_DAY) < now => {
            // No process has run through the day after the last jump, so that jump is not believed
            // either. A service that runs now and then still makes progress.
            let seen = before.seen_at;
            let is_doubted = before.held_until.is_some_and(|until| seen.plus(AN_HOUR) < until);
            let known = believed.filter(|_| is_doubted);
            let believed = known.map_or(seen, |known| known.plus(A_DAY).min(seen));
            (after.held_until, after.believed) = (Some(now.plus(A_DAY)), Some(believed));
            believed
        }
        _ => now,
    };
    if before.seen_at.plus(AN_HOUR) <= now {
        after.seen_at = now;
    }
    view.put(after);
    Ok(believed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::store::{Memory, Store};

    const START: i64 = 1_000_000_000;
    const NOW: Time = Time(START);
    const DAY: i64 = 86_400_000;

    /// Returns the time by the clock, and how far it was set back altogether, in days since the
    /// start.
    fn days(shown: i64, back: i64) -> Now {
        let clock = Time(START + shown * DAY);
        Now { clock, steady: Time(clock.0 + back * DAY) }
    }

    fn delete(store: &Store, now: Now, most: u32) -> Deleted {
        store.run(move |view| delete_expired(view, now, most)).unwrap()
    }

    fn browser(user_id: u64, expires_at: Time) -> Browser {
        let id_hash = vec![7; 32];
        Browser { user_id, id_hash, number: 1, created_at: Time(0), expires_at }
    }

    fn check(digits: u64) -> NumberCheck {
        NumberCheck {
            subject: format!("phone:1:+{digits}"),
            app_id: 1,
            uuid: digits.to_string(),
            expires_at: Time(0),
            forget_at: NOW,
            verified: false,
        }
    }

    fn left(store: &Store) -> (usize, usize) {
        let browsers = store.look(|view| view.all::<Browser>(())).unwrap();
        let checks = store.look(|view| view.all::<NumberCheck>(())).unwrap();
        (browsers.len(), checks.len())
    }

    #[test]
    fn expired_rows_go_in_steps_and_others_stay() {
        let store = Store::new(Memory::new());
        let fill = store.run(|view| {
            (1..=8).for_each(|user| view.put(browser(user, NOW)));
            view.put(browser(9, Time(NOW.0 + 1)));
            (1..=4).for_each(|digits| view.put(check(digits)));
            (1..=4).for_each(|n: u64| {
                lookups::set(view, Kind::Verification, 1, &n.to_string(), n as i64);
            });
            Ok(())
        });
        fill.unwrap();
        let step = || delete(&store, days(0, 0), 5).rows;
        assert_eq!((step(), left(&store)), (5, (4, 4)));
        assert_eq!((step(), left(&store)), (5, (1, 2)));
        assert_eq!((step(), left(&store)), (2, (1, 0)));
        assert_eq!((step(), left(&store)), (0, (1, 0)));
        let found = store.look(|view| lookups::find(view, Kind::Verification, 1, "1"));
        assert_eq!(found.unwrap(), None);
    }

    fn application(app_id: i64, limits: &str) -> Application {
        Application {
            app_id,
            name: String::new(),
            plan: String::new(),
            sms_enabled: true,
            white_label: false,
            api_key: "key".into(),
            earlier_key: "".into(),
            earlier_until: None,
            secret: [0; 32].into(),
            callback_url: None,
            token_length: 7,
            replies: String::new(),
            header_prefix: String::new(),
            push_path: String::new(),
            id_field: String::new(),
            chrome_device: String::new(),
            callback_method: "post".to_owned(),
            callback_ca_file: None,
            callback_private: false,
            install_link: None,
            offline_days: 0,
            limits: limits.to_owned(),
            texts: None,
            otp_domain: None,
            created_at: NOW,
            force_codes: false,
            logo: None,
            authenticator_digits: 6,
            authenticator_period: 30,
            approval_seconds: 86_400,
        }
    }

    /// Returns a store with two applications; the second keeps its audit for ten days, the first
    /// for 400.
    fn audited() -> Store {
        let store = Store::new(Memory::new());
        let filled = store.run(|view| {
            view.put(application(1, ""));
            view.put(application(2, "audit_days=10"));
            Ok(())
        });
        filled.unwrap();
        store
    }

    fn note(store: &Store, app_id: i64, now: Now) {
        let row = Audit {
            user_id: 0,
            steady_at: now.steady,
            nonce: now.steady.0 + app_id,
            app_id,
            noted_at: now.clock,
            call: String::new(),
            verdict: String::new(),
            reason: None,
            factor: None,
            number: None,
            user_ip: None,
            over_limit: None,
            operator: None,
            times: 1,
            request_id: None,
        };
        let noted = store.run(move |view| {
            view.append(row.clone());
            Ok(())
        });
        noted.unwrap();
    }

    /// Returns the number of decisions of each application.
    fn kept(store: &Store) -> [usize; 2] {
        let rows = store.look(|view| view.all::<Audit>(())).unwrap();
        [1, 2].map(|app| rows.iter().filter(|row| row.app_id == app).count())
    }

    #[test]
    fn each_application_keeps_its_audit_for_its_own_days() {
        let store = audited();
        for day in 0..12 {
            note(&store, 1, days(day, 0));
            note(&store, 2, days(day, 0));
            assert_eq!(delete(&store, days(day, 0), 9).rows, u32::from(day > 9));
        }
        assert_eq!(kept(&store), [12, 10]);
    }

    #[test]
    fn a_clock_that_jumps_forward_takes_nothing_for_a_day() {
        let store = audited();
        let look = |now| delete(&store, now, 9).rows;
        for day in 0..3 {
            note(&store, 2, days(day, 0));
            assert_eq!(look(days(day, 0)), 0);
        }
        let ahead = 3000;
        assert_eq!(look(days(ahead, 0)), 0);
        note(&store, 2, days(ahead, 0));
        assert_eq!(look(days(ahead, 0)), 0);
        // It was put right: from here on, the steady time is ahead of it.
        let back = ahead - 2;
        for day in 2..10 {
            assert_eq!(look(days(day, back)), 0, "{day}");
        }
        assert_eq!((look(days(10, back)), kept(&store)), (1, [0, 3]));
        assert_eq!((look(days(11, back)), kept(&store)), (1, [0, 2]));
        // The last one was dated in the future, and is ten days old by the steady time.
        assert_eq!((look(days(12, back)), kept(&store)), (2, [0, 0]));
    }

    #[test]
    fn a_clock_that_jumps_again_within_the_day_takes_nothing_either() {
        let store = audited();
        for day in 0..3 {
            note(&store, 2, days(day, 0));
            assert_eq!(delete(&store, days(day, 0), 9).rows, 0);
        }
        let jumps = [days(3000, 0), days(2, 2998), days(3000, 2998), days(6000, 2998)];
        for now in jumps {
            assert_eq!(delete(&store, now, 9).rows, 0, "{now:?}");
        }
        assert_eq!(kept(&store), [0, 3]);
    }

    #[test]
    fn a_clock_that_stays_ahead_counts_after_a_day() {
        let store = audited();
        note(&store, 2, days(0, 0));
        assert_eq!(delete(&store, days(0, 0), 9).rows, 0);
        for (day, rows) in [(3000, 0), (3000, 0), (3001, 1)] {
            assert_eq!(delete(&store, days(day, 0), 9).rows, rows);
        }
    }

    #[test]
    fn what_is_noted_while_the_clock_is_behind_is_not_deleted_for_it() {
        let store = audited();
        assert_eq!(delete(&store, days(3000, 0), 9).rows, 0);
        note(&store, 2, days(0, 3000));
        for day in [3001, 3009] {
            assert_eq!(delete(&store, days(day, 0), 9).rows, 0);
        }
        assert_eq!(kept(&store), [0, 1]);
    }
    #[test]
    fn what_was_dated_too_early_stays_until_what_was_decided_before_it_goes() {
        let store = audited();
        note(&store, 2, days(2000, 0));
        // The clock is behind for a moment.
        note(&store, 2, days(1, 2000));
        for day in 2000..=2010 {
            let rows = delete(&store, days(day, 2000), 9).rows;
            assert_eq!(rows, if day < 2010 { 0 } else { 2 }, "{day}");
        }
    }
}

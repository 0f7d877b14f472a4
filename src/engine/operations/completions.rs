//! Completion of codes by country: how many messages with codes were sent in the last hour, and how many codes were
//! used, which shows SMS pumping: codes are requested for many new numbers, without using any.
//!
//! The brake counts only numbers and users that have not used a code yet, and stops only messages to them: an attack
//! neither hides behind the logins of other users, nor keeps those out.

use super::audit::{AuditVerdict, Noted};
use super::budgets::{HOUR, Over, Sending};
use super::{AppId, Subject, user};
use crate::engine::model::clock::Time;
use crate::engine::model::limits::Limits;
use crate::engine::store::{Budget, Decided, View};
use std::collections::BTreeMap;
use std::time::Duration;

/// The name of the limit.
pub(in crate::engine) const LIMIT: &str = "completion_min";
/// The time for which messages are counted together, in milliseconds: a twelfth of an hour.
const SLOT: i64 = 5 * 60 * 1000;
/// The time for which the list of an application's countries is kept.
const LISTED: Duration = Duration::from_secs(25 * 60 * 60);

/// The codes of some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Codes {
    /// Messages with codes.
    pub(in crate::engine) sent: i64,
    /// Codes that were used.
    pub(in crate::engine) used: i64,
    /// Codes of numbers and users that had not used one before.
    new_sent: i64,
    new_used: i64,
}

/// A country to which no more codes are sent for a while.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Paused {
    pub(in crate::engine) country: u16,
    pub(in crate::engine) sent: i64,
    pub(in crate::engine) used: i64,
}

impl Paused {
    /// Returns the audit entry of the pause.
    pub(in crate::engine) fn noted(&self) -> Noted {
        let Paused { country, sent, used } = self;
        let reason = format!("country {country}: {used} of {sent} codes used");
        let noted = Noted { verdict: AuditVerdict::Paused, over: Some(LIMIT), ..Noted::default() };
        noted.because(Some(&reason))
    }
}

impl Codes {
    fn add(&mut self, other: Codes) {
        let sum = |one: i64, other: i64| (one + other).max(0);
        self.sent = sum(self.sent, other.sent);
        self.used = sum(self.used, other.used);
        self.new_sent = sum(self.new_sent, other.new_sent);
        self.new_used = sum(self.new_used, other.new_used);
    }

    fn numbers(self) -> [i64; 4] {
        [self.sent, self.used, self.new_sent, self.new_used]
    }

    /// Returns whether too few of them were used for another one to be sent.
    fn are_too_unused(self, limits: &Limits) -> bool {
        self.new_sent >= limits.completion_after.into()
            && self.new_used * 100 < i64::from(limits.completion_min) * self.new_sent
    }
}

/// Returns whether the recipient has not used a code yet.
pub(in crate::engine) fn is_new(view: &mut View, subject: &Subject) -> Decided<bool> {
    match subject {
        Subject::User(app, user_id) => {
            // A code of an authenticator app says nothing of the number.
            Ok(user(view, *app, *user_id)?.is_none_or(|user| !user.sms_used))
        }
        Subject::Phone(..) => Ok(true),
    }
}

/// Returns the limits if the brake is on. While it is off, no row is read or written: the row of a country is locked
/// for each message and each code.
fn brake(sending: &Sending) -> Option<&Limits> {
    sending.limits.as_ref().filter(|limits| limits.completion_min > 0)
}

/// Returns the limit if codes to new numbers of the country are paused.
pub(in crate::engine) fn paused(view: &mut View, sending: &Sending) -> Decided<Option<Over>> {
    if brake(sending).is_none() {
        return Ok(None);
    }
    let row = view.get::<Budget>((pause_of(sending.app, sending.country),))?;
    let until = row.map(|row| row.ends_at).filter(|until| *until > sending.now);
    Ok(until.map(|until| Over { limit: LIMIT, until: Some(until) }))
}

/// Counts a message, and pauses the country if too few codes were used.
pub(in crate::engine) fn sent(
    view: &mut View,
    sending: &Sending,
    is_new: bool,
) -> Decided<Option<Paused>> {
    let Some(limits) = brake(sending) else { return Ok(None) };
    let (app, country, now) = (sending.app, sending.country, sending.now);
    list(view, app, country, now)?;
    let one = Codes { sent: 1, new_sent: is_new.into(), ..Codes::default() };
    let hour = count(view, app, country, now, one)?;
    if !hour.are_too_unused(limits) || !is_new {
        return Ok(None);
    }
    let ends_at = now.plus(Duration::from_secs(limits.completion_pause.into()));
    view.put(Budget { subject: pause_of(app, country), times: Vec::new(), count: 0, ends_at });
    // Messages after the pause are counted alone, or its first message would begin the next one.
    let mut slots = read(view, app, country, now)?;
    slots.values_mut().for_each(|codes| (codes.new_sent, codes.new_used) = (0, 0));
    write(view, app, country, now, &slots);
    Ok(Some(Paused { country, sent: hour.new_sent, used: hour.new_used }))
}

/// Takes a message back that did not arrive.
pub(in crate::engine) fn take_back(
    view: &mut View,
    sending: &Sending,
    is_new: bool,
) -> Decided<()> {
    // A message that was not counted, or so long ago that it no longer counts, is not taken back.
    if brake(sending).is_none() || read(view, sending.app, sending.country, sending.now)?.is_empty()
    {
        return Ok(());
    }
    let one = Codes { sent: -1, new_sent: -i64::from(is_new), ..Codes::default() };
    count(view, sending.app, sending.country, sending.now, one).map(drop)
}

/// Counts a code that was used.
pub(in crate::engine) fn used(
    view: &mut View,
    app: AppId,
    country: u16,
    is_new: bool,
    now: Time,
) -> Decided<()> {
    // Without a message in the last hour, such as in a sandbox, there is nothing to compare it with.
    if read(view, app, country, now)?.is_empty() {
        return Ok(());
    }
    let one = Codes { used: 1, new_used: is_new.into(), ..Codes::default() };
    count(view, app, country, now, one).map(drop)
}

/// Returns the codes of an application in the last hour by country, and which of these are paused.
pub(in crate::engine) fn of_hour(
    view: &mut View,
    app: AppId,
    now: Time,
) -> Decided<BTreeMap<u16, (Codes, bool)>> {
    let listed = view.get::<Budget>((list_of(app),))?;
    let mut all = BTreeMap::new();
    for country in listed.as_ref().map(numbers).unwrap_or_default() {
        let Ok(country) = u16::try_from(country) else { continue };
        let mut codes = Codes::default();
        read(view, app, country, now)?.into_values().for_each(|slot| codes.add(slot));
        let pause = view.get::<Budget>((pause_of(app, country),))?;
        let is_paused = pause.is_some_and(|row| row.ends_at > now);
        if codes.sent > 0 || is_paused {
            all.insert(country, (codes, is_paused));
        }
    }
    Ok(all)
}

/// Adds to the counts of now. Returns the sums of the last hour.
fn count(view: &mut View, app: AppId, country: u16, now: Time, codes: Codes) -> Decided<Codes> {
    let mut slots = read(view, app, country, now)?;
    slots.entry(now.0.div_euclid(SLOT)).or_default().add(codes);
    write(view, app, country, now, &slots);
    let mut hour = Codes::default();
    slots.into_values().for_each(|slot| hour.add(slot));
    Ok(hour)
}

fn read(view: &mut View, app: AppId, country: u16, now: Time) -> Decided<BTreeMap<i64, Codes>> {
    let row = view.get::<Budget>((row_of(app, country),))?;
    let oldest = now.minus(HOUR).0.div_euclid(SLOT);
    let all = row.as_ref().map(numbers).unwrap_or_default();
    let slots = all.chunks_exact(5).filter_map(|slot| match *slot {
        [at, sent, used, new_sent, new_used] if at > oldest => {
            Some((at, Codes { sent, used, new_sent, new_used }))
        }
        _ => None,
    });
    Ok(slots.collect())
}

fn write(view: &mut View, app: AppId, country: u16, now: Time, slots: &BTreeMap<i64, Codes>) {
    let slot = |(at, codes): (&i64, &Codes)| [&[*at][..], &codes.numbers()[..]].concat();
    let times = slots.iter().flat_map(slot).flat_map(i64::to_be_bytes).collect();
    // A message that is taken back has the time at which it was requested, which does not shorten the life of the row.
    let last = slots.keys().last().map_or(now, |slot| Time((slot + 1) * SLOT).max(now));
    view.put(Budget { subject: row_of(app, country), times, count: 0, ends_at: last.plus(HOUR) });
}

/// Adds a country to the application's list, which are kept in a row, because rows of budgets are found by their
/// keys alone.
fn list(view: &mut View, app: AppId, country: u16, now: Time) -> Decided<()> {
    let row = view.get::<Budget>((list_of(app),))?;
    let mut listed = row.as_ref().map(numbers).unwrap_or_default();
    let has_it = listed.contains(&country.into());
    if has_it && row.is_some_and(|row| row.ends_at > now.plus(LISTED - HOUR)) {
        return Ok(());
    }
    if !has_it {
        listed.push(country.into());
    }
    let times = listed.into_iter().flat_map(i64::to_be_bytes).collect();
    view.put(Budget { subject: list_of(app), times, count: 0, ends_at: now.plus(LISTED) });
    Ok(())
}

fn numbers(row: &Budget) -> Vec<i64> {
    row.times.chunks_exact(8).map(|one| one.try_into().map_or(0, i64::from_be_bytes)).collect()
}

fn list_of(app: AppId) -> String {
    format!("codes:{app}")
}

fn row_of(app: AppId, country: u16) -> String {
    format!("codes:{app}:{country}")
}

fn pause_of(app: AppId, country: u16) -> String {
    format!("paused:{app}:{country}")
}

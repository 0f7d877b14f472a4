//! Message budgets: count the messages sent to a number, because of an address, to a country and by an application, and
//! the numbers that an application has had looked up. Each is counted in the transaction that decides to send the
//! message, or to ask for the number, so the limits are exact, however many threads and nodes there are.
//!
//! For a number and an address, the times of the latest messages are kept, so a window slides: with five in ten
//! minutes, no ten minutes have six. A message counts until the window has passed, and not at its end. A country and an
//! application have many messages, so they are counted by days of UTC.
//!
//! Verifications of a number use at most half of what the number, the country and the application may be sent, because
//! they need no password: the rest is left to the logins of users. That holds for every number, or the limit would show
//! strangers which numbers are enrolled.

use super::AppId;
use crate::engine::model::clock::Time;
use crate::engine::model::limits::Limits;
use crate::engine::store::{Budget, Decided, View};
use crate::model::UserId;
use std::time::Duration;

const FIVE_MINUTES: Duration = Duration::from_secs(5 * 60);
const TEN_MINUTES: Duration = Duration::from_secs(10 * 60);
pub(super) const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const DAY_MILLISECONDS: i64 = 86_400_000;

/// A message, and the limits that apply to it.
#[derive(Clone)]
pub(in crate::engine) struct Sending {
    pub(in crate::engine) app: AppId,
    /// In E.164.
    pub(in crate::engine) number: String,
    pub(in crate::engine) country: u16,
    /// The network that the call comes from, if it is known.
    pub(in crate::engine) network: Option<String>,
    /// True for the verification of a number, which needs nothing but the number.
    pub(in crate::engine) verifies_number: bool,
    /// None in a sandbox that has no limits.
    pub(in crate::engine) limits: Option<Limits>,
    /// The steady time.
    pub(in crate::engine) now: Time,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Over {
    pub(in crate::engine) limit: &'static str,
    /// The time at which a message can be sent again; never to a country that is not allowed.
    pub(in crate::engine) until: Option<Time>,
}

/// At most so many in each window.
pub(super) struct Window {
    pub(super) limit: &'static str,
    pub(super) most: u32,
    pub(super) length: Duration,
}

impl Sending {
    /// Counts the message, unless it is over a limit. Then nothing is changed. Returns when the windows
    /// have place for another one.
    pub(in crate::engine) fn spend(&self, view: &mut View) -> Decided<Result<Time, Over>> {
        let (changed, next) = match self.counted(view)? {
            Ok(counted) => counted,
            Err(over) => return Ok(Err(over)),
        };
        changed.into_iter().for_each(|row| view.put(row));
        Ok(Ok(next))
    }

    /// Returns whether the message would be over a limit.
    pub(in crate::engine) fn is_over(&self, view: &mut View) -> Decided<bool> {
        Ok(self.counted(view)?.is_err())
    }

    /// Returns the rows in which the message is counted, and when their windows have place for
    /// another one.
    fn counted(&self, view: &mut View) -> Decided<Result<(Vec<Budget>, Time), Over>> {
        let mut next = self.now;
        let Some(limits) = &self.limits else { return Ok(Ok((Vec::new(), next))) };
        if !limits.allows(self.country, &self.number) {
            return Ok(Err(Over { limit: "countries", until: None }));
        }
        let mut changed = Vec::new();
        for (subject, windows) in self.windows(limits) {
            let before = view.get::<Budget>((subject.clone(),))?;
            match slide(self.now, before, subject, &windows) {
                Ok(Some(row)) => {
                    let times = times(&row);
                    next = windows
                        .iter()
                        .filter_map(|window| window.opens(&times))
                        .fold(next, Time::max);
                    changed.push(row);
                }
                Ok(None) => {}
                Err(over) => return Ok(Err(over)),
            }
        }
        for (subject, limit, most) in self.days(limits) {
            let before = view.get::<Budget>((subject.clone(),))?;
            match count(self.now, before, subject, limit, most) {
                Ok(row) => changed.extend(row),
                Err(over) => return Ok(Err(over)),
            }
        }
        Ok(Ok((changed, next)))
    }

    /// Takes back a message that did not arrive, unless as many were taken back already as may be
    /// sent: a gateway may report failures of messages that it has sent.
    pub(in crate::engine) fn take_back(&self, view: &mut View) -> Decided<()> {
        let Some(limits) = &self.limits else { return Ok(()) };
        let now = self.now.0.to_be_bytes();
        for (subject, windows) in self.windows(limits) {
            let failed = failures(&subject);
            let before = view.get::<Budget>((failed.clone(),))?;
            let Ok(Some(failed)) = slide(self.now, before, failed, &windows) else { continue };
            view.put(failed);
            let Some(mut row) = view.get::<Budget>((subject,))? else { continue };
            if let Some(place) = row.times.chunks_exact(8).rposition(|time| time == now) {
                row.times.drain(place * 8..place * 8 + 8);
                view.put(row);
            }
        }
        for (subject, limit, most) in self.days(limits) {
            let failed = failures(&subject);
            let before = view.get::<Budget>((failed.clone(),))?;
            let Ok(Some(failed)) = count(self.now, before, failed, limit, most) else { continue };
            view.put(failed);
            let Some(mut row) = view.get::<Budget>((subject,))? else { continue };
            if row.ends_at == end_of_day(self.now) {
                row.count = row.count.saturating_sub(1);
                view.put(row);
            }
        }
        Ok(())
    }

    fn windows(&self, limits: &Limits) -> Vec<(String, Vec<Window>)> {
        let window = |limit, most, length| Window { limit, most, length };
        let number = |part: fn(u32) -> u32| {
            vec![
                window("number_10_minutes", part(limits.number_10_minutes), TEN_MINUTES),
                window("number_day", part(limits.number_day), DAY),
            ]
        };
        let mut all = vec![(format!("number:{}:{}", self.app, self.number), number(|most| most))];
        if self.verifies_number {
            all.push((format!("verifications:{}:{}", self.app, self.number), number(half)));
        }
        if let Some(network) = &self.network {
            let windows = vec![window("address_hour", limits.address_hour, HOUR)];
            all.push((format!("address:{}:{network}", self.app), windows));
        }
        all
    }

    fn days(&self, limits: &Limits) -> Vec<(String, &'static str, u32)> {
        let country = format!("country:{}:{}", self.app, self.country);
        let application = format!("application:{}", self.app);
        let all = [
            (country, "country_day", limits.country_day),
            (application, "application_day", limits.application_day),
        ];
        let verifications = |(subject, limit, most): &(String, _, u32)| {
            self.verifies_number.then(|| (format!("verifications:{subject}"), *limit, half(*most)))
        };
        let verifications: Vec<_> = all.iter().filter_map(verifications).collect();
        all.into_iter().chain(verifications).collect()
    }
}

impl Window {
    /// Returns the time at which another message is allowed after these; `None` if one is allowed
    /// already, or without a limit.
    fn opens(&self, times: &[i64]) -> Option<Time> {
        let first = times.len().checked_sub(self.most as usize).filter(|_| self.most > 0)?;
        times.get(first).map(|first| Time(*first).plus(self.length))
    }
}

/// Returns the times of a row, the earliest first.
fn times(row: &Budget) -> Vec<i64> {
    row.times.chunks_exact(8).map(|time| time.try_into().map_or(0, i64::from_be_bytes)).collect()
}

/// Half of a limit. Of one message, that is the message: no number could be verified otherwise. Zero is no
/// limit.
fn half(most: u32) -> u32 {
    (most / 2).max(most.min(1))
}

/// Returns the row with one more message now, if there is a limit.
pub(super) fn slide(
    now: Time,
    before: Option<Budget>,
    subject: String,
    windows: &[Window],
) -> Result<Option<Budget>, Over> {
    let mut times = before.as_ref().map_or_else(Vec::new, times);
    for window in windows {
        if let Some(until) = window.opens(&times).filter(|until| *until > now) {
            return Err(Over { limit: window.limit, until: Some(until) });
        }
    }
    let most = windows.iter().map(|window| window.most).max().unwrap_or(0) as usize;
    if most == 0 {
        return Ok(None);
    }
    times.push(now.0);
    times.drain(..times.len().saturating_sub(most));
    let longest = windows.iter().map(|window| window.length).max().unwrap_or(DAY);
    Ok(Some(Budget {
        subject,
        times: times.into_iter().flat_map(i64::to_be_bytes).collect(),
        count: 0,
        ends_at: now.plus(longest),
    }))
}

/// Counts the push messages about one approval request of a user as one, unless it is over the limit. Returns
/// whether they may be sent. Zero is no limit.
pub(in crate::engine) fn spend_push(
    view: &mut View,
    user_id: UserId,
    most: u32,
    now: Time,
) -> Decided<bool> {
    let subject = format!("pushes:{user_id}");
    let before = view.get::<Budget>((subject.clone(),))?;
    let window = Window { limit: "pushes_5_minutes", most, length: FIVE_MINUTES };
    let counted = slide(now, before, subject, &[window]);
    Ok(counted.map(|row| row.into_iter().for_each(|row| view.put(row))).is_ok())
}

/// Counts a look-up of a number, unless so many were allowed on this day already. Zero allows none.
pub(in crate::engine) fn spend_lookup(
    view: &mut View,
    app: AppId,
    most: u32,
    now: Time,
) -> Decided<Result<(), Over>> {
    let limit = "lookup_day";
    if most == 0 {
        return Ok(Err(Over { limit, until: None }));
    }
    let subject = format!("lookups:{app}");
    let before = view.get::<Budget>((subject.clone(),))?;
    Ok(count(now, before, subject, limit, most)
        .map(|row| row.into_iter().for_each(|row| view.put(row))))
}

/// Writes a row that says nothing, to find out whether the database takes writes.
pub(in crate::engine) fn probe(view: &mut View, now: Time) {
    let (subject, ends_at) = ("probe".to_owned(), now.plus(HOUR));
    view.put(Budget { subject, times: now.0.to_be_bytes().to_vec(), count: 0, ends_at });
}

/// Notes that requests of an application were over its `key_rate`. They are kept for an hour after the last.
pub(in crate::engine) fn note_over_rate(
    view: &mut View,
    app: AppId,
    refused: u32,
    now: Time,
) -> Decided<()> {
    let count = over_rate(view, app, now)?.saturating_add(refused);
    let (subject, ends_at) = (rate_subject(app), now.plus(HOUR));
    view.put(Budget { subject, times: Vec::new(), count, ends_at });
    Ok(())
}

/// Returns how many requests were over the rate, since an hour passed without any.
pub(in crate::engine) fn over_rate(view: &mut View, app: AppId, now: Time) -> Decided<u32> {
    let row = view.get::<Budget>((rate_subject(app),))?;
    Ok(row.filter(|row| row.ends_at > now).map_or(0, |row| row.count))
}

fn rate_subject(app: AppId) -> String {
    format!("key_rate:{app}")
}

/// Returns the row with one more on this day, if there is a limit.
fn count(
    now: Time,
    before: Option<Budget>,
    subject: String,
    limit: &'static str,
    most: u32,
) -> Result<Option<Budget>, Over> {
    if most == 0 {
        return Ok(None);
    }
    // At midnight, some calls are a little late: they count for the day that has begun.
    let ends_at = before.as_ref().map_or(Time(0), |row| row.ends_at).max(end_of_day(now));
    let count = before.filter(|row| row.ends_at == ends_at).map_or(0, |row| row.count);
    if count >= most {
        return Err(Over { limit, until: Some(ends_at) });
    }
    Ok(Some(Budget { subject, times: Vec::new(), count: count + 1, ends_at }))
}

fn end_of_day(now: Time) -> Time {
    Time((now.0.div_euclid(DAY_MILLISECONDS) + 1).saturating_mul(DAY_MILLISECONDS))
}

/// Returns the subject of the row that counts the messages that were taken back.
fn failures(subject: &str) -> String {
    format!("undelivered:{subject}")
}

#[cfg(test)]
mod tests;

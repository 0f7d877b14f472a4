//! How many messages were sent: to a number, because of an address, to a country and by an application;
//! and how many numbers an application has had looked up. Each is counted in the transaction that decides
//! to send the message, or to ask for the number, so the limits are exact, however many threads and nodes
//! there are.
//!
//! For a number and an address, the times of the latest messages are kept, so a window slides: with five
//! in ten minutes, no ten minutes have six. A message counts until the window has passed, and not at its
//! end. A country and an application have many, so theirs are counted by days of UTC.
//!
//! Verifications of a number use at most half of what the number may be sent, because they need no
//! password: the rest is left to the logins of the user who has the number. That holds for every number,
//! or the limit would show strangers which numbers are enrolled.

use super::AppId;
use crate::engine::clock::Time;
use crate::engine::limits::Limits;
use crate::engine::store::{Budget, Decided, View};
use crate::model::UserId;
use std::time::Duration;

const FIVE_MINUTES: Duration = Duration::from_secs(5 * 60);
const TEN_MINUTES: Duration = Duration::from_secs(10 * 60);
pub(super) const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const DAY_MILLISECONDS: i64 = 86_400_000;

/// A message, and what limits it.
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
    /// When a message can be sent again; never to a country that is not allowed.
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

    /// Whether the message would be over a limit.
    pub(in crate::engine) fn is_over(&self, view: &mut View) -> Decided<bool> {
        Ok(self.counted(view)?.is_err())
    }

    /// The rows in which the message is counted, and when their windows have place for another one.
    fn counted(&self, view: &mut View) -> Decided<Result<(Vec<Budget>, Time), Over>> {
        let mut next = self.now;
        let Some(limits) = &self.limits else { return Ok(Ok((Vec::new(), next))) };
        if !limits.allows(self.country) {
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

    /// Takes a message back that did not reach anybody, unless as many were taken back already as may
    /// be sent: a gateway may report failures of messages that it has sent.
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

    fn days(&self, limits: &Limits) -> [(String, &'static str, u32); 2] {
        let country = format!("country:{}:{}", self.app, self.country);
        [
            (country, "country_day", limits.country_day),
            (format!("application:{}", self.app), "application_day", limits.application_day),
        ]
    }
}

impl Window {
    /// The time at which there is place for another one after these; none if there is already, or no limit.
    fn opens(&self, times: &[i64]) -> Option<Time> {
        let first = times.len().checked_sub(self.most as usize).filter(|_| self.most > 0)?;
        times.get(first).map(|first| Time(*first).plus(self.length))
    }
}

/// The times of a row, the earliest first.
fn times(row: &Budget) -> Vec<i64> {
    row.times.chunks_exact(8).map(|time| time.try_into().map_or(0, i64::from_be_bytes)).collect()
}

/// Half of a limit. Of one message, that is the message: no number could be verified otherwise. Zero is no
/// limit.
fn half(most: u32) -> u32 {
    (most / 2).max(most.min(1))
}

/// The row with one more message now, if there is a limit.
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

/// The row with one more on this day, if there is a limit.
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

/// Whose row counts the messages that were taken back.
fn failures(subject: &str) -> String {
    format!("undelivered:{subject}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::limits;
    use crate::engine::store::{Memory, Store};

    const START: i64 = 1_700_000_000_000;

    fn sending(number: &str, at: i64) -> Sending {
        Sending {
            app: 1,
            number: number.to_owned(),
            country: 1,
            network: None,
            verifies_number: false,
            limits: Some(Limits::default()),
            now: Time(START + at * 1000),
        }
    }

    fn spend(store: &Store, sending: &Sending) -> Option<(&'static str, i64)> {
        let sending = sending.clone();
        let spent = store.run(move |view| sending.spend(view)).unwrap();
        spent.err().map(|over| (over.limit, over.until.map_or(0, |at| (at.0 - START) / 1000)))
    }

    #[test]
    fn a_number_gets_five_in_any_ten_minutes() {
        let store = Store::new(Memory::new());
        for at in [0, 100, 200, 300, 400] {
            assert_eq!(spend(&store, &sending("+1", at)), None);
        }
        assert_eq!(spend(&store, &sending("+1", 599)), Some(("number_10_minutes", 600)));
        assert_eq!(spend(&store, &sending("+2", 599)), None);
        assert_eq!(spend(&store, &sending("+1", 600)), None);
        assert_eq!(spend(&store, &sending("+1", 600)), Some(("number_10_minutes", 700)));
    }

    #[test]
    fn verifications_of_a_number_leave_half_of_its_messages_to_logins() {
        for (most, verifications) in [(1, 1), (2, 1), (5, 2), (20, 10)] {
            let store = Store::new(Memory::new());
            let mut limits = Limits::default();
            limits.set(&format!("number_10_minutes={most} number_day={most}")).unwrap();
            let login = |at| Sending { limits: Some(limits.clone()), ..sending("+1", at) };
            let verification = |at| Sending { verifies_number: true, ..login(at) };
            let over = |until| Some(("number_10_minutes", until));
            for _ in 0..verifications {
                assert_eq!(spend(&store, &verification(0)), None, "{most}");
            }
            assert_eq!(spend(&store, &verification(1)), over(600), "{most}");
            for _ in verifications..most {
                assert_eq!(spend(&store, &login(2)), None, "{most}");
            }
            assert_eq!(spend(&store, &login(3)), over(600), "{most}");
        }
        let store = Store::new(Memory::new());
        let verification = |at| Sending { verifies_number: true, ..sending("+1", at) };
        for round in 0..5 {
            assert_eq!(spend(&store, &verification(round * 600)), None);
            assert_eq!(spend(&store, &verification(round * 600)), None);
        }
        assert_eq!(spend(&store, &verification(3000)), Some(("number_day", 86_400)));
        let failed = verification(2400);
        store.run(move |view| failed.take_back(view)).unwrap();
        assert_eq!(spend(&store, &verification(3000)), None, "one was taken back");
        assert_eq!(spend(&store, &verification(3001)), Some(("number_day", 86_400)));
    }

    #[test]
    fn a_number_gets_twenty_in_any_day() {
        let store = Store::new(Memory::new());
        for message in 0..20 {
            assert_eq!(spend(&store, &sending("+1", message * 600)), None);
        }
        assert_eq!(spend(&store, &sending("+1", 86_399)), Some(("number_day", 86_400)));
        assert_eq!(spend(&store, &sending("+1", 86_400)), None);
        assert_eq!(spend(&store, &sending("+1", 86_400)), Some(("number_day", 87_000)));
    }

    #[test]
    fn an_address_causes_ten_in_any_hour_and_a_network_of_ipv6_is_one() {
        let from = |address: &str, number: i64, at| {
            let network = Some(limits::network(address.parse().unwrap()));
            Sending { network, ..sending(&format!("+{number}"), at) }
        };
        for (first, same, other) in [
            ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
            ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"),
        ] {
            let store = Store::new(Memory::new());
            for number in 0..10 {
                assert_eq!(spend(&store, &from(first, number, number)), None);
            }
            assert_eq!(spend(&store, &from(same, 11, 3599)), Some(("address_hour", 3600)));
            assert_eq!(spend(&store, &from(other, 11, 3599)), None);
            assert_eq!(spend(&store, &from(same, 12, 3600)), None);
        }
    }

    #[test]
    fn countries_and_applications_have_a_budget_for_each_day() {
        let store = Store::new(Memory::new());
        let mut limits = Limits::default();
        limits.set("country_day=2 application_day=3 countries=1+44").unwrap();
        let to = |country, number: i64, at| Sending {
            country,
            limits: Some(limits.clone()),
            ..sending(&format!("+{number}"), at)
        };
        // The day of the start ends after 6400 seconds.
        assert_eq!(spend(&store, &to(1, 1, 0)), None);
        assert_eq!(spend(&store, &to(1, 2, 0)), None);
        assert_eq!(spend(&store, &to(1, 3, 0)), Some(("country_day", 6400)));
        assert_eq!(spend(&store, &to(49, 4, 0)), Some(("countries", 0)));
        assert_eq!(spend(&store, &to(44, 5, 0)), None);
        assert_eq!(spend(&store, &to(44, 6, 6399)), Some(("application_day", 6400)));
        assert_eq!(spend(&store, &to(1, 7, 6400)), None);
    }

    #[test]
    fn a_message_that_is_taken_back_does_not_count() {
        let store = Store::new(Memory::new());
        for at in 0..5 {
            assert_eq!(spend(&store, &sending("+1", at)), None);
        }
        let last = sending("+1", 4);
        store.run(move |view| last.take_back(view)).unwrap();
        assert_eq!(spend(&store, &sending("+1", 5)), None);
        assert_eq!(spend(&store, &sending("+1", 6)), Some(("number_10_minutes", 600)));
        let rows = store.look(|view| view.all::<Budget>(())).unwrap();
        let counted = rows.iter().filter(|row| !row.subject.starts_with("undelivered"));
        assert!(counted.clone().all(|row| row.count == 0 || row.count == 5));
        assert_eq!(counted.count(), 3);
    }

    #[test]
    fn no_more_messages_are_taken_back_than_may_be_sent() {
        let store = Store::new(Memory::new());
        let attempts = (0..100).filter(|at| {
            let sending = sending("+1", *at);
            let sent = spend(&store, &sending).is_none();
            if sent {
                store.run(move |view| sending.take_back(view)).unwrap();
            }
            sent
        });
        assert_eq!(attempts.count(), 10, "five that failed and were taken back, and five more");
        assert_eq!(spend(&store, &sending("+1", 600)), Some(("number_10_minutes", 605)));
        assert_eq!(spend(&store, &sending("+1", 605)), None);
    }

    #[test]
    fn what_is_refused_changes_nothing() {
        let store = Store::new(Memory::new());
        let spent = (0..7).map(|at| spend(&store, &sending("+1", at)).is_none());
        assert_eq!(spent.filter(|spent| *spent).count(), 5);
        let count = |store: &Store| {
            let rows = store.look(|view| view.all::<Budget>(())).unwrap();
            let shown = |row: &Budget| (row.subject.clone(), row.times.len() / 8, row.count);
            rows.iter().map(shown).collect::<Vec<_>>()
        };
        let expected = [("application:1", 0, 5), ("country:1:1", 0, 5), ("number:1:+1", 5, 0)];
        assert_eq!(count(&store), expected.map(|(name, times, all)| (name.to_owned(), times, all)));
    }
}

//! How often an address may try what it does not know: API keys, so that whoever tries them, or repeats one that
//! was changed, costs little; and the codes of invitations, of which somebody else's would be found otherwise.

use crate::places::Client;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many API keys that no application has an address may send at once.
pub(crate) const KEYS: u32 = 30;
/// After what time it may send another one.
pub(crate) const EACH_KEY: Duration = Duration::from_secs(2);
/// The most addresses that are counted. Of API keys, whoever has more costs a look-up for each try. Of codes, one
/// more takes the place of the address that has the least to wait, with all that this one has sent: so nobody gets
/// rid of a count by means of other addresses.
const MOST: usize = 8192;

/// The addresses that have sent some lately.
pub(crate) struct WrongTries {
    /// How many an address may send at once.
    burst: u32,
    /// After what time it may send another one.
    each: Duration,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// When all that an address has sent would be due.
    due: HashMap<Client, Instant>,
    sent: u64,
    refused: u64,
}

impl Counts {
    /// Whether there is room for this address, after those are forgotten that have nothing to wait for.
    fn make_room(&mut self, client: Client, now: Instant) -> bool {
        if self.due.len() >= MOST && !self.due.contains_key(&client) {
            self.due.retain(|_, due| *due > now);
        }
        self.due.len() < MOST || self.due.contains_key(&client)
    }

    /// The address that has the least to wait, if there is no room for this one.
    fn least(&self, client: Client) -> Option<Client> {
        let is_full = self.due.len() >= MOST && !self.due.contains_key(&client);
        let least = || self.due.iter().min_by_key(|(_, due)| **due).map(|(least, _)| *least);
        is_full.then(least).flatten()
    }
}

impl WrongTries {
    pub(crate) fn new(burst: u32, each: Duration) -> WrongTries {
        WrongTries { burst, each, counts: Mutex::default() }
    }

    /// How long this address has to wait before another one is looked up, if it has to.
    pub(crate) fn wait(&self, client: Client, now: Instant) -> Option<Duration> {
        self.early(&self.lock(), client, now)
    }

    fn early(&self, counts: &Counts, client: Client, now: Instant) -> Option<Duration> {
        let due = counts.due.get(&client)?;
        let early = (*due + self.each)
            .saturating_duration_since(now)
            .checked_sub(self.each * self.burst)?;
        (!early.is_zero()).then_some(early)
    }

    /// Counts one before it is looked up, so that those which arrive together are counted too.
    ///
    /// # Errors
    /// How long this address has to wait before.
    pub(crate) fn reserve(&self, client: Client, now: Instant) -> Result<(), Duration> {
        let mut counts = self.lock();
        counts.make_room(client, now);
        let replaced = counts.least(client);
        if let Some(wait) = self.early(&counts, replaced.unwrap_or(client), now) {
            counts.refused += 1;
            return Err(wait);
        }
        if let Some(due) = replaced.and_then(|least| counts.due.remove(&least)) {
            counts.due.insert(client, due);
        }
        self.count(&mut counts, client, now);
        Ok(())
    }

    /// Takes one back that was not wrong.
    pub(crate) fn give_back(&self, client: Client) {
        let mut counts = self.lock();
        counts.sent = counts.sent.saturating_sub(1);
        if let Some(due) = counts.due.get_mut(&client) {
            *due -= self.each;
        }
    }

    /// Counts one. Returns whether it was the last that the address may send for now.
    pub(crate) fn add(&self, client: Client, now: Instant) -> bool {
        self.count(&mut self.lock(), client, now)
    }

    fn count(&self, counts: &mut Counts, client: Client, now: Instant) -> bool {
        counts.sent += 1;
        if !counts.make_room(client, now) {
            return false;
        }
        let due = counts.due.entry(client).or_insert(now);
        let was_under = (*due + self.each).saturating_duration_since(now) <= self.each * self.burst;
        *due = (*due).max(now) + self.each;
        was_under && (*due + self.each).saturating_duration_since(now) > self.each * self.burst
    }

    /// Counts a request that was refused because of those before it.
    pub(crate) fn add_refused(&self) {
        self.lock().refused += 1;
    }

    /// How many were sent, and how many requests were refused because of them.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let counts = self.lock();
        (counts.sent, counts.refused)
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // What it protects is complete at all times.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u32) -> Client {
        Client::of(std::net::Ipv4Addr::from_bits(number).into())
    }

    #[test]
    fn an_address_may_send_some_and_then_one_every_two_seconds() {
        let (keys, now) = (WrongTries::new(KEYS, EACH_KEY), Instant::now());
        for number in 1..=KEYS {
            assert_eq!(keys.wait(client(1), now), None, "{number}");
            assert_eq!(keys.add(client(1), now), number == KEYS, "{number}");
        }
        assert_eq!(keys.wait(client(1), now), Some(EACH_KEY));
        assert_eq!(keys.wait(client(2), now), None, "another address");
        assert_eq!(keys.wait(client(1), now + EACH_KEY), None);
        assert!(keys.add(client(1), now + EACH_KEY));
        assert_eq!(keys.wait(client(1), now + EACH_KEY), Some(EACH_KEY));
        assert_eq!(keys.wait(client(1), now + EACH_KEY * 2 * KEYS), None);
        assert_eq!(keys.counts(), (u64::from(KEYS) + 1, 0));
    }

    #[test]
    fn what_was_not_wrong_does_not_count() {
        let (codes, now) = (WrongTries::new(2, Duration::from_secs(60)), Instant::now());
        assert_eq!([codes.reserve(client(1), now), codes.reserve(client(1), now)], [Ok(()); 2]);
        assert_eq!(codes.reserve(client(1), now), Err(Duration::from_secs(60)));
        codes.give_back(client(1));
        assert_eq!(codes.reserve(client(1), now), Ok(()));
        assert!(codes.reserve(client(1), now).is_err());
        assert_eq!(codes.counts(), (2, 2));
    }

    #[test]
    fn nobody_gets_rid_of_a_count_by_other_addresses() {
        let each = Duration::from_secs(60);
        let (codes, now) = (WrongTries::new(2, each), Instant::now());
        let most = u32::try_from(MOST).unwrap();
        let sends = |number| codes.reserve(client(number), now).is_ok();
        assert_eq!([0; 3].map(sends), [true, true, false]);
        // One each, so the first address is none of those that make room.
        assert!((1..most).all(sends));
        assert!(sends(most), "with the count of another address");
        assert_eq!([0, most].map(sends), [false; 2]);
        // Each place has room for one more, whoever takes it; then all addresses wait.
        assert_eq!((1..most).filter(|number| sends(*number)).count(), MOST - 2);
        assert_eq!(codes.reserve(client(9 * most), now), Err(each));
        assert_eq!(codes.lock().due.len(), MOST);
        assert_eq!(codes.reserve(client(9 * most), now + each), Ok(()));
        assert_eq!(codes.reserve(client(8 * most), now + 2 * each), Ok(()), "all are due");
    }

    #[test]
    fn a_flood_of_addresses_is_bounded_and_makes_room_for_others() {
        let (keys, now) = (WrongTries::new(KEYS, EACH_KEY), Instant::now());
        let most = u32::try_from(MOST).unwrap();
        for number in 0..2 * most {
            keys.add(client(number), now);
        }
        assert_eq!(keys.lock().due.len(), MOST);
        keys.add(client(2 * most), now + EACH_KEY);
        assert_eq!(keys.lock().due.len(), 1);
    }
}

//! How often an address may send API keys that no application has, so that whoever tries keys, or repeats one
//! that was changed, costs little.

use crate::places::Client;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How many an address may send at once.
pub(crate) const BURST: u32 = 30;
/// After what time it may send another one.
pub(crate) const EACH: Duration = Duration::from_secs(2);
/// The most addresses that are counted: whoever has more costs a look-up for each key.
const MOST: usize = 8192;

/// The addresses that have sent some lately.
#[derive(Default)]
pub(crate) struct WrongKeys(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    /// When all that an address has sent would be due.
    due: HashMap<Client, Instant>,
    sent: u64,
    refused: u64,
}

impl WrongKeys {
    /// How long this address has to wait before another one is looked up, if it has to.
    pub(crate) fn wait(&self, client: Client, now: Instant) -> Option<Duration> {
        let counts = self.lock();
        let due = counts.due.get(&client)?;
        let early = (*due + EACH).saturating_duration_since(now).checked_sub(EACH * BURST)?;
        (!early.is_zero()).then_some(early)
    }

    /// Counts one. Returns whether it was the last that the address may send for now.
    pub(crate) fn add(&self, client: Client, now: Instant) -> bool {
        let mut counts = self.lock();
        counts.sent += 1;
        if counts.due.len() >= MOST && !counts.due.contains_key(&client) {
            counts.due.retain(|_, due| *due > now);
            if counts.due.len() >= MOST {
                return false;
            }
        }
        let due = counts.due.entry(client).or_insert(now);
        let was_under = (*due + EACH).saturating_duration_since(now) <= EACH * BURST;
        *due = (*due).max(now) + EACH;
        was_under && (*due + EACH).saturating_duration_since(now) > EACH * BURST
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let (keys, now) = (WrongKeys::default(), Instant::now());
        for number in 1..=BURST {
            assert_eq!(keys.wait(client(1), now), None, "{number}");
            assert_eq!(keys.add(client(1), now), number == BURST, "{number}");
        }
        assert_eq!(keys.wait(client(1), now), Some(EACH));
        assert_eq!(keys.wait(client(2), now), None, "another address");
        assert_eq!(keys.wait(client(1), now + EACH), None);
        assert!(keys.add(client(1), now + EACH));
        assert_eq!(keys.wait(client(1), now + EACH), Some(EACH));
        assert_eq!(keys.wait(client(1), now + EACH * 2 * BURST), None);
        assert_eq!(keys.counts(), (u64::from(BURST) + 1, 0));
    }

    #[test]
    fn a_flood_of_addresses_is_bounded_and_makes_room_for_others() {
        let (keys, now) = (WrongKeys::default(), Instant::now());
        let most = u32::try_from(MOST).unwrap();
        for number in 0..2 * most {
            keys.add(client(number), now);
        }
        assert_eq!(keys.lock().due.len(), MOST);
        keys.add(client(2 * most), now + EACH);
        assert_eq!(keys.lock().due.len(), 1);
    }
}

//! Limits wrong API keys and invitation codes per address. A client that guesses keys, or repeats one that was changed,
//! then costs little; and without a limit, a guess would find the code of another user's invitation.

use crate::edge::places::Client;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number of unknown API keys that an address may send at once.
pub(crate) const KEYS: u32 = 30;
/// The time after which it may send another one.
pub(crate) const EACH_KEY: Duration = Duration::from_secs(2);
/// The networks of IPv6 that one customer may have, by their bits, and how many times as many each may send as one
/// address: so one customer neither fills the tables nor has more tries than a few addresses.
pub(crate) const NETWORKS: [(u8, u32); 2] = [(56, 4), (48, 16)];
/// The most addresses that are counted, and networks of each size. Of API keys, each try of a further address costs a
/// look-up. Of codes, one more takes the place of the address that has the least to wait, with all that this one has
/// sent: so a client cannot get rid of a count by means of other addresses.
const MOST: usize = 8192;

/// The addresses with recent tries.
pub(crate) struct WrongTries {
    counts: Mutex<Counts>,
}

struct Counts {
    addresses: Table,
    /// The tables of [`NETWORKS`].
    networks: [Table; NETWORKS.len()],
    sent: u64,
    refused: u64,
}

/// Addresses, or networks of one size.
struct Table {
    /// The number of tries that one may send at once.
    burst: u32,
    /// The time after which it may send another one.
    each: Duration,
    /// The time at which all tries of one would be due.
    due: HashMap<Client, Instant>,
}

/// A try that may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reserved {
    /// It was counted for its address.
    Counted,
    /// So many other addresses wait that there is no room to count one more. Only a right one may have an effect.
    NoRoom,
}

impl Table {
    fn new(burst: u32, each: Duration) -> Table {
        Table { burst, each, due: HashMap::new() }
    }

    /// Returns whether there is room for this one, after those are forgotten that have nothing to wait for.
    fn make_room(&mut self, client: Client, now: Instant) -> bool {
        if self.due.len() >= MOST && !self.due.contains_key(&client) {
            self.due.retain(|_, due| *due > now);
        }
        self.due.len() < MOST || self.due.contains_key(&client)
    }

    /// Returns the time that one has to wait; `None` if it need not.
    fn wait(&self, client: Client, now: Instant) -> Option<Duration> {
        let early = (*self.due.get(&client)? + self.each)
            .saturating_duration_since(now)
            .checked_sub(self.each * self.burst)?;
        (!early.is_zero()).then_some(early)
    }

    /// Counts one. Returns whether it was the last that may be sent for now.
    fn count(&mut self, client: Client, now: Instant) -> bool {
        if !self.make_room(client, now) {
            return false;
        }
        let must_wait = self.wait(client, now).is_some();
        let due = self.due.entry(client).or_insert(now);
        *due = (*due).max(now) + self.each;
        !must_wait && self.wait(client, now).is_some()
    }

    /// Has a client take the place of the one that has the least to wait, unless that one has to wait itself.
    /// Returns whether it has one then.
    fn replace_least(&mut self, client: Client, now: Instant) -> bool {
        let least = self.due.iter().min_by_key(|(_, due)| **due).map(|(least, _)| *least);
        let Some(least) = least.filter(|least| self.wait(*least, now).is_none()) else {
            return false;
        };
        if let Some(due) = self.due.remove(&least) {
            self.due.insert(client, due);
        }
        true
    }
}

impl Counts {
    /// Returns the tables in which a client is counted, and the address or network that it is counted as in each.
    fn tables(&mut self, client: Client) -> impl Iterator<Item = (&mut Table, Client)> {
        std::iter::once((&mut self.addresses, client)).chain(networks(&mut self.networks, client))
    }

    fn wait(&mut self, client: Client, now: Instant) -> Option<Duration> {
        self.tables(client).filter_map(|(table, of)| table.wait(of, now)).max()
    }
}

/// Returns the tables of the networks that a client is in, and these networks.
fn networks(tables: &mut [Table], client: Client) -> impl Iterator<Item = (&mut Table, Client)> {
    let tables = tables.iter_mut().zip(NETWORKS);
    tables.filter_map(move |(table, (bits, _))| Some((table, client.within(bits)?)))
}

impl WrongTries {
    pub(crate) fn new(burst: u32, each: Duration) -> WrongTries {
        let networks = NETWORKS.map(|(_, times)| Table::new(burst * times, each / times));
        let addresses = Table::new(burst, each);
        WrongTries { counts: Mutex::new(Counts { addresses, networks, sent: 0, refused: 0 }) }
    }

    /// Returns the time that this address has to wait before another one is looked up; `None` if it need not.
    pub(crate) fn wait(&self, client: Client, now: Instant) -> Option<Duration> {
        self.lock().wait(client, now)
    }

    /// Counts one before it is looked up, so that those which arrive together are counted too.
    ///
    /// # Errors
    /// The time that this address has to wait before.
    pub(crate) fn reserve(&self, client: Client, now: Instant) -> Result<Reserved, Duration> {
        let mut counts = self.lock();
        if let Some(wait) = counts.wait(client, now) {
            counts.refused += 1;
            return Err(wait);
        }
        let counts = &mut *counts;
        for (table, network) in networks(&mut counts.networks, client) {
            table.count(network, now);
        }
        let addresses = &mut counts.addresses;
        if !addresses.make_room(client, now) && !addresses.replace_least(client, now) {
            return Ok(Reserved::NoRoom);
        }
        addresses.count(client, now);
        counts.sent += 1;
        Ok(Reserved::Counted)
    }

    /// Takes one back that was not wrong.
    pub(crate) fn give_back(&self, client: Client, reserved: Reserved) {
        let mut counts = self.lock();
        if reserved == Reserved::Counted {
            counts.sent = counts.sent.saturating_sub(1);
        }
        for (table, of) in counts.tables(client) {
            if let Some(due) = table.due.get_mut(&of) {
                *due -= table.each;
            }
        }
    }

    /// Counts one. Returns whether it was the last that the address may send for now.
    pub(crate) fn add(&self, client: Client, now: Instant) -> bool {
        let mut counts = self.lock();
        counts.sent += 1;
        let was_last = |any, (table, of): (&mut Table, Client)| table.count(of, now) || any;
        counts.tables(client).fold(false, was_last)
    }

    /// Counts a request that was refused because of those before it.
    pub(crate) fn add_refused(&self) {
        self.lock().refused += 1;
    }

    /// Returns the number of wrong tries, and the number of requests that were refused because of them.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let counts = self.lock();
        (counts.sent, counts.refused)
    }

    /// Registers these numbers by this name, for monitors.
    pub(crate) fn register(&self, name: &str, help: &str, registry: &mut Registry) {
        let (sent, refused) = self.counts();
        let counted = |count| {
            let counter = Counter::<u64>::default();
            counter.inc_by(count);
            counter
        };
        registry.register(name, help, counted(sent));
        let help = "Requests refused because their address had sent too many of them";
        registry.register(format!("{name}_refused"), help, counted(refused));
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // The data in the lock is complete at all times.
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
        let counted = Ok(Reserved::Counted);
        assert_eq!([codes.reserve(client(1), now), codes.reserve(client(1), now)], [counted; 2]);
        assert_eq!(codes.reserve(client(1), now), Err(Duration::from_secs(60)));
        codes.give_back(client(1), Reserved::Counted);
        assert_eq!(codes.reserve(client(1), now), counted);
        assert!(codes.reserve(client(1), now).is_err());
        assert_eq!(codes.counts(), (2, 2));
    }

    #[test]
    fn nobody_gets_rid_of_a_count_by_other_addresses() {
        let each = Duration::from_secs(60);
        let (codes, now) = (WrongTries::new(2, each), Instant::now());
        let most = u32::try_from(MOST).unwrap();
        let sends = |number| codes.reserve(client(number), now) == Ok(Reserved::Counted);
        assert_eq!([0; 3].map(sends), [true, true, false]);
        // One each, so the first address is not one of the addresses that make room.
        assert!((1..most).all(sends));
        assert!(sends(most), "with the count of another address");
        assert_eq!([0, most].map(sends), [false; 2]);
        // Each place has room for one more, by any address; then all addresses wait.
        assert_eq!((1..most).filter(|number| sends(*number)).count(), MOST - 2);
        assert_eq!(codes.reserve(client(0), now), Err(each));
        assert_eq!(codes.reserve(client(9 * most), now), Ok(Reserved::NoRoom));
        assert_eq!(codes.lock().addresses.due.len(), MOST);
        let counted = Ok(Reserved::Counted);
        assert_eq!(codes.reserve(client(9 * most), now + each), counted);
        assert_eq!(codes.reserve(client(8 * most), now + 2 * each), counted, "all are due");
    }

    #[test]
    fn a_flood_of_addresses_is_bounded_and_makes_room_for_others() {
        let (keys, now) = (WrongTries::new(KEYS, EACH_KEY), Instant::now());
        let most = u32::try_from(MOST).unwrap();
        for number in 0..2 * most {
            keys.add(client(number), now);
        }
        assert_eq!(keys.lock().addresses.due.len(), MOST);
        keys.add(client(2 * most), now + EACH_KEY);
        assert_eq!(keys.lock().addresses.due.len(), 1);
    }

    #[test]
    fn one_customer_with_many_networks_has_the_tries_of_a_few_addresses() {
        let of = |network: u128| {
            let prefix = u128::from_str_radix("20010db8000000000000000000000000", 16).unwrap();
            Client::of(std::net::Ipv6Addr::from_bits(prefix | network << 64).into())
        };
        let (codes, now) = (WrongTries::new(5, Duration::from_secs(60)), Instant::now());
        let sent = |networks: std::ops::Range<u128>| {
            let sends = |network: &u128| codes.reserve(of(*network), now).is_ok();
            networks.clone().chain(networks).filter(sends).count()
        };
        assert_eq!(sent(0..0x100), 20, "of a /56");
        assert_eq!(sent(0..0x10000), 80 - 20, "of a /48");
        assert!(codes.lock().addresses.due.len() <= 80);
        assert_eq!(codes.wait(of(0), now), Some(Duration::from_secs(15)));
        assert!(codes.reserve(of(0x10000), now).is_ok(), "another customer");
        assert!(codes.reserve(of(0x999), now + Duration::from_secs(4)).is_ok(), "a moment later");
    }
}

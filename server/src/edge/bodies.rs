//! Limits the memory for the bodies of requests before it is known whether their clients may make them.

use crate::edge::places::Client;
use crate::edge::wrong_tries::NETWORKS;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// The bytes of all such bodies that are kept at once: of calls, of phones and of providers each.
pub(crate) const ALL: usize = 32 * 1024 * 1024;
/// The bytes of one client. The networks of IPv6 that it is in have as many times more as [`NETWORKS`] says.
pub(crate) const SHARE: usize = 1024 * 1024;

/// The bytes that are kept: in all, and of each client and network that has some.
#[derive(Default)]
pub(crate) struct Bodies(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    all: usize,
    by_client: HashMap<Client, usize>,
}

/// A body that is being read. Bytes that have arrived take room, and announced ones do not, so requests without a body
/// take none. The memory is wiped, with all that the body grew out of.
#[derive(Default)]
pub(crate) struct BodyBuffer {
    bytes: Zeroizing<Vec<u8>>,
    /// The room that it takes; `None` if the client is known.
    room: Option<Room>,
}

/// The room of one body, which is given back when this is dropped.
struct Room {
    bodies: Arc<Bodies>,
    client: Client,
    bytes: usize,
}

impl Bodies {
    /// Returns an empty body of this client.
    pub(crate) fn body(self: &Arc<Bodies>, client: Client) -> BodyBuffer {
        let room = Room { bodies: Arc::clone(self), client, bytes: 0 };
        BodyBuffer { room: Some(room), ..BodyBuffer::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BodyBuffer {
    /// Returns whether the body takes room from the bodies of unknown clients.
    pub(crate) fn is_limited(&self) -> bool {
        self.room.is_some()
    }

    /// Gives the room back, because it is known now who sends the body.
    pub(crate) fn lift_limit(&mut self) {
        self.room = None;
    }

    /// Appends the bytes that have arrived. Returns false and changes nothing if there is no room for it.
    #[must_use]
    pub(crate) fn extend(&mut self, data: &[u8]) -> bool {
        let (length, before) = (self.bytes.len() + data.len(), self.bytes.capacity());
        if length > before {
            let capacity = length.max(2 * before);
            if self.room.as_mut().is_some_and(|room| !room.grow(capacity)) {
                return false;
            }
            // A vector that grows by itself would leave a part of its contents behind.
            let mut larger = Zeroizing::new(Vec::with_capacity(capacity));
            larger.extend_from_slice(&self.bytes);
            self.bytes = larger;
        }
        self.bytes.extend_from_slice(data);
        true
    }

    /// Forgets the bytes that have arrived.
    pub(crate) fn clear(&mut self) {
        self.bytes = Zeroizing::default();
        if let Some(room) = &mut self.room {
            room.clear();
        }
    }

    /// Returns the bytes, for an owner that wipes them.
    pub(crate) fn take(mut self) -> Vec<u8> {
        std::mem::take(&mut *self.bytes)
    }
}

impl Deref for BodyBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Room {
    /// Grows to so many bytes. Returns false if there are not so many.
    fn grow(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let mut kept = self.bodies.lock();
        let own = |counted: &Client| kept.by_client.get(counted).copied().unwrap_or_default();
        if more > ALL - kept.all
            || counted(self.client).any(|(counted, share)| more > share - own(&counted))
        {
            return false;
        }
        kept.all += more;
        for (counted, _) in counted(self.client) {
            *kept.by_client.entry(counted).or_default() += more;
        }
        self.bytes += more;
        true
    }

    fn clear(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes == 0 {
            return;
        }
        let mut kept = self.bodies.lock();
        kept.all -= bytes;
        for (counted, _) in counted(self.client) {
            match kept.by_client.get_mut(&counted) {
                Some(own) if *own > bytes => *own -= bytes,
                _ => drop(kept.by_client.remove(&counted)),
            }
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Returns the clients and networks that the bytes of a client are counted for, and the share of each.
fn counted(client: Client) -> impl Iterator<Item = (Client, usize)> {
    let networks = NETWORKS.into_iter().filter_map(move |(bits, times)| {
        Some((client.within(bits)?, SHARE.saturating_mul(times as usize)))
    });
    std::iter::once((client, SHARE)).chain(networks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn grown(bodies: &[BodyBuffer]) -> usize {
        bodies.iter().map(|body| body.len()).sum()
    }

    fn fill(bodies: &Arc<Bodies>, clients: impl Iterator<Item = Client>) -> Vec<BodyBuffer> {
        let filled = |client| {
            let mut body = bodies.body(client);
            body.extend(&[0; SHARE]).then_some(body)
        };
        clients.filter_map(filled).collect()
    }

    #[test]
    fn clients_keep_a_share_each_and_all_together_have_a_limit() {
        let bodies: Arc<Bodies> = Arc::default();
        let client = |number| Client::of(Ipv4Addr::from_bits(number).into());
        let (mut first, mut second) = (bodies.body(client(1)), bodies.body(client(1)));
        assert!(first.extend(&[0; SHARE - 1]) && second.extend(&[0]) && first.extend(&[]));
        assert!(!second.extend(&[0]) && second.len() == 1);
        drop(first);
        assert!(second.extend(&[0; SHARE - 1]));
        let others = fill(&bodies, (2..).map(client).take(ALL / SHARE));
        assert_eq!(grown(&others), ALL - SHARE);
        second.lift_limit();
        assert!(second.extend(&[0]));
        let more = fill(&bodies, std::iter::once(client(1)));
        assert_eq!(grown(&more), SHARE, "of a client that is known, the rest is counted only");
        drop((others, more));
        let kept = bodies.lock();
        assert!(kept.all == 0 && kept.by_client.is_empty());
    }

    #[test]
    fn the_networks_of_one_customer_leave_room_for_others() {
        let client = |network: u128| Client::of(Ipv6Addr::from_bits(network << 64).into());
        for (networks, kept) in [(0..0x100, 4 * SHARE), (0..0x10000, 16 * SHARE)] {
            let bodies: Arc<Bodies> = Arc::default();
            let own = fill(&bodies, networks.clone().map(client));
            assert_eq!(grown(&own), kept, "{networks:?}");
            assert_eq!(
                fill(&bodies, std::iter::once(client(0x10000))).len(),
                1,
                "another customer"
            );
            drop(own);
            let kept = bodies.lock();
            assert!(kept.all == 0 && kept.by_client.is_empty());
        }
    }

    #[test]
    fn a_body_takes_room_as_it_arrives_and_stays_whole() {
        let bodies: Arc<Bodies> = Arc::default();
        let mut body = bodies.body(Client::of(Ipv4Addr::LOCALHOST.into()));
        assert!(body.is_limited() && bodies.lock().all == 0);
        let text: Vec<u8> = (0..=255).collect();
        for byte in &text {
            assert!(body.extend(std::slice::from_ref(byte)));
            assert!(bodies.lock().all <= 2 * body.len());
        }
        assert_eq!(*body, *text);
        body.clear();
        assert!(body.is_empty() && bodies.lock().all == 0);
    }
}

//! Limits the memory for the bodies of requests before it is known whether their clients may make them.

use crate::places::Client;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bytes of all such bodies that are kept at once.
pub(crate) const ALL: usize = 32 * 1024 * 1024;
/// Those of one client.
pub(crate) const SHARE: usize = 1024 * 1024;

/// The bytes that are kept, in all and of each client that has some.
#[derive(Default)]
pub(crate) struct Bodies(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    all: usize,
    by_client: HashMap<Client, usize>,
}

/// The bytes of one body, which are given back when this is dropped.
pub(crate) struct KeptBody {
    bodies: Arc<Bodies>,
    client: Client,
    bytes: usize,
}

impl Bodies {
    /// A body of this client, of which nothing is kept yet.
    pub(crate) fn body(self: &Arc<Bodies>, client: Client) -> KeptBody {
        KeptBody { bodies: Arc::clone(self), client, bytes: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptBody {
    /// Takes room for so many more bytes. Returns false if there is none.
    #[must_use]
    pub(crate) fn grow(&mut self, more: usize) -> bool {
        if more == 0 {
            return true;
        }
        let mut kept = self.bodies.lock();
        let own = kept.by_client.get(&self.client).copied().unwrap_or_default();
        if more > ALL - kept.all || more > SHARE - own {
            return false;
        }
        kept.all += more;
        kept.by_client.insert(self.client, own + more);
        self.bytes += more;
        true
    }

    /// Gives back the room for what was kept.
    pub(crate) fn clear(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes == 0 {
            return;
        }
        let mut kept = self.bodies.lock();
        kept.all -= bytes;
        match kept.by_client.get_mut(&self.client) {
            Some(own) if *own > bytes => *own -= bytes,
            _ => drop(kept.by_client.remove(&self.client)),
        }
    }
}

impl Drop for KeptBody {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_keep_a_share_each_and_all_together_have_a_limit() {
        let bodies: Arc<Bodies> = Arc::default();
        let body = |number| bodies.body(Client::of(std::net::Ipv4Addr::from_bits(number).into()));
        let (mut first, mut second) = (body(1), body(1));
        assert!(first.grow(SHARE - 1) && second.grow(1) && first.grow(0));
        assert!(!first.grow(1) && !second.grow(usize::MAX));
        drop(second);
        assert!(first.grow(1));
        let mut others: Vec<KeptBody> = (2..).map(body).take(ALL / SHARE).collect();
        let grown = others.iter_mut().filter_map(|body| body.grow(SHARE).then_some(())).count();
        assert_eq!(grown, ALL / SHARE - 1);
        drop((first, others));
        let kept = bodies.lock();
        assert!(kept.all == 0 && kept.by_client.is_empty());
    }
}

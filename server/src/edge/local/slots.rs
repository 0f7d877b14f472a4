//! Limits the connections of a local socket, so that no user of the machine can keep logins from
//! being checked.

use nix::unistd::Uid;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections of all users together.
pub(crate) const ALL: usize = 512;
/// Connections of all users but root and the server's own. The rest is for the login processes, even if one person has
/// many users, as every user of containers does.
const OTHERS: usize = 384;
/// Connections of one such user.
const ONE: usize = 64;

/// The connections that are open, by user.
#[derive(Debug, Default)]
pub(crate) struct Slots(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    privileged: usize,
    others: usize,
    by_user: HashMap<u32, usize>,
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    uid: u32,
}

impl Slots {
    /// Takes a place for a connection of this user; `None` if the user, or all, have too many.
    pub(crate) fn take(self: &Arc<Slots>, uid: u32) -> Option<Slot> {
        let mut open = self.lock();
        if open.privileged + open.others >= ALL {
            return None;
        }
        if is_privileged(uid) {
            open.privileged += 1;
        } else {
            let own = open.by_user.get(&uid).copied().unwrap_or_default();
            if own >= ONE || open.others >= OTHERS {
                return None;
            }
            open.others += 1;
            open.by_user.insert(uid, own + 1);
        }
        Some(Slot { slots: Arc::clone(self), uid })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.slots.lock();
        if is_privileged(self.uid) {
            open.privileged -= 1;
            return;
        }
        open.others -= 1;
        match open.by_user.get_mut(&self.uid) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(open.by_user.remove(&self.uid)),
        }
    }
}

fn is_privileged(uid: u32) -> bool {
    uid == 0 || uid == Uid::effective().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_cannot_take_all_places_nor_can_many_users() {
        let slots = Arc::new(Slots::default());
        let mut held: Vec<Slot> = (0..ONE).map(|_| slots.take(100_000).unwrap()).collect();
        assert!(slots.take(100_000).is_none());
        let mut user = 100_001;
        while let Some(slot) = slots.take(user) {
            held.push(slot);
            user += 1;
        }
        assert_eq!(held.len(), OTHERS);
        let root: Vec<Slot> = std::iter::from_fn(|| slots.take(0)).collect();
        assert_eq!(root.len(), ALL - OTHERS);
        drop(root);
        held.truncate(ONE - 1);
        assert!(slots.take(100_000).is_some());
        held.clear();
        let open = slots.lock();
        assert!(open.by_user.is_empty() && open.privileged + open.others == 0, "{open:?}");
    }
}

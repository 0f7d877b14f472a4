//! Connection checkout with a timeout: the thread that uses a connection may be stuck on a disk that hangs.

use super::process::Owned;
use crate::Result;
use crate::engine::store::batch::{broken, late};
use rusqlite::Connection;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// Threads that wait for one of some connections.
#[derive(Default)]
pub(super) struct Turns {
    waiting: AtomicUsize,
    lock: Mutex<()>,
    freed: Condvar,
}

/// A connection that this thread uses.
pub(super) struct InUse<'a> {
    /// `None` only while it is given up.
    connection: Option<MutexGuard<'a, Option<Connection>>>,
    turns: &'a Turns,
}

impl InUse<'_> {
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) if it was closed.
    pub(super) fn get(&self) -> Result<&Connection> {
        self.connection.as_ref().and_then(|guard| guard.deref().as_ref()).ok_or_else(broken)
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.connection = None;
        // Either who waits is seen here, or they see that the connection is free.
        fence(Ordering::SeqCst);
        if self.turns.waiting.load(Ordering::SeqCst) > 0 {
            let _lock = self.turns.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.turns.freed.notify_one();
        }
    }
}

impl Turns {
    /// Takes one of these connections: the one at this place, or else another one that is free.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage) if none gets free in time.
    pub(super) fn take<'a>(
        &'a self,
        of: &'a [Owned],
        first: usize,
        patience: Duration,
    ) -> Result<InUse<'a>> {
        if let Some(free) = self.free(of, first)? {
            return Ok(free);
        }
        let lock = self.lock.lock().map_err(|_| broken())?;
        self.waiting.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let mut found = Ok(None);
        let nothing = |_: &mut ()| {
            found = self.free(of, first);
            matches!(found, Ok(None))
        };
        let waited = self.freed.wait_timeout_while(lock, patience, nothing);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        // Dropped before `found`, whose connection takes this lock when it is dropped.
        drop(waited);
        found?.ok_or_else(late)
    }

    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) if a thread has panicked with each of them.
    fn free<'a>(&'a self, of: &'a [Owned], first: usize) -> Result<Option<InUse<'a>>> {
        let mut is_left = false;
        for connection in of.iter().cycle().skip(first).take(of.len()) {
            match connection.try_lock() {
                Ok(guard) => return Ok(Some(InUse { connection: Some(guard), turns: self })),
                Err(TryLockError::WouldBlock) => is_left = true,
                Err(TryLockError::Poisoned(_)) => {}
            }
        }
        if is_left { Ok(None) } else { Err(broken()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sqlite;
    use super::*;
    use crate::Error;
    use crate::engine::model::clock::Time;
    use crate::engine::store::backend::{Backend, Fault};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn outcome(done: Result<(), Fault>) -> Option<Error> {
        done.err().map(|(Fault::OfRow(error) | Fault::OfStore(error))| error)
    }

    #[test]
    fn nobody_waits_for_ever_behind_connections_that_hang() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Sqlite::open(&folder.path().join("service.db"), false).unwrap();
        store.patience = Duration::from_millis(20);
        let is_late = |error: Option<Error>| {
            let error = error.unwrap();
            assert!(matches!(&error, Error::Storage { .. }), "{error}");
            assert!(error.to_string().contains("did not respond in time"), "{error}");
        };
        let mut readers: Vec<_> = store.readers.iter().map(|one| one.lock().unwrap()).collect();
        let writer = store.writer.lock().unwrap();
        is_late(outcome(store.read(&mut |_| Ok(()))));
        is_late(outcome(store.write(&mut |_| Ok(()))));
        is_late(store.spend(Time(0)).err());
        drop(writer);
        readers.pop();
        assert!(outcome(store.write(&mut |_| Ok(()))).is_none());
        assert!(outcome(store.read(&mut |_| Ok(()))).is_none());
    }

    #[test]
    fn a_panic_with_a_connection_leaves_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("service.db"), false).unwrap();
        let count = store.readers.len();
        for panicked in 1..=count {
            let work = || store.read(&mut |_| panic!("in the middle of a read"));
            let _ = catch_unwind(AssertUnwindSafe(work)).map(outcome).unwrap_err();
            // Whichever is the first that they try.
            let reads = (0..count).map(|_| outcome(store.read(&mut |_| Ok(()))));
            let failed: Vec<_> = reads.flatten().collect();
            assert_eq!(failed.len(), if panicked < count { 0 } else { count }, "{failed:?}");
            assert!(failed.iter().all(|error| matches!(error, Error::Internal { .. })));
        }
    }

    #[test]
    fn who_waits_goes_on_when_a_connection_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("service.db"), false).unwrap();
        let patience = Duration::from_secs(60);
        let own = std::slice::from_ref(&store.writer);
        let first = store.writing.take(own, 0, patience).unwrap();
        std::thread::scope(|scope| {
            let others: Vec<_> = (0..3)
                .map(|_| scope.spawn(|| store.writing.take(own, 0, patience).map(drop)))
                .collect();
            while store.writing.waiting.load(Ordering::SeqCst) < others.len() {
                std::thread::yield_now();
            }
            drop(first);
            others.into_iter().for_each(|other| other.join().unwrap().unwrap());
        });
    }
}

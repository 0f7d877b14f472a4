//! Connection pool: the connections that read, so that no read waits for a batch, and the one that
//! writes. Waiting for a connection takes no longer than waiting for a server may.

use crate::Result;
use crate::engine::store::batch::late;
use crate::postgres::Until;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Pool<T> {
    most: usize,
    places: Mutex<Places<T>>,
    freed: Condvar,
}

struct Places<T> {
    taken: usize,
    idle: Vec<T>,
}

/// The right to use something, which is new if there was none.
pub(super) struct Place<'a, T: Default> {
    pool: &'a Pool<T>,
    pub(super) item: T,
}

impl<T: Default> Pool<T> {
    /// At most so many are used at a time. Each is made when it is needed.
    pub(super) fn new(most: usize) -> Pool<T> {
        Pool {
            most,
            places: Mutex::new(Places { taken: 0, idle: Vec::new() }),
            freed: Condvar::new(),
        }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage) if no connection is free by this time.
    pub(super) fn take(&self, until: Until) -> Result<Place<'_, T>> {
        let full = |places: &mut Places<T>| places.taken >= self.most;
        let waited = self.freed.wait_timeout_while(self.lock(), until.left(), full);
        let (mut places, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if places.taken >= self.most {
            return Err(late());
        }
        places.taken += 1;
        Ok(Place { pool: self, item: places.idle.pop().unwrap_or_default() })
    }

    /// Takes the idle connections.
    pub(super) fn drain(&self) -> Vec<T> {
        std::mem::take(&mut self.lock().idle)
    }

    fn lock(&self) -> MutexGuard<'_, Places<T>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Default> Drop for Place<'_, T> {
    fn drop(&mut self) {
        let mut places = self.pool.lock();
        places.taken -= 1;
        // After a panic, the state of the connection's protocol is unknown.
        if !std::thread::panicking() {
            places.idle.push(std::mem::take(&mut self.item));
        }
        self.pool.freed.notify_one();
    }
}

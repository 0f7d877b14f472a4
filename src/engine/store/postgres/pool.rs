//! The connections that read, so that no read waits for a batch.

use crate::postgres::{Connection, Until};
use crate::{Error, Result};
use std::sync::{Condvar, Mutex, PoisonError};

/// How many there are at most. Each is opened when it is needed.
const MOST: usize = 4;

#[derive(Default)]
pub(super) struct Pool {
    places: Mutex<Places>,
    freed: Condvar,
}

#[derive(Default)]
struct Places {
    taken: usize,
    idle: Vec<Connection>,
}

/// The right to use a connection, which may have to be opened.
pub(super) struct Place<'a> {
    pool: &'a Pool,
    pub(super) connection: Option<Connection>,
}

impl Pool {
    /// Waits for a place.
    pub(super) fn take(&self, until: Until) -> Result<Place<'_>> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |places: &mut Places| places.taken >= MOST;
        let waited = self.freed.wait_timeout_while(places, until.left(), full);
        let (mut places, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() && places.taken >= MOST {
            return Err(Error::storage(
                "the database did not respond in time: check the server that it is on",
            ));
        }
        places.taken += 1;
        Ok(Place { pool: self, connection: places.idle.pop() })
    }

    pub(super) fn close(&self) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.idle.drain(..).for_each(Connection::close);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut places = self.pool.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.taken -= 1;
        places.idle.extend(self.connection.take());
        self.pool.freed.notify_one();
    }
}

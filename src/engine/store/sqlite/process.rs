//! Tracks which process has databases open.
//!
//! SQLite records for each file which locks its process holds. A fork copies these records, but not
//! the locks. A child that opened a database then would write without the lock that keeps the
//! parent from removing the log, and so lose committed data. It is therefore rejected. So is a
//! database in memory, because a thread of the parent may have held one of SQLite's mutexes at the
//! time of the fork, for which the child would wait for ever.

use crate::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};

/// The process id, and in the lower half the number of databases that it has open. This is not a
/// mutex, because a thread of the parent may have held a mutex at the time of the fork.
static OPEN: AtomicU64 = AtomicU64::new(0);

/// Counts a database, also one in memory, as open until this is dropped.
pub(super) struct Opened(u32);

impl Opened {
    pub(super) fn begin() -> Result<Opened> {
        let process = std::process::id();
        let one_more = |open| match (open >> 32, open & u64::from(u32::MAX)) {
            (other, 1..) if other != u64::from(process) => None,
            (_, count) => Some(u64::from(process) << 32 | (count + 1)),
        };
        OPEN.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).map_err(|_| {
            Error::storage(
                "this process was forked from one that has an engine open: open services after the \
                 fork, in the parent too (of a web server: in each worker)",
            )
        })?;
        Ok(Opened(process))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if std::process::id() == self.0 {
            OPEN.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

//! Which process has databases open.
//!
//! SQLite keeps for each file what its process holds locked, and a fork copies that, though not the
//! locks. A child that opened a database then would write without the lock that keeps the parent
//! from removing the log beneath it, and lose what it was told is written. So it must not open one.

use crate::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};

/// The process, and in the lower half how many databases it has open. Threads of the parent may
/// have held any lock when the fork happened, so there is none here.
static OPEN: AtomicU64 = AtomicU64::new(0);

/// A database that is open, until this goes.
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
                "this process was forked from one that has a database open, and the two would \
                 spoil it: open services after the fork, in the parent too (of a web server: in \
                 each worker)",
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

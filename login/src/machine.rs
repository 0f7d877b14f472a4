//! Facts that a login reads from the machine.

use crate::clean::short;
use crate::offline::{Problem, machine_id};
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// The machine that users log in to, as far as offline logins depend on it.
pub trait Machine: fmt::Debug {
    /// Returns the time in Unix seconds.
    fn now(&self) -> u64;

    /// Returns a value that no other machine has.
    ///
    /// # Errors
    /// If the machine has none.
    fn id(&self) -> Result<Vec<u8>, Problem>;
}

/// The machine of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisMachine;

impl Machine for ThisMachine {
    #[allow(clippy::disallowed_methods, reason = "this is the clock that is passed to the cache")]
    fn now(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
    }

    fn id(&self) -> Result<Vec<u8>, Problem> {
        machine_id()
    }
}

/// Returns the name of this machine, as users and the service's records see it.
pub(crate) fn host_name() -> String {
    short(&rustix::system::uname().nodename().to_string_lossy())
}

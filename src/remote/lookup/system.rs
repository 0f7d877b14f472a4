//! The resolver of the system, for names that only another source of `nsswitch.conf` knows.
//!
//! It can be neither cancelled nor given a deadline, so it runs on a thread of its own, which is abandoned when the time is
//! over. Therefore it is used only where the setting asks for it, and never by the PAM module, whose process is another
//! program's.

use super::Failure;
use crate::interrupt::{INTERVAL, interrupted};
use crate::remote::deadline::Deadline;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;

/// The value of the setting `name_server` that asks for it.
pub(super) const WORD: &str = "system";
/// The number of look-ups that may be under way at once, abandoned ones included.
const MOST: u64 = 16;
/// How many look-ups are under way, in the low half, and in which process, in the high half: a forked process has the
/// number, but not the threads.
static UNDER_WAY: AtomicU64 = AtomicU64::new(0);

/// One of the look-ups that may be under way.
struct Place;

impl Place {
    fn take() -> Option<Place> {
        let change = |state| Some(of_this_process(state)).filter(|state| count(*state) < MOST);
        let taken = UNDER_WAY.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            change(state).map(|state| state + 1)
        });
        taken.ok().map(|_| Place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The update cannot fail: it always has a value.
        let _ = UNDER_WAY.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            Some(of_this_process(state)).map(|state| state - count(state).min(1))
        });
    }
}

fn count(state: u64) -> u64 {
    state & u64::from(u32::MAX)
}

fn of_this_process(state: u64) -> u64 {
    let process = u64::from(std::process::id()) << 32;
    if state & !u64::from(u32::MAX) == process { state } else { process }
}

/// Returns the addresses that the system's resolver finds.
pub(super) fn addresses(name: &str, deadline: Deadline) -> Result<Vec<IpAddr>, Failure> {
    let busy = || Failure::System("too many look-ups are under way".to_owned());
    let place = Place::take().ok_or_else(busy)?;
    let (sender, receiver) = channel();
    let name = name.to_owned();
    let look = move || {
        let found = (name.as_str(), 0).to_socket_addrs();
        drop(place);
        // The caller may have left.
        let _ = sender.send(found.map(|found| found.map(|address| address.ip()).collect()));
    };
    let thread = Builder::new().name("seconder-resolver".to_owned()).spawn(look);
    thread.map_err(|error| Failure::of(&error).unwrap_or(Failure::System(error.to_string())))?;
    loop {
        let left = deadline.left();
        match receiver.recv_timeout(left.min(INTERVAL)) {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error)) => {
                return Err(Failure::of(&error).unwrap_or(Failure::System(error.to_string())));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::Unknown),
            Err(RecvTimeoutError::Timeout) if interrupted() => return Err(Failure::Interrupted),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                return Err(Failure::System("there was no answer in time".to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_ups_are_limited_and_a_forked_process_begins_with_none() {
        let places: Vec<Place> = std::iter::from_fn(Place::take).collect();
        assert!(places.len() as u64 <= MOST && Place::take().is_none());
        drop(places);
        assert!(Place::take().is_some());
        let other = u64::from(std::process::id().wrapping_add(1)) << 32 | 7;
        assert_eq!((count(other), count(of_this_process(other))), (7, 0));
    }
}

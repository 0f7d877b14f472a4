//! Clients that go on while a service is attacked, or its machine fails: none of their calls fails, and none waits
//! for the attack.
//!
//! A client that an attack holds up waits for a limit of the service, which is 10 s or more. Smaller delays depend
//! on the machine as well, so no test measures them: `make bench` compares the 99th percentile with and without
//! an attack.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::calls::AppDetails;
use seconder::{Handle, Settings};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many calls of each kind are made during an attack, at least.
const CALLS: usize = 50;
/// Between calls. Below the limit of requests with one key.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest time of one call, on a machine that does much else: less than the shortest limit of the service.
const LONGEST: Duration = Duration::from_secs(9);

/// A call that is repeated. It panics if it fails.
pub(crate) struct Others<'a> {
    what: &'static str,
    call: Box<dyn FnMut() + Send + 'a>,
}

impl<'a> Others<'a> {
    pub(crate) fn new(what: &'static str, call: impl FnMut() + Send + 'a) -> Others<'a> {
        Others { what, call: Box::new(call) }
    }
}

/// The progress of the calls, as an attack sees it.
#[derive(Default)]
pub(crate) struct Meanwhile {
    rounds: AtomicUsize,
    is_over: AtomicBool,
}

impl Meanwhile {
    fn are_enough(&self) -> bool {
        self.rounds.load(Ordering::Relaxed) >= CALLS
    }

    /// Waits until all calls were made, so that what was done to the service lasts as long.
    pub(crate) fn wait(&self) {
        while !self.are_enough() {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Attacks a service while clients call it, on connections that they keep and on new ones.
pub(crate) fn go_on(service: &Settings, attack: impl FnMut(&Meanwhile)) {
    let client = service.clone().open().unwrap();
    let kept = || drop(client.create_user("ada@example.com", "2025550123", "1").unwrap());
    let new = || drop(service.clone().open().unwrap().handle(&AppDetails::default()).unwrap());
    let mut others = [Others::new("kept connections", kept), Others::new("new connections", new)];
    do_not_notice(&mut others, attack);
}

/// Makes calls during an attack, which is repeated until they are made. Panics if a call fails, or takes longer than
/// [`LONGEST`].
pub(crate) fn do_not_notice(others: &mut [Others<'_>], mut attack: impl FnMut(&Meanwhile)) {
    /// Ends the calls, or the attack, also after a panic.
    struct Finally<F: Fn()>(F);
    impl<F: Fn()> Drop for Finally<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let meanwhile = Meanwhile::default();
    std::thread::scope(|scope| {
        let calls = scope.spawn(|| {
            let _ends = Finally(|| meanwhile.rounds.store(CALLS, Ordering::Relaxed));
            while !meanwhile.is_over.load(Ordering::Relaxed) {
                for Others { what, call } in others.iter_mut() {
                    let started = Instant::now();
                    call();
                    let took = started.elapsed();
                    assert!(took < LONGEST, "{what}: a call took {took:?}");
                }
                meanwhile.rounds.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(PAUSE);
            }
        });
        let over = Finally(|| meanwhile.is_over.store(true, Ordering::Relaxed));
        attack(&meanwhile);
        while !meanwhile.are_enough() {
            attack(&meanwhile);
        }
        drop(over);
        calls.join().unwrap();
    });
}

//! Clients that go on while a service is attacked, or its machine fails: no call of theirs fails, and none takes
//! longer for it.
//!
//! A test that measures times must not fail because the machine is busy, so the times of the service are compared
//! with those of another one that nobody attacks, called in turn with it: whatever takes the processors takes them
//! from both. What an attack costs in processors is therefore not seen here: `make bench` measures that, on a
//! machine that has nothing else to do.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::print_stdout, reason = "the figures are to be read, with --nocapture")]

use seconder::calls::AppDetails;
use seconder::{Handle, Settings};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many calls of each kind are made before, and how many at least meanwhile: so many that three of them are
/// beyond the percentile.
const CALLS: usize = 300;
/// Between calls. Below the limit of requests with one key.
const PAUSE: Duration = Duration::from_millis(20);
/// By how much the times at the 99th percentile may differ besides. A call changes threads some six times, each of
/// which may have to wait for a few milliseconds where several processes want each processor, and it may meet one
/// write to the disk more than the other service. Whoever had to wait for an attack would wait for one of the
/// limits of the service, which are seconds.
const ALLOWANCE: Duration = Duration::from_millis(30);
/// How often they are compared before they differ. What is due to the machine does not come each time.
const ATTEMPTS: usize = 3;

type Call<'a> = Box<dyn FnMut() + Send + 'a>;

/// The same call of the service that is attacked and of the one that is not. It panics if it fails.
pub(crate) struct Others<'a> {
    what: &'static str,
    calls: [Call<'a>; 2],
}

impl<'a> Others<'a> {
    pub(crate) fn new(
        what: &'static str,
        attacked: impl FnMut() + Send + 'a,
        alone: impl FnMut() + Send + 'a,
    ) -> Others<'a> {
        Others { what, calls: [Box::new(attacked), Box::new(alone)] }
    }
}

/// What an attack sees of the calls that are made meanwhile.
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

/// The times at the 99th percentile.
#[derive(Clone, Copy)]
struct Times {
    attacked: Duration,
    alone: Duration,
}

/// Those of one kind of call.
struct Compared {
    what: &'static str,
    before: Times,
    meanwhile: Times,
}

impl Compared {
    fn is_noticed(&self) -> bool {
        let usual = self.before.attacked.max(self.meanwhile.alone);
        self.meanwhile.attacked > usual * 3 / 2 + ALLOWANCE
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Compared { what, before, meanwhile } = self;
        let (was, is, alone) = (before.attacked, meanwhile.attacked, meanwhile.alone);
        write!(f, "{what}: {was:?} before, {is:?} meanwhile, {alone:?} of the one left alone")
    }
}

/// Attacks a service while clients call it, on connections that they keep and on new ones.
pub(crate) fn go_on(attacked: &Settings, alone: &Settings, attack: impl FnMut(&Meanwhile)) {
    let kept = |service: &Settings| {
        let client = service.clone().open().unwrap();
        move || drop(client.create_user("ada@example.com", "2025550123", "1").unwrap())
    };
    let new = |service: &Settings| {
        drop(service.clone().open().unwrap().handle(&AppDetails::default()).unwrap());
    };
    let kept = Others::new("kept connections", kept(attacked), kept(alone));
    let new = Others::new("new connections", || new(attacked), || new(alone));
    do_not_notice(&mut [kept, new], attack);
}

/// Makes calls before and during an attack, which is repeated until they are made. Panics if a call fails, or if
/// the 99th percentile meanwhile is more than 1.5 times what it was, each time.
pub(crate) fn do_not_notice(others: &mut [Others<'_>], mut attack: impl FnMut(&Meanwhile)) {
    /// Ends the calls, or the attack, also after a panic.
    struct Finally<F: Fn()>(F);
    impl<F: Fn()> Drop for Finally<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let mut noticed = Vec::new();
    for _ in 0..ATTEMPTS {
        let (mut rounds, before) = (0, measure(others, |rounds| rounds < CALLS));
        let meanwhile = Meanwhile::default();
        let during = std::thread::scope(|scope| {
            let calls = scope.spawn(|| {
                let _ends = Finally(|| meanwhile.rounds.store(CALLS, Ordering::Relaxed));
                measure(others, |rounds| {
                    meanwhile.rounds.store(rounds, Ordering::Relaxed);
                    !meanwhile.is_over.load(Ordering::Relaxed)
                })
            });
            let over = Finally(|| meanwhile.is_over.store(true, Ordering::Relaxed));
            while rounds == 0 || !meanwhile.are_enough() {
                attack(&meanwhile);
                rounds += 1;
            }
            drop(over);
            calls.join().unwrap()
        });
        let compared: Vec<Compared> = others
            .iter()
            .zip(before.into_iter().zip(during))
            .map(|(other, (before, meanwhile))| Compared { what: other.what, before, meanwhile })
            .collect();
        compared.iter().for_each(|compared| println!("{compared}"));
        if !compared.iter().any(Compared::is_noticed) {
            return;
        }
        noticed.extend(
            compared.iter().filter(|compared| compared.is_noticed()).map(Compared::to_string),
        );
    }
    panic!("others notice it:\n{}", noticed.join("\n"));
}

/// Makes all calls in turn, as long as the function says, which gets the number of rounds that were made.
fn measure(others: &mut [Others<'_>], mut goes_on: impl FnMut(usize) -> bool) -> Vec<Times> {
    let mut times: Vec<[Vec<Duration>; 2]> = others.iter().map(|_| Default::default()).collect();
    for rounds in 0.. {
        if !goes_on(rounds) {
            break;
        }
        for (other, times) in others.iter_mut().zip(&mut times) {
            for (call, times) in other.calls.iter_mut().zip(times) {
                let started = Instant::now();
                call();
                times.push(started.elapsed());
            }
        }
        std::thread::sleep(PAUSE);
    }
    let p99 = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() * 99 / 100]
    };
    times
        .into_iter()
        .map(|[attacked, alone]| Times { attacked: p99(attacked), alone: p99(alone) })
        .collect()
}

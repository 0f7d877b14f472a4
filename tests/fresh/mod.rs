//! A new service for a test, and a user of it.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::engine::{Clock, Message};
use seconder::model::UserId;
use seconder::{Service, Settings};
use std::path::Path;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

pub(crate) fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

/// A service, and the messages that it delivers.
pub(crate) fn open(path: &Path) -> (Service, Arc<Mutex<Vec<Message>>>) {
    open_with(Settings::new(&url(path)))
}

/// The same with a clock that the test sets.
pub(crate) fn open_at(path: &Path, clock: &ManualClock) -> (Service, Arc<Mutex<Vec<Message>>>) {
    open_with(Settings::new(&url(path)).clock(clock.clone()))
}

fn open_with(settings: Settings) -> (Service, Arc<Mutex<Vec<Message>>>) {
    let sent: Arc<Mutex<Vec<Message>>> = Arc::default();
    let keep = Arc::clone(&sent);
    let deliver = move |message: &Message| {
        keep.lock().unwrap().push(message.clone());
        Ok(())
    };
    (settings.deliver(deliver).open().unwrap(), sent)
}

/// A clock that stands still until the test sets it.
#[derive(Clone)]
pub(crate) struct ManualClock(Arc<Mutex<u64>>);

impl ManualClock {
    pub(crate) fn at(seconds: u64) -> ManualClock {
        ManualClock(Arc::new(Mutex::new(seconds)))
    }

    pub(crate) fn set(&self, seconds: u64) {
        *self.0.lock().unwrap() = seconds;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_secs(*self.0.lock().unwrap())
    }
}

pub(crate) fn ada(service: &Service) -> UserId {
    service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id
}

/// The same work on 32 threads, which begin together, on two services in turn.
pub(crate) fn at_once<T: Send>(
    services: [&Service; 2],
    work: impl Fn(&Service, usize) -> T + Sync,
) -> Vec<T> {
    let start = Barrier::new(32);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..32)
            .map(|number| {
                let (start, work) = (&start, &work);
                scope.spawn(move || {
                    start.wait();
                    work(services[number % 2], number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

//! A fresh service for a test, and a user of it.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test may end in a panic")]

use seconder::engine::{Clock, Message};
use seconder::model::{Token, UserId};
use seconder::{Service, Settings, Verify};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

/// A service whose messages are kept.
pub(crate) fn open(path: &Path) -> (Service, Arc<Mutex<Vec<Message>>>) {
    open_with(Settings::new(&url(path)))
}

/// The same with a clock of the test's own.
pub(crate) fn open_at(path: &Path, clock: &Hand) -> (Service, Arc<Mutex<Vec<Message>>>) {
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

/// A clock that stands still until it is told to go on.
#[derive(Clone)]
pub(crate) struct Hand(Arc<Mutex<u64>>);

impl Hand {
    pub(crate) fn at(seconds: u64) -> Hand {
        Hand(Arc::new(Mutex::new(seconds)))
    }

    pub(crate) fn set(&self, seconds: u64) {
        *self.0.lock().unwrap() = seconds;
    }
}

impl Clock for Hand {
    fn now(&self) -> Duration {
        Duration::from_secs(*self.0.lock().unwrap())
    }
}

pub(crate) fn ada(service: &Service) -> UserId {
    service.create_user("ada@example.com", "555-010-0123", "1").unwrap().id
}

pub(crate) fn forced(token: Token, user: UserId) -> Verify {
    Verify { force: true, ..Verify::new(token, user) }
}

//! A fresh service for a test, and a user of it.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test may end in a panic")]

use seconder::engine::Message;
use seconder::model::{Token, UserId};
use seconder::{Service, Settings, Verify};
use std::path::Path;
use std::sync::{Arc, Mutex};

pub(crate) fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

/// A service whose messages are kept.
pub(crate) fn open(path: &Path) -> (Service, Arc<Mutex<Vec<Message>>>) {
    let sent: Arc<Mutex<Vec<Message>>> = Arc::default();
    let keep = Arc::clone(&sent);
    let deliver = move |message: &Message| {
        keep.lock().unwrap().push(message.clone());
        Ok(())
    };
    (Settings::new(&url(path)).deliver(deliver).open().unwrap(), sent)
}

pub(crate) fn ada(service: &Service) -> UserId {
    service.create_user("ada@example.com", "555-010-0123", "1").unwrap().id
}

pub(crate) fn forced(token: Token, user: UserId) -> Verify {
    Verify { force: true, ..Verify::new(token, user) }
}

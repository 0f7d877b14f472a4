//! How codes and callbacks leave the engine: through what the host gives, or into a folder.

mod spool;

pub(super) use spool::Spool;

use crate::calls::Channel;
use crate::model::CallbackUrl;
use std::fmt;

/// Carries a message to a phone. It is called within the call that asked for the code, and may
/// call the engine itself.
pub trait Deliver: Send + Sync {
    /// Hands the message over; `Ok` says that it is on its way.
    ///
    /// # Errors
    /// What went wrong, without the code: the caller of [`crate::Service::request_sms`] reads it.
    fn deliver(&self, message: &Message) -> Result<(), String>;
}

/// A message to a phone. `Debug` does not show the code.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The number, in E.164: `+15550100123`.
    pub to: String,
    /// How it travels.
    pub via: Channel,
    /// What the person reads or hears.
    pub text: String,
    /// The code alone.
    pub code: String,
    /// When the code dies, in Unix seconds.
    pub expires_at: u64,
}

impl<F> Deliver for F
where
    F: Fn(&Message) -> Result<(), String> + Send + Sync,
{
    fn deliver(&self, message: &Message) -> Result<(), String> {
        self(message)
    }
}

/// Posts a callback to the application.
pub trait Post: Send + Sync {
    /// Posts it; `Ok` says that the application took it.
    ///
    /// # Errors
    /// What went wrong.
    fn post(&self, callback: &SignedCallback) -> Result<(), String>;
}

/// A callback on its way to the application (interface 6).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignedCallback {
    /// Where it goes.
    pub url: CallbackUrl,
    /// The JSON body.
    pub body: Vec<u8>,
    /// The headers that carry the signature and its nonce, by name.
    pub headers: [(String, String); 2],
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").field("via", &self.via).finish_non_exhaustive()
    }
}

/// Forgets every message, as the sandbox does.
pub(super) fn nowhere(_: &Message) -> Result<(), String> {
    Ok(())
}

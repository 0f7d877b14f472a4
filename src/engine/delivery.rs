//! Delivery of codes and callbacks: by functions of the host application, or to a folder.

mod events;
mod push;
mod spool;

pub use events::Events;
pub use push::{PushHosts, PushMessage, PushOutcome, SendPush};
pub use spool::Spool;

use crate::calls::Channel;
use crate::model::{CallbackMethod, CallbackUrl};
use std::fmt;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;
use zeroize::Zeroize;

/// The route of a function of the application.
pub(super) const HOST: &str = "host";
/// The route of messages that are written to a spool folder.
pub(super) const SPOOL: &str = "spool";

/// Delivers messages to phones. It is called during the call that requests the code or creates the
/// user, or by [`Engine::run_jobs`](crate::engine::Engine::run_jobs), and may call the engine itself.
pub trait Deliver: Send + Sync {
    /// Delivers a message; `Ok` means that it was accepted for delivery.
    ///
    /// # Errors
    /// The reason, without the code: the caller of [`crate::Service::request_sms`] receives it.
    /// [`crate::Service::create_user`] succeeds nevertheless, and says that its message was not
    /// sent.
    fn deliver(&self, message: &Message) -> Result<(), String>;

    /// Delivers a message by one of its [`routes`](Deliver::routes), and returns the outcome. After [`Outcome::Retry`],
    /// [`Outcome::NotAttempted`] and [`Outcome::Ambiguous`], the call that requests the code succeeds, and further
    /// attempts are made by `run_jobs`. Default: [`Deliver::deliver`], whose error becomes [`Outcome::Permanent`].
    fn attempt(&self, message: &Message, _route: &str) -> Outcome {
        match self.deliver(message) {
            Ok(()) => Outcome::Sent(None),
            Err(reason) => Outcome::Permanent(reason),
        }
    }

    /// Returns the names of the routes that a message to this number may take, the preferred one first. If the list is
    /// empty, no message is sent, and the call is rejected. Default: `host`.
    fn routes(&self, _to: &str, _via: Channel) -> Vec<String> {
        vec![HOST.to_owned()]
    }

    /// Returns the names of all routes, so that the messages that wait for one of them are found.
    /// Default: `host`.
    fn all_routes(&self) -> Vec<String> {
        vec![HOST.to_owned()]
    }

    /// Returns the maximum time that an attempt by this route takes. After twice that time, an
    /// attempt that has not ended counts as ended by a crash, and the message is attempted again.
    /// Default: 30 s.
    fn longest_attempt(&self, _route: &str) -> Duration {
        Duration::from_secs(30)
    }

    /// Removes data of messages whose codes have expired. It is called by
    /// [`Engine::maintain`](crate::engine::Engine::maintain). Default: does nothing.
    fn housekeep(&self) {}
}

/// The outcome of an attempt to send something.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It was accepted for delivery, with the id that the provider gave it, if any. Spaces separate the
    /// ids of a message of several parts.
    Sent(Option<String>),
    /// It was not sent. Another attempt may succeed, at the earliest after this time if one is given.
    Retry {
        /// The time that the provider asks to wait.
        after: Option<Duration>,
        /// The error, without the code.
        reason: String,
    },
    /// It was not sent, and no attempt by the same route will succeed. The reason is without the
    /// code.
    Permanent(String),
    /// It was not sent, because the provider refuses the number, as one that does not exist or cannot be reached. It
    /// is as permanent, but the caller's error and not an outage: a call that requests a code is rejected with
    /// [`NUMBER_REFUSED`](crate::codes::NUMBER_REFUSED). The reason is without the code.
    NumberRefused(String),
    /// Nothing was attempted, such as because the messages that the route takes in a second were sent.
    /// It counts as no attempt. Another route is asked at once if there is one; otherwise it waits for
    /// this time, or for a second.
    NotAttempted {
        /// The time for which the route takes nothing.
        after: Option<Duration>,
        /// The reason, without the code.
        reason: String,
    },
    /// It may have been sent, because the connection was lost before a response arrived. The reason
    /// is without the code. Another attempt carries the same [`Message::id`].
    Ambiguous(String),
}

impl Outcome {
    /// Returns the error, or the reason why nothing was attempted; `None` if it was sent.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Outcome::Sent(_) => None,
            Outcome::Permanent(reason)
            | Outcome::NumberRefused(reason)
            | Outcome::Ambiguous(reason)
            | Outcome::Retry { reason, .. }
            | Outcome::NotAttempted { reason, .. } => Some(reason),
        }
    }

    /// Returns the same outcome, with its reason as this function has it.
    pub(super) fn map_reason(self, change: impl FnOnce(String) -> String) -> Outcome {
        match self {
            Outcome::Sent(id) => Outcome::Sent(id),
            Outcome::Retry { after, reason } => Outcome::Retry { after, reason: change(reason) },
            Outcome::NotAttempted { after, reason } => {
                Outcome::NotAttempted { after, reason: change(reason) }
            }
            Outcome::Permanent(reason) => Outcome::Permanent(change(reason)),
            Outcome::NumberRefused(reason) => Outcome::NumberRefused(change(reason)),
            Outcome::Ambiguous(reason) => Outcome::Ambiguous(change(reason)),
        }
    }
}

/// A provider's report on a message that it has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// It is on its way.
    Pending,
    /// It arrived.
    Delivered,
    /// It will not arrive. The provider's reason, such as `UNDELIV`, without the number.
    Failed(String),
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delivery::Pending => f.write_str("pending"),
            Delivery::Delivered => f.write_str("delivered"),
            Delivery::Failed(why) if why.is_empty() => f.write_str("failed"),
            Delivery::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}

/// A message to a phone. `Debug` does not show the code.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Identifies the message. It is the same in each attempt to send it, so that a provider can
    /// recognise one that it has accepted before. 16 hexadecimal digits.
    pub id: String,
    /// The number, in E.164: `+15550100123`.
    pub to: String,
    /// The channel by which it is delivered.
    pub via: Channel,
    /// The text for the user to read or hear.
    pub text: String,
    /// The language of the text, as in BCP 47, with its region if it is known: `en-GB`, `ar`.
    pub language: String,
    /// The code on its own. Empty for the install message to a new user, which has none.
    pub code: String,
    /// The time at which the code expires, in Unix seconds. 0 if there is no code.
    pub expires_at: u64,
    /// The recipient, as the rows of the job and the code have it.
    pub(super) subject: String,
}

impl<F> Deliver for F
where
    F: Fn(&Message) -> Result<(), String> + Send + Sync,
{
    fn deliver(&self, message: &Message) -> Result<(), String> {
        self(message)
    }
}

/// Posts callbacks to the application.
pub trait Post: Send + Sync {
    /// Posts a callback; `Ok` means that the application accepted it.
    ///
    /// # Errors
    /// The reason why it was not posted.
    fn post(&self, callback: &SignedCallback) -> Result<(), String>;

    /// Posts a callback, and returns the outcome. After [`Outcome::Permanent`], it is not posted
    /// again. Default: [`Post::post`], whose error becomes [`Outcome::Retry`].
    fn attempt(&self, callback: &SignedCallback) -> Outcome {
        match self.post(callback) {
            Ok(()) => Outcome::Sent(None),
            Err(reason) => Outcome::Retry { after: None, reason },
        }
    }

    /// Returns the maximum time that an attempt takes: see [`Deliver::longest_attempt`]. Default:
    /// 30 s.
    fn longest_attempt(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// Closes connections that are kept for further callbacks and were not used for long. It is
    /// called by [`Engine::maintain`](crate::engine::Engine::maintain) and
    /// [`Engine::run_jobs`](crate::engine::Engine::run_jobs). Default: does nothing.
    fn housekeep(&self) {}
}

/// A signed callback to send to the application (interface 6).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignedCallback {
    /// The application's callback URL, without the query.
    pub url: CallbackUrl,
    /// The HTTP method by which the application receives callbacks.
    pub method: CallbackMethod,
    /// The query to send by GET, without the `?`. Empty for a POST.
    pub query: String,
    /// The JSON body to send by POST. Empty for a GET.
    pub body: Vec<u8>,
    /// The names and values of the headers: the signature and its nonce, which are new in each attempt,
    /// and `Seconder-Delivery` with an id that is the same in all attempts.
    pub headers: Vec<(String, String)>,
    /// The authorities that the application trusts for the URL, as a PEM file, instead of the
    /// system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// True if the URL may lead to addresses that are not of the public Internet.
    pub(crate) private: bool,
}

#[cfg(feature = "https")]
impl SignedCallback {
    /// Returns the URL to request: the callback URL, and the query of a GET.
    pub(crate) fn request_url(&self) -> String {
        match self.method {
            CallbackMethod::Post => self.url.to_string(),
            CallbackMethod::Get => format!("{}?{}", self.url, self.query),
        }
    }
}

/// A message that is wiped from memory once it was delivered, or when that panics. `Message` itself has no
/// destructor, because programs take its fields.
#[derive(Debug)]
pub struct WipedMessage(pub(super) Message);

impl Deref for WipedMessage {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.0
    }
}

impl Drop for WipedMessage {
    fn drop(&mut self) {
        self.0.text.zeroize();
        self.0.code.zeroize();
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").field("via", &self.via).finish_non_exhaustive()
    }
}

/// Discards every message, for the sandbox.
pub(super) fn nowhere(_: &Message) -> Result<(), String> {
    Ok(())
}

/// Delivers nothing, because a database on a server has no folder next to it.
#[cfg(feature = "postgres")]
pub(super) fn unset(_: &Message) -> Result<(), String> {
    Err("the setting deliver is missing: with postgres:, there is no spool folder by default"
        .into())
}

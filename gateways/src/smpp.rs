//! A gateway by SMPP 3.4, the protocol of operators and of aggregators.
//!
//! One session is kept for all messages. It is bound again, after a pause that grows, whenever it was lost.

mod alphabet;
mod link;
mod message;
mod pdu;
mod receipts;
mod session;
mod settings;
mod status;

use super::reason::redacted;
use super::receipt::{Receipt, TakeReceipt};
use super::{Field, Gateway, Outgoing, Problem};
use link::{Link, Reply};
use seconder::engine::Outcome;
use seconder::remote::Dialer;
use serde_json::{Map, Value};
use settings::Config;
use status::Meaning;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The pause after which a message is repeated to an SMSC that accepts no more for now.
const THROTTLED: Duration = Duration::from_secs(1);
/// The pause before the next part of a text is repeated to an SMSC that has accepted its beginning.
const NEXT_PART: Duration = Duration::from_millis(200);

/// Sends text messages to an SMSC.
pub struct Smpp {
    config: Arc<Config>,
    receiver: OnceLock<TakeReceipt>,
    link: Mutex<Option<Arc<Link>>>,
}

impl Smpp {
    /// The settings that it has.
    pub const FIELDS: &'static [Field] = settings::FIELDS;

    /// Opens a gateway with these settings. The dialer connects when it is started, or with the
    /// first message.
    ///
    /// # Errors
    /// All errors in the settings.
    pub fn from_settings(
        settings: &Map<String, Value>,
        dialer: &Dialer,
    ) -> Result<Smpp, Vec<Problem>> {
        let config = Arc::new(Config::read(settings, dialer)?);
        Ok(Smpp { config, receiver: OnceLock::new(), link: Mutex::default() })
    }

    fn link(&self) -> io::Result<Arc<Link>> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = &*link {
            return Ok(Arc::clone(link));
        }
        let started = Link::start(Arc::clone(&self.config), self.receiver.get().cloned())?;
        Ok(Arc::clone(link.insert(Arc::new(started))))
    }

    fn attempt(&self, message: &Outgoing<'_>) -> Outcome {
        let deadline = Instant::now() + self.config.timeout;
        let bodies = match message::bodies(&self.config, message) {
            Ok(bodies) => bodies,
            Err(wrong) => return Outcome::Permanent(wrong),
        };
        let link = match self.link() {
            Ok(link) => link,
            Err(error) => {
                let reason = format!("no thread could be started: {error}");
                return Outcome::Retry { after: None, reason };
            }
        };
        if let Some((pause, reason)) = link.unbound_beyond(deadline) {
            return Outcome::Retry { after: Some(pause), reason };
        }
        let total = bodies.len();
        let mut ids = Vec::new();
        for (accepted, body) in bodies.into_iter().enumerate() {
            let replied = match accepted {
                0 => first(link.submit(body, deadline)),
                _ => next(&link, &body, deadline, (accepted, total)),
            };
            match replied {
                // Without an id, nothing can be reported of this part.
                Ok(id) if id.is_empty() || id.contains(' ') => {}
                Ok(id) => ids.push(id),
                Err(outcome) => return outcome,
            }
        }
        Outcome::Sent((!ids.is_empty()).then(|| ids.join(" ")))
    }
}

/// Returns the outcome of the message for a reply to its first part, before which nothing was accepted.
fn first(reply: Reply) -> Result<String, Outcome> {
    Err(match reply {
        Reply::Accepted(id) => return Ok(id),
        Reply::NotWritten(reason) => Outcome::Retry { after: None, reason },
        Reply::Lost(reason) => Outcome::Ambiguous(reason),
        Reply::Refused(status) => {
            let reason = format!("the SMSC has refused the message: {}", status::name(status));
            match status::meaning(status) {
                Meaning::Throttled => Outcome::Retry { after: Some(THROTTLED), reason },
                Meaning::Temporary => Outcome::Retry { after: None, reason },
                Meaning::NumberRefused => Outcome::NumberRefused(reason),
                Meaning::Permanent => Outcome::Permanent(reason),
            }
        }
    })
}

/// Submits a further part. To begin again with the first one could show the text twice, so it is
/// repeated until the deadline.
fn next(
    link: &Link,
    body: &[u8],
    deadline: Instant,
    (accepted, total): (usize, usize),
) -> Result<String, Outcome> {
    loop {
        let wrong = match first(link.submit(body.to_vec(), deadline)) {
            Err(Outcome::Retry { reason, .. }) => reason,
            replied => return replied,
        };
        if Instant::now() + NEXT_PART >= deadline {
            let so_far = format!("{accepted} of {total} parts were accepted");
            return Err(Outcome::Ambiguous(format!("{so_far}: {wrong}")));
        }
        sleep(NEXT_PART);
    }
}

/// Reads the receipt that an SMSC delivers by the body of this command; `None` if it is no receipt. For the fuzzer.
#[doc(hidden)]
pub fn receipt_in(command: u32, body: &[u8]) -> Option<Receipt> {
    receipts::read(&pdu::Delivered::read(command, body).ok()?, receipts::Ids::Same)
}

impl Gateway for Smpp {
    fn address(&self) -> Option<(String, u16, bool)> {
        Some((self.config.host.clone(), self.config.port, self.config.tls.is_some()))
    }

    fn send(&self, message: &Outgoing<'_>) -> Outcome {
        let password = self.config.password.as_ref().map_or("", |password| password.expose());
        redacted(self.attempt(message), message, &[password])
    }

    fn when_unmatched(&self) -> &'static str {
        "set receipt_ids to decimal or hexadecimal if its receipts write the ids so and its responses do \
         not, or to same if both write them alike; otherwise, see whether another program sends by the \
         same account"
    }

    /// Sets the receiver, which has an effect only before the gateway connects.
    fn set_receiver(&self, take: TakeReceipt) {
        // The receiver that was set first stays.
        let _ = self.receiver.set(take);
    }

    fn start(&self) -> io::Result<()> {
        match self.config.receipts {
            true => self.link().map(drop),
            false => Ok(()),
        }
    }

    fn stop(&self) {
        // Not while the lock is held, because this waits for the session to end.
        drop(self.link.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl fmt::Debug for Smpp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Smpp").field("config", &self.config).finish_non_exhaustive()
    }
}

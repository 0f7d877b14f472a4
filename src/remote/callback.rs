//! Sends callbacks (interface 6).

#[cfg(test)]
mod tests;

use super::deadline::Deadline;
use super::dialer::Dialer;
use super::http1::Head;
use super::outside::{Outside, To};
use super::raw_request::RawRequest;
use super::reach::Reach;
use super::reply;
use super::trust::Trust;
use crate::engine::{Outcome, Post, SignedCallback};
use crate::model::{CallbackMethod, CallbackUrl};
use crate::{Error, Result, Stage};
use std::path::Path;
use std::time::Duration;

/// The time within which an application must respond.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The time within which the rest of a response must arrive after its status. The connection is closed if it takes
/// longer, and the next callback needs a new one.
const REST: Duration = Duration::from_secs(1);
/// The status by which an application rejects the callback permanently.
const GONE: u16 = 410;
/// The statuses that may come with a `Retry-After`.
const WAIT: [u16; 2] = [429, 503];

/// Sends callbacks to `https:` URLs, and to `http:` URLs of this machine. Connections are kept for the
/// next callback to the same application, which recognises by its id one that arrives twice.
pub(crate) struct Callbacks(Outside);

impl Callbacks {
    pub(crate) fn new(dialer: Dialer) -> Callbacks {
        Callbacks(Outside::new(dialer))
    }

    /// Sends a callback, and returns the head of the response.
    fn send(&self, callback: &SignedCallback, timeout: Duration) -> Result<Head> {
        let deadline = Deadline::after(timeout)?;
        let to = To {
            https: callback.url.is_encrypted(),
            reach: reach(&callback.url, callback.private),
            ca_file: callback.ca_file.as_deref(),
            ..To::url(&callback.request_url())?
        };
        let request = request(callback, &to)?;
        let responded = self.0.send(&to, &request, deadline, REST).map_err(renamed)?;
        Ok(responded.head)
    }
}

/// Returns the [`Post`] that an engine uses unless [`Settings::post`](crate::Settings::post) is set, for a function
/// that wraps it. [`Settings::dialer`](crate::Settings::dialer) makes its argument.
pub fn default_post(dialer: Dialer) -> impl Post {
    Callbacks::new(dialer)
}

impl Post for Callbacks {
    fn post(&self, callback: &SignedCallback) -> Result<(), String> {
        let outcome = self.attempt(callback);
        outcome.reason().map_or(Ok(()), |reason| Err(reason.to_owned()))
    }

    fn attempt(&self, callback: &SignedCallback) -> Outcome {
        outcome(self.send(callback, TIMEOUT))
    }

    fn housekeep(&self) {
        self.0.close_old();
    }
}

fn outcome(responded: Result<Head>) -> Outcome {
    let head = match responded {
        Ok(head) => head,
        Err(error) => {
            // Advice about a service would be wrong about a receiver.
            let reason = match &error {
                Error::Unavailable { message, .. } => message.clone(),
                other => other.to_string(),
            };
            return match error {
                Error::InvalidResponse { .. }
                | Error::Unavailable { stage: Stage::Response, .. }
                | Error::Cancelled { sent: true } => Outcome::Ambiguous(reason),
                _ => Outcome::Retry { after: None, reason },
            };
        }
    };
    let status = head.status;
    let reason = match head.is_redirect() {
        true => format!("it redirects (status {status}), and redirects are not followed"),
        false => format!("the callback URL did not accept the callback (status {status})"),
    };
    match status {
        200..=299 => Outcome::Sent(None),
        GONE => Outcome::Permanent(reason),
        _ => {
            let after = WAIT.contains(&status).then(|| reply::wait_of(&head.headers)).flatten();
            Outcome::Retry { after, reason }
        }
    }
}

fn request(callback: &SignedCallback, to: &To<'_>) -> Result<RawRequest> {
    let mut request = RawRequest::new(callback.method.verb(), to.host.as_str(), &to.target)?;
    request = request.header("accept", "*/*")?;
    for (name, value) in &callback.headers {
        request = request.header(name, value)?;
    }
    request.end(match callback.method {
        CallbackMethod::Post => Some(("application/json", &callback.body)),
        CallbackMethod::Get => None,
    })
}

/// Returns the addresses to which a callback may go. A URL that contains the address of this machine means this
/// machine; a name that resolves to it may be an attack.
fn reach(url: &CallbackUrl, private: bool) -> Reach {
    match (url.is_this_machine(), private) {
        (true, _) => Reach::ThisMachine,
        (false, true) => Reach::Anywhere,
        (false, false) => Reach::Public,
    }
}

/// Renames the settings in an error, as they are called for callbacks.
fn renamed(error: Error) -> Error {
    let Error::Unavailable { stage, message, .. } = error else { return error };
    Error::unavailable(
        stage,
        message.replace("the setting ca_file", "the setting callback_ca_file"),
    )
}

/// Rejects a file without authorities before it is stored.
pub(crate) fn check_authorities(parameter: &'static str, file: &Path) -> Result<()> {
    Trust::authorities(file).map(drop).map_err(|error| error.of_parameter(parameter))
}

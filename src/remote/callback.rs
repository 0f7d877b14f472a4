//! Sends callbacks (interface 6).

mod receivers;
#[cfg(test)]
mod tests;

use super::connect::Connection;
use super::deadline::Deadline;
use super::error_mapping::Fault;
use super::http1::Head;
use super::lookup::Lookup;
use super::process::PerProcess;
use super::raw_request::{RawRequest, unsendable};
use super::reply;
use super::trust::Trust;
use crate::engine::{Outcome, Post, SignedCallback};
use crate::model::CallbackMethod;
use crate::{Error, Result, Stage};
use http::Uri;
use http::uri::{Authority, PathAndQuery};
use receivers::Receivers;
use std::path::Path;
use std::time::Duration;

/// How long an application may take to respond.
const TIMEOUT: Duration = Duration::from_secs(15);
/// How long the rest of a response may take, of which the status has arrived. The connection is closed
/// if it takes longer, which costs another one with the next callback.
const REST: Duration = Duration::from_secs(1);
/// The status by which an application says that it wants the callback no more.
const GONE: u16 = 410;
/// The statuses that may come with a `Retry-After`.
const WAIT: [u16; 2] = [429, 503];

/// Sends callbacks to `https:` URLs, and to `http:` URLs of this machine. Connections are kept for the
/// next callback to the same application.
pub(crate) struct Callbacks {
    receivers: PerProcess<Receivers>,
    lookup: Lookup,
}

impl Callbacks {
    pub(crate) fn new() -> Result<Callbacks> {
        Ok(Callbacks::resolving_by(Lookup::new(&[])?))
    }

    fn resolving_by(lookup: Lookup) -> Callbacks {
        Callbacks { receivers: PerProcess::new(Receivers::default()), lookup }
    }

    fn receivers(&self) -> &Receivers {
        self.receivers.get(Receivers::default)
    }

    /// Sends a callback, and returns the head of the response.
    fn send(&self, callback: &SignedCallback, timeout: Duration) -> Result<Head> {
        let deadline = Deadline::after(timeout)?;
        let url = callback.request_url();
        let uri: Uri = url.parse().map_err(|_| unsendable())?;
        let host = uri.authority().cloned().ok_or_else(unsendable)?;
        let request = request(callback, &host, &uri)?;
        self.receivers().close_old();
        let connections = self.receivers().find(callback, &host, &self.lookup)?;
        let process = connections.process();
        let failed = |fault: Fault| renamed(fault.at(Stage::Response, host.as_str()));
        let fresh = || connections.connect(process, deadline).map_err(renamed);
        let (mut connection, is_kept) = match connections.kept(process, deadline) {
            Some(kept) => (kept, true),
            None => (fresh()?, false),
        };
        let mut head = exchange(&mut connection, &request);
        // Applications close connections that are idle for too long, which may cross the request. If the
        // callback has arrived nevertheless, the application recognises it by its id.
        if is_kept && head.as_ref().is_err_and(Fault::is_closed) {
            connection = fresh()?;
            head = exchange(&mut connection, &request);
        }
        let head = head.map_err(failed)?;
        if let Some(connection) = finished(connection, &head, deadline) {
            connections.keep(process, connection);
        }
        Ok(head)
    }
}

/// What sends the callbacks of an engine unless [`Settings::post`](crate::Settings::post) is set, for a
/// function that does more than that.
///
/// # Errors
/// [`Error::Internal`] if the settings of the system's name servers cannot be read.
pub fn default_post() -> Result<impl Post> {
    Callbacks::new()
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
        self.receivers().close_old();
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

fn request(callback: &SignedCallback, host: &Authority, uri: &Uri) -> Result<RawRequest> {
    let target = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    // A URL may have no path, and then a query follows the host.
    let target = match target.starts_with('?') {
        true => format!("/{target}"),
        false => target.to_owned(),
    };
    let mut request = RawRequest::new(callback.method.verb(), host.as_str(), &target)?;
    request = request.header("accept", "*/*")?;
    for (name, value) in &callback.headers {
        request = request.header(name, value)?;
    }
    request.end(match callback.method {
        CallbackMethod::Post => Some(("application/json", &callback.body)),
        CallbackMethod::Get => None,
    })
}

fn exchange(connection: &mut Connection, request: &RawRequest) -> Result<Head, Fault> {
    connection.send(request.bytes())?;
    connection.head()
}

/// Reads the rest of a response, which does not matter. Returns the connection if it can carry another
/// callback.
fn finished(mut connection: Connection, head: &Head, deadline: Deadline) -> Option<Connection> {
    if head.is_redirect() || !head.stays_open() {
        return None;
    }
    connection.stream().socket().set_deadline(deadline.sooner(REST));
    connection.body(head).ok()?;
    Some(connection)
}

/// The same error, with what the settings are called for callbacks.
fn renamed(error: Error) -> Error {
    let Error::Unavailable { stage, message, .. } = error else { return error };
    let message = message
        .replace(", or its key in the setting pin", "")
        .replace(", or name its key in the setting pin", "")
        .replace(", or another one than that of the setting client_certificate", "")
        .replace("the setting ca_file", "the setting callback_ca_file");
    Error::unavailable(stage, message)
}

/// Rejects a file without authorities before it is stored.
pub(crate) fn check_authorities(parameter: &'static str, file: &Path) -> Result<()> {
    Trust::authorities(file).map(drop).map_err(|error| error.of_parameter(parameter))
}

//! A gateway by SMTP: e-mail, and the SMS that some providers make of it.

mod connection;
mod email;
mod settings;

use super::reason::redacted;
use super::{Field, Gateway, Outgoing, Problem};
use connection::{Connection, Fault};
use email::Email;
use seconder::engine::Outcome;
use seconder::remote::Dialer;
use serde_json::{Map, Value};
use settings::{Config, Security};
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time after which an idle connection is no longer used, because servers close such connections.
const LONGEST_IDLE: Duration = Duration::from_secs(20);

/// The time that it may take to end a connection.
const GOODBYE: Duration = Duration::from_secs(1);

/// Sends messages by e-mail.
pub struct Smtp {
    config: Config,
    pool: Mutex<Pool>,
    changed: Condvar,
}

/// The connections.
#[derive(Default)]
struct Pool {
    /// The number of attempts in progress.
    busy: usize,
    idle: Vec<Connection>,
}

impl Smtp {
    /// The settings that it has.
    pub const FIELDS: &'static [Field] = settings::FIELDS;

    /// Opens a gateway with these settings. The dialer connects with the first message.
    ///
    /// # Errors
    /// All errors in the settings.
    pub fn from_settings(
        settings: &Map<String, Value>,
        dialer: &Dialer,
    ) -> Result<Smtp, Vec<Problem>> {
        let config = Config::read(settings, dialer)?;
        Ok(Smtp { config, pool: Mutex::default(), changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attempt(&self, message: &Outgoing<'_>) -> Outcome {
        let deadline = Instant::now() + self.config.timeout;
        let email = match Email::new(&self.config, message) {
            Ok(email) => email,
            Err(wrong) => return Outcome::Permanent(wrong),
        };
        let Some(_place) = self.place(deadline) else {
            let reason = "all connections to the mail server are in use".to_owned();
            return Outcome::Retry { after: None, reason };
        };
        let mut connection = match self.begun(&email, deadline) {
            Ok(connection) => connection,
            Err(outcome) => return outcome,
        };
        match connection.transfer(&email) {
            Ok(response) => {
                self.lock().idle.push(connection);
                Outcome::Sent(queue_id(&response))
            }
            Err(Fault::Refused(status, text)) => {
                connection.quit();
                refused(status, &text)
            }
            Err(Fault::Broken(wrong)) => Outcome::Ambiguous(wrong),
        }
    }

    /// Returns a connection that waits for the content. One that was idle may have been closed meanwhile, so there is a
    /// second attempt with another one.
    fn begun(&self, email: &Email, deadline: Instant) -> Result<Connection, Outcome> {
        if let Some(mut connection) = self.idle() {
            connection.set_deadline(deadline);
            match connection.begin(email) {
                Ok(()) => return Ok(connection),
                // The server ends the connection.
                Err(Fault::Broken(_) | Fault::Refused(421, _)) => {}
                Err(Fault::Refused(status, text)) => {
                    connection.quit();
                    return Err(refused(status, &text));
                }
            }
        }
        let retry = |reason: String| Outcome::Retry { after: None, reason };
        // A refusal at this point concerns every message, and not this one alone.
        let mut connection =
            Connection::open(&self.config, deadline).map_err(|fault| match fault {
                Fault::Refused(status, text) => {
                    retry(format!("the mail server lets nobody in: {status} {text}"))
                }
                Fault::Broken(wrong) => retry(wrong),
            })?;
        match connection.begin(email) {
            Ok(()) => Ok(connection),
            Err(Fault::Broken(wrong)) => Err(retry(wrong)),
            Err(Fault::Refused(status, text)) => {
                connection.quit();
                Err(refused(status, &text))
            }
        }
    }

    fn idle(&self) -> Option<Connection> {
        let mut pool = self.lock();
        pool.idle.retain(|connection| connection.used.elapsed() < LONGEST_IDLE);
        pool.idle.pop()
    }

    /// Waits until fewer attempts are made than there may be connections.
    fn place(&self, deadline: Instant) -> Option<Place<'_>> {
        let mut pool = self.lock();
        while pool.busy >= self.config.connections {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.changed.wait_timeout(pool, left);
            pool = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        pool.busy += 1;
        Some(Place(self))
    }
}

/// The place of an attempt, until it is dropped.
struct Place<'a>(&'a Smtp);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.changed.notify_one();
    }
}

/// The enhanced statuses (RFC 3463) of a recipient that does not exist, was moved, or takes no mail.
const OF_NUMBER: [&str; 5] = ["5.1.1", "5.1.3", "5.1.6", "5.1.10", "5.2.1"];

fn refused(status: u16, text: &str) -> Outcome {
    let reason = format!("the mail server has refused the message: {status} {text}");
    let is_of_number = OF_NUMBER.contains(&text.split(' ').next().unwrap_or_default());
    match status {
        500.. if is_of_number => Outcome::NumberRefused(reason),
        500.. => Outcome::Permanent(reason),
        _ => Outcome::Retry { after: None, reason },
    }
}

/// Returns the id in `2.0.0 Ok: queued as 4Q2w3r4t5y`, which servers write in several ways.
fn queue_id(response: &str) -> Option<String> {
    const LONGEST: usize = 64;
    let (_, rest) = response.split_once("queued as ")?;
    let id: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    (!id.is_empty() && id.len() <= LONGEST).then_some(id)
}

impl Gateway for Smtp {
    fn address(&self) -> Option<(String, u16, bool)> {
        Some((
            self.config.host.clone(),
            self.config.port,
            !matches!(self.config.security, Security::None),
        ))
    }

    fn send(&self, message: &Outgoing<'_>) -> Outcome {
        let login = self.config.login.as_ref();
        let password = login.map_or("", |(_, password)| password.expose());
        redacted(self.attempt(message), message, &[password])
    }

    fn stop(&self) {
        let idle = std::mem::take(&mut self.lock().idle);
        for mut connection in idle {
            connection.set_deadline(Instant::now() + GOODBYE);
            connection.quit();
        }
    }
}

impl fmt::Debug for Smtp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Smtp").field("config", &self.config).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_the_queue_is_the_id_of_the_message() {
        for (response, id) in [
            ("2.0.0 Ok: queued as 4Q2w3r4t5y", Some("4Q2w3r4t5y")),
            ("2.0.0 Ok: 12 bytes queued as 4Q2w; thanks", Some("4Q2w")),
            ("OK", None),
            ("queued as ;", None),
        ] {
            assert_eq!(queue_id(response).as_deref(), id, "{response}");
        }
    }
}

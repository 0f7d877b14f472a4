//! Verifies that a callback was sent by the service to this application, that it is fresh, and that
//! it was not received before.

use super::parameters::Parameters;
use super::replay::{Replay, ReplayEntry};
use super::{Event, Received, bare, invalid_callback, signature_of};
use crate::model::ApiKey;
use crate::wire::Names;
use crate::{Error, Result};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use subtle::{Choice, ConstantTimeEq};

/// Verifies callbacks. Create one, keep it, and share it between threads.
///
/// Without [`fresh`](Verifier::fresh) and [`replay`](Verifier::replay), a recorded callback remains
/// valid permanently: store the `uuid` of each request that was acted upon.
#[must_use = "a verifier does nothing before verify()"]
#[derive(Clone)]
pub struct Verifier {
    api_key: ApiKey,
    urls: Vec<String>,
    names: Arc<Names>,
    fresh: Option<Duration>,
    replay: Option<Arc<dyn Replay>>,
}

impl Verifier {
    /// Creates a verifier for callbacks signed with the application's API key.
    pub fn new(api_key: ApiKey) -> Verifier {
        let names = Arc::default();
        Verifier { api_key, urls: Vec::new(), names, fresh: None, replay: None }
    }

    /// Accepts callbacks sent to this URL, as configured with the service. Its query is ignored,
    /// because the URL is signed without it. Call this again for each further URL of the
    /// application, for example while it is moved to another one.
    ///
    /// A [`Received::url`] that is not empty must then be one of these URLs.
    pub fn url(mut self, url: impl Into<String>) -> Verifier {
        self.urls.push(url.into());
        self
    }

    /// The names that the service uses for the fields. Default: the names in the interface
    /// document.
    pub fn names(mut self, names: Names) -> Verifier {
        self.names = Arc::new(names);
        self
    }

    /// Rejects callbacks whose nonce is not a time within `window` before or after now. A nonce is
    /// a time if it is a Unix time in seconds, optionally followed by a dot and anything else:
    /// `1512923419`, `1512923419.25`. Any other nonce is rejected, so do not use this with a
    /// service whose nonces are not times.
    ///
    /// A few minutes allow for differing clocks and slow delivery.
    pub fn fresh(mut self, window: Duration) -> Verifier {
        self.fresh = Some(window);
        self
    }

    /// Rejects callbacks that were received before, according to `memory`.
    ///
    /// A service that retries signs the callback again, so the retry is accepted: two callbacks may
    /// still report the same response.
    pub fn replay(mut self, memory: impl Replay + 'static) -> Verifier {
        self.replay = Some(Arc::new(memory));
        self
    }

    /// Verifies a callback and parses it. `now` is the time in Unix seconds; it is used only with
    /// [`fresh`](Verifier::fresh) or [`replay`](Verifier::replay).
    ///
    /// # Errors
    /// [`Error::InvalidCallback`] with the reason; [`Error::InvalidArgument`] if the key or a URL
    /// is invalid; and any error of the memory of [`replay`](Verifier::replay).
    pub fn verify(&self, received: &Received<'_>, now: u64) -> Result<Event> {
        let verified = self.verified(received)?;
        let until =
            self.fresh.map(|window| fresh_until(received.nonce, window, now)).transpose()?;
        let event = Event::read(verified, &self.names)?;
        // This comes last, so that only callbacks that pass every other check are remembered.
        let seen = ReplayEntry { key: received.signature, now, until };
        match &self.replay {
            Some(memory) if !memory.first_time(&seen)? => {
                Err(invalid_callback("it was received before"))
            }
            _ => Ok(event),
        }
    }

    /// Verifies only the signature, not the meaning of the parameters or the age of the callback,
    /// and returns the parameters that the signature covers.
    ///
    /// # Errors
    /// [`Error::InvalidCallback`] with the reason; [`Error::InvalidArgument`] if the key or a URL
    /// is invalid.
    pub fn parameters(&self, received: &Received<'_>) -> Result<Map<String, Value>> {
        self.verified(received).map(Parameters::all)
    }

    fn verified<'a>(&self, received: &Received<'a>) -> Result<Parameters<'a>> {
        let Received { method, query, body, signature, nonce, .. } = *received;
        let urls = self.urls(received.url)?;
        if signature.is_empty() || nonce.is_empty() {
            return Err(invalid_callback("the signature or the nonce is missing"));
        }
        if nonce.contains('|') {
            return Err(invalid_callback("its nonce contains |"));
        }
        // Every URL is compared, in constant time, so that the time taken does not reveal a match.
        let matches = |canonical: &str| {
            let each = urls.iter().map(|url| {
                let wanted = signature_of(&self.api_key, nonce, method, url, canonical);
                wanted.as_bytes().ct_eq(signature.as_bytes())
            });
            bool::from(each.fold(Choice::from(0), |any, equal| any | equal))
        };
        match method {
            "GET" => Parameters::of_form(query, matches),
            "POST" if is_json(body) => Parameters::of_json(body, matches),
            "POST" => {
                let text = std::str::from_utf8(body)
                    .map_err(|_| invalid_callback("the body is not UTF-8"))?;
                Parameters::of_form(text, matches)
            }
            _ => Err(invalid_callback("the method is neither GET nor POST")),
        }
    }

    /// Returns the URLs that the callback may have been sent to.
    fn urls<'a>(&'a self, received: &'a str) -> Result<Vec<&'a str>> {
        let mut urls = self.urls.iter().map(|url| bare(url)).collect::<Result<Vec<_>>>()?;
        match received {
            "" if urls.is_empty() => {
                Err(Error::invalid_argument("url", "must be the configured callback URL"))
            }
            "" => Ok(urls),
            one => {
                let one = bare(one)?;
                if !urls.is_empty() && !urls.contains(&one) {
                    return Err(invalid_callback("it was not sent to a configured URL"));
                }
                urls.clear();
                urls.push(one);
                Ok(urls)
            }
        }
    }
}

/// Returns the last second at which a callback with this nonce is fresh, or an error if it is not.
fn fresh_until(nonce: &str, window: Duration, now: u64) -> Result<u64> {
    let second = nonce.split('.').next().unwrap_or_default();
    let digits = !second.is_empty() && second.bytes().all(|byte| byte.is_ascii_digit());
    let Some(sent) = second.parse::<u64>().ok().filter(|_| digits) else {
        return Err(invalid_callback("its nonce is not a time, so its age is unknown"));
    };
    match sent.abs_diff(now) <= window.as_secs() {
        true => Ok(sent.saturating_add(window.as_secs())),
        false if sent < now => Err(invalid_callback(format!("it is {} s old", now - sent))),
        false => Err(invalid_callback("it is from the future: check this machine's clock")),
    }
}

fn is_json(body: &[u8]) -> bool {
    body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verifier { urls, fresh, replay, .. } = self;
        let mut shown = f.debug_struct("Verifier");
        shown.field("urls", urls).field("fresh", fresh).field("replay", &replay.is_some());
        shown.finish_non_exhaustive()
    }
}

//! Whether a callback is from the service, meant for this application, fresh, and here for the
//! first time.

use super::parameters::Parameters;
use super::replay::{Replay, ReplayEntry};
use super::{Event, Received, bare, invalid_callback, signature_of};
use crate::model::Secret;
use crate::wire::Names;
use crate::{Error, Result};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use subtle::{Choice, ConstantTimeEq};

/// Checks callbacks. Make one, keep it, and share it between threads.
///
/// Without [`fresh`](Verifier::fresh) and [`replay`](Verifier::replay), a callback that somebody
/// recorded holds for ever: keep the `uuid` of what was acted upon.
#[must_use = "a verifier does nothing before verify()"]
#[derive(Clone)]
pub struct Verifier {
    api_key: Secret,
    urls: Vec<String>,
    names: Arc<Names>,
    fresh: Option<Duration>,
    replay: Option<Arc<dyn Replay>>,
}

impl Verifier {
    /// A verifier for callbacks that are signed with the application's API key.
    pub fn new(api_key: Secret) -> Verifier {
        let names = Arc::default();
        Verifier { api_key, urls: Vec::new(), names, fresh: None, replay: None }
    }

    /// Accepts callbacks that were sent to this URL, as it is configured with the service; its
    /// parameters are left out, as they are not part of what is signed. Can be given again where
    /// the application has more URLs than one, such as during a move.
    ///
    /// A [`Received::url`] that is not empty must then be one of them.
    pub fn url(mut self, url: impl Into<String>) -> Verifier {
        self.urls.push(url.into());
        self
    }

    /// What the service calls the fields. Default: as the interface document does.
    pub fn names(mut self, names: Names) -> Verifier {
        self.names = Arc::new(names);
        self
    }

    /// Refuses callbacks whose nonce is not a time within `window` of now, before or after. A nonce
    /// is a time when it begins with a Unix second and ends there or at a dot: `1512923419`,
    /// `1512923419.25`. One that is no time cannot be fresh, so leave this off for a service whose
    /// nonces are not.
    ///
    /// A few minutes allow for clocks that differ and for a slow way.
    pub fn fresh(mut self, window: Duration) -> Verifier {
        self.fresh = Some(window);
        self
    }

    /// Refuses callbacks that were received before, as far as `memory` remembers.
    ///
    /// A service that tries again signs anew, so its new try passes: two callbacks can still tell
    /// of one answer.
    pub fn replay(mut self, memory: impl Replay + 'static) -> Verifier {
        self.replay = Some(Arc::new(memory));
        self
    }

    /// Checks a callback and reads it. `now` is the time in Unix seconds; it matters only where
    /// [`fresh`](Verifier::fresh) or [`replay`](Verifier::replay) was asked for.
    ///
    /// # Errors
    /// [`Error::InvalidCallback`] with the reason; [`Error::InvalidArgument`] when the key or a URL cannot be right;
    /// and whatever the memory of [`replay`](Verifier::replay) fails with.
    pub fn verify(&self, received: &Received<'_>, now: u64) -> Result<Event> {
        let held = self.held(received)?;
        let until =
            self.fresh.map(|window| fresh_until(received.nonce, window, now)).transpose()?;
        let event = Event::read(held, &self.names)?;
        // The memory comes last, so that it holds nothing but callbacks that are believed.
        let seen = ReplayEntry { key: received.signature, now, until };
        match &self.replay {
            Some(memory) if !memory.first_time(&seen)? => {
                Err(invalid_callback("it was received before"))
            }
            _ => Ok(event),
        }
    }

    /// Checks the signature alone, whatever the parameters mean and however old they are, and gives
    /// those that it covers.
    ///
    /// # Errors
    /// [`Error::InvalidCallback`] with the reason; [`Error::InvalidArgument`] when the key or a URL cannot be right.
    pub fn parameters(&self, received: &Received<'_>) -> Result<Map<String, Value>> {
        self.held(received).map(Parameters::all)
    }

    fn held<'a>(&self, received: &Received<'a>) -> Result<Parameters<'a>> {
        let Received { method, query, body, signature, nonce, .. } = *received;
        if self.api_key.expose().is_empty() {
            return Err(Error::invalid_argument(
                "api_key",
                "must not be empty: every signature would hold",
            ));
        }
        let urls = self.urls(received.url)?;
        if signature.is_empty() || nonce.is_empty() {
            return Err(invalid_callback("it has no signature, or no nonce"));
        }
        if nonce.contains('|') {
            return Err(invalid_callback("its nonce has a character that no nonce has"));
        }
        let holds = |canonical: &str| {
            let each = urls.iter().map(|url| {
                let wanted = signature_of(&self.api_key, nonce, method, url, canonical);
                wanted.as_bytes().ct_eq(signature.as_bytes())
            });
            bool::from(each.fold(Choice::from(0), |any, held| any | held))
        };
        match method {
            "GET" => Parameters::of_form(query, holds),
            "POST" if is_json(body) => Parameters::of_json(body, holds),
            "POST" => {
                let text =
                    std::str::from_utf8(body).map_err(|_| invalid_callback("it is not UTF-8"))?;
                Parameters::of_form(text, holds)
            }
            _ => Err(invalid_callback("its method is neither GET nor POST")),
        }
    }

    /// The URLs that the callback may have been sent to.
    fn urls<'a>(&'a self, received: &'a str) -> Result<Vec<&'a str>> {
        let mut urls = self.urls.iter().map(|url| bare(url)).collect::<Result<Vec<_>>>()?;
        match received {
            "" if urls.is_empty() => {
                Err(Error::invalid_argument("url", "must be the configured one"))
            }
            "" => Ok(urls),
            one => {
                let one = bare(one)?;
                if !urls.is_empty() && !urls.contains(&one) {
                    return Err(invalid_callback("it was sent to none of the configured URLs"));
                }
                urls.clear();
                urls.push(one);
                Ok(urls)
            }
        }
    }
}

/// Until when a callback with this nonce is fresh, if it is.
fn fresh_until(nonce: &str, window: Duration, now: u64) -> Result<u64> {
    let second = nonce.split('.').next().unwrap_or_default();
    let digits = !second.is_empty() && second.bytes().all(|byte| byte.is_ascii_digit());
    let Some(sent) = second.parse::<u64>().ok().filter(|_| digits) else {
        return Err(invalid_callback("its nonce is no time, so it cannot be told to be fresh"));
    };
    match sent.abs_diff(now) <= window.as_secs() {
        true => Ok(sent.saturating_add(window.as_secs())),
        false if sent < now => Err(invalid_callback(format!("it is {} s old", now - sent))),
        false => Err(invalid_callback("it is from the future: is this machine's clock right?")),
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

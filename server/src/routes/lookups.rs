//! The provider that looks numbers up, with the settings that the database has.

use super::breaker::{Breaker, State};
use super::{Log, locked};
use crate::gateway::{self, HttpLookup, Problem};
use seconder::Result;
use seconder::engine::{Engine, PhoneLine};
use seconder::model::Secret;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

/// The provider, if there is one.
#[derive(Default)]
pub(super) struct Lookups(RwLock<Option<Arc<Provider>>>);

struct Provider {
    /// As they are stored, to notice that they were changed.
    stored: Secret,
    /// What is wrong with one that cannot be used.
    open: std::result::Result<HttpLookup, Vec<String>>,
    breaker: Mutex<Breaker>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        if let Ok(open) = &self.open {
            open.stop();
        }
    }
}

/// Checks the settings of a provider of look-ups.
///
/// # Errors
/// All that is wrong with them.
pub fn check_lookup(settings: &str) -> std::result::Result<(), Vec<Problem>> {
    open(settings).map(drop)
}

/// Looks up a number once, with these settings.
///
/// # Errors
/// [`seconder::Error::InvalidArgument`] with all that is wrong with the settings; the text of the other
/// result says what went wrong with the look-up.
pub fn try_lookup(
    settings: &Secret,
    number: &str,
) -> Result<std::result::Result<PhoneLine, String>> {
    let open = open(settings.expose()).map_err(|problems| {
        let list: Vec<_> = problems.iter().map(ToString::to_string).collect();
        crate::invalid("lookup", format!("cannot be used:\n  {}", list.join("\n  ")))
    })?;
    Ok(open.look_up(number))
}

fn open(settings: &str) -> std::result::Result<HttpLookup, Vec<Problem>> {
    let settings: Map<String, Value> = super::opening::object(settings)?;
    gateway::open_lookup(&settings)
}

impl Lookups {
    /// Reads the settings. Returns whether they were changed.
    pub(super) fn read(&self, engine: &Engine) -> Result<bool> {
        let stored = engine.lookup_settings()?;
        let before = self.provider();
        let is_same = match (&before, &stored) {
            // One that could not be used may have become usable, such as when a file is there again.
            (Some(before), Some(stored)) => before.stored == *stored && before.open.is_ok(),
            (before, stored) => before.is_none() && stored.is_none(),
        };
        if is_same {
            return Ok(false);
        }
        let provider = stored.map(|stored| {
            let open = open(stored.expose());
            let open = open.map_err(|wrong| wrong.iter().map(Problem::to_string).collect());
            Arc::new(Provider { stored, open, breaker: Mutex::default() })
        });
        let problems = |provider: &Option<Arc<Provider>>| {
            provider.as_ref().and_then(|provider| provider.open.as_ref().err().cloned())
        };
        let still = problems(&before).is_some() && problems(&before) == problems(&provider);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = provider;
        Ok(!still)
    }

    /// Reads the settings again, and says what has become of them.
    pub(super) fn reload(&self, engine: &Engine, log: &Log) -> Result<()> {
        if self.read(engine)? {
            log(match self.provider() {
                Some(_) => "the look-up of numbers was set",
                None => "the look-up of numbers was removed",
            });
            for problem in self.problems() {
                log(&problem);
            }
        }
        Ok(())
    }

    pub(super) fn problems(&self) -> Vec<String> {
        let provider = self.provider();
        let problems = provider.iter().filter_map(|provider| provider.open.as_ref().err());
        problems.flatten().map(|problem| format!("lookup: {problem}")).collect()
    }

    fn provider(&self) -> Option<Arc<Provider>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn is_ready(&self) -> bool {
        let Some(provider) = self.provider() else { return false };
        let state = locked(&provider.breaker).state(Instant::now());
        provider.open.is_ok() && state != State::Open
    }

    pub(super) fn look_up(&self, number: &str, log: &Log) -> Option<PhoneLine> {
        let provider = self.provider()?;
        let open = provider.open.as_ref().ok()?;
        locked(&provider.breaker).admit(Instant::now()).ok()?;
        let found = open.look_up(number);
        if let Some(state) = locked(&provider.breaker).note(found.is_ok(), Instant::now()) {
            log(&format!("lookup: the circuit breaker is {}", state.name()));
        }
        found
            .inspect_err(|reason| {
                let to = super::last_two(number);
                log(&format!("lookup: nothing is known of the number ending in {to}: {reason}"));
            })
            .ok()
    }
}

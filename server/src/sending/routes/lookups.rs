//! The provider that looks numbers up, with the settings that the database has.

use super::breaker::{Breaker, State};
use super::route::{Log, locked};
use seconder::Result;
use seconder::engine::{Engine, PhoneLine, Reserved};
use seconder::model::Secret;
use seconder::remote::Dialer;
use seconder_gateways::{HttpLookup, LookupError, Problem};
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

/// The most look-ups that wait for a provider at once. Each holds up a thread that other calls need.
const MOST_WAITING: usize = 32;

/// The provider, if there is one.
#[derive(Default)]
pub(super) struct Lookups {
    provider: RwLock<Option<Arc<Provider>>>,
    /// The number of look-ups at the moment.
    waiting: Arc<AtomicUsize>,
    /// Makes the connections to it.
    dialer: Dialer,
}

struct Provider {
    /// The settings as they are stored, to notice that they were changed.
    stored: Secret,
    /// The errors of one that cannot be used.
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
/// All errors in them.
pub fn check_lookup(settings: &str) -> std::result::Result<(), Vec<Problem>> {
    open(settings, &Dialer::default()).map(drop)
}

/// Looks up a number once, with these settings and this dialer.
///
/// # Errors
/// [`seconder::Error::InvalidArgument`] with all errors in the settings; the text of the other result gives the reason
/// why the look-up failed.
pub fn try_lookup(
    settings: &Secret,
    dialer: &Dialer,
    number: &str,
) -> Result<std::result::Result<PhoneLine, String>> {
    let open = open(settings.expose(), dialer).map_err(|problems| {
        let list: Vec<_> = problems.iter().map(ToString::to_string).collect();
        crate::invalid("lookup", format!("cannot be used:\n  {}", list.join("\n  ")))
    })?;
    Ok(open.look_up(number).map_err(|wrong| wrong.to_string()))
}

fn open(settings: &str, dialer: &Dialer) -> std::result::Result<HttpLookup, Vec<Problem>> {
    let settings: Map<String, Value> = super::opening::object(settings)?;
    seconder_gateways::open_lookup(&settings, dialer)
}

impl Lookups {
    pub(super) fn new(dialer: Dialer) -> Lookups {
        Lookups { dialer, ..Lookups::default() }
    }

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
            let open = open(stored.expose(), &self.dialer);
            let open = open.map_err(|wrong| wrong.iter().map(Problem::to_string).collect());
            Arc::new(Provider { stored, open, breaker: Mutex::default() })
        });
        let problems = |provider: &Option<Arc<Provider>>| {
            provider.as_ref().and_then(|provider| provider.open.as_ref().err().cloned())
        };
        let still = problems(&before).is_some() && problems(&before) == problems(&provider);
        *self.provider.write().unwrap_or_else(PoisonError::into_inner) = provider;
        Ok(!still)
    }

    /// Reads the settings again, and logs the changes.
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
        self.provider.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reserves one look-up, which is made, or given back when the returned value is dropped.
    pub(super) fn reserve(&self, log: &Log) -> Reserved<'static> {
        let Some(provider) = self.provider() else { return Reserved::NoProvider };
        let Some(place) = Place::take(&self.waiting) else { return Reserved::NotNow };
        let Some(mut admitted) = Admitted::by(provider, log) else { return Reserved::NotNow };
        Reserved::LookUp(Box::new(move |number| {
            let _place = place;
            admitted.look_up(number)
        }))
    }
}

/// A look-up that waits for a provider.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(waiting: &Arc<AtomicUsize>) -> Option<Place> {
        let one_more = |count| (count < MOST_WAITING).then_some(count + 1);
        let taken = waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken.is_ok().then(|| Place(Arc::clone(waiting)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A look-up that the breaker has admitted. The breaker is notified of its outcome, however it ends.
struct Admitted {
    provider: Arc<Provider>,
    log: Log,
    /// Set if its outcome decides whether the breaker closes.
    on_trial: bool,
    /// True if the provider works; `None` until it was asked.
    good: Option<bool>,
}

impl Admitted {
    fn by(provider: Arc<Provider>, log: &Log) -> Option<Admitted> {
        if provider.open.is_err() {
            return None;
        }
        let now = Instant::now();
        let mut breaker = locked(&provider.breaker);
        let on_trial = breaker.state(now) == State::HalfOpen;
        breaker.admit(now).ok()?;
        drop(breaker);
        Some(Admitted { provider, log: Arc::clone(log), on_trial, good: None })
    }

    fn look_up(&mut self, number: &str) -> Option<PhoneLine> {
        let open = self.provider.open.as_ref().ok()?;
        // As long as nothing else is known: it may panic.
        self.good = Some(false);
        let found = open.look_up(number);
        self.good = Some(!matches!(found, Err(LookupError::Failed(_))));
        let to = super::route::last_two(number);
        match found {
            Ok(line) => Some(line),
            // The provider works. It would say the same of this number again, so that is kept.
            Err(LookupError::Rejected(reason)) => {
                (self.log)(&format!(
                    "info: lookup: the number ending in {to} was rejected: {reason}"
                ));
                Some(PhoneLine::default())
            }
            Err(LookupError::Failed(reason)) => {
                let what = format!("nothing is known of the number ending in {to}: {reason}");
                (self.log)(&format!("lookup: {what}"));
                None
            }
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut breaker = locked(&self.provider.breaker);
        let changed = match self.good {
            Some(good) => breaker.note(good, Instant::now()),
            None => {
                if self.on_trial {
                    breaker.give_back();
                }
                None
            }
        };
        drop(breaker);
        if let Some(state) = changed {
            (self.log)(&state.line("lookup"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookups() -> (Lookups, Arc<Provider>) {
        let settings =
            r#"{"gateway": "http", "url": "http://127.0.0.1:1", "carrier_pointer": "/a"}"#;
        let open = open(settings, &Dialer::default()).map_err(|wrong| panic!("{wrong:?}"));
        let stored = Secret::new(settings);
        let provider = Arc::new(Provider { stored, open, breaker: Mutex::default() });
        let lookups = Lookups::default();
        *lookups.provider.write().unwrap() = Some(Arc::clone(&provider));
        (lookups, provider)
    }

    fn log() -> Log {
        Arc::new(|_| {})
    }

    /// Opens the breaker so long ago that it lets one through.
    fn half_open(provider: &Provider) {
        let long_ago = Instant::now().checked_sub(std::time::Duration::from_secs(60)).unwrap();
        for _ in 0..5 {
            locked(&provider.breaker).note(false, long_ago);
        }
        assert_eq!(locked(&provider.breaker).state(Instant::now()), State::HalfOpen);
    }

    fn is_ready(lookups: &Lookups) -> bool {
        matches!(lookups.reserve(&log()), Reserved::LookUp(_))
    }

    #[test]
    fn a_reservation_that_is_not_used_is_given_back() {
        let (lookups, provider) = lookups();
        half_open(&provider);
        let trial = lookups.reserve(&log());
        assert!(matches!(trial, Reserved::LookUp(_)));
        assert!(!is_ready(&lookups), "one trial at a time, and only that one is counted");
        drop(trial);
        assert!(is_ready(&lookups));
    }

    #[test]
    fn a_trial_that_fails_or_panics_opens_the_breaker_again() {
        let (lookups, provider) = lookups();
        half_open(&provider);
        let Reserved::LookUp(look_up) = lookups.reserve(&log()) else { panic!("not ready") };
        assert_eq!(look_up("+15550100123"), None, "nobody listens");
        assert_eq!(locked(&provider.breaker).state(Instant::now()), State::Open);
        let (lookups, provider) = self::lookups();
        half_open(&provider);
        let panicking: Log = Arc::new(|_| panic!("the log cannot be written"));
        let Reserved::LookUp(look_up) = lookups.reserve(&panicking) else { panic!("not ready") };
        let call = std::panic::AssertUnwindSafe(|| look_up("+15550100123"));
        std::panic::catch_unwind(call).unwrap_err();
        assert_eq!(locked(&provider.breaker).state(Instant::now()), State::Open);
        assert_eq!(lookups.waiting.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn no_more_than_some_wait_at_once() {
        let (lookups, _provider) = lookups();
        let waiting: Vec<_> = (0..MOST_WAITING).map(|_| lookups.reserve(&log())).collect();
        assert!(waiting.iter().all(|one| matches!(one, Reserved::LookUp(_))));
        assert!(matches!(lookups.reserve(&log()), Reserved::NotNow));
        drop(waiting);
        assert!(is_ready(&lookups));
        assert!(matches!(Lookups::default().reserve(&log()), Reserved::NoProvider));
    }
}

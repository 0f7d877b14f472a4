//! Routes, which decide the gateway of a message. Their settings are in the database, sealed. A running server reads
//! them again every few seconds, so `seconder route set` takes effect without a restart.

mod breaker;
mod inbound;
mod lookups;
mod opening;
mod rate;
mod route;
mod sender;
mod settings;
mod spooled;
mod unsent;

pub use breaker::State;
pub use inbound::{Attached, receipt_url};
pub(crate) use inbound::{Endpoint, RouteRef};
pub use lookups::{check_lookup, try_lookup};
pub use opening::{check, reach, takes_receipts};
pub use route::{Log, last_two};
pub use settings::FIELDS;
pub use spooled::Spooled;
pub use unsent::Unsent;

use crate::PublicUrl;
use crate::sending::attempts::Attempts;
use inbound::Inbound;
use lookups::Lookups;
use opening::open;
use route::{OpenRoute, Route, locked};
use seconder::engine::{
    Engine, Lane, LeasedJob, Message, NumberLookup, Offered, Outcome, PhoneLine, Reserved,
    StoredRoute,
};
use seconder::model::Secret;
use seconder::remote::Dialer;
use seconder::{Error, Result};
use seconder_gateways::{Outgoing, Problem, Urls};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Instant;

/// Offers a job to other threads.
type Offer = Box<dyn Fn(LeasedJob) -> Offered + Send + Sync>;

/// The routes of a database, and the spool folder for messages as long as it has no routes. Clones are the same routes.
#[derive(Clone)]
pub struct Routes(Arc<Inner>);

struct Inner {
    routes: RwLock<Arc<Vec<Arc<Route>>>>,
    lookups: Lookups,
    dialer: Dialer,
    spooled: Spooled,
    log: Log,
    inbound: Inbound,
    attempts: Attempts,
    workers: OnceLock<Offer>,
    /// The message that was attempted last, unless it was sent.
    unsent: Mutex<Option<Unsent>>,
}

impl Routes {
    /// Returns an empty set of routes: [`Routes::load`] reads them from the database, which is opened with this as its
    /// sender. Without any, messages go to the spool folder. The dialer connects to providers, which reach the service at
    /// the public URL, if it has one.
    pub fn new(
        spooled: Spooled,
        log: Log,
        public_url: Option<PublicUrl>,
        dialer: Dialer,
    ) -> Routes {
        let (inbound, lookups) = (Inbound::new(public_url), Lookups::new(dialer.clone()));
        let (routes, unsent, workers) = (RwLock::default(), Mutex::default(), OnceLock::new());
        let attempts = Attempts::default();
        let inner =
            Inner { routes, lookups, dialer, spooled, log, inbound, attempts, workers, unsent };
        Routes(Arc::new(inner))
    }

    /// Reads the routes, and the provider of look-ups. Routes whose settings cannot be read are logged, and
    /// are not used: a damaged row must not stop the messages that others take.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with all errors in the settings of any of them, in a line
    /// each, so that nothing half-configured starts; [`Error::Storage`] if the database cannot be read.
    pub fn load(&self, engine: &Engine) -> Result<()> {
        self.0.lookups.read(engine)?;
        self.load_these(engine.routes()?, self.0.lookups.problems())
    }

    /// Reads the routes for one call. Those that cannot be used are logged, and take no messages, as in a server
    /// that runs.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read.
    pub fn load_usable(&self, engine: &Engine) -> Result<()> {
        self.0.lookups.read(engine)?;
        let routes = self.open_all(engine.routes()?);
        let problems = routes.iter().flat_map(|route| route.problems());
        problems.for_each(|problem| (self.0.log)(&format!("route {problem}")));
        self.0.lookups.problems().iter().for_each(|problem| (self.0.log)(problem));
        self.replace(routes);
        Ok(())
    }

    /// Returns the message that was attempted last, unless it was sent. For a process that makes one call.
    pub fn unsent(&self) -> Option<Unsent> {
        locked(&self.0.unsent).clone()
    }

    /// Reads one route, regardless of errors in the others.
    ///
    /// # Errors
    /// As [`Routes::load`].
    pub fn load_only(&self, engine: &Engine, name: &str) -> Result<()> {
        let mut stored = engine.routes()?;
        stored.retain(|route| route.name == name);
        self.load_these(stored, Vec::new())
    }

    fn load_these(&self, stored: Vec<StoredRoute>, mut problems: Vec<String>) -> Result<()> {
        let routes = self.open_all(stored);
        let (unreadable, read): (Vec<_>, Vec<_>) =
            routes.iter().partition(|route| route.unreadable.is_some());
        for problem in unreadable.iter().flat_map(|route| route.problems()) {
            (self.0.log)(&format!("route {problem}"));
        }
        problems.extend(read.iter().flat_map(|route| route.problems()));
        if !problems.is_empty() {
            let list = problems.join("\n  ");
            let reason = format!(
                "of the database cannot be used; set them again with `seconder route set`, or `seconder \
                 lookup set`:\n  {list}"
            );
            return Err(Error::InvalidArgument {
                parameter: "routes".into(),
                reason: reason.into(),
            });
        }
        self.replace(routes);
        Ok(())
    }

    /// Reads the routes again. Those that were not changed keep their connections. One that can no longer be used is
    /// logged, and its messages take other routes.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read: then everything stays as it was.
    pub fn reload(&self, engine: &Engine) -> Result<()> {
        self.0.lookups.reload(engine, &self.0.log)?;
        let before = self.all();
        let routes = self.open_all(engine.routes()?);
        let is_same = before.len() == routes.len()
            && before.iter().zip(&routes).all(|(before, now)| Arc::ptr_eq(before, now));
        if is_same {
            return Ok(());
        }
        for route in &routes {
            if before.iter().any(|before| Arc::ptr_eq(before, route)) {
                continue;
            }
            let what = match (route.is_removed(), &route.unreadable) {
                (true, _) => Some("was removed"),
                (false, None) => Some("was set"),
                (false, Some(_)) => None,
            };
            if let Some(what) = what {
                (self.0.log)(&format!("info: route {} {what}", route.name));
            }
            for problem in route.problems() {
                (self.0.log)(&format!("route {problem}"));
            }
        }
        self.replace(routes);
        Ok(())
    }

    /// Opens the routes as they are now. One that could not be used before may have become usable, such as when a file
    /// is there again.
    fn open_all(&self, stored: Vec<StoredRoute>) -> Vec<Arc<Route>> {
        let before = self.all();
        let mut routes = Vec::new();
        for StoredRoute { name, settings, unreadable, .. } in stored {
            let same = |route: &&Arc<Route>| {
                route.name == name && route.stored == settings && route.unreadable == unreadable
            };
            let before = before.iter().find(same);
            if let Some(route) = before.filter(|route| route.is_settled()) {
                routes.push(Arc::clone(route));
                continue;
            }
            let open = |settings: &Secret| open(settings.expose(), &self.0.dialer);
            let open = match settings.as_ref().map(open) {
                Some(Ok(open)) => Ok(open),
                Some(Err(wrong)) => Err(wrong.iter().map(Problem::to_string).collect()),
                None => {
                    Err(unreadable.iter().map(|why| format!("cannot be used: {why}")).collect())
                }
            };
            if let Ok(open) = &open {
                open.gateway.set_receiver(self.receiver(&name));
            }
            let route = Route { name, stored: settings, unreadable, open };
            match before.filter(|before| before.problems() == route.problems()) {
                Some(before) => routes.push(Arc::clone(before)),
                None => routes.push(Arc::new(route)),
            }
        }
        routes
    }

    fn all(&self) -> Arc<Vec<Arc<Route>>> {
        Arc::clone(&self.0.routes.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, routes: Vec<Arc<Route>>) {
        *self.0.routes.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(routes);
    }

    /// Returns the routes that are used, with the number of messages that each sends at once.
    pub(crate) fn workers(&self) -> Vec<(Lane, usize)> {
        let workers = |route: &Route| route.open.as_ref().map_or(1, |open| open.settings.workers);
        // Messages to the folder are written by their calls; messages of a killed process are left.
        let spooled = self.0.spooled.lanes().into_iter().map(|lane| (lane, 1));
        spooled.chain(self.all().iter().map(|route| (route.lane(), workers(route)))).collect()
    }

    /// Has jobs of calls offered to these threads. Returns whether there are no others.
    pub(crate) fn offer_to(&self, workers: Offer) -> bool {
        self.0.workers.set(workers).is_ok()
    }

    /// Returns the attempts that workers have made.
    pub(crate) fn attempts(&self) -> Attempts {
        self.0.attempts.clone()
    }

    /// Returns the states of the circuit breakers.
    pub fn states(&self) -> Vec<(String, State)> {
        let now = Instant::now();
        let state = |route: &Arc<Route>| {
            let open = route.open.as_ref().ok()?;
            Some((route.name.clone(), locked(&open.breaker).state(now)))
        };
        self.all().iter().filter_map(state).collect()
    }

    /// Makes one attempt by a gateway, regardless of its breaker.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such route.
    pub fn send_by(&self, name: &str, message: &Outgoing<'_>) -> Result<Outcome> {
        let all = self.all();
        let route = all.iter().find(|route| route.name == name);
        let Some(Ok(open)) = route.map(|route| &route.open) else {
            return Err(crate::invalid(
                "name",
                "is not that of a route; `seconder route list` shows them",
            ));
        };
        let from = if message.from.is_empty() { &*open.settings.from } else { message.from };
        Ok(self.attempt_by(name, open, &Outgoing { from, ..*message }, None))
    }

    fn send_by_gateway(&self, name: &str, open: &OpenRoute, message: &Message) -> Outcome {
        let now = Instant::now();
        // The breaker last: an attempt that it admits has to be noted.
        let admitted = locked(&open.rate)
            .admit(now)
            .map_err(|after| (after, "its rate is used up"))
            .and_then(|()| {
                let admitted = locked(&open.breaker).admit(now);
                admitted.map_err(|after| (after, "its circuit breaker is open"))
            });
        if let Err((after, reason)) = admitted {
            let reason = format!("route {name}: {reason}");
            return Outcome::NotAttempted { after: Some(after), reason };
        }
        let outgoing = Outgoing {
            id: &message.id,
            to: &message.to,
            text: &message.text,
            language: &message.language,
            code: &message.code,
            from: &open.settings.from,
            channel: message.via,
            urls: Urls::default(),
        };
        let attempt = || self.attempt_by(name, open, &outgoing, Some(message));
        let sent = catch_unwind(AssertUnwindSafe(attempt));
        let outcome = sent.unwrap_or_else(|panic| {
            locked(&open.breaker).note(false, Instant::now());
            resume_unwind(panic)
        });
        let (good, what, reason) = match &outcome {
            // The document for the provider could not be stored, which says nothing of the provider.
            Outcome::NotAttempted { .. } => {
                locked(&open.breaker).give_back();
                return outcome;
            }
            Outcome::Sent(_) => (true, "", ""),
            // The gateway works, and rejects this message.
            Outcome::Permanent(reason) | Outcome::NumberRefused(reason) => {
                (true, "was rejected", reason.as_str())
            }
            Outcome::Retry { reason, .. } => (false, "could not be sent", reason.as_str()),
            Outcome::Ambiguous(reason) => (false, "may have been sent", reason.as_str()),
            _ => (false, "could not be sent", "for a reason that is not known"),
        };
        if let Some(state) = locked(&open.breaker).note(good, Instant::now()) {
            (self.0.log)(&state.line(&format!("route {name}")));
        }
        if !what.is_empty() {
            let (via, to) = (message.via.name(), last_two(&message.to));
            (self.0.log)(&format!(
                "route {name}: a message by {via} to the number ending in {to} {what}: {reason}"
            ));
        }
        outcome
    }
}

impl NumberLookup for Routes {
    fn look_up(&self, number: &str) -> Option<PhoneLine> {
        let Reserved::LookUp(look_up) = self.reserve() else { return None };
        look_up(number)
    }

    fn reserve(&self) -> Reserved<'_> {
        self.0.lookups.reserve(&self.0.log)
    }
}

#[cfg(test)]
mod tests;

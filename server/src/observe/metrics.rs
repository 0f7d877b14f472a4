//! Metrics of a running server about requests and messages, in the format of Prometheus. They hold no secrets: the
//! labels are names of calls, routes, kinds and outcomes.

mod listener;
mod requests;

pub(crate) use listener::listen;
pub(crate) use requests::{Counted, Requests};

use crate::edge::certificate::Certificate;
use crate::edge::pool::Pools;
use crate::edge::wrong_tries::WrongTries;
use crate::sending::routes::{Routes, State};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use seconder::engine::operator::{ForwardStatus, Operation};
use seconder::engine::{Engine, JobStatus};
use std::fmt::{self, Write};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The time for which the jobs that were counted are shown, independent of the number of requests: up to 10 000 of each
/// queue are read.
const COUNTED_EVERY: Duration = Duration::from_secs(10);
const READY_EVERY: Duration = Duration::from_secs(1);
/// The metrics of a server. Clones are the same.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    engine: Engine,
    routes: Option<Routes>,
    certificate: OnceLock<Arc<Certificate>>,
    pools: OnceLock<Pools>,
    wrong_keys: OnceLock<Arc<WrongTries>>,
    wrong_tokens: OnceLock<Arc<WrongTries>>,
    requests: OnceLock<Requests>,
    counted: Recent<Option<Arc<Vec<JobStatus>>>>,
    ready: Recent<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Queue {
    route: String,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Jobs {
    route: String,
    kind: &'static str,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Latency {
    route: String,
    kind: &'static str,
    quantile: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Breaker {
    route: String,
    state: BreakerState,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Codes {
    country: u32,
    state: &'static str,
}

/// The route that has sent a code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Limit {
    limit: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PoolName {
    pool: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Users {
    state: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BreakerState(State);

impl EncodeLabelValue for BreakerState {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        encoder.write_str(self.0.name())
    }
}

impl Metrics {
    /// Returns metrics of this engine's jobs, which are sent by these routes.
    pub fn new(engine: Engine, routes: Option<Routes>) -> Metrics {
        Metrics(Arc::new(Inner {
            engine,
            routes,
            certificate: OnceLock::new(),
            pools: OnceLock::new(),
            wrong_keys: OnceLock::new(),
            wrong_tokens: OnceLock::new(),
            requests: OnceLock::new(),
            counted: Recent::default(),
            ready: Recent::default(),
        }))
    }

    /// Shows when this certificate expires.
    pub(crate) fn watch(&self, certificate: &Arc<Certificate>) {
        // A server has one.
        let _ = self.0.certificate.set(Arc::clone(certificate));
    }

    /// Shows how busy these threads are.
    pub(crate) fn watch_pools(&self, pools: &Pools) {
        // A server has one set of them.
        let _ = self.0.pools.set(pools.clone());
    }

    /// Shows the outcomes of these requests.
    pub(crate) fn watch_requests(&self, requests: &Requests) {
        // A server has one set of them.
        let _ = self.0.requests.set(requests.clone());
    }

    /// Shows how many wrong API keys are sent.
    pub(crate) fn watch_keys(&self, keys: &Arc<WrongTries>) {
        // A server has one set of them.
        let _ = self.0.wrong_keys.set(Arc::clone(keys));
    }

    /// Counts the wrong tokens of operators from now on.
    pub(crate) fn watch_tokens(&self, tokens: &Arc<WrongTries>) {
        let _ = self.0.wrong_tokens.set(Arc::clone(tokens));
    }

    /// Returns all metrics, in the text format of OpenMetrics. Without the database, only the ones of this process.
    pub fn text(&self) -> String {
        let counted = self.counted();
        let mut registry = Registry::with_prefix("seconder");
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version of the program", build);
        let up = Gauge::<i64>::default();
        up.set((counted.is_some() && self.is_ready()).into());
        let help = "Whether the database responds, and the last write to it succeeded";
        registry.register("database_up", help, up);
        self.of_this_process(&mut registry);
        if let Some(counted) = counted {
            self.of_the_move(&mut registry);
            of_the_database(&counted, &mut registry);
            self.of_the_codes(&mut registry);
        }
        let mut text = String::new();
        // A text can always be written.
        let _ = encode(&mut text, &registry);
        text
    }

    /// Returns whether calls can be handled, or could be a second ago: the database responds, and takes writes. Every
    /// verdict is written before it is returned.
    pub fn is_ready(&self) -> bool {
        self.0.ready.get(READY_EVERY, || self.0.engine.is_usable())
    }

    fn of_this_process(&self, registry: &mut Registry) {
        self.0.routes.as_ref().map(Routes::attempts).unwrap_or_default().register(registry);
        if let Some(certificate) = self.0.certificate.get() {
            let ends =
                certificate.ends().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let gauge = Gauge::<i64>::default();
            gauge.set(i64::try_from(ends.as_secs()).unwrap_or(i64::MAX));
            let help = "When the certificate expires, in Unix time";
            registry.register_with_unit("certificate_expiry_timestamp", help, Unit::Seconds, gauge);
        }
        if let Some(requests) = self.0.requests.get() {
            requests.register(registry);
        }
        let reached = Family::<Limit, Counter>::default();
        for (limit, count) in self.0.engine.limits_reached() {
            reached.get_or_create(&Limit { limit }).inc_by(count);
        }
        let help =
            "Calls of this process that were refused because of this limit of an application";
        registry.register("limits_reached", help, reached);
        self.of_used_codes(registry);
        if let Some(keys) = self.0.wrong_keys.get() {
            wrong_tries(keys, registry, ("wrong_keys", "API keys that no application has"));
        }
        if let Some(tokens) = self.0.wrong_tokens.get() {
            let named = ("wrong_operator_tokens", "Tokens that no operator has");
            wrong_tries(tokens, registry, named);
        }
        if let Some(pools) = self.0.pools.get() {
            of_the_threads(pools, registry);
        }
        let Some(routes) = &self.0.routes else { return };
        let help = "Receipts that this process was given, by what they report";
        registry.register("receipts", help, routes.receipts());
        let breakers = Family::<Breaker, Gauge>::default();
        for (route, is) in routes.states() {
            for state in [State::Closed, State::Open, State::HalfOpen] {
                let breaker = Breaker { route: route.clone(), state: BreakerState(state) };
                breakers.get_or_create(&breaker).set(i64::from(state == is));
            }
        }
        let help = "Whether the circuit breaker of a route is in this state, in this process";
        registry.register("route_breaker", help, breakers);
    }

    /// Registers the codes that were used. Routes are counted from the start, because the rate of a counter misses its
    /// first value.
    fn of_used_codes(&self, registry: &mut Registry) {
        let used = Family::<Route, Counter>::default();
        for (route, _) in self.0.routes.iter().flat_map(Routes::states) {
            drop(used.get_or_create(&Route { route }));
        }
        for (route, count) in self.0.engine.codes_used() {
            used.get_or_create(&Route { route }).inc_by(count);
        }
        let help = "Codes that were used by calls of this process, by the route that has sent them";
        registry.register("codes_used", help, used);
    }

    /// Registers the progress of the move from another service, if there is one.
    fn of_the_move(&self, registry: &mut Registry) {
        let forwarded = ForwardStatus {}.carry_out(&self.0.engine);
        let Some(forwarded) = forwarded.ok().filter(|forwarded| forwarded.since.is_some()) else {
            return;
        };
        let counter = |number: u64| {
            let counter = Counter::<u64>::default();
            counter.inc_by(number);
            counter
        };
        let help = "Calls that were forwarded to the service from which the application moves here";
        registry.register("forwarded_calls", help, counter(forwarded.calls));
        let help = "Forwarded calls to which that service gave no usable reply";
        registry.register("forwarded_calls_failed", help, counter(forwarded.failed));
        let users = Family::<Users, Gauge>::default();
        let counts = [
            ("there", forwarded.users_there),
            ("taken", forwarded.users_taken),
            ("returned", forwarded.users_returned),
        ];
        for (state, number) in counts {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            users.get_or_create(&Users { state }).set(number);
        }
        let help = "Users of whom calls were forwarded: still there, taken over, and returned";
        registry.register("forwarded_users", help, users);
    }

    /// Registers how many codes of the last hour were sent and used, by country.
    fn of_the_codes(&self, registry: &mut Registry) {
        let codes = Family::<Codes, Gauge>::default();
        for (country, of_hour) in self.0.engine.codes_of_hour().unwrap_or_default() {
            for (state, number) in [("sent", of_hour.sent), ("used", of_hour.used)] {
                let number = i64::try_from(number).unwrap_or(i64::MAX);
                codes.get_or_create(&Codes { country: country.into(), state }).set(number);
            }
        }
        let help = "Messages with codes that were sent in the last hour, and codes that were used, by calling code";
        registry.register("codes_hour", help, codes);
    }

    /// Returns the jobs; `None` if they cannot be read.
    fn counted(&self) -> Option<Arc<Vec<JobStatus>>> {
        let count = || self.0.engine.job_status().ok().map(Arc::new);
        self.0.counted.get(COUNTED_EVERY, count)
    }
}

/// Values that were read from the database, kept so that frequent queries cause few reads. While one thread reads, the
/// others wait for the result.
struct Recent<T>(Mutex<Option<(Instant, T)>>);

impl<T: Clone> Recent<T> {
    fn get(&self, every: Duration, read: impl FnOnce() -> T) -> T {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, value)) = &*recent
            && at.elapsed() < every
        {
            return value.clone();
        }
        let value = read();
        *recent = Some((Instant::now(), value.clone()));
        value
    }
}

impl<T> Default for Recent<T> {
    fn default() -> Recent<T> {
        Recent(Mutex::new(None))
    }
}

/// Registers the number of wrong credentials of a kind, and of requests that were refused after too many of them.
fn wrong_tries(tries: &WrongTries, registry: &mut Registry, (name, help): (&str, &str)) {
    let (sent, refused) = tries.counts();
    let counted = |count| {
        let counter = Counter::<u64>::default();
        counter.inc_by(count);
        counter
    };
    registry.register(name, help, counted(sent));
    let help = "Requests refused because their address had sent too many of them";
    registry.register(format!("{name}_refused"), help, counted(refused));
}

/// Registers the load of the threads for calls.
fn of_the_threads(pools: &Pools, registry: &mut Registry) {
    let refused = Family::<PoolName, Counter>::default();
    let (queued, threads) =
        (Family::<PoolName, Gauge>::default(), Family::<PoolName, Gauge>::default());
    let gauge = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    for (pool, load) in pools.loads() {
        let pool = PoolName { pool };
        refused.get_or_create(&pool).inc_by(load.refused);
        queued.get_or_create(&pool).set(gauge(load.queued));
        threads.get_or_create(&pool).set(gauge(load.threads));
    }
    let help = "Calls that were answered with 503 at once, because there were too many";
    registry.register("calls_refused", help, refused);
    registry.register("calls_queued", "Calls that wait for a thread", queued);
    registry.register("call_threads", "Threads that handle calls, or have just done so", threads);
}

/// Registers the values that are the same for every process on the database: as in `seconder jobs status`.
fn of_the_database(counted: &[JobStatus], registry: &mut Registry) {
    let jobs = Family::<Jobs, Gauge>::default();
    let oldest = Family::<Queue, Gauge<f64, AtomicU64>>::default();
    let latencies = Family::<Latency, Gauge<f64, AtomicU64>>::default();
    for status in counted {
        let (route, kind) = (&status.route, status.kind.name());
        for (state, count) in
            [("waiting", status.waiting), ("leased", status.leased), ("failed", status.failed)]
        {
            let labels = Jobs { route: route.clone(), kind, state };
            jobs.get_or_create(&labels).set(count.into());
        }
        let age = oldest.get_or_create(&Queue { route: route.clone(), kind }).clone();
        age.set(seconds(status.oldest.unwrap_or_default()));
        for (quantile, latency) in [("0.5", status.latency_p50), ("0.99", status.latency_p99)] {
            let Some(latency) = latency else { continue };
            let labels = Latency { route: route.clone(), kind, quantile };
            latencies.get_or_create(&labels).set(seconds(latency));
        }
    }
    let help = "Jobs of the database that wait, are being attempted, or failed in the last 24 hours; \
                at most 10000 of a queue are counted";
    registry.register("jobs", help, jobs);
    let help = "How long ago the oldest job that is not over was caused; 0 if there is none";
    registry.register_with_unit("jobs_oldest", help, Unit::Seconds, oldest);
    let help = "Within which time half and 99 % of the messages of the last 24 hours were sent, of those \
                to which the provider gave an id";
    registry.register_with_unit("jobs_latency", help, Unit::Seconds, latencies);
}

fn seconds(milliseconds: u64) -> f64 {
    Duration::from_millis(milliseconds).as_secs_f64()
}

//! Metrics of a running server about requests and messages, in the format of Prometheus. They hold no secrets: the
//! labels are names of calls, routes, kinds and outcomes.

pub(crate) mod requests;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use seconder::engine::operator::{ForwardStatus, Operation};
use seconder::engine::{Engine, JobStatus};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time for which the jobs that were counted are shown, independent of the number of requests: up to 10 000 of each
/// queue are read.
const COUNTED_EVERY: Duration = Duration::from_secs(10);
const READY_EVERY: Duration = Duration::from_secs(1);
/// The metrics of a server. Clones are the same.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

type Register = Box<dyn Fn(&mut Registry) + Send + Sync>;

struct Inner {
    engine: Engine,
    /// Registers the metrics of other parts of the server.
    watched: Mutex<Vec<Register>>,
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
struct Codes {
    country: u32,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Limit {
    limit: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Users {
    state: &'static str,
}

impl Metrics {
    /// Returns metrics of this engine.
    pub fn new(engine: Engine) -> Metrics {
        Metrics(Arc::new(Inner {
            engine,
            watched: Mutex::default(),
            counted: Recent::default(),
            ready: Recent::default(),
        }))
    }

    /// Shows also the metrics that this function registers, such as the server's threads.
    pub(crate) fn watch(&self, register: impl Fn(&mut Registry) + Send + Sync + 'static) {
        let mut watched = self.0.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.push(Box::new(register));
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
        let reached = Family::<Limit, Counter>::default();
        for (limit, count) in self.0.engine.limits_reached() {
            reached.get_or_create(&Limit { limit }).inc_by(count);
        }
        let help =
            "Calls of this process that were refused because of this limit of an application";
        registry.register("limits_reached", help, reached);
        let watched = self.0.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter().for_each(|register| register(registry));
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

//! Counts of requests by call and outcome, and their durations.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The bounds of the histogram, in seconds: from a decision that changes nothing to a gateway that hangs.
const BOUNDS: [f64; 13] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// The reasons for which connections are closed before their first request.
const REFUSED: [&str; 4] = ["places", "places_of_client", "places_of_user", "proxy_header"];
/// The label of a request whose path belongs to no call.
const NO_CALL: &str = "none";
/// The most applications with a label of their own: each has as many series as calls and statuses.
const MOST_APPS: usize = 50;
/// The label of all others.
const OTHER_APPS: &str = "other";

/// The requests of a server. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    counts: Family<Request, Counter>,
    failures: Family<Call, Counter>,
    durations: Family<Call, Histogram, fn() -> Histogram>,
    refused: Family<Refused, Counter>,
    /// The applications that have a label of their own.
    apps: Arc<Mutex<BTreeSet<i64>>>,
}

/// The facts about a request that its counter has.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) call: Option<&'static str>,
    pub(crate) app_id: Option<i64>,
    pub(crate) status: u16,
    pub(crate) verdict: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    call: &'static str,
    status: u32,
    /// The verdict; empty for a call that verifies nothing.
    verdict: &'static str,
    /// The id of the application; empty if it is not known.
    app: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    call: &'static str,
}

impl Default for Requests {
    fn default() -> Requests {
        let new: fn() -> Histogram = || Histogram::new(BOUNDS);
        let (counts, failures) = (Family::default(), Family::default());
        let durations = Family::new_with_constructor(new);
        let refused = Family::<Refused, Counter>::default();
        for reason in REFUSED {
            drop(refused.get_or_create(&Refused { reason }));
        }
        Requests { counts, failures, durations, refused, apps: Arc::default() }
    }
}

impl Requests {
    /// Counts a request. The labels are names of calls and applications, so their number does not depend on the clients.
    /// A failure does not follow from the status: limits respond with 503 too.
    pub(crate) fn count(&self, counted: &Counted, took: Duration, has_failed: bool) {
        let call = counted.call.unwrap_or(NO_CALL);
        let verdict = counted.verdict.unwrap_or_default();
        let app = counted.app_id.map(|id| self.label(id)).unwrap_or_default();
        let request = Request { call, status: counted.status.into(), verdict, app };
        self.counts.get_or_create(&request).inc();
        self.durations.get_or_create(&Call { call }).observe(took.as_secs_f64());
        // Created even without a failure: the rate of a counter that does not exist before its first failure misses
        // that.
        self.failures.get_or_create(&Call { call }).inc_by(has_failed.into());
    }

    /// Counts a connection that was closed before its first request.
    pub(crate) fn refuse_connection(&self, reason: &'static str) {
        self.refused.get_or_create(&Refused { reason }).inc();
    }

    /// Returns the label of an application.
    fn label(&self, app_id: i64) -> String {
        let mut apps = self.apps.lock().unwrap_or_else(PoisonError::into_inner);
        if apps.len() < MOST_APPS {
            apps.insert(app_id);
        }
        match apps.contains(&app_id) {
            true => app_id.to_string(),
            false => OTHER_APPS.to_owned(),
        }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Requests, by call, application, status, and what became of the code that a call verifies";
        registry.register("requests", help, self.counts.clone());
        let help = "Requests that failed in the service, or in what it depends on, by call";
        registry.register("requests_failed", help, self.failures.clone());
        let help = "Connections that were closed before their first request, by the reason";
        registry.register("connections_refused", help, self.refused.clone());
        let (help, durations) = ("How long those requests took", self.durations.clone());
        registry.register_with_unit("request_duration", help, Unit::Seconds, durations);
    }
}

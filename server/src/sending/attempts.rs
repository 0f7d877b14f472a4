//! Counts of the attempts to send something, for the metrics.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use seconder::engine::{JobKind, Outcome};
use std::time::Duration;

/// The bounds of the histogram, in seconds: from a gateway next door to one that hangs.
const BOUNDS: [f64; 13] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// The attempts of a process. Clones are the same.
#[derive(Clone)]
pub(crate) struct Attempts {
    counts: Family<Attempt, Counter>,
    durations: Family<Queue, Histogram, fn() -> Histogram>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Attempt {
    route: String,
    kind: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Queue {
    route: String,
    kind: &'static str,
}

impl Default for Attempts {
    fn default() -> Attempts {
        let durations = Family::new_with_constructor((|| Histogram::new(BOUNDS)) as fn() -> _);
        Attempts { counts: Family::default(), durations }
    }
}

impl Attempts {
    /// Counts an attempt.
    pub(super) fn count(&self, route: &str, kind: JobKind, outcome: &Outcome, took: Duration) {
        let (route, kind) = (route.to_owned(), kind.name());
        let outcome = match outcome {
            Outcome::Sent(_) => "sent",
            Outcome::Retry { .. } => "retry",
            // An outcome without an attempt says nothing of the gateway.
            Outcome::NotAttempted { .. } => return,
            Outcome::Permanent(_) => "permanent",
            Outcome::NumberRefused(_) => "number_refused",
            Outcome::Ambiguous(_) => "ambiguous",
            _ => "other",
        };
        let attempt = Attempt { route: route.clone(), kind, outcome };
        self.counts.get_or_create(&attempt).inc();
        self.durations.get_or_create(&Queue { route, kind }).observe(took.as_secs_f64());
    }

    /// Shows the attempts.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Attempts of this process to send messages and callbacks";
        registry.register("attempts", help, self.counts.clone());
        let help = "How long those attempts took";
        let durations = self.durations.clone();
        registry.register_with_unit("attempt_duration", help, Unit::Seconds, durations);
    }
}

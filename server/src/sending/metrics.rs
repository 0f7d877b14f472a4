//! The metrics of the routes of this process.

use crate::sending::routes::{Routes, State};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use seconder::engine::Engine;
use std::fmt::{self, Write};

/// The route that has sent a code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Breaker {
    route: String,
    state: BreakerState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BreakerState(State);

impl EncodeLabelValue for BreakerState {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        encoder.write_str(self.0.name())
    }
}

impl Routes {
    /// Registers the attempts, the receipts, the circuit breakers, and the codes of this engine that were used.
    pub(crate) fn register(&self, engine: &Engine, registry: &mut Registry) {
        self.attempts().register(registry);
        self.register_used_codes(engine, registry);
        let help = "Receipts that this process was given, by what they report";
        registry.register("receipts", help, self.receipts());
        let breakers = Family::<Breaker, Gauge>::default();
        for (route, is) in self.states() {
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
    fn register_used_codes(&self, engine: &Engine, registry: &mut Registry) {
        let used = Family::<Route, Counter>::default();
        for (route, _) in self.states() {
            drop(used.get_or_create(&Route { route }));
        }
        for (route, count) in engine.codes_used() {
            used.get_or_create(&Route { route }).inc_by(count);
        }
        let help = "Codes that were used by calls of this process, by the route that has sent them";
        registry.register("codes_used", help, used);
    }
}

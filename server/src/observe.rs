//! What operators see of a running service: the log, metrics, traces, and the signals that it reacts to.

pub(crate) mod journal;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod pulse;
pub(crate) mod signals;
#[cfg(unix)]
pub(crate) mod systemd;
#[cfg(feature = "otlp")]
pub(crate) mod traces;

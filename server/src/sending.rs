//! Sends the messages and callbacks of the engine: routes, and the threads that claim jobs.

pub(crate) mod attempts;
mod metrics;
pub mod routes;
pub(crate) mod workers;

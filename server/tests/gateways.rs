//! Gateways over HTTP, against providers on this machine.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a provider runs beside the test")]

mod documented;
mod failures;
mod presets;
mod responses;
mod settings;

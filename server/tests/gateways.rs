//! Gateways over HTTP, against providers on this machine.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a provider runs beside the test")]

#[path = "gateways/documented.rs"]
mod documented;
#[path = "gateways/failures.rs"]
mod failures;
#[path = "gateways/presets.rs"]
mod presets;
#[path = "gateways/provider.rs"]
mod provider;
#[path = "gateways/responses.rs"]
mod responses;
#[path = "gateways/settings.rs"]
mod settings;

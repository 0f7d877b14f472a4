//! Opens the gateways of routes.

use super::rate::Rate;
use super::route::OpenRoute;
use super::settings::RouteSettings;
use seconder::remote::Dialer;
use seconder_gateways::Problem;
use serde_json::{Map, Value};
use std::sync::Mutex;
use std::time::Duration;

/// The time in which a gateway has to take a connection.
const REACH: Duration = Duration::from_secs(5);

/// Opens the gateway of a route.
///
/// # Errors
/// All errors in the settings, so that nothing half-configured is stored or started.
pub fn check(settings: &str) -> std::result::Result<(), Vec<Problem>> {
    open(settings, &Dialer::default()).map(drop)
}

/// Returns whether the provider of a route with these settings reports the outcomes of messages over HTTP.
pub fn takes_receipts(settings: &str) -> bool {
    open(settings, &Dialer::default()).is_ok_and(|open| open.gateway.takes_receipts())
}

/// Connects to the gateway of a route, and sends nothing.
///
/// # Errors
/// The reason why it takes no connection.
pub fn reach(settings: &str, dialer: &Dialer) -> std::result::Result<(), String> {
    let open = open(settings, dialer).map_err(|problems| problems[0].to_string())?;
    let Some((host, port, is_encrypted)) = open.gateway.address() else { return Ok(()) };
    let link = dialer.connect(&host, port, is_encrypted, REACH);
    link.map(drop).map_err(|error| format!("{host}:{port}: {error}"))
}

/// Parses the settings of a gateway.
pub(super) fn object(settings: &str) -> std::result::Result<Map<String, Value>, Vec<Problem>> {
    serde_json::from_str(settings).map_err(|error| {
        vec![Problem {
            field: "settings".to_owned(),
            // The text of the error could repeat a secret.
            wrong: format!("are not JSON at line {}, column {}", error.line(), error.column()),
            accepted: "an object with texts, numbers, lists and objects".to_owned(),
        }]
    })
}

pub(super) fn open(
    settings: &str,
    dialer: &Dialer,
) -> std::result::Result<OpenRoute, Vec<Problem>> {
    let settings = object(settings)?;
    let mut problems = Vec::new();
    let (settings, of_gateway) = RouteSettings::read(&settings, &mut problems);
    let gateway = match seconder_gateways::open(&of_gateway, dialer) {
        Ok(gateway) => Some(gateway),
        Err(more) => {
            problems.extend(more);
            None
        }
    };
    match gateway.filter(|_| problems.is_empty()) {
        Some(gateway) => {
            let rate = Mutex::new(Rate::new(settings.rate));
            Ok(OpenRoute { settings, gateway, breaker: Mutex::default(), rate })
        }
        None => Err(problems),
    }
}

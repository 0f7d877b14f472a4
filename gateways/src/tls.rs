//! TLS of the gateways, and the reasons why a connection was not made.

use super::Fields;
use seconder::remote::{Tls, certificate_problem, client_tls};
use seconder::{Error, Stage};
use std::io;
use std::path::Path;

/// Returns TLS with the authorities of the setting `ca_file`, or the system's without it. An error in the file is noted.
pub(super) fn trusted(fields: &mut Fields<'_>) -> Option<Tls> {
    let trusted = client_tls(fields.text("ca_file").map(Path::new));
    trusted.map_err(|error| fields.problem("ca_file", reason(error))).ok()
}

/// Returns the reason of an error for operators, who know its setting, or the host.
pub fn reason(error: Error) -> String {
    match error {
        Error::InvalidArgument { reason, .. } => reason.into_owned(),
        Error::Unavailable { stage: Stage::Tls, message, .. } => {
            let wrong = message.split_once(": ").map_or(message.as_str(), |(_, wrong)| wrong);
            format!("TLS failed: {wrong}")
        }
        Error::Unavailable { message, .. } => message,
        other => other.to_string(),
    }
}

/// Returns the reason why a connection that a runtime has made has no TLS.
pub(super) fn failed(error: &io::Error) -> String {
    let wrong = certificate_problem(error).unwrap_or_else(|| error.to_string());
    format!("TLS failed: {wrong}")
}

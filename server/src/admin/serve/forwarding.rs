//! The service to which `seconder serve --forward` passes calls on.

use super::options::Serve;
use super::running::trouble_with;
use crate::admin::input::secret::{credential, secret_file};
use crate::{invalid, log};
use seconder::engine::Engine;
use seconder::{Result, Service, Settings};
use seconder_server::Forward;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The time that a call to the other service may take. Clients wait for 10 seconds, so they receive the error.
const TIMEOUT: Duration = Duration::from_secs(8);
/// The time for which a connection to it is kept without a call.
const IDLE: Duration = Duration::from_secs(15);

/// A placeholder for a key, with which nothing is sent.
const ANY_KEY: &str = "any";

/// Returns the settings of the other service's client, if the options name one. Nothing is opened.
///
/// # Errors
/// The errors in these options.
pub(crate) fn client(options: &Serve) -> Result<Option<Settings>> {
    let Some(url) = &options.forward.forward else { return Ok(None) };
    check_forward_url(url)?;
    if options.database.is_sandbox() {
        let reason = "cannot be used with sandbox:, which accepts every code".to_owned();
        return Err(invalid("forward", reason));
    }
    let file = options.forward.forward_key_file.clone().or_else(|| credential("forward-key"));
    let file = file.ok_or_else(|| {
        let reason = "is missing, with the API key of the service of --forward".to_owned();
        invalid("forward-key-file", reason)
    })?;
    let mut settings = options
        .database
        .network
        .apply(Settings::new(url))?
        .api_key(secret_file("forward-key-file", &file)?.expose())
        .timeout(TIMEOUT)
        .max_idle(IDLE)
        .forwarding();
    if let Some(file) = &options.forward.forward_ca_file {
        settings = settings.ca_file(file);
    }
    open(settings.clone())?;
    Ok(Some(settings))
}

/// Checks the URL of the other service.
pub(crate) fn check_forward_url(url: &str) -> Result<()> {
    if !url.starts_with("https:") {
        return Err(invalid("forward", "must begin with https:".to_owned()));
    }
    open(Settings::new(url).api_key(ANY_KEY).forwarding()).map(drop)
}

/// Checks the file with the authorities of the other service.
pub(crate) fn check_forward_ca_file(file: &Path) -> Result<()> {
    open(Settings::new("https://localhost").api_key(ANY_KEY).ca_file(file).forwarding()).map(drop)
}

fn open(settings: Settings) -> Result<Service> {
    settings.open().map_err(|error| match error {
        seconder::Error::InvalidArgument { parameter, reason } if parameter == "url" => {
            invalid("forward", reason.into_owned())
        }
        seconder::Error::InvalidArgument { parameter, reason } if parameter == "ca_file" => {
            invalid("forward-ca-file", reason.into_owned())
        }
        other => other,
    })
}

/// Forwards calls for users who are not in an engine yet to the service of this client.
pub(crate) fn begin(options: &Serve, engine: &Engine, client: Settings) -> Result<Forward> {
    let old = open(client.names(engine.names().clone()))?;
    let trouble = trouble_with("the service to which calls are forwarded");
    let forward = Forward::begin(engine.clone(), old.with_log(Arc::new(trouble)))?;
    let url = options.forward.forward.as_deref().unwrap_or_default();
    log(&format!("calls for users who are not here yet are forwarded to {url}"));
    Ok(forward)
}

//! `seconder relay`.

use crate::admin::database::is_engine;
use crate::admin::input::secret::group_secret;
use crate::admin::serve::options::Relay;
use crate::admin::serve::reload::of_certificate;
use crate::admin::serve::running::{run, trouble_with};
use crate::admin::serve::supervision::Supervision;
use crate::{LOGGER, invalid, log};
use seconder::{Result, Service, Settings};
use seconder_server::{Listeners, Server, raise_descriptor_limit};
use std::sync::Arc;
use std::time::Duration;

/// The time that a connection to the service may be idle before a new one replaces it. One that the
/// service has closed by then is noticed, and not used; a firewall that drops one silently takes
/// minutes.
const IDLE: Duration = Duration::from_secs(15);

pub(crate) fn relay(options: Relay) -> Result<()> {
    options.log.begin();
    raise_descriptor_limit();
    #[cfg(target_os = "linux")]
    seconder_server::protect_memory();
    let names = options.single_names.beside(options.names.as_deref())?.unwrap_or_default();
    let service = open(&options)?.with_log(Arc::new(trouble_with("the service behind this relay")));
    let listeners = Listeners::new().log(log).requests(LOGGER.get().cloned());
    let (listeners, _) = options.local.listeners(listeners)?;
    let server = Server::relay(service, names, listeners)?;
    let mut signals = server.signals()?;
    log(&format!("calls are passed on to {}", options.url));
    options.local.show();
    // The callers find out whether the service behind it responds.
    let supervision = Supervision::start(&server, || Ok(()))?;
    run(server, &mut signals, &supervision, of_certificate);
    Ok(())
}

/// Opens the client of the remote service.
fn open(options: &Relay) -> Result<Service> {
    let url = &options.url;
    if is_engine(url) {
        let reason = "is a database, which needs no relay: seconder serve --unix PATH --database \
                      URL serves it";
        return Err(invalid("URL", reason.to_owned()));
    }
    if !url.starts_with("https:") {
        return Err(invalid("URL", "must begin with https:".to_owned()));
    }
    let settings = options.network.apply(Settings::new(url))?;
    let mut settings = settings
        .api_key(group_secret("api-key-file", &options.api_key_file)?.expose())
        .timeout(Duration::from_secs(options.timeout))
        .max_idle(IDLE);
    if let Some(names) = options.single_names.beside(options.names.as_deref())? {
        settings = settings.names(names);
    }
    if let Some(file) = &options.ca_file {
        settings = settings.ca_file(file);
    }
    if let (Some(certificate), Some(key)) = (&options.client_certificate, &options.client_key) {
        settings = settings.client_certificate(certificate).client_key(key);
    }
    options.pin.iter().fold(settings, |settings, pin| settings.pin(pin)).open()
}

//! `seconder relay`.

use super::supervision::Supervision;
use super::{invalid, is_engine, reload, secret, serve, trouble_with};
use crate::arguments::Relay;
use crate::{LOGGER, log};
use seconder::model::Secret;
use seconder::{Result, Service, Settings};
use seconder_server::{Listeners, Server, raise_descriptor_limit};
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The time that a connection to the service may be idle before a new one replaces it. One that the
/// service has closed by then is noticed, and not used; a firewall that drops one silently takes
/// minutes.
const IDLE: Duration = Duration::from_secs(15);

pub(crate) fn relay(options: Relay) -> Result<()> {
    options.log.begin();
    raise_descriptor_limit();
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
    serve::run(server, &mut signals, &supervision, reload::of_certificate);
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
    let mut settings = Settings::new(url)
        .api_key(private_secret("api-key-file", &options.api_key_file)?.expose())
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
    match (&options.proxy, &options.proxy_file) {
        (Some(url), _) if url.contains('@') => {
            let reason = "must not hold a password, which every user of this machine could see: \
                          write the URL to a file, and use --proxy-file";
            return Err(invalid("proxy", reason.to_owned()));
        }
        (Some(url), _) => settings = settings.proxy(url),
        (None, Some(file)) => {
            settings = settings.proxy(private_secret("proxy-file", file)?.expose());
        }
        (None, None) => {}
    }
    let settings = options.pin.iter().fold(settings, |settings, pin| settings.pin(pin));
    let servers = options.name_server.iter();
    servers.fold(settings, |settings, address| settings.name_server(address)).open()
}

/// Reads a secret from a file that only root, this user and a group can read. Root may have given it to a group, such
/// as the group of the user `seconder`, but never to everybody.
fn private_secret(parameter: &'static str, file: &Path) -> Result<Secret> {
    let cannot = |error| invalid(parameter, format!("{} cannot be read: {error}", file.display()));
    let opened = File::open(file).map_err(cannot)?;
    let found = opened.metadata().map_err(cannot)?;
    let problem = match found {
        ref found if !found.is_file() => "is not a file",
        ref found if found.mode() & 0o027 != 0 => {
            "must not be open to others, nor writable for its group: chmod 600, or 640 for a group"
        }
        ref found if !is_trusted(found) => "must belong to root or to the user of this process",
        _ => return secret(parameter, opened),
    };
    Err(invalid(parameter, format!("{} {problem}", file.display())))
}

fn is_trusted(found: &Metadata) -> bool {
    found.uid() == 0 || found.uid() == nix::unistd::Uid::effective().as_raw()
}

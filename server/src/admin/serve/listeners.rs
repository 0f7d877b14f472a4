//! The listeners and the application's settings that the options of `seconder serve` ask for.

use super::options::Serve;
#[cfg(feature = "otlp")]
use crate::log_trouble;
use crate::{LOGGER, invalid, log};
use seconder::{Result, Settings};
use seconder_server::{Brand, Listeners, Tls};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;

/// The default address of HTTPS.
const DEFAULT_ADDRESS: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8443));

/// Adds the settings of the application that the options give.
pub(crate) fn configured(settings: Settings, options: &Serve) -> Result<Settings> {
    let settings = match &options.application_name {
        Some(name) => settings.application_name(name),
        None => settings,
    };
    Ok(settings.app_settings(options.app.settings()?))
}

/// Returns the listeners that the options ask for.
pub(crate) fn listeners(options: &Serve) -> Result<Listeners> {
    let listeners = Listeners::new().log(log).requests(LOGGER.get().cloned());
    let listeners = listeners.dialer(options.database.dialer()?).brand(brand(options)?);
    let listeners =
        options.operator_listen.iter().try_fold(listeners, |to, addr| to.operators(*addr))?;
    let listeners = match options.metrics {
        Some(addr) => listeners.monitors(addr)?,
        None => listeners,
    };
    #[cfg(unix)]
    let (listeners, passed) = options.local.listeners(listeners)?;
    #[cfg(not(unix))]
    let passed = 0;
    // Traces are set only now, because a thread sends them.
    #[cfg(feature = "otlp")]
    let listeners = listeners.traces(traces(options)?);
    let tls = match (&options.certificate, &options.key) {
        (Some(certificate), Some(key)) => {
            let tls = Tls::Files { certificate: certificate.clone(), key: key.clone() };
            // Checked before anything is created; the server reads the files again.
            tls.expiry()?;
            tls
        }
        _ if options.self_signed || options.sandbox => Tls::SelfSigned,
        _ if passed > 0 => {
            let reason = "is missing: systemd passes a socket of TCP, on which only HTTPS is \
                          served, with --certificate and --key, or --self-signed";
            return Err(invalid("certificate", reason.to_owned()));
        }
        _ if !options.operator_listen.is_empty() => {
            let reason = "is missing: operators are accepted by HTTPS only, with --certificate and --key, or \
                          --self-signed";
            return Err(invalid("certificate", reason.to_owned()));
        }
        _ => return Ok(listeners),
    };
    let proxies = options.trusted_proxies.clone();
    let listeners = listeners.tls(tls).proxies(proxies, options.proxy_protocol);
    if options.listen.is_empty() && passed == 0 {
        return listeners.https(DEFAULT_ADDRESS);
    }
    options.listen.iter().try_fold(listeners, |listeners, addr| listeners.https(*addr))
}

#[cfg(feature = "otlp")]
fn traces(options: &Serve) -> Result<Option<seconder_server::Traces>> {
    let Some(url) = &options.traces.otlp else { return Ok(None) };
    let dialer = options.database.dialer()?;
    let traces = seconder_server::Traces::new(url, options.traces.otlp_ratio, &dialer, log_trouble);
    traces.map(Some).map_err(|reason| invalid("otlp", reason))
}

fn brand(options: &Serve) -> Result<Brand> {
    let read = |file: &PathBuf| {
        let unread = |error| invalid("approver-icon", format!("cannot be read: {error}"));
        std::fs::read(file).map_err(unread)
    };
    let icon = options.approver_icon.as_ref().map(read).transpose()?;
    Brand::new(Some(options.approver_name.clone()), icon)
}

//! `seconder serve`.

use super::delivery::delivered;
#[cfg(unix)]
use super::pid_file::PidFile;
use super::reload::{Reloaded, Reloading};
use super::supervision::Supervision;
use super::{check_keyring, forwarding, invalid, sandbox, user_name};
use crate::admin::arguments::Serve;
use crate::admin::{config, part};
use crate::{LOGGER, log, log_trouble};
use seconder::engine::{ApplicationSettings, Engine};
use seconder::{Result, Settings};
use seconder_server::routes::Routes;
use seconder_server::{Brand, Listeners, Metrics, Server, Signal, Signals, Tls, Workers};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The default address of HTTPS.
const DEFAULT_ADDRESS: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8443));

pub(crate) fn serve(options: Serve) -> Result<()> {
    options.log.begin();
    #[cfg(unix)]
    seconder_server::raise_descriptor_limit();
    #[cfg(target_os = "linux")]
    seconder_server::protect_memory();
    if options.sandbox {
        return sandbox::serve(options);
    }
    let (_, at_start) = config::serve_again()?;
    let listeners = listeners(&options)?;
    let (settings, routes) =
        delivered(options.database.settings()?, &options.database, options.public_url.clone())?;
    let settings = configured(settings, &options)?;
    let settings = settings.push_hosts(options.push_hosts.join(" "));
    let other = forwarding::client(&options)?;
    let database = &options.database;
    database.ring_file().map_or(Ok(()), |file| check_keyring(&file, database.is_on_server()))?;
    #[cfg(unix)]
    let pid_file = options.pid_file.as_deref().map(PidFile::create).transpose()?;
    // All errors in the options were found above, because this may create a database.
    let service = settings.open()?;
    let engine = &service.require_engine()?.clone();
    publish(engine, &options)?;
    let metrics = Metrics::new(engine.clone(), routes.clone());
    let listeners = listeners.metrics(metrics);
    let listeners = match &routes {
        Some(routes) => listeners.routes(routes.clone()),
        None => listeners,
    };
    let forward = other.map(|other| forwarding::begin(&options, engine, other)).transpose()?;
    let workers = routes.map(|routes| start_workers(engine, routes)).transpose()?;
    show(&engine.application_settings());
    let has_https = options.self_signed || options.certificate.is_some();
    if has_https && options.database.is_sandbox() && options.database.api_key_file.is_none() {
        // Peers of a local socket need none. It protects nothing: the sandbox is for tests, and is lost with this process.
        log(&format!("API key of this sandbox: {}", engine.api_key().expose()));
    }
    let header = engine.names().api_key();
    let server = match forward {
        Some(forward) => Server::forward(forward, listeners)?,
        None => Server::serve(service, listeners)?,
    };
    let mut signals = server.signals()?;
    #[cfg(unix)]
    pid_file.as_ref().map_or(Ok(()), PidFile::announce)?;
    if let Some(file) = options.certificate_out.as_ref().filter(|_| !server.addrs().is_empty()) {
        write_certificate(&server, file, &header)?;
    }
    show_addresses(&server);
    #[cfg(unix)]
    options.local.show();
    let database = engine.clone();
    let supervision = Supervision::start(&server, move || database.callback_lanes().map(drop))?;
    let mut reloading = Reloading::of(options, at_start);
    run(server, &mut signals, &supervision, |server| {
        let reloaded = reloading.reload(server, engine, workers.as_ref());
        #[cfg(unix)]
        if let Some(Err(error)) = pid_file.as_ref().map(|file| file.reloaded(&reloaded)) {
            log(&format!("warning: `seconder reload` cannot be answered: {error}"));
        }
        reloaded
    });
    drop(workers);
    Ok(())
}

/// Starts the threads that send messages.
fn start_workers(engine: &Engine, routes: Routes) -> Result<Workers> {
    routes.load(engine)?;
    let unfetched = routes.without_public_url();
    if !unfetched.is_empty() {
        let reason = format!(
            "is missing, from where the providers of these routes fetch what a voice reads out: {}",
            unfetched.join(", ")
        );
        return Err(invalid("public-url", reason));
    }
    show_delivery(&routes);
    Workers::start(engine.clone(), routes, Arc::new(log_trouble))
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

/// Notes where phones reach the service, as others that use the database have to know too.
fn publish(engine: &Engine, options: &Serve) -> Result<()> {
    match &options.public_url {
        Some(url) => engine.set_public_url(&url.to_string()),
        None => Ok(()),
    }
}

/// Creates the database that the options name, unless it is there, and stores the settings of the application.
pub(crate) fn create(options: &Serve) -> Result<()> {
    let settings = options.database.settings()?.changed_by(&user_name());
    configured(settings, options)?.open().map(drop)
}

fn show_addresses(server: &Server) {
    for addr in server.addrs() {
        log(&format!("listening on https://{addr}"));
    }
    for addr in server.operator_addrs() {
        log(&format!("operators: https://{addr}"));
    }
    if let Some(addr) = server.monitors_addr() {
        log(&format!("metrics: http://{addr}/metrics"));
    }
}

/// Adds the settings of the application that the options give.
pub(super) fn configured(settings: Settings, options: &Serve) -> Result<Settings> {
    let settings = match &options.application_name {
        Some(name) => settings.application_name(name),
        None => settings,
    };
    Ok(settings.app_settings(options.app.settings()?))
}

/// Shows where messages go.
fn show_delivery(routes: &Routes) {
    match routes.states().len() {
        0 => log("messages: there are no routes, so they are written to the spool folder; \
                  `seconder route set` adds a gateway"),
        some => log(&format!("messages: sent by gateways (routes: {some})")),
    }
}

/// Returns the listeners that the options ask for.
pub(super) fn listeners(options: &Serve) -> Result<Listeners> {
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

/// Serves until a signal says to stop. SIGHUP calls this function, which returns the outcome.
pub(super) fn run(
    server: Server,
    signals: &mut Signals,
    supervision: &Supervision,
    mut reload: impl FnMut(&Server) -> Reloaded,
) {
    supervision.ready(None);
    loop {
        match signals.wait() {
            Signal::Reload => {
                supervision.reloading();
                let reloaded = reload(&server);
                for line in &reloaded.lines {
                    let level = if reloaded.problem() == Some(line) { "warning: " } else { "" };
                    log(&format!("{level}SIGHUP: {line}"));
                }
                supervision.ready(reloaded.problem());
            }
            Signal::Other(name) => log(&format!("{name} is ignored")),
            _ => break,
        }
    }
    log("stopping");
    supervision.stopping();
    server.stop();
    log("stopped");
}

/// Shows the settings in effect. Most are stored in the database.
pub(super) fn show(settings: &ApplicationSettings) {
    for (label, value) in settings.described() {
        log(&format!("{label}: {value}"));
    }
    log(&format!("names: {}", settings.names));
    let (digits, period) = (settings.authenticator_digits, settings.authenticator_period);
    log(&format!("codes of new authenticator apps: {digits} digits, {period} s"));
    // The file may have gone since it was stored. Users can log in without callbacks, so this is no
    // reason not to start.
    if let Some(Err(error)) = settings.callback_ca_file.as_ref().map(std::fs::File::open) {
        log(&format!(
            "warning: the callback CA file cannot be read, so callbacks will fail: {error}"
        ));
    }
}

/// Writes the self-signed certificate to a file, and shows how clients trust it.
pub(super) fn write_certificate(server: &Server, file: &Path, header: &str) -> Result<()> {
    let pem = server.certificate_pem();
    let written = part::open_to_replace(file).and_then(|mut to| to.write_all(pem.as_bytes()));
    written.map_err(|error| {
        invalid("certificate-out", format!("{} cannot be written: {error}", file.display()))
    })?;
    let (file, url, port) = (file.display(), server.url(), server.addr().port());
    log(&format!("the self-signed certificate is in {file}; to trust it, in a client:"));
    log(&format!("  Rust    Settings::new(\"{url}\").api_key(key).ca_file(\"{file}\").open()"));
    log(&format!("  Python  seconder.open(\"{url}\", api_key=key, ca_file=\"{file}\")"));
    log(&format!(
        "  curl    curl --cacert {file} -H \"{header}: $KEY\" \
         https://localhost:{port}/protected/json/app/details"
    ));
    Ok(())
}

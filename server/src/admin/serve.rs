//! `seconder serve`.

pub(crate) mod forwarding;
mod listeners;
#[cfg(unix)]
mod local;
pub(crate) mod options;
#[cfg(unix)]
pub(crate) mod pid_file;
pub(crate) mod reload;
pub(crate) mod running;
mod sandbox;
pub(crate) mod supervision;

use crate::admin::config;
use crate::admin::database::delivery::delivered;
use crate::admin::database::{check_keyring, user_name};
use crate::{invalid, log, log_trouble};
use listeners::{configured, listeners};
use options::Serve;
#[cfg(unix)]
use pid_file::PidFile;
use reload::Reloading;
use running::{run, show, write_certificate};
use seconder::Result;
use seconder::engine::Engine;
use seconder_server::routes::Routes;
use seconder_server::{Metrics, Server, Workers};
use std::sync::Arc;
use supervision::Supervision;

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
    let metrics = Metrics::new(engine.clone());
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

/// Shows where messages go.
fn show_delivery(routes: &Routes) {
    match routes.states().len() {
        0 => log("messages: there are no routes, so they are written to the spool folder; \
                  `seconder route set` adds a gateway"),
        some => log(&format!("messages: sent by gateways (routes: {some})")),
    }
}

//! `seconder serve --sandbox`.

use super::listeners::{configured, listeners};
use super::options::Serve;
use super::reload::of_certificate;
use super::running::{run, show, write_certificate};
use super::supervision::Supervision;
use crate::{invalid, log, log_trouble};
use seconder::Result;
use seconder::http::{Backend, SANDBOX_API_KEY, SANDBOX_PATH};
use seconder::sandbox::Sandbox;
use seconder_server::Server;
use std::sync::Arc;

pub(crate) fn serve(options: Serve) -> Result<()> {
    let is_open = options.listen.iter().any(|addr| !addr.ip().is_loopback());
    if is_open && options.database.api_key_file.is_none() {
        let reason = "is needed to listen on other addresses than loopback ones: everybody knows the \
                      key of a sandbox that has none of its own";
        return Err(invalid("api-key-file", reason.to_owned()));
    }
    let listeners = listeners(&options)?;
    let options = Arc::new(options);
    let own = Arc::clone(&options);
    let sandbox = Sandbox::open(move |url| {
        let settings = configured(own.database.settings_at(url)?, &own)?;
        Ok(match own.database.api_key_file {
            Some(_) => settings,
            None => settings.api_key(SANDBOX_API_KEY),
        })
    })?;
    log_trouble(&format!(
        "THIS IS A SANDBOX, FOR TESTS ALONE: it protects nothing, sends no message, and forgets everything \
         when it ends. Requests to {SANDBOX_PATH} read its codes"
    ));
    show(&sandbox.application_settings());
    match &options.database.api_key_file {
        Some(file) => log(&format!("API key of this sandbox: in {}", file.display())),
        None => log(&format!("API key of this sandbox: {SANDBOX_API_KEY}")),
    }
    let header = sandbox.names().api_key();
    let server = Server::sandbox(sandbox, listeners)?;
    let mut signals = server.signals()?;
    if let Some(file) =
        options.certificate_out.as_ref().filter(|_| !server.certificate_pem().is_empty())
    {
        write_certificate(&server, file, &header)?;
    }
    for addr in server.addrs() {
        log(&format!("listening on https://{addr}"));
    }
    let supervision = Supervision::start(&server, || Ok(()))?;
    run(server, &mut signals, &supervision, of_certificate);
    Ok(())
}

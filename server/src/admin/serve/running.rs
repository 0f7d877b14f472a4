//! A server until a signal stops it, and what its operator is shown.

use super::supervision::Supervision;
use crate::admin::output::files;
use crate::{invalid, log, log_trouble};
use seconder::engine::ApplicationSettings;
use seconder::{CallOutcome, CallRecord, Result};
use seconder_server::{Server, Signal, Signals};
use std::io::Write;
use std::path::Path;

/// The outcome of a reload, in lines for the operator.
pub(crate) struct Reloaded {
    pub(crate) lines: Vec<String>,
    /// Set if the last line says why something stays as it was.
    pub(crate) failed: bool,
}

impl Reloaded {
    pub(crate) fn problem(&self) -> Option<&str> {
        self.lines.last().filter(|_| self.failed).map(String::as_str)
    }
}

/// Serves until a signal says to stop. SIGHUP calls this function, which returns the outcome.
pub(crate) fn run(
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
pub(crate) fn show(settings: &ApplicationSettings) {
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
pub(crate) fn write_certificate(server: &Server, file: &Path, header: &str) -> Result<()> {
    let pem = server.certificate_pem();
    let written = files::open_to_replace(file).and_then(|mut to| to.write_all(pem.as_bytes()));
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

/// Logs calls that a service did not carry out for a reason that the operator has to mend. Clients cause no such
/// records on purpose, and a record holds no secret.
pub(crate) fn trouble_with(service: &'static str) -> impl Fn(&CallRecord) + Send + Sync {
    let mend = [
        CallOutcome::Unauthorized,
        CallOutcome::Unavailable,
        CallOutcome::InvalidResponse,
        CallOutcome::Internal,
    ];
    move |record| {
        if mend.contains(&record.outcome) {
            log_trouble(&format!("{service}: {record}"));
        }
    }
}

//! Applies changed options to a running service on SIGHUP.

use super::listeners::configured;
use super::options::Serve;
use super::running::Reloaded;
use crate::admin::app::options::of_option;
use crate::admin::config;
use crate::admin::config::Values;
use seconder::Result;
use seconder::engine::Engine;
use seconder_server::{Server, Workers};

/// Returns whether the database has the value of an option, from where every node reads it. All others but
/// `LOG_LEVEL` are for the start.
fn is_setting(option: &str) -> bool {
    of_option(option).is_some()
}

const LOG_LEVEL: &str = "log-level";

/// Reads the options again.
pub(crate) struct Reloading {
    /// The options of the start.
    started: Serve,
    at_start: Values,
    last: Values,
}

impl Reloading {
    pub(crate) fn of(started: Serve, at_start: Values) -> Reloading {
        Reloading { started, last: at_start.clone(), at_start }
    }

    /// Reads them, and the files that they name. With an error, nothing has changed, but for a certificate
    /// that cannot be used, or routes that cannot be read: then these stay as they were.
    pub(crate) fn reload(
        &mut self,
        server: &Server,
        engine: &Engine,
        workers: Option<&Workers>,
    ) -> Reloaded {
        let mut lines = match self.read(engine) {
            Ok(lines) => lines,
            Err(error) => {
                let lines = vec![format!("nothing was changed: {error}")];
                return Reloaded { lines, failed: true };
            }
        };
        // Failures come last.
        let mut parts: Vec<_> = workers.map(of_routes).into_iter().collect();
        parts.push(of_certificate(server));
        parts.sort_by_key(|part| part.failed);
        let failed = parts.iter().any(|part| part.failed);
        lines.extend(parts.into_iter().flat_map(|part| part.lines));
        Reloaded { lines, failed }
    }

    fn read(&mut self, engine: &Engine) -> Result<Vec<String>> {
        let (now, values) = config::serve_again()?;
        let is_stored = |name: &str| is_setting(name) && !self.started.database.is_sandbox();
        let applies = |name: &str| is_stored(name) || name == LOG_LEVEL;
        if !self.started.database.is_sandbox() {
            // Checks the options as a program that starts now would, with the database that this one has.
            let settings = self.started.database.settings()?.must_exist(true);
            drop(configured(settings, &now)?.open()?);
            engine.read_settings_again();
        }
        let key = |name: &str| name.replace('-', "_");
        let mut lines = Vec::new();
        for (name, value) in &values {
            let differs = |before: &Values| before.get(name) != Some(value);
            if applies(name) && differs(&self.last) {
                lines.push(match value.is_empty() {
                    false => format!("{} has changed", key(name)),
                    true => format!("{} is given no more, and stays as it is stored", key(name)),
                });
            }
            if !applies(name) && differs(&self.at_start) {
                lines.push(format!("{} has changed, which needs a restart", key(name)));
            }
        }
        now.log.apply_level();
        self.last = values;
        Ok(lines)
    }
}

/// Reads the routes again.
fn of_routes(workers: &Workers) -> Reloaded {
    let (line, failed) = match workers.reload() {
        Ok(()) => ("the routes were read again".to_owned(), false),
        Err(error) => (format!("the routes stay as they were: {error}"), true),
    };
    Reloaded { lines: vec![line], failed }
}

/// Reads the certificate again.
pub(crate) fn of_certificate(server: &Server) -> Reloaded {
    let (line, failed) = match server.reload() {
        Ok(true) => ("the certificate and its key were read again".to_owned(), false),
        Ok(false) if server.addrs().is_empty() => {
            ("there is no certificate, so there is no file to read".to_owned(), false)
        }
        Ok(false) => {
            ("the certificate is self-signed, so there is no file to read".to_owned(), false)
        }
        Err(error) => (format!("the certificate stays as it was: {error}"), true),
    };
    Reloaded { lines: vec![line], failed }
}

//! Reports the state of the process to systemd.

use crate::log;
use seconder::{Error, Result};
use seconder_server::Server;
#[cfg(unix)]
use seconder_server::{Notifier, Watchdog};

/// Reports to systemd, if it asked for that.
#[cfg(unix)]
pub(crate) struct Supervision {
    notifier: Notifier,
    _watchdog: Option<Watchdog>,
}

#[cfg(unix)]
impl Supervision {
    /// Starts the supervision, with this look at the database.
    pub(crate) fn start(
        server: &Server,
        look: impl Fn() -> Result<()> + Send + 'static,
    ) -> Result<Supervision> {
        let notifier = Notifier::from_env().unwrap_or_else(|error| {
            log(&format!("warning: {error}"));
            Notifier::default()
        });
        let watchdog = Watchdog::start(&notifier, server.pulse()?, look)
            .map_err(|_| Error::Internal { message: "a thread could not be started".into() })?;
        Ok(Supervision { notifier, _watchdog: watchdog })
    }

    /// Reports that the service is ready, with the problem, if there is one.
    pub(crate) fn ready(&self, problem: Option<&str>) {
        sent(self.notifier.ready(problem));
    }

    pub(crate) fn reloading(&self) {
        sent(self.notifier.reloading());
    }

    pub(crate) fn stopping(&self) {
        sent(self.notifier.stopping());
    }
}

#[cfg(unix)]
fn sent(result: std::io::Result<()>) {
    if let Err(error) = result {
        log(&format!("warning: systemd was not notified: {error}"));
    }
}

/// The supervision of a system without systemd, which does nothing.
#[cfg(not(unix))]
pub(crate) struct Supervision;

#[cfg(not(unix))]
impl Supervision {
    pub(crate) fn start(_: &Server, _: impl Fn() -> Result<()>) -> Result<Supervision> {
        Ok(Supervision)
    }

    pub(crate) fn ready(&self, _: Option<&str>) {}

    pub(crate) fn reloading(&self) {}

    pub(crate) fn stopping(&self) {}
}

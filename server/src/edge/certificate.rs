//! The certificate of a running server. Its files are read again once they have changed, and the operator is
//! warned of its end, because clients reject it from then on.

use crate::edge::tls::{CERTIFICATE_RENEWAL, Identity, Tls};
use crate::invalid;
use crate::observe::journal::Journal;
use axum_server::tls_rustls::RustlsConfig;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use seconder::Result;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// The interval at which the files are polled for changes.
const LOOK: Duration = Duration::from_secs(5);
/// The interval between warnings of a certificate that should be renewed.
const WARN_EVERY: Duration = Duration::from_secs(A_DAY);
const A_DAY: u64 = 24 * 60 * 60;

pub(crate) struct Certificate {
    source: Tls,
    config: RustlsConfig,
    journal: Arc<Journal>,
    state: Mutex<State>,
}

struct State {
    ends: SystemTime,
    /// The stamps of the files when they were read, or could not be used.
    stamps: Vec<Stamp>,
    warned: Option<Instant>,
}

/// The metadata of a file that shows that it was replaced.
type Stamp = Option<(SystemTime, u64)>;

impl Certificate {
    /// Returns the certificate for HTTPS, and its text if it is self-signed.
    ///
    /// # Errors
    /// As [`Certificate::open`], and if `tls` is `None`.
    pub(crate) fn required(
        tls: Option<Tls>,
        journal: &Arc<Journal>,
    ) -> Result<(Option<Arc<Certificate>>, String)> {
        let tls = tls.ok_or_else(|| invalid("certificate", "is missing, which HTTPS needs"))?;
        let (certificate, pem) = Certificate::open(tls, Arc::clone(journal))?;
        Ok((Some(Arc::new(certificate)), pem))
    }

    /// Reads it. Returns the text by which clients trust it, if it is self-signed.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the files are invalid.
    pub(crate) fn open(source: Tls, journal: Arc<Journal>) -> Result<(Certificate, String)> {
        // Before they are read: files that change meanwhile are read again.
        let stamps = stamps(&source);
        let Identity { certificate_pem, config, ends } = source.identity()?;
        let config = RustlsConfig::from_config(config);
        let state = Mutex::new(State { ends, stamps, warned: None });
        let certificate = Certificate { source, config, journal, state };
        certificate.warn();
        Ok((certificate, certificate_pem))
    }

    /// Returns the configuration that always presents the latest one.
    pub(crate) fn config(&self) -> RustlsConfig {
        self.config.clone()
    }

    /// Returns the time from which on clients reject it.
    pub(crate) fn ends(&self) -> SystemTime {
        self.state().ends
    }

    /// Registers when it expires, for monitors.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let ends = self.ends().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let gauge = Gauge::<i64>::default();
        gauge.set(i64::try_from(ends.as_secs()).unwrap_or(i64::MAX));
        let help = "When the certificate expires, in Unix time";
        registry.register_with_unit("certificate_expiry_timestamp", help, Unit::Seconds, gauge);
    }

    /// Reads the files again. Returns false if it is self-signed, and so has no files.
    ///
    /// # Errors
    /// As [`Certificate::open`]: then it stays as it is.
    pub(crate) fn reload(&self) -> Result<bool> {
        if self.source == Tls::SelfSigned {
            return Ok(false);
        }
        self.state().stamps = stamps(&self.source);
        let Identity { config, ends, .. } = self.source.identity()?;
        self.config.reload_from_config(config);
        {
            let mut state = self.state();
            (state.ends, state.warned) = (ends, None);
        }
        self.warn();
        Ok(true)
    }

    /// Looks after it until the server ends.
    pub(crate) async fn watch(self: Arc<Certificate>) {
        let mut ticks = tokio::time::interval(LOOK);
        loop {
            ticks.tick().await;
            let certificate = Arc::clone(&self);
            // Files may be on a disk that hangs.
            drop(tokio::task::spawn_blocking(move || certificate.look()).await);
        }
    }

    fn look(&self) {
        // The files are seldom replaced together. With one of them alone, this fails, and the certificate
        // stays as it is until the other one follows.
        if self.source != Tls::SelfSigned && self.state().stamps != stamps(&self.source) {
            self.journal.note(&match self.reload() {
                Ok(_) => "the certificate and its key have changed, and were read again".to_owned(),
                Err(error) => {
                    format!("warning: the certificate or its key has changed; it stays as it was: {error}")
                }
            });
        }
        self.warn();
    }

    /// Warns of its end, from time to time.
    #[allow(clippy::disallowed_methods, reason = "clients judge it by the clock of their machine")]
    fn warn(&self) {
        let mut state = self.state();
        let is_due = state.warned.is_none_or(|at| at.elapsed() >= WARN_EVERY);
        let now = SystemTime::now();
        if is_due && state.ends <= now + CERTIFICATE_RENEWAL {
            state.warned = Some(Instant::now());
            let warning = match state.ends.duration_since(now) {
                Ok(left) => format!("expires in {}", days(left)),
                Err(over) => {
                    format!("expired {} ago, so clients reject it", days(over.duration()))
                }
            };
            self.journal.note(&format!("warning: the certificate {warning}"));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn days(time: Duration) -> String {
    match time.as_secs() / A_DAY {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}

fn stamps(source: &Tls) -> Vec<Stamp> {
    let one = |file: &Path| -> Stamp {
        let metadata = std::fs::metadata(file).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    match source {
        Tls::SelfSigned => Vec::new(),
        Tls::Files { certificate, key } => vec![one(certificate), one(key)],
    }
}

//! Connections to a PostgreSQL server: how they are established, and the certificates that are accepted.

use super::algorithms;
use super::deadline::Deadline;
use super::dialer::{Dialer, Peer};
use super::error_mapping::Fault;
use super::link::{Link, Tls};
use super::pin::is_valid_at;
use super::reach::Reach;
use super::settings::RemoteSettings;
use super::socket::Socket;
use super::stream::Stream;
use super::trust::{self, Trust};
use crate::error::{Error, Stage};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A deadline.
#[derive(Clone, Copy)]
pub(crate) struct Until(Deadline);

impl Until {
    /// Returns the deadline after this time from now.
    pub(crate) fn within(time: Duration) -> Until {
        Until(Deadline::within(time))
    }

    /// Returns this deadline, or the one after this time from now if that is sooner.
    pub(crate) fn sooner(self, time: Duration) -> Until {
        Until(self.0.sooner(time))
    }

    pub(crate) fn left(self) -> Duration {
        self.0.left()
    }
}

/// The certificates of a server that are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verify {
    /// Any: an attacker on the network can take the place of the server.
    Nothing,
    /// Certificates of an authority in this file, for any host.
    Authority(PathBuf),
    /// Certificates of an authority in this file, or of the system's authorities if it is `None`,
    /// for this host.
    Host(Option<PathBuf>),
}

/// Returns the configuration of TLS, with the certificate and the key that this client presents, if
/// any.
///
/// # Errors
/// [`Error::InvalidArgument`] if a file cannot be used.
pub(crate) fn tls(verify: &Verify, own: Option<(PathBuf, PathBuf)>) -> crate::Result<Tls> {
    let settings = RemoteSettings {
        #[cfg(feature = "client-certificates")]
        client_certificate: own.as_ref().map(|(certificate, _)| certificate.clone()),
        #[cfg(feature = "client-certificates")]
        client_key: own.as_ref().map(|(_, key)| key.clone()),
        ca_file: match verify {
            Verify::Authority(file) | Verify::Host(Some(file)) => Some(file.clone()),
            Verify::Nothing | Verify::Host(None) => None,
        },
        ..RemoteSettings::default()
    };
    #[cfg(not(feature = "client-certificates"))]
    if own.is_some() {
        return Err(Error::invalid_argument("url", "this build has no client certificates"));
    }
    let provider = Arc::new(algorithms::provider());
    let verifier: Option<Arc<dyn ServerCertVerifier>> = match verify {
        Verify::Host(None) => None,
        Verify::Nothing => Some(Arc::new(Listed { authorities: None, is_named: false, provider })),
        Verify::Authority(file) => Some(Arc::new(Listed::read(file, false, provider)?)),
        Verify::Host(Some(file)) => Some(Arc::new(Listed::read(file, true, provider)?)),
    };
    Trust::with_verifier(&settings, verifier)?.into_tls()
}

impl Link {
    /// Connects by TCP to the first address of a host that accepts the connection. A database is not reached through
    /// a proxy.
    pub(crate) fn tcp(dialer: &Dialer, host: &str, port: u16, until: Until) -> crate::Result<Link> {
        let shown = format!("{host}:{port}");
        let (shown, reach) = (shown.as_str(), Reach::Anywhere);
        let peer = Peer { host, port, shown, reach, is_encrypted: false };
        let socket = dialer.dial(&peer, until.0)?;
        let kept = socket.keep_alive();
        kept.map_err(|error| Fault::Io(error).at(Stage::Connect, shown))?;
        Ok(Link(Stream::Plain(socket)))
    }

    /// Connects to a Unix socket.
    #[cfg(target_os = "linux")]
    pub(crate) fn local(path: &Path, until: Until) -> crate::Result<Link> {
        let named = path.display().to_string();
        let address = socket2::SockAddr::unix(path)
            .map_err(|_| Error::invalid_argument("url", "names a socket with too long a path"))?;
        let socket = Socket::connect_local(&address, until.0);
        let socket = socket.map_err(|error| Fault::Io(error).at(Stage::Connect, &named))?;
        Ok(Link(Stream::Plain(socket)))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn local(path: &Path, _: Until) -> crate::Result<Link> {
        let reason = format!("names the socket {}, which needs Linux: name a host", path.display());
        Err(Error::invalid_argument("url", reason))
    }

    /// Sets up TLS with the server at this host.
    pub(crate) fn secure(self, tls: &Tls, host: &str) -> crate::Result<Link> {
        self.handshake(tls, host).map_err(renamed)
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self.0, Stream::Encrypted(_))
    }

    /// Returns the server's certificate, if TLS was set up.
    pub(crate) fn certificate(&self) -> Option<&[u8]> {
        match &self.0 {
            Stream::Plain(_) => None,
            Stream::Encrypted(stream) => {
                stream.conn.peer_certificates()?.first().map(AsRef::as_ref)
            }
        }
    }

    pub(crate) fn set_deadline(&mut self, until: Until) {
        self.0.socket().set_deadline(until.0);
    }
}

/// Renames the settings in an error, as they are called in the URL of a database.
fn renamed(error: Error) -> Error {
    let Error::Unavailable { stage, message, .. } = error else { return error };
    let message = message
        .replace(", or its key in the setting pin", "")
        .replace("or name its key in the setting pin", "or name the certificate in sslrootcert")
        .replace("the setting ca_file", "sslrootcert")
        .replace("the setting client_certificate", "sslcert")
        .replace(": is this an http: port?", "");
    Error::unavailable(stage, message)
}

/// Verifies certificates as `sslmode` of PostgreSQL's own clients says: by the authorities of a
/// file, and by the name of the host only with `verify-full`.
#[derive(Debug)]
struct Listed {
    /// `None` if every certificate is accepted.
    authorities: Option<(RootCertStore, Vec<CertificateDer<'static>>)>,
    is_named: bool,
    provider: Arc<CryptoProvider>,
}

impl Listed {
    fn read(file: &Path, is_named: bool, provider: Arc<CryptoProvider>) -> crate::Result<Listed> {
        let certificates =
            trust::from_file(file).map_err(|error| error.of_parameter("url: sslrootcert"))?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        Ok(Listed { authorities: Some((roots, certificates)), is_named, provider })
    }
}

impl ServerCertVerifier for Listed {
    fn verify_server_cert(
        &self,
        presented: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some((roots, listed)) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        let certificate = ParsedCertificate::try_from(presented)?;
        // A server's own certificate may be listed itself, as an authority of one certificate.
        if listed.iter().any(|listed| listed == presented) {
            is_valid_at(presented, now)?;
        } else {
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                roots,
                others,
                now,
                algorithms,
            )?;
        }
        if self.is_named {
            verify_server_name(&certificate, host)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

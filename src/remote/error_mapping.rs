//! Maps the errors of the transport. Their messages are replaced, because they may contain the URL,
//! and with it a token.

#[cfg(feature = "https")]
use super::lookup::Failure;
#[cfg(feature = "https")]
use super::pin::NotPinned;
use super::socket::is_interrupted;
use crate::error::DEADLINE_EXCEEDED;
use crate::exhausted::exhausted;
use crate::{Error, Stage};
#[cfg(feature = "https")]
use rustls::{AlertDescription as Alert, CertificateError, OtherError};
use std::borrow::Cow;
use std::io;

/// The reason why a request failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection, TLS, the deadline, or the end of the call.
    Io(io::Error),
    /// The name could not be resolved.
    #[cfg(feature = "https")]
    Lookup(Failure),
    /// No service is at the other end, or not a trusted one, or the proxy rejected the connection.
    Peer(String),
    /// The socket may not be used, or does not belong to a trusted service.
    #[cfg(all(feature = "unix", target_os = "linux"))]
    Access(String),
    /// The received bytes are not a response.
    BadResponse(Cow<'static, str>),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Io(error)
    }
}

impl Fault {
    pub(super) fn invalid(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault::BadResponse(message.into())
    }

    /// Returns whether the peer has closed the connection.
    #[cfg(all(feature = "engine", feature = "https"))]
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Fault::Io(error) if is_closed(error.kind()))
    }

    pub(super) fn not_http() -> Fault {
        Fault::invalid("it is not HTTP/1.1")
    }

    /// Returns the error of a call that got as far as this stage with this host.
    pub(super) fn at(self, stage: Stage, host: &str) -> Error {
        let message = match self {
            Fault::BadResponse(message) => return Error::invalid_response(message),
            Fault::Io(error) if is_interrupted(&error) => {
                return Error::Cancelled { sent: stage == Stage::Response };
            }
            #[cfg(feature = "https")]
            Fault::Lookup(Failure::Interrupted) => return Error::Cancelled { sent: false },
            Fault::Io(error) => from_io(&error),
            #[cfg(feature = "https")]
            Fault::Lookup(failure) => failure.to_string(),
            Fault::Peer(reason) => reason,
            #[cfg(all(feature = "unix", target_os = "linux"))]
            Fault::Access(reason) => {
                return Error::unavailable(Stage::Access, format!("{host}: {reason}"));
            }
        };
        Error::unavailable(stage, format!("{host}: {message}"))
    }
}

fn from_io(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    #[cfg(feature = "https")]
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return tls(error);
    }
    if let Some(cause) = exhausted(error) {
        return cause.to_owned();
    }
    match error.kind() {
        Kind::ConnectionRefused => "connection refused".to_owned(),
        Kind::HostUnreachable | Kind::NetworkUnreachable => {
            "the host or its network is unreachable".to_owned()
        }
        Kind::TimedOut | Kind::WouldBlock => DEADLINE_EXCEEDED.to_owned(),
        kind if is_closed(kind) => "it closed the connection".to_owned(),
        // For other kinds, the system's message is more exact than the name of the kind.
        _ if error.raw_os_error().is_some() => error.to_string(),
        kind => kind.to_string(),
    }
}

fn is_closed(kind: io::ErrorKind) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        kind,
        Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::BrokenPipe
            | Kind::NotConnected
            | Kind::UnexpectedEof
    )
}

#[cfg(feature = "https")]
fn tls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(other)) => {
            match other.0.downcast_ref::<NotPinned>() {
                Some(NotPinned(own)) => format!(
                    "its key is not pinned by the setting pin. If the service has a new key and \
                     its operator says that it is {own}, pin that"
                ),
                None => certificate(&CertificateError::Other(other.clone())).to_owned(),
            }
        }
        rustls::Error::InvalidCertificate(error) => certificate(error).to_owned(),
        rustls::Error::InvalidMessage(_) => {
            "it does not speak TLS: is this an http: port?".to_owned()
        }
        rustls::Error::PeerIncompatible(_) => {
            "it has no TLS version from 1.2 on, or no cipher suite, in common with this client"
                .to_owned()
        }
        rustls::Error::AlertReceived(
            Alert::CertificateRequired | Alert::UnknownCA | Alert::BadCertificate,
        ) => "it requires a client certificate, or another one than that of the setting \
              client_certificate"
            .to_owned(),
        rustls::Error::AlertReceived(alert) => {
            // Without `Debug`, which a build for size leaves out.
            let name = alert.as_str().unwrap_or("an unknown alert");
            format!("it rejected the TLS handshake ({name})")
        }
        _ => "the TLS handshake failed".to_owned(),
    }
}

/// Explains the problem with a server's certificate and its remedy, if a connection failed because
/// of it. This is for connections that have a setting `ca_file`, and no other setting of a client.
#[cfg(feature = "https")]
pub fn certificate_problem(error: &io::Error) -> Option<String> {
    match error.get_ref()?.downcast_ref() {
        Some(rustls::Error::InvalidCertificate(error)) => Some(without_pin(certificate(error))),
        _ => None,
    }
}

/// Returns the same error, without advice that only a client of a service can follow.
#[cfg(all(feature = "engine", feature = "https"))]
pub(super) fn without_client_settings(error: Error) -> Error {
    let Error::Unavailable { stage, message, .. } = error else { return error };
    let message = without_pin(&message)
        .replace(", or another one than that of the setting client_certificate", "");
    Error::unavailable(stage, message)
}

/// Removes the advice that only a client of a service can follow.
#[cfg(feature = "https")]
fn without_pin(text: &str) -> String {
    text.replace(", or its key in the setting pin", "")
        .replace(" or `seconder serve --self-signed`, or name its key in the setting pin", "")
}

#[cfg(feature = "https")]
fn certificate(error: &CertificateError) -> &'static str {
    use CertificateError as E;
    match error {
        E::UnknownIssuer => {
            "its certificate was not issued by a trusted authority. If it is your own, name its \
             authority, or the certificate itself if it is self-signed, in the setting ca_file, or \
             its key in the setting pin"
        }
        E::Expired | E::ExpiredContext { .. } => {
            "its certificate has expired: renew it, or correct this machine's clock"
        }
        E::NotValidYet | E::NotValidYetContext { .. } => {
            "its certificate is not valid yet: check this machine's clock"
        }
        E::NotValidForName | E::NotValidForNameContext { .. } => {
            "its certificate is for another host: use the name that it was issued for, or issue \
             one for this name"
        }
        E::Revoked => "its certificate has been revoked",
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => {
            "its certificate is not for servers: issue one for serverAuth"
        }
        // Rustls has no variant for this.
        E::Other(OtherError(other))
            if other.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity) =>
        {
            "its certificate is for an authority (CA:TRUE), as `openssl req -x509` creates them, \
             and cannot be used by a server. Create one with \
             `-addext basicConstraints=CA:FALSE` or `seconder serve --self-signed`, or name its \
             key in the setting pin"
        }
        _ => "its certificate is not acceptable",
    }
}

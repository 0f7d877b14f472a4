//! Maps the errors of the transport. Their messages are replaced, because they may contain the URL,
//! and with it a token.

use super::connect::ConnectError;
use super::lookup::Failure;
use super::pin::NotPinned;
use super::progress::NoProgress;
use crate::error::DEADLINE_EXCEEDED;
use crate::{Error, Stage};
use rustls::{AlertDescription as Alert, CertificateError};
use std::io;

/// Converts the error of a failed request.
pub(super) fn from_ureq(error: ureq::Error, host: &str) -> Error {
    match error {
        ureq::Error::Other(inner) => match inner.downcast::<ConnectError>() {
            Ok(failed) => at(failed.stage, &failed.error, failed.at.as_deref().unwrap_or(host)),
            Err(other) if other.is::<NoProgress>() => Error::invalid_response(other.to_string()),
            Err(_) => at(Stage::Response, &ureq::Error::ConnectionFailed, host),
        },
        other => at(Stage::Response, &other, host),
    }
}

fn at(stage: Stage, error: &ureq::Error, host: &str) -> Error {
    use ureq::Error as E;
    let message = match error {
        E::BodyExceedsLimit(limit) => {
            return Error::invalid_response(format!("the body has over {limit} bytes"));
        }
        E::LargeResponseHeader(..) => return Error::invalid_response("the headers are too large"),
        E::Protocol(_) | E::BodyStalled => return Error::invalid_response("it is not HTTP/1.1"),
        E::Http(_) | E::BadUri(_) | E::RequireHttpsOnly(_) => {
            return Error::Internal { message: "a request could not be assembled".into() };
        }
        E::Timeout(_) => DEADLINE_EXCEEDED.to_owned(),
        E::Other(inner) => match inner.downcast_ref::<Failure>() {
            Some(failure) => failure.to_string(),
            None => "the connection failed".to_owned(),
        },
        E::Io(error) => from_io(error),
        E::ConnectProxyFailed(reason) => reason.clone(),
        _ => "the connection failed".to_owned(),
    };
    Error::Unavailable { stage, message: format!("{host}: {message}") }
}

fn from_io(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return tls(error);
    }
    match error.kind() {
        Kind::ConnectionRefused => "connection refused".to_owned(),
        Kind::HostUnreachable | Kind::NetworkUnreachable => {
            "the host or its network is unreachable".to_owned()
        }
        Kind::TimedOut | Kind::WouldBlock => DEADLINE_EXCEEDED.to_owned(),
        Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::BrokenPipe
        | Kind::NotConnected
        | Kind::UnexpectedEof => "it closed the connection".to_owned(),
        kind => kind.to_string(),
    }
}

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
        rustls::Error::AlertReceived(alert) => format!("it rejected the TLS handshake ({alert:?})"),
        _ => "the TLS handshake failed".to_owned(),
    }
}

fn certificate(error: &CertificateError) -> &'static str {
    use CertificateError as E;
    match error {
        E::UnknownIssuer => {
            "its certificate was not issued by a trusted authority. If it is your own, name its \
             authority, or the certificate itself, in the setting ca_file, or its key in the \
             setting pin"
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
        // The error has no variant for this, so it is recognised by its text.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "its certificate is for an authority (CA:TRUE), as `openssl req -x509` creates them, \
             and cannot be used by a server. Create one with \
             `-addext basicConstraints=CA:FALSE` or `seconder serve --self-signed`, or name its \
             key in the setting pin"
        }
        _ => "its certificate is not acceptable",
    }
}

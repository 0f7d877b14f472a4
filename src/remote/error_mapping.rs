//! What went wrong on the way, in words of our own. The transport's words may hold the URL, and
//! with it a token, so none of them is passed on.

use super::connect::ConnectError;
use super::lookup::Failure;
use super::pin::NotPinned;
use crate::error::DEADLINE_EXCEEDED;
use crate::{Error, Stage};
use rustls::{AlertDescription as Alert, CertificateError};
use std::io;

/// The error that a failed request stands for.
pub(super) fn from_ureq(error: ureq::Error, host: &str) -> Error {
    match error {
        ureq::Error::Other(inner) => match inner.downcast::<ConnectError>() {
            Ok(failed) => at(failed.stage, &failed.error, failed.at.as_deref().unwrap_or(host)),
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
            return Error::Internal { message: "a request could not be put together".into() };
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
        Kind::ConnectionRefused => "nobody listens there".to_owned(),
        Kind::HostUnreachable | Kind::NetworkUnreachable => {
            "the network cannot reach it".to_owned()
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
                    "its key is none that the setting pin has. If the service was given a new one \
                     and its operator says that it is {own}, pin that"
                ),
                None => certificate(&CertificateError::Other(other.clone())).to_owned(),
            }
        }
        rustls::Error::InvalidCertificate(error) => certificate(error).to_owned(),
        rustls::Error::InvalidMessage(_) => {
            "it does not speak TLS: is this an http: port?".to_owned()
        }
        rustls::Error::PeerIncompatible(_) => {
            "it has no TLS version from 1.2 on, or no cipher, in \
                                               common with this client"
                .to_owned()
        }
        rustls::Error::AlertReceived(
            Alert::CertificateRequired | Alert::UnknownCA | Alert::BadCertificate,
        ) => "it wants to see a certificate of this client, or another than the setting \
              client_certificate has"
            .to_owned(),
        rustls::Error::AlertReceived(alert) => format!("it refused the TLS connection ({alert:?})"),
        _ => "the TLS connection failed".to_owned(),
    }
}

fn certificate(error: &CertificateError) -> &'static str {
    use CertificateError as E;
    match error {
        E::UnknownIssuer => {
            "its certificate is from nobody who is trusted here. If it is your own, name its \
             authority, or the certificate itself, in the setting ca_file, or its key in the \
             setting pin"
        }
        E::Expired | E::ExpiredContext { .. } => {
            "its certificate has expired: renew it, or set this machine's clock right"
        }
        E::NotValidYet | E::NotValidYetContext { .. } => {
            "its certificate is not valid yet: is this machine's clock right?"
        }
        E::NotValidForName | E::NotValidForNameContext { .. } => {
            "its certificate is for another host: use the name that it was made for, or make one \
             for this name"
        }
        E::Revoked => "its certificate has been revoked",
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => {
            "its certificate is not for servers: make one for serverAuth"
        }
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "its certificate is one for an authority (CA:TRUE), as `openssl req -x509` makes them, \
             and cannot be a server's. Make one with `-addext basicConstraints=CA:FALSE`, or let \
             `seconder serve --self-signed` make one, or name its key in the setting pin"
        }
        _ => "its certificate is not acceptable",
    }
}

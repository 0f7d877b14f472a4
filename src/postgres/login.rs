//! Logs in: by a password, or by another method that the server accepts.

use super::connect::{Connection, Failed};
use super::endpoint;
use super::report::{Problem, Report};
use super::target::Binding;
use crate::{Error, Result};
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use zeroize::Zeroizing;

impl Connection {
    /// Logs in as this user. Only a server that is trusted, because it is on this machine or its certificate was
    /// verified, gets a credential that others could use: the password, or a hash of it that they could pass on.
    pub(super) fn authenticate(
        &mut self,
        user: &str,
        is_trusted: bool,
        binding: Binding,
        password: impl Fn() -> Result<Zeroizing<String>, String>,
    ) -> Result<(), Failed> {
        let password = || {
            password()
                .map_err(|why| Error::storage(format!("the server asks for a password, and {why}")))
        };
        self.send().map_err(failed)?;
        let (mut is_bound, mut is_admitted) = (false, false);
        loop {
            let message = self.receive().map_err(failed)?;
            let ends_unbound = matches!(
                message,
                Message::AuthenticationCleartextPassword
                    | Message::AuthenticationMd5Password(_)
                    | Message::AuthenticationOk
            );
            if binding == Binding::Require && ends_unbound && !is_bound {
                return Err(unbound().into());
            }
            match message {
                Message::AuthenticationCleartextPassword if !is_trusted => {
                    return Err(untrusted("in clear text").into());
                }
                Message::AuthenticationMd5Password(_) if !is_trusted => {
                    return Err(untrusted("as an MD5 hash").into());
                }
                Message::AuthenticationCleartextPassword => {
                    self.answer(password()?.as_bytes())?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let secret = password()?;
                    let hash = md5_hash(user.as_bytes(), secret.as_bytes(), body.salt());
                    self.answer(Zeroizing::new(hash).as_bytes())?;
                }
                Message::AuthenticationSasl(body) => {
                    is_bound = self.scram(&body, binding, &password)?;
                }
                Message::AuthenticationOk => is_admitted = true,
                Message::BackendKeyData(_) => {}
                Message::ParameterStatus(body) => {
                    if let (Ok("server_version"), Ok(value)) = (body.name(), body.value()) {
                        self.version = value.to_owned();
                    }
                }
                // Without the message before, nothing was checked: neither a password nor its binding.
                Message::ReadyForQuery(_) if is_admitted => return Ok(()),
                Message::ErrorResponse(body) => {
                    let report = Report::of(&body);
                    let error = Error::storage(report.advice());
                    return Err(Failed { error, report: Some(report) });
                }
                Message::NoticeResponse(_) => {}
                _ => {
                    return Err(Error::storage(
                        "the server asks for a kind of authentication that is not supported: use \
                         scram-sha-256 in its pg_hba.conf",
                    )
                    .into());
                }
            }
        }
    }

    fn answer(&mut self, secret: &[u8]) -> Result<(), Failed> {
        frontend::password_message(secret, &mut self.output)
            .map_err(|_| Error::storage("the password has a zero byte"))?;
        let sent = self.send();
        zeroize::Zeroize::zeroize(&mut *self.output);
        sent.map_err(failed)
    }

    /// Proves that this client knows the password, and expects the server's proof. Returns whether both are bound to
    /// this connection.
    fn scram(
        &mut self,
        offered: &AuthenticationSaslBody,
        binding: Binding,
        password: &impl Fn() -> Result<Zeroizing<String>>,
    ) -> Result<bool, Failed> {
        let mut mechanisms = offered.mechanisms();
        let (mut plain, mut plus) = (false, false);
        while let Ok(Some(mechanism)) = mechanisms.next() {
            plain |= mechanism == SCRAM_SHA_256;
            plus |= mechanism == SCRAM_SHA_256_PLUS;
        }
        let certificate = self.link.certificate().filter(|_| binding != Binding::Disable);
        let (mechanism, channel) = match certificate {
            Some(certificate) if plus => {
                let hash = endpoint::hash(certificate).ok_or_else(unhashed)?;
                (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash))
            }
            // A server that has offered channel binding learns from this that an attacker has removed the offer.
            Some(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
        };
        let is_bound = mechanism == SCRAM_SHA_256_PLUS;
        if binding == Binding::Require && !is_bound {
            return Err(unbound().into());
        }
        if !is_bound && !plain {
            return Err(Error::storage("the server does not offer scram-sha-256").into());
        }
        let bad = || Error::storage("the server could not prove that it knows the password");
        let mut scram = ScramSha256::new(password()?.as_bytes(), channel);
        frontend::sasl_initial_response(mechanism, scram.message(), &mut self.output)
            .map_err(|_| bad())?;
        self.send().map_err(failed)?;
        loop {
            match self.receive().map_err(failed)? {
                Message::AuthenticationSaslContinue(body) => {
                    scram.update(body.data()).map_err(|_| bad())?;
                    frontend::sasl_response(scram.message(), &mut self.output)
                        .map_err(|_| bad())?;
                    self.send().map_err(failed)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    return scram.finish(body.data()).map(|()| is_bound).map_err(|_| bad().into());
                }
                Message::ErrorResponse(body) => {
                    let report = Report::of(&body);
                    let error = Error::storage(report.advice());
                    return Err(Failed { error, report: Some(report) });
                }
                _ => return Err(bad().into()),
            }
        }
    }
}

/// Returns the error for a server that asks for a password in a form that is not sent to a possible impostor.
fn untrusted(how: &str) -> Error {
    Error::storage(format!(
        "the server asks for the password {how}, which is sent only if its certificate was verified: use \
         sslmode=verify-full, or scram-sha-256 in its pg_hba.conf and a password that was set with \
         password_encryption=scram-sha-256"
    ))
}

/// The login is to be bound to the connection, and cannot be.
fn unbound() -> Error {
    Error::storage(
        "the server does not bind the login to a connection with TLS, which channel_binding requires: \
         use scram-sha-256 in its pg_hba.conf, and turn its ssl on",
    )
}

fn unhashed() -> Error {
    Error::storage(
        "the server's certificate is signed by an algorithm without a hash, so that no login can be \
         bound to it: use another certificate, or channel_binding=disable with sslmode=verify-full",
    )
}

fn failed(problem: Problem) -> Failed {
    match problem {
        Problem::Rejected(report) => {
            Failed { error: Error::storage(report.advice()), report: Some(report) }
        }
        Problem::Lost(why) => Error::storage(why).into(),
    }
}

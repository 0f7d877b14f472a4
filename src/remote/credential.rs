//! Credentials with which a client makes calls.

#[cfg(feature = "https")]
use super::RemoteSettings;
use crate::model::ApiKey;
#[cfg(feature = "https")]
use crate::model::Secret;
#[cfg(feature = "https")]
use crate::wire::Format;
#[cfg(feature = "https")]
use crate::{Error, Result};

/// The proof of who calls.
pub(super) enum Credential {
    /// None is needed by a service that recognises the user of this process.
    #[cfg(feature = "unix")]
    Process,
    /// The key of an application.
    #[cfg_attr(not(feature = "https"), allow(dead_code, reason = "a socket needs none"))]
    Key(ApiKey),
    /// The token of an operator, and the application that requests are about, by its id.
    #[cfg(feature = "https")]
    Operator(Secret, Option<i64>),
}

impl Credential {
    /// Takes the one that the settings of a service on the network have.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless they have one.
    #[cfg(feature = "https")]
    pub(super) fn of_network(settings: &mut RemoteSettings) -> Result<Credential> {
        let credential = match (settings.api_key.take(), settings.operator_token.take()) {
            (Some(key), None) => Credential::Key(key),
            (None, Some(_)) if cfg!(not(feature = "engine")) => {
                let reason =
                    "needs a build of the library with the engine, which knows the operations";
                return Err(Error::invalid_argument("operator_token", reason));
            }
            (None, Some(token)) => {
                // Operations are JSON.
                settings.format = Format::Json;
                Credential::Operator(token, settings.operator_app)
            }
            (Some(_), Some(_)) => {
                let reason = "must not be given with api_key: a service is opened for an application or for an operator";
                return Err(Error::invalid_argument("operator_token", reason));
            }
            (None, None) => {
                let reason = "is missing: a remote service requires the application's API key";
                return Err(Error::invalid_argument("api_key", reason));
            }
        };
        #[cfg(feature = "engine")]
        if settings.operator_app.is_some() && credential.key().is_some() {
            return Err(Error::invalid_argument(
                "operator_app",
                "has no effect without operator_token",
            ));
        }
        Ok(credential)
    }

    /// Returns the key of an application, if it is one.
    pub(super) fn key(&self) -> Option<&ApiKey> {
        match self {
            Credential::Key(key) => Some(key),
            #[allow(unreachable_patterns, reason = "a build may lack the others")]
            _ => None,
        }
    }
}

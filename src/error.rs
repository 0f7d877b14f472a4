//! What can go wrong, told by who must act.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The result of everything that can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no answer. The variant says who must act; none of them lets anybody in.
///
/// No variant ever holds an API key, a token, a code or a shared secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller: an argument cannot be right. Nothing was sent and nothing was changed.
    #[error("{parameter} {reason}")]
    InvalidArgument {
        /// The parameter, by its name in the interface.
        parameter: Cow<'static, str>,
        /// What is wrong with it and what would be accepted.
        reason: Cow<'static, str>,
    },
    /// The operator: the service does not accept the API key (interface 5.3). This says nothing
    /// about the user, so a lock-out must not count it.
    #[error("the API key is not accepted: {message}. Check the api_key setting")]
    Unauthorized {
        /// What the service said.
        message: String,
    },
    /// The service looked at the call and said no (interface 7).
    #[error("{0}")]
    Rejected(Box<Rejection>),
    /// Nobody yet: wait, then repeat (interface 7, statuses 503 and 429).
    #[error("{message}{}", wait(.retry_after))]
    RateLimited {
        /// What was reached.
        message: String,
        /// How long to wait, where that is known.
        retry_after: Option<Duration>,
    },
    /// The network or the service: there was no answer in time.
    #[error("no answer from the service while {stage}: {message}. {}", .stage.advice())]
    Unavailable {
        /// How far the call came.
        stage: Stage,
        /// What the network said.
        message: String,
    },
    /// The service: there was an answer that makes no sense. The base URL may be wrong.
    #[error("the answer makes no sense: {message}. Check that the URL is the service's base URL")]
    InvalidResponse {
        /// What was expected and what came.
        message: String,
    },
    /// Nobody: a callback was not signed by the service with this API key (interface 5.5), or is
    /// stale, or was received before. Answer it with status 401 and believe nothing of it.
    #[error("the callback is not from the service: {message}. Answer it with status 401")]
    InvalidCallback {
        /// What did not hold.
        message: String,
    },
    /// The operator: the database cannot be opened, read or written.
    #[error("storage: {message}")]
    Storage {
        /// What happened and what to do about it.
        message: String,
    },
    /// The makers of this library.
    #[error("internal error, please report it: {message}")]
    Internal {
        /// What should not have happened.
        message: String,
    },
}

/// A rejection by the service, with all that it said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejection {
    /// The HTTP status (interface 7).
    pub status: u16,
    /// The service's error code, as text (`60026`), where it sent one.
    pub code: Option<String>,
    /// The service's words. Their spelling changes over the years: decide on `code`.
    pub message: String,
    /// What is wrong with each field, by its name in the interface.
    pub fields: BTreeMap<String, String>,
}

/// How far a call came before it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The host name was being looked up.
    Dns,
    /// The connection was being made.
    Connect,
    /// The service's certificate was being checked.
    Tls,
    /// The request may have been sent, whole or in part.
    Response,
    /// A code was being handed to what delivers it.
    Delivery,
}

/// What an error says when the time for a call was over.
#[cfg(feature = "remote")]
pub(crate) const TIME_IS_OVER: &str = "the time for the call is over";

impl Error {
    pub(crate) fn invalid_argument(
        parameter: impl Into<Cow<'static, str>>,
        reason: impl Into<Cow<'static, str>>,
    ) -> Error {
        Error::InvalidArgument { parameter: parameter.into(), reason: reason.into() }
    }

    pub(crate) fn invalid_response(message: impl Into<String>) -> Error {
        Error::InvalidResponse { message: message.into() }
    }

    #[cfg(feature = "engine")]
    pub(crate) fn storage(message: impl Into<String>) -> Error {
        Error::Storage { message: message.into() }
    }

    /// Whether there was no answer because the time for the call was over.
    #[cfg(feature = "remote")]
    pub fn timed_out(&self) -> bool {
        matches!(self, Error::Unavailable { message, .. } if message.ends_with(TIME_IS_OVER))
    }

    /// Whether the same call can be made again without the risk that it happens twice.
    pub fn retry_safe(&self) -> bool {
        match self {
            Error::RateLimited { .. } => true,
            Error::Unavailable { stage, .. } => {
                matches!(stage, Stage::Dns | Stage::Connect | Stage::Tls)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the service refused: {} (status {}", self.message, self.status)?;
        if let Some(code) = &self.code {
            write!(f, ", code {code}")?;
        }
        for (field, text) in self.fields.iter().filter(|(field, _)| *field != "message") {
            write!(f, "; {field} {text}")?;
        }
        write!(f, "). It will refuse the same call again")
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Dns => "looking up its name",
            Stage::Connect => "connecting",
            Stage::Tls => "checking its certificate",
            Stage::Response => "waiting for its reply",
            Stage::Delivery => "delivering the code",
        })
    }
}

impl Stage {
    /// What to do when a call got no further.
    fn advice(self) -> &'static str {
        match self {
            Stage::Dns => {
                "Check the host of the URL, the network, and the name servers of resolv.conf or of \
                 the setting name_server"
            }
            Stage::Connect => "Check that the service runs, and the host and port of the URL",
            Stage::Tls => "Nothing was sent",
            Stage::Response => "The call may have been carried out: look before it is repeated",
            Stage::Delivery => "Look after what delivers, and ask for a code again",
        }
    }
}

fn wait(retry_after: &Option<Duration>) -> String {
    match retry_after {
        Some(time) => format!(". Try again in {} s", time.as_secs().max(1)),
        None => ". Try again later".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_tells_status_code_and_fields() {
        let fields = [("message", "no"), ("email", "is invalid")];
        let rejection = Rejection {
            status: 400,
            code: Some("60027".into()),
            message: "User was not valid".into(),
            fields: fields.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        };
        assert_eq!(
            Error::Rejected(Box::new(rejection)).to_string(),
            "the service refused: User was not valid (status 400, code 60027; email is \
             invalid). It will refuse the same call again"
        );
    }

    #[test]
    fn only_what_cannot_have_happened_is_safe_to_repeat() {
        let unavailable = |stage| Error::Unavailable { stage, message: String::new() };
        assert!(unavailable(Stage::Connect).retry_safe());
        assert!(!unavailable(Stage::Response).retry_safe());
        assert!(!Error::invalid_response("").retry_safe());
    }
}

//! The error type. Each variant says who has to act.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The result of every fallible operation of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a call failed. The variant says who has to act. No error ever lets a user in.
///
/// No variant ever holds an API key, a token, a code or a shared secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller: an argument is invalid. Nothing was sent and nothing was changed.
    #[error("{parameter} {reason}")]
    InvalidArgument {
        /// The parameter's name.
        parameter: Cow<'static, str>,
        /// The reason why it is invalid, and the values that would be accepted.
        reason: Cow<'static, str>,
    },
    /// The user: what they typed cannot be a code, because it has other characters than digits or
    /// the wrong length. Nothing was sent, no code was compared, and the limit on wrong codes does
    /// not count it: ask them to type it again.
    #[error("{parameter} {reason}")]
    TokenMalformed {
        /// The parameter's name.
        parameter: Cow<'static, str>,
        /// The form of a code.
        reason: Cow<'static, str>,
    },
    /// The user: the code of a phone verification is wrong (interface 4.14). A wrong code of a user is
    /// no error in Rust: see [`Verdict::Wrong`](crate::calls::Verdict::Wrong).
    #[error("the {parameter} is wrong")]
    TokenWrong {
        /// The parameter's name.
        parameter: Cow<'static, str>,
        /// The service's message.
        message: String,
        /// The service's error code, as text: `60022`.
        code: String,
    },
    /// The operator: the service does not accept the API key (interface 5.3). This says nothing
    /// about the user, so a lock-out must not count it.
    #[error("the API key is not accepted: {message}. Check the api_key setting")]
    Unauthorized {
        /// The service's message.
        message: String,
        /// The service's error code, as text (`60001`), if it sent one.
        code: Option<String>,
    },
    /// The service understood the call and rejected it (interface 7).
    #[error("{0}")]
    Rejected(Box<Rejection>),
    /// The caller, later: wait, then retry (interface 7, statuses 503 and 429).
    #[error("{message}{}", wait(.retry_after))]
    RateLimited {
        /// The limit that was reached.
        message: String,
        /// The time to wait, if known.
        retry_after: Option<Duration>,
        /// The service's error code, as text (`60003`), if it sent one.
        code: Option<String>,
        /// The name of the limit, such as `cool_down`, if the service says it: see [`Error::limit`].
        limit: Option<String>,
    },
    /// The network or the service: no response was received in time. Or this process has no
    /// descriptors or memory left.
    #[error("service unavailable while {stage}: {message}. {}", .stage.advice(*.reads))]
    Unavailable {
        /// The stage that the call reached.
        stage: Stage,
        /// A description of the failure.
        message: String,
        /// True if the call only reads, so that it can be made again at any stage.
        reads: bool,
    },
    /// No action is needed: the program itself ended the call, by its
    /// [`Interrupt`](crate::Interrupt).
    #[error("{}", cancelled(.sent))]
    Cancelled {
        /// True if the request may have been sent, in whole or in part: the call may then have been
        /// carried out. False for a call that only reads.
        sent: bool,
    },
    /// The service: its response could not be parsed, or contradicts itself. The base URL may be
    /// wrong.
    #[error(
        "invalid response from the service: {message}. Check that the URL is the service's base URL"
    )]
    InvalidResponse {
        /// The expected response and the received one.
        message: String,
    },
    /// No action is needed: a callback was not signed by the service with this API key (interface
    /// 5.5), or is stale, or was received before. Reply with status 401 and trust nothing in it.
    #[error("invalid callback: {message}. Reply with status 401")]
    InvalidCallback {
        /// The check that failed.
        message: String,
    },
    /// The operator: the database cannot be opened, read or written, or was removed or replaced while
    /// it was open. In the latter case, open the service again.
    #[error("storage: {message}")]
    Storage {
        /// The failure and its remedy.
        message: String,
    },
    /// The developers of this library: a bug.
    #[error("internal error, please report it: {message}")]
    Internal {
        /// The condition that should not have occurred.
        message: String,
    },
}

/// A rejection by the service, with everything in its reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejection {
    /// The HTTP status (interface 7).
    pub status: u16,
    /// The service's error code, as text (`60026`), if it sent one.
    pub code: Option<String>,
    /// The service's message. Its wording has changed over the years: base decisions on `code`.
    pub message: String,
    /// The reason why each invalid field was rejected, by its name in the interface.
    pub fields: BTreeMap<String, String>,
}

/// The stage that a call had reached when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The host name was being resolved.
    Dns,
    /// The connection was being established.
    Connect,
    /// The TLS handshake was under way and the certificate was being verified.
    Tls,
    /// The request may have been sent, in whole or in part.
    Response,
    /// A code was being handed to the gateway or function that delivers it.
    Delivery,
    /// The socket of a `unix:` URL may not be used by this process, or does not belong to a trusted
    /// service. Nothing was sent. Waiting does not help: an operator has to act.
    Access,
}

/// The limits of a whole application, which its users cannot do anything about.
const OPERATOR_LIMITS: [&str; 4] = ["country_day", "application_day", "completion_min", "key_rate"];

/// The longest text of an error, in bytes: more than a path may have.
pub(crate) const LONGEST_TEXT: usize = 8192;

/// Returns a text for an error: a text that is too long loses its middle, so that an argument of
/// megabytes does not fill a log. Its beginning names the argument, and its end says what to do.
pub(crate) fn bounded<'a>(text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
    const LEFT_OUT: &str = " [...] ";
    let text = text.into();
    if text.len() <= LONGEST_TEXT {
        return text;
    }
    let half = (LONGEST_TEXT - LEFT_OUT.len()) / 2;
    let begin = &text[..text.floor_char_boundary(half)];
    let end = &text[text.ceil_char_boundary(text.len() - half)..];
    Cow::Owned([begin, LEFT_OUT, end].concat())
}

fn shortened(message: impl Into<String>) -> String {
    let message: String = message.into();
    bounded(message).into_owned()
}

/// The end of every message about a call that exceeded its deadline.
#[cfg(any(feature = "engine", feature = "remote"))]
pub(crate) const DEADLINE_EXCEEDED: &str = "the deadline was exceeded";

impl Error {
    pub(crate) fn invalid_argument(
        parameter: impl Into<Cow<'static, str>>,
        reason: impl Into<Cow<'static, str>>,
    ) -> Error {
        Error::InvalidArgument { parameter: bounded(parameter), reason: bounded(reason) }
    }

    /// Returns a rejection with this message, which services also have among the fields.
    #[doc(hidden)]
    pub fn rejected(status: u16, code: Option<&str>, message: impl Into<String>) -> Error {
        let message = message.into();
        let fields = [("message".to_owned(), message.clone())].into();
        let code = code.map(str::to_owned);
        Error::Rejected(Box::new(Rejection { status, code, message, fields }))
    }

    pub(crate) fn token_malformed(parameter: &'static str, reason: &'static str) -> Error {
        Error::TokenMalformed { parameter: parameter.into(), reason: reason.into() }
    }

    /// Returns the same error for the parameter of this name: the type of a value does not know
    /// which parameter the value is.
    #[cfg(any(feature = "engine", feature = "remote"))]
    pub(crate) fn of_parameter(self, parameter: &'static str) -> Error {
        match self {
            Error::InvalidArgument { reason, .. } => Error::invalid_argument(parameter, reason),
            Error::TokenMalformed { reason, .. } => {
                Error::TokenMalformed { parameter: parameter.into(), reason }
            }
            other => other,
        }
    }

    /// Returns the same error of a call that only reads.
    #[cfg(any(feature = "engine", feature = "remote"))]
    pub(crate) fn of_reading(self) -> Error {
        match self {
            Error::Unavailable { stage, message, .. } => {
                Error::Unavailable { stage, message, reads: true }
            }
            Error::Cancelled { .. } => Error::Cancelled { sent: false },
            other => other,
        }
    }

    pub(crate) fn unavailable(stage: Stage, message: impl Into<String>) -> Error {
        Error::Unavailable { stage, message: shortened(message), reads: false }
    }

    pub(crate) fn invalid_response(message: impl Into<String>) -> Error {
        Error::InvalidResponse { message: shortened(message) }
    }

    #[cfg(feature = "engine")]
    pub(crate) fn storage(message: impl Into<String>) -> Error {
        Error::Storage { message: shortened(message) }
    }

    /// Returns the service's error code, as text (`60026`), if it sent one. The engine's errors
    /// have the codes that a remote service sends. (A user's wrong token is no error: its code is in
    /// [`Verification::error_code`](crate::calls::Verification::error_code).)
    pub fn code(&self) -> Option<&str> {
        match self {
            Error::Rejected(rejection) => rejection.code.as_deref(),
            Error::TokenWrong { code, .. } => Some(code),
            Error::Unauthorized { code, .. } | Error::RateLimited { code, .. } => code.as_deref(),
            _ => None,
        }
    }

    /// Returns the name of the limit that was reached, such as `cool_down`, `wrong_codes` or `country_day`, if the
    /// error is [`Error::RateLimited`] and the service says which: interface 8 lists them. Services of other projects
    /// do not. A later version may have more.
    pub fn limit(&self) -> Option<&str> {
        match self {
            Error::RateLimited { limit, .. } => limit.as_deref(),
            _ => None,
        }
    }

    /// True if the limit that was reached is one of the whole application: `country_day`, `application_day` or
    /// `key_rate`. Its users cannot do anything about it, but the operator can raise it.
    pub fn is_operator_limit(&self) -> bool {
        self.limit().is_some_and(|limit| OPERATOR_LIMITS.contains(&limit))
    }

    /// Returns the time to wait before a retry, in whole seconds, if known: the number that the
    /// message of [`Error::RateLimited`] shows.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        match self {
            Error::RateLimited { retry_after, .. } => retry_after.map(whole_seconds),
            _ => None,
        }
    }

    /// Returns whether the call exceeded its deadline.
    #[cfg(feature = "remote")]
    pub fn timed_out(&self) -> bool {
        matches!(self, Error::Unavailable { message, .. } if message.ends_with(DEADLINE_EXCEEDED))
    }

    /// Returns whether the same call can be retried without the risk that it takes effect twice: it did not
    /// reach the service, or it only reads, such as `user_status`. False where the same call would
    /// fail again.
    pub fn retry_safe(&self) -> bool {
        match self {
            Error::RateLimited { .. } => true,
            Error::Cancelled { sent } => !sent,
            Error::Unavailable { stage, reads, .. } => {
                *reads || matches!(stage, Stage::Dns | Stage::Connect | Stage::Access | Stage::Tls)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rejected by the service: {} (status {}", self.message, self.status)?;
        if let Some(code) = &self.code {
            write!(f, ", code {code}")?;
        }
        // Services repeat the message among the fields.
        for (field, text) in self.fields.iter().filter(|(field, _)| *field != "message") {
            write!(f, "; {field} {text}")?;
        }
        write!(f, "). Do not retry: the same call will be rejected again")
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Dns => "resolving its name",
            Stage::Connect => "connecting",
            Stage::Tls => "establishing a TLS connection",
            Stage::Response => "waiting for its response",
            Stage::Delivery => "delivering the code",
            Stage::Access => "checking its socket",
        })
    }
}

impl Stage {
    /// Returns the name in the log of a call and in Python: `dns`, `connect`, `tls`, `response`, `delivery`, `access`.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Dns => "dns",
            Stage::Connect => "connect",
            Stage::Tls => "tls",
            Stage::Response => "response",
            Stage::Delivery => "delivery",
            Stage::Access => "access",
        }
    }

    /// Returns the advice for a call that failed at this stage.
    fn advice(self, reads: bool) -> &'static str {
        match self {
            Stage::Dns => {
                "Check the host of the URL, the network, and the name servers of resolv.conf or of \
                 the setting name_server"
            }
            Stage::Connect => {
                "Check that it runs, and the host and port, or the socket, of the URL"
            }
            Stage::Tls => "Nothing was sent",
            Stage::Response if reads => "The call changes nothing, and can be retried",
            Stage::Response => "The call may have been carried out: check before you retry it",
            Stage::Delivery => "Check the delivery function or gateway, and request the code again",
            Stage::Access => {
                "Nothing was sent. Check the socket of the URL, its owner and its mode"
            }
        }
    }
}

/// Returns a wait in whole seconds, as every message, header and language interface shows it. Rounded up, and at least
/// one: a caller that retries a moment early is rate limited again.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add((wait.subsec_nanos() > 0).into()).max(1)
}

fn cancelled(sent: &bool) -> &'static str {
    match sent {
        true => {
            "the call was cancelled while it waited for its response. It may have been carried \
             out: check before you retry it"
        }
        false => "the call was cancelled before it took effect. It can be retried",
    }
}

fn wait(retry_after: &Option<Duration>) -> String {
    match retry_after {
        Some(time) => format!(". Try again in {} s", whole_seconds(*time)),
        None => ". Try again later".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_shows_status_code_and_fields() {
        let fields = [("message", "no"), ("email", "is invalid")];
        let rejection = Rejection {
            status: 400,
            code: Some("60027".into()),
            message: "User was not valid".into(),
            fields: fields.map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        };
        assert_eq!(
            Error::Rejected(Box::new(rejection)).to_string(),
            "rejected by the service: User was not valid (status 400, code 60027; email is \
             invalid). Do not retry: the same call will be rejected again"
        );
    }

    #[test]
    fn a_text_that_is_too_long_loses_its_middle() {
        let error =
            Error::invalid_argument("path", format!("/{}: name another", "ä".repeat(500_000)));
        let text = error.to_string();
        assert!(text.len() <= LONGEST_TEXT + "path ".len(), "{}", text.len());
        assert!(text.starts_with("path /ä") && text.ends_with("ä: name another"), "{text}");
        assert!(text.contains("ä [...] ä"), "{text}");
        let whole = "a".repeat(LONGEST_TEXT);
        assert_eq!(bounded(whole.as_str()), whole);
    }

    #[test]
    fn a_wait_is_the_same_number_of_seconds_everywhere() {
        for (millis, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (1999, 2), (30_000, 30)] {
            let retry_after = Some(Duration::from_millis(millis));
            let message = "Wait".to_owned();
            let error = Error::RateLimited { message, retry_after, code: None, limit: None };
            assert_eq!(error.to_string(), format!("Wait. Try again in {seconds} s"), "{millis}");
            assert_eq!(error.retry_after_seconds(), Some(seconds), "{millis}");
        }
    }

    #[test]
    fn only_calls_that_cannot_have_taken_effect_are_safe_to_retry() {
        let unavailable = |stage| Error::unavailable(stage, "");
        assert!(unavailable(Stage::Connect).retry_safe());
        assert!(!unavailable(Stage::Response).retry_safe());
        assert!(unavailable(Stage::Response).of_reading().retry_safe());
        assert!(!Error::Cancelled { sent: true }.retry_safe());
        assert!(Error::Cancelled { sent: true }.of_reading().retry_safe());
        assert!(!Error::invalid_response("").retry_safe());
    }
}

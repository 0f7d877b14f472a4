//! One record for each call, for the log of the program.

use crate::calls::{Recognition, Verdict, Verification};
use crate::model::UserId;
use crate::{Error, Result, Stage};
use std::cell::Cell;
use std::fmt;
use std::time::{Duration, Instant};

/// Receives the records of a service's calls: see [`Service::with_log`](crate::Service::with_log).
/// A function that takes a `&CallRecord` is one.
pub trait Log: Send + Sync {
    /// Returns whether records are used at the moment. If not, no record is made.
    fn is_enabled(&self) -> bool {
        true
    }

    /// Receives the record of a call that has just ended, on the thread that made the call, and on
    /// many threads at once if they make calls. Calls that it makes itself are not logged.
    fn log(&self, record: &CallRecord);
}

impl<F: Fn(&CallRecord) + Send + Sync> Log for F {
    fn log(&self, record: &CallRecord) {
        self(record);
    }
}

/// The record of a call for a log. It never contains a token, a code, a key, a phone number, an
/// e-mail address or a message. `Display` gives it in one line:
///
/// ```text
/// call=verify outcome=token_wrong user_id=7 http_status=401 code=60020 attempts=1 duration_ms=12.345
/// ```
///
/// Unknown values are left out. A later version may add names at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallRecord {
    /// The call's name, such as `request_sms`.
    pub call: &'static str,
    /// The outcome of the call.
    pub outcome: CallOutcome,
    /// The stage at which a call failed that got no response.
    pub stage: Option<Stage>,
    /// Set if the call exceeded its deadline.
    pub timed_out: bool,
    /// The user that the call or its reply is about.
    pub user_id: Option<UserId>,
    /// The HTTP status of the last response of a remote service. An engine in this process has the
    /// statuses of rejections.
    pub http_status: Option<u16>,
    /// The service's error code, if it is one of the interface: 60000 to 60999.
    pub code: Option<String>,
    /// The accepted factor, where an operator may want to look at it: `recovery_code`.
    pub factor: Option<&'static str>,
    /// The number of requests that were sent, or begun, to a remote service; 0 for an engine.
    pub attempts: u32,
    /// The time that the call took, with all its waits.
    pub duration: Duration,
}

/// The outcome of a call: success, a code or a browser that was not accepted, or an [`Error`] of
/// this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "Error documents the kinds, Verdict and Recognition the others")]
pub enum CallOutcome {
    Ok,
    TokenWrong,
    TokenReused,
    TokenNotChecked,
    NotRecognised,
    TokenMalformed,
    InvalidArgument,
    Unauthorized,
    Rejected,
    RateLimited,
    Unavailable,
    Cancelled,
    InvalidResponse,
    InvalidCallback,
    Storage,
    Internal,
}

impl CallOutcome {
    /// Returns the name in a record: `token_wrong`.
    pub fn name(self) -> &'static str {
        match self {
            CallOutcome::Ok => "ok",
            CallOutcome::TokenWrong => "token_wrong",
            CallOutcome::TokenReused => "token_reused",
            CallOutcome::TokenNotChecked => "token_not_checked",
            CallOutcome::NotRecognised => "not_recognised",
            CallOutcome::TokenMalformed => "token_malformed",
            CallOutcome::InvalidArgument => "invalid_argument",
            CallOutcome::Unauthorized => "unauthorized",
            CallOutcome::Rejected => "rejected",
            CallOutcome::RateLimited => "rate_limited",
            CallOutcome::Unavailable => "unavailable",
            CallOutcome::Cancelled => "cancelled",
            CallOutcome::InvalidResponse => "invalid_response",
            CallOutcome::InvalidCallback => "invalid_callback",
            CallOutcome::Storage => "storage",
            CallOutcome::Internal => "internal",
        }
    }

    fn of_verification(checked: &Verification) -> CallOutcome {
        match checked.verdict {
            Verdict::Right => CallOutcome::Ok,
            Verdict::Wrong if checked.reused => CallOutcome::TokenReused,
            Verdict::Wrong => CallOutcome::TokenWrong,
            Verdict::NotChecked => CallOutcome::TokenNotChecked,
        }
    }
}

impl From<&Error> for CallOutcome {
    fn from(error: &Error) -> CallOutcome {
        match error {
            Error::TokenMalformed { .. } => CallOutcome::TokenMalformed,
            Error::TokenWrong { .. } => CallOutcome::TokenWrong,
            Error::InvalidArgument { .. } => CallOutcome::InvalidArgument,
            Error::Unauthorized { .. } => CallOutcome::Unauthorized,
            Error::Rejected(_) => CallOutcome::Rejected,
            Error::RateLimited { .. } => CallOutcome::RateLimited,
            Error::Unavailable { .. } => CallOutcome::Unavailable,
            Error::Cancelled { .. } => CallOutcome::Cancelled,
            Error::InvalidResponse { .. } => CallOutcome::InvalidResponse,
            Error::InvalidCallback { .. } => CallOutcome::InvalidCallback,
            Error::Storage { .. } => CallOutcome::Storage,
            Error::Internal { .. } => CallOutcome::Internal,
        }
    }
}

impl fmt::Display for CallRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call={} outcome={}", self.call, self.outcome.name())?;
        if let Some(stage) = self.stage {
            write!(f, " stage={}", stage.name())?;
        }
        if self.timed_out {
            f.write_str(" timed_out=true")?;
        }
        if let Some(user_id) = self.user_id {
            write!(f, " user_id={user_id}")?;
        }
        if let Some(status) = self.http_status {
            write!(f, " http_status={status}")?;
        }
        if let Some(code) = &self.code {
            write!(f, " code={code}")?;
        }
        if self.attempts > 0 {
            write!(f, " attempts={}", self.attempts)?;
        }
        let micros = self.duration.as_micros();
        write!(f, " duration_ms={}.{:03}", micros / 1000, micros % 1000)?;
        match self.factor {
            Some(factor) => write!(f, " factor={factor}"),
            None => Ok(()),
        }
    }
}

/// Information that a reply adds to the record of its call.
#[derive(Default)]
pub(crate) struct Replied<'a> {
    pub(crate) user_id: Option<UserId>,
    pub(crate) verification: Option<&'a Verification>,
    pub(crate) recognition: Option<Recognition>,
}

thread_local! {
    /// The requests of the call that this thread is logging, and the status of the last response.
    /// The client counts them here, because a call does all its work on one thread.
    static REQUESTS: Cell<(u32, Option<u16>)> = const { Cell::new((0, None)) };
    /// Set if this thread is in a program's `Log`, whose own calls are not logged: it would call
    /// itself without end.
    static LOGGING: Cell<bool> = const { Cell::new(false) };
}

/// Counts a request to a remote service.
#[cfg(feature = "remote")]
pub(crate) fn count_request() {
    let (attempts, status) = REQUESTS.get();
    REQUESTS.set((attempts.saturating_add(1), status));
}

/// Keeps the status of a response.
#[cfg(feature = "remote")]
pub(crate) fn keep_status(status: u16) {
    REQUESTS.set((REQUESTS.get().0, Some(status)));
}

/// A call that is being made, and is logged when it ends.
pub(crate) struct Logged<'a> {
    log: &'a dyn Log,
    call: &'static str,
    user_id: Option<UserId>,
    begun: Instant,
    is_logged: Cell<bool>,
    /// The requests of the call in whose delivery function this one is made.
    outer: (u32, Option<u16>),
}

impl<'a> Logged<'a> {
    /// Begins a call; `None` if it is not logged.
    pub(crate) fn begin(
        log: Option<&'a dyn Log>,
        call: &'static str,
        user_id: Option<UserId>,
    ) -> Option<Logged<'a>> {
        let log = log.filter(|_| !LOGGING.get())?;
        let enabled = {
            let _logging = Logging::begin();
            log.is_enabled()
        };
        if !enabled {
            return None;
        }
        let outer = REQUESTS.replace((0, None));
        let (begun, is_logged) = (Instant::now(), Cell::new(false));
        Some(Logged { log, call, user_id, begun, is_logged, outer })
    }

    /// Returns the number of requests so far.
    pub(crate) fn attempts(&self) -> u32 {
        REQUESTS.get().0
    }

    /// Logs a call that took the time since it began.
    pub(crate) fn end(self, result: Result<Replied<'_>, &Error>) {
        self.log_now(result, self.attempts(), self.begun.elapsed());
    }

    /// Logs a call.
    pub(crate) fn end_with(
        self,
        result: Result<Replied<'_>, &Error>,
        attempts: u32,
        duration: Duration,
    ) {
        self.log_now(result, attempts, duration);
    }

    fn log_now(&self, result: Result<Replied<'_>, &Error>, attempts: u32, duration: Duration) {
        self.is_logged.set(true);
        let (_, http_status) = REQUESTS.get();
        let record = CallRecord {
            attempts,
            duration,
            ..record(self.call, self.user_id, result, http_status)
        };
        let _logging = Logging::begin();
        self.log.log(&record);
    }
}

impl Drop for Logged<'_> {
    fn drop(&mut self) {
        // A call that panics ends nowhere else. A second panic, of the program's function, would abort.
        if std::thread::panicking() && !self.is_logged.get() {
            let error = Error::Internal { message: "a panic".to_owned() };
            let log = || self.log_now(Err(&error), self.attempts(), self.begun.elapsed());
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(log));
        }
        REQUESTS.set(self.outer);
    }
}

fn record(
    call: &'static str,
    user_id: Option<UserId>,
    result: Result<Replied<'_>, &Error>,
    http_status: Option<u16>,
) -> CallRecord {
    let mut record = CallRecord {
        call,
        outcome: CallOutcome::Ok,
        stage: None,
        timed_out: false,
        user_id,
        http_status,
        code: None,
        factor: None,
        attempts: 0,
        duration: Duration::ZERO,
    };
    let mut code = None;
    match result {
        Ok(replied) => {
            record.user_id = user_id.or(replied.user_id);
            if let Some(checked) = replied.verification {
                record.outcome = CallOutcome::of_verification(checked);
                code = checked.error_code.as_deref();
                record.factor = checked.by_recovery_code().then_some(Verification::RECOVERY_CODE);
            }
            if replied.recognition == Some(Recognition::NotRecognised) {
                record.outcome = CallOutcome::NotRecognised;
            }
        }
        Err(error) => {
            record.outcome = error.into();
            code = error.code();
            #[cfg(feature = "remote")]
            {
                record.timed_out = error.timed_out();
            }
            match error {
                Error::Unavailable { stage, .. } => record.stage = Some(*stage),
                Error::Rejected(rejection) => record.http_status = Some(rejection.status),
                _ => {}
            }
        }
    }
    // The service chooses the text, which must not add anything to a line of a log. The codes of the
    // interface are 60000 to 60999; anything else could be a user's code or number.
    let known = |code: &&str| {
        code.len() == 5 && code.starts_with("60") && code.bytes().all(|byte| byte.is_ascii_digit())
    };
    record.code = code.filter(known).map(str::to_owned);
    record
}

/// While it lives, this thread is in a log function.
struct Logging;

impl Logging {
    fn begin() -> Logging {
        LOGGING.set(true);
        Logging
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        LOGGING.set(false);
    }
}

impl fmt::Debug for dyn Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rejection;
    use crate::calls::Device;

    #[test]
    fn a_line_has_what_is_known() {
        let user = Some(7.try_into().unwrap());
        let fine = record("app_details", None, Ok(Replied::default()), Some(200));
        let fine = CallRecord { attempts: 2, duration: Duration::from_micros(12_045), ..fine };
        assert_eq!(
            fine.to_string(),
            "call=app_details outcome=ok http_status=200 attempts=2 duration_ms=12.045"
        );
        let error = Error::unavailable(Stage::Connect, "secret");
        assert_eq!(
            record("verify", user, Err(&error), None).to_string(),
            "call=verify outcome=unavailable stage=connect user_id=7 duration_ms=0.000"
        );
    }

    #[test]
    fn a_call_that_panics_is_logged_once() {
        let lines = std::sync::Mutex::new(Vec::new());
        let log = |record: &CallRecord| {
            lines.lock().unwrap().push(record.to_string());
            assert_ne!(record.call, "logs", "the function of the program panics too");
        };
        for (call, panics) in [("works", true), ("logs", false), ("logs", true)] {
            let work = || {
                let logged = Logged::begin(Some(&log), call, None).unwrap();
                assert!(!panics, "in the middle of the call");
                logged.end(Ok(Replied::default()));
            };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_err();
        }
        let lines = lines.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let outcomes: Vec<&str> = lines
            .iter()
            .filter_map(|line| line.split_once(" duration_ms="))
            .map(|at| at.0)
            .collect();
        let expected =
            ["call=works outcome=internal", "call=logs outcome=ok", "call=logs outcome=internal"];
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn a_recovery_code_is_a_factor_of_its_own() {
        let right = |os_type: &str| Verification {
            verdict: Verdict::Right,
            device: Some(Device { os_type: Some(os_type.into()), ..Device::default() }),
            ..Verification::default()
        };
        let line = |checked: &Verification| {
            let replied = Replied { verification: Some(checked), ..Replied::default() };
            record("verify", None, Ok(replied), None).to_string()
        };
        let found = line(&right("recovery_code"));
        assert_eq!(found, "call=verify outcome=ok duration_ms=0.000 factor=recovery_code");
        assert_eq!(line(&right("sms factor=x")), "call=verify outcome=ok duration_ms=0.000");
    }

    #[test]
    fn a_code_that_is_none_is_left_out() {
        for (code, kept) in [
            ("60026", true),
            ("555010", false),
            ("a b", false),
            ("", false),
            ("60\n26", false),
            ("4711", false),
        ] {
            let rejection = Rejection {
                status: 404,
                code: Some(code.into()),
                message: "ada@example.com".into(),
                fields: Default::default(),
            };
            let error = Error::Rejected(Box::new(rejection));
            let found = record("user_status", None, Err(&error), None);
            assert_eq!(found.code.as_deref(), kept.then_some(code));
            assert!(!found.to_string().contains("ada"), "{found}");
        }
    }
}

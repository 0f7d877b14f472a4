//! Requests of tests to a sandbox that is served over HTTPS, by `seconder serve --sandbox`: the only list of them,
//! which `seconder.testing` of Python uses too.

use crate::{Error, Result};
use std::str::FromStr;

/// The beginning of the paths of a sandbox. No path of a call begins like it, with any names.
pub const SANDBOX_PATH: &str = "/-/sandbox/";

/// The API key of a sandbox unless another is given. It is no secret, so a sandbox with it listens on
/// loopback addresses only.
pub const SANDBOX_API_KEY: &str = "the-key-of-the-sandbox";

/// An operation of a test on a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxOperation {
    /// The name of the operation, which follows [`SANDBOX_PATH`].
    pub name: &'static str,
    /// `GET` if it reads, with the parameters in the query; `POST` if it changes something, with the
    /// parameters in the query or the body.
    pub method: &'static str,
    /// The names of the parameters.
    pub params: &'static [&'static str],
}

const fn get(name: &'static str, params: &'static [&'static str]) -> SandboxOperation {
    SandboxOperation { name, method: "GET", params }
}

const fn post(name: &'static str, params: &'static [&'static str]) -> SandboxOperation {
    SandboxOperation { name, method: "POST", params }
}

/// Everything that a test does with a sandbox.
pub const SANDBOX_OPERATIONS: &[SandboxOperation] = &[
    post(
        "reset",
        &["accept", "application_name", "callback_url", "token_length", "now", "still", "post"],
    ),
    get("clock", &[]),
    post("advance", &["seconds", "until"]),
    get("messages", &["user_id", "to", "via", "limit", "wait"]),
    get("code", &["user_id", "to", "wait"]),
    get("authenticator_code", &["user_id"]),
    post("add_device", &["user_id", "device_type"]),
    get("pending", &["user_id"]),
    post("approve", &["user_id", "uuid", "number"]),
    post("deny", &["user_id", "uuid"]),
    post("report", &["user_id", "uuid"]),
    get("callbacks", &[]),
    post("run_jobs", &[]),
    post("failing", &["fault", "calls", "times", "retry_after", "seconds", "status"]),
    post("end_fault", &["id"]),
    get("faults", &[]),
    get("calls", &[]),
];

macro_rules! faults {
    ($($(#[$doc:meta])* $fault:ident $name:literal,)*) => {
        /// A fault that a test injects by the operation `failing`. The enum is exhaustive, because a sandbox
        /// has to handle each of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum SandboxFault {
            $($(#[$doc])* $fault,)*
        }

        impl SandboxFault {
            const ALL: &[SandboxFault] = &[$(SandboxFault::$fault),*];

            /// The name in the operation.
            pub const fn name(self) -> &'static str {
                match self {
                    $(SandboxFault::$fault => $name,)*
                }
            }
        }

        /// The names of the faults.
        pub const SANDBOX_FAULTS: &[&str] = &[$($name),*];
    };
}

faults! {
    /// The call is not carried out, and there is no response.
    Timeout "timeout",
    /// The call is carried out, but its response is lost.
    Lost "lost",
    /// The service is rate limiting.
    RateLimited "rate_limited",
    /// The service rejects the API key.
    Unauthorized "unauthorized",
    /// The response is a web page.
    InvalidResponse "invalid_response",
    /// The message cannot be delivered.
    Undelivered "undelivered",
    /// The database fails.
    Storage "storage",
    /// The response has the status that was asked for.
    Status "status",
    /// The call is carried out late.
    Latency "latency",
}

impl FromStr for SandboxFault {
    type Err = Error;

    fn from_str(name: &str) -> Result<SandboxFault> {
        let found = SandboxFault::ALL.iter().find(|fault| fault.name() == name);
        found.copied().ok_or_else(|| {
            let known = SANDBOX_FAULTS.join(", ");
            Error::invalid_argument("fault", format!("must be one of {known}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{ROUTES, RouteMatch, match_route};
    use crate::wire::Names;

    #[test]
    fn no_path_of_a_call_begins_like_those_of_a_sandbox_or_of_an_approver() {
        for reserved in [SANDBOX_PATH, "/-/approver/"] {
            for route in ROUTES {
                let fixed = route.path.split('{').next().unwrap();
                let older = route.older.iter().map(|path| path.split('{').next().unwrap());
                for path in older.chain([fixed]) {
                    assert!(!path.starts_with(reserved), "{}", route.path);
                }
                // A field could replace the word: every format, and every first part of a path.
                let word = reserved.split('/').nth(2).unwrap();
                for format in ["json", "xml"] {
                    assert_ne!(format, word);
                }
                let path = route.path.replace("{format}", word);
                let found = match_route(route.method, &path);
                assert!(matches!(found, RouteMatch::NotFound), "{path}");
            }
        }
        assert!(Names::default().push_path("-").is_err(), "it would be the first part of a path");
    }

    #[test]
    fn what_a_test_does_has_one_name_each() {
        let mut names: Vec<_> = SANDBOX_OPERATIONS.iter().map(|operation| operation.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SANDBOX_OPERATIONS.len());
        assert!(SANDBOX_OPERATIONS.iter().all(|each| ["GET", "POST"].contains(&each.method)));
    }
}

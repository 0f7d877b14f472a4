//! The outcome of a login.

use seconder::{Error, Stage, codes};

/// The outcome of a login. Only [`Outcome::Accepted`] lets a user in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// A right code, or an approval.
    Accepted,
    /// The configuration excepts the user or the network from the second factor.
    Excepted,
    /// The user is unknown to the service, and the configuration says `unenrolled=ignore`; or the
    /// service could not be asked, and it says `on_trouble=ignore`.
    Ignored,
    /// The codes were wrong, or the approval was denied, or the service rejected the user.
    Denied,
    /// The user has too many wrong attempts, and may try again later.
    Locked,
    /// The service does not know the user.
    Unenrolled,
    /// No answer is possible: there is no terminal.
    NoTerminal,
    /// The second factor could not be checked.
    Trouble(Trouble),
}

/// The reason why a second factor could not be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The configuration, the map of users, or a file or folder of theirs; or the service rejected the API key or this
    /// process, or too many wrong API keys came from this address; or the socket does not belong to a trusted service.
    /// `on_trouble=ignore` never applies.
    Configuration,
    /// The service was not reached, or not in time, or is busy: it asks to wait without the error code
    /// that it has for a user's wait.
    Unavailable,
    /// The service's reply was not understood, or the service failed.
    Service,
    /// A bug.
    Internal,
}

impl Outcome {
    /// Every outcome, for tables and their tests.
    pub const ALL: [Outcome; 11] = [
        Outcome::Accepted,
        Outcome::Excepted,
        Outcome::Ignored,
        Outcome::Denied,
        Outcome::Locked,
        Outcome::Unenrolled,
        Outcome::NoTerminal,
        Outcome::Trouble(Trouble::Configuration),
        Outcome::Trouble(Trouble::Unavailable),
        Outcome::Trouble(Trouble::Service),
        Outcome::Trouble(Trouble::Internal),
    ];

    /// Returns the text of the outcome in the log.
    pub fn text(self) -> &'static str {
        match self {
            Outcome::Accepted => "accepted",
            Outcome::Excepted => "not asked",
            Outcome::Ignored => "ignored",
            Outcome::Denied => "denied",
            Outcome::Locked => "locked",
            Outcome::Unenrolled => "not enrolled",
            Outcome::NoTerminal => "no terminal",
            Outcome::Trouble(Trouble::Configuration) => "misconfigured",
            Outcome::Trouble(Trouble::Unavailable) => "service unavailable",
            Outcome::Trouble(Trouble::Service) => "service error",
            Outcome::Trouble(Trouble::Internal) => "internal error",
        }
    }
}

/// Returns the outcome of a login that an error of the service ends. No error lets a user in. A
/// decision of the service against the user is not trouble, because `on_trouble=ignore` must not
/// undo it.
pub fn outcome_of(error: &Error) -> Outcome {
    match error {
        Error::Rejected(rejection) => match rejection.code.as_deref() {
            Some(codes::USER_NOT_FOUND) => Outcome::Unenrolled,
            _ => Outcome::Denied,
        },
        Error::TokenWrong { .. } | Error::TokenMalformed { .. } | Error::Cancelled { .. } => {
            Outcome::Denied
        }
        // Requests of others from the same address prove nothing of the user, and must not switch the factor off.
        Error::RateLimited { code: Some(code), .. } if code == codes::TOO_MANY_WRONG_KEYS => {
            Outcome::Trouble(Trouble::Configuration)
        }
        // A limit of the whole application says nothing of the user. It is no trouble either, which
        // on_trouble=ignore would forgive: an attacker could reach it by many requests.
        Error::RateLimited { .. } if error.is_operator_limit() => Outcome::Denied,
        Error::RateLimited { code: Some(_), .. } => Outcome::Locked,
        // The reply comes from a service in maintenance, a proxy, or a socket with too many connections.
        Error::RateLimited { code: None, .. } => Outcome::Trouble(Trouble::Unavailable),
        Error::Unauthorized { .. } => Outcome::Trouble(Trouble::Configuration),
        Error::InvalidResponse { .. } | Error::Storage { .. } => Outcome::Trouble(Trouble::Service),
        Error::Unavailable { stage: Stage::Access, .. } => Outcome::Trouble(Trouble::Configuration),
        Error::Unavailable { .. } => Outcome::Trouble(Trouble::Unavailable),
        _ => Outcome::Trouble(Trouble::Internal),
    }
}

/// The exit statuses of `seconder-login`. All but 0 mean that the user may not log in, unless the
/// program that reads them decides otherwise.
///
/// They mean the same to FreeRADIUS's `rlm_exec`, for which 1 is reject, 2 fail, 5 invalid, 6 userlock
/// and 7 notfound. 3, 4, 8 and 9 are not used: it goes on after them as after success, or replies
/// without a decision. It takes all above 9 as 2.
pub const EXIT_STATUSES: [(u8, &str); 12] = [
    (0, "the user may log in: a right code, or an approval"),
    (1, "denied: wrong codes, a request that was not approved, or a limit of the application"),
    (2, "an option is invalid, or --help or --version was given"),
    (5, "there is nobody to ask: no terminal, or no answer"),
    (6, "locked: too many wrong codes; the user may try again later"),
    (7, "the service does not know the user"),
    (10, "the configuration excepts the user or the network: nothing was asked"),
    (11, "nothing was checked: unenrolled=ignore, or on_trouble=ignore"),
    (12, "the configuration, the map of users or the API key has errors"),
    (13, "the service was not reached, or not in time, or is busy"),
    (14, "the service failed, or its reply was invalid"),
    (15, "an internal error"),
];

/// Returns the exit status of `seconder-login`: see [`EXIT_STATUSES`].
pub fn exit_status(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Accepted => 0,
        Outcome::Denied => 1,
        Outcome::NoTerminal => 5,
        Outcome::Locked => 6,
        Outcome::Unenrolled => 7,
        Outcome::Excepted => 10,
        Outcome::Ignored => 11,
        Outcome::Trouble(Trouble::Configuration) => 12,
        Outcome::Trouble(Trouble::Unavailable) => 13,
        Outcome::Trouble(Trouble::Service) => 14,
        Outcome::Trouble(Trouble::Internal) => 15,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_has_an_exit_status_of_its_own_and_only_acceptance_is_0() {
        let mut statuses: Vec<u8> = Outcome::ALL.into_iter().map(exit_status).collect();
        assert_eq!(statuses, [0, 10, 11, 1, 6, 7, 5, 12, 13, 14, 15]);
        statuses.push(2);
        statuses.sort_unstable();
        assert_eq!(statuses, EXIT_STATUSES.map(|(status, _)| status));
    }
    #[test]
    fn freeradius_takes_no_status_but_0_as_success() {
        // ok, handled, noop and updated: rlm_exec_status2rcode() of FreeRADIUS.
        for (status, text) in EXIT_STATUSES {
            assert!(![3, 4, 8, 9].contains(&status), "{status}: {text}");
        }
    }
}

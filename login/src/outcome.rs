//! How a login ends.

/// How a login ends. Only [`Outcome::Accepted`] lets a user in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// A right code, or an approval.
    Accepted,
    /// The configuration excepts the user or the network from the second factor.
    Excepted,
    /// The user has no second factor, and the configuration says `unenrolled=ignore`.
    Ignored,
    /// The codes were wrong, or the approval was denied, expired or given up.
    Denied,
    /// The user has too many wrong attempts, and may try again later.
    Locked,
    /// The user is unknown, or has no second factor.
    Unenrolled,
    /// Nobody can answer: there is no terminal.
    NoTerminal,
    /// The second factor could not be checked.
    Trouble(Trouble),
}

/// Why a second factor could not be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The configuration, the map of users, or a file or folder of theirs.
    Configuration,
    /// The service was not reached, or not in time.
    Unavailable,
    /// The service rejected the API key or this process, or its reply was not understood.
    Service,
    /// A bug.
    Internal,
}

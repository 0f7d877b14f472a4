//! The stored code that a guess is.

use crate::engine::model::factors::Factor;

/// The stored code that a guess is.
#[derive(Clone)]
pub(in crate::engine) enum Match {
    /// A valid code, for this action, and the route by which it was sent.
    Code { action: String, route: Option<String> },
    /// A step of an authenticator app that was not accepted before, and the device whose app it is.
    Step { authenticator_id: i64, step: u64, device_id: Option<u64> },
    /// The step of an authenticator app that was accepted last. There is nothing left to spend.
    Shown { authenticator_id: i64, step: u64 },
    /// A recovery code that was not used.
    Recovery { hash: Vec<u8> },
}

impl Match {
    pub(in crate::engine) fn factor(&self) -> Factor {
        match self {
            Match::Code { .. } => Factor::Code,
            Match::Step { .. } | Match::Shown { .. } => Factor::Authenticator,
            Match::Recovery { .. } => Factor::Recovery,
        }
    }
}

/// The country for which a used code is counted. All logins of a country wait for one row, so it is not counted unless
/// a limit needs it.
#[derive(Clone, Copy)]
pub(in crate::engine) enum Counted {
    Nowhere,
    /// The country of the user's number.
    OfUser,
    For(u16),
}

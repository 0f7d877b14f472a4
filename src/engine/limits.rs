//! The engine's limits and lifetimes. Sources: NIST SP 800-63B-4, RFC 4226 and 6238, and the
//! practice of services that send codes.

use std::time::Duration;

/// The default number of digits of a code by SMS or voice.
pub(super) const TOKEN_LENGTH: u8 = 7;
/// How long a code remains valid.
pub(super) const CODE_LIFE: Duration = Duration::from_secs(10 * 60);
/// The shortest time between two messages with codes for one action, by SMS or by voice, to one
/// user, or to one number that is being verified.
pub(super) const COOL_DOWN: Duration = Duration::from_secs(30);
/// How many messages with codes that were not used yet one user, or one number that is being
/// verified, can be sent, by SMS and voice and for all actions together.
pub(super) const SENDS: u32 = 5;
/// How many wrong tries invalidate a code.
pub(super) const TRIES: u32 = 5;
/// After how many wrong codes in a row a factor of a user is locked.
pub(super) const MOST_WRONG: u32 = 100;
/// How far a clock that is set back may be behind a stored time. A stored time further in the
/// future was written while the clock was wrong.
pub(super) const CLOCK_SLACK: Duration = Duration::from_secs(60);
/// How long the status of a number's verification can be read after its code expired.
pub(super) const VERIFICATION_RECORD: Duration = Duration::from_secs(24 * 60 * 60);
/// The length of an authenticator app's secret, in bytes.
pub(super) const SECRET_LENGTH: usize = 20;
/// The default number of digits of an authenticator app's code.
pub(super) const AUTHENTICATOR_DIGITS: u8 = 6;
/// The default time for which an authenticator app shows a code, in seconds.
pub(super) const AUTHENTICATOR_PERIOD: u64 = 30;
/// The default time for which an approval request remains open, in seconds.
pub(super) const APPROVAL_LIFE: u64 = 86_400;
/// How many approval requests of one user can be open; a further one makes the oldest expire.
pub(super) const OPEN_APPROVALS: u32 = 5;
/// How long approval requests are snoozed after a user reported that one was not theirs.
pub(super) const SNOOZE: Duration = Duration::from_secs(5 * 60);

/// How many recovery codes a set has.
pub(super) const RECOVERY_CODES: usize = 10;
/// The number of digits of a recovery code. No other code has as many, and no token has more.
pub(super) const RECOVERY_LENGTH: u8 = 12;
/// How many rounds of HMAC the hash of a recovery code takes: a few milliseconds.
pub(super) const RECOVERY_ROUNDS: u32 = 10_000;
/// How long after a code of their authenticator app users can create recovery codes for their own
/// account.
pub(super) const OWN_RECOVERY: Duration = Duration::from_secs(10 * 60);

/// For how many days a browser is remembered by default.
pub(super) const REMEMBERED_DAYS: u64 = 30;
/// How many browsers of one user are remembered; for a further one, the oldest is forgotten.
pub(super) const REMEMBERED_BROWSERS: u32 = 20;

/// How long after a code was accepted it can be presented to prepare logins without the service.
pub(super) const OFFLINE_PROOF: Duration = Duration::from_secs(5 * 60);
/// For how many days logins without the service are prepared by default.
pub(super) const OFFLINE_DAYS: u64 = 3;

/// The limits that a sandbox does not have.
pub(super) struct Caps {
    pub(super) cool_down: Duration,
    pub(super) sends: u32,
    pub(super) open_approvals: u32,
    pub(super) snooze: Duration,
}

/// How long a user must wait after this many consecutive wrong codes: not at all after the first
/// three, then 2, 4, 8 … 60 seconds, and 15 minutes from the tenth on.
pub(super) fn delay(wrong_in_a_row: u32) -> Duration {
    match wrong_in_a_row {
        0..=3 => Duration::ZERO,
        4..=8 => Duration::from_secs(1 << (wrong_in_a_row - 3)),
        9 => Duration::from_secs(60),
        _ => Duration::from_secs(15 * 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_wrong_codes_are_free_and_then_delays_double_up_to_15_minutes() {
        let seconds: Vec<u64> = (0..12).map(|wrong| delay(wrong).as_secs()).collect();
        assert_eq!(seconds, [0, 0, 0, 0, 2, 4, 8, 16, 32, 60, 900, 900]);
    }
}

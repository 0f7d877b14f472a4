//! How often and how long: the engine's defaults. Sources: NIST SP 800-63B-4, RFC 4226 and 6238,
//! and the practice of services that send codes.

use std::time::Duration;

/// Digits of a code by SMS or voice.
pub(super) const TOKEN_LENGTH: u8 = 7;
/// How long a code lives.
pub(super) const CODE_LIFE: Duration = Duration::from_secs(10 * 60);
/// The shortest time between two messages with codes to one user, or to one number that is
/// verified.
pub(super) const COOL_DOWN: Duration = Duration::from_secs(30);
/// How often one code is sent.
pub(super) const SENDS: u32 = 5;
/// How many wrong tries kill a code.
pub(super) const TRIES: u32 = 5;
/// How far a clock that is set back may be behind what was written before. What is further in the
/// future was written by a clock that was wrong.
pub(super) const CLOCK_SLACK: Duration = Duration::from_secs(60);
/// Bytes of an authenticator app's secret.
pub(super) const SECRET_LENGTH: usize = 20;
/// Digits of an authenticator app's code.
pub(super) const AUTHENTICATOR_DIGITS: u8 = 6;
/// How long an authenticator app shows a code, in seconds.
pub(super) const AUTHENTICATOR_PERIOD: u64 = 30;
/// How long an approval request can be answered, in seconds.
pub(super) const APPROVAL_LIFE: u64 = 86_400;
/// How many approval requests of one user can be open.
pub(super) const OPEN_APPROVALS: u32 = 5;
/// How long a user who said "that was not me" is asked nothing.
pub(super) const SNOOZE: Duration = Duration::from_secs(5 * 60);

/// How long a user waits after so many wrong answers in a row: 1, 2, 4 … 60 seconds, and 15 minutes
/// from the tenth on.
pub(super) fn delay(wrong_in_a_row: u32) -> Duration {
    match wrong_in_a_row {
        0 => Duration::ZERO,
        1..=6 => Duration::from_secs(1 << (wrong_in_a_row - 1)),
        7..=9 => Duration::from_secs(60),
        _ => Duration::from_secs(15 * 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_to_a_minute_and_end_in_a_lock() {
        let seconds: Vec<u64> = (0..12).map(|wrong| delay(wrong).as_secs()).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 900, 900]);
    }
}

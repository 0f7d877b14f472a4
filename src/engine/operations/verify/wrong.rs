//! Wrong codes in a row, and the bars that follow from them.

use super::Factor;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::limits::{self, MOST_WRONG};
use crate::engine::store::User;

/// The consecutive wrong codes of a factor since its last right one.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::engine) struct WrongAnswers {
    pub(in crate::engine) in_a_row: u32,
    pub(in crate::engine) last_at: Option<Time>,
}

/// The reason why codes of a factor are rejected without a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Barred {
    Until(Time),
    /// Until the user is unlocked.
    Locked,
    /// An operator has locked the user.
    Account,
    /// Until then, for any user, because so many wrong codes came from the address.
    Address(Time),
}

impl Barred {
    /// Returns the bar that ends first.
    pub(in crate::engine) fn first(self, other: Barred) -> Barred {
        match (self, other) {
            (Barred::Until(one), Barred::Until(other)) => Barred::Until(one.min(other)),
            (Barred::Account, _) | (_, Barred::Account) => Barred::Account,
            (Barred::Locked, other) | (other, Barred::Locked) => other,
            (address @ Barred::Address(_), _) | (_, address) => address,
        }
    }
}

impl WrongAnswers {
    pub(in crate::engine) fn are_too_many(self) -> bool {
        self.in_a_row >= MOST_WRONG
    }

    /// Is set if no code is looked at now.
    pub(in crate::engine) fn bar(self, now: Now) -> Option<Barred> {
        if self.are_too_many() {
            return Some(Barred::Locked);
        }
        let delay = limits::delay(self.in_a_row);
        let last = self.last_at?;
        // Another process may be a moment ahead, which must not turn no delay into a wait.
        let next = (!delay.is_zero()).then(|| last.plus(delay));
        next.filter(|next| *next > now.steady).map(Barred::Until)
    }

    pub(super) fn one_more(self, now: Now) -> WrongAnswers {
        WrongAnswers { in_a_row: self.in_a_row.saturating_add(1), last_at: Some(now.steady) }
    }
}

impl User {
    /// Is set if an operator has locked the user.
    pub(in crate::engine) fn bar(&self) -> Option<Barred> {
        self.locked_at.map(|_| Barred::Account)
    }

    pub(in crate::engine) fn wrong(&self, factor: Factor) -> WrongAnswers {
        let (in_a_row, last_at) = match factor {
            Factor::Code => (self.wrong_codes, self.wrong_codes_at),
            Factor::Authenticator => (self.wrong_app_codes, self.wrong_app_codes_at),
            Factor::Recovery => (self.wrong_recovery_codes, self.wrong_recovery_codes_at),
        };
        WrongAnswers { in_a_row, last_at }
    }

    /// Has no code of a factor be looked at until the user is unlocked.
    pub(in crate::engine) fn lock(&mut self, factor: Factor, now: Now) {
        let wrong = WrongAnswers { in_a_row: MOST_WRONG, last_at: Some(now.steady) };
        self.set_wrong(factor, wrong);
    }

    /// Restarts the counts of every factor.
    pub(in crate::engine) fn unlock(&mut self) {
        for factor in [Factor::Code, Factor::Authenticator, Factor::Recovery] {
            self.set_wrong(factor, WrongAnswers::default());
        }
    }

    pub(super) fn set_wrong(
        &mut self,
        factor: Factor,
        WrongAnswers { in_a_row, last_at }: WrongAnswers,
    ) {
        match factor {
            Factor::Code => (self.wrong_codes, self.wrong_codes_at) = (in_a_row, last_at),
            Factor::Authenticator => {
                (self.wrong_app_codes, self.wrong_app_codes_at) = (in_a_row, last_at);
            }
            Factor::Recovery => {
                (self.wrong_recovery_codes, self.wrong_recovery_codes_at) = (in_a_row, last_at);
            }
        }
    }
}

//! The factors that protect a user, and the reasons why codes of one are not looked at.

use super::clock::Time;

/// The factors that protect a user. Wrong codes are counted separately for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Factor {
    Code,
    Authenticator,
    Recovery,
}

impl Factor {
    pub(in crate::engine) const ALL: [Factor; 3] =
        [Factor::Code, Factor::Authenticator, Factor::Recovery];

    /// Returns its name, as the audit has it.
    pub(in crate::engine) fn name(self) -> &'static str {
        match self {
            Factor::Code => "code",
            Factor::Authenticator => "authenticator",
            Factor::Recovery => "recovery_code",
        }
    }
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

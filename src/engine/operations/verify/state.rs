//! The stored rows that a code can be compared with.

use super::guess::Guess;
use super::matched::Counted;
use super::wrong::WrongAnswers;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::factors::{Barred, Factor};
use crate::engine::operations::{Subject, offline, user};
use crate::engine::store::{
    Authenticator, Decided, FactorState, NumberCheck, RecoveryCode, SentCode, User, View,
};

/// Everything that a code can be compared with.
pub(super) struct VerifyState {
    pub(super) subject: Subject,
    pub(super) owner: Owner,
    pub(super) codes: Vec<SentCode>,
    /// Oldest first.
    pub(super) authenticators: Vec<EnrolledApp>,
    pub(super) wrong: Vec<FactorState>,
    /// Loaded for a guess at one of them only.
    pub(super) recovery: Vec<RecoveryCode>,
}

/// The owner of the codes.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum Owner {
    User(User),
    Number(Option<NumberCheck>),
}

/// An authenticator app, and the later steps that a machine has accepted without the service.
pub(super) struct EnrolledApp {
    pub(super) row: Authenticator,
    pub(super) used_after: Vec<u64>,
}

impl VerifyState {
    pub(super) fn confirmed(&self) -> bool {
        matches!(&self.owner, Owner::User(user) if user.confirmed)
    }

    /// Returns the time at which the user was enrolled.
    pub(super) fn created_at(&self) -> Option<Time> {
        match &self.owner {
            Owner::User(user) => Some(user.created_at),
            Owner::Number(_) => None,
        }
    }

    /// Is set if an operator has locked the user.
    pub(super) fn bar_of_account(&self) -> Option<Barred> {
        match &self.owner {
            Owner::User(user) => user.bar(),
            Owner::Number(_) => None,
        }
    }

    /// Returns the bar if codes of a factor are rejected without a comparison now. A number cannot be unlocked, so its
    /// bar ends when its verifications are forgotten.
    pub(super) fn bar(&self, factor: Factor, now: Now) -> Option<Barred> {
        match (self.wrong(factor).bar(now)?, &self.owner) {
            (Barred::Locked, Owner::Number(Some(check))) => Some(Barred::Until(check.forget_at)),
            (barred, _) => Some(barred),
        }
    }

    /// Returns the country for which a used code is counted.
    pub(super) fn country(&self, counted: Counted) -> Option<u16> {
        match (counted, &self.owner) {
            (Counted::Nowhere, _) | (Counted::OfUser, Owner::Number(_)) => None,
            (Counted::OfUser, Owner::User(user)) => {
                Some(user.country_code).filter(|code| *code > 0)
            }
            (Counted::For(country), _) => Some(country),
        }
    }

    pub(super) fn wrong(&self, factor: Factor) -> WrongAnswers {
        WrongAnswers::of(&self.wrong, factor)
    }
}

/// Everything that a guess at a code of this subject can be compared with, if there is such a user.
pub(super) fn state(
    view: &mut View,
    subject: &Subject,
    guess: &Guess,
) -> Decided<Option<VerifyState>> {
    let key = subject.key();
    view.ask::<SentCode>((key.clone(),));
    view.ask::<FactorState>((key.clone(),));
    let mut state = VerifyState {
        subject: subject.clone(),
        owner: Owner::Number(None),
        codes: Vec::new(),
        authenticators: Vec::new(),
        wrong: Vec::new(),
        recovery: Vec::new(),
    };
    match subject {
        Subject::User(app, user_id) => {
            let id = user_id.get();
            view.ask::<User>((id,));
            view.ask::<Authenticator>((id,));
            let is_recovery = matches!(guess, Guess::Recovery { .. });
            if is_recovery {
                view.ask::<RecoveryCode>((id,));
            }
            let Some(user) = user(view, *app, *user_id)? else { return Ok(None) };
            state.owner = Owner::User(user);
            for row in view.all::<Authenticator>((id,))? {
                let used_after = offline::used_after(view, &row)?;
                state.authenticators.push(EnrolledApp { row, used_after });
            }
            if is_recovery {
                state.recovery = view.all::<RecoveryCode>((id,))?;
            }
        }
        Subject::Phone(..) => {
            state.owner = Owner::Number(view.get::<NumberCheck>((key.clone(),))?);
        }
    }
    state.codes = view.all::<SentCode>((key.clone(),))?;
    state.wrong = view.all::<FactorState>((key,))?;
    Ok(Some(state))
}

//! Wrong codes in a row, and the bars that follow from them.

use crate::engine::model::clock::{Now, Time};
use crate::engine::model::factors::{Barred, Factor};
use crate::engine::model::limits::{self, MOST_WRONG};
use crate::engine::store::{FactorState, User};

/// The consecutive wrong codes of a factor since its last right one.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::engine) struct WrongAnswers {
    pub(in crate::engine) in_a_row: u32,
    pub(in crate::engine) last_at: Option<Time>,
}

impl WrongAnswers {
    /// Returns the wrong codes of a factor, by the rows of a subject.
    pub(in crate::engine) fn of(rows: &[FactorState], factor: Factor) -> WrongAnswers {
        let row = rows.iter().find(|row| row.factor == factor.name());
        row.map_or_else(WrongAnswers::default, |row| WrongAnswers {
            in_a_row: row.wrong_in_a_row,
            last_at: Some(row.wrong_at),
        })
    }

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
}

impl User {
    /// Is set if an operator has locked the user.
    pub(in crate::engine) fn bar(&self) -> Option<Barred> {
        self.locked_at.map(|_| Barred::Account)
    }
}

impl FactorState {
    /// Returns the row after so many wrong codes.
    pub(super) fn new(subject: String, factor: Factor, wrong_in_a_row: u32, now: Now) -> Self {
        let factor = factor.name().to_owned();
        FactorState { subject, factor, wrong_in_a_row, wrong_at: now.steady }
    }

    /// Returns the row that has no code of a factor be looked at until the user is unlocked.
    pub(in crate::engine) fn locked(subject: String, factor: Factor, now: Now) -> Self {
        FactorState::new(subject, factor, MOST_WRONG, now)
    }
}

//! The progress of the steady time, stored for other processes and for a restart.

use crate::engine::model::clock::{Now, Time};
use crate::engine::store::{Decided, Sequence, View};

const LATEST: &str = "time";
const AHEAD: &str = "time_ahead";

/// The stored progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Reached {
    pub(in crate::engine) latest: Time,
    /// The largest difference by which it was ahead of the clock, in milliseconds.
    pub(in crate::engine) ahead: i64,
}

impl Now {
    pub(super) fn reached(self) -> Reached {
        Reached { latest: self.steady, ahead: self.ahead() }
    }
}

pub(in crate::engine) fn find(view: &mut View) -> Decided<Option<Time>> {
    Ok(stored(view, LATEST)?.map(Time))
}

/// Returns the largest difference by which the steady time was ahead of the clock when any decision
/// was noted, in milliseconds.
pub(in crate::engine) fn most_ahead(view: &mut View) -> Decided<i64> {
    Ok(stored(view, AHEAD)?.unwrap_or(0))
}

/// Stores the progress, unless the stored one is further.
pub(in crate::engine) fn raise(view: &mut View, reached: Reached) -> Decided<()> {
    view.ask::<Sequence>((LATEST.to_owned(),));
    raise_to(view, AHEAD, reached.ahead)?;
    raise_to(view, LATEST, reached.latest.0)
}

fn raise_to(view: &mut View, name: &str, last: i64) -> Decided<()> {
    if stored(view, name)?.is_none_or(|stored| stored < last) {
        view.put(Sequence { name: name.to_owned(), last });
    }
    Ok(())
}

fn stored(view: &mut View, name: &str) -> Decided<Option<i64>> {
    Ok(view.get::<Sequence>((name.to_owned(),))?.map(|row| row.last))
}

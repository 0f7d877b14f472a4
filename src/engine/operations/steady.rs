//! How far the steady time has come, for other processes and after a restart.

use crate::engine::clock::Time;
use crate::engine::store::{Decided, Sequence, View};

const NAME: &str = "time";

pub(in crate::engine) fn find(view: &mut View) -> Decided<Option<Time>> {
    Ok(view.get::<Sequence>((NAME.to_owned(),))?.map(|row| Time(row.last)))
}

/// Stores a time, unless a later one is stored.
pub(in crate::engine) fn raise(view: &mut View, time: Time) -> Decided<()> {
    if find(view)?.is_none_or(|stored| stored < time) {
        view.put(Sequence { name: NAME.to_owned(), last: time.0 });
    }
    Ok(())
}

//! The routes of messages, as the operator of a server has set them.

use super::audit::{AuditVerdict, Noted, Trail};
use crate::engine::store::{Decided, Route, Sealed, View};
use std::time::Duration;

/// The time for which a removed route is kept without settings: other processes may still give it
/// messages, which workers that look for them then pass on to another route.
const KEPT_REMOVED: Duration = Duration::from_secs(2 * 24 * 60 * 60);

pub(in crate::engine) fn all(view: &mut View) -> Decided<Vec<Route>> {
    view.all::<Route>(())
}

pub(in crate::engine) fn find(view: &mut View, name: &str) -> Decided<Option<Route>> {
    view.get::<Route>((name.to_owned(),))
}

/// Adds a route, or replaces its settings.
pub(in crate::engine) fn set(
    view: &mut View,
    name: &str,
    settings: &Sealed<String>,
    trail: &Trail,
) -> Decided<()> {
    forget_removed(view, trail)?;
    put(view, name, settings.clone(), false, trail);
    Ok(())
}

/// Removes a route. Returns whether there was one.
pub(in crate::engine) fn remove(view: &mut View, name: &str, trail: &Trail) -> Decided<bool> {
    forget_removed(view, trail)?;
    let there = view.get::<Route>((name.to_owned(),))?.is_some_and(|row| !row.removed);
    if there {
        put(view, name, "".into(), true, trail);
    }
    Ok(there)
}

fn put(view: &mut View, name: &str, settings: Sealed<String>, removed: bool, trail: &Trail) {
    let changed_at = trail.now.steady;
    view.put(Route { name: name.to_owned(), settings, removed, changed_at });
    let reason = Some(name.trim_start_matches('@').to_owned());
    trail.note(view, Noted { verdict: AuditVerdict::Configured, reason, ..Noted::default() });
}

fn forget_removed(view: &mut View, trail: &Trail) -> Decided<()> {
    for row in view.all::<Route>(())? {
        if row.removed && row.changed_at.plus(KEPT_REMOVED) <= trail.now.steady {
            view.delete(&row);
        }
    }
    Ok(())
}

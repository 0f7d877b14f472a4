//! Removing an application, with its users in steps.

use super::keys;
use crate::engine::model::clock::Time;
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::lookups::Kind;
use crate::engine::operations::{AppId, users};
use crate::engine::store::{
    Application, Audit, Decided, Due, Forwarded, Forwarding, Lookup, Page, Statistics, View,
};

/// Comes after every number and name.
const AFTER_ALL: &str = "\u{10ffff}";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Removed {
    Done,
    NoApplication,
    HasUsers,
}

/// Says if an application can be removed.
pub(in crate::engine) fn can_be_removed(view: &mut View, app: AppId) -> Decided<Removed> {
    Ok(match view.get::<Application>((app,))? {
        None => Removed::NoApplication,
        Some(_) if !names(view, app, 1)?.is_empty() => Removed::HasUsers,
        Some(_) => Removed::Done,
    })
}

/// Removes some users of an application. Returns whether there were any.
pub(in crate::engine) fn remove_users(view: &mut View, app: AppId, most: u32) -> Decided<bool> {
    let names = names(view, app, most)?;
    for name in &names {
        if !users::delete(view, app, super::super::user_id(name.id)?)? {
            view.delete(name);
        }
    }
    Ok(!names.is_empty())
}

/// Returns names of users, of one kind. Each user has a number, or else an address or a login name.
fn names(view: &mut View, app: AppId, most: u32) -> Decided<Vec<Lookup>> {
    for kind in [Kind::Phone, Kind::Email, Kind::Login] {
        let page = Page::below((kind.name(), app), most).before((AFTER_ALL.to_owned(),));
        let names = view.page(page)?;
        if !names.is_empty() {
            return Ok(names);
        }
    }
    Ok(Vec::new())
}

/// Removes some rows of its audit. Returns whether there were any.
pub(in crate::engine) fn remove_audit(view: &mut View, app: AppId, most: u32) -> Decided<bool> {
    let (rows, unreadable) = view.due::<Audit>(&Due::until(Time(i64::MAX), most).of(app))?;
    rows.iter().for_each(|row| view.delete(row));
    unreadable.iter().for_each(|values| view.delete_values::<Audit>(values));
    Ok(!rows.is_empty() || !unreadable.is_empty())
}

/// Removes an application without users. The audit of another one has a row for it.
pub(in crate::engine) fn remove(view: &mut View, app: AppId, trail: &Trail) -> Decided<Removed> {
    let can = can_be_removed(view, app)?;
    if can != Removed::Done {
        return Ok(can);
    }
    if let Some(mut row) = view.get::<Application>((app,))? {
        keys::forget_all(view, &mut row)?;
        view.delete(&row);
    }
    for kind in Kind::OF_USERS {
        view.delete_all::<Lookup>((kind.name(), app));
    }
    view.delete_all::<Statistics>((app,));
    view.delete_all::<Forwarded>((app,));
    view.delete_all::<Forwarding>((app,));
    let removed = format!("application {app}");
    trail.note(
        view,
        Noted { verdict: AuditVerdict::Done, ..Noted::default() }.because(Some(&removed)),
    );
    Ok(Removed::Done)
}

//! Removing an application, with its users in steps.

use super::keys;
use crate::engine::clock::Time;
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
        Some(_) if !numbers(view, app, 1)?.is_empty() => Removed::HasUsers,
        Some(_) => Removed::Done,
    })
}

/// Removes some users of an application. Returns whether there were any.
pub(in crate::engine) fn remove_users(view: &mut View, app: AppId, most: u32) -> Decided<bool> {
    let numbers = numbers(view, app, most)?;
    for number in &numbers {
        if !users::delete(view, app, users::user_id(number.id)?)? {
            view.delete(number);
        }
    }
    Ok(!numbers.is_empty())
}

/// Returns the numbers of users. Each user has one.
fn numbers(view: &mut View, app: AppId, most: u32) -> Decided<Vec<Lookup>> {
    let page = Page::below((Kind::Phone.name(), app), most).before((AFTER_ALL.to_owned(),));
    view.page(page)
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
    for kind in [Kind::Phone, Kind::Login, Kind::Device, Kind::Approval, Kind::Verification] {
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

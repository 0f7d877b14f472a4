//! The operators of a database, each with a token.

use super::audit::{AuditVerdict, Noted, Trail};
use super::steady;
use crate::engine::model::clock::Time;
use crate::engine::model::limits::MOST_OPERATORS;
use crate::engine::store::{Decided, Operator, View};

/// The reason why nothing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Refused {
    /// There is one with this name.
    Exists,
    TooMany,
}

pub(in crate::engine) fn all(view: &mut View) -> Decided<Vec<Operator>> {
    view.all::<Operator>(())
}

pub(in crate::engine) fn add(
    view: &mut View,
    new: &Operator,
    trail: &Trail,
) -> Decided<Result<(), Refused>> {
    let all = all(view)?;
    if all.iter().any(|row| row.name == new.name) {
        return Ok(Err(Refused::Exists));
    }
    if all.len() >= MOST_OPERATORS {
        return Ok(Err(Refused::TooMany));
    }
    put(view, new.clone(), trail)?;
    Ok(Ok(()))
}

/// Replaces the token of an operator: the one before it ends at once. Returns the operator, if there is one.
pub(in crate::engine) fn rotate(
    view: &mut View,
    name: &str,
    (token_hash, expires_at): (&[u8], Option<Time>),
    trail: &Trail,
) -> Decided<Option<Operator>> {
    let Some(mut row) = view.get::<Operator>((name.to_owned(),))? else { return Ok(None) };
    row.token_hash = token_hash.to_vec();
    row.expires_at = expires_at;
    row.used_at = None;
    put(view, row.clone(), trail)?;
    Ok(Some(row))
}

/// Removes an operator. Returns whether there was one.
pub(in crate::engine) fn remove(view: &mut View, name: &str, trail: &Trail) -> Decided<bool> {
    let Some(row) = view.get::<Operator>((name.to_owned(),))? else { return Ok(false) };
    view.delete(&row);
    note(view, name, trail);
    Ok(true)
}

/// Notes when a token was used, unless it was replaced meanwhile.
pub(in crate::engine) fn used(view: &mut View, operator: &Operator, at: Time) -> Decided<()> {
    let row = view.get::<Operator>((operator.name.clone(),))?;
    if let Some(mut row) = row.filter(|row| row.token_hash == operator.token_hash) {
        row.used_at = Some(at);
        view.put(row);
    }
    Ok(())
}

fn put(view: &mut View, row: Operator, trail: &Trail) -> Decided<()> {
    note(view, &row.name, trail);
    view.put(row);
    steady::raise(view, trail.now.reached())
}

fn note(view: &mut View, name: &str, trail: &Trail) {
    let reason = Some(name.to_owned());
    trail.note(view, Noted { verdict: AuditVerdict::Configured, reason, ..Noted::default() });
}

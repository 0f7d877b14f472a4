//! The API keys of an application: the current one, and for a while the one before it.

use super::super::lookups;
use crate::engine::app_settings::EarlierKey;
use crate::engine::model::clock::Time;
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::lookups::Kind;
use crate::engine::operations::steady;
use crate::engine::store::{Application, Decided, View};
use crate::model::{ApiKey, Secret};
use sha2::{Digest, Sha256};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Rotated {
    Done,
    NoApplication,
    /// The key before the current one is valid until then.
    HasEarlier(Time),
}

/// Returns whether an application has the key that leads to it, at this time.
pub(super) fn is_valid(row: &Application, key: &ApiKey, now: Time) -> Decided<bool> {
    if same(key, row.api_key.get()?) {
        return Ok(true);
    }
    Ok(row.earlier_until.is_some_and(|until| until > now) && same(key, row.earlier_key.get()?))
}

/// In constant time.
fn same(key: &ApiKey, stored: &str) -> bool {
    *key == ApiKey::stored(Secret::new(stored))
}

pub(super) fn earlier(row: &Application) -> Decided<Option<EarlierKey>> {
    let Some(until) = row.earlier_until else { return Ok(None) };
    let key = ApiKey::stored(Secret::new(row.earlier_key.get()?.as_str()));
    Ok(Some(EarlierKey { key, until }))
}

/// Gives an application another key. The one before it stays valid until a time, or ends at once, and any
/// earlier one with it.
pub(in crate::engine) fn rotate(
    view: &mut View,
    new: &ApiKey,
    until: Option<Time>,
    trail: &Trail,
) -> Decided<Rotated> {
    let Some(mut row) = view.get::<Application>((trail.app,))? else {
        return Ok(Rotated::NoApplication);
    };
    let still = row.earlier_until.filter(|end| *end > trail.now.steady);
    if let (Some(end), true) = (still, until.is_some()) {
        return Ok(Rotated::HasEarlier(end));
    }
    forget_earlier(view, &mut row)?;
    let current = row.api_key.get()?.clone();
    match until {
        Some(_) => (row.earlier_key, row.earlier_until) = (current.into(), until),
        None => forget(view, &current),
    }
    row.api_key = new.expose().into();
    lookups::set(view, Kind::ApiKey, 0, &hash(new), trail.app);
    put(view, row, trail)?;
    Ok(Rotated::Done)
}

/// Ends the key before the current one. Returns whether it was valid, if there is such an application.
pub(in crate::engine) fn end_earlier(view: &mut View, trail: &Trail) -> Decided<Option<bool>> {
    let Some(mut row) = view.get::<Application>((trail.app,))? else { return Ok(None) };
    let was_valid = row.earlier_until.is_some_and(|until| until > trail.now.steady);
    if row.earlier_until.is_some() {
        forget_earlier(view, &mut row)?;
        put(view, row, trail)?;
    }
    Ok(Some(was_valid))
}

/// Has the keys of an application lead nowhere.
pub(super) fn forget_all(view: &mut View, row: &mut Application) -> Decided<()> {
    forget_earlier(view, row)?;
    forget(view, &row.api_key.get()?.clone());
    Ok(())
}

fn forget_earlier(view: &mut View, row: &mut Application) -> Decided<()> {
    if row.earlier_until.take().is_some() {
        forget(view, &row.earlier_key.get()?.clone());
        row.earlier_key = "".into();
    }
    Ok(())
}

fn forget(view: &mut View, key: &str) {
    lookups::remove(view, Kind::ApiKey, 0, &hash(&ApiKey::stored(Secret::new(key))));
}

fn put(view: &mut View, row: Application, trail: &Trail) -> Decided<()> {
    view.put(row);
    let noted = Noted { verdict: AuditVerdict::Configured, ..Noted::default() };
    trail.note(view, Noted { reason: Some("api_key".to_owned()), ..noted });
    steady::raise(view, trail.now.reached())
}

/// Returns the hash by which an API key is looked up, so that the time of a comparison reveals
/// nothing about the key.
pub(in crate::engine) fn key_hash(api_key: &ApiKey) -> [u8; 32] {
    Sha256::digest(api_key.expose()).into()
}

/// [`key_hash`], as it is stored.
pub(in crate::engine) fn hash(api_key: &ApiKey) -> String {
    key_hash(api_key).iter().map(|byte| format!("{byte:02x}")).collect()
}

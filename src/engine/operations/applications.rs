//! Applications and their usage.

mod keys;
mod removing;

pub(in crate::engine) use keys::{Rotated, end_earlier, hash, key_hash, rotate};
pub(in crate::engine) use removing::{Removed, can_be_removed, remove, remove_audit, remove_users};

use super::audit::{AuditVerdict, Noted, Trail};
use super::lookups::{self, Kind};
use super::{AppId, next_id, steady};
use crate::engine::app_settings::{self, App, AppSettings, ApplicationSettings};
use crate::engine::model::clock::Time;
use crate::engine::store::{Application, Decided, View};
use crate::model::{ApiKey, Secret};
use crate::wire::Names;
use std::collections::BTreeSet;
use zeroize::Zeroizing;

/// Every application, in the order they were added.
pub(in crate::engine) fn all(view: &mut View) -> Decided<Vec<App>> {
    view.all::<Application>(())?.into_iter().map(app).collect()
}

/// Returns the application with this API key, or with this one before it.
pub(in crate::engine) fn of_key(
    view: &mut View,
    api_key: &ApiKey,
    now: Time,
) -> Decided<Option<App>> {
    let Some(id) = lookups::find(view, Kind::ApiKey, 0, &hash(api_key))? else { return Ok(None) };
    match view.get::<Application>((id,))? {
        Some(row) if keys::is_valid(&row, api_key, now)? => app(row).map(Some),
        _ => Ok(None),
    }
}

/// Returns the hashes of the keys of all applications: [`hash`].
pub(in crate::engine) fn key_hashes(view: &mut View) -> Decided<BTreeSet<String>> {
    lookups::names(view, Kind::ApiKey, 0)
}

/// Returns the ids of all applications, including unusable ones.
pub(in crate::engine) fn ids(view: &mut View) -> Decided<Vec<AppId>> {
    Ok(view.all_readable::<Application>()?.into_iter().map(|row| row.app_id).collect())
}

/// Returns whether there is such an application. A process that uses one may believe so for a while after it was
/// removed.
pub(in crate::engine) fn exists(view: &mut View, id: AppId) -> Decided<bool> {
    Ok(view.get::<Application>((id,))?.is_some())
}

pub(in crate::engine) fn of_id(view: &mut View, id: AppId) -> Decided<Option<App>> {
    view.get::<Application>((id,))?.map(app).transpose()
}

/// Adds the first application, unless another process has added one.
pub(in crate::engine) fn add_first(view: &mut View, new: &App, trail: &Trail) -> Decided<()> {
    if !view.all::<Application>(())?.is_empty() {
        return Ok(());
    }
    add(view, new, trail).map(drop)
}

/// Adds an application, and returns its id; `None` if another one has its key.
pub(in crate::engine) fn add(view: &mut View, new: &App, trail: &Trail) -> Decided<Option<AppId>> {
    if lookups::find(view, Kind::ApiKey, 0, &hash(&new.api_key))?.is_some() {
        return Ok(None);
    }
    let app_id = next_id(view, "applications")?;
    lookups::set(view, Kind::ApiKey, 0, &hash(&new.api_key), app_id);
    view.put(app_settings::row(app_id, new, trail.now.clock));
    let trail = Trail { app: app_id, ..trail.clone() };
    trail.note(view, Noted { verdict: AuditVerdict::Created, ..Noted::default() });
    steady::raise(view, trail.now.reached())?;
    Ok(Some(app_id))
}

pub(in crate::engine) fn configure(
    view: &mut View,
    given: &AppSettings,
    trail: &Trail,
) -> Decided<()> {
    let Some(mut row) = view.get::<Application>((trail.app,))? else { return Ok(()) };
    let before = row.clone();
    given.apply(&mut row)?;
    // Programs that open it with the same settings every day change nothing.
    if row == before {
        return Ok(());
    }
    let changed = app_settings::changed(&before, &row);
    let noted = Noted { verdict: AuditVerdict::Configured, ..Noted::default() };
    trail.note(view, noted.because(Some(&changed)));
    view.put(row);
    steady::raise(view, trail.now.reached())
}

fn app(row: Application) -> Decided<App> {
    let parts = [&row.header_prefix, &row.push_path, &row.id_field, &row.chrome_device];
    let settings = ApplicationSettings::stored(&row, Names::stored(parts.map(String::clone)))?;
    Ok(App {
        app_id: row.app_id,
        earlier: keys::earlier(&row)?,
        api_key: ApiKey::stored(Secret::new(row.api_key.get()?.clone())),
        secret: Zeroizing::new(*row.secret.get()?),
        settings,
    })
}

//! The authenticator apps and devices of users.

use super::users::{self, user_id};
use super::{
    AppId, AuthenticatorInfo, DeviceInfo, DeviceRow, FactorRows, NewAuthenticator, NewDevice,
    Removed, UserRow, recovery, remembered,
};
use crate::engine::clock::Time;
use crate::model::{DeviceId, UserId};
use rusqlite::{Connection, OptionalExtension, Result, params};

/// A user, and what protects the account.
pub(super) fn find(
    db: &Connection,
    app: AppId,
    user_id: UserId,
) -> Result<Option<(UserRow, FactorRows)>> {
    let Some(user) = users::find(db, app, user_id)? else { return Ok(None) };
    let authenticators = db
        .prepare_cached(
            "SELECT authenticator_id, last_step IS NOT NULL, label, created_at \
             FROM authenticators WHERE user_id = $1 ORDER BY authenticator_id",
        )?
        .query_map(params![user_id.get() as i64], |row| {
            Ok(AuthenticatorInfo {
                authenticator_id: row.get(0)?,
                confirmed: row.get(1)?,
                label: row.get(2)?,
                created_at: Time(row.get(3)?),
            })
        })?
        .collect::<Result<_>>()?;
    let devices = db
        .prepare_cached(
            "SELECT device_id, os_type, registered_at FROM devices WHERE user_id = $1 \
             ORDER BY device_id",
        )?
        .query_map(params![user_id.get() as i64], |row| {
            Ok(DeviceInfo {
                device_id: device_id(row.get(0)?)?,
                os_type: row.get(1)?,
                registered_at: Time(row.get(2)?),
            })
        })?
        .collect::<Result<_>>()?;
    let recovery_codes = recovery::left(db, user_id)?;
    Ok(Some((user, FactorRows { authenticators, devices, recovery_codes })))
}

pub(super) fn add_device(db: &Connection, device: &NewDevice) -> Result<Option<DeviceId>> {
    let added = db
        .prepare_cached(
            "INSERT INTO devices (user_id, os_type, secret_hash, registered_at) \
             SELECT user_id, $1, $2, $3 FROM users WHERE user_id = $4 AND app_id = $5",
        )?
        .execute(params![
            device.os_type,
            device.secret_hash,
            device.now.0,
            device.user_id.get() as i64,
            device.app
        ])?;
    match added {
        0 => Ok(None),
        _ => device_id(db.last_insert_rowid()).map(Some),
    }
}

pub(super) fn device(db: &Connection, app: AppId, device: DeviceId) -> Result<Option<DeviceRow>> {
    db.prepare_cached(
        "SELECT d.user_id, d.os_type, d.secret_hash, d.registered_at FROM devices d \
         JOIN users u USING (user_id) WHERE d.device_id = $1 AND u.app_id = $2",
    )?
    .query_row(params![device.get() as i64, app], |row| {
        Ok(DeviceRow {
            device_id: device,
            user_id: user_id(row.get(0)?)?,
            os_type: row.get(1)?,
            secret_hash: row.get(2)?,
            registered_at: Time(row.get(3)?),
        })
    })
    .optional()
}

/// Adds a secret. An earlier one that never produced a right code may not have reached the app, so
/// it is replaced. One that did is kept until the new one produces a right code.
pub(super) fn add_authenticator(db: &Connection, new: &NewAuthenticator) -> Result<bool> {
    let id = new.user_id.get() as i64;
    let added = db
        .prepare_cached(
            "INSERT INTO authenticators (user_id, label, secret, digits, period, created_at) \
             SELECT user_id, $1, $2, $3, $4, $5 FROM users WHERE user_id = $6 AND app_id = $7",
        )?
        .execute(params![
            new.label,
            *new.secret,
            new.digits,
            new.period as i64,
            new.now.0,
            id,
            new.app
        ])?;
    if added > 0 {
        db.prepare_cached(
            "DELETE FROM authenticators WHERE user_id = $1 AND last_step IS NULL \
             AND authenticator_id < $2",
        )?
        .execute(params![id, db.last_insert_rowid()])?;
    }
    Ok(added > 0)
}

pub(super) fn remove_authenticator(
    db: &Connection,
    app: AppId,
    user: UserId,
    authenticator_id: i64,
) -> Result<Removed> {
    let confirmed: Option<bool> = db
        .prepare_cached(
            "DELETE FROM authenticators WHERE authenticator_id = $1 AND user_id = $2 \
             AND EXISTS (SELECT 1 FROM users WHERE user_id = $2 AND app_id = $3) \
             RETURNING last_step IS NOT NULL",
        )?
        .query_row(params![authenticator_id, user.get() as i64, app], |row| row.get(0))
        .optional()?;
    if confirmed == Some(true) {
        forget_browsers(db, user)?;
    }
    outcome(db, app, user, confirmed.is_some())
}

pub(super) fn remove_device(
    db: &Connection,
    app: AppId,
    user: UserId,
    device: DeviceId,
) -> Result<Removed> {
    let removed = db
        .prepare_cached(
            "DELETE FROM devices WHERE device_id = $1 AND user_id = $2 \
             AND EXISTS (SELECT 1 FROM users WHERE user_id = $2 AND app_id = $3)",
        )?
        .execute(params![device.get() as i64, user.get() as i64, app])?;
    if removed > 0 {
        forget_browsers(db, user)?;
    }
    outcome(db, app, user, removed > 0)
}

/// For a phone that may be lost, with a browser on it that is remembered.
fn forget_browsers(db: &Connection, user: UserId) -> Result<()> {
    remembered::forget_those_of(db, user.get() as i64)
}

fn outcome(db: &Connection, app: AppId, user: UserId, removed: bool) -> Result<Removed> {
    Ok(match removed {
        true => Removed::Done,
        false if users::find(db, app, user)?.is_none() => Removed::NoUser,
        false => Removed::NotFound,
    })
}

fn device_id(number: i64) -> Result<DeviceId> {
    let number = u64::try_from(number).unwrap_or(0);
    DeviceId::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, 0))
}

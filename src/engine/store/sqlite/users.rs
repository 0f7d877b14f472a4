//! Users.

use super::applications::{count, count_user};
use super::{Activity, AppId, EnrolUser, EnrolledUser, Outgoing, Subject, UserRow, remembered};
use crate::engine::clock::Time;
use crate::engine::phones::Phone;
use crate::model::UserId;
use rusqlite::{Connection, OptionalExtension, Result, params};

pub(super) fn enrol(db: &Connection, user: &EnrolUser) -> Result<EnrolledUser> {
    // Looked up first, because an insertion that finds a conflict uses up an id all the same.
    let known = with_phone(db, user.app, &user.phone)?;
    let user_id = match known {
        Some(user_id) if user.new_only => {
            return Ok(EnrolledUser { user_id, created: false, welcome: None });
        }
        Some(user_id) => user_id,
        None => add(db, user)?,
    };
    db.prepare_cached(
        "INSERT INTO emails (user_id, email) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    )?
    .execute(params![user_id.get() as i64, user.email])?;
    let created = known.is_none();
    let welcome = match &user.welcome {
        Some(message) if created => Some(add_welcome(db, user, user_id, message)?),
        _ => None,
    };
    Ok(EnrolledUser { user_id, created, welcome })
}

fn with_phone(db: &Connection, app: AppId, phone: &Phone) -> Result<Option<UserId>> {
    db.prepare_cached(
        "SELECT user_id FROM users WHERE app_id = $1 AND country_code = $2 AND cellphone = $3",
    )?
    .query_row(params![app, phone.country_code, phone.national], |row| user_id(row.get(0)?))
    .optional()
}

fn add(db: &Connection, user: &EnrolUser) -> Result<UserId> {
    db.prepare_cached(
        "INSERT INTO users (app_id, country_code, cellphone, created_at) VALUES ($1, $2, $3, $4)",
    )?
    .execute(params![user.app, user.phone.country_code, user.phone.national, user.now.0])?;
    let added = user_id(db.last_insert_rowid())?;
    count(db, user.app, user.now.month(), "users", 1)?;
    count_user(db, user.app, 1)?;
    Ok(added)
}

fn add_welcome(
    db: &Connection,
    user: &EnrolUser,
    user_id: UserId,
    message: &Outgoing,
) -> Result<i64> {
    let payload = serde_json::json!({ "message": message });
    db.prepare_cached(
        "INSERT INTO outbox (app_id, kind, subject, action, payload, created_at) \
         VALUES ($1, 'welcome', $2, '', $3, $4)",
    )?
    .execute(params![
        user.app,
        Subject::User(user.app, user_id).key(),
        payload.to_string(),
        user.now.0
    ])?;
    Ok(db.last_insert_rowid())
}

pub(super) fn finish_welcome(
    db: &Connection,
    app: AppId,
    job: i64,
    sent: bool,
    now: Time,
) -> Result<()> {
    db.prepare_cached("DELETE FROM outbox WHERE job_id = $1")?.execute(params![job])?;
    match sent {
        true => count(db, app, now.month(), "sms", 1),
        false => Ok(()),
    }
}

pub(super) fn find(db: &Connection, app: AppId, user_id: UserId) -> Result<Option<UserRow>> {
    let id = user_id.get() as i64;
    let user = db
        .prepare_cached(
            "SELECT country_code, cellphone, confirmed, sms_used, \
             (SELECT email FROM emails WHERE user_id = $1 ORDER BY email_id DESC LIMIT 1), \
             EXISTS (SELECT 1 FROM authenticators WHERE user_id = $1 AND last_step IS NOT NULL) \
             FROM users WHERE user_id = $1 AND app_id = $2",
        )?
        .query_row(params![id, app], |row| {
            Ok(UserRow {
                user_id,
                phone: Phone { country_code: row.get(0)?, national: row.get(1)? },
                email: row.get(4)?,
                confirmed: row.get(2)?,
                sms_used: row.get(3)?,
                authenticator_used: row.get(5)?,
                devices: Vec::new(),
            })
        })
        .optional()?;
    let Some(mut user) = user else { return Ok(None) };
    user.devices = db
        .prepare_cached("SELECT os_type FROM devices WHERE user_id = $1 ORDER BY device_id")?
        .query_map(params![id], |row| row.get(0))?
        .collect::<Result<_>>()?;
    Ok(Some(user))
}

pub(super) fn delete(db: &Connection, app: AppId, user_id: UserId) -> Result<bool> {
    let id = user_id.get() as i64;
    let gone = db
        .prepare_cached("DELETE FROM users WHERE user_id = $1 AND app_id = $2")?
        .execute(params![id, app])?;
    if gone > 0 {
        count_user(db, app, -1)?;
        for table in ["codes", "wrong_answers", "outbox"] {
            db.prepare_cached(&format!("DELETE FROM {table} WHERE subject = 'user:' || $1"))?
                .execute(params![id])?;
        }
    }
    Ok(gone > 0)
}

/// Deletes everything but the applications. The rows of a user go with the user; the ids in
/// `sqlite_sequence` stay, so that none is given again.
pub(super) fn clear(db: &Connection) -> Result<()> {
    db.execute_batch(
        "DELETE FROM users; DELETE FROM codes; DELETE FROM wrong_answers; DELETE FROM outbox; \
         DELETE FROM verifications; DELETE FROM statistics; UPDATE applications SET users = 0;",
    )
}

pub(super) fn confirm(
    db: &Connection,
    app: AppId,
    user_id: UserId,
    now: Time,
) -> Result<Option<Time>> {
    let enrolled_at = db
        .prepare_cached(
            "UPDATE users SET confirmed = 1, sms_used = 1 WHERE user_id = $1 AND app_id = $2 \
             RETURNING created_at",
        )?
        .query_row(params![user_id.get() as i64, app], |row| row.get(0).map(Time))
        .optional()?;
    if enrolled_at.is_some() {
        count(db, app, now.month(), "auths", 1)?;
    }
    Ok(enrolled_at)
}

pub(super) fn add_activity(db: &Connection, activity: &Activity) -> Result<bool> {
    let added = db
        .prepare_cached(
            "INSERT INTO activities (user_id, type, data, user_ip, created_at) \
             SELECT user_id, $1, $2, $3, $4 FROM users WHERE user_id = $5 AND app_id = $6",
        )?
        .execute(params![
            activity.kind,
            activity.data,
            activity.user_ip,
            activity.now.0,
            activity.user_id.get() as i64,
            activity.app
        ])?;
    if added > 0 && activity.forgets_browsers {
        remembered::forget_those_of(db, activity.user_id.get() as i64)?;
    }
    Ok(added > 0)
}

/// Converts a number from the database to a user's id.
pub(super) fn user_id(number: i64) -> Result<UserId> {
    let number = u64::try_from(number).unwrap_or(0);
    UserId::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, 0))
}

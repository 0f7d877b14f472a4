//! The browsers that are remembered, by the hashes of the ids in their tokens.

use super::codes::MOST_DELETED;
use super::{AppId, BrowserKey, NewBrowser};
use crate::engine::clock::Time;
use crate::engine::limits::CLOCK_SLACK;
use crate::model::UserId;
use rusqlite::{Connection, OptionalExtension, Result, params};

/// Adds a browser. Returns whether there is such a user.
pub(super) fn add(db: &Connection, new: &NewBrowser) -> Result<bool> {
    delete_expired(db, new.now)?;
    let id = new.key.user_id.get() as i64;
    let added = db
        .prepare_cached(
            "INSERT INTO browsers (user_id, id_hash, created_at, expires_at) \
             SELECT user_id, $1, $2, $3 FROM users WHERE user_id = $4 AND app_id = $5",
        )?
        .execute(params![new.key.id_hash, new.now.0, new.expires_at.0, id, new.key.app])?;
    if added > 0 {
        // By their ids, because several may have one time, and the clock may have been set back.
        db.prepare_cached(
            "DELETE FROM browsers WHERE browser_id IN (SELECT browser_id FROM browsers \
             WHERE user_id = $1 ORDER BY browser_id DESC LIMIT -1 OFFSET $2)",
        )?
        .execute(params![id, new.most])?;
    }
    Ok(added > 0)
}

/// Whether a browser is remembered; `None` if it has expired, so that it must be deleted.
pub(super) fn find(db: &Connection, key: &BrowserKey, now: Time) -> Result<Option<bool>> {
    let found = db
        .prepare_cached(
            "SELECT b.created_at, b.expires_at FROM browsers b JOIN users u USING (user_id) \
             WHERE b.id_hash = $1 AND b.user_id = $2 AND u.app_id = $3",
        )?
        .query_row(params![key.id_hash, key.user_id.get() as i64, key.app], |row| {
            Ok((Time(row.get(0)?), Time(row.get(1)?)))
        })
        .optional()?;
    let Some((created_at, expires_at)) = found else { return Ok(Some(false)) };
    // One from the future was remembered while the clock was wrong, and would live too long.
    let lives = expires_at > now && created_at <= now.plus(CLOCK_SLACK);
    Ok(lives.then_some(true))
}

pub(super) fn forget(db: &Connection, key: &BrowserKey, now: Time) -> Result<()> {
    delete_expired(db, now)?;
    db.prepare_cached(
        "DELETE FROM browsers WHERE id_hash = $1 AND user_id = \
         (SELECT user_id FROM users WHERE user_id = $2 AND app_id = $3)",
    )?
    .execute(params![key.id_hash, key.user_id.get() as i64, key.app])?;
    Ok(())
}

/// Forgets all browsers of a user. Returns whether there is such a user.
pub(super) fn forget_all(db: &Connection, app: AppId, user_id: UserId, now: Time) -> Result<bool> {
    delete_expired(db, now)?;
    let id = user_id.get() as i64;
    let known = db
        .prepare_cached("SELECT 1 FROM users WHERE user_id = $1 AND app_id = $2")?
        .query_row(params![id, app], |_| Ok(()))
        .optional()?;
    if known.is_some() {
        forget_those_of(db, id)?;
    }
    Ok(known.is_some())
}

/// Forgets all browsers of a user whose account is in danger, or is protected in another way now.
pub(super) fn forget_those_of(db: &Connection, user_id: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM browsers WHERE user_id = $1")?.execute(params![user_id])?;
    Ok(())
}

/// Deletes some of the browsers that have expired, of all users: they would be remembered again if the
/// clock was set back.
fn delete_expired(db: &Connection, now: Time) -> Result<()> {
    db.prepare_cached(
        "DELETE FROM browsers WHERE browser_id IN \
         (SELECT browser_id FROM browsers WHERE expires_at <= $1 LIMIT $2)",
    )?
    .execute(params![now.0, MOST_DELETED])?;
    Ok(())
}

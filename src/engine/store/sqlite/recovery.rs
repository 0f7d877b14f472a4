//! The recovery codes of users, as hashes.

use super::{Factor, NewRecoveryCodes, RecoveryCodeRow, Subject, WrongAnswers, verify};
use crate::engine::clock::Time;
use crate::model::UserId;
use rusqlite::{Connection, OptionalExtension, Result, params};

pub(super) fn replace(db: &Connection, new: &NewRecoveryCodes) -> Result<bool> {
    let id = new.user_id.get() as i64;
    db.prepare_cached(
        "DELETE FROM recovery_codes WHERE user_id = $1 \
         AND EXISTS (SELECT 1 FROM users WHERE user_id = $1 AND app_id = $2)",
    )?
    .execute(params![id, new.app])?;
    let mut added = 0;
    for hash in &new.hashes {
        added += db
            .prepare_cached(
                "INSERT INTO recovery_codes (user_id, hash, salt) \
                 SELECT user_id, $1, $2 FROM users WHERE user_id = $3 AND app_id = $4",
            )?
            .execute(params![hash, new.salt, id, new.app])?;
    }
    Ok(added > 0)
}

pub(super) fn codes(
    db: &Connection,
    user_id: UserId,
) -> Result<(Vec<RecoveryCodeRow>, WrongAnswers)> {
    let rows = db
        .prepare_cached("SELECT hash, salt, spent FROM recovery_codes WHERE user_id = $1")?
        .query_map(params![user_id.get() as i64], |row| {
            Ok(RecoveryCodeRow { hash: row.get(0)?, salt: row.get(1)?, spent: row.get(2)? })
        })?
        .collect::<Result<_>>()?;
    // The subject of a user does not depend on the application.
    let subject = Subject::User(0, user_id).key();
    Ok((rows, verify::wrong_answers(db, &subject, Factor::Recovery)?))
}

pub(super) fn left(db: &Connection, user_id: UserId) -> Result<u64> {
    db.prepare_cached("SELECT count(*) FROM recovery_codes WHERE user_id = $1 AND spent = 0")?
        .query_row(params![user_id.get() as i64], |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()))
}

/// Uses a code up, and returns how many were: none if another attempt came first, or the set was
/// replaced.
pub(super) fn spend(db: &Connection, subject: &Subject, hash: &[u8]) -> Result<usize> {
    let Subject::User(_, user_id) = subject else { return Ok(0) };
    db.prepare_cached(
        "UPDATE recovery_codes SET spent = 1 WHERE user_id = $1 AND hash = $2 AND spent = 0",
    )?
    .execute(params![user_id.get() as i64, hash])
}

pub(super) fn authenticator_used_at(db: &Connection, user_id: UserId) -> Result<Option<Time>> {
    db.prepare_cached(
        "SELECT used_at FROM authenticators WHERE user_id = $1 AND used_at IS NOT NULL \
         ORDER BY used_at DESC LIMIT 1",
    )?
    .query_row(params![user_id.get() as i64], |row| row.get(0).map(Time))
    .optional()
}

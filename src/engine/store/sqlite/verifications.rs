//! The latest verification of each number, for its status.

use super::codes::MOST_DELETED;
use super::{IssueCode, Subject, Verification, VerificationKey};
use crate::engine::clock::Time;
use crate::engine::limits::{TRIES, VERIFICATION_RECORD};
use crate::model::ApprovalId;
use rusqlite::{Connection, OptionalExtension, Result, params};

/// Records that a code was issued, and returns the id of the verification. One that sends its code
/// again keeps its id.
pub(super) fn begin(
    db: &Connection,
    issue: &IssueCode,
    is_new: bool,
    expires_at: Time,
) -> Result<Option<ApprovalId>> {
    let (Some(uuid), Subject::Phone(..)) = (&issue.uuid, &issue.subject) else { return Ok(None) };
    let subject = issue.subject.key();
    db.prepare_cached(
        "DELETE FROM verifications WHERE subject IN \
         (SELECT subject FROM verifications WHERE expires_at <= $1 LIMIT $2)",
    )?
    .execute(params![forgotten(issue.now), MOST_DELETED])?;
    if is_new {
        db.prepare_cached(
            "INSERT INTO verifications (subject, app_id, uuid, expires_at, verified) \
             VALUES ($1, $2, $3, $4, 0) ON CONFLICT (subject) DO UPDATE SET \
             uuid = excluded.uuid, expires_at = excluded.expires_at, verified = 0",
        )?
        .execute(params![subject, issue.app, uuid.as_str(), expires_at.0])?;
    }
    let known = db
        .prepare_cached("SELECT uuid FROM verifications WHERE subject = $1")?
        .query_row(params![subject], |row| row.get::<_, String>(0))
        .optional()?;
    known.map(|uuid| uuid.parse().map_err(|_| rusqlite::Error::InvalidQuery)).transpose()
}

pub(super) fn succeed(db: &Connection, subject: &str) -> Result<()> {
    db.prepare_cached("UPDATE verifications SET verified = 1 WHERE subject = $1")?
        .execute(params![subject])?;
    Ok(())
}

pub(super) fn find(
    db: &Connection,
    key: &VerificationKey,
    now: Time,
) -> Result<Option<Verification>> {
    let (column, app, value) = match key {
        VerificationKey::Uuid(app, uuid) => ("uuid", *app, uuid.as_str().to_owned()),
        VerificationKey::Number(subject) => ("subject", subject.app(), subject.key()),
    };
    let sql = format!(
        "SELECT v.expires_at, v.verified, coalesce(c.wrong_tries >= $1, 0) \
         FROM verifications v LEFT JOIN codes c ON c.subject = v.subject AND c.action = '' \
         WHERE v.{column} = $2 AND v.app_id = $3 AND v.expires_at > $4"
    );
    db.prepare_cached(&sql)?
        .query_row(params![TRIES, value, app, forgotten(now)], |row| {
            Ok(Verification {
                expires_at: Time(row.get(0)?),
                verified: row.get(1)?,
                is_void: row.get(2)?,
            })
        })
        .optional()
}

/// Verifications whose codes expired until then are forgotten.
fn forgotten(now: Time) -> i64 {
    now.0.saturating_sub(VERIFICATION_RECORD.as_millis() as i64)
}

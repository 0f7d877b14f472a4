//! Approval requests and their callbacks.

use super::applications::count;
use super::users::user_id;
use super::{AddApproval, AppId, ApprovalRow, Decided, Decision, NewApproval, remembered};
use crate::engine::clock::Time;
use crate::model::{ApprovalId, UserId};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

const COLUMNS: &str = "uuid, user_id, message, details, hidden_details, logos, seconds_to_expire, \
                       status, created_at, updated_at, expires_at, processed_at, \
                       (SELECT email FROM emails WHERE emails.user_id = approvals.user_id \
                       ORDER BY email_id DESC LIMIT 1)";

pub(super) fn add(db: &Connection, new: &NewApproval) -> Result<AddApproval> {
    let id = new.user_id.get() as i64;
    let user = db
        .prepare_cached(
            "SELECT snoozed_until, EXISTS (SELECT 1 FROM devices WHERE user_id = $1) \
             FROM users WHERE user_id = $1 AND app_id = $2",
        )?
        .query_row(params![id, new.app], |row| Ok((row.get(0).map(Time)?, row.get(1)?)))
        .optional()?;
    let answerable = match user {
        None => return Ok(AddApproval::NoUser),
        Some((until, _)) if until > new.now => return Ok(AddApproval::Snoozed(until)),
        Some((_, has_device)) => has_device,
    };
    expire(db, new.user_id, new.now)?;
    supersede(db, id, new.most_open.saturating_sub(1), new.now)?;
    db.prepare_cached(
        "INSERT INTO approvals (uuid, app_id, user_id, message, details, hidden_details, logos, \
         seconds_to_expire, status, created_at, updated_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', $9, $9, $10)",
    )?
    .execute(params![
        new.uuid.as_str(),
        new.app,
        id,
        new.message,
        new.details,
        new.hidden_details,
        new.logos,
        new.seconds_to_expire as i64,
        new.now.0,
        new.expires_at.map(|time| time.0)
    ])?;
    Ok(AddApproval::Added { answerable })
}

/// Expires the oldest open requests of a user, so that this many remain.
fn supersede(db: &Connection, user_id: i64, remain: u32, now: Time) -> Result<()> {
    db.prepare_cached(
        "UPDATE approvals SET status = 'expired', processed_at = $1, updated_at = $1 \
         WHERE approval_id IN (SELECT approval_id FROM approvals \
         WHERE user_id = $2 AND status = 'pending' ORDER BY \
         approval_id DESC LIMIT -1 OFFSET $3)",
    )?
    .execute(params![now.0, user_id, remain])?;
    Ok(())
}

/// Stores that the requests of a user that are past their end have expired. They would be pending
/// again if the clock was set back.
pub(super) fn expire(db: &Connection, user_id: UserId, now: Time) -> Result<()> {
    db.prepare_cached(
        "UPDATE approvals SET status = 'expired', processed_at = expires_at, \
         updated_at = expires_at \
         WHERE user_id = $1 AND status = 'pending' AND expires_at <= $2",
    )?
    .execute(params![user_id.get() as i64, now.0])?;
    Ok(())
}

pub(super) fn find(db: &Connection, app: AppId, uuid: &ApprovalId) -> Result<Option<ApprovalRow>> {
    let sql = format!("SELECT {COLUMNS} FROM approvals WHERE uuid = $1 AND app_id = $2");
    db.prepare_cached(&sql)?.query_row(params![uuid.as_str(), app], row).optional()
}

/// The requests of a user that nobody has responded to, oldest first.
pub(super) fn pending(db: &Connection, user_id: UserId) -> Result<Vec<ApprovalRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM approvals WHERE user_id = $1 AND status = 'pending' \
         ORDER BY approval_id"
    );
    db.prepare_cached(&sql)?.query_map(params![user_id.get() as i64], row)?.collect()
}

pub(super) fn decide(db: &Connection, decision: &Decision) -> Result<Decided> {
    let id = decision.user_id.get() as i64;
    let registered: bool = db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM devices WHERE device_id = $1)")?
        .query_row(params![decision.device.get() as i64], |row| row.get(0))?;
    if !registered {
        return Ok(Decided::NoDevice);
    }
    let status = if decision.approved { "approved" } else { "denied" };
    let decided = db
        .prepare_cached(
            "UPDATE approvals SET status = $1, processed_at = $2, updated_at = $2, \
             device_id = $3 WHERE uuid = $4 AND app_id = $5 AND user_id = $6 \
             AND status = 'pending' AND (expires_at IS NULL OR expires_at > $2)",
        )?
        .execute(params![
            status,
            decision.now.0,
            decision.device.get() as i64,
            decision.uuid.as_str(),
            decision.app,
            id
        ])?;
    if decided == 0 {
        return Ok(Decided::NotPending);
    }
    if decision.approved {
        count(db, decision.app, decision.now.month(), "auths", 1)?;
    }
    if let Some(until) = decision.snoozed_until {
        db.prepare_cached("UPDATE users SET snoozed_until = $1 WHERE user_id = $2")?
            .execute(params![until.0, id])?;
        // Somebody else has the password, and perhaps the cookie of a browser.
        remembered::forget_those_of(db, id)?;
    }
    let Some((url, body)) = &decision.callback else {
        return Ok(Decided::Done { callback: None });
    };
    let payload = serde_json::json!({ "url": url.as_str(), "body": body });
    db.prepare_cached(
        "INSERT INTO outbox (app_id, kind, subject, action, payload, created_at) \
         VALUES ($1, 'callback', 'user:' || $2, '', $3, $4)",
    )?
    .execute(params![decision.app, id, payload.to_string(), decision.now.0])?;
    Ok(Decided::Done { callback: Some(db.last_insert_rowid()) })
}

pub(super) fn finish_callback(db: &Connection, job: i64, error: Option<&str>) -> Result<()> {
    match error {
        None => db.prepare_cached("DELETE FROM outbox WHERE job_id = $1")?.execute(params![job])?,
        Some(error) => db
            .prepare_cached(
                "UPDATE outbox SET attempts = attempts + 1, last_error = $1 WHERE job_id = $2",
            )?
            .execute(params![error, job])?,
    };
    Ok(())
}

fn row(row: &Row<'_>) -> Result<ApprovalRow> {
    let uuid: String = row.get(0)?;
    Ok(ApprovalRow {
        uuid: uuid.parse().map_err(|_| rusqlite::Error::InvalidQuery)?,
        user_id: user_id(row.get(1)?)?,
        user_email: row.get(12)?,
        message: row.get(2)?,
        details: row.get(3)?,
        hidden_details: row.get(4)?,
        logos: row.get(5)?,
        seconds_to_expire: row.get::<_, i64>(6)? as u64,
        status: row.get(7)?,
        created_at: Time(row.get(8)?),
        updated_at: Time(row.get(9)?),
        expires_at: row.get::<_, Option<i64>>(10)?.map(Time),
        processed_at: row.get::<_, Option<i64>>(11)?.map(Time),
    })
}

//! Logins that machines accept while the service is unreachable.

use super::applications::count;
use super::{OfflineLoginRow, OfflinePreparation, OfflineReport, Reported};
use rusqlite::{Connection, OptionalExtension, Result, params};

/// Stores which codes a machine may accept, unless the code that proves the user has prepared some
/// already.
pub(super) fn prepare(db: &Connection, new: &OfflinePreparation) -> Result<bool> {
    let id = new.user_id.get() as i64;
    let proven = db
        .prepare_cached(
            "UPDATE authenticators SET prepared_step = $1 WHERE authenticator_id = $2 \
             AND user_id = $3 AND last_step = $1 \
             AND (prepared_step IS NULL OR prepared_step < $1)",
        )?
        .execute(params![new.step as i64, new.authenticator_id, id])?;
    if proven == 0 {
        return Ok(false);
    }
    // Logins of the time before may not have been reported yet.
    db.prepare_cached(
        "INSERT INTO offline_preparations \
         (user_id, authenticator_id, machine, period, first_step, end_step) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (user_id, authenticator_id, machine) \
         DO UPDATE SET end_step = max(end_step, excluded.end_step)",
    )?
    .execute(params![
        id,
        new.authenticator_id,
        new.machine,
        new.period as i64,
        new.first_step as i64,
        new.end_step as i64
    ])?;
    add_activity(db, id, new.kind, &new.data, new.now.0)?;
    Ok(true)
}

/// Marks the codes as used, and stores the logins that were not reported before.
pub(super) fn report(db: &Connection, report: &OfflineReport) -> Result<Reported> {
    let id = report.user_id.get() as i64;
    let known = db
        .prepare_cached("SELECT 1 FROM users WHERE user_id = $1 AND app_id = $2")?
        .query_row(params![id, report.app], |_| Ok(()))
        .optional()?;
    if known.is_none() {
        return Ok(Reported::NoUser);
    }
    let period = db
        .prepare_cached(
            "SELECT period FROM offline_preparations WHERE user_id = $1 \
             AND authenticator_id = $2 LIMIT 1",
        )?
        .query_row(params![id, report.authenticator_id], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(period) = period else { return Ok(Reported::NotPrepared) };
    let current = report.now.seconds() / period.unsigned_abs().max(1);
    for login in &report.logins {
        // The machine's clock, or the phone's, may be fast by a step.
        if login.step > current.saturating_add(1) || !is_prepared(db, id, login.step)? {
            return Ok(Reported::NotPrepared);
        }
    }
    // A step that has not begun would void the codes before it, which are still shown. It is used
    // up by itself, by its row in `offline_logins`.
    for login in report.logins.iter().filter(|login| login.step <= current) {
        db.prepare_cached(
            "UPDATE authenticators SET last_step = $1 WHERE authenticator_id = $2 \
             AND user_id = $3 AND last_step < $1",
        )?
        .execute(params![login.step as i64, report.authenticator_id, id])?;
    }
    let mut added = 0;
    for login in &report.logins {
        added += add(db, report, id, login)?;
    }
    Ok(Reported::Added(added))
}

/// Whether a machine was given the code of this step.
fn is_prepared(db: &Connection, user_id: i64, step: u64) -> Result<bool> {
    db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM offline_preparations WHERE user_id = $1 \
         AND first_step <= $2 AND end_step > $2)",
    )?
    .query_row(params![user_id, step as i64], |row| row.get(0))
}

/// Stores a login, and returns how many were stored: none if it was reported before.
fn add(
    db: &Connection,
    report: &OfflineReport,
    user_id: i64,
    login: &OfflineLoginRow,
) -> Result<usize> {
    let added = db
        .prepare_cached(
            "INSERT INTO offline_logins (user_id, authenticator_id, step, machine) \
             VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        )?
        .execute(params![user_id, report.authenticator_id, login.step as i64, report.machine])?;
    if added > 0 {
        add_activity(db, user_id, report.kind, &login.data, report.now.0)?;
        count(db, report.app, report.now.month(), "auths", 1)?;
    }
    Ok(added)
}

fn add_activity(db: &Connection, user_id: i64, kind: &str, data: &str, now: i64) -> Result<usize> {
    db.prepare_cached(
        "INSERT INTO activities (user_id, type, data, created_at) VALUES ($1, $2, $3, $4)",
    )?
    .execute(params![user_id, kind, data, now])
}

/// The steps after the last one that were used without the service.
pub(super) fn used_after(
    db: &Connection,
    user_id: i64,
    authenticator_id: i64,
    last_step: Option<i64>,
) -> Result<Vec<u64>> {
    db.prepare_cached(
        "SELECT step FROM offline_logins WHERE user_id = $1 AND authenticator_id = $2 \
         AND step > $3",
    )?
    .query_map(params![user_id, authenticator_id, last_step.unwrap_or(-1)], |row| {
        row.get::<_, i64>(0).map(i64::unsigned_abs)
    })?
    .collect()
}

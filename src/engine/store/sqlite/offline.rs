//! Logins that machines have accepted while the service was unreachable.

use super::OfflineReport;
use super::applications::count;
use rusqlite::{Connection, OptionalExtension, Result, params};

/// Marks the codes as used, and stores the logins that were not reported before.
pub(super) fn report(db: &Connection, report: &OfflineReport) -> Result<bool> {
    let id = report.user_id.get() as i64;
    let known = db
        .prepare_cached("SELECT 1 FROM users WHERE user_id = $1 AND app_id = $2")?
        .query_row(params![id, report.app], |_| Ok(()))
        .optional()?;
    if known.is_none() {
        return Ok(false);
    }
    if let Some(last) = report.steps.iter().max() {
        db.prepare_cached(
            "UPDATE authenticators SET last_step = $1 WHERE authenticator_id = $2 \
             AND user_id = $3 AND last_step < $1",
        )?
        .execute(params![*last as i64, report.authenticator_id, id])?;
    }
    for login in &report.logins {
        let added = db
            .prepare_cached(
                "INSERT INTO activities (user_id, type, data, created_at) SELECT $1, $2, $3, $4 \
                 WHERE NOT EXISTS (SELECT 1 FROM activities WHERE user_id = $1 AND type = $2 \
                 AND data = $3)",
            )?
            .execute(params![id, report.kind, login, report.now.0])?;
        if added > 0 {
            count(db, report.app, report.now.month(), "auths", 1)?;
        }
    }
    Ok(true)
}

//! Codes by SMS and voice, and the messages that carry them.

use super::applications::count;
use super::{AppId, IssueCode, Issued, Subject, verifications};
use crate::engine::clock::Time;
use crate::engine::limits::CLOCK_SLACK;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use zeroize::Zeroizing;

struct Present {
    code: Zeroizing<String>,
    expires_at: Time,
    sends: u32,
    wrong_tries: u32,
    spent: bool,
}

pub(super) fn issue(db: &Connection, issue: &IssueCode) -> Result<Issued> {
    let subject = issue.subject.key();
    delete_expired(db, issue)?;
    let present = db
        .prepare_cached(
            "SELECT code, expires_at, sends, wrong_tries, spent FROM codes \
             WHERE subject = $1 AND action = $2",
        )?
        .query_row(params![subject, issue.action], present)
        .optional()?;
    // Spent codes do not count: the next login may need another code at once.
    let last_sent: Option<i64> = db
        .prepare_cached(
            "SELECT max(sent_at) FROM codes WHERE subject = $1 AND spent = 0 AND sent_at <= $2",
        )?
        .query_row(params![subject, issue.now.plus(CLOCK_SLACK).0], |row| row.get(0))?;
    if let Some(next) = last_sent.map(|sent| Time(sent).plus(issue.cool_down))
        && next > issue.now
    {
        return Ok(Issued::TooSoon(next));
    }
    let expires_at = issue.now.plus(issue.life);
    let (code, expires_at, sends) = match present {
        Some(old)
            if old.spent
                || old.wrong_tries >= issue.tries
                || old.code.len() != issue.fresh.len() =>
        {
            (issue.fresh.clone(), expires_at, 1)
        }
        Some(old) if old.sends >= issue.sends => return Ok(Issued::TooOften(old.expires_at)),
        Some(old) => (old.code, old.expires_at, old.sends + 1),
        None => (issue.fresh.clone(), expires_at, 1),
    };
    db.prepare_cached(
        "INSERT INTO codes (subject, action, code, expires_at, sent_at, sends, wrong_tries, spent) \
         VALUES ($1, $2, $3, $4, $5, $6, 0, 0) ON CONFLICT (subject, action) DO UPDATE SET \
         wrong_tries = CASE WHEN excluded.sends = 1 THEN 0 ELSE wrong_tries END, spent = 0, \
         code = excluded.code, expires_at = excluded.expires_at, sent_at = excluded.sent_at, \
         sends = excluded.sends",
    )?
    .execute(params![subject, issue.action, *code, expires_at.0, issue.now.0, sends])?;
    let uuid = verifications::begin(db, issue, *code == *issue.fresh, expires_at)?;
    let payload = serde_json::json!({ "message": issue.message, "code": *code });
    db.prepare_cached(
        "INSERT INTO outbox (app_id, kind, subject, action, payload, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6)",
    )?
    .execute(params![
        issue.app,
        if issue.message.by_voice { "calls" } else { "sms" },
        subject,
        issue.action,
        payload.to_string(),
        issue.now.0
    ])?;
    Ok(Issued::Sent { job: db.last_insert_rowid(), code, expires_at, uuid })
}

pub(super) fn finish_delivery(db: &Connection, job: i64, done: bool) -> Result<()> {
    let job = db
        .prepare_cached(
            "DELETE FROM outbox WHERE job_id = $1 \
             RETURNING app_id, kind, subject, action, created_at",
        )?
        .query_row(params![job], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })
        .optional()?;
    let Some((app, kind, subject, action, sent_at)) = job else { return Ok(()) };
    let (app, kind, subject, action): (i64, String, String, String) = (app, kind, subject, action);
    let sent_at: i64 = sent_at;
    if done {
        let counter = if kind == "calls" { "calls" } else { "sms" };
        return count(db, app, Time(sent_at).month(), counter, 1);
    }
    // The message did not reach the user, so it does not count, and the next need not wait.
    db.prepare_cached(
        "UPDATE codes SET sent_at = 0, sends = sends - 1 \
         WHERE subject = $1 AND action = $2 AND sent_at = $3",
    )?
    .execute(params![subject, action, sent_at])?;
    Ok(())
}

/// Deletes expired codes, whose use is then no longer reported either, and codes that would live
/// longer than any code can, which were issued while the clock was wrong.
fn delete_expired(db: &Connection, issue: &IssueCode) -> Result<()> {
    let end = issue.now.plus(issue.life + CLOCK_SLACK);
    db.prepare_cached("DELETE FROM codes WHERE expires_at <= $1 OR expires_at > $2")?
        .execute(params![issue.now.0, end.0])?;
    db.prepare_cached(
        "DELETE FROM outbox WHERE kind IN ('sms', 'calls', 'welcome') AND created_at <= $1",
    )?
    .execute(params![issue.now.0.saturating_sub(end.0 - issue.now.0)])?;
    Ok(())
}

impl Subject {
    pub(super) fn app(&self) -> AppId {
        match self {
            Subject::User(app, _) | Subject::Phone(app, _) => *app,
        }
    }

    /// The subject's key in the tables.
    pub(super) fn key(&self) -> String {
        match self {
            Subject::User(_, user_id) => format!("user:{user_id}"),
            Subject::Phone(app, number) => format!("phone:{app}:{number}"),
        }
    }
}

fn present(row: &Row<'_>) -> Result<Present> {
    Ok(Present {
        code: Zeroizing::new(row.get(0)?),
        expires_at: Time(row.get(1)?),
        sends: row.get(2)?,
        wrong_tries: row.get(3)?,
        spent: row.get(4)?,
    })
}

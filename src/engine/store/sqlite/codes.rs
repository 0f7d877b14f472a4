//! Codes by SMS and voice, and the messages that carry them.

use super::applications::count;
use super::{IssueCode, Issued, Subject};
use crate::engine::clock::Time;
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
    // What is dead answers nothing any more, not even that it was used.
    db.prepare_cached("DELETE FROM codes WHERE expires_at <= $1")?.execute(params![issue.now.0])?;
    let present = db
        .prepare_cached(
            "SELECT code, expires_at, sends, wrong_tries, spent FROM codes \
             WHERE subject = $1 AND action = $2",
        )?
        .query_row(params![subject, issue.action], present)
        .optional()?;
    // A spent code did its work; the next login may need the next one at once.
    let last_sent: Option<i64> = db
        .prepare_cached("SELECT max(sent_at) FROM codes WHERE subject = $1 AND spent = 0")?
        .query_row(params![subject], |row| row.get(0))?;
    if let Some(next) = last_sent.map(|sent| Time(sent).plus(issue.cool_down))
        && next > issue.now
    {
        return Ok(Issued::TooSoon(next));
    }
    let expires_at = issue.now.plus(issue.life);
    let (code, expires_at, sends) = match present {
        Some(old) if old.spent || old.wrong_tries >= issue.tries => {
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
    let channel = if issue.message.by_voice { "calls" } else { "sms" };
    count(db, issue.app, issue.now.month(), channel, 1)?;
    let payload = serde_json::json!({ "message": issue.message, "code": *code });
    db.prepare_cached(
        "INSERT INTO outbox (app_id, kind, subject, action, payload, created_at) \
         VALUES ($1, 'message', $2, $3, $4, $5)",
    )?
    .execute(params![issue.app, subject, issue.action, payload.to_string(), issue.now.0])?;
    Ok(Issued::Sent { job: db.last_insert_rowid(), code, expires_at })
}

pub(super) fn finish_delivery(db: &Connection, job: i64, done: bool) -> Result<()> {
    if !done {
        // Nothing reached the user, so the user need not wait for the next try.
        db.prepare_cached(
            "UPDATE codes SET sent_at = 0 WHERE (subject, action) = \
             (SELECT subject, action FROM outbox WHERE job_id = $1)",
        )?
        .execute(params![job])?;
    }
    db.prepare_cached("DELETE FROM outbox WHERE job_id = $1")?.execute(params![job])?;
    Ok(())
}

impl Subject {
    /// The subject as the tables name it.
    pub(super) fn key(&self) -> String {
        match self {
            Subject::User(_, svc_id) => format!("user:{svc_id}"),
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

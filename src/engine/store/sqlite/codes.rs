//! Codes by SMS and voice, and the messages that carry them.

use super::applications::count;
use super::{AppId, IssueCode, Issued, Subject, verifications};
use crate::engine::clock::Time;
use crate::engine::limits::CLOCK_SLACK;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use zeroize::Zeroizing;

/// How many old rows of other subjects one call deletes at most. After a busy hour there may be very
/// many, for which no login must wait. More than one, so that they become fewer.
pub(super) const MOST_DELETED: u32 = 32;

struct Present {
    code: Zeroizing<String>,
    expires_at: Time,
    /// How often it was sent, by SMS and voice together.
    sends: u32,
    wrong_tries: u32,
    spent: bool,
    /// When it was last sent by each channel; 0 if it was not.
    sms_at: Time,
    call_at: Time,
}

pub(super) fn issue(db: &Connection, issue: &IssueCode) -> Result<Issued> {
    let subject = issue.subject.key();
    delete_expired(db, issue, &subject)?;
    let present = db
        .prepare_cached(
            "SELECT code, expires_at, sends, wrong_tries, spent, sms_at, call_at FROM codes \
             WHERE subject = $1 AND action = $2",
        )?
        .query_row(params![subject, issue.action], present)
        .optional()?;
    // When the messages that count now no longer count.
    let own_end = present.as_ref().filter(|old| old.sends > 0).map(|old| old.expires_at);
    let (mut code, is_new) = valid_or_fresh(present, issue);
    // Messages for the other actions count too, or varying the action would flood the phone.
    let (others, others_end) = db
        .prepare_cached(
            "SELECT coalesce(sum(sends), 0), min(expires_at) FROM codes \
             WHERE subject = $1 AND action <> $2 AND spent = 0 AND sends > 0",
        )?
        .query_row(params![subject, issue.action], |row| {
            Ok((row.get::<_, u32>(0)?, row.get::<_, Option<i64>>(1)?.map(Time)))
        })?;
    if code.sends.saturating_add(others) >= issue.sends {
        let end = own_end.into_iter().chain(others_end).min();
        return Ok(Issued::TooOften(end.unwrap_or(code.expires_at)));
    }
    let sent_at = if issue.message.by_voice { &mut code.call_at } else { &mut code.sms_at };
    let next = sent_at.plus(issue.cool_down);
    let recent = *sent_at <= issue.now.plus(CLOCK_SLACK) && !issue.cool_down.is_zero();
    if recent && next > issue.now {
        return Ok(Issued::TooSoon(next));
    }
    *sent_at = issue.now;
    code.sends += 1;
    put(db, issue, &subject, &code)?;
    let Present { code, expires_at, .. } = code;
    let uuid = verifications::begin(db, issue, is_new, expires_at)?;
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

/// The code that is sent, and whether it is new: the present one as long as it can be accepted, and
/// after that a fresh one. The messages with a code that was not used still count, or asking for
/// codes of another length would flood a phone.
fn valid_or_fresh(present: Option<Present>, issue: &IssueCode) -> (Present, bool) {
    let fresh = |sends, sms_at, call_at| Present {
        code: issue.fresh.clone(),
        expires_at: issue.now.plus(issue.life),
        sends,
        wrong_tries: 0,
        spent: false,
        sms_at,
        call_at,
    };
    match present {
        // After a code was used there is no cool-down: the next login may need another at once.
        None => (fresh(0, Time(0), Time(0)), true),
        Some(old) if old.spent => (fresh(0, Time(0), Time(0)), true),
        Some(old) if old.wrong_tries >= issue.tries || old.code.len() != issue.fresh.len() => {
            (fresh(old.sends, old.sms_at, old.call_at), true)
        }
        Some(old) => (old, false),
    }
}

fn put(db: &Connection, issue: &IssueCode, subject: &str, code: &Present) -> Result<()> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO codes (subject, action, code, expires_at, sends, wrong_tries, \
         spent, sms_at, call_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )?
    .execute(params![
        subject,
        issue.action,
        *code.code,
        code.expires_at.0,
        code.sends,
        code.wrong_tries,
        code.spent,
        code.sms_at.0,
        code.call_at.0
    ])?;
    Ok(())
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
    let column = if kind == "calls" { "call_at" } else { "sms_at" };
    db.prepare_cached(&format!(
        "UPDATE codes SET {column} = 0, sends = max(sends - 1, 0) \
         WHERE subject = $1 AND action = $2 AND {column} = $3"
    ))?
    .execute(params![subject, action, sent_at])?;
    Ok(())
}

/// Deletes the codes of this subject that cannot be accepted any more, so that none of them is sent
/// again, and some of the others'. A code cannot be accepted if it has expired, or if it would live
/// longer than any code can: it was issued while the clock was wrong.
fn delete_expired(db: &Connection, issue: &IssueCode, subject: &str) -> Result<()> {
    let (now, end) = (issue.now.0, issue.now.plus(issue.life + CLOCK_SLACK).0);
    // Two statements each time, because SQLite reads the whole table for an OR of the two.
    for (dead, time) in [("expires_at <= $2", now), ("expires_at > $2", end)] {
        let own = format!("DELETE FROM codes WHERE subject = $1 AND {dead}");
        db.prepare_cached(&own)?.execute(params![subject, time])?;
    }
    for (dead, time) in [("expires_at <= $1", now), ("expires_at > $1", end)] {
        let others = format!(
            "DELETE FROM codes WHERE (subject, action) IN \
             (SELECT subject, action FROM codes WHERE {dead} LIMIT $2)"
        );
        db.prepare_cached(&others)?.execute(params![time, MOST_DELETED])?;
    }
    db.prepare_cached(
        "DELETE FROM outbox WHERE job_id IN (SELECT job_id FROM outbox \
         WHERE kind IN ('sms', 'calls', 'welcome') AND created_at <= $1 LIMIT $2)",
    )?
    .execute(params![now.saturating_sub(end - now), MOST_DELETED])?;
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
        sms_at: Time(row.get(5)?),
        call_at: Time(row.get(6)?),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Outgoing, Sqlite, Store};
    use super::*;
    use crate::engine::limits;
    use std::time::Duration;

    const NOW: i64 = 1_000_000_000;

    fn issue(store: &Sqlite, user: u64) -> Issued {
        let issue = IssueCode {
            app: 1,
            subject: Subject::User(1, user.try_into().unwrap()),
            action: String::new(),
            fresh: Zeroizing::new("7654321".into()),
            life: limits::CODE_LIFE,
            cool_down: Duration::ZERO,
            sends: limits::SENDS,
            tries: limits::TRIES,
            message: Outgoing { to: String::new(), by_voice: false, text: Default::default() },
            uuid: None,
            now: Time(NOW),
        };
        store.issue_code(issue).unwrap()
    }

    fn count(store: &Sqlite, sql: &'static str) -> i64 {
        store.write(move |db| db.query_row(sql, [], |row| row.get(0))).unwrap()
    }

    /// After a busy hour, very many codes have expired. No login waits for the deletion of them all,
    /// and none is sent again.
    #[test]
    fn a_login_deletes_few_of_many_dead_codes_and_sends_none_of_them() {
        let store = Sqlite::in_memory().unwrap();
        let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) \
                    INSERT INTO codes SELECT 'user:' || (i + $1), '', '1234567', $2, 1, 0, 0, 0, 0 \
                    FROM n";
        let message = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) \
                       INSERT INTO outbox (app_id, kind, subject, action, payload, created_at) \
                       SELECT 1, 'sms', 'user:' || i, '', '', 0 FROM n";
        let too_long = NOW + 24 * 60 * 60 * 1000;
        store
            .write(move |db| {
                db.execute(fill, params![0, NOW])?;
                db.execute(fill, params![500, too_long])?;
                db.execute(message, []).map(drop)
            })
            .unwrap();
        for user in [500, 1000] {
            let Issued::Sent { code, .. } = issue(&store, user) else { panic!("no code") };
            assert_eq!(*code, "7654321", "a code that can be accepted");
        }
        let most = i64::from(MOST_DELETED);
        assert!(count(&store, "SELECT count(*) FROM codes") >= 1000 - 4 * most);
        assert!(count(&store, "SELECT count(*) FROM outbox") >= 502 - 2 * most);
        for _ in 0..20 {
            issue(&store, 2000);
        }
        assert_eq!(count(&store, "SELECT count(*) FROM codes"), 3, "all the others are deleted");
    }
}

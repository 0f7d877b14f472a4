//! Checking a code, in two halves: reading what it can be compared with, and committing the result.

use super::applications::count;
use super::{
    Attempt, AuthenticatorRow, CodeRow, Committed, ComparedCode, Factor, Match, Subject,
    VerifyState, WrongAnswers, offline, recovery, remembered, verifications,
};
use crate::engine::clock::Time;
use rusqlite::{Connection, OptionalExtension, Result, params};
use zeroize::Zeroizing;

pub(super) fn begin(db: &Connection, subject: &Subject) -> Result<Option<VerifyState>> {
    let mut state = VerifyState::default();
    if let Subject::User(app, user_id) = subject {
        let id = user_id.get() as i64;
        let user = db
            .prepare_cached(
                "SELECT confirmed, created_at FROM users WHERE user_id = $1 AND app_id = $2",
            )?
            .query_row(params![id, app], |row| Ok((row.get(0)?, Time(row.get(1)?))))
            .optional()?;
        let Some((confirmed, created_at)) = user else { return Ok(None) };
        (state.confirmed, state.created_at) = (confirmed, Some(created_at));
        state.authenticators = authenticators(db, id)?;
    }
    let key = subject.key();
    state.codes = db
        .prepare_cached(
            "SELECT action, code, expires_at, wrong_tries, spent FROM codes WHERE subject = $1",
        )?
        .query_map(params![key], |row| {
            Ok(CodeRow {
                action: row.get(0)?,
                code: Zeroizing::new(row.get(1)?),
                expires_at: Time(row.get(2)?),
                wrong_tries: row.get(3)?,
                spent: row.get(4)?,
            })
        })?
        .collect::<Result<_>>()?;
    state.wrong_codes = wrong_answers(db, &key, Factor::Code)?;
    state.wrong_authenticator_codes = wrong_answers(db, &key, Factor::Authenticator)?;
    Ok(Some(state))
}

fn authenticators(db: &Connection, user_id: i64) -> Result<Vec<AuthenticatorRow>> {
    db.prepare_cached(
        "SELECT authenticator_id, secret, digits, period, last_step FROM authenticators \
         WHERE user_id = $1 ORDER BY authenticator_id",
    )?
    .query_map(params![user_id], |row| {
        let (authenticator_id, last_step): (i64, Option<i64>) = (row.get(0)?, row.get(4)?);
        Ok(AuthenticatorRow {
            authenticator_id,
            secret: Zeroizing::new(row.get(1)?),
            digits: row.get(2)?,
            period: row.get::<_, i64>(3)? as u64,
            last_step: last_step.map(|step| step as u64),
            used_after: offline::used_after(db, user_id, authenticator_id, last_step)?,
        })
    })?
    .collect()
}

/// The condition for a code that can be accepted.
const VALID: &str = "subject = $1 AND action = $2 AND code = $3 AND spent = 0 \
                     AND wrong_tries < $4 AND expires_at > $5";

/// Commits the result of a check. A code is accepted only once: the match must still be valid in
/// the transaction that consumes it. Likewise, a token is wrong only if the codes that it differs
/// from are still valid: each of them then loses a try, so that nothing is learnt about a code
/// beyond its tries, however many attempts race.
pub(super) fn commit(db: &Connection, attempt: &Attempt) -> Result<Committed> {
    let subject = attempt.subject.key();
    let factors = match &attempt.found {
        Match::Code(_) => vec![Factor::Code],
        Match::Step { .. } => vec![Factor::Authenticator],
        Match::Recovery { .. } => vec![Factor::Recovery],
        Match::Nothing { factors, .. } => factors.clone(),
    };
    for factor in &factors {
        let wrong = wrong_answers(db, &subject, *factor)?;
        if let Some(next) = wrong.wait_until(attempt.delay, attempt.now) {
            return Ok(Committed::RateLimited(next));
        }
    }
    let used = match &attempt.found {
        Match::Nothing { compared, .. } => {
            return count_wrong(db, attempt, &subject, &factors, compared);
        }
        Match::Code(code) => change(db, "spent = 1", attempt, &subject, code)?,
        Match::Recovery { hash } => recovery::spend(db, &attempt.subject, hash)?,
        Match::Step { authenticator_id, step } => db
            .prepare_cached(
                "UPDATE authenticators SET last_step = $1, used_at = $2 \
                 WHERE authenticator_id = $3 AND (last_step IS NULL OR last_step < $1) \
                 AND NOT EXISTS (SELECT 1 FROM offline_logins o \
                 WHERE o.user_id = authenticators.user_id AND o.authenticator_id = $3 \
                 AND o.step = $1)",
            )?
            .execute(params![*step as i64, attempt.now.0, authenticator_id])?,
    };
    if used == 0 {
        return Ok(Committed::Changed);
    }
    accept(db, attempt, &subject, factors[0])?;
    Ok(Committed::Done)
}

fn accept(db: &Connection, attempt: &Attempt, subject: &str, factor: Factor) -> Result<()> {
    db.prepare_cached("DELETE FROM wrong_answers WHERE subject = $1 AND factor = $2")?
        .execute(params![subject, factor.name()])?;
    if let Subject::User(_, user_id) = &attempt.subject {
        let id = user_id.get() as i64;
        let by_sms = matches!(attempt.found, Match::Code(_));
        db.prepare_cached(
            "UPDATE users SET confirmed = 1, sms_used = max(sms_used, $1) WHERE user_id = $2",
        )?
        .execute(params![by_sms, id])?;
        // Whoever uses one has probably lost a phone, with a browser on it that is remembered.
        if let Match::Recovery { .. } = attempt.found {
            remembered::forget_those_of(db, id)?;
        }
        if let Match::Step { authenticator_id, .. } = attempt.found {
            // The app evidently has this secret, so earlier ones are obsolete.
            let replaced = db
                .prepare_cached(
                    "DELETE FROM authenticators WHERE user_id = $1 AND authenticator_id < $2",
                )?
                .execute(params![id, authenticator_id])?;
            // The phone with the earlier one may be lost, with a browser that is remembered.
            if replaced > 0 {
                remembered::forget_those_of(db, id)?;
            }
        }
    }
    if let Subject::Phone(..) = &attempt.subject {
        verifications::succeed(db, subject)?;
    }
    count(db, attempt.app, attempt.now.month(), "auths", 1)
}

fn count_wrong(
    db: &Connection,
    attempt: &Attempt,
    subject: &str,
    factors: &[Factor],
    compared: &[ComparedCode],
) -> Result<Committed> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM codes WHERE {VALID})");
    let mut valid = db.prepare_cached(&sql)?;
    for code in compared {
        let (tries, now) = (attempt.tries, attempt.now.0);
        let valid: bool = valid
            .query_row(params![subject, code.action, *code.code, tries, now], |row| row.get(0))?;
        if !valid {
            return Ok(Committed::Changed);
        }
    }
    for factor in factors {
        db.prepare_cached(
            "INSERT INTO wrong_answers (subject, factor, in_a_row, last_at) \
             VALUES ($1, $2, 1, $3) ON CONFLICT (subject, factor) \
             DO UPDATE SET in_a_row = in_a_row + 1, last_at = excluded.last_at",
        )?
        .execute(params![subject, factor.name(), attempt.now.0])?;
    }
    for code in compared {
        change(db, "wrong_tries = wrong_tries + 1", attempt, subject, code)?;
    }
    Ok(Committed::Done)
}

/// Changes a code if it is still valid, and returns how many it were. `change` is a part of the
/// SQL, so it must never come from a caller.
fn change(
    db: &Connection,
    change: &'static str,
    attempt: &Attempt,
    subject: &str,
    code: &ComparedCode,
) -> Result<usize> {
    db.prepare_cached(&format!("UPDATE codes SET {change} WHERE {VALID}"))?.execute(params![
        subject,
        code.action,
        *code.code,
        attempt.tries,
        attempt.now.0
    ])
}

pub(super) fn wrong_answers(
    db: &Connection,
    subject: &str,
    factor: Factor,
) -> Result<WrongAnswers> {
    let found = db
        .prepare_cached(
            "SELECT in_a_row, last_at FROM wrong_answers WHERE subject = $1 AND factor = $2",
        )?
        .query_row(params![subject, factor.name()], |row| {
            Ok(WrongAnswers { in_a_row: row.get(0)?, last_at: row.get(1).map(Time).map(Some)? })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

impl Factor {
    fn name(self) -> &'static str {
        match self {
            Factor::Code => "code",
            Factor::Authenticator => "authenticator",
            Factor::Recovery => "recovery_code",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{IssueCode, Issued, Outgoing, Sqlite, Store};
    use super::*;
    use crate::engine::limits;
    use std::time::Duration;

    fn issue(store: &Sqlite, action: &str, now: i64) -> ComparedCode {
        let message = Outgoing { to: String::new(), by_voice: false, text: Default::default() };
        let issued = store.issue_code(IssueCode {
            app: 1,
            subject: subject(),
            action: action.into(),
            fresh: Zeroizing::new(format!("{now:07}")),
            life: limits::CODE_LIFE,
            cool_down: Duration::ZERO,
            sends: limits::SENDS,
            tries: limits::TRIES,
            message,
            uuid: None,
            now: Time(now),
        });
        match issued.unwrap() {
            Issued::Sent { code, .. } => ComparedCode { action: action.into(), code },
            _ => panic!("no code was issued"),
        }
    }

    fn subject() -> Subject {
        Subject::Phone(1, "+15550100123".into())
    }

    fn commit(store: &Sqlite, found: Match) -> Committed {
        let attempt = Attempt {
            app: 1,
            subject: subject(),
            found,
            tries: limits::TRIES,
            delay: |_| Duration::ZERO,
            now: Time(0),
        };
        store.commit_verify(attempt).unwrap()
    }

    fn wrong(of: &[&ComparedCode]) -> Match {
        let copy = |code: &&ComparedCode| ComparedCode {
            action: code.action.clone(),
            code: code.code.clone(),
        };
        let compared = of.iter().map(copy).collect();
        Match::Nothing { factors: vec![Factor::Code], compared }
    }

    fn state(store: &Sqlite) -> (Vec<u32>, u32) {
        let state = store.begin_verify(subject()).unwrap().unwrap();
        let tries = state.codes.iter().map(|code| code.wrong_tries).collect();
        (tries, state.wrong_codes.in_a_row)
    }

    /// What a guess does that was compared with a code whose tries others used up meanwhile.
    #[test]
    fn a_guess_whose_code_is_void_is_not_looked_at() {
        let store = Sqlite::in_memory().unwrap();
        let (code, other) = (issue(&store, "", 1), issue(&store, "pay", 2));
        for _ in 0..5 {
            assert_eq!(commit(&store, wrong(&[&code])), Committed::Done);
        }
        assert_eq!(state(&store), (vec![5, 0], 5));
        assert_eq!(commit(&store, wrong(&[&code])), Committed::Changed);
        assert_eq!(commit(&store, wrong(&[&other, &code])), Committed::Changed);
        assert_eq!(state(&store), (vec![5, 0], 5), "it takes no other code's try either");
        assert_eq!(commit(&store, Match::Code(code)), Committed::Changed, "right is too late");
    }

    #[test]
    fn a_guess_takes_no_try_of_a_code_that_it_was_not_compared_with() {
        let store = Sqlite::in_memory().unwrap();
        let code = issue(&store, "", 1);
        for _ in 0..5 {
            assert_eq!(commit(&store, wrong(&[&code])), Committed::Done);
        }
        let next = issue(&store, "", 2);
        assert_ne!(*code.code, *next.code);
        assert_eq!(commit(&store, wrong(&[&code])), Committed::Changed);
        assert_eq!(state(&store).0, [0]);
        assert_eq!(commit(&store, wrong(&[&next])), Committed::Done);
        assert_eq!(state(&store).0, [1]);
    }
}

//! Recognises the tables of a database: this library's, another program's, or another version's.

use super::failure::message;
use super::files::beside;
use crate::engine::store::migrations::{self, Applied, Migration};
use crate::{Error, Result};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::borrow::Cow;
use std::path::Path;

/// Distinguishes this library's files from databases of other programs.
const APPLICATION: i64 = i32::from_be_bytes(MARK) as i64;
const MARK: [u8; 4] = *b"SCND";
/// The first bytes of every database.
pub(super) const SQLITE: &[u8] = b"SQLite format 3\0";
/// The number of bytes up to the end of the mark of the program that a database belongs to.
pub(super) const HEADER: usize = 72;

/// The reason for which a database of another program is rejected.
pub(super) const FOREIGN: &str = "is the database of another program: name another file";

/// Every version.
pub(super) const KNOWN: &[Migration] = &[
    Migration { version: 1, sql: Cow::Borrowed(include_str!("schema.sql")) },
    Migration { version: 2, sql: Cow::Borrowed(include_str!("schema_2.sql")) },
];

/// The state of a database that can be used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It has no tables yet.
    Empty,
    /// It has tables of a version before the last that is known.
    Outdated,
    Current,
}

/// Returns whether a file begins like a database of ours (SQLite file format, 1.3).
pub(super) fn is_ours(header: &[u8]) -> bool {
    header.starts_with(SQLITE) && header.get(HEADER - MARK.len()..) == Some(&MARK[..])
}

/// Rejects a database that is not this library's, before anything is changed.
pub(super) fn check(connection: &Connection, path: &Path, known: &[Migration]) -> Result<State> {
    let state = state(connection, path, known);
    let state = state.map_err(|error| Error::storage(message(path, &error)))?;
    state.map_err(|problem| Error::storage(format!("{} {problem}", path.display())))
}

/// Returns the state of a database, or an error that says why it is rejected.
pub(super) fn state(
    connection: &Connection,
    path: &Path,
    known: &[Migration],
) -> rusqlite::Result<std::result::Result<State, Cow<'static, str>>> {
    // Everything is read in one transaction, because another process may be setting up the file.
    let connection = &connection.unchecked_transaction()?;
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let count = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = connection.query_row(count, [], |row| row.get(0))?;
    let is_new = (application, version, tables) == (0, 0, 0);
    Ok(if application != APPLICATION && !is_new {
        Err(Cow::Borrowed(FOREIGN))
    } else if is_truncated(connection, path)? {
        Err(Cow::Borrowed("is damaged: its end is missing. Restore it from a copy"))
    } else if version > known.len() as i64 {
        Err(Cow::Owned(migrations::newer(known, version)))
    } else if is_new {
        Ok(State::Empty)
    } else {
        let applied = applied(connection)?;
        match migrations::next(known, &applied) {
            Ok(_) if applied.len() as i64 != version => Err(Cow::Borrowed(
                "is damaged: it has not the tables that it should have. Restore it from a copy",
            )),
            Ok(None) => Ok(State::Current),
            Ok(Some(_)) => Ok(State::Outdated),
            Err(problem) => Err(Cow::Owned(problem)),
        }
    })
}

/// Applies the versions that a database lacks, each in one transaction. Other processes that open it
/// meanwhile wait for the transaction, and then find that there is nothing left to do.
///
/// A process that ends in the middle of it leaves the version before, because SQLite undoes uncommitted
/// changes.
pub(super) fn migrate(connection: &Connection, known: &[Migration]) -> rusqlite::Result<()> {
    loop {
        let step = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        // Read under the lock, because another process may have been faster.
        let Ok(Some(next)) = migrations::next(known, &applied(&step)?) else {
            // One of a newer build may have been: its version is rejected by `check` afterwards.
            return step.commit();
        };
        step.execute_batch(&next.sql)?;
        step.execute(
            "INSERT INTO migrations (version, hash, applied_at) VALUES (?1, ?2, unixepoch() * 1000)",
            (next.version, next.hash()),
        )?;
        step.pragma_update(None, "application_id", APPLICATION)?;
        step.pragma_update(None, "user_version", next.version)?;
        step.commit()?;
    }
}

/// Returns the versions that the database has; none without the table of them, as in an empty
/// database.
fn applied(connection: &Connection) -> rusqlite::Result<Vec<Applied>> {
    if !connection.table_exists(None, "migrations")? {
        // A database with tables, but without this one, is of a build before it.
        let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let none = (version > 0).then(|| Applied { version, hash: Vec::new() });
        return Ok(none.into_iter().collect());
    }
    let mut found = connection.prepare("SELECT version, hash FROM migrations ORDER BY version")?;
    let rows =
        found.query_map([], |row| Ok(Applied { version: row.get(0)?, hash: row.get(1)? }))?;
    rows.collect()
}

/// Returns whether the file is shorter than its header says. With a log next to it, this cannot be decided,
/// because pages may still be in the log.
fn is_truncated(connection: &Connection, path: &Path) -> rusqlite::Result<bool> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let wanted = pragma("page_count")? * pragma("page_size")?;
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    Ok(length(&beside(path, "-wal")) == 0 && length(path) < wanted.unsigned_abs())
}

#[cfg(test)]
mod tests;

//! Periodic maintenance of a database file. Pages of deleted rows are used again, and every statement has one plan, so
//! that nothing has to be compacted or analysed.

use super::Sqlite;
use super::backup::check;
use super::failure::message;
use super::files::beside;
use super::open;
use super::process::{Using, apart_from_forks};
use super::watch::Guard;
use crate::engine::store::backend::{Backend, Upkept};
use crate::{Error, Result};
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, ErrorCode, MAIN_DB};
use std::path::Path;

impl Sqlite {
    /// Checks the file, and gives back the space of its log.
    pub(super) fn look_after_file(&self, full: bool) -> Result<Upkept> {
        let Some(file) = &self.file else { return Ok(Upkept::default()) };
        let path = &file.path;
        drop(self.begin()?);
        let bytes_free = apart_from_forks(|using| {
            // It could be another file by now.
            self.check_writer()?;
            examine(&mut file.guard.open(|| open::reader(path))?, path, full, using)
        })?;
        shorten_log(path, &file.guard)?;
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let bytes = length(path) + length(&beside(path, "-wal"));
        Ok(Upkept { checked: true, bytes: Some(bytes), bytes_free: Some(bytes_free) })
    }
}

/// Returns the bytes in the file that nothing uses. Returns `None` if a fork waits for it.
fn examine(db: &mut Connection, path: &Path, full: bool, using: &Using) -> Result<Option<u64>> {
    let failed = |e: rusqlite::Error| Error::storage(message(path, &e));
    // The full check also compares each index with its table.
    let pragma = if full { "integrity_check" } else { "quick_check" };
    let found = match check(db, pragma, using) {
        Ok(None) => return Ok(None),
        Ok(Some(found)) => found,
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            "it cannot be read".to_owned()
        }
        Err(e) => return Err(failed(e)),
    };
    if found != "ok" {
        return Err(Error::storage(format!(
            "{} is damaged: {found}. Stop what uses it, check its disk, and restore a backup",
            path.display()
        )));
    }
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let bytes = number("freelist_count").and_then(|pages| Ok(pages * number("page_size")?));
    Ok(Some(u64::try_from(bytes.map_err(failed)?).unwrap_or(0)))
}

/// Moves the log into the database, and cuts it off, unless the database is read or written: the next commits use the
/// log again then. It does not wait for them, because no commit could be made while it waits for a reader.
fn shorten_log(path: &Path, guard: &Guard) -> Result<()> {
    let failed = |e: rusqlite::Error| Error::storage(message(path, &e));
    apart_from_forks(|_| {
        guard.check_writer()?;
        let db = guard.open(|| open::checkpointer(path))?;
        // The first one does most of the work, in parallel with the commits.
        for mode in [CheckpointMode::PASSIVE, CheckpointMode::TRUNCATE] {
            match db.wal_checkpoint_v2(Some(MAIN_DB), mode) {
                Err(e) if e.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
                    return Err(failed(e));
                }
                _ => {}
            }
        }
        Ok(Some(()))
    })
}

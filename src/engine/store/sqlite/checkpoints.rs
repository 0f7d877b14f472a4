//! Moves committed pages from the log into the database without holding up commits.
//!
//! SQLite does it by itself within a commit, and all threads wait then for copies of a thousand
//! pages and for the disk. Here a separate connection does it in parallel with the commits. Commits
//! that arrive meanwhile stay in the log, which restarts only when no page is left in it. So if the
//! log grows all the same, the few remaining pages are copied while no commit runs.

use super::open;
use super::process::{Owned, Using};
use super::turns::InUse;
use super::watch::Guard;
use crate::Result;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, MAIN_DB};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of pages in the log at which they are copied in parallel with the commits: 16 MB of
/// pages of 4 KiB. A page that many commits have changed is copied once.
const DUE: usize = if cfg!(test) { 500 } else { 4000 };
/// The number of pages at which commits have to wait until the rest is copied.
const OVERDUE: usize = 4 * DUE;

pub(super) struct Checkpoints {
    /// The number of pages in the log after the last commit.
    pages: Arc<AtomicUsize>,
    /// `None` where the file system allows no log.
    connection: Option<Owned>,
}

impl Checkpoints {
    /// Takes the checkpoints over from the connection that writes.
    pub(super) fn begin(
        using: &Using,
        writer: &mut Connection,
        path: &Path,
        has_log: bool,
    ) -> Result<Checkpoints> {
        let pages: Arc<AtomicUsize> = Arc::default();
        let mut connection = None;
        if has_log {
            connection = Some(using.own(open::checkpointer(path)?));
            let seen = Arc::clone(&pages);
            // This replaces SQLite's own hook, which makes checkpoints.
            let hook = move |_: &mut _, pages| {
                seen.store(usize::try_from(pages).unwrap_or(0), Ordering::Relaxed);
                Ok(())
            };
            writer.wal_hook(Some(hook)).map_err(super::failed)?;
        }
        Ok(Checkpoints { pages, connection })
    }

    /// Copies pages if there are many. If this fails, nothing is lost, and it is tried again after
    /// the next commit.
    pub(super) fn run_if_due<'a>(&self, guard: &Guard, writer: impl FnOnce() -> Result<InUse<'a>>) {
        let Some(connection) = &self.connection else { return };
        if self.pages.load(Ordering::Relaxed) < DUE || guard.check_all().is_err() {
            return;
        }
        // Another thread is at it.
        let Ok(connection) = connection.try_lock() else { return };
        let copied = connection.as_ref().is_some_and(copy);
        if copied || self.pages.load(Ordering::Relaxed) < OVERDUE {
            return;
        }
        // A caller that gave up waiting here has its own decision on disk.
        if let Ok(writer) = writer()
            && let Ok(writer) = writer.get()
        {
            copy(writer);
        }
    }

    pub(super) fn connection(&self) -> Option<&Owned> {
        self.connection.as_ref()
    }
}

/// Copies the pages that no reader blocks. Returns whether the next commit restarts the log.
fn copy(connection: &Connection) -> bool {
    let done = connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::PASSIVE);
    done.is_ok_and(|(pages, copied)| pages == copied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::clock::System;
    use crate::engine::store::sqlite::Sqlite;
    use crate::engine::store::{Sequence, Store};
    use crate::keyring::Ring;

    const PAGE: u64 = 4096;

    fn open(path: &Path) -> Store {
        let database = Sqlite::open(path, false).unwrap();
        Store::sealed(database, Ring::in_memory().unwrap(), Arc::new(System)).unwrap()
    }

    /// So many commits, each of a few pages.
    fn commit(store: &Store, times: i64) {
        for last in 0..times {
            let write = store.run(move |view| {
                let name = "test".to_owned();
                // The existing row decides between inserting and updating.
                view.get::<Sequence>((name.clone(),))?;
                view.put(Sequence { name, last });
                Ok(())
            });
            write.unwrap();
        }
    }

    #[test]
    fn the_log_begins_anew_when_its_pages_are_in_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.db");
        let log = || std::fs::metadata(folder.path().join("service.db-wal")).unwrap().len();
        let store = open(&path);
        commit(&store, 3 * DUE as i64);
        assert!(log() < 2 * DUE as u64 * PAGE, "{}", log());
    }

    #[test]
    fn a_long_read_makes_the_log_grow_and_no_commit_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.db");
        let log = || std::fs::metadata(folder.path().join("service.db-wal")).unwrap().len();
        let store = open(&path);
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN; SELECT * FROM sequences").unwrap();
        commit(&store, 2 * DUE as i64);
        let grown = log();
        assert!(grown > 2 * DUE as u64 * PAGE, "{grown}");
        other.execute_batch("COMMIT").unwrap();
        commit(&store, 2 * DUE as i64);
        // The next commit still appends its page.
        assert!(log() < grown + 10 * PAGE, "{grown} to {}", log());
    }
}

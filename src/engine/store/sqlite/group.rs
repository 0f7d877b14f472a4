//! Group commit. The thread that acquires the connection carries out the writes of all threads that
//! wait for it, in one transaction with one sync; those threads then find theirs done. This needs
//! no background thread, and no write returns success before it is on disk.

use super::process::Owned;
use super::watch::Guard;
use super::{broken, failed, keep_log, snapshot};
use crate::{Error, Result};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

pub(super) struct Writer {
    /// `None` once it is closed.
    connection: Owned,
    waiting: Mutex<Vec<Box<dyn Job>>>,
    /// The calls since the last write, by application and month.
    counted: Mutex<BTreeMap<(i64, i64), u64>>,
    /// `None` in memory.
    guard: Option<Arc<Guard>>,
}

/// A write that waits for its turn.
trait Job: Send {
    fn run(&mut self, db: &Connection) -> rusqlite::Result<()>;
    /// Replaces the outcome by an error, because the transaction was rolled back.
    fn fail(&mut self, error: Error);
}

struct Pending<T, F> {
    work: Option<F>,
    outcome: Arc<Mutex<Option<Result<T>>>>,
}

impl<T, F> Job for Pending<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> rusqlite::Result<T> + Send,
{
    fn run(&mut self, db: &Connection) -> rusqlite::Result<()> {
        let Some(work) = self.work.take() else { return Ok(()) };
        let (outcome, end) = match work(db) {
            Ok(done) => (Ok(done), Ok(())),
            Err(error) => (Err(failed(error)), Err(rusqlite::Error::QueryReturnedNoRows)),
        };
        if let Ok(mut slot) = self.outcome.lock() {
            *slot = Some(outcome);
        }
        end
    }

    fn fail(&mut self, error: Error) {
        if let Ok(mut slot) = self.outcome.lock() {
            *slot = Some(Err(error));
        }
    }
}

impl Writer {
    pub(super) fn new(connection: Owned, guard: Option<Arc<Guard>>) -> Writer {
        Writer { connection, waiting: Mutex::default(), counted: Mutex::default(), guard }
    }

    pub(super) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let outcome = Arc::new(Mutex::new(None));
        let job = Pending { work: Some(work), outcome: Arc::clone(&outcome) };
        self.waiting.lock().map_err(|_| broken())?.push(Box::new(job));
        let connection = self.connection.lock().map_err(|_| broken())?;
        // If another thread has already carried out this job, the list may be empty by now.
        let mut jobs = std::mem::take(&mut *self.waiting.lock().map_err(|_| broken())?);
        match &*connection {
            Some(db) if !jobs.is_empty() => self.commit(db, &mut jobs),
            _ => {}
        }
        drop(connection);
        let outcome = outcome.lock().map_err(|_| broken())?.take();
        outcome.unwrap_or_else(|| Err(broken()))
    }

    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let connection = self.connection.lock().map_err(|_| broken())?;
        snapshot(connection.as_ref().ok_or_else(broken)?, work).map_err(failed)
    }

    pub(super) fn count_call(&self, app: i64, month: i64) {
        if let Ok(mut counted) = self.counted.lock() {
            *counted.entry((app, month)).or_default() += 1;
        }
    }

    /// Leaks the connection, which belongs to the process that opened it, and the rest, which one of
    /// its threads may have been changing. Dropping the writer then waits for no lock of theirs.
    pub(super) fn forget(&mut self) {
        std::mem::forget(std::mem::take(&mut self.waiting));
        std::mem::forget(std::mem::take(&mut self.counted));
        std::mem::forget(Arc::clone(&self.connection));
    }

    /// Leaks the locks, which the parent still has.
    pub(super) fn forget_guard(&mut self) {
        std::mem::forget(self.guard.take());
    }

    /// Closes the connection.
    pub(super) fn close(&mut self) {
        if let Ok(mut connection) = self.connection.lock() {
            drop(connection.take());
        }
        self.guard = None;
    }

    fn commit(&self, db: &Connection, jobs: &mut [Box<dyn Job>]) {
        let counted = self.counted.lock().map(|mut counted| std::mem::take(&mut *counted));
        let counted = counted.unwrap_or_default();
        let done = self.check().and_then(|()| run_all(db, jobs, &counted).map_err(failed));
        // Nothing that was written to a log that is gone by now may be acknowledged.
        if let Err(error) = done.and_then(|()| self.check()) {
            // If the rollback fails too, nothing is left behind: there was no commit.
            let _ = db.execute_batch("ROLLBACK");
            jobs.iter_mut().for_each(|job| job.fail(error.clone()));
            for ((app, month), count) in counted {
                if let Ok(mut again) = self.counted.lock() {
                    *again.entry((app, month)).or_default() += count;
                }
            }
        }
    }

    /// Fails if what is written would be lost.
    fn check(&self) -> Result<()> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard.check())
    }

    /// Makes the connection leave the log alone when it is closed.
    pub(super) fn keep_log(&mut self) {
        if let Ok(Some(connection)) = self.connection.lock().as_deref() {
            keep_log(connection);
        }
    }

    /// Writes the counts that no other write has taken along yet.
    pub(super) fn write_counts(&mut self) {
        if self.counted.get_mut().is_ok_and(|counted| !counted.is_empty())
            && let Ok(connection) = self.connection.lock()
            && let Some(db) = &*connection
        {
            self.commit(db, &mut []);
        }
    }
}

/// Runs all jobs in one transaction. Each has a savepoint, so that a job that fails is rolled back
/// alone.
fn run_all(
    db: &Connection,
    jobs: &mut [Box<dyn Job>],
    counted: &BTreeMap<(i64, i64), u64>,
) -> rusqlite::Result<()> {
    db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    for ((app, month), count) in counted {
        super::applications::count(db, *app, *month, "api_calls", *count)?;
    }
    for job in jobs {
        db.prepare_cached("SAVEPOINT job")?.execute([])?;
        if job.run(db).is_err() {
            db.prepare_cached("ROLLBACK TO job")?.execute([])?;
        }
        db.prepare_cached("RELEASE job")?.execute([])?;
    }
    db.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

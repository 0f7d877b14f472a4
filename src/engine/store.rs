//! Storage of the engine's rows, in a database or in memory. Decisions see the rows through a
//! [`View`] and are carried out in batches, each in one transaction. No store knows a limit.

mod backend;
mod batch;
mod cache;
mod change;
#[cfg(test)]
mod conformance;
mod declaration;
mod memory;
mod migrations;
#[cfg(feature = "postgres")]
mod postgres;
mod resealing;
mod restored;
mod rows;
mod sealed;
mod sealing;
mod secret;
mod sqlite;
mod table;
mod tables;
mod view;
mod which;

pub(super) use backend::{Backend, Upkept};
pub(super) use memory::Memory;
#[cfg(feature = "postgres")]
pub(super) use postgres::Postgres;
pub(super) use sealed::Sealed;
pub(super) use sealing::{listed, wrong_ring};
pub(super) use sqlite::Sqlite;
pub(super) use sqlite::backup::{Copied, restore};
pub use sqlite::{after_fork, before_fork};
pub(super) use table::{Cell, Row, Value, damaged};
pub(super) use tables::{
    Activity, Application, Approval, Approver, Audit, Authenticator, Browser, Budget, Device,
    Document, Email, FactorState, Forwarded, Forwarding, Invitation, Job, KeptLine, Logo, Lookup,
    NumberCheck, OfflineSteps, OfflineUse, OpenApproval, Operator, Receipt, RecoveryCode,
    Retention, Route, SentCode, Sequence, Statistics, User,
};
pub(super) use view::{Decided, Stop, View};
pub(super) use which::{Due, Page};

use super::model::clock::Time;
use crate::Result;
use crate::engine::model::clock::Clock;
use crate::keyring::Ring;
use batch::Queue;
use sealing::Sealing;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Every how many decisions the expired rows are looked for, which costs about as much as one.
const SWEEP: u32 = 32;

/// A database with the decisions that wait for it.
pub(super) struct Store {
    backend: Box<dyn Backend>,
    queue: Queue,
    /// The number of decisions made, which determines when expired rows are looked for.
    decisions: AtomicU32,
    /// `None` for rows that are in memory only.
    ring: Option<Arc<Ring>>,
}

impl Store {
    /// Returns a store that has secrets as they are: one in memory.
    pub(super) fn new(backend: Memory) -> Store {
        Store::of(Box::new(backend), None)
    }

    /// Returns a database whose secrets are sealed with the keys of this ring.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage) if it is the database of another ring, and nothing is
    /// changed.
    pub(super) fn sealed(
        backend: impl Backend + 'static,
        ring: Ring,
        clock: Arc<dyn Clock>,
    ) -> Result<Store> {
        let ring = Arc::new(ring);
        let backend = Sealing::new(backend, Arc::clone(&ring), clock)?;
        Ok(Store::of(Box::new(backend), Some(ring)))
    }

    fn of(backend: Box<dyn Backend>, ring: Option<Arc<Ring>>) -> Store {
        Store { backend, queue: Queue::default(), decisions: AtomicU32::new(0), ring }
    }

    /// Makes a decision, and returns once its changes are on disk. It may be made several times;
    /// only the last one counts.
    pub(super) fn run<T: Send + 'static>(
        &self,
        decide: impl FnMut(&mut View) -> Decided<T> + Send + 'static,
    ) -> Result<T> {
        let _using = self.backend.begin()?;
        self.queue.run(&*self.backend, decide)
    }

    /// Counts a decision. Returns how many expired rows the next batch should delete, if it is their
    /// turn: more than decisions can have added since the last time.
    pub(super) fn count_decision(&self) -> Option<u32> {
        let count = self.decisions.fetch_add(1, Ordering::Relaxed);
        (count % SWEEP == SWEEP - 1).then_some(4 * SWEEP)
    }

    /// Has the next batch carry out a decision. No caller waits for it, and a failure is not
    /// reported.
    pub(super) fn take_along(
        &self,
        decide: impl FnMut(&mut View) -> Decided<()> + Send + 'static,
    ) -> Result<()> {
        let _using = self.backend.begin()?;
        self.queue.take_along(decide)
    }

    /// Makes a decision that rarely changes anything: on a snapshot, and in a batch only if it does.
    pub(super) fn look<T: Send + 'static>(
        &self,
        mut decide: impl FnMut(&mut View) -> Decided<T> + Send + 'static,
    ) -> Result<T> {
        let _using = self.backend.begin()?;
        match batch::look(&*self.backend, &mut decide)? {
            Some(outcome) => Ok(outcome),
            None => self.queue.run(&*self.backend, decide),
        }
    }

    /// Returns whether this process can use it, and is not a forked child of the one that can.
    pub(super) fn is_own(&self) -> bool {
        self.backend.begin().is_ok()
    }

    /// Returns whether the last write failed.
    pub(super) fn is_failing(&self) -> bool {
        self.queue.is_failing()
    }

    /// Fails if the program has closed descriptors of the database.
    pub(super) fn check(&self) -> Result<()> {
        let _using = self.backend.begin()?;
        self.backend.check()
    }

    /// Forgets the counts of the calls that no batch has taken along.
    pub(super) fn forget_counts(&self) {
        drop(self.queue.counts.take());
    }

    /// Returns whether the database was put back from a copy.
    pub(super) fn is_restored(&self) -> bool {
        self.backend.is_restored()
    }

    /// Invalidates everything that may have been used since the copy was made.
    pub(super) fn spend(&self, now: Time) -> Result<()> {
        let _using = self.backend.begin()?;
        self.backend.spend(now)
    }

    /// Copies the database into a new file.
    pub(super) fn copy_to(&self, path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        self.backend.copy_to(path, progress)
    }

    /// Checks the database, and does its periodic maintenance.
    pub(super) fn look_after(&self, full: bool) -> Result<Upkept> {
        self.backend.look_after(full)
    }

    /// Counts a call of the interface. The count reaches the disk with the next batch.
    pub(super) fn count_call(&self, app_id: i64, month: i64) {
        // The calls of a forked child fail, and another thread may have been counting.
        if let Ok(_using) = self.backend.begin() {
            self.queue.counts.add(app_id, month);
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        match self.backend.begin() {
            Ok(_using) => self.queue.write_counts(&*self.backend),
            // In a forked child, a thread of the parent may have been changing it.
            Err(_) => std::mem::forget(std::mem::take(&mut self.queue)),
        }
    }
}

//! The engine itself: its state, and how its decisions are made.

mod key_hashes;
mod known;
mod rates;
mod reached;
mod refusals;
mod sandbox;
mod senders;
mod steady;
mod strangers;

pub(super) use key_hashes::KeyHashes;
pub(super) use known::{By, Known};
pub(super) use rates::Rates;
pub(super) use refusals::{APART, Refusals, Row};
pub(super) use sandbox::{Accepts, Sandbox};
pub use senders::{AfterAttempt, CALLBACK_LANES, Lane, LeasedJob, Offered, Prepared, Sender};
pub(super) use senders::{Delivered, Host};
pub(super) use steady::Steady;
pub(super) use strangers::Strangers;

use super::delivery::{Events, Post, PushHosts, SendPush};
use super::model::author::Author;
use super::model::clock::{Clock, Now, Random, Time};
use super::model::lines::NumberLookup;
use super::operations::housekeeping::{Deleted, delete_expired};
use super::operations::steady as stored;
use super::store::{Decided, Store, View};
use crate::engine::app_settings::App;
use crate::webpush::VapidTokens;
use crate::{Error, Result};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The service itself, as one application sees it. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(super) shared: Arc<Shared>,
    pub(super) app: Arc<App>,
    pub(super) author: Author,
}

/// The state that the applications of one database share.
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) steady: Steady,
    pub(super) refusals: Refusals,
    pub(super) rates: Rates,
    pub(super) strangers: Strangers,
    pub(super) key_hashes: KeyHashes,
    pub(super) known: Known,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Arc<dyn Random>,
    pub(super) sender: Arc<dyn Sender>,
    pub(super) events: Arc<dyn Events>,
    pub(super) post: Option<Arc<dyn Post>>,
    pub(super) push: Option<Arc<dyn SendPush>>,
    /// The hosts that push subscriptions may use.
    pub(super) push_hosts: PushHosts,
    pub(super) push_tokens: VapidTokens,
    pub(super) lookup: Option<Arc<dyn NumberLookup>>,
    /// `None` for a database file.
    pub(super) sandbox: Option<Sandbox>,
}

impl Engine {
    /// Returns the same engine, for another application.
    pub(super) fn of(&self, app: Arc<App>) -> Engine {
        Engine { app, ..self.clone() }
    }

    /// Returns the same engine, for a request with this id, which is in the audit.
    #[doc(hidden)]
    pub fn for_request(&self, id: Option<&str>) -> Engine {
        let author = Author { request_id: id.map(Arc::from), ..self.author.clone() };
        Engine { author, ..self.clone() }
    }

    /// Returns the id of its application.
    pub(crate) fn app_id(&self) -> i64 {
        self.app.app_id
    }

    /// Deletes expired data: codes, messages, remembered browsers, verifications of numbers, counts of messages, and
    /// from the audit of each application the decisions that are older than its limit `audit_days`; and from the spool
    /// folder the messages of expired codes, or anything else that [`Sender::housekeep`] removes.
    ///
    /// After the clock has moved forward by more than a day, the audit loses nothing because of it for
    /// another day, in which it can be put right.
    ///
    /// Every few decisions delete some expired rows too, so nothing grows without this. A program that
    /// runs for long calls it every few seconds, as `seconder serve` does: then data that expired in a
    /// busy hour is deleted in an idle one.
    ///
    /// Rows go in steps of 256, each a decision of its own, so that no call waits for more than one of
    /// them. After `budget` no further step begins. Returns whether there may be more to delete.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be written; and if expired rows could not be read, once
    /// they and all others are deleted.
    pub fn maintain(&self, budget: Duration) -> Result<bool> {
        const STEP: u32 = 256;
        self.shared.sender.housekeep();
        if let Some(post) = &self.shared.post {
            post.housekeep();
        }
        if let Some(push) = &self.shared.push {
            push.housekeep();
        }
        let end = self.shared.clock.now().saturating_add(budget);
        let is_over = || self.shared.clock.now() >= end;
        let mut unreadable = 0;
        let more = loop {
            let now = self.now();
            let Deleted { rows, unreadable: more } =
                self.shared.store.run(move |view| delete_expired(view, now, STEP))?;
            unreadable += more;
            if rows < STEP {
                break false;
            }
            if is_over() {
                break true;
            }
        };
        // Expired rows are deleted by now, even if this fails.
        while !is_over() && self.note_left_over(APART, STEP)? {}
        match unreadable {
            0 => Ok(more),
            some => Err(Error::storage(format!(
                "{some} expired rows could not be read, and were deleted: the database was damaged. \
                 Check its disk, and compare it with a backup"
            ))),
        }
    }

    /// Counts a call, and returns the time at which it is handled.
    pub(super) fn begin(&self) -> Now {
        let now = self.now();
        self.shared.store.count_call(self.app.app_id, now.clock.month());
        now
    }

    /// Returns the time at which an operation begins, for which a sandbox is emptied first if it is due.
    pub(super) fn now(&self) -> Now {
        let Shared { store, steady, clock, .. } = &*self.shared;
        let mut now = steady.now(&**clock);
        // If the store fails, so does the call that begins now.
        if steady.must_read(now)
            && let Ok(Some(time)) = store.look(stored::find)
        {
            steady.follow(time);
            now = steady.now(&**clock);
        }
        self.clear_sandbox_if_due(now.clock);
        now
    }

    /// Makes a decision, and returns once its changes are on disk.
    pub(super) fn run<T: Send + 'static>(
        &self,
        decide: impl FnMut(&mut View) -> Decided<T> + Send + 'static,
    ) -> Result<T> {
        self.count_decision()?;
        self.shared.run(decide)
    }

    /// Has the next batch delete expired rows, if it is its turn.
    fn count_decision(&self) -> Result<()> {
        let store = &self.shared.store;
        let Some(most) = store.count_decision() else { return Ok(()) };
        let now = self.now();
        // First, because it fails in a forked child, where the refusals may stay locked.
        store.take_along(move |view| delete_expired(view, now, most).map(drop))?;
        // The next refusal of a kind takes those before along, if it comes soon. One that cannot be
        // noted is counted again.
        let _ = self.note_left_over(2 * APART, most);
        Ok(())
    }

    /// Makes a decision that rarely changes anything.
    pub(super) fn look<T: Send + 'static>(
        &self,
        decide: impl FnMut(&mut View) -> Decided<T> + Send + 'static,
    ) -> Result<T> {
        self.shared.store.look(decide)
    }

    /// Fails if the program has closed descriptors of the database. In a forked child, which uses none,
    /// that is no error.
    pub(crate) fn check_database(&self) -> Result<()> {
        if self.shared.store.is_own() { self.shared.store.check() } else { Ok(()) }
    }

    /// Draws a random number that is not negative, by which a row can be found.
    pub(super) fn nonce(&self) -> Result<i64> {
        let mut bytes = [0; 8];
        self.random().fill(&mut bytes)?;
        Ok(i64::from_le_bytes(bytes) & i64::MAX)
    }

    pub(super) fn random(&self) -> &dyn Random {
        &*self.shared.random
    }

    /// Writes some rows for refusals that were counted, and that no other one has followed. Returns
    /// whether there were any.
    pub(in crate::engine) fn note_left_over(&self, age: Duration, most: u32) -> Result<bool> {
        let rows = self.shared.refusals.left_over(self.now().steady, age, most as usize);
        let are_any = !rows.is_empty();
        if are_any {
            self.write_refusals(rows)?;
        }
        Ok(are_any)
    }

    pub(in crate::engine) fn write_refusals(&self, rows: Vec<Row>) -> Result<()> {
        let rows = Arc::new(rows);
        let to_write = Arc::clone(&rows);
        let written = self.run(move |view| {
            to_write.iter().for_each(|row| row.write(view));
            Ok(())
        });
        // A decision that is not known to be written has been dropped, or has this as a copy.
        if written.is_err() {
            let rows = Arc::try_unwrap(rows).unwrap_or_default();
            for mut row in rows {
                // If it was written all the same, the same place is taken.
                row.trail.nonce = self.nonce().unwrap_or(row.trail.nonce.wrapping_add(1));
                self.shared.refusals.put_back(row);
            }
        }
        written
    }

    fn clear_sandbox_if_due(&self, now: Time) {
        if let Some(sandbox) = &self.shared.sandbox {
            sandbox.clear_if_due(&self.shared.store, now);
        }
    }
}

impl Shared {
    /// Has every application, and every key that none had, looked up again: this process has changed one.
    pub(super) fn forget_applications(&self) {
        self.known.forget();
        self.strangers.forget();
        self.key_hashes.forget();
    }

    /// Makes a decision, and stores with it how far the time has come.
    pub(super) fn run<T: Send + 'static>(
        &self,
        mut decide: impl FnMut(&mut View) -> Decided<T> + Send + 'static,
    ) -> Result<T> {
        let reached = self.steady.to_store();
        let outcome = self.store.run(move |view| {
            let outcome = decide(view)?;
            // One closure: with two, each would contain the decision.
            if let Some(reached) = reached {
                stored::raise(view, reached)?;
            }
            Ok(outcome)
        })?;
        if let Some(reached) = reached {
            self.steady.was_stored(reached);
        }
        Ok(outcome)
    }

    /// Writes the rows for all refusals that were only counted, at the end.
    fn note_all_left_over(&self) -> Result<()> {
        let rows = self.refusals.left_over(Time(i64::MAX), Duration::ZERO, usize::MAX);
        if rows.is_empty() {
            return Ok(());
        }
        self.run(move |view| {
            rows.iter().for_each(|row| row.write(view));
            Ok(())
        })
    }
}

impl Drop for Shared {
    /// Errors are ignored, because no caller is left to receive them.
    fn drop(&mut self) {
        if !self.store.is_own() {
            // A thread of the parent may have been changing them.
            std::mem::forget(std::mem::take(&mut self.refusals));
            std::mem::forget(std::mem::take(&mut self.rates));
        } else if self.note_all_left_over().is_err() {
            // The store would be waited for a second time.
            self.store.forget_counts();
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("app_id", &self.app.app_id).finish_non_exhaustive()
    }
}

//! Worker threads of a server, which send instead of the calls.

use super::{Delivered, delivered};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::engine::core::Engine;
use crate::engine::delivery::Outcome;
use crate::engine::model::jobs::JobKind;
use crate::engine::operations::jobs::{self, Claimed, Ended};
use std::fmt;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The time that a call waits for workers: beyond it, the message is on its way, or has to be
/// repeated.
const CALL_WAITS: Duration = Duration::from_secs(5);

/// The prefix of the names of [`Engine::callback_lanes`]. No route has such a name.
pub const CALLBACK_LANES: &str = jobs::CALLBACKS;

/// The lane of push messages. No route has such a name.
pub const PUSH_LANE: &str = jobs::PUSHES;

impl Engine {
    /// Sends something that was leased: by this thread, unless there are [`Workers`].
    pub(in crate::engine) fn send(&self, claimed: Claimed) -> Result<Delivered> {
        let workers = self.shared.workers.get().and_then(Weak::upgrade);
        let Some(workers) = workers.filter(|workers| workers.sends(&claimed.lane)) else {
            return Ok(delivered(self.attempt_all(claimed)?));
        };
        let (done, outcome) = sync_channel(1);
        let job = LeasedJob { engine: self.clone(), claimed, done: Some(done) };
        match workers.take(Box::new(job)) {
            // The message is not lost, even if the call stops waiting.
            Ok(()) => Ok(outcome.recv_timeout(CALL_WAITS).unwrap_or(Delivered::Queued)),
            Err(job) => {
                self.release(std::iter::once(job.claimed))?;
                Ok(Delivered::Queued)
            }
        }
    }

    /// Hands over jobs that no call waits for: to [`Workers`], or else to the next run of the jobs that are due. A job
    /// that cannot be given back is due once its lease is over, so the call has succeeded all the same.
    pub(in crate::engine) fn hand_over(&self, claimed: Vec<Claimed>) {
        let workers = self.shared.workers.get().and_then(Weak::upgrade);
        let mut left = Vec::new();
        for claimed in claimed {
            let Some(workers) = workers.as_ref().filter(|workers| workers.sends(&claimed.lane))
            else {
                left.push(claimed);
                continue;
            };
            let job = LeasedJob { engine: self.clone(), claimed, done: None };
            if let Err(job) = workers.take(Box::new(job)) {
                left.push(job.claimed);
            }
        }
        drop(self.release(left.into_iter()));
    }

    /// Has these workers send the messages and callbacks of calls, as long as they live. Once set, they
    /// cannot be replaced: returns whether they were set.
    pub fn set_workers(&self, workers: &Arc<dyn Workers>) -> bool {
        self.shared.workers.set(Arc::downgrade(workers)).is_ok()
    }

    /// Leases jobs of a lane whose next attempt is due, at most so many. Returns whether there may be
    /// more.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read or written.
    pub fn lease_jobs(&self, lane: &str, most: u32) -> Result<(Vec<LeasedJob>, bool)> {
        let leased = |claimed| LeasedJob { engine: self.clone(), claimed, done: None };
        let jobs::Leased { claimed, due } = self.claim(lane, most)?;
        let more = u32::try_from(due).is_ok_and(|due| due >= most);
        Ok((claimed.into_iter().map(leased).collect(), more))
    }
}

/// Threads that send the messages and callbacks of calls, so that no call waits for long for a
/// gateway.
pub trait Workers: Send + Sync {
    /// Returns whether jobs of this lane are sent by workers. All others are sent by the thread of the call.
    fn sends(&self, lane: &str) -> bool;

    /// Takes a job, to [`send`](LeasedJob::send) it on another thread.
    ///
    /// # Errors
    /// Returns the job if none of those for its lane is free: the call goes on at once, and the job waits
    /// in the database until [`Engine::lease_jobs`] returns it.
    fn take(&self, job: Box<LeasedJob>) -> std::result::Result<(), Box<LeasedJob>>;
}

/// A leased message or callback, which no other process sends for now. A job that is dropped is
/// sent once the lease is over. `Debug` shows only the lane.
#[must_use = "it is sent by `send`"]
pub struct LeasedJob {
    engine: Engine,
    claimed: Claimed,
    /// The call that waits for it.
    done: Option<SyncSender<Delivered>>,
}

impl LeasedJob {
    /// Returns the queue that it waits in: the name of a route, or one of
    /// [`Engine::callback_lanes`].
    pub fn lane(&self) -> &str {
        &self.claimed.lane
    }

    /// Returns the kind of the job.
    pub fn kind(&self) -> JobKind {
        self.claimed.kind
    }

    /// Makes an attempt to send it, and stores the outcome. If another route is to be asked at once, returns it, for
    /// that route's lane. `measure` is called at the end of the attempt, unless no attempt is made, because the job is
    /// no longer wanted or its lease is too short.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be written: another attempt is made when the lease is over.
    pub fn send(mut self, measure: impl FnOnce(&Outcome)) -> Result<Option<LeasedJob>> {
        let (ended, outcome) = self.engine.attempt_one(&self.claimed, measure)?;
        if let Ended::Again(next) = ended {
            self.claimed = *next;
            return Ok(Some(self));
        }
        if let Some(done) = self.done.take() {
            // The call may have stopped waiting.
            let _ = done.try_send(delivered((ended, outcome)));
        }
        Ok(None)
    }

    /// Gives it back to the database, so that it can be leased again at once.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be written: then it can once the lease is over.
    pub fn release(self) -> Result<()> {
        let LeasedJob { engine, claimed, .. } = self;
        engine.release(std::iter::once(claimed))
    }
}

impl fmt::Debug for LeasedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeasedJob").field("lane", &self.lane()).finish_non_exhaustive()
    }
}

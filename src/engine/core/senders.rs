//! Senders: they claim jobs, send them, and report the outcomes.

use super::Engine;
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::calls::Channel;
use crate::engine::delivery::{Deliver, Message, Outcome, WipedMessage};
use crate::engine::model::clock::Now;
use crate::engine::model::jobs::{JobKind, shown_id};
use crate::engine::operations::jobs::{self, Claimed, Ended, Outgoing, Plan, What};
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;
use zeroize::Zeroizing;

/// The time that a call waits for another thread: beyond it, the message is on its way, or has to be repeated.
const CALL_WAITS: Duration = Duration::from_secs(5);

/// The time for which a code is not looked at again between the lease and the attempt.
const UNWATCHED: Duration = Duration::from_secs(1);

/// The prefix of the names of [`Engine::callback_lanes`]. No route has such a name.
pub const CALLBACK_LANES: &str = jobs::CALLBACKS;

/// A queue of jobs: messages by a route, the callbacks of an application, or push messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The name of the route, or of the queue.
    pub name: String,
    /// The maximum time that an attempt takes. After twice that time, an attempt that has not ended counts as ended by a
    /// crash.
    pub longest_attempt: Duration,
}

impl Lane {
    /// Returns the time for which no other process attempts a job that is being attempted, or is about to be.
    pub(in crate::engine) fn lease(&self) -> Duration {
        self.longest_attempt.max(Duration::from_secs(1)) * 2
    }
}

/// Sends the jobs of an engine. [`Deliver`] is enough for a program that needs no threads for it.
pub trait Sender: Send + Sync {
    /// Returns all routes, so that the messages that wait for one of them are found.
    fn lanes(&self) -> Vec<Lane>;

    /// Returns the routes that a message to this number may take, the preferred one first. If the list is empty, no
    /// message is sent, and the call is rejected. It may differ for each message, as breakers open and routes take turns.
    fn routes(&self, to: &str, via: Channel) -> Vec<Lane>;

    /// Sends a job on this thread, by one route after the other, until it is sent or has to wait.
    ///
    /// # Errors
    /// As [`LeasedJob::prepare`] and [`LeasedJob::finish`].
    fn send(&self, job: LeasedJob) -> Result<()>;

    /// Takes a job of a call, to send it on another thread. Default: there is none.
    fn offer(&self, job: LeasedJob) -> Offered {
        Offered::Here(job)
    }

    /// Removes data of messages whose codes have expired. It is called by [`Engine::maintain`]. Default: does nothing.
    fn housekeep(&self) {}
}

/// The reply to the offer of a job.
#[derive(Debug)]
pub enum Offered {
    /// Another thread sends it.
    Taken,
    /// No thread is free: the call goes on at once, and the job waits in the database until [`Engine::lease_jobs`]
    /// returns it.
    Full(LeasedJob),
    /// The thread of the call sends it.
    Here(LeasedJob),
}

/// What a sender does with a job now.
#[derive(Debug)]
#[non_exhaustive]
pub enum Prepared {
    /// Nothing, and it was given back: it is no longer wanted, or its lease is too short for an attempt.
    Nothing,
    /// It sends this message, by the route that the lane is named after.
    Message(WipedMessage),
    /// It calls [`LeasedJob::post`].
    Post,
}

/// The next step after an attempt to send a job.
#[derive(Debug)]
#[non_exhaustive]
pub enum AfterAttempt {
    /// Nothing: it was sent.
    Sent,
    /// Another attempt, for which it waits.
    Repeated,
    /// Another attempt at once, by the route of its lane.
    Again(LeasedJob),
    /// Nothing: it failed permanently, such as because its code expires before it could be attempted again.
    Failed,
    /// Nothing: the attempt no longer decides, because another one was begun, or nothing is left to send.
    Stale,
}

/// The outcome of a message for the caller.
pub(in crate::engine) enum Delivered {
    /// It was sent.
    Sent,
    /// It is still being sent, or further attempts are to come.
    Queued,
    /// It failed permanently. The reason is without the code.
    Failed(String),
    /// It failed permanently, because the provider refuses the number.
    NumberRefused,
}

impl Engine {
    /// Sends something that was leased, and returns what its call replies.
    pub(in crate::engine) fn send(&self, claimed: Claimed) -> Result<Delivered> {
        let (done, outcome) = sync_channel(1);
        match self.shared.sender.offer(self.leased(claimed, Some(done))) {
            // The message is not lost, even if the call stops waiting.
            Offered::Taken => Ok(outcome.recv_timeout(CALL_WAITS).unwrap_or(Delivered::Queued)),
            Offered::Full(job) => job.release().map(|()| Delivered::Queued),
            Offered::Here(job) => {
                self.shared.sender.send(job)?;
                Ok(outcome.try_recv().unwrap_or(Delivered::Queued))
            }
        }
    }

    /// Sends something that was leased on this thread. Returns the outcome, unless there is nothing to send.
    pub(in crate::engine) fn send_here(&self, claimed: Claimed) -> Result<Option<Delivered>> {
        let (done, outcome) = sync_channel(1);
        self.shared.sender.send(self.leased(claimed, Some(done)))?;
        Ok(outcome.try_recv().ok())
    }

    /// Hands over jobs that no call waits for: to another thread, or else to the next run of the jobs that are due. A job
    /// that cannot be given back is due once its lease is over, so the call has succeeded all the same.
    pub(in crate::engine) fn hand_over(&self, claimed: Vec<Claimed>) {
        let offered = claimed.into_iter().filter_map(|claimed| {
            match self.shared.sender.offer(self.leased(claimed, None)) {
                Offered::Taken => None,
                Offered::Full(job) | Offered::Here(job) => Some(*job.claimed),
            }
        });
        drop(self.release(offered));
    }

    pub(in crate::engine) fn claim(&self, lane: &Lane, most: u32) -> Result<jobs::Leased> {
        let (name, plan, now) = (lane.name.clone(), self.plan(&[], lane.lease()), self.now());
        // Usually no job is due, so this begins without the lock that writers take.
        self.look(move |view| jobs::claim(view, &name, most, &plan, now))
    }

    pub(in crate::engine) fn release(&self, claimed: impl Iterator<Item = Claimed>) -> Result<()> {
        let leases: Vec<_> = claimed.map(|claimed| claimed.lease).collect();
        if leases.is_empty() {
            return Ok(());
        }
        let now = self.now();
        self.run(move |view| leases.iter().try_for_each(|lease| jobs::release(view, lease, now)))
    }

    pub(in crate::engine) fn plan(&self, routes: &[Lane], lease: Duration) -> Plan {
        let limited = self.limits().is_some();
        // The next attempt may be by any of the routes.
        let lease = routes.iter().map(Lane::lease).fold(lease, Ord::max);
        let routes = routes.iter().map(|route| route.name.clone()).collect();
        Plan { routes, lease, limited, author: self.author.clone() }
    }

    fn leased(&self, claimed: Claimed, done: Option<SyncSender<Delivered>>) -> LeasedJob {
        LeasedJob { engine: self.clone(), claimed: Box::new(claimed), done }
    }

    /// Leases jobs of a lane whose next attempt is due, at most so many. Returns whether there may be
    /// more.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read or written.
    pub fn lease_jobs(&self, lane: &Lane, most: u32) -> Result<(Vec<LeasedJob>, bool)> {
        let jobs::Leased { claimed, due } = self.claim(lane, most)?;
        let more = u32::try_from(due).is_ok_and(|due| due >= most);
        Ok((claimed.into_iter().map(|claimed| self.leased(claimed, None)).collect(), more))
    }
}

/// A leased message or callback, which no other process sends for now. A job that is dropped is
/// sent once the lease is over. `Debug` shows only the lane.
#[must_use = "it is sent after `prepare`"]
pub struct LeasedJob {
    engine: Engine,
    claimed: Box<Claimed>,
    /// The call that waits for it.
    done: Option<SyncSender<Delivered>>,
}

impl LeasedJob {
    /// Returns the name of the queue that it waits in: of a route, of one of [`Engine::callback_lanes`], or of
    /// [`Engine::push_lane`].
    pub fn lane(&self) -> &str {
        &self.claimed.lane
    }

    /// Returns the kind of the job.
    pub fn kind(&self) -> JobKind {
        self.claimed.kind
    }

    /// Returns what to send, directly before it is sent, by an attempt that takes this time at most.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read or written: another attempt is made when the lease is over.
    pub fn prepare(&self, longest_attempt: Duration) -> Result<Prepared> {
        let LeasedJob { engine, claimed, .. } = self;
        let (now, length) = (engine.now(), claimed.leased_for);
        // It may have waited in a queue, and the route may have been set since. An attempt that could outlive the lease
        // is left to the next lease, or it might be sent twice.
        let mut is_left = claimed.until <= now.steady.plus(longest_attempt.max(length / 2));
        if !is_left && claimed.until.minus(length).plus(UNWATCHED) <= now.steady {
            let lease = claimed.lease.clone();
            is_left = !engine.look(move |view| jobs::is_still_wanted(view, &lease, now))?;
        }
        if is_left {
            engine.release(std::iter::once(*claimed.clone()))?;
            return Ok(Prepared::Nothing);
        }
        Ok(match &claimed.what {
            What::Message { message, code } if claimed.deadline > now.steady => {
                Prepared::Message(message_of(claimed, message, code.as_ref(), now))
            }
            _ => Prepared::Post,
        })
    }

    /// Posts a callback, or sends a push message, as the settings of the engine say.
    ///
    /// # Errors
    /// As [`LeasedJob::prepare`].
    pub fn post(&self) -> Result<Outcome> {
        let LeasedJob { engine, claimed, .. } = self;
        let now = engine.now();
        match &claimed.what {
            _ if claimed.deadline <= now.steady => {}
            What::Callback { url, body } => return engine.post(claimed, url, body, now),
            What::Push { device, notice } => return engine.push(claimed, (*device, notice), now),
            What::Message { .. } => {}
        }
        let reason = "its time was over before it could be sent".to_owned();
        Ok(Outcome::NotAttempted { after: None, reason })
    }

    /// Stores the outcome of an attempt, and decides on the next one: by these [`routes`](Sender::routes), for a message.
    /// Returns the outcome without the code and the number, too.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be written: another attempt is made when the lease is over.
    pub fn finish(mut self, outcome: Outcome, routes: &[Lane]) -> Result<(AfterAttempt, Outcome)> {
        let LeasedJob { engine, claimed, .. } = &self;
        let outcome = match &claimed.what {
            What::Message { message, code } => without_secrets(outcome, code.as_ref(), message),
            What::Callback { .. } | What::Push { .. } => outcome,
        };
        let plan = engine.plan(routes, claimed.leased_for);
        let (lease, decided, now) = (claimed.lease.clone(), outcome.clone(), engine.now());
        let ended = engine.run(move |view| jobs::finish(view, &lease, &decided, &plan, now))?;
        let (then, delivered) = match (ended, &outcome) {
            (Ended::Again(next), _) => {
                self.claimed = next;
                return Ok((AfterAttempt::Again(self), outcome));
            }
            (Ended::Stale, _) => return Ok((AfterAttempt::Stale, outcome)),
            (Ended::Sent, _) => (AfterAttempt::Sent, Delivered::Sent),
            (Ended::Waits, _) => (AfterAttempt::Repeated, Delivered::Queued),
            (Ended::Failed, Outcome::NumberRefused(_)) => {
                (AfterAttempt::Failed, Delivered::NumberRefused)
            }
            (Ended::Failed, outcome) => {
                let reason = outcome.reason().unwrap_or_default().to_owned();
                (AfterAttempt::Failed, Delivered::Failed(reason))
            }
        };
        if let Some(done) = self.done {
            // The call may have stopped waiting.
            let _ = done.try_send(delivered);
        }
        Ok((then, outcome))
    }

    /// Gives it back to the database, so that it can be leased again at once.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be written: then it can once the lease is over.
    pub fn release(self) -> Result<()> {
        self.engine.release(std::iter::once(*self.claimed))
    }
}

impl fmt::Debug for LeasedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeasedJob").field("lane", &self.lane()).finish_non_exhaustive()
    }
}

/// Sends by the function of a program that embeds the engine.
pub(in crate::engine) struct Host(pub(in crate::engine) Arc<dyn Deliver>);

impl Host {
    fn lane(&self, route: String) -> Lane {
        Lane { longest_attempt: self.0.longest_attempt(&route), name: route }
    }
}

impl Sender for Host {
    fn lanes(&self) -> Vec<Lane> {
        self.0.all_routes().into_iter().map(|route| self.lane(route)).collect()
    }

    fn routes(&self, to: &str, via: Channel) -> Vec<Lane> {
        self.0.routes(to, via).into_iter().map(|route| self.lane(route)).collect()
    }

    fn send(&self, mut job: LeasedJob) -> Result<()> {
        loop {
            let (outcome, routes) = match job.prepare(self.0.longest_attempt(job.lane()))? {
                Prepared::Nothing => return Ok(()),
                Prepared::Message(message) => {
                    (self.0.attempt(&message, job.lane()), self.routes(&message.to, message.via))
                }
                Prepared::Post => (job.post()?, Vec::new()),
            };
            match job.finish(outcome, &routes)?.0 {
                AfterAttempt::Again(next) => job = next,
                _ => return Ok(()),
            }
        }
    }

    fn housekeep(&self) {
        self.0.housekeep();
    }
}

/// Returns the message of a job, as it is sent now.
fn message_of(
    claimed: &Claimed,
    outgoing: &Outgoing,
    code: Option<&Zeroizing<String>>,
    now: Now,
) -> WipedMessage {
    let code = code.map_or("", |code| code.as_str());
    let left = claimed.deadline.after(now.steady).unwrap_or_default();
    WipedMessage(Message {
        id: shown_id(claimed.lease.job_id),
        to: outgoing.to.clone(),
        via: outgoing.channel(),
        text: outgoing.text.text(code, left.as_secs()),
        language: outgoing.text.language.clone(),
        code: code.to_owned(),
        expires_at: if code.is_empty() { 0 } else { now.shown(claimed.deadline).seconds() },
        subject: claimed.lease.subject.clone(),
    })
}

/// An error that is stored and shown must contain neither the code nor the number.
fn without_secrets(
    outcome: Outcome,
    code: Option<&Zeroizing<String>>,
    message: &Outgoing,
) -> Outcome {
    let code = code.map_or("", |code| code.as_str());
    let clean = |reason: String| {
        if !code.is_empty() && reason.contains(code) {
            return "the delivery failed with a message that contains the code".to_owned();
        }
        let digits = message.to.trim_start_matches('+');
        match digits.is_empty() {
            true => reason,
            false => reason.replace(&message.to, &message.masked).replace(digits, &message.masked),
        }
    };
    outcome.map_reason(clean)
}

//! Group commit: decisions of many threads, carried out together. A thread that finds no batch in
//! progress leads one: it takes the waiting decisions, loads the rows that all of them need, makes
//! each decision, and commits once. Decisions that arrive meanwhile wait for the next batch, which
//! one of their threads leads. This needs no thread of its own, and nothing is acknowledged before
//! it is on disk.

use super::backend::{Backend, Fault, Rows};
use super::tables::Statistics;
use super::view::{Decided, Stop, View};
use crate::{Error, Result};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most decisions in one transaction, so that the first of them need not wait for too many.
const MOST: usize = 256;
/// The time that a caller waits for a batch that others lead before it gives up, and again for the
/// end of one that has taken its decision along.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The decisions that wait for a batch.
pub(super) struct Queue {
    inner: Mutex<Inner>,
    pub(super) counts: Counts,
    /// True if the last batch that had something to write could not be written.
    failing: AtomicBool,
    patience: Duration,
}

impl Default for Queue {
    fn default() -> Queue {
        let (counts, failing) = (Counts::default(), AtomicBool::new(false));
        Queue { inner: Mutex::default(), counts, failing, patience: PATIENCE }
    }
}

/// The calls since the last batch, which takes them along.
#[derive(Default)]
pub(super) struct Counts(Mutex<Vec<Statistics>>);

impl Counts {
    pub(super) fn add(&self, app_id: i64, month: i64) {
        self.merge(&Statistics { api_calls: 1, ..Statistics::none(app_id, month) });
    }

    /// Keeps one row for each application and month, however often rows are put back.
    fn merge(&self, more: &Statistics) {
        let mut counted = self.lock();
        let same =
            |other: &&mut Statistics| (other.app_id, other.month) == (more.app_id, more.month);
        match counted.iter_mut().find(same) {
            Some(counted) => counted.add(more),
            None => counted.push(more.clone()),
        }
    }

    pub(super) fn take(&self) -> Vec<Statistics> {
        std::mem::take(&mut *self.lock())
    }

    fn put_back(&self, counted: Vec<Statistics>) {
        counted.iter().for_each(|more| self.merge(more));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Statistics>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Default)]
struct Inner {
    waiting: VecDeque<Waiting>,
    /// Decisions that the next batch takes along, and that no caller waits for.
    along: Vec<Box<dyn Job>>,
    /// True if a thread leads a batch, or was asked to.
    led: bool,
}

struct Waiting {
    job: Box<dyn Job>,
    seat: Arc<Seat>,
}

/// The place where a thread waits for its decision.
struct Seat {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    /// It has to lead the next batch.
    Leading,
    Done,
}

impl Seat {
    fn set(&self, state: State) {
        let Ok(mut now) = self.state.lock() else { return };
        *now = state;
        // The thread that wakes up needs the lock.
        drop(now);
        self.changed.notify_one();
    }

    /// Waits for a change of the state, and returns the new one.
    fn wait(&self, patience: Duration) -> State {
        let Ok(state) = self.state.lock() else { return State::Waiting };
        let waiting = |state: &mut State| *state == State::Waiting;
        match self.changed.wait_timeout_while(state, patience, waiting) {
            Ok((state, _)) => *state,
            Err(_) => State::Waiting,
        }
    }
}

/// A decision with its outcome.
trait Job: Send {
    /// Returns whether it has an outcome. Otherwise rows have to be loaded first.
    fn decide(&mut self, view: &mut View) -> bool;
    fn fail(&mut self, error: Error);
    /// Hands the outcome over, once it is on disk or has failed.
    fn settle(&mut self);
}

type Slot<T> = Arc<Mutex<Option<Result<T>>>>;

struct Decision<T, F> {
    decide: F,
    outcome: Option<Result<T>>,
    slot: Slot<T>,
}

impl<T: Send, F: FnMut(&mut View) -> Decided<T> + Send> Job for Decision<T, F> {
    fn decide(&mut self, view: &mut View) -> bool {
        self.outcome = match decide(&mut self.decide, view) {
            Ok(outcome) => Some(Ok(outcome)),
            Err(Stop::Failed(error)) => Some(Err(error)),
            Err(Stop::Missing) => None,
        };
        self.outcome.is_some()
    }

    fn fail(&mut self, error: Error) {
        self.outcome = Some(Err(error));
    }

    fn settle(&mut self) {
        if let Ok(mut slot) = self.slot.lock() {
            *slot = self.outcome.take();
        }
    }
}

/// Makes one decision. One that panics is an error, and nothing of it is kept.
fn decide<T>(decide: &mut impl FnMut(&mut View) -> Decided<T>, view: &mut View) -> Decided<T> {
    let mut outcome = None;
    let decide = &mut |view: &mut View| {
        outcome = Some(decide(view)?);
        Ok(())
    };
    decide_any(decide, view)?;
    outcome.ok_or_else(|| Stop::Failed(broken()))
}

/// Like other functions here, it is not generic, so that it is compiled once and the library stays
/// small.
fn decide_any(decide: &mut dyn FnMut(&mut View) -> Decided<()>, view: &mut View) -> Decided<()> {
    let decided = catch_unwind(AssertUnwindSafe(|| decide(view)));
    let decided = decided.unwrap_or_else(|_| {
        Err(Stop::Failed(Error::Internal { message: "a decision of the engine panicked".into() }))
    });
    match decided {
        Ok(_) => view.keep(),
        Err(_) => view.discard(),
    }
    decided
}

impl Queue {
    /// Carries out a decision together with other threads' decisions, and returns once it is on
    /// disk.
    pub(super) fn run<T: Send + 'static>(
        &self,
        backend: &dyn Backend,
        decide: impl FnMut(&mut View) -> Decided<T> + Send + 'static,
    ) -> Result<T> {
        let slot: Slot<T> = Arc::default();
        let job = Decision { decide, outcome: None, slot: Arc::clone(&slot) };
        self.run_job(backend, Box::new(job))?;
        let outcome = slot.lock().map_err(|_| broken())?.take();
        outcome.unwrap_or_else(|| Err(broken()))
    }

    fn run_job(&self, backend: &dyn Backend, job: Box<dyn Job>) -> Result<()> {
        let seat = Arc::new(Seat { state: Mutex::new(State::Waiting), changed: Condvar::new() });
        let leads = {
            let mut inner = self.inner()?;
            inner.waiting.push_back(Waiting { job, seat: Arc::clone(&seat) });
            !std::mem::replace(&mut inner.led, true)
        };
        if leads || self.wait(&seat)? {
            self.lead(backend)?;
        }
        Ok(())
    }

    /// Has the next batch carry out a decision. No caller waits for it, and a failure is not
    /// reported.
    pub(super) fn take_along(
        &self,
        decide: impl FnMut(&mut View) -> Decided<()> + Send + 'static,
    ) -> Result<()> {
        let job = Decision { decide, outcome: None, slot: Arc::default() };
        let mut inner = self.inner()?;
        // While a batch takes long, one is enough.
        if inner.along.is_empty() {
            inner.along.push(Box::new(job));
        }
        Ok(())
    }

    /// Waits for the end of a decision. Returns whether this thread has to lead instead.
    fn wait(&self, seat: &Arc<Seat>) -> Result<bool> {
        match seat.wait(self.patience) {
            State::Done => return Ok(false),
            State::Leading => return Ok(true),
            State::Waiting => {}
        }
        let mut inner = self.inner()?;
        let place = inner.waiting.iter().position(|other| Arc::ptr_eq(&other.seat, seat));
        if let Some(place) = place {
            // It may have been asked to lead just now, and no other thread would.
            if *seat.state.lock().map_err(|_| broken())? == State::Leading {
                return Ok(true);
            }
            inner.waiting.remove(place);
            self.failing.store(true, Ordering::Relaxed);
            return Err(late());
        }
        drop(inner);
        match seat.wait(self.patience) {
            State::Done => Ok(false),
            State::Leading => Ok(true),
            State::Waiting => {
                // A disk that hangs returns no error.
                self.failing.store(true, Ordering::Relaxed);
                Err(Error::storage(
                    "the database did not respond in time: it is not known whether the call took \
                 effect. Check the disk or the server that it is on",
                ))
            }
        }
    }

    /// Carries out one batch.
    fn lead(&self, backend: &dyn Backend) -> Result<()> {
        let handover = Handover(self);
        let (mut batch, mut along) = {
            let mut inner = self.inner()?;
            let count = inner.waiting.len().min(MOST);
            let batch: Vec<Waiting> = inner.waiting.drain(..count).collect();
            (batch, std::mem::take(&mut inner.along))
        };
        let own = batch.iter_mut().map(|waiting| &mut waiting.job);
        let mut jobs: Vec<&mut Box<dyn Job>> = own.chain(&mut along).collect();
        // Each decision has its outcome.
        let _ = carry_out(backend, self, &mut jobs);
        for Waiting { mut job, seat } in batch {
            job.settle();
            // Drop the closure before its thread wakes up: that thread then holds the only copy of
            // the input.
            drop(job);
            seat.set(State::Done);
        }
        // Threads that wake up and call again at once join the next batch: the fewer batches there
        // are, the less work is done for each call.
        drop(handover);
        backend.tidy_up();
        Ok(())
    }

    /// Writes the counts of the calls that no batch has taken along.
    pub(super) fn write_counts(&self, backend: &dyn Backend) {
        let calls = self.counts.take();
        if !calls.is_empty() {
            // No caller is left to receive an error.
            let _ = backend.write(&mut |rows| rows.apply(View::new(calls.clone()).changes()));
        }
    }

    /// Returns whether the last write failed, or took too long.
    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    fn inner(&self) -> Result<MutexGuard<'_, Inner>> {
        self.inner.lock().map_err(|_| broken())
    }
}

/// Makes a waiting thread lead the next batch when it is dropped: also after a panic, because
/// otherwise all of them would wait in vain.
struct Handover<'a>(&'a Queue);

impl Drop for Handover<'_> {
    fn drop(&mut self) {
        let Ok(mut inner) = self.0.inner.lock() else { return };
        match inner.waiting.front() {
            Some(next) => next.seat.set(State::Leading),
            None => inner.led = false,
        }
    }
}

/// Carries out these decisions in one transaction. Each has an outcome afterwards; an error is one of the
/// store.
fn carry_out(backend: &dyn Backend, queue: &Queue, jobs: &mut [&mut Box<dyn Job>]) -> Result<()> {
    let calls = queue.counts.take();
    let mut written = false;
    let done = backend.write(&mut |rows| {
        let mut view = View::new(calls.clone());
        decide_all(rows, &mut view, jobs)?;
        // The count of the calls alone is not worth a commit: guesses that have to wait are many.
        written = view.is_changed();
        if written { rows.apply(view.changes()) } else { Ok(()) }
    });
    if done.is_err() || !written {
        queue.counts.put_back(calls);
    }
    match &done {
        Ok(()) if written => queue.failing.store(false, Ordering::Relaxed),
        Err(Fault::OfStore(_)) => queue.failing.store(true, Ordering::Relaxed),
        Ok(()) | Err(Fault::OfRow(_)) => {}
    }
    let Err(fault) = done else { return Ok(()) };
    match fault {
        // One of them made it fail, and the others must not.
        Fault::OfRow(_) if jobs.len() > 1 => one_by_one(backend, queue, jobs),
        Fault::OfRow(error) => {
            jobs.iter_mut().for_each(|job| job.fail(error.clone()));
            Ok(())
        }
        Fault::OfStore(error) => {
            jobs.iter_mut().for_each(|job| job.fail(error.clone()));
            Err(error)
        }
    }
}

/// Carries out decisions one at a time, because one of them makes the others fail. Once the store
/// itself fails, it is not tried for each remaining decision, which would multiply its timeout.
fn one_by_one(backend: &dyn Backend, queue: &Queue, jobs: &mut [&mut Box<dyn Job>]) -> Result<()> {
    let mut done = Ok(());
    for job in jobs {
        match &done {
            Ok(()) => done = carry_out(backend, queue, std::slice::from_mut(job)),
            Err(error) => job.fail(Error::clone(error)),
        }
    }
    done
}

fn decide_all(
    rows: &mut dyn Rows,
    view: &mut View,
    jobs: &mut [&mut Box<dyn Job>],
) -> Result<(), Fault> {
    let mut undecided: Vec<usize> = (0..jobs.len()).collect();
    loop {
        undecided.retain(|place| !jobs[*place].decide(view));
        if undecided.is_empty() {
            return Ok(());
        }
        load(rows, view)?;
    }
}

fn load(rows: &mut dyn Rows, view: &mut View) -> Result<(), Fault> {
    let missing = view.take_missing();
    if missing.is_empty() {
        return Err(Fault::OfStore(broken()));
    }
    let found = rows.load(&missing)?;
    for (key, found) in missing.iter().zip(found) {
        view.absorb(key, found).map_err(Fault::OfRow)?;
    }
    Ok(())
}

/// Makes a decision on one snapshot. Returns `None` if it changes something, so that it has to be
/// made in a batch.
pub(super) fn look<T>(
    backend: &dyn Backend,
    work: &mut impl FnMut(&mut View) -> Decided<T>,
) -> Result<Option<T>> {
    let mut outcome = None;
    let decide = &mut |view: &mut View| {
        outcome = Some(work(view)?);
        Ok(())
    };
    let changes = look_any(backend, decide)?;
    Ok(outcome.filter(|_| !changes))
}

/// Returns whether the decision changes something.
fn look_any(backend: &dyn Backend, work: &mut dyn FnMut(&mut View) -> Decided<()>) -> Result<bool> {
    let mut changes = false;
    let done = backend.read(&mut |rows| {
        let mut view = View::new(Vec::new());
        loop {
            match decide_any(work, &mut view) {
                Ok(()) => {
                    changes = view.is_changed();
                    return Ok(());
                }
                Err(Stop::Missing) => load(rows, &mut view)?,
                Err(Stop::Failed(error)) => return Err(Fault::OfRow(error)),
            }
        }
    });
    match done {
        Ok(()) => Ok(changes),
        Err(Fault::OfRow(error) | Fault::OfStore(error)) => Err(error),
    }
}

/// Returns the error of a caller that has waited for too long, before anything was done.
pub(super) fn late() -> Error {
    Error::storage(
        "the database did not respond in time: nothing was changed. Check the disk or the server \
         that it is on",
    )
}

pub(super) fn broken() -> Error {
    Error::Internal { message: "a thread panicked while it used the database".into() }
}

#[cfg(test)]
mod tests;

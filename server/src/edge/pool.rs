//! The threads that handle calls: a bounded number, begun when there is something to do, and ended when
//! there is not. Calls that find too many before them are refused at once, because a response that comes
//! when its client has given up only delays the others.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use seconder::calls::MatchedCall;
use seconder::http::Caller;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Thread};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The most calls that use the database at once. The calls that arrive while one batch of changes is written form the
/// next one, so fewer threads would mean more commits; more of them only wait.
const CALLS: usize = 64;
/// The most calls that wait for others at once: for gateways, which have few threads each, for 32 look-ups, or for
/// the service behind a relay.
const WAITING: usize = 128;
/// The most calls that may wait for a thread.
const QUEUED: usize = 1024;
/// The time that the first of them may have waited before further ones are refused.
const LATE: Duration = Duration::from_secs(2);
/// The time after which a thread without anything to do ends.
const IDLE: Duration = Duration::from_secs(10);

/// The threads of a server. Clones are the same.
#[derive(Clone)]
pub(crate) struct Pools {
    /// The threads for work that uses the database alone.
    calls: Pool,
    /// The threads for work that may wait for others too, so that it does not hold up the rest.
    waiting: Pool,
    /// Set if all calls wait for others.
    relays: bool,
}

/// The place in the queue in which work waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Ahead of all others: the logins of this machine, whose number is limited.
    Local,
    Network,
}

/// The reason why a thread has not handled something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unhandled {
    /// No thread was free for it.
    Full,
    /// It ended with a panic.
    Panicked,
}

/// The label of a metric.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PoolName {
    pool: &'static str,
}

/// The load of the threads, for monitors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// The number of calls that were refused.
    pub(crate) refused: u64,
    /// The number of threads.
    pub(crate) threads: usize,
    /// The number of calls that wait for a thread.
    pub(crate) queued: usize,
}

impl Pools {
    pub(crate) fn new(relays: bool) -> Pools {
        let (calls, waiting) =
            (Pool::new("calls", CALLS, LATE), Pool::new("waiting", WAITING, LATE));
        Pools { calls, waiting, relays }
    }

    /// Returns the threads for a call.
    pub(crate) fn of(&self, call: &MatchedCall) -> &Pool {
        if self.relays || call.waits_for_others() { &self.waiting } else { &self.calls }
    }

    /// Returns the threads for work that uses the database alone.
    pub(crate) fn of_database(&self) -> &Pool {
        &self.calls
    }

    /// Returns the threads for work that may wait for others too.
    pub(crate) fn of_waiting(&self) -> &Pool {
        &self.waiting
    }

    pub(crate) fn loads(&self) -> [(&'static str, Load); 2] {
        [&self.calls, &self.waiting].map(|pool| (pool.0.name, pool.load()))
    }

    /// Registers the load of the threads, for monitors.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let refused = Family::<PoolName, Counter>::default();
        let (queued, threads) =
            (Family::<PoolName, Gauge>::default(), Family::<PoolName, Gauge>::default());
        let gauge = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        for (pool, load) in self.loads() {
            let pool = PoolName { pool };
            refused.get_or_create(&pool).inc_by(load.refused);
            queued.get_or_create(&pool).set(gauge(load.queued));
            threads.get_or_create(&pool).set(gauge(load.threads));
        }
        let help = "Calls that were answered with 503 at once, because there were too many";
        registry.register("calls_refused", help, refused);
        registry.register("calls_queued", "Calls that wait for a thread", queued);
        registry.register(
            "call_threads",
            "Threads that handle calls, or have just done so",
            threads,
        );
    }
}

impl Lane {
    pub(crate) fn of(caller: &Caller) -> Lane {
        if *caller == Caller::Network { Lane::Network } else { Lane::Local }
    }
}

/// Threads that share a queue. Clones are the same.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Shared>);

struct Shared {
    name: &'static str,
    most: usize,
    /// The limit, usually [`LATE`].
    late: Duration,
    refused: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    local: VecDeque<Task>,
    network: VecDeque<Task>,
    threads: usize,
    /// The threads with nothing to do, ordered by the time of their last work. The last one is woken first, and the
    /// others end.
    idle: Vec<Thread>,
}

struct Task {
    since: Instant,
    work: Box<dyn FnOnce() + Send>,
}

impl State {
    fn queue(&mut self, lane: Lane) -> &mut VecDeque<Task> {
        match lane {
            Lane::Local => &mut self.local,
            Lane::Network => &mut self.network,
        }
    }

    fn next(&mut self) -> Option<Task> {
        self.local.pop_front().or_else(|| self.network.pop_front())
    }
}

impl Pool {
    fn new(name: &'static str, most: usize, late: Duration) -> Pool {
        let (refused, state) = (AtomicU64::default(), Mutex::default());
        Pool(Arc::new(Shared { name, most, late, refused, state }))
    }

    /// Returns whether something more would have to wait for too long. Counts the calls that are refused because of
    /// that.
    pub(crate) fn is_full(&self, lane: Lane) -> bool {
        let mut state = self.0.state();
        let queue = state.queue(lane);
        let is_late = |first: &Task| first.since.elapsed() > self.0.late;
        let is_full = queue.len() >= QUEUED || queue.front().is_some_and(is_late);
        drop(state);
        if is_full {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
        }
        is_full
    }

    /// Runs this on one of the threads. Work whose client has gone before it began is not begun.
    ///
    /// # Errors
    /// The reason why there is no outcome.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Unhandled> {
        let (done, outcome) = oneshot::channel();
        let work = Box::new(move || {
            if !done.is_closed() {
                // The client may have gone meanwhile.
                let _ = done.send(work());
            }
        });
        self.push(lane, Task { since: Instant::now(), work })?;
        outcome.await.map_err(|_| Unhandled::Panicked)
    }

    fn push(&self, lane: Lane, task: Task) -> Result<(), Unhandled> {
        let mut state = self.0.state();
        state.queue(lane).push_back(task);
        if let Some(idle) = state.idle.pop() {
            // The woken thread needs the lock.
            drop(state);
            idle.unpark();
            return Ok(());
        }
        if state.threads >= self.0.most {
            return Ok(());
        }
        let shared = Arc::clone(&self.0);
        let thread = Builder::new().name(format!("seconder-{}", self.0.name));
        match thread.spawn(move || shared.work()) {
            Ok(_) => state.threads += 1,
            // One of the others takes it.
            Err(_) if state.threads > 0 => {}
            Err(_) => {
                drop(state.queue(lane).pop_back());
                self.0.refused.fetch_add(1, Ordering::Relaxed);
                return Err(Unhandled::Full);
            }
        }
        Ok(())
    }

    fn load(&self) -> Load {
        let state = self.0.state();
        Load {
            refused: self.0.refused.load(Ordering::Relaxed),
            threads: state.threads,
            queued: state.local.len() + state.network.len(),
        }
    }
}

impl Shared {
    /// Runs tasks on a thread, until there was nothing to do for a while.
    fn work(self: Arc<Shared>) {
        loop {
            let mut state = self.state();
            let task = loop {
                if let Some(task) = state.next() {
                    break task;
                }
                let own = std::thread::current();
                let id = own.id();
                state.idle.push(own);
                drop(state);
                std::thread::park_timeout(IDLE);
                state = self.state();
                if let Some(at) = state.idle.iter().position(|idle| idle.id() == id) {
                    // The time has passed without a wake-up.
                    state.idle.remove(at);
                    let Some(task) = state.next() else {
                        state.threads -= 1;
                        return;
                    };
                    break task;
                }
            };
            drop(state);
            // The caller learns of a panic, because nothing is sent.
            let _ = catch_unwind(AssertUnwindSafe(task.work));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The data in the lock is complete at all times.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;

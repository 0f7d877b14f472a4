//! Threads that send messages, callbacks and push messages for the calls of a server. Each route has its own, so that
//! one that hangs holds up neither API calls nor other routes. Push messages have some threads, and so have callbacks;
//! one application can occupy only a part of these.

use crate::sending::routes::{Attached, Log, Routes};
use seconder::Result;
use seconder::engine::{AfterAttempt, CALLBACK_LANES, Engine, Lane, LeasedJob, Offered, Outcome};
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The interval at which the database is searched for jobs whose next attempt is due.
const SEARCH: Duration = Duration::from_secs(1);
/// The interval at which the routes are read again.
const RELOAD: Duration = Duration::from_secs(5);
/// The most callbacks that are posted at once, and the most of one application.
const CALLBACKS: usize = 8;
const CALLBACKS_OF_ONE: usize = 2;
/// The most push messages that are sent at once. A push service takes some tenths of a second.
const PUSHES: usize = 4;
/// The number of jobs that are leased at a time, for each that can be sent at once.
const AHEAD: usize = 2;
/// The time that jobs which are being sent may take when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// The threads. They end when this is dropped.
pub struct Workers {
    shared: Arc<Shared>,
    keeper: Option<JoinHandle<()>>,
    attached: Option<Attached>,
}

struct Shared {
    engine: Engine,
    routes: Routes,
    log: Log,
    pools: Mutex<BTreeMap<String, Pool>>,
    /// Held while the routes are read again: two readings would each open the new ones.
    reloading: Mutex<()>,
    stop: Arc<(Mutex<bool>, Condvar)>,
}

/// The threads for one route, or for callbacks.
struct Pool {
    queue: Arc<Queue>,
    /// The lane, and the number of threads.
    wanted: (Lane, usize),
    threads: Vec<JoinHandle<()>>,
}

struct Queue {
    state: Mutex<State>,
    ready: Condvar,
    /// The most jobs of a lane that are sent at once.
    most: usize,
    /// Set if the last search left some.
    more: AtomicBool,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<LeasedJob>,
    /// The number of jobs of each lane that are being sent.
    busy: BTreeMap<String, usize>,
    idle: usize,
    /// The time at which one of the threads began to search the database.
    searched: Option<Instant>,
    stop: bool,
}

impl Workers {
    /// Starts them.
    ///
    /// # Errors
    /// [`Error::Internal`](seconder::Error::Internal) if threads cannot be started.
    pub fn start(engine: Engine, routes: Routes, log: Log) -> Result<Workers> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let (pools, reloading) = (Mutex::default(), Mutex::default());
        let shared = Arc::new(Shared { engine, routes, log, pools, reloading, stop });
        // Before a thread sends anything.
        let attached = Some(shared.routes.attach(&shared.engine));
        shared.fit()?;
        shared.routes.start_gateways();
        let (known, kept) = (Arc::downgrade(&shared), Arc::downgrade(&shared));
        if !shared.routes.offer_to(Box::new(move |job| offer(&known, job))) {
            return Err(crate::internal("the routes have workers already"));
        }
        let stop = Arc::clone(&shared.stop);
        let keeper = thread("seconder-routes", move || keep(&kept, &stop))?;
        Ok(Workers { shared, keeper: Some(keeper), attached })
    }

    /// Reads the routes again now, which otherwise happens every few seconds.
    ///
    /// # Errors
    /// As [`Routes::reload`]; [`Error::Internal`](seconder::Error::Internal) if threads cannot be started, or
    /// a gateway panics.
    pub fn reload(&self) -> Result<()> {
        self.shared.reload()
    }

    /// Waits for the jobs that are being sent, for 10 s at most. Those that wait are left to other
    /// processes, or to the next start.
    pub fn stop(&mut self) {
        *locked(&self.shared.stop.0) = true;
        self.shared.stop.1.notify_all();
        // The keeper may be reading the routes, from a database that hangs.
        let keeper = self.keeper.take();
        let pools = std::mem::take(&mut *locked(&self.shared.pools));
        let ended: Vec<_> = pools.into_values().map(end).collect();
        let mut threads: Vec<_> = keeper.into_iter().collect();
        // On a thread too, because the database may hang.
        let shared = Arc::clone(&self.shared);
        let (waiting, working): (Vec<_>, Vec<_>) = ended.into_iter().unzip();
        threads.extend(working.into_iter().flatten());
        let release = move || waiting.into_iter().flatten().for_each(|job| shared.give_back(job));
        threads.extend(thread("seconder-stop", release).ok());
        let end = Instant::now() + GRACE;
        while threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(self.attached.take());
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if self.keeper.is_some() {
            self.stop();
        }
    }
}

/// Reads the routes again from time to time.
fn keep(shared: &Weak<Shared>, stop: &(Mutex<bool>, Condvar)) {
    loop {
        let stopped = locked(&stop.0);
        let (stopped, _) = stop
            .1
            .wait_timeout_while(stopped, RELOAD, |stopped| !*stopped)
            .unwrap_or_else(PoisonError::into_inner);
        if *stopped {
            return;
        }
        drop(stopped);
        let Some(shared) = shared.upgrade() else { return };
        if let Err(error) = shared.reload() {
            (shared.log)(&format!("reading the routes again failed, and is repeated: {error}"));
        }
    }
}

impl Shared {
    /// Reads the routes again. A gateway that panics must not end the thread that reads the routes, nor the service.
    fn reload(self: &Arc<Shared>) -> Result<()> {
        let _alone = locked(&self.reloading);
        let read = || {
            self.routes.reload(&self.engine)?;
            self.routes.start_gateways();
            self.fit()
        };
        catch_unwind(AssertUnwindSafe(read))
            .unwrap_or_else(|_| Err(crate::internal("it ended with a panic")))
    }

    /// Starts and ends threads as the routes ask for.
    fn fit(self: &Arc<Shared>) -> Result<()> {
        let callbacks = Lane { name: CALLBACK_LANES.to_owned(), longest_attempt: Duration::ZERO };
        let own = [(callbacks, CALLBACKS), (self.engine.push_lane(), PUSHES)];
        let wanted = self.routes.workers().into_iter().chain(own);
        let wanted: BTreeMap<_, _> = wanted.map(|wanted| (wanted.0.name.clone(), wanted)).collect();
        let mut pools = locked(&self.pools);
        if *locked(&self.stop.0) {
            return Ok(());
        }
        let changed = pools.extract_if(.., |name, pool| wanted.get(name) != Some(&pool.wanted));
        // The threads of these pools end by themselves.
        let waiting: Vec<_> = changed.flat_map(|(_, pool)| end(pool).0).collect();
        let started = wanted.into_iter().try_for_each(|(name, wanted)| {
            if let Entry::Vacant(place) = pools.entry(name) {
                place.insert(self.pool(wanted)?);
            }
            Ok(())
        });
        drop(pools);
        waiting.into_iter().for_each(|job| self.give_back(job));
        started
    }

    fn pool(self: &Arc<Shared>, wanted: (Lane, usize)) -> Result<Pool> {
        let (lane, size) = (&wanted.0, wanted.1);
        let most = if lane.name == CALLBACK_LANES { CALLBACKS_OF_ONE } else { size };
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            ready: Condvar::new(),
            most,
            more: AtomicBool::new(true),
        });
        let start = |_| {
            let (shared, queue, lane) = (Arc::downgrade(self), Arc::clone(&queue), lane.clone());
            thread(&format!("seconder-{}", lane.name), move || work(&shared, &queue, &lane))
        };
        let threads = (0..size).map(start).collect::<Result<Vec<_>>>();
        match threads {
            Ok(threads) => Ok(Pool { queue, wanted, threads }),
            Err(error) => {
                locked(&queue.state).stop = true;
                queue.ready.notify_all();
                Err(error)
            }
        }
    }

    fn send(self: &Arc<Shared>, job: LeasedJob) {
        let (lane, kind) = (job.lane().to_owned(), job.kind());
        let begun = Instant::now();
        let measure =
            |outcome: &Outcome| self.routes.attempts().count(&lane, kind, outcome, begun.elapsed());
        // A gateway that panics must not take the thread with it: the job is sent again once its lease
        // is over.
        let sent = catch_unwind(AssertUnwindSafe(|| self.routes.attempt(job, measure)));
        match sent {
            Ok(Ok(Some((AfterAttempt::Again(next), _)))) => {
                if let Err(next) = self.take(next) {
                    self.give_back(next);
                }
            }
            Ok(Ok(_)) => {}
            Ok(Err(error)) => (self.log)(&format!("{lane}: what was sent is not known: {error}")),
            Err(_) => {
                (self.log)(&format!("error: {lane}: an attempt to send ended with a panic"));
            }
        }
    }

    fn give_back(&self, job: LeasedJob) {
        let lane = job.lane().to_owned();
        if let Err(error) = job.release() {
            (self.log)(&format!("{lane}: a job has to wait for the end of its lease: {error}"));
        }
    }

    fn take(&self, job: LeasedJob) -> std::result::Result<(), LeasedJob> {
        let name = if job.lane().starts_with(CALLBACK_LANES) { CALLBACK_LANES } else { job.lane() };
        let pools = locked(&self.pools);
        match pools.get(name) {
            Some(pool) => pool.queue.offer(job),
            None => Err(job),
        }
    }

    /// Leases jobs that are due.
    fn search(&self, queue: &Queue, lane: &Lane) -> Result<()> {
        let lanes = match lane.name == CALLBACK_LANES {
            true => self.engine.callback_lanes()?,
            // The route may have been set since the thread began.
            false => {
                let mut routes = self.routes.workers().into_iter().map(|(route, _)| route);
                vec![routes.find(|route| route.name == lane.name).unwrap_or_else(|| lane.clone())]
            }
        };
        let mut more = false;
        for lane in lanes {
            let busy = locked(&queue.state).busy.get(&lane.name).copied().unwrap_or(0);
            let most = queue.most.saturating_sub(busy).saturating_mul(AHEAD);
            let Some(wanted) = u32::try_from(most).ok().filter(|most| *most > 0) else { continue };
            let (jobs, has_more) = self.engine.lease_jobs(&lane, wanted)?;
            more |= has_more;
            let mut state = locked(&queue.state);
            if state.stop {
                drop(state);
                jobs.into_iter().for_each(|job| self.give_back(job));
                return Ok(());
            }
            state.waiting.extend(jobs);
            drop(state);
            queue.ready.notify_all();
        }
        queue.more.store(more, Ordering::Relaxed);
        Ok(())
    }
}

/// Runs a thread of a pool.
fn work(shared: &Weak<Shared>, queue: &Queue, lane: &Lane) {
    loop {
        match queue.next() {
            Next::Stop => return,
            Next::Job(job) => {
                let lane = job.lane().to_owned();
                match shared.upgrade() {
                    Some(shared) => shared.send(job),
                    None => return,
                }
                queue.done(&lane);
            }
            Next::Search => {
                let Some(shared) = shared.upgrade() else { return };
                let searched = catch_unwind(AssertUnwindSafe(|| shared.search(queue, lane)));
                let error = match searched {
                    Ok(Ok(())) => continue,
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => "the search ended with a panic".to_owned(),
                };
                queue.more.store(false, Ordering::Relaxed);
                let name = &lane.name;
                (shared.log)(&format!(
                    "error: {name}: the jobs that are due were not found: {error}"
                ));
            }
        }
    }
}

enum Next {
    Job(LeasedJob),
    Search,
    Stop,
}

impl Queue {
    /// Takes a job if a thread is free for it.
    fn offer(&self, job: LeasedJob) -> std::result::Result<(), LeasedJob> {
        let mut state = locked(&self.state);
        let busy = state.busy.get(job.lane()).copied().unwrap_or(0);
        if state.stop || state.waiting.len() >= state.idle || busy >= self.most {
            // Otherwise no thread searches for it within the second.
            self.more.store(true, Ordering::Relaxed);
            return Err(job);
        }
        state.waiting.push_back(job);
        self.ready.notify_one();
        Ok(())
    }

    /// Waits for something to do.
    fn next(&self) -> Next {
        let mut state = locked(&self.state);
        loop {
            if state.stop {
                return Next::Stop;
            }
            let State { waiting, busy, .. } = &*state;
            let free = |job: &LeasedJob| busy.get(job.lane()).is_none_or(|busy| *busy < self.most);
            let found = waiting.iter().position(free);
            if let Some(job) = found.and_then(|place| state.waiting.remove(place)) {
                *state.busy.entry(job.lane().to_owned()).or_default() += 1;
                return Next::Job(job);
            }
            let now = Instant::now();
            let next = state.searched.map_or(now, |searched| searched + SEARCH);
            let left = next.saturating_duration_since(now);
            let has_more = state.waiting.is_empty() && self.more.swap(false, Ordering::Relaxed);
            if left.is_zero() || has_more {
                state.searched = Some(now);
                return Next::Search;
            }
            state.idle += 1;
            let woken = self.ready.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
            state.idle -= 1;
        }
    }

    fn done(&self, lane: &str) {
        let mut state = locked(&self.state);
        let left = state.busy.get_mut(lane).map(|busy| {
            *busy = busy.saturating_sub(1);
            *busy
        });
        if left == Some(0) {
            state.busy.remove(lane);
        }
        if !state.waiting.is_empty() {
            // Some of the waiting jobs may have waited for this lane.
            self.ready.notify_one();
        }
    }
}

/// Has the threads of a pool end. Returns the jobs that wait, and the threads.
fn end(pool: Pool) -> (VecDeque<LeasedJob>, Vec<JoinHandle<()>>) {
    let waiting = {
        let mut state = locked(&pool.queue.state);
        state.stop = true;
        std::mem::take(&mut state.waiting)
    };
    pool.queue.ready.notify_all();
    (waiting, pool.threads)
}

/// Offers a job to the workers, which the routes do not keep alive.
fn offer(workers: &Weak<Shared>, job: LeasedJob) -> Offered {
    let Some(shared) = workers.upgrade() else { return Offered::Here(job) };
    shared.take(job).map_or_else(Offered::Full, |()| Offered::Taken)
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(work).map_err(|_| crate::internal("threads could not be started"))
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data in the lock is complete at all times.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The link to an SMSC: a thread that binds, keeps the session alive, and binds again after it was lost.

use super::session::Session;
use super::settings::Config;
use crate::receipt::{Receipt, TakeReceipt};
use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

/// The pause before the second attempt to bind, and the longest pause.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time after which a session counts as a good one, so that the next attempt is made soon.
const GOOD_SESSION: Duration = Duration::from_secs(30);
/// Receipts that may wait for the function that takes them. The SMSC repeats further ones.
const RECEIPTS: usize = 1024;

/// The outcome of a message that was given to the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The SMSC has accepted it, with this id.
    Accepted(String),
    /// The SMSC has refused it, with this status.
    Refused(u32),
    /// It was not written, for this reason.
    NotWritten(String),
    /// It was written, and no response arrived, for this reason.
    Lost(String),
}

enum State {
    Waiting,
    Written,
    Done(Reply),
    /// The sender has given up before it was written.
    Abandoned,
}

/// The state of a message that a sender and the link share.
struct Ticket {
    state: Mutex<State>,
    changed: Condvar,
}

impl Ticket {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, deadline: Instant, link: &Status) -> Reply {
        let mut state = self.lock();
        loop {
            if let State::Done(reply) = &*state {
                return reply.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return match std::mem::replace(&mut *state, State::Abandoned) {
                    State::Written => Reply::Lost("the SMSC did not respond in time".to_owned()),
                    _ => Reply::NotWritten(link.wrong()),
                };
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A message on its way through the link. If it is dropped without a reply, the link has lost it.
pub(super) struct Submit {
    pub(super) body: Vec<u8>,
    pub(super) deadline: Instant,
    ticket: Arc<Ticket>,
    status: Arc<Status>,
}

impl Submit {
    /// Returns whether it is still wanted. From here on, it counts as written.
    pub(super) fn begin(&self) -> bool {
        let mut state = self.ticket.lock();
        let wanted = matches!(*state, State::Waiting) && Instant::now() < self.deadline;
        if wanted {
            *state = State::Written;
        }
        wanted
    }

    pub(super) fn done(self, reply: Reply) {
        self.finish(|_| reply);
    }

    fn finish(&self, reply: impl FnOnce(bool) -> Reply) {
        let mut state = self.ticket.lock();
        match *state {
            State::Waiting => *state = State::Done(reply(false)),
            State::Written => *state = State::Done(reply(true)),
            State::Done(_) | State::Abandoned => return,
        }
        self.ticket.changed.notify_all();
    }
}

impl Drop for Submit {
    fn drop(&mut self) {
        self.finish(|written| match written {
            true => Reply::Lost(self.status.wrong()),
            false => Reply::NotWritten(self.status.wrong()),
        });
    }
}

/// The state of the link, for the senders that wait for it.
pub(super) struct Status {
    now: Mutex<Now>,
}

struct Now {
    bound: bool,
    /// The time of the next attempt to bind.
    next: Option<Instant>,
    wrong: String,
}

impl Status {
    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wrong(&self) -> String {
        self.lock().wrong.clone()
    }

    pub(super) fn set_wrong(&self, wrong: &str) {
        let mut now = self.lock();
        now.bound = false;
        wrong.clone_into(&mut now.wrong);
    }

    fn set_bound(&self) {
        let mut now = self.lock();
        now.bound = true;
        now.next = None;
        "the SMSC takes no further messages in time".clone_into(&mut now.wrong);
    }

    /// Returns the time for which the link will not be bound, if that is known to be beyond a deadline.
    fn unbound_beyond(&self, deadline: Instant) -> Option<Duration> {
        let now = self.lock();
        let next = now.next.filter(|next| !now.bound && *next > deadline)?;
        Some(next.saturating_duration_since(Instant::now()))
    }
}

/// A receipt, with the origin that it is acknowledged to.
pub(super) struct Delivered {
    /// The origin; `None` for a malformed one, which has its response already.
    pub(super) of: Option<Origin>,
    pub(super) receipt: Receipt,
}

/// The message of a session that had a receipt.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    pub(super) session: u64,
    pub(super) command: u32,
    pub(super) sequence: u32,
}

/// The parts of a link that its session needs.
pub(super) struct Context {
    pub(super) config: Arc<Config>,
    pub(super) status: Arc<Status>,
    pub(super) submits: UnboundedReceiver<Submit>,
    pub(super) stop: watch::Receiver<bool>,
    /// The channel for receipts; `None` if they are not taken.
    pub(super) receipts: Option<SyncSender<Delivered>>,
    /// The receipts that were handled.
    pub(super) handled: UnboundedReceiver<Handled>,
}

/// A receipt that was handled: whether it was taken.
pub(super) struct Handled {
    pub(super) of: Origin,
    pub(super) taken: bool,
}

/// The link to an SMSC. Its thread ends when it is dropped.
pub(super) struct Link {
    submits: UnboundedSender<Submit>,
    stop: watch::Sender<bool>,
    status: Arc<Status>,
    thread: Option<JoinHandle<()>>,
}

impl Link {
    /// Starts to bind.
    pub(super) fn start(
        config: Arc<Config>,
        receiver: Option<TakeReceipt>,
    ) -> std::io::Result<Link> {
        let (submits, queue) = unbounded_channel();
        let (stop, stopped) = watch::channel(false);
        let wrong = "no session was bound yet".to_owned();
        let now = Mutex::new(Now { bound: false, next: None, wrong });
        let status = Arc::new(Status { now });
        let (acknowledge, handled) = unbounded_channel();
        let receipts = receiver.map(|take| receive(take, acknowledge)).transpose()?;
        let context = Context {
            config,
            status: Arc::clone(&status),
            submits: queue,
            stop: stopped,
            receipts,
            handled,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let run = move || {
            runtime.block_on(run(context));
            // A connection that is being made ends by its own time limit.
            runtime.shutdown_background();
        };
        let thread = Builder::new().name("seconder-smpp".to_owned()).spawn(run)?;
        Ok(Link { submits, stop, status, thread: Some(thread) })
    }

    /// Sends a message, and waits for the response until the deadline.
    pub(super) fn submit(&self, body: Vec<u8>, deadline: Instant) -> Reply {
        let changed = Condvar::new();
        let ticket = Arc::new(Ticket { state: Mutex::new(State::Waiting), changed });
        let status = Arc::clone(&self.status);
        let submit = Submit { body, deadline, ticket: Arc::clone(&ticket), status };
        // If the thread has ended, the message is dropped, which is its reply.
        let _ = self.submits.send(submit);
        ticket.wait(deadline, &self.status)
    }

    /// Returns the time for which the SMSC will not be asked, if that is beyond a deadline, and the reason.
    pub(super) fn unbound_beyond(&self, deadline: Instant) -> Option<(Duration, String)> {
        self.status.unbound_beyond(deadline).map(|pause| (pause, self.status.wrong()))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts the thread that gives receipts to the function. A receipt is acknowledged when it was taken,
/// so that one whose process was killed meanwhile is repeated.
fn receive(
    take: TakeReceipt,
    acknowledge: UnboundedSender<Handled>,
) -> std::io::Result<SyncSender<Delivered>> {
    let (receipts, queue) = sync_channel::<Delivered>(RECEIPTS);
    let run = move || {
        for Delivered { of, receipt } in queue {
            let taken = take(receipt);
            if let Some(of) = of {
                let _ = acknowledge.send(Handled { of, taken });
            }
        }
    };
    Builder::new().name("seconder-receipts".to_owned()).spawn(run)?;
    Ok(receipts)
}

/// Binds again and again until it is stopped.
async fn run(mut context: Context) {
    let mut pause = FIRST_PAUSE;
    let mut number = 0;
    while !*context.stop.borrow() {
        number += 1;
        let config = Arc::clone(&context.config);
        let mut stop = context.stop.clone();
        let opened = tokio::select! {
            opened = Session::open(&config, number) => opened,
            _ = stop.changed() => break,
        };
        let wrong = match opened {
            Ok(session) => {
                let began = Instant::now();
                context.status.set_bound();
                let (wrong, useful) = session.serve(&mut context).await;
                if useful || began.elapsed() >= GOOD_SESSION {
                    pause = FIRST_PAUSE;
                }
                wrong
            }
            Err(wrong) => wrong,
        };
        context.status.set_wrong(&wrong);
        let wait = jittered(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
        context.status.lock().next = Some(Instant::now() + wait);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            _ = stop.changed() => break,
        }
    }
    context.status.set_wrong("the gateway was stopped");
}

/// Returns a pause between half of it and all of it, so that processes that have lost one SMSC do not return at once.
fn jittered(pause: Duration) -> Duration {
    let random = RandomState::new().hash_one(0u8);
    let share = f64::from(u16::try_from(random % 1000).unwrap_or_default()) / 2000.0;
    pause.mul_f64(0.5 + share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_differ_and_are_never_longer() {
        let pauses: Vec<Duration> = (0..50).map(|_| jittered(LONGEST_PAUSE)).collect();
        let half = LONGEST_PAUSE / 2;
        assert!(pauses.iter().all(|pause| (half..=LONGEST_PAUSE).contains(pause)), "{pauses:?}");
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    }
}

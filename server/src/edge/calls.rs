//! The calls in progress, which a server that stops waits for. The server does not wait for connections without a call,
//! except new ones for a moment: any client could hold up a stop by one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The interval at which the calls are polled.
const LOOK: Duration = Duration::from_millis(5);
/// The time without a call after which it is certain that the last response has left, and that no request follows that
/// was on its way.
const IDLE: Duration = Duration::from_secs(1);
/// The time that a body may take that had not arrived when the server began to stop. Its client may be unknown.
const ARRIVAL: Duration = Duration::from_secs(3);

/// The calls of a server. Clones are the same.
#[derive(Clone)]
pub(crate) struct Calls(Arc<Mutex<State>>);

struct State {
    /// The number of requests with a head that has arrived, and a body that has not yet.
    arriving: usize,
    /// The number of calls that are being handled.
    handled: usize,
    /// The number of connections that have had a call.
    used: usize,
    /// The time at which the last one ended.
    last: Instant,
}

/// A call in progress, until it is dropped.
pub(crate) struct Call {
    calls: Calls,
    has_arrived: bool,
}

/// A connection that has had a call, until it is dropped.
pub(crate) struct Used(Calls);

impl Default for Calls {
    fn default() -> Calls {
        Calls(Arc::new(Mutex::new(State {
            arriving: 0,
            handled: 0,
            used: 0,
            last: Instant::now(),
        })))
    }
}

impl Calls {
    /// Counts a call that begins: the head of its request has arrived.
    pub(crate) fn begin(&self) -> Call {
        self.state().arriving += 1;
        Call { calls: self.clone(), has_arrived: false }
    }

    /// Counts a connection whose first call begins.
    pub(crate) fn first(&self) -> Used {
        self.state().used += 1;
        Used(self.clone())
    }

    /// Waits until each of the connections that there are has had a call: the request of a new one is on its
    /// way, and may take as long as a body since the server began to stop.
    pub(crate) async fn begun(&self, since: Instant, connections: impl Fn() -> usize) {
        while connections() > self.state().used && since.elapsed() < ARRIVAL {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until there was no call for a while. The server began to stop at this time.
    pub(crate) async fn ended(&self, since: Instant) {
        while self.is_any(since.elapsed()) {
            tokio::time::sleep(LOOK).await;
        }
    }

    fn is_any(&self, waited: Duration) -> bool {
        let State { arriving, handled, last, .. } = &*self.state();
        *handled > 0 || (*arriving > 0 && waited < ARRIVAL) || last.elapsed() < IDLE
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// Notes that all of its request has arrived.
    pub(crate) fn arrived(&mut self) {
        if !self.has_arrived {
            let mut state = self.calls.state();
            (state.arriving, state.handled) = (state.arriving - 1, state.handled + 1);
            self.has_arrived = true;
        }
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        self.0.state().used -= 1;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut state = self.calls.state();
        match self.has_arrived {
            true => state.handled -= 1,
            false => state.arriving -= 1,
        }
        state.last = Instant::now();
    }
}

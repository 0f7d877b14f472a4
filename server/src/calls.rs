//! The calls in progress, which a server that stops waits for. Connections without one are not waited for:
//! any client could hold up a stop by one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often they are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// For how long there is none before it is certain that the last response has left, and that no request
/// follows that was on its way.
const IDLE: Duration = Duration::from_secs(1);
/// How long a body may take that had not arrived when the server began to stop. Whose it is may be unknown.
const ARRIVAL: Duration = Duration::from_secs(3);

/// The calls of a server. Clones are the same.
#[derive(Clone)]
pub(crate) struct Calls(Arc<Mutex<State>>);

struct State {
    /// How many have sent the head of a request, and not yet all of its body.
    arriving: usize,
    /// How many are being handled.
    handled: usize,
    /// When the last one ended.
    last: Instant,
}

/// A call in progress, until it is dropped.
pub(crate) struct Call {
    calls: Calls,
    has_arrived: bool,
}

impl Default for Calls {
    fn default() -> Calls {
        Calls(Arc::new(Mutex::new(State { arriving: 0, handled: 0, last: Instant::now() })))
    }
}

impl Calls {
    /// One that begins: the head of its request has arrived.
    pub(crate) fn begin(&self) -> Call {
        self.state().arriving += 1;
        Call { calls: self.clone(), has_arrived: false }
    }

    /// Waits until there was none for a while.
    pub(crate) async fn ended(&self) {
        let begun = Instant::now();
        while self.is_any(begun.elapsed()) {
            tokio::time::sleep(LOOK).await;
        }
    }

    fn is_any(&self, waited: Duration) -> bool {
        let State { arriving, handled, last } = &*self.state();
        *handled > 0 || (*arriving > 0 && waited < ARRIVAL) || last.elapsed() < IDLE
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// All of its request is there.
    pub(crate) fn arrived(&mut self) {
        if !self.has_arrived {
            let mut state = self.calls.state();
            (state.arriving, state.handled) = (state.arriving - 1, state.handled + 1);
            self.has_arrived = true;
        }
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

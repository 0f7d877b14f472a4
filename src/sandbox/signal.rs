//! A signal that threads, and tasks of any runtime, wait for.

use std::future::poll_fn;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Counts how often it was raised.
#[derive(Default)]
pub(super) struct Signal {
    state: Mutex<State>,
    raised: Condvar,
}

#[derive(Default)]
struct State {
    count: u64,
    wakers: Vec<Waker>,
}

impl Signal {
    pub(super) fn count(&self) -> u64 {
        self.state().count
    }

    pub(super) fn raise(&self) {
        let mut state = self.state();
        state.count += 1;
        state.wakers.drain(..).for_each(Waker::wake);
        self.raised.notify_all();
    }

    /// Blocks while this returns true for the count, for this time at most.
    pub(super) fn wait_while(&self, most: Duration, is_waiting: impl Fn(u64) -> bool) {
        let is_waiting = |state: &mut State| is_waiting(state.count);
        drop(self.raised.wait_timeout_while(self.state(), most, is_waiting));
    }

    /// Ends once the count is another than `seen`.
    pub(super) async fn raised(&self, seen: u64) {
        poll_fn(|context| {
            let mut state = self.state();
            if state.count != seen {
                return Poll::Ready(());
            }
            if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                state.wakers.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The calls in progress, which a server that stops waits for. Connections without one are not waited for:
//! any client could hold up a stop by one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often they are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// For how long there is none before it is certain that the last response has left, and that no request
/// follows that was on its way.
const IDLE: Duration = Duration::from_secs(1);

/// How many calls of a server are in progress. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<AtomicUsize>);

/// A call in progress, until it is dropped.
pub(crate) struct Call(Calls);

impl Calls {
    /// One that begins: the head of its request has arrived.
    pub(crate) fn begin(&self) -> Call {
        self.0.fetch_add(1, Ordering::Relaxed);
        Call(self.clone())
    }

    /// Waits until there was none for a while.
    pub(crate) async fn ended(&self) {
        let mut last = Instant::now();
        while last.elapsed() < IDLE {
            if self.0.load(Ordering::Relaxed) > 0 {
                last = Instant::now();
            }
            sleep(LOOK).await;
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

//! Ends calls that wait, from another thread, a signal handler or an event loop.

use crate::{Error, Result};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The longest time that a call waits before it looks again whether it is to end.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

/// Decides whether the calls of a service are to end early. It is asked before each call, and at
/// least every 50 ms while a call waits for the network, on the thread that makes the call.
pub trait Interrupt: Send + Sync {
    /// Returns whether the call is to end now. Once it is, this must stay true until the call has ended, since
    /// it may be asked again.
    fn interrupted(&self) -> bool;
}

/// A flag that ends calls once it is set: see
/// [`Service::with_interrupt`](crate::Service::with_interrupt). Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Canceller(Arc<AtomicBool>);

impl Canceller {
    /// Creates a flag that is not set.
    pub fn new() -> Canceller {
        Canceller::default()
    }

    /// Ends the calls under way, and every later one, with [`Error::Cancelled`]. It only stores a
    /// flag, so a signal handler may do it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether [`Canceller::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Interrupt for Canceller {
    fn interrupted(&self) -> bool {
        self.is_cancelled()
    }
}

thread_local! {
    /// The interrupt that may end the call that this thread is making. A call does all its work on
    /// one thread, and its connections are shared with other calls, so they cannot hold it.
    static CURRENT: RefCell<Option<Arc<dyn Interrupt>>> = const { RefCell::new(None) };
}

/// Returns whether the call that this thread is making is to end: for the functions that a call runs, such
/// as a [`Sleeper`](crate::Sleeper). False outside of calls.
pub fn interrupted() -> bool {
    // Cloned first: the implementation may itself make a call.
    let current = CURRENT.try_with(|current| current.borrow().clone()).ok().flatten();
    current.is_some_and(|current| current.interrupted())
}

/// Makes a call that `interrupt` may end.
pub(crate) fn scope<T>(
    interrupt: Option<&Arc<dyn Interrupt>>,
    call: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let _scope = Scope(replace(interrupt.cloned()));
    match interrupted() {
        true => Err(Error::Cancelled { sent: false }),
        false => call(),
    }
}

/// Does work that the interrupt of this thread's call does not end: other calls wait for it too.
#[cfg(feature = "postgres")]
pub(crate) fn without<T>(work: impl FnOnce() -> T) -> T {
    let _scope = Scope(replace(None));
    work()
}

/// Sets the current interrupt, and returns the previous one. While a thread or the process ends,
/// destructors and functions of `atexit` may still make calls: only their deadline ends those.
fn replace(new: Option<Arc<dyn Interrupt>>) -> Option<Arc<dyn Interrupt>> {
    CURRENT.try_with(|current| current.replace(new)).ok().flatten()
}

/// Restores the previous interrupt: a delivery function may make calls of its own.
struct Scope(Option<Arc<dyn Interrupt>>);

impl Drop for Scope {
    fn drop(&mut self) {
        replace(self.0.take());
    }
}

impl fmt::Debug for dyn Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupt")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interrupt_of_an_outer_call_is_in_force_again_after_an_inner_one() {
        let (outer, inner) = (Canceller::new(), Canceller::new());
        inner.cancel();
        let arc = |canceller: &Canceller| -> Arc<dyn Interrupt> { Arc::new(canceller.clone()) };
        let found = scope(Some(&arc(&outer)), || {
            let never = scope(Some(&arc(&inner)), || Ok("called"));
            assert_eq!(never, Err(Error::Cancelled { sent: false }));
            assert!(!interrupted());
            assert_eq!(scope(None, || Ok(interrupted())), Ok(false));
            outer.cancel();
            Ok(interrupted())
        });
        assert_eq!(found, Ok(true));
        assert!(!interrupted());
    }

    /// Destructors that run when a thread ends, also destructors of C++, may make calls.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test needs a thread that ends")]
    fn a_call_can_be_made_while_its_thread_ends() {
        struct Last(std::sync::mpsc::Sender<Result<bool>>);
        impl Drop for Last {
            fn drop(&mut self) {
                let canceller: Arc<dyn Interrupt> = Arc::new(Canceller::new());
                self.0.send(scope(Some(&canceller), || Ok(interrupted()))).unwrap();
            }
        }
        thread_local! {
            static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
        }
        let (sender, results) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            // Destroyed in the opposite order.
            LAST.set(Some(Last(sender)));
            scope(None, || Ok(())).unwrap();
        });
        assert_eq!(results.recv().unwrap(), Ok(false));
        thread.join().unwrap();
    }
}

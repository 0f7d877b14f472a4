//! One line for each call, passed to a function of the C program.

use super::error::seconder_error;
use super::ffi::{self, Outcome, Text};
use super::open::seconder_service;
use super::status::{of_outcome, seconder_status};
use super::userdata::{self, seconder_userdata_free};
use crate::{CallRecord, Error, Log};
use std::ffi::{c_char, c_void};
use std::sync::{Arc, RwLock, TryLockError, TryLockResult};
use std::time::{Duration, Instant};

/// The time for which setting or copying a function is tried while another thread sets or reads one, which
/// takes less than a microsecond unless that thread is not running. In a forked child, a thread that
/// no longer exists may have begun it.
const PATIENCE: Duration = Duration::from_millis(100);
/// The same for a call that is to be logged, which must not become slow in such a child.
const PATIENCE_OF_CALLS: Duration = Duration::from_millis(1);

/// Logs a call that has just ended.
///
/// `status` is what the call returned. `line` is ASCII without a line feed, such as
/// "call=verify outcome=token_wrong user_id=7 http_status=401 code=60020 attempts=1
/// duration_ms=12.345"; what is not known is left out, and a later version may add names at the
/// end. It is valid until the function returns, and never contains a token, a code, a key, a phone
/// number, an e-mail address or a message. `duration_us` is how long the call took, in
/// microseconds.
///
/// It runs on the thread that made the call, before the call returns, and on several threads at
/// once if several make calls. It may call this library; its own calls are not logged. It must
/// return normally: it must not be left by longjmp() or a C++ exception.
pub type seconder_log = Option<
    unsafe extern "C" fn(
        status: seconder_status,
        line: *const c_char,
        duration_us: u64,
        log_userdata: *mut c_void,
    ),
>;

/// Sets the function that logs each call of this handle, and of handles that
/// seconder_service_with() makes from it later. NULL removes it. Other handles keep theirs.
///
/// A wait by seconder_wait_for_approval() is one call. What only reads or opens a service is not
/// logged (seconder_service_free() is, as "call=close", if the program has closed descriptors of the
/// database), and neither is an argument that is rejected before there is a call, such as a NULL, or a
/// token with a letter.
///
/// `log_userdata_free` is called exactly once with `log_userdata`, when nothing can use it any longer:
/// after another function was set and the calls under way have ended, at the latest when the last
/// handle that shares the function is freed; and before this returns if it fails.
/// SECONDER_INVALID_ARGUMENT if `service` is NULL. It never blocks: SECONDER_INTERNAL if another
/// thread was setting a function when this process was forked.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_set_log(
    service: Option<&seconder_service>,
    function: seconder_log,
    log_userdata: *mut c_void,
    log_userdata_free: seconder_userdata_free,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // The owner of the userdata is created before anything can fail, so that it is freed exactly
    // once in any case.
    let function = ByFunction::new(function, log_userdata, log_userdata_free);
    let set = move || ffi::need("service", service)?.log.set(function.given().map(Arc::new));
    // SAFETY: as the header requires.
    unsafe { ffi::run(error, set) }
}

type ByFunction = userdata::ByFunction<seconder_log>;

/// The log function of a handle, which can be replaced while other threads make calls. Nothing here
/// waits for a lock without end: after a fork, the thread that would release it may not exist.
#[derive(Default)]
pub(super) struct Slot(RwLock<Option<Arc<ByFunction>>>);

impl Slot {
    /// A slot of its own with the same function.
    pub(super) fn copied(&self) -> Slot {
        Slot(RwLock::new(self.get(PATIENCE)))
    }

    /// The function; `None` too if another thread was setting one all the time.
    fn get(&self, patience: Duration) -> Option<Arc<ByFunction>> {
        lock(patience, || self.0.try_read())?.clone()
    }

    fn set(&self, function: Option<Arc<ByFunction>>) -> Outcome<()> {
        let Some(mut slot) = lock(PATIENCE, || self.0.try_write()) else {
            let message =
                "another thread is setting the log function, or was when this process forked";
            return Err(Error::Internal { message: message.into() }.into());
        };
        let old = std::mem::replace(&mut *slot, function);
        drop(slot);
        // Only now, because it may run the program's function that frees the userdata.
        drop(old);
        Ok(())
    }
}

/// Tries to lock for some time. The bound is a time and not a number of tries: on a busy machine,
/// each of them may let other threads run for milliseconds.
fn lock<G>(patience: Duration, mut try_lock: impl FnMut() -> TryLockResult<G>) -> Option<G> {
    let mut end = None;
    loop {
        match try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
        let now = Instant::now();
        if now >= *end.get_or_insert(now + patience) {
            return None;
        }
        std::thread::yield_now();
    }
}

impl Log for Slot {
    fn is_enabled(&self) -> bool {
        self.get(PATIENCE_OF_CALLS).is_some()
    }

    fn log(&self, record: &CallRecord) {
        let Some(function) = self.get(PATIENCE_OF_CALLS) else { return };
        let Some(log) = function.function else { return };
        let line = Text::new(&record.to_string());
        let micros = u64::try_from(record.duration.as_micros()).unwrap_or(u64::MAX);
        let status = of_outcome(record.outcome);
        // SAFETY: the line lives until the function returns, and the userdata as long as the
        // function.
        unsafe { log(status, line.as_ptr(), micros, function.userdata.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    unsafe extern "C" fn ignore(_: seconder_status, _: *const c_char, _: u64, _: *mut c_void) {}

    fn function() -> Option<Arc<ByFunction>> {
        let ignore: seconder_log = Some(ignore);
        Some(Arc::new(ByFunction::new(ignore, std::ptr::null_mut(), None)))
    }

    #[test]
    fn a_handle_that_is_made_while_the_function_is_replaced_has_one() {
        let (slot, end) = (Slot::default(), AtomicBool::new(false));
        assert!(slot.set(function()).is_ok());
        thread::scope(|scope| {
            scope.spawn(|| {
                while !end.load(Ordering::Relaxed) {
                    assert!(slot.set(function()).is_ok());
                }
            });
            let lost = (0..10_000).filter(|_| slot.copied().get(PATIENCE).is_none()).count();
            end.store(true, Ordering::Relaxed);
            assert_eq!(lost, 0);
        });
    }

    /// As in a forked child, where no thread releases the lock.
    #[test]
    fn setting_a_function_ends_on_a_busy_machine_too() {
        let (slot, end) = (Slot::default(), AtomicBool::new(false));
        let held = slot.0.read();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while !end.load(Ordering::Relaxed) {
                        std::hint::spin_loop()
                    }
                });
            }
            let begun = Instant::now();
            let set = slot.set(function());
            let took = begun.elapsed();
            end.store(true, Ordering::Relaxed);
            assert!(set.is_err());
            assert!(took < Duration::from_secs(5), "{took:?}");
        });
        drop(held);
    }
}

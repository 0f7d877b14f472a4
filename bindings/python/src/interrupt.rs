//! Ends calls that wait: Ctrl-C and other signal handlers that raise, `cancel()`, and asyncio.

use crate::exit::Staying;
use crate::failure;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use seconder::{Canceller, Interrupt};
use std::cell::{Cell, RefCell};
use std::process;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The interval at which a call lets Python run its signal handlers. Each time, it needs the
/// interpreter, which other threads may be using, so a call does it less often than the library
/// asks.
const INTERVAL: Duration = Duration::from_millis(20);

thread_local! {
    /// The canceller that ends the calls of the task that this thread works for.
    static TASK: RefCell<Option<Canceller>> = const { RefCell::new(None) };
    /// A process, and the finding there whether Python runs its signal handlers on this thread: in
    /// a forked child, the thread that forked does.
    static HANDLES_SIGNALS: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

/// Ends the calls of one task.
#[pyclass(frozen, module = "seconder._seconder", name = "Canceller")]
pub(crate) struct TaskCanceller(Canceller);

#[pymethods]
impl TaskCanceller {
    #[new]
    fn new() -> TaskCanceller {
        TaskCanceller(Canceller::new())
    }

    /// Ends the calls.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Runs a function whose calls this can end.
    #[pyo3(signature = (function, /, *args, **options))]
    fn run<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _staying = Staying::new();
        let _scope = Scope(TASK.replace(Some(self.0.clone())));
        function.call(args, options)
    }
}

/// Restores the previous canceller.
struct Scope(Option<Canceller>);

impl Drop for Scope {
    fn drop(&mut self) {
        TASK.set(self.0.take());
    }
}

/// The interrupts that can end one call.
pub(crate) struct CallInterrupt {
    handle: Canceller,
    task: Option<Canceller>,
    /// When Python next runs its signal handlers; `None` on a thread where it does not.
    signals: Option<Mutex<Instant>>,
}

impl CallInterrupt {
    /// Creates the interrupt of a call that begins now on this thread. Python has just had the
    /// chance to run its signal handlers.
    pub(crate) fn new(py: Python<'_>, handle: &Canceller) -> CallInterrupt {
        let signals = handles_signals(py).then(|| Mutex::new(Instant::now() + INTERVAL));
        CallInterrupt { handle: handle.clone(), task: TASK.with_borrow(Option::clone), signals }
    }

    /// Runs Python's signal handlers, and keeps the exception if one raises.
    fn raised(&self) -> bool {
        // Of a signal handler, or of a function of the application.
        if failure::has_exception() {
            return true;
        }
        let Some(next) = &self.signals else { return false };
        // Taken while a handler runs, which may make a call of its own.
        let Ok(mut next) = next.try_lock() else { return false };
        if Instant::now() < *next {
            return false;
        }
        let raised = Python::try_attach(|py| match py.check_signals() {
            Ok(()) => false,
            Err(exception) => {
                failure::keep_exception(exception);
                true
            }
        });
        *next = Instant::now() + INTERVAL;
        raised.unwrap_or(false)
    }
}

impl Interrupt for CallInterrupt {
    fn interrupted(&self) -> bool {
        self.handle.is_cancelled()
            || self.task.as_ref().is_some_and(Canceller::is_cancelled)
            || self.raised()
    }
}

/// Returns whether Python runs its signal handlers on this thread.
fn handles_signals(py: Python<'_>) -> bool {
    let process = process::id();
    if let Some((known, found)) = HANDLES_SIGNALS.get()
        && known == process
    {
        return found;
    }
    let find = || -> PyResult<bool> {
        let threading = py.import("threading")?;
        let main = threading.call_method0("main_thread")?.getattr("ident")?;
        threading.call_method0("get_ident")?.eq(main)
    };
    // If that cannot be found out, Python decides each time.
    let found = find().unwrap_or(true);
    HANDLES_SIGNALS.set(Some((process, found)));
    found
}

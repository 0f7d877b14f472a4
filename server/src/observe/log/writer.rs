//! The thread that writes the log, and the lines that wait for it.

use super::entry::{Entry, Level};
use super::format;
#[cfg(unix)]
use super::journald::{self, Journald};
use std::io::{self, Write};
#[cfg(unix)]
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

/// The most lines that wait: a few megabytes.
const WAITING: usize = 8192;
/// The most bytes that are written at once, as long as lines wait.
const TOGETHER: usize = 32 * 1024;
/// The pause before a write is repeated that would have to wait, because standard error is shared with a process that
/// does not wait.
const PAUSE: Duration = Duration::from_millis(10);

type Format = fn(&Entry, &mut String);

/// The destination of lines.
pub(super) enum Output {
    Stream(Format, Box<dyn Write + Send>),
    /// The journal that listens there, once a line was sent; standard error if none does.
    #[cfg(unix)]
    Journal(PathBuf, Option<Journald>, Box<dyn Write + Send>),
}

/// Writes lines in the order in which they come.
pub(super) struct Writer {
    queue: SyncSender<Task>,
    /// The state of the thread, until it is started with the first line: the sockets that systemd passes are taken
    /// before there are threads.
    idle: Mutex<Option<(Receiver<Task>, Output)>>,
    started: Once,
    lost: Arc<AtomicU64>,
}

enum Task {
    Write(Entry),
    /// Confirms that it was reached.
    Flush(SyncSender<()>),
}

impl Output {
    pub(super) fn stream(format: Format, stream: impl Write + Send + 'static) -> Output {
        Output::Stream(format, Box::new(stream))
    }

    #[cfg(unix)]
    pub(super) fn journal(path: impl Into<PathBuf>) -> Output {
        Output::Journal(path.into(), None, Box::new(io::stderr()))
    }
}

impl Writer {
    pub(super) fn new(output: Output) -> Writer {
        let (queue, lines) = sync_channel(WAITING);
        let idle = Mutex::new(Some((lines, output)));
        Writer { queue, idle, started: Once::new(), lost: Arc::default() }
    }

    pub(super) fn write(&self, line: Entry) {
        self.started.call_once(|| self.start());
        match self.queue.try_send(Task::Write(line)) {
            Ok(()) | Err(TrySendError::Disconnected(Task::Flush(_))) => {}
            Err(TrySendError::Full(_)) => drop(self.lost.fetch_add(1, Ordering::Relaxed)),
            // There is no thread, and the line may be about that.
            Err(TrySendError::Disconnected(Task::Write(line))) => {
                let mut text = String::new();
                format::human(&line, &mut text);
                let _ = io::stderr().write_all(text.as_bytes());
            }
        }
    }

    fn start(&self) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((lines, output)) = idle else { return };
        let lost = Arc::clone(&self.lost);
        let builder = std::thread::Builder::new().name("seconder-log".to_owned());
        // Without the thread, the queue is closed.
        drop(builder.spawn(move || write_all(&lines, output, &lost)));
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    pub(super) fn flush(&self, limit: Duration) {
        let (reached, wait) = sync_channel(1);
        if self.queue.try_send(Task::Flush(reached)).is_ok() {
            let _ = wait.recv_timeout(limit);
        }
    }
}

/// Writes lines until all senders are gone.
fn write_all(lines: &Receiver<Task>, mut output: Output, lost: &AtomicU64) {
    let (mut text, mut flushes, mut reported) = (String::new(), Vec::new(), 0);
    while let Ok(first) = lines.recv() {
        let mut next = Some(first);
        while let Some(task) = next {
            match task {
                Task::Write(line) => output.take(&line, &mut text),
                Task::Flush(reached) => flushes.push(reached),
            }
            next = if text.len() < TOGETHER { lines.try_recv().ok() } else { None };
        }
        output.write(&mut text);
        let all = lost.load(Ordering::Relaxed);
        if all > reported {
            let message = format!(
                "{} lines were lost here: whoever reads this log is too slow",
                all - reported
            );
            output.take(&Entry::new(Level::Warning, message), &mut text);
            output.write(&mut text);
            reported = all;
        }
        // The receiver may have stopped waiting.
        for reached in flushes.drain(..) {
            let _ = reached.try_send(());
        }
    }
}

impl Output {
    /// Sends a line, or adds it to the text that is to be written.
    fn take(&mut self, line: &Entry, text: &mut String) {
        match self {
            Output::Stream(format, _) => format(line, text),
            #[cfg(unix)]
            Output::Journal(path, journal, _) => {
                if journal.as_ref().is_some_and(|journal| journal.send(line).is_ok()) {
                    return;
                }
                // After the journal was restarted, an earlier connection may lead nowhere.
                *journal = Journald::connect(path).ok();
                if journal.as_ref().is_none_or(|journal| journal.send(line).is_err()) {
                    journald::prefixed(line, text);
                }
            }
        }
    }

    /// Writes a text, and empties it. What cannot be written is lost: a closed standard error is no reason
    /// to stop serving.
    fn write(&mut self, text: &mut String) {
        let stream = match self {
            Output::Stream(_, stream) => stream,
            #[cfg(unix)]
            Output::Journal(_, _, stream) => stream,
        };
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match stream.write(rest) {
                Ok(0) => break,
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(PAUSE);
                }
                Err(_) => break,
            }
        }
        text.clear();
    }
}

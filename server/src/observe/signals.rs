//! The signals that a server receives. None cuts calls in progress.

use seconder::Result;
use tokio::runtime::Handle;

/// The action that a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// Stop: SIGTERM, SIGINT (Ctrl-C), or SIGQUIT.
    Stop,
    /// Read the certificate again: SIGHUP.
    Reload,
    /// A signal of this name, for which a server has no action. By default it would end the process.
    Other(&'static str),
}

/// Receives the signals of the process, which no longer have their default effects.
pub struct Signals {
    runtime: Handle,
    #[cfg(unix)]
    received: Vec<(tokio::signal::unix::Signal, Signal)>,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn new(runtime: Handle) -> Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        let entered = runtime.enter();
        let mut received = Vec::new();
        for (kind, meaning) in [
            (SignalKind::terminate(), Signal::Stop),
            (SignalKind::interrupt(), Signal::Stop),
            (SignalKind::quit(), Signal::Stop),
            (SignalKind::hangup(), Signal::Reload),
            (SignalKind::user_defined1(), Signal::Other("SIGUSR1")),
            (SignalKind::user_defined2(), Signal::Other("SIGUSR2")),
            (SignalKind::alarm(), Signal::Other("SIGALRM")),
            (SignalKind::io(), Signal::Other("SIGIO")),
        ] {
            // SIGHUP is ignored if nohup has started the process, for example: the end of the terminal then has no
            // effect.
            if meaning == Signal::Reload && is_ignored(kind.as_raw_value()) {
                continue;
            }
            let stream = signal(kind);
            let stream = stream.map_err(|_| crate::internal("signals cannot be received"))?;
            received.push((stream, meaning));
        }
        drop(entered);
        Ok(Signals { runtime, received })
    }

    /// Waits for the next signal.
    pub fn wait(&mut self) -> Signal {
        let received = &mut self.received;
        self.runtime.block_on(std::future::poll_fn(|context| {
            use std::task::Poll;
            for (stream, meaning) in received.iter_mut() {
                if let Poll::Ready(Some(())) = stream.poll_recv(context) {
                    return Poll::Ready(*meaning);
                }
            }
            Poll::Pending
        }))
    }
}

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn new(runtime: Handle) -> Result<Signals> {
        Ok(Signals { runtime })
    }

    /// Waits for Ctrl-C.
    pub fn wait(&mut self) -> Signal {
        let _ = self.runtime.block_on(tokio::signal::ctrl_c());
        Signal::Stop
    }
}

/// Returns whether the process was started with this signal ignored. Only Linux shows this without a handler being
/// installed.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

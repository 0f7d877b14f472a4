//! Limits the time for which a connection has no call: a client could keep it indefinitely otherwise, with pings of
//! HTTP/2, with a response that it does not take, or before it has sent the version of HTTP. Also ends a connection
//! without a response, for tests.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// The calls of a connection. Clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Activity(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    calls: usize,
    /// The time at which the last one ended, or the connection was made.
    last: Instant,
    /// Set if nothing more is to be written.
    is_cut: bool,
}

/// A call of a connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Active(Activity);

impl Activity {
    pub(crate) fn new() -> Activity {
        Activity(Arc::new(Mutex::new(State { calls: 0, last: Instant::now(), is_cut: false })))
    }

    /// Counts a call that begins: the head of its request has arrived.
    pub(crate) fn begin(&self) -> Active {
        self.state().calls += 1;
        Active(self.clone())
    }

    /// Has the connection fail instead of writing a response.
    pub(crate) fn cut(&self) {
        self.state().is_cut = true;
    }

    /// Fails once the connection is cut.
    fn check(&self) -> io::Result<()> {
        match self.state().is_cut {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// Returns the time since which the connection has had no call; `None` while it has one.
    fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.calls == 0).then_some(state.last)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.calls -= 1;
        state.last = Instant::now();
    }
}

/// A connection that fails once there was no call for too long, or once it is cut.
#[derive(Debug)]
pub(crate) struct IdleTimeout<S> {
    stream: S,
    activity: Activity,
    limit: Duration,
    /// The timer of the next check for a call.
    look: Pin<Box<Sleep>>,
}

impl<S> IdleTimeout<S> {
    pub(crate) fn new(stream: S, activity: Activity, limit: Duration) -> IdleTimeout<S> {
        let look = Box::pin(sleep_until(Instant::now() + limit));
        IdleTimeout { stream, activity, limit, look }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IdleTimeout<S> {
    /// Reads. HTTP does so all the time, also to notice that a client has gone.
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buffer);
        // Checked with every read, because a client that sends all the time would never be checked otherwise.
        while self.look.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            let since = self.activity.idle_since().unwrap_or(now);
            let end = since + self.limit;
            if end <= now {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            self.look.as_mut().reset(end);
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.activity.check()?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.activity.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[test]
    fn a_connection_ends_once_there_was_no_call_for_a_while() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (activity, limit) = (Activity::new(), Duration::from_millis(50));
            let (_client, stream) = tokio::io::duplex(16);
            let mut stream = IdleTimeout::new(stream, activity.clone(), limit);
            let call = activity.begin();
            let during = tokio::time::timeout(4 * limit, stream.read_u8()).await;
            assert!(during.is_err(), "a call may take longer: {during:?}");
            drop(call);
            let after = stream.read_u8().await.unwrap_err();
            assert_eq!(after.kind(), io::ErrorKind::TimedOut);
        });
    }
}

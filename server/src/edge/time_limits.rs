//! Limits the time for which a client may leave bytes that the server has written to it, and for which its connection has
//! no call: a client could keep it indefinitely otherwise, with requests whose responses it does not read, with pings of
//! HTTP/2, or before it has sent the version of HTTP. Also ends a connection without a response, for tests.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

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

/// A connection that fails once the client has left something unread for too long, or there was no call for too long, or
/// once it is cut.
///
/// The time for a write begins when it has to wait, and ends when all that was written has been passed on. A client that
/// takes a little now and then does not prolong it.
#[derive(Debug)]
pub(crate) struct TimeLimits<S> {
    stream: S,
    write_limit: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
    /// `None` for a connection that may have no call.
    idle: Option<Idle>,
}

#[derive(Debug)]
struct Idle {
    activity: Activity,
    limit: Duration,
    /// The timer of the next check for a call.
    look: Pin<Box<Sleep>>,
}

impl<S> TimeLimits<S> {
    /// Limits the time for which the client may leave something unread.
    pub(crate) fn new(stream: S, write_limit: Duration) -> TimeLimits<S> {
        TimeLimits { stream, write_limit, waiting: None, idle: None }
    }

    /// Limits also the time without a call.
    pub(crate) fn idle(self, activity: Activity, limit: Duration) -> TimeLimits<S> {
        let look = Box::pin(sleep_until(Instant::now() + limit));
        TimeLimits { idle: Some(Idle { activity, limit, look }), ..self }
    }

    /// Fails once the connection is cut.
    fn check(&self) -> io::Result<()> {
        self.idle.as_ref().map_or(Ok(()), |idle| idle.activity.check())
    }

    /// This outcome, or an error if the client has taken too long.
    fn in_time<T>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            return outcome;
        }
        let limit = self.write_limit;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(limit)));
        match waiting.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Idle {
    /// Fails once there was no call for too long.
    fn poll(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while self.look.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            let end = self.activity.idle_since().unwrap_or(now) + self.limit;
            if end <= now {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.look.as_mut().reset(end);
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeLimits<S> {
    /// Reads. HTTP does so all the time, also to notice that a client has gone.
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(cx, buffer);
        // Checked with every read, because a client that sends all the time would never be checked otherwise.
        self.idle.as_mut().map_or(Ok(()), |idle| idle.poll(cx))?;
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeLimits<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.in_time(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.in_time(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Flushes, which HTTP and TLS do when they have written all that they hold.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        if outcome.is_ready() {
            self.waiting = None;
        }
        self.in_time(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.in_time(cx, outcome)
    }
}

#[cfg(test)]
mod tests;

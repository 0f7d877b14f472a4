//! Limits what a response may have besides its head and its body. A service may send any number of
//! interim responses (status 1xx) before the head, and of trailers after a chunked body. The HTTP
//! library skips them without a limit, so an endless one would keep a login waiting until its
//! deadline.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};
use ureq::Error;

/// The maximum size in bytes, without what is read along with its end. A head has at most half of
/// it.
pub(super) const LONGEST: usize = 64 * 1024;

thread_local! {
    /// How much this thread has received since it sent a request or began to read a part of a body.
    /// A call does all its work on one thread.
    static RECEIVED: Cell<usize> = const { Cell::new(0) };
}

/// Begins to count.
pub(super) fn begin() {
    RECEIVED.set(0);
}

/// Counts what was received.
pub(super) fn received(bytes: usize) {
    RECEIVED.set(RECEIVED.get().saturating_add(bytes));
}

/// Returns an error if too much was received without progress.
pub(super) fn check() -> Result<(), Error> {
    match RECEIVED.get() < LONGEST {
        true => Ok(()),
        false => Err(Error::Other(Box::new(NoProgress))),
    }
}

/// The reader of a body, of which every part is progress.
pub(super) struct InParts<R>(pub(super) R);

impl<R: Read> Read for InParts<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        begin();
        self.0.read(buffer)
    }
}

/// More was received than a head or a part of a body needs.
#[derive(Debug)]
pub(super) struct NoProgress;

impl fmt::Display for NoProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it has over {LONGEST} bytes of interim responses or trailers")
    }
}

impl std::error::Error for NoProgress {}

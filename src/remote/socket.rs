//! Connections, by TCP or by a Unix socket, and waiting for them until the deadline or until the call is to end.

use super::deadline::Deadline;
#[cfg(feature = "https")]
use crate::exhausted::exhausted;
use crate::interrupt::{self, INTERVAL};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
#[cfg(feature = "https")]
use socket2::Protocol;
#[cfg(all(feature = "unix", target_os = "linux"))]
use socket2::SockAddr;
use socket2::{Domain, SockRef, Type};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
#[cfg(feature = "https")]
use std::net::SocketAddr;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Waits for non-blocking sockets.
pub(super) struct Waiter {
    deadline: Deadline,
    /// When to look again whether the call is to end.
    look: Instant,
}

impl Waiter {
    pub(super) fn until(deadline: Deadline) -> Waiter {
        Waiter { deadline, look: Instant::now() }
    }

    pub(super) fn readable(&mut self, socket: impl AsFd) -> io::Result<()> {
        self.wait(socket, PollFlags::IN)
    }

    pub(super) fn writable(&mut self, socket: impl AsFd) -> io::Result<()> {
        self.wait(socket, PollFlags::OUT)
    }

    fn wait(&mut self, socket: impl AsFd, events: PollFlags) -> io::Result<()> {
        let mut sockets = [PollFd::from_borrowed_fd(socket.as_fd(), events)];
        loop {
            let time = self.left()?;
            match poll(&mut sockets, Some(&timespec(time))) {
                Ok(0) => {}
                Ok(_) => return Ok(()),
                // A signal handler may have asked for the end of the call.
                Err(Errno::INTR) => self.look = Instant::now(),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the time to wait before the next call of this. An error if the call is to end or the
    /// deadline has passed.
    fn left(&mut self) -> io::Result<Duration> {
        let now = Instant::now();
        if now >= self.look {
            if interrupt::interrupted() {
                return Err(io::Error::other(Interrupted));
            }
            self.look = now + INTERVAL;
        }
        let left = self.deadline.left();
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(left.min(self.look.saturating_duration_since(now)))
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// The error of a wait that ended because the call is to end.
#[derive(Debug)]
struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the call is to end")
    }
}

impl std::error::Error for Interrupted {}

/// Returns whether an error means that the call is to end.
pub(super) fn is_interrupted(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Interrupted>())
}

/// A connection. Reading and writing wait until the deadline.
pub(super) struct Socket {
    /// The stream, also of a Unix socket: the functions of this type apply to every kind of stream,
    /// and no other type of the standard library promises that writing to a closed one raises no
    /// SIGPIPE.
    stream: Arc<TcpStream>,
    /// The cookie of the connection, which no other socket of the machine has.
    cookie: Option<u64>,
    waiter: Waiter,
    /// Set if the last operation was a write: then there is nothing to read yet.
    wrote: bool,
}

impl Socket {
    /// Connects to the first address that accepts the connection. Each has half of the time that is
    /// left, and the last all of it.
    #[cfg(feature = "https")]
    pub(super) fn dial(addresses: &[SocketAddr], deadline: Deadline) -> io::Result<Socket> {
        let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
        for (at, address) in addresses.iter().enumerate() {
            let until = match at + 1 < addresses.len() {
                true => deadline.sooner(deadline.left() / 2),
                false => deadline,
            };
            match Socket::connect(*address, until) {
                Ok(mut socket) => {
                    socket.set_deadline(deadline);
                    return Ok(socket);
                }
                Err(error) if is_interrupted(&error) || exhausted(&error).is_some() => {
                    return Err(error);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    #[cfg(feature = "https")]
    pub(super) fn connect(address: SocketAddr, deadline: Deadline) -> io::Result<Socket> {
        let domain = Domain::for_address(address);
        let stream = socket2::Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        let stream = TcpStream::from(stream);
        stream.set_nonblocking(true)?;
        // Otherwise the end of a request could wait until the peer acknowledges its beginning.
        stream.set_nodelay(true)?;
        let mut waiter = Waiter::until(deadline);
        match SockRef::from(&stream).connect(&address.into()) {
            Err(error) if is_under_way(&error) => {
                waiter.writable(&stream)?;
                stream.take_error()?.map_or(Ok(()), Err)?;
            }
            connected => connected?,
        }
        Ok(Socket::new(stream, waiter))
    }

    /// Connects to a Unix socket. If its backlog is full, a socket that does not block would fail at
    /// once, and could not be waited for. So this one blocks, for as long as a wait may last.
    #[cfg(all(feature = "unix", target_os = "linux"))]
    pub(super) fn connect_local(address: &SockAddr, deadline: Deadline) -> io::Result<Socket> {
        let stream = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
        let mut waiter = Waiter::until(deadline);
        loop {
            // A timeout of less than a microsecond would be no limit at all.
            let time = waiter.left()?.max(Duration::from_millis(1));
            stream.set_write_timeout(Some(time))?;
            match stream.connect(address) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // A signal handler may have asked for the end of the call.
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    waiter.look = Instant::now();
                }
                connected => break connected?,
            }
        }
        let stream = TcpStream::from(stream);
        stream.set_nonblocking(true)?;
        Ok(Socket::new(stream, waiter))
    }

    fn new(stream: TcpStream, waiter: Waiter) -> Socket {
        let (cookie, stream) = (cookie(&stream), Arc::new(stream));
        Socket { stream, cookie, waiter, wrote: false }
    }

    /// Returns whether the descriptor still belongs to the connection. A program that calls
    /// closefrom(3) closes it, and the next file that the program opens may get its number.
    pub(super) fn is_own(&self) -> bool {
        cookie(&self.stream) == self.cookie
    }

    /// Returns the stream. The connection ends when it and this are dropped.
    #[cfg(all(feature = "engine", feature = "https"))]
    pub(super) fn stream(&self) -> io::Result<TcpStream> {
        self.stream.try_clone()
    }

    /// Lets the system notice that a peer that sends nothing for minutes is gone.
    #[cfg(feature = "postgres")]
    pub(super) fn keep_alive(&self) -> io::Result<()> {
        let pause = Duration::from_secs(30);
        let often = socket2::TcpKeepalive::new().with_time(pause).with_interval(pause);
        SockRef::from(&*self.stream).set_tcp_keepalive(&often)
    }

    /// Begins a call that ends by this deadline.
    pub(super) fn set_deadline(&mut self, deadline: Deadline) {
        self.waiter = Waiter::until(deadline);
    }

    /// Returns whether the peer has sent data that was not read yet.
    #[cfg(feature = "https")]
    pub(super) fn has_data(&self) -> bool {
        self.stream.peek(&mut [0]).is_ok_and(|length| length > 0)
    }

    /// Returns whether the peer has neither sent anything nor closed the connection.
    pub(super) fn is_idle(&self) -> bool {
        let peeked = self.stream.peek(&mut [0]);
        peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}

#[cfg(all(feature = "unix", target_os = "linux"))]
impl std::os::fd::AsFd for Socket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Does not close a descriptor that now belongs to the program.
impl Drop for Socket {
    fn drop(&mut self) {
        if !self.is_own() {
            std::mem::forget(Arc::clone(&self.stream));
        }
    }
}

#[cfg(target_os = "linux")]
fn cookie(stream: &TcpStream) -> Option<u64> {
    SockRef::from(stream).cookie().ok()
}

/// Returns `None`, because other systems have no numbers of sockets.
#[cfg(not(target_os = "linux"))]
fn cookie(_stream: &TcpStream) -> Option<u64> {
    None
}

/// Returns whether a connection is being established.
#[cfg(feature = "https")]
fn is_under_way(error: &io::Error) -> bool {
    error.kind() == ErrorKind::WouldBlock
        || Errno::from_io_error(error).is_some_and(|error| error == Errno::INPROGRESS)
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Saves a system call, which would only find that nothing is there.
        if std::mem::take(&mut self.wrote) {
            self.waiter.readable(&*self.stream)?;
        }
        loop {
            // A peer that never stops sending would otherwise never be waited for.
            self.waiter.left()?;
            match (&*self.stream).read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.waiter.readable(&*self.stream)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wrote = true;
        loop {
            self.waiter.left()?;
            match (&*self.stream).write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.waiter.writable(&*self.stream)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "https")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::Canceller;
    use std::net::TcpListener;

    /// Writes to a peer that reads nothing, in a call that is cancelled after a while.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test cancels from another thread")]
    fn sending_to_a_peer_that_reads_nothing_can_be_interrupted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let deadline = Deadline::within(Duration::from_secs(60));
        let mut socket = Socket::connect(listener.local_addr().unwrap(), deadline).unwrap();
        let canceller = Canceller::new();
        let cancels = canceller.clone();
        let cancelled = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            cancels.cancel();
            Instant::now()
        });
        let interrupt: Arc<dyn interrupt::Interrupt> = Arc::new(canceller);
        let written =
            interrupt::scope(Some(&interrupt), || Ok(socket.write_all(&vec![0; 64 * 1024 * 1024])));
        assert!(is_interrupted(&written.unwrap().unwrap_err()));
        let late = cancelled.join().unwrap().elapsed();
        assert!(late < Duration::from_secs(20), "{late:?}");
    }

    /// Each part of what the peer sends is there before it is read, so nothing waits.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test needs a peer")]
    fn receiving_from_a_peer_that_never_stops_ends_at_the_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            while stream.write_all(&[0; 1024 * 1024]).is_ok() {}
        });
        let mut socket =
            Socket::connect(address, Deadline::within(Duration::from_secs(60))).unwrap();
        let began = Instant::now();
        socket.set_deadline(Deadline::within(Duration::from_millis(200)));
        let mut buffer = [0; 64];
        let error = loop {
            match socket.read(&mut buffer) {
                Ok(read) => assert!(read > 0 && began.elapsed() < Duration::from_secs(20)),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn small_messages_are_sent_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let deadline = Deadline::within(Duration::from_secs(5));
        let socket = Socket::connect(listener.local_addr().unwrap(), deadline).unwrap();
        assert!(socket.stream.nodelay().unwrap());
    }
}

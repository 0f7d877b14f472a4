//! Reports the state of this process to systemd, over the socket that it names: sd_notify(3). Any other program that
//! starts this one and binds such a socket gets the same reports.

use crate::invalid;
use crate::observe::pulse::Pulse;
use rustix::time::{ClockId, clock_gettime};
use seconder::Result;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// The time that a message may wait while the receiver is busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends the messages; without a socket, none. The variables stay as they are, because this program starts
/// no other.
#[derive(Clone, Debug, Default)]
pub struct Notifier {
    socket: Option<Arc<UnixDatagram>>,
    /// The time within which it has to show that it works.
    watchdog: Option<Duration>,
}

/// Shows from time to time that the service works. It ends when this is dropped.
#[derive(Debug)]
pub struct Watchdog {
    _stop: Sender<()>,
}

impl Notifier {
    /// Returns the notifier of the variables `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the socket cannot be used.
    #[allow(clippy::disallowed_methods, reason = "systemd passes it by these variables alone")]
    pub fn from_env() -> Result<Notifier> {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let is_other = number("WATCHDOG_PID").is_some_and(|id| id != u64::from(std::process::id()));
        let watchdog = number("WATCHDOG_USEC").filter(|time| *time > 0 && !is_other);
        let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Ok(Notifier::default());
        };
        let socket = connected(&name).map_err(|error| {
            let name = name.to_string_lossy();
            invalid("NOTIFY_SOCKET", format!("names {name}, which cannot be used: {error}"))
        })?;
        let watchdog = watchdog.map(Duration::from_micros);
        Ok(Notifier { socket: Some(Arc::new(socket)), watchdog })
    }

    /// Reports that the service accepts calls: after the start, and after [`Notifier::reloading`], with the problem, if
    /// there was one.
    ///
    /// # Errors
    /// If the message was not sent, here and in the functions below.
    pub fn ready(&self, problem: Option<&str>) -> io::Result<()> {
        let problem = problem.map_or(String::new(), |text| format!("; {}", one_line(text)));
        self.send(&format!("READY=1\nSTATUS=accepts calls{problem}"))
    }

    /// Reports that the settings are read again.
    ///
    /// # Errors
    /// As above.
    pub fn reloading(&self) -> io::Result<()> {
        let now = clock_gettime(ClockId::Monotonic);
        let now = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={now}\nSTATUS=reads its settings again"))
    }

    /// Reports that the service lets calls in progress finish, and then ends.
    ///
    /// # Errors
    /// As above.
    pub fn stopping(&self) -> io::Result<()> {
        self.send("STOPPING=1\nSTATUS=lets calls in progress finish")
    }

    fn send(&self, state: &str) -> io::Result<()> {
        match &self.socket {
            Some(socket) => socket.send(state.as_bytes()).map(drop),
            None => Ok(()),
        }
    }
}

impl Watchdog {
    /// Starts a thread for it, if systemd has asked for a watchdog. The service works while it handles connections, and
    /// while this look at the database ends. A look that fails does not count against it: a restart brings no database
    /// back.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        notifier: &Notifier,
        pulse: Pulse,
        look: impl Fn() -> Result<()> + Send + 'static,
    ) -> io::Result<Option<Watchdog>> {
        let Some(time) = notifier.watchdog else { return Ok(None) };
        let (stop, stopped) = mpsc::channel();
        let (notifier, every) = (notifier.clone(), time / 2);
        std::thread::Builder::new()
            .name("watchdog".into())
            .spawn(move || watch(&notifier, every, &stopped, &pulse, look))?;
        Ok(Some(Watchdog { _stop: stop }))
    }
}

fn watch(
    notifier: &Notifier,
    every: Duration,
    stopped: &Receiver<()>,
    pulse: &Pulse,
    look: impl Fn() -> Result<()>,
) {
    let mut had_failed = false;
    while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        if !pulse.beats() {
            return;
        }
        let status = match look() {
            Err(error) => {
                format!("\nSTATUS=the database does not respond: {}", one_line(&error.to_string()))
            }
            Ok(()) if had_failed => "\nSTATUS=accepts calls".to_owned(),
            Ok(()) => String::new(),
        };
        had_failed = status.contains("does not respond");
        // A lost message is followed by the next one.
        let _ = notifier.send(&format!("WATCHDOG=1{status}"));
    }
}

/// Returns a text as a part of a line.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Connects a socket to a name, which is a path, or begins with @ for one that is in no folder.
fn connected(name: &OsString) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    match name.as_bytes() {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        [b'@', abstract_name @ ..] => {
            use std::os::linux::net::SocketAddrExt;
            let address = std::os::unix::net::SocketAddr::from_abstract_name(abstract_name)?;
            socket.connect_addr(&address)?;
        }
        [b'/', ..] => socket.connect(Path::new(name))?,
        _ => return Err(io::Error::other("it is no path, and does not begin with @")),
    }
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seconder::Error;
    use tokio::runtime::Runtime;

    const SHORT: Duration = Duration::from_millis(20);

    fn pair() -> (Notifier, UnixDatagram) {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        theirs.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        (Notifier { socket: Some(Arc::new(ours)), watchdog: Some(SHORT) }, theirs)
    }

    fn received(socket: &UnixDatagram) -> String {
        let mut bytes = [0; 4096];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    #[test]
    fn a_look_at_the_database_that_does_not_end_stops_the_watchdog() {
        let (notifier, socket) = pair();
        let runtime = Runtime::new().unwrap();
        let (let_go, waits) = mpsc::channel();
        let look = move || {
            let _ = waits.recv();
            Ok(())
        };
        let pulse = Pulse::of(runtime.handle().clone());
        let _watchdog = Watchdog::start(&notifier, pulse, look).unwrap().unwrap();
        socket.set_read_timeout(Some(10 * SHORT)).unwrap();
        assert!(socket.recv(&mut [0; 64]).is_err());
        let_go.send(()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert_eq!(received(&socket), "WATCHDOG=1");
    }

    #[test]
    fn a_database_that_fails_is_the_status_and_no_end() {
        let (notifier, socket) = pair();
        let runtime = Runtime::new().unwrap();
        let (fail, fails) = mpsc::channel();
        let look = move || match fails.try_recv() {
            Ok(()) => Err(Error::Internal { message: "lost\nit".into() }),
            Err(_) => Ok(()),
        };
        fail.send(()).unwrap();
        let pulse = Pulse::of(runtime.handle().clone());
        let watchdog = Watchdog::start(&notifier, pulse, look).unwrap().unwrap();
        let first = received(&socket);
        assert!(first.starts_with("WATCHDOG=1\nSTATUS=the database does not respond: "), "{first}");
        assert!(first.contains("lost it"), "{first}");
        assert_eq!(received(&socket), "WATCHDOG=1\nSTATUS=accepts calls");
        assert_eq!(received(&socket), "WATCHDOG=1");
        drop(watchdog);
        // A server that has ended does not work either.
        let (notifier, socket) = pair();
        let pulse = Pulse::of(runtime.handle().clone());
        runtime.shutdown_background();
        let _watchdog = Watchdog::start(&notifier, pulse, || Ok(())).unwrap().unwrap();
        socket.set_read_timeout(Some(10 * SHORT)).unwrap();
        assert!(socket.recv(&mut [0; 64]).is_err());
    }
}

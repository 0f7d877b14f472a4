//! The terminal on which a user presses Enter while the module waits for an approval.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read};
use rustix::process::{getpgrp, getsid};
use rustix::termios::{tcgetpgrp, tcgetsid};
use rustix::time::Timespec;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// The time for which Ctrl-C may have no effect in a program that blocks its signal.
const GLANCE: Duration = Duration::from_millis(100);
/// The other end of the terminal is gone.
const HUNG_UP: PollFlags = PollFlags::HUP.union(PollFlags::ERR).union(PollFlags::NVAL);

/// The terminal of the process. Its settings are not changed, so Ctrl-C does what it did before.
pub(crate) struct Terminal(OwnedFd);

impl Terminal {
    /// Opens the terminal that the program names, if it is the one that controls this process. A
    /// daemon that was started in a shell has the terminal of another user.
    pub(crate) fn open(name: &str) -> Option<Terminal> {
        let path = Path::new("/dev").join(name);
        if path.components().any(|part| part.as_os_str() == "..") || !path.starts_with("/dev") {
            return None;
        }
        // NONBLOCK: the line of a modem would be waited for.
        let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = open(&path, flags, Mode::empty()).ok()?;
        // Fails for everything else than the controlling terminal.
        let ours = tcgetsid(&file).is_ok_and(|session| getsid(None) == Ok(session));
        ours.then_some(Terminal(file))
    }

    /// Waits until the user presses Enter, Ctrl-D or Ctrl-C, or hangs up.
    pub(crate) fn pressed_enter(&mut self, within: Duration) -> bool {
        let end = Instant::now() + within;
        loop {
            if interrupted() {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            let Ok(timeout) = Timespec::try_from(left.min(GLANCE)) else { return false };
            let mut waited = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut waited, Some(&timeout)) {
                Ok(0) => {}
                // A user whose terminal has hung up presses nothing more, and sudo blocks the
                // signal for it.
                Ok(_) if waited[0].revents().intersects(HUNG_UP) || self.entered() => return true,
                // Signals of the program, such as the end of a child, do not end the wait.
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => std::thread::sleep(left.min(GLANCE)),
            }
            if left.is_zero() {
                return false;
            }
        }
    }

    /// Takes a line, and whether there was one.
    fn entered(&mut self) -> bool {
        // A process in the background would be stopped if it read.
        match tcgetpgrp(&self.0) {
            Ok(foreground) if foreground == getpgrp() => {}
            Ok(_) => {
                std::thread::sleep(Duration::from_millis(50));
                return false;
            }
            // The terminal no longer belongs to this process.
            Err(_) => return true,
        }
        // Terminals pass on whole lines. A line has at most 4096 bytes, and further lines are
        // left for the program.
        let mut line = zeroize::Zeroizing::new([0; 4096]);
        !matches!(read(&self.0, &mut line[..]), Err(Errno::INTR | Errno::AGAIN))
    }
}

/// Returns whether Ctrl-C or Ctrl-\ was pressed in a program that blocks their signals while PAM
/// works, as sudo does. It gets them when the module has returned; in other programs they act at
/// once.
fn interrupted() -> bool {
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written to before it is read, and both are signals.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0
            && (libc::sigismember(pending.as_ptr(), libc::SIGINT) == 1
                || libc::sigismember(pending.as_ptr(), libc::SIGQUIT) == 1)
    }
}

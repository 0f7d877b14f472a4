//! The progress of an import, on a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// The interval at which the line is written again.
const APART: Duration = Duration::from_millis(200);
const WIDTH: u64 = 24;

pub(super) struct Progress {
    /// The bytes of the file, if they are known.
    total: Option<u64>,
    begun: Instant,
    /// The time at which it was shown last, or the import began; `None` if there is no terminal.
    shown: Option<Instant>,
    is_shown: bool,
}

impl Progress {
    pub(super) fn new(total: Option<u64>) -> Progress {
        let begun = Instant::now();
        let is_terminal = std::io::stderr().is_terminal();
        Progress { total, begun, shown: is_terminal.then_some(begun), is_shown: false }
    }

    /// Shows how many users and bytes were read.
    pub(super) fn show(&mut self, users: u64, bytes: u64) {
        if self.shown.is_none_or(|shown| shown.elapsed() < APART) {
            return;
        }
        let text = line(self.total, users, bytes, self.begun.elapsed());
        let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        (self.shown, self.is_shown) = (Some(Instant::now()), true);
    }

    /// Removes the line, so that something else can be written there.
    pub(super) fn hide(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

fn line(total: Option<u64>, users: u64, bytes: u64, elapsed: Duration) -> String {
    let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    let rate = users.saturating_mul(1000) / milliseconds;
    let Some(total) = total.filter(|total| *total > 0) else {
        return format!("{users} users, {rate}/s");
    };
    let bytes = bytes.min(total);
    let done = usize::try_from(bytes.saturating_mul(WIDTH) / total).unwrap_or(0);
    let bar = format!("{}{}", "#".repeat(done), ".".repeat(WIDTH as usize - done));
    let left = match bytes {
        0 => String::new(),
        bytes => {
            let left = u128::from(total - bytes) * u128::from(milliseconds) / u128::from(bytes);
            format!(", {} left", duration(u64::try_from(left / 1000).unwrap_or(u64::MAX)))
        }
    };
    format!("[{bar}] {} %, {users} users, {rate}/s{left}", bytes.saturating_mul(100) / total)
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_and_the_time_that_is_left_are_shown() {
        let of = |bytes| line(Some(1000), 600, bytes, Duration::from_secs(2));
        assert_eq!(of(250), "[######..................] 25 %, 600 users, 300/s, 6 s left");
        assert_eq!(of(1000), format!("[{}] 100 %, 600 users, 300/s, 0 s left", "#".repeat(24)));
        assert_eq!(of(0), format!("[{}] 0 %, 600 users, 300/s", ".".repeat(24)));
        assert_eq!(of(2000), of(1000), "a file that grows");
        assert_eq!(line(None, 600, 5, Duration::from_secs(2)), "600 users, 300/s");
        assert_eq!(line(None, 0, 0, Duration::ZERO), "0 users, 0/s");
        assert_eq!(duration(3725), "1 h 2 min");
        assert_eq!(duration(125), "2 min 5 s");
    }
}

//! A program on a terminal, and the authenticator app of the user who sits there.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a thread reads the terminal, and apps have clocks")]

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use seconder::otp::Totp;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a program may take for what a test waits for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program on a terminal of its own, of which it is the controlling process.
pub(crate) struct Terminal {
    screen: File,
    child: Child,
    output: Receiver<Vec<u8>>,
    /// What was shown after what the test has waited for.
    shown: String,
}

impl Terminal {
    pub(crate) fn start(program: Command, columns: u16) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let end = || OpenOptions::new().read(true).write(true).open(&name).unwrap();
        // Under nohup and in the background, Ctrl-C is ignored by what the tests start.
        let mut command = Command::new("env");
        command.args(["--default-signal", "setsid", "--ctty", "--wait"]);
        command.arg(program.get_program()).args(program.get_args());
        command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        drop(command);
        let screen = File::from(master);
        let (mut reader, (send, output)) = (screen.try_clone().unwrap(), channel());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // It fails when the last program that has the terminal ends.
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                if send.send(bytes[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal { screen, child, output, shown: String::new() }
    }

    /// Waits until this is shown, and returns what was shown before it.
    pub(crate) fn until(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.shown.find(text) {
                let rest = self.shown.split_off(at + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            let Ok(bytes) = self.output.recv_timeout(PATIENCE) else {
                panic!("`{text}` was not shown, but:\n{}", self.shown);
            };
            self.shown += &String::from_utf8_lossy(&bytes);
        }
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.screen.write_all(text.as_bytes()).unwrap();
    }

    /// What was shown until the program ended, and how it ended.
    pub(crate) fn end(mut self) -> (String, ExitStatus) {
        loop {
            match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => self.shown += &String::from_utf8_lossy(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it did not end, but:\n{}", self.shown),
            }
        }
        (std::mem::take(&mut self.shown), self.child.wait().unwrap())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The app whose key a terminal shows.
pub(crate) fn app(shown: &str) -> Totp {
    let key = shown.lines().find_map(|line| line.trim().strip_prefix("key ")).unwrap();
    Totp::from_uri(&format!("otpauth://totp/x?secret={}", key.replace(' ', ""))).unwrap()
}

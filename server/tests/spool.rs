//! The spool folder of `seconder serve`, as an operator sees it.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::Settings;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// A running `seconder serve`, and its log.
struct Running {
    child: Child,
    log: BufReader<ChildStderr>,
    url: String,
}

impl Running {
    fn start(folder: &Path) -> Running {
        let mut child = Command::new(env!("CARGO_BIN_EXE_seconder"))
            .current_dir(folder)
            .args(["serve", "--log-format=human", "--listen", "127.0.0.1:0", "--self-signed"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut running = Running { child, log, url: String::new() };
        let line = running.line("listening on ");
        running.url = line.split_once("listening on ").unwrap().1.trim().to_owned();
        running
    }

    /// The next line of the log that has this part.
    fn line(&mut self, part: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.log.read_line(&mut line).unwrap(), 0, "the log ended before: {part}");
            if line.contains(part) {
                return line;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_spool_folder_that_cannot_be_written_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    // Not a folder: root could write to any.
    fs::write(folder.path().join("seconder.spool"), "").unwrap();
    let mut running = Running::start(folder.path());
    let database = format!("sqlite:{}", folder.path().join("seconder.db").display());
    let key = seconder::open(&database).unwrap().engine().unwrap().api_key().expose().to_owned();
    let ca_file = folder.path().join("seconder-certificate.pem");
    let client = Settings::new(&running.url).api_key(key).ca_file(ca_file).open().unwrap();
    let user = client.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    client.request_sms(user).unwrap_err();
    let line = running.line("was lost");
    assert!(line.contains("by sms to the number ending in 23 was lost"), "{line}");
    assert!(line.contains("cannot write to the spool folder seconder.spool"), "{line}");
    assert!(!line.contains("0100123"), "{line}");
    let digits = |word: &str| word.len() >= 6 && word.bytes().all(|byte| byte.is_ascii_digit());
    assert!(!line.split(|c: char| !c.is_alphanumeric()).any(digits), "{line}");
}

#[test]
fn expired_codes_leave_the_spool_folder_without_a_delivery() {
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().join("seconder.spool");
    fs::create_dir(&spool).unwrap();
    // What a process left behind that ended, or was killed while it wrote.
    let expired =
        ["0001000000000-77-000001-0001000600000.txt", ".0001000000000-77-000002-0001000600000"];
    for name in expired {
        fs::write(spool.join(name), "Code: 1234567").unwrap();
    }
    fs::write(spool.join("notes.txt"), "").unwrap();
    let _running = Running::start(folder.path());
    let started = Instant::now();
    while expired.iter().any(|name| spool.join(name).exists()) {
        assert!(started.elapsed() < Duration::from_secs(60), "still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(spool.join("notes.txt").exists());
}

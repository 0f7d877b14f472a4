//! Checks the written lines, and that writing never waits.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use super::entry::Value;
use super::writer::Output;
use super::*;
use serde_json::Value as Json;
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Condvar, Mutex};

/// The text that a stream has written, which waits as long as it is held.
#[derive(Clone, Default)]
struct Stream(Arc<(Mutex<(String, bool)>, Condvar)>);

impl Stream {
    fn hold(&self, is_held: bool) {
        self.0.0.lock().unwrap().1 = is_held;
        self.0.1.notify_all();
    }

    fn text(&self) -> String {
        self.0.0.lock().unwrap().0.clone()
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let state = self.0.0.lock().unwrap();
        let mut state = self.0.1.wait_while(state, |state| state.1).unwrap();
        state.0 += std::str::from_utf8(bytes).unwrap();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const A_MINUTE: Duration = Duration::from_secs(60);

fn wait_for_lines(stream: &Stream, count: u64) {
    let started = std::time::Instant::now();
    while (stream.text().lines().count() as u64) < count {
        assert!(started.elapsed() < A_MINUTE);
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn logger(stream: &Stream, format: fn(&Entry, &mut String)) -> Logger {
    Logger::of(Output::stream(format, stream.clone()), Level::Info)
}

#[test]
fn each_line_is_an_object() {
    let stream = Stream::default();
    let logger = logger(&stream, format::json);
    let hostile = "a \"quote\",\na line\u{1b}[2J and \u{0}";
    let line = Entry::reported("warning: it hangs", Level::Info);
    logger.log(line.with("status", 503).with("reason", hostile.to_owned()).with("call", "verify"));
    logger.0.writer.flush(A_MINUTE);
    let text = stream.text();
    assert_eq!(text.lines().count(), 1, "{text}");
    let line: Json = serde_json::from_str(&text).unwrap();
    let time = line["time"].as_str().unwrap();
    assert_eq!((time.len(), time.ends_with('Z')), ("2026-11-23T20:31:05.123456Z".len(), true));
    let names: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["time", "level", "message", "status", "reason", "call"]);
    assert_eq!((&line["level"], &line["message"]), (&"warning".into(), &"it hangs".into()));
    assert_eq!((&line["status"], &line["reason"]), (&503.into(), &hostile.into()));
}

#[test]
fn people_read_text() {
    let stream = Stream::default();
    let logger = logger(&stream, format::human);
    logger.log(Entry::reported("listening", Level::Info));
    logger.log(Entry::reported("error: no disk", Level::Info));
    let line = Entry::new(Level::Info, "GET /path").with("status", 200).with("call", "verify");
    logger.log(line.with("reason", "in \"two\"\nlines".to_owned()).with("id", "7".to_owned()));
    logger.0.writer.flush(A_MINUTE);
    let text = "seconder: listening\nseconder: error: no disk\n\
                seconder: GET /path status=200 call=verify reason=\"in \\\"two\\\"\\nlines\" id=7\n";
    assert_eq!(stream.text(), text);
}

#[test]
fn a_line_begins_with_its_level_if_it_is_another_than_that_of_its_source() {
    for (text, level) in [
        ("info: it closed", Level::Info),
        ("warning: it closed", Level::Warning),
        ("error: it closed", Level::Error),
    ] {
        let line = Entry::reported(text, Level::Warning);
        assert_eq!((line.level, &*line.message), (level, "it closed"));
    }
    assert_eq!(Entry::reported("it closed", Level::Warning).level, Level::Warning);
}

#[test]
fn a_database_that_fails_has_a_line_in_ten_seconds() {
    let stream = Stream::default();
    let logger = logger(&stream, format::human);
    let failed = || Entry::new(Level::Error, REQUEST).with("error", "storage: no disk".to_owned());
    let searched = || Entry::new(Level::Error, "no jobs: storage: no disk");
    let (now, later) = (Instant::now(), Instant::now() + DATABASE_APART);
    let levels = |lines: [Entry; 3], now| lines.map(|line| logger.0.of_database(line, now).level);
    let [error, debug] = [Level::Error, Level::Debug];
    // The line of a request goes before the others.
    assert_eq!(levels([searched(), searched(), failed()], now), [error, debug, error]);
    assert_eq!(levels([failed(), failed(), searched()], now), [debug; 3]);
    let line = logger.0.of_database(failed(), later);
    assert!(
        line.level == error && line.fields.contains(&("left_out", Value::Number(3))),
        "{line:?}"
    );
    assert_eq!(levels([searched(), searched(), failed()], later), [debug; 3]);
    // By the door that all lines take, and only these lines.
    (0..5).for_each(|_| logger.log(Entry::reported("error: storage: no disk", Level::Info)));
    (0..2).for_each(|_| logger.log(Entry::reported("error: no route", Level::Info)));
    logger.0.writer.flush(A_MINUTE);
    let text = stream.text();
    assert_eq!(text.matches("no route").count(), 2);
    assert!(text.matches("no disk").count() <= 1, "{text}");
}

#[test]
fn what_matters_less_than_the_level_is_not_logged() {
    let stream = Stream::default();
    let logger = logger(&stream, format::human);
    for (level, name) in [(Level::Debug, "one"), (Level::Info, "two"), (Level::Error, "three")] {
        logger.log(Entry::new(level, name));
    }
    logger.set_level(Level::Warning);
    logger.log(Entry::new(Level::Info, "four"));
    logger.log(Entry::new(Level::Warning, "five"));
    logger.0.writer.flush(A_MINUTE);
    assert_eq!(stream.text(), "seconder: two\nseconder: error: three\nseconder: warning: five\n");
}

#[test]
fn nobody_waits_for_a_log_that_is_not_read_and_what_is_lost_is_counted() {
    let stream = Stream::default();
    let logger = logger(&stream, format::human);
    stream.hold(true);
    let lines = 20_000;
    for number in 0..lines {
        logger.log(Entry::new(Level::Info, number.to_string()));
    }
    let lost = logger.lost();
    assert!(lost > 0);
    stream.hold(false);
    // All lines that were not lost, and the line that reports the loss: nothing is left in the queue then.
    wait_for_lines(&stream, lines - lost + 1);
    logger.log(Entry::new(Level::Info, "the last"));
    wait_for_lines(&stream, lines - lost + 2);
    let text = stream.text();
    assert_eq!(text.lines().last(), Some("seconder: the last"), "{lost}");
    assert!(text.contains(&format!("seconder: warning: {lost} lines were lost here")), "{lost}");
}

#[cfg(unix)]
#[test]
fn the_journal_receives_fields() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let journal = UnixDatagram::bind(&path).unwrap();
    let logger = Logger::of(Output::journal(&path), Level::Info);
    let line =
        Entry::reported("warning: it hangs", Level::Info).with("request_id", "a1".to_owned());
    logger.log(line.with("status", 503).with("reason", "two\nlines".to_owned()));
    let mut bytes = [0; 1000];
    let length = journal.recv(&mut bytes).unwrap();
    let mut wanted = b"MESSAGE=it hangs\nPRIORITY=4\nSYSLOG_IDENTIFIER=seconder\n\
                       SECONDER_REQUEST_ID=a1\nSECONDER_STATUS=503\nSECONDER_REASON\n"
        .to_vec();
    wanted.extend_from_slice(&[9, 0, 0, 0, 0, 0, 0, 0]);
    wanted.extend_from_slice(b"two\nlines\n");
    assert_eq!(bytes[..length], wanted[..]);
    // The journal is restarted.
    drop(journal);
    std::fs::remove_file(&path).unwrap();
    let journal = UnixDatagram::bind(&path).unwrap();
    logger.log(Entry::new(Level::Error, "again"));
    let length = journal.recv(&mut bytes).unwrap();
    assert!(bytes[..length].starts_with(b"MESSAGE=again\nPRIORITY=3\n"));
}

#[cfg(unix)]
#[test]
fn without_a_journal_lines_have_its_priorities() {
    let mut text = String::new();
    journald::prefixed(&Entry::new(Level::Error, "two\nlines"), &mut text);
    assert_eq!(text, "<3>two\n<3>lines\n");
}

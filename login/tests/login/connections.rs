//! What a login holds of the service while a user is asked.
#![allow(clippy::disallowed_methods, reason = "the service of this test has threads")]

use crate::stage::{Script, Stage, ask};
use seconder_login::{Login, Outcome};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

const STATUS: &str = r#"{"message":"User status.","success":true,"status":{"svc_id":1,
    "confirmed":true,"registered":true,"devices":["ios"],"account_disabled":false}}"#;
const RIGHT: &str = r#"{"message":"Token is valid.","token":"is valid","success":"true"}"#;
const PENDING: &str =
    r#"{"approval_request":{"status":"pending","uuid":"a-1","_svc_id":1},"success":true}"#;
const CREATED: &str = r#"{"approval_request":{"uuid":"a-1"},"success":true}"#;

/// Serves one connection to its end, which only the client makes.
fn serve(mut peer: UnixStream, calls: &AtomicUsize) {
    let mut read = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        match peer.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(count) => read.extend_from_slice(&chunk[..count]),
        }
        let text = String::from_utf8_lossy(&read).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .split_once("content-length: ")
            .map_or(0, |(_, rest)| rest.lines().next().unwrap().parse::<usize>().unwrap());
        if body.len() < length {
            continue;
        }
        let reply = match head.lines().next().unwrap() {
            line if line.contains("/verify/") => RIGHT,
            line if line.starts_with("post") => CREATED,
            line if line.contains("approval_requests") => PENDING,
            _ => STATUS,
        };
        calls.fetch_add(1, SeqCst);
        let length = reply.len();
        // A client keeps no connection to a service that does not name requests.
        let id = head.lines().find(|line| line.starts_with("seconder-request-id: ")).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{id}");
        let response = format!("{head}\r\nContent-Length: {length}\r\n\r\n{reply}");
        peer.write_all(response.as_bytes()).unwrap();
        read.clear();
    }
}

/// How many connections there are, and how many calls were made.
#[derive(Default)]
struct Counts {
    open: AtomicUsize,
    calls: AtomicUsize,
}

fn listen(path: &Path) -> Arc<Counts> {
    let counts = Arc::new(Counts::default());
    let (shared, listener) = (counts.clone(), UnixListener::bind(path).unwrap());
    std::thread::spawn(move || {
        for peer in listener.incoming() {
            let shared = shared.clone();
            shared.open.fetch_add(1, SeqCst);
            std::thread::spawn(move || {
                serve(peer.unwrap(), &shared.calls);
                shared.open.fetch_sub(1, SeqCst);
            });
        }
    });
    counts
}

/// Any user may leave a question of `su` open for hours, and many at once; root's connections to the
/// socket are limited.
#[test]
fn no_connection_is_open_while_a_user_is_asked_or_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sock");
    let counts = listen(&path);
    let stage = Stage::new();
    for (more, says, asked, outcome) in [
        ("", &["no code", "123456"][..], 2, Outcome::Accepted),
        ("method = push\ntries = 1\napproval_timeout = 2", &[], 1, Outcome::Denied),
    ] {
        let mut user = Script::of(says);
        let (shared, before) = (counts.clone(), counts.calls.load(SeqCst));
        let checks = Arc::new(AtomicUsize::new(0));
        let checked = checks.clone();
        user.meanwhile = Some(Box::new(move || {
            assert!(shared.calls.load(SeqCst) > before);
            let began = Instant::now();
            while shared.open.load(SeqCst) > 0 {
                assert!(began.elapsed() < Duration::from_secs(5), "a connection is open");
                std::thread::sleep(Duration::from_millis(2));
            }
            checked.fetch_add(1, SeqCst);
        }));
        let config = stage.config(&format!("url = unix:{}\n{more}", path.display()));
        let service = config.open().unwrap();
        let login = Login { user: "ada", ..Login::default() };
        let ended = ask(&config, &service, &mut user, login);
        assert_eq!(ended.outcome, outcome, "{ended:?}");
        assert!(checks.load(SeqCst) >= asked, "{more}");
    }
}

//! What monitors read of a running `seconder serve`.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod provider;

use provider::{Provider, printed};
use seconder::calls::RequestSms;
use seconder::model::UserId;
use seconder::{Handle, Service, Settings};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// A running `seconder serve`, a client of it, and where its metrics are.
struct Running {
    child: Child,
    client: Service,
    metrics: String,
    /// So that it can write its log.
    _log: BufReader<ChildStderr>,
}

impl Running {
    fn start(folder: &Path) -> Running {
        let mut child = Command::new(env!("CARGO_BIN_EXE_seconder"))
            .current_dir(folder)
            .args(["serve", "--listen", "127.0.0.1:0", "--self-signed"])
            .args(["--metrics", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let url = after(&mut log, "listening on ");
        let metrics = after(&mut log, "metrics: http://");
        let key = printed(folder, &["key"]);
        let ca_file = folder.join("seconder-certificate.pem");
        let client = Settings::new(&url).api_key(key.trim()).ca_file(ca_file).open().unwrap();
        let metrics = metrics.strip_suffix("/metrics").unwrap().to_owned();
        Running { child, client, metrics, _log: log }
    }

    fn user(&self) -> UserId {
        self.client.create_user("ada@example.com", "2025550123", "1").unwrap().user_id
    }

    /// The status and the body of the response to a request.
    fn ask(&self, method: &str, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.metrics).unwrap();
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// The value of a metric with these labels, if there is one.
    fn value(&self, name: &str) -> Option<f64> {
        let (status, text) = self.ask("GET", "/metrics");
        assert_eq!(status, 200, "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map(|value| value.trim().parse().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What follows this part in the next line of the log that has it.
fn after(log: &mut BufReader<ChildStderr>, part: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "the log ended before: {part}");
        if let Some((_, rest)) = line.split_once(part) {
            return rest.trim().to_owned();
        }
    }
}

#[test]
fn attempts_are_counted_by_route_kind_and_outcome() {
    let folder = tempfile::tempdir().unwrap();
    drop(seconder::open(&format!("sqlite:{}", folder.path().join("seconder.db").display())));
    let (broken, good) = (Provider::start(503), Provider::start(200));
    broken.set_route(folder.path(), "broken", &["priority=1"]);
    good.set_route(folder.path(), "good", &["priority=2"]);
    let service = Running::start(folder.path());
    let user = service.user();
    service.client.handle(&RequestSms { force: true, ..RequestSms::new(user) }).unwrap();
    let sent = r#"seconder_attempts_total{route="good",kind="sms",outcome="sent"}"#;
    let retry = r#"seconder_attempts_total{route="broken",kind="sms",outcome="retry"}"#;
    assert_eq!((service.value(sent), service.value(retry)), (Some(1.0), Some(1.0)));
    let count = r#"seconder_attempt_duration_seconds_count{route="good",kind="sms"}"#;
    assert_eq!(service.value(count), Some(1.0));
    let closed = r#"seconder_route_breaker{route="good",state="closed"}"#;
    let open = r#"seconder_route_breaker{route="good",state="open"}"#;
    assert_eq!((service.value(closed), service.value(open)), (Some(1.0), Some(0.0)));
    let latency = r#"seconder_jobs_latency_seconds{route="good",kind="sms",quantile="0.99"}"#;
    assert!(service.value(latency).unwrap() < 60.0);
    let (_, text) = service.ask("GET", "/metrics");
    assert!(!text.contains("2025550123") && !text.contains("50123"), "{text}");
}

#[test]
fn messages_that_wait_are_counted_with_the_age_of_the_oldest() {
    let folder = tempfile::tempdir().unwrap();
    drop(seconder::open(&format!("sqlite:{}", folder.path().join("seconder.db").display())));
    Provider::start(503).set_route(folder.path(), "only", &[]);
    let service = Running::start(folder.path());
    let user = service.user();
    service.client.handle(&RequestSms { force: true, ..RequestSms::new(user) }).unwrap();
    // While an attempt is made, which is repeated, it is leased. Both are counted at one time.
    let (_, text) = service.ask("GET", "/metrics");
    let in_state = |state: &str| {
        let name = format!("seconder_jobs{{route=\"only\",kind=\"sms\",state=\"{state}\"}} 1");
        text.lines().any(|line| line == name)
    };
    assert!(in_state("waiting") != in_state("leased"), "{text}");
    let oldest = r#"seconder_jobs_oldest_seconds{route="only",kind="sms"}"#;
    let (started, first) = (Instant::now(), service.value(oldest).unwrap());
    // They are counted every few seconds.
    while service.value(oldest).unwrap() <= first {
        assert!(started.elapsed() < Duration::from_secs(60), "{first}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_service_is_ready_as_long_as_its_database_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let service = Running::start(folder.path());
    assert_eq!(service.ask("GET", "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(service.ask("GET", "/readyz"), (200, "ready\n".to_owned()));
    assert_eq!(service.value("seconder_database_up"), Some(1.0));
    fs::rename(folder.path().join("seconder.db"), folder.path().join("gone.db")).unwrap();
    assert_eq!(service.ask("GET", "/healthz").0, 200);
    // What was read a moment ago counts.
    let started = Instant::now();
    while service.ask("GET", "/readyz").0 == 200 {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(service.ask("GET", "/readyz"), (503, "the database does not respond\n".to_owned()));
    while service.value("seconder_database_up") != Some(0.0) {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(100));
    }
    // What the process knows by itself stays.
    assert_eq!(
        service.value(concat!(
            r#"seconder_build_info{version=""#,
            env!("CARGO_PKG_VERSION"),
            r#""}"#
        )),
        Some(1.0)
    );
}

#[test]
fn nothing_but_metrics_and_probes_is_served_there() {
    let folder = tempfile::tempdir().unwrap();
    let service = Running::start(folder.path());
    for path in ["/", "/protected/json/app/details", "/metrics/", "/receipts/good/secret"] {
        assert_eq!(service.ask("GET", path).0, 404, "{path}");
    }
    assert_eq!(service.ask("POST", "/metrics").0, 405);
    assert_eq!(service.ask("HEAD", "/healthz"), (200, String::new()));
}

#[test]
fn an_address_that_is_taken_is_an_error_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--self-signed", "--metrics", &addr];
    let error = provider::error(folder.path(), &arguments);
    assert!(error.contains("metrics") && error.contains("cannot be bound"), "{error}");
    assert!(!folder.path().join("seconder.db").exists());
}

//! What monitors read of a running `seconder serve`.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::provider::{Provider, error, printed};
use crate::serving::{PUBLIC, Running, database, set_route, wait_until};
use seconder::calls::{Channel, StartPhoneVerification, Verify};
use seconder::engine::Forwarding;
use seconder::{Error, Handle, Verdict};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A running `seconder serve`, and where its metrics are.
struct Monitored {
    running: Running,
    metrics: String,
}

impl Monitored {
    fn start(folder: &Path) -> Monitored {
        Monitored::with(folder, &[])
    }

    fn with(folder: &Path, options: &[&str]) -> Monitored {
        let options = [&["--metrics", "127.0.0.1:0"], options].concat();
        let running = Running::start(folder, &options);
        wait_until("metrics", || running.log().contains("/metrics\n"));
        let log = running.log();
        let (_, rest) = log.split_once("metrics: http://").unwrap();
        let metrics = rest.split_once("/metrics\n").unwrap().0.to_owned();
        Monitored { running, metrics }
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

#[test]
fn attempts_are_counted_by_route_kind_and_outcome() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path());
    let (broken, good) = (Provider::start(503), Provider::start(200));
    broken.set_route(folder.path(), "broken", &["priority=1"]);
    good.set_route(folder.path(), "good", &["priority=2"]);
    let service = Monitored::start(folder.path());
    service.running.send_code("2025550123", false);
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
    let used = r#"seconder_codes_used_total{route="good"}"#;
    assert_eq!(service.value(used), Some(0.0));
    let user = "1".parse().unwrap();
    let verify = |code: &str| {
        let call = Verify { force: true, ..Verify::new(user, code.parse().unwrap()) };
        service.running.client.handle(&call).unwrap().verdict
    };
    let code = good.received()[0]["code"].as_str().unwrap().to_owned();
    let wrong = if code.starts_with('0') { "1111111" } else { "0000000" };
    assert_eq!((verify(wrong), verify(&code)), (Verdict::Wrong, Verdict::Right));
    assert_eq!(service.value(used), Some(1.0), "it went by the second route");
    let threads = r#"seconder_call_threads{pool="waiting"}"#;
    // A thread that has just responded may not be idle yet when the next call arrives, and idle ones end.
    assert!(service.value(threads).is_some_and(|threads| threads <= 2.0));
    let requests = r#"seconder_requests_total{call="request_sms",status="200",verdict="",app="1"}"#;
    assert_eq!(service.value(requests), Some(1.0));
    let took = r#"seconder_request_duration_seconds_count{call="request_sms"}"#;
    assert_eq!(service.value(took), Some(1.0));
    let refused = r#"seconder_calls_refused_total{pool="calls"}"#;
    assert_eq!(service.value(refused), Some(0.0));
    let (_, text) = service.ask("GET", "/metrics");
    assert!(!text.contains("2025550123") && !text.contains("50123"), "{text}");
}

#[test]
fn a_number_that_the_provider_refuses_is_no_failure_of_the_service() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path());
    Provider::start(404).set_route(folder.path(), "only", &["number_status=404"]);
    let service = Monitored::start(folder.path());
    let verify = StartPhoneVerification::new(
        Channel::Sms,
        "2025550123".parse().unwrap(),
        "1".parse().unwrap(),
    );
    let error = service.running.new_client().handle(&verify).unwrap_err();
    let Error::Rejected(rejection) = &error else { panic!("{error}") };
    assert_eq!((rejection.status, error.code()), (400, Some("number_refused")));
    let call = "call=\"start_phone_verification\"";
    assert_eq!(service.value(&format!("seconder_requests_failed_total{{{call}}}")), Some(0.0));
    let answered =
        format!("seconder_requests_total{{{call},status=\"400\",verdict=\"\",app=\"1\"}}");
    assert_eq!(service.value(&answered), Some(1.0));
    let attempts = r#"seconder_attempts_total{route="only",kind="sms",outcome="number_refused"}"#;
    assert_eq!(service.value(attempts), Some(1.0));
}

#[test]
fn messages_that_wait_are_counted_with_the_age_of_the_oldest() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path());
    Provider::start(503).set_route(folder.path(), "only", &[]);
    let service = Monitored::start(folder.path());
    service.running.send_code("2025550123", false);
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
    let service = Monitored::start(folder.path());
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
    assert_eq!(
        service.ask("GET", "/readyz"),
        (503, "the database does not respond, or takes no writes\n".to_owned())
    );
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
fn a_request_that_fails_in_the_service_is_counted_and_logged_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let service = Monitored::start(folder.path());
    let create = || service.running.client.create_user("ada@example.com", "2025550123", "1");
    create().unwrap();
    let failed = r#"seconder_requests_failed_total{call="create_user"}"#;
    assert_eq!(service.value(failed), Some(0.0));
    fs::rename(folder.path().join("seconder.db"), folder.path().join("gone.db")).unwrap();
    let error = create().unwrap_err().to_string();
    assert!(error.contains("Internal error.") && !error.contains("seconder.db"), "{error}");
    wait_until("a line", || service.running.log().contains("call=create_user status=503"));
    let log = service.running.log();
    let line = log.lines().find(|line| line.contains("status=503")).unwrap();
    assert!(line.starts_with("seconder: error: request method=POST"), "{line}");
    assert!(line.contains("error=\"storage: ") && line.contains("seconder.db"), "{line}");
    assert!(!line.contains("ada@") && !line.contains("50123"), "{line}");
    assert_eq!(service.value(failed), Some(1.0));
}

#[test]
fn a_request_whose_client_goes_away_is_logged_with_what_became_of_it() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path());
    let (seen, gone) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (to_see, is_gone) = (Arc::clone(&seen), Arc::clone(&gone));
    let provider = Provider::deciding(move |_, _| {
        to_see.store(true, Ordering::Relaxed);
        wait_until("the client to go", || is_gone.load(Ordering::Relaxed));
        503
    });
    let mut settings = provider.settings();
    settings["timeout"] = 30.into();
    set_route(folder.path(), "slow", &settings);
    let service = Monitored::start(folder.path());
    let user = service.running.client.create_user("ada@example.com", "2025550123", "1").unwrap();
    let key = printed(folder.path(), &["key"]);
    let request = format!(
        "GET /protected/json/sms/{}?force=true HTTP/1.1\r\nHost: localhost\r\n\
         X-Svc-API-Key: {}\r\nSeconder-Request-Id: gone\r\n\r\n",
        user.user_id,
        key.trim()
    );
    let mut stream = service.running.at.connect();
    stream.write_all(request.as_bytes()).unwrap();
    wait_until("a message", || seen.load(Ordering::Relaxed));
    stream.sock.shutdown(Shutdown::Write).unwrap();
    // The service closes its end once it knows.
    let _ = stream.sock.read_to_end(&mut Vec::new());
    assert!(!service.running.log().contains("request_id=gone"));
    gone.store(true, Ordering::Relaxed);
    wait_until("a line", || service.running.log().contains("request_id=gone"));
    let log = service.running.log();
    let line = log.lines().find(|line| line.contains("request_id=gone")).unwrap();
    let expected =
        "request method=GET path=/protected/{format}/sms/{svc_id} call=request_sms status=499 ";
    assert!(line.contains(expected), "{line}");
    let count = r#"seconder_requests_total{call="request_sms",status="499",verdict="",app="1"}"#;
    assert_eq!(service.value(count), Some(1.0));
}

#[test]
fn a_decision_is_found_by_the_id_of_its_request() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path());
    let service = Monitored::start(folder.path());
    let user = service.running.client.create_user("ada@example.com", "2025550123", "1").unwrap();
    let key = printed(folder.path(), &["key"]);
    let request = format!(
        "POST /-/json/users/{}/unlock HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         X-Svc-API-Key: {}\r\nSeconder-Request-Id: joined\r\nContent-Length: 0\r\n\r\n",
        user.user_id,
        key.trim()
    );
    let mut stream = service.running.at.connect();
    stream.write_all(request.as_bytes()).unwrap();
    let _ = stream.sock.read_to_end(&mut Vec::new());
    wait_until("a line", || service.running.log().contains("request_id=joined app_id=1"));
    let audit = printed(folder.path(), &["audit", "--call", "unlock_user"]);
    assert!(audit.trim_end().ends_with("request_id=joined"), "{audit}");
}

#[test]
fn connections_that_are_closed_before_a_request_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path());
    let options = ["--trusted-proxies", "127.0.0.1", "--proxy-protocol"];
    let service = Monitored::with(folder.path(), &options);
    let places = r#"seconder_connections_refused_total{reason="places"}"#;
    let header = r#"seconder_connections_refused_total{reason="proxy_header"}"#;
    assert_eq!((service.value(places), service.value(header)), (Some(0.0), Some(0.0)));
    let mut stream = TcpStream::connect(service.running.at.addr()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let _ = stream.read_to_end(&mut Vec::new());
    wait_until("a closed connection", || service.value(header) == Some(1.0));
}

#[test]
fn nothing_but_metrics_and_probes_is_served_there() {
    let folder = tempfile::tempdir().unwrap();
    let service = Monitored::start(folder.path());
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
    let arguments = [
        "serve",
        "--log-format=human",
        "--listen",
        "127.0.0.1:0",
        "--self-signed",
        "--metrics",
        &addr,
    ];
    let error = error(folder.path(), &arguments);
    assert!(error.contains("metrics") && error.contains("cannot be bound"), "{error}");
    assert!(!folder.path().join("seconder.db").exists());
}

#[test]
fn the_manual_has_every_metric() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path());
    printed(folder.path(), &["limits", "completion_min=1"]);
    let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
    let moving = seconder::open(&url).unwrap();
    Forwarding::begin(moving.require_engine().unwrap()).unwrap();
    let receipts = ["receipt_id=id", "receipt_state=state", r#"receipt_delivered=["delivered"]"#];
    Provider::start(200).set_route(folder.path(), "only", &receipts);
    let service = Monitored::with(folder.path(), &["--operator-listen", "0"]);
    service.running.send_code("2025550123", false);
    let url =
        printed(folder.path(), &["route", "show", "only", "--receipts", "--public-url", PUBLIC]);
    assert_eq!(service.running.at.send("POST", url.trim(), "application/json", "{}").0, 400);
    let unreadable = r#"seconder_receipts_total{route="only",state="unreadable"}"#;
    assert_eq!(service.value(unreadable), Some(1.0));
    let (_, text) = service.ask("GET", "/metrics");
    // Those of a counter, a histogram and a version have endings of their own.
    let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let served: BTreeSet<String> = kinds
        .map(|line| match line.split_once(' ').unwrap() {
            (name, "counter") => format!("{name}_total"),
            (name, "info") => format!("{name}_info"),
            (name, _) => name.to_owned(),
        })
        .collect();
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md");
    let manual = fs::read_to_string(manual).unwrap();
    let rows = manual.lines().filter_map(|line| line.strip_prefix("| `seconder_"));
    let named: BTreeSet<String> =
        rows.map(|row| format!("seconder_{}", row.split('`').next().unwrap())).collect();
    assert_eq!(served, named);
    let alerts =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/monitoring/seconder-alerts.yml");
    let alerts = fs::read_to_string(alerts).unwrap();
    let alerts: BTreeSet<_> =
        alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let explained =
        words(&manual).filter(|word| word.starts_with("Seconder") && *word != "Seconder");
    assert_eq!(alerts, explained.collect());
    // What the alerts and the dashboard ask for is there.
    for file in ["seconder-alerts.yml", "seconder-dashboard.json"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/monitoring");
        let file = fs::read_to_string(Path::new(folder).join(file)).unwrap();
        let asked: BTreeSet<&str> =
            words(&file).filter(|word| word.starts_with("seconder_")).collect();
        assert!(asked.len() > 10, "{asked:?}");
        for metric in asked {
            let metric = metric.strip_suffix("_bucket").unwrap_or(metric);
            assert!(served.contains(metric), "{metric}");
        }
        // Those by which their values are grouped, beside those that Prometheus adds.
        let grouped = file.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
        for label in grouped.flat_map(words).filter(|label| *label != "instance") {
            let of_metric = |line: &&str| words(line).any(|word| word == label);
            assert!(text.lines().any(|line| of_metric(&line)), "{label}");
        }
    }
}

/// The names in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    text.split(ends).filter(|word| !word.is_empty())
}

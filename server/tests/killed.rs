//! A service that is killed again and again loses no message that it has acknowledged.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "the provider and the clients need threads")]

mod provider;

use provider::Provider;
use seconder::calls::RequestSms;
use seconder::engine::AuditFilter;
use seconder::model::UserId;
use seconder::{Handle, Service, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the service is killed, once a second. More by SECONDER_KILLS.
const KILLS: u64 = 5;
const USERS: u64 = 400;

fn serve(folder: &Path, port: u16) -> Child {
    let listen = format!("127.0.0.1:{port}");
    let mut child = Command::new(env!("CARGO_BIN_EXE_seconder"))
        .current_dir(folder)
        .args(["serve", "--listen", &listen, "--self-signed", "--limit"])
        .arg("number_10_minutes=0 number_day=0 sends=100")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("listening on ") {
        line.clear();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "the service did not start");
    }
    // Nobody reads what it logs, so that must not block it.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    child
}

/// A client of the service, whose certificate is another one after each start.
fn client(folder: &Path, port: u16, key: &str) -> seconder::Result<Service> {
    let url = format!("https://127.0.0.1:{port}");
    let ca_file = folder.join("seconder-certificate.pem");
    Settings::new(&url).api_key(key).ca_file(ca_file).timeout(Duration::from_secs(5)).open()
}

/// Requests a code for one user after the other, until the test ends. Returns who was promised one.
fn request(
    connect: impl Fn() -> seconder::Result<Service>,
    users: &Mutex<Vec<UserId>>,
    stop: &AtomicBool,
) -> Vec<UserId> {
    let mut promised = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let Ok(client) = connect() else { continue };
        while let Some(user) = users.lock().unwrap().pop() {
            // A call that failed may still send a message; nothing was promised.
            let call = RequestSms { force: true, ..RequestSms::new(user) };
            match client.handle(&call) {
                Ok(_) => promised.push(user),
                Err(_) => break,
            }
            // So that the load lasts until the last kill.
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    promised
}

#[test]
fn every_message_that_was_acknowledged_is_sent_and_none_twice_with_different_ids() {
    let folder = tempfile::tempdir().unwrap();
    let kills = std::env::var("SECONDER_KILLS").ok();
    let kills = kills.map_or(KILLS, |kills| kills.parse().unwrap());
    let provider = Provider::start(200);
    let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
    let engine = seconder::open(&url).unwrap();
    let numbers: BTreeMap<UserId, String> = (0..USERS * kills / KILLS)
        .map(|number| {
            let number = format!("2025{number:06}");
            let user = engine.create_user("ada@example.com", &number, "1").unwrap().user_id;
            (user, format!("+1{number}"))
        })
        .collect();
    provider.set_route(folder.path(), "only", &["workers=8"]);
    let key = engine.engine().unwrap().api_key().expose().to_owned();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = serve(folder.path(), port);
    let (users, stop) = (Mutex::new(numbers.keys().copied().collect()), AtomicBool::new(false));
    let connect = || client(folder.path(), port, &key);
    let promised: BTreeSet<UserId> = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..4).map(|_| scope.spawn(|| request(connect, &users, &stop))).collect();
        for _ in 0..kills {
            std::thread::sleep(Duration::from_secs(1));
            child.kill().unwrap();
            child.wait().unwrap();
            child = serve(folder.path(), port);
        }
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    assert!(promised.len() > 10, "{}", promised.len());
    // Those whose attempt was killed follow when their leases are over.
    let sent = || -> BTreeSet<String> {
        provider.received().iter().map(|sent| sent["to"].as_str().unwrap().to_owned()).collect()
    };
    let is_sent = |user: &UserId, sent: &BTreeSet<String>| sent.contains(&numbers[user]);
    let started = Instant::now();
    loop {
        let sent = sent();
        if promised.iter().all(|user| is_sent(user, &sent)) {
            break;
        }
        let missing = promised.iter().filter(|user| !is_sent(user, &sent)).count();
        assert!(started.elapsed() < Duration::from_secs(120), "{missing} were not sent");
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for sent in provider.received() {
        let text = |key: &str| sent[key].as_str().unwrap().to_owned();
        ids.entry(text("to")).or_default().insert(text("id"));
    }
    let twice: Vec<_> = ids.iter().filter(|(_, ids)| ids.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let page = engine.engine().unwrap().audit(&AuditFilter::default(), None, 1000).unwrap();
    let failed = page.entries.iter().filter(|entry| entry.verdict == "not_delivered").count();
    assert_eq!(failed, 0);
}

//! More calls at once than the service can handle: some are refused at once, and the others are answered.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a clock of the test shows the time of the machine")]

use crate::common::{HttpReply, KEY, World, connect};
use rustls::{ClientConnection, StreamOwned};
use seconder::engine::{Clock, Message};
use seconder::{Settings, Verdict};
use seconder_server::{Server, Tls};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime};

const DETAILS: &str = "/protected/json/app/details";

/// Sends a request, and leaves its response.
fn send(server: &Server, target: &str) -> StreamOwned<ClientConnection, TcpStream> {
    let mut stream = connect(server.addr(), server.certificate_pem());
    let head = "Host: localhost\r\nConnection: close\r\n";
    write!(stream, "GET {target} HTTP/1.1\r\n{head}X-Svc-API-Key: {KEY}\r\n\r\n").unwrap();
    stream.flush().unwrap();
    stream
}

fn status(stream: &mut StreamOwned<ClientConnection, TcpStream>) -> String {
    let mut response = String::new();
    // Whoever closes a connection without a farewell has sent all the same.
    let _ = stream.read_to_string(&mut response);
    response.split(' ').nth(1).unwrap_or_default().to_owned()
}

/// A clock that hangs, as a database would.
#[derive(Clone, Default)]
struct Hanging(Arc<(Mutex<bool>, Condvar)>);

impl Hanging {
    fn set(&self, hangs: bool) {
        *self.0.0.lock().unwrap() = hangs;
        self.0.1.notify_all();
    }
}

impl Clock for Hanging {
    fn now(&self) -> Duration {
        drop(self.0.1.wait_while(self.0.0.lock().unwrap(), |hangs| *hangs).unwrap());
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap()
    }
}

#[test]
fn calls_are_refused_at_once_while_others_wait_for_too_long() {
    let clock = Hanging::default();
    let world = World::with(|settings| settings.clock(clock.clone()));
    let user = world.client().create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    clock.set(true);
    // One more than there are threads: the last one waits, and those that were sent after it had waited for
    // long would be refused.
    let mut waiting: Vec<_> = (0..65).map(|_| send(&world.server, DETAILS)).collect();
    let begun = Instant::now();
    let refused = loop {
        // A client that has gone is not waited for.
        let mut probe = send(&world.server, DETAILS);
        probe.sock.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let mut response = Vec::new();
        let _ = probe.read_to_end(&mut response);
        if !response.is_empty() {
            break HttpReply::read(&String::from_utf8(response).unwrap());
        }
        assert!(begun.elapsed() < Duration::from_secs(60));
    };
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), "1");
    let message = "The service has too many calls at once. Try again later.";
    let body = json!({"message": message, "success": false, "errors": {"message": message}});
    assert_eq!(refused.body, body);
    // In the form of the call, and clients know that they may try again.
    let (token, client) = ("1234567".parse().unwrap(), world.client());
    let error = client.verify(user, &token).unwrap_err();
    assert!(matches!(error, seconder::Error::RateLimited { .. }), "{error}");
    clock.set(false);
    // Nobody who was not refused is.
    let statuses: Vec<_> = waiting.iter_mut().map(status).collect();
    assert!(statuses.iter().all(|status| status == "200"), "{statuses:?}");
    let begun = Instant::now();
    // The earlier probes may still be in the queue.
    while world.request("GET", DETAILS, None).status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn calls_that_wait_for_a_gateway_hold_up_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let gate: Arc<(Mutex<(bool, usize)>, Condvar)> = Arc::default();
    let (held, database) = (Arc::clone(&gate), folder.path().join("test.db"));
    let deliver = move |_: &Message| {
        let mut state = held.0.lock().unwrap();
        state.1 += 1;
        held.1.notify_all();
        drop(held.1.wait_while(state, |state| !state.0).unwrap());
        Ok(())
    };
    let settings = Settings::new(&format!("sqlite:{}", database.display())).api_key(KEY);
    let limits = "key_rate=0 number_10_minutes=0 number_day=0 country_day=0 application_day=0";
    let service = settings.deliver(deliver).limits(limits).open().unwrap();
    let users: Vec<_> = (0..140)
        .map(|number| {
            let number = format!("555-010-{number:04}");
            service.create_user("ada@example.com", &number, "1").unwrap().user_id
        })
        .collect();
    let server = Server::start(service, "127.0.0.1:0".parse().unwrap(), Tls::SelfSigned).unwrap();
    let request = |user| send(&server, &format!("/protected/json/sms/{user}"));
    let mut waiting: Vec<_> = users.iter().map(request).collect();
    let is_held = |state: &mut (bool, usize)| state.1 < 128;
    let minute = Duration::from_secs(60);
    let held = gate.1.wait_timeout_while(gate.0.lock().unwrap(), minute, is_held).unwrap();
    assert!(!held.1.timed_out(), "{} messages are being delivered", held.0.1);
    drop(held);
    // All threads for such calls wait for the gateway, and more calls for those.
    let pem = folder.path().join("ca.pem");
    std::fs::write(&pem, server.certificate_pem()).unwrap();
    let client = Settings::new(&server.url()).api_key(KEY).ca_file(pem).open().unwrap();
    let token = "1234567".parse().unwrap();
    for user in &users[..20] {
        assert_eq!(client.verify(*user, &token).unwrap(), Verdict::Wrong);
        client.user_status(*user).unwrap();
    }
    gate.0.lock().unwrap().0 = true;
    gate.1.notify_all();
    let statuses: Vec<_> = waiting.iter_mut().map(status).collect();
    assert!(statuses.iter().all(|status| status == "200" || status == "503"), "{statuses:?}");
    assert!(statuses.iter().filter(|status| *status == "200").count() >= 128, "{statuses:?}");
}

//! A call ends soon after it was cancelled, whatever it waits for, and says whether its request may
//! have been sent.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::stub::{self, KEY, LATE, RIGHT, Stub, TOKEN, in_time, response};
use crate::tls::{self, Identity, params};
use seconder::engine::{ApprovalResponse, DeviceType, RespondToApproval};
use seconder::{Canceller, Error, Service, Settings, Verdict};
use socket2::{Domain, Socket, Type};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the calls could take. None of them ends by itself before that.
const DEADLINE: Duration = Duration::from_secs(30);
/// How long a call has been waiting when it is cancelled.
const WAITED: Duration = Duration::from_millis(150);
const PIN: &str = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

fn settings(url: &str) -> Settings {
    Settings::new(url).allow_loopback_http(true).api_key(KEY).timeout(DEADLINE)
}

fn verify(service: &Service) -> seconder::Result<Verdict> {
    service.verify(&TOKEN.parse().unwrap(), 1.try_into().unwrap())
}

/// The result of a call that is cancelled while it waits.
fn cancelled<T>(service: &Service, call: impl Fn(&Service) -> seconder::Result<T>) -> Error {
    let canceller = Canceller::new();
    let service = service.with_interrupt(Arc::new(canceller.clone()));
    let started = Instant::now();
    stub::spawn(move || {
        std::thread::sleep(WAITED);
        canceller.cancel();
    });
    let error = in_time(WAITED, || call(&service).err().expect("the call was cancelled"));
    assert!(started.elapsed() >= WAITED, "{error} after {:?}", started.elapsed());
    error
}

fn is_cancelled(settings: Settings, sent: bool, what: &str) {
    let error = cancelled(&settings.open().unwrap(), verify);
    assert_eq!(error, Error::Cancelled { sent }, "{what}");
    assert_eq!(error.retry_safe(), !sent);
}

#[test]
fn a_lookup_ends() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = silent.local_addr().unwrap().to_string();
    let settings = settings("https://service.example.test").pin(PIN).name_server(server);
    is_cancelled(settings, false, "a silent name server");
}

#[test]
fn a_connection_attempt_ends() {
    // With a full backlog, the kernel does not respond to further connections.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        waiting.push(stream);
        assert!(waiting.len() < 16);
    }
    is_cancelled(settings(&format!("http://{address}")), false, "a full backlog");
}

#[test]
fn the_proxy_and_the_handshake_end() {
    let silent = Stub::start(|mut peer| peer.stay_silent());
    let url = format!("https://{}", silent.addr);
    is_cancelled(settings(&url).pin(PIN), false, "a silent TLS server");
    let proxy = format!("http://{}", silent.addr);
    is_cancelled(settings("https://service.invalid").pin(PIN).proxy(proxy), false, "a proxy");
}

#[test]
fn waiting_for_a_response_ends() {
    let head = "HTTP/1.1 200 OK\r\n";
    for first in [
        String::new(),
        head.to_owned(),
        format!("{head}Content-Length: 400\r\n\r\n{RIGHT}"),
        format!("{head}Transfer-Encoding: chunked\r\n\r\n40\r\n{RIGHT}"),
        format!("{head}Connection: close\r\n\r\n{RIGHT}"),
    ] {
        let text = first.clone();
        let stub = Stub::start(move |mut peer| {
            peer.request();
            peer.send(first.as_bytes());
            peer.stay_silent();
        });
        is_cancelled(settings(&stub.url()), true, &text);
    }
    // Something always arrives before the client looks whether it was cancelled.
    let stub = Stub::start(|mut peer| {
        peer.request();
        peer.send(b"HTTP/1.1 200 OK\r\nX: ");
        peer.drip(b"x", Duration::from_millis(5));
    });
    is_cancelled(settings(&stub.url()), true, "a dripping head");
    let identity = Identity::self_signed(params());
    let stub = tls::start(identity.config(), |mut peer| {
        peer.request();
        peer.stay_silent();
    });
    let url = format!("https://{}", stub.addr);
    is_cancelled(settings(&url).pin(identity.pin()), true, "TLS");
}

#[test]
fn a_wait_before_a_retry_ends() {
    let stub = Stub::responding(response(429, "Retry-After: 20\r\n", "busy"));
    let service = settings(&stub.url()).open().unwrap();
    let error = cancelled(&service, Service::app_details);
    // The service did not carry out the request that it rejected.
    assert_eq!(error, Error::Cancelled { sent: false });
}

#[test]
fn a_wait_for_an_approval_ends() {
    let pending =
        r#"{"success":true,"approval_request":{"uuid":"a-1","status":"pending","svc_id":1}}"#;
    let stub = Stub::responding(response(200, "", pending));
    let wait = |service: &Service| {
        service.wait_for_approval(&"a-1".parse().unwrap(), 1.try_into().unwrap(), DEADLINE)
    };
    let service = settings(&stub.url()).open().unwrap();
    assert_eq!(cancelled(&service, wait), Error::Cancelled { sent: false });
    let service = Settings::new("sandbox:").open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let uuid = service.create_approval(user, "Log in?").unwrap().uuid;
    let error = cancelled(&service, |service| service.wait_for_approval(&uuid, user, DEADLINE));
    assert_eq!(error, Error::Cancelled { sent: false });
}

/// The response is stored before the callback is posted.
#[test]
fn posting_a_callback_ends_and_the_response_stays() {
    let silent = Stub::start(|mut peer| peer.stay_silent());
    let settings = Settings::new("sandbox:").callback_url(format!("{}/callback", silent.url()));
    let service = settings.open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let device = service.engine().unwrap().register_device(user, DeviceType::Ios).unwrap();
    let uuid = service.create_approval(user, "Log in?").unwrap().uuid;
    let canceller = Canceller::new();
    let responds = service.with_interrupt(Arc::new(canceller.clone()));
    stub::spawn(move || {
        std::thread::sleep(WAITED);
        canceller.cancel();
    });
    let started = Instant::now();
    let response = RespondToApproval {
        device_id: device.device_id,
        device_secret: device.secret,
        uuid,
        response: ApprovalResponse::Approve,
        number: None,
    };
    let approval = responds
        .with_engine("respond_to_approval", None, |engine| engine.respond_to_approval(&response));
    // By itself, it would wait until the stub closes the connection.
    let took = started.elapsed();
    assert!(took >= WAITED && took < WAITED + LATE, "{took:?}");
    assert!(approval.unwrap().approved_by(user));
    assert_eq!(silent.connections(), 1);
}

#[test]
fn the_connection_of_a_cancelled_call_is_not_reused() {
    let stub = Stub::start(|mut peer| {
        peer.request();
        std::thread::sleep(3 * WAITED);
        // Another call on this connection would take this response for its own.
        peer.send(&response(200, "", RIGHT));
        peer.stay_silent();
    });
    let service = settings(&stub.url()).open().unwrap();
    let before = Instant::now();
    assert_eq!(cancelled(&service, verify), Error::Cancelled { sent: true });
    let cancelled = stub.connections();
    // By then, the response has arrived.
    std::thread::sleep((3 * WAITED).saturating_sub(before.elapsed()) + WAITED);
    assert_eq!(verify(&service).unwrap(), Verdict::Right);
    assert_eq!(stub.connections(), cancelled + 1);
}

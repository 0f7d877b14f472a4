//! A call ends soon after it was cancelled, whatever it waits for, and says whether its request may
//! have been sent.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::stub::{KEY, RIGHT, Stub, TOKEN, Watched, eventually, in_time, response};
use crate::tls::{self, Identity, params};
use seconder::engine::{ApprovalResponse, DeviceType, RespondToApproval};
use seconder::{Error, Service, Settings, Verdict};
use socket2::{Domain, Socket, Type};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// How long the calls could take. None of them ends by itself before that.
const DEADLINE: Duration = Duration::from_secs(30);
/// How long a call waits, at the usual speed, before it is cancelled.
const WAITED: Duration = Duration::from_millis(200);
const PIN: &str = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

fn settings(url: &str) -> Settings {
    Settings::new(url).allow_loopback_http(true).api_key(KEY).timeout(DEADLINE)
}

fn verify(service: &Service) -> seconder::Result<Verdict> {
    service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap())
}

/// The result of a call that is cancelled while it waits, after this has come true.
fn ends<T>(
    service: &Service,
    after: impl Fn() -> bool + Sync,
    call: impl Fn(&Service) -> seconder::Result<T>,
) -> seconder::Result<T> {
    let watched = Arc::new(Watched::default());
    let interrupt = Arc::clone(&watched);
    let service = service.with_interrupt(interrupt);
    std::thread::scope(|scope| {
        scope.spawn(|| watched.cancel_after(&after));
        let result = in_time(WAITED, || call(&service));
        assert!(watched.is_cancelled(), "{:?} before that", result.err());
        result
    })
}

fn cancelled<T>(
    service: &Service,
    after: impl Fn() -> bool + Sync,
    call: impl Fn(&Service) -> seconder::Result<T>,
) -> Error {
    ends(service, after, call).err().expect("the call was cancelled")
}

/// Cancels a verification before anything was sent.
fn is_not_sent(settings: Settings, what: &str) {
    is_cancelled(settings, || true, false, what);
}

/// Cancels a verification whose request this stub has received.
fn is_sent(settings: Settings, stub: &Stub, what: &str) {
    is_cancelled(settings, || !stub.requests().is_empty(), true, what);
}

fn is_cancelled(settings: Settings, after: impl Fn() -> bool + Sync, sent: bool, what: &str) {
    let error = cancelled(&settings.open().unwrap(), after, verify);
    assert_eq!(error, Error::Cancelled { sent }, "{what}");
    assert_eq!(error.retry_safe(), !sent);
}

/// A stub that responds to every request with the same bytes, and whether it has done so.
fn responding(response: Vec<u8>) -> (Stub, impl Fn() -> bool + Sync) {
    let sent = Arc::new(AtomicBool::new(false));
    let has_sent = Arc::clone(&sent);
    let stub = Stub::start(move |mut peer| {
        while peer.respond(&response) {
            sent.store(true, Ordering::SeqCst);
        }
    });
    (stub, move || has_sent.load(Ordering::SeqCst))
}

#[test]
fn a_lookup_ends() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = silent.local_addr().unwrap().to_string();
    let settings = settings("https://service.example.test").pin(PIN).name_server(server);
    is_not_sent(settings, "a silent name server");
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
    is_not_sent(settings(&format!("http://{address}")), "a full backlog");
}

#[test]
fn the_proxy_and_the_handshake_end() {
    let silent = Stub::start(|mut peer| peer.stay_silent());
    let url = format!("https://{}", silent.addr);
    is_not_sent(settings(&url).pin(PIN), "a silent TLS server");
    let proxy = format!("http://{}", silent.addr);
    is_not_sent(settings("https://service.invalid").pin(PIN).proxy(proxy), "a proxy");
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
        is_sent(settings(&stub.url()), &stub, &text);
    }
    // Something always arrives before the client looks whether it was cancelled.
    let stub = Stub::start(|mut peer| {
        peer.request();
        peer.send(b"HTTP/1.1 200 OK\r\nX: ");
        peer.drip(b"x", Duration::from_millis(5));
    });
    is_sent(settings(&stub.url()), &stub, "a dripping head");
    let identity = Identity::self_signed(params());
    let stub = tls::start(identity.config(), |mut peer| {
        peer.request();
        peer.stay_silent();
    });
    let url = format!("https://{}", stub.addr);
    is_sent(settings(&url).pin(identity.pin()), &stub, "TLS");
}

#[test]
fn a_wait_before_a_retry_ends() {
    let (stub, has_responded) = responding(response(429, "Retry-After: 20\r\n", "busy"));
    let service = settings(&stub.url()).open().unwrap();
    let error = cancelled(&service, has_responded, Service::app_details);
    // The service did not carry out the request that it rejected.
    assert_eq!(error, Error::Cancelled { sent: false });
}

#[test]
fn a_wait_for_an_approval_ends() {
    let pending =
        r#"{"success":true,"approval_request":{"uuid":"a-1","status":"pending","svc_id":1}}"#;
    let (stub, has_responded) = responding(response(200, "", pending));
    let wait = |service: &Service| {
        service.wait_for_approval(&"a-1".parse().unwrap(), 1.try_into().unwrap(), DEADLINE)
    };
    let service = settings(&stub.url()).open().unwrap();
    assert_eq!(cancelled(&service, has_responded, wait), Error::Cancelled { sent: false });
    let service = Settings::new("sandbox:").open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let uuid = service.create_approval(user, "Log in?").unwrap().uuid;
    let wait = |service: &Service| service.wait_for_approval(&uuid, user, DEADLINE);
    let error = cancelled(&service, || true, wait);
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
    let response = RespondToApproval {
        device_id: device.device_id,
        device_secret: device.secret,
        uuid,
        response: ApprovalResponse::Approve,
        number: None,
    };
    let respond = |service: &Service| {
        service.with_engine("respond_to_approval", None, |engine| {
            engine.respond_to_approval(&response)
        })
    };
    // By itself, it would wait until the stub closes the connection.
    let approval = ends(&service, || silent.connections() == 1, respond);
    assert!(approval.unwrap().approved_by(user));
    assert_eq!(silent.connections(), 1);
}

#[test]
fn the_connection_of_a_cancelled_call_is_not_reused() {
    let (go, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (goes, count) = (Arc::clone(&go), Arc::clone(&sent));
    let stub = Stub::start(move |mut peer| {
        peer.request();
        assert!(eventually(|| goes.load(Ordering::SeqCst)));
        // Another call on this connection would take this response for its own.
        peer.send(&response(200, "", RIGHT));
        count.fetch_add(1, Ordering::SeqCst);
        peer.stay_silent();
    });
    let service = settings(&stub.url()).open().unwrap();
    let is_asked = || !stub.requests().is_empty();
    assert_eq!(cancelled(&service, is_asked, verify), Error::Cancelled { sent: true });
    let cancelled = stub.connections();
    go.store(true, Ordering::SeqCst);
    // By then, the response has arrived.
    assert!(eventually(|| sent.load(Ordering::SeqCst) == 1));
    assert_eq!(verify(&service).unwrap(), Verdict::Right);
    assert_eq!(stub.connections(), cancelled + 1);
}

//! A call ends by its deadline whatever the service does, and is retried only if that is safe.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::stub::{KEY, Peer, RIGHT, Stub, TOKEN, in_time, response};
use seconder::calls::RequestSms;
use seconder::remote::Repeats;
use seconder::{Error, Handle, Result, Service, Settings, Stage, Verdict};
use socket2::{Domain, SockRef, Socket, Type};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_millis(500);
const DETAILS: &str = r#"{"success":true,"app":{"name":"Bank"}}"#;

fn open(url: &str) -> Service {
    Settings::new(url).allow_loopback_http(true).api_key(KEY).timeout(DEADLINE).open().unwrap()
}

fn verify(service: &Service) -> Result<Verdict> {
    service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap())
}

/// The error of a verification, which must end in time and must not be sent twice.
fn ends(behave: impl Fn(Peer<TcpStream>) + Send + Sync + 'static) -> Error {
    let stub = Stub::start(behave);
    let mut tries = 0;
    let service = open(&stub.url());
    in_time(DEADLINE, || {
        tries += 1;
        let error = error(&stub, &service, tries);
        assert!(!error.retry_safe(), "{error}");
        error
    })
}

/// The error of a verification whose connection ends long before the deadline, however busy the
/// machine is.
fn ends_early(behave: impl Fn(Peer<TcpStream>) + Send + Sync + 'static) -> Error {
    let stub = Stub::start(behave);
    let service = open(&stub.url()).with_timeout(Duration::from_secs(60));
    error(&stub, &service, 1)
}

fn error(stub: &Stub, service: &Service, tries: usize) -> Error {
    let error = verify(service).unwrap_err();
    assert!(
        stub.requests().len() <= tries && stub.connections() <= tries,
        "the verification was sent twice"
    );
    error
}

fn is_late(error: &Error) {
    assert!(matches!(error, Error::Unavailable { stage: Stage::Response, .. }), "{error}");
    assert!(error.to_string().contains("the deadline was exceeded"), "{error}");
}

fn is_closed(error: &Error) {
    assert!(!error.retry_safe(), "{error}");
    assert!(matches!(error, Error::Unavailable { stage: Stage::Response, .. }), "{error}");
    assert!(error.to_string().contains("it closed the connection"), "{error}");
}

#[test]
fn a_silent_service_ends_at_the_deadline() {
    is_late(&ends(|mut peer| peer.stay_silent()));
}

#[test]
fn silence_after_the_response_head_ends_at_the_deadline() {
    is_late(&ends(|mut peer| {
        peer.request();
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n");
        peer.stay_silent();
    }));
}

#[test]
fn a_dripping_response_ends_at_the_deadline() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\n";
    for (head, drip) in [
        (String::new(), "H"),
        (HEAD.to_owned(), "X: x\r\n"),
        (format!("{HEAD}X: "), "x"),
        (format!("{HEAD}Content-Length: 100000\r\n\r\n"), " "),
        (format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n"), "1\r\n \r\n"),
        (format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n"), "0"),
        (format!("{HEAD}Connection: close\r\n\r\n"), " "),
    ] {
        let error = ends(move |mut peer| {
            peer.request();
            peer.send(head.as_bytes());
            peer.drip(drip.as_bytes(), Duration::from_millis(50));
        });
        // The client may find the response to be invalid before the deadline.
        assert!(
            matches!(error, Error::InvalidResponse { .. }) || {
                is_late(&error);
                true
            },
            "{error}"
        );
    }
}

#[test]
fn endless_interim_responses_end_at_the_deadline() {
    for (early, pause) in [
        ("HTTP/1.1 103 Early Hints\r\n\r\n", Duration::from_millis(1)),
        ("HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n", Duration::from_millis(50)),
        ("HTTP/1.1 102 Processing\r\n\r\n", Duration::ZERO),
        ("HTTP/1.1 100 Continue\r\n\r\n", Duration::ZERO),
    ] {
        let error = ends(move |mut peer| {
            peer.request();
            peer.drip(early.as_bytes(), pause);
        });
        assert!(
            matches!(error, Error::InvalidResponse { .. }) || {
                is_late(&error);
                true
            },
            "{error}"
        );
    }
}

#[test]
fn a_connection_that_closes_early_is_unavailable() {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{RIGHT}");
    is_closed(&ends_early(move |mut peer| {
        peer.request();
        peer.send(head.as_bytes());
    }));
    let chunk = format!("{:x}\r\n{RIGHT}\r\n", RIGHT.len());
    let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    is_closed(&ends_early(move |mut peer| {
        peer.request();
        peer.send(head.as_bytes());
    }));
    is_closed(&ends_early(|mut peer| {
        peer.request();
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Le");
    }));
    is_closed(&ends_early(|mut peer| drop(peer.request())));
    is_closed(&ends_early(drop));
    // Closing a connection with an unread request resets it.
    is_closed(&ends_early(|_| std::thread::sleep(Duration::from_millis(50))));
}

#[test]
fn a_connection_that_is_reset_is_unavailable() {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{RIGHT}");
    let chunk = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{RIGHT}");
    for first in ["", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 103 X\r\n\r\n", &head, &chunk] {
        let first = first.to_owned();
        is_closed(&ends_early(move |mut peer| {
            peer.request();
            peer.send(first.as_bytes());
            // Gives the client time to read what was sent before the reset discards it.
            std::thread::sleep(Duration::from_millis(20));
            reset(peer);
        }));
    }
    // An immediate reset may arrive before the connection is established.
    let error = ends_early(reset);
    match error {
        Error::Unavailable { stage: Stage::Connect, .. } => assert!(error.retry_safe()),
        _ => is_closed(&error),
    }
}

#[test]
fn a_reset_or_silence_in_the_handshake_is_a_tls_error() {
    const PIN: &str = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    // The start of a handshake record that is never completed.
    const BEGUN: &[u8] = &[22, 3, 3, 0, 100, 2, 0, 0];
    for (first, ending) in [(None, "closed"), (Some(BEGUN), "closed"), (Some(BEGUN), "deadline")] {
        let stub = Stub::start(move |mut peer| {
            peer.stream.read_exact(&mut [0; 64]).unwrap();
            first.map(|first| peer.send(first));
            match ending {
                "closed" => reset(peer),
                _ => peer.stay_silent(),
            }
        });
        let settings = Settings::new(&format!("https://{}", stub.addr)).api_key(KEY).pin(PIN);
        let service = settings.timeout(DEADLINE).open().unwrap();
        let error = in_time(DEADLINE, || verify(&service).unwrap_err());
        assert!(matches!(error, Error::Unavailable { stage: Stage::Tls, .. }), "{error}");
        assert!(error.retry_safe() && error.to_string().contains(ending), "{error}");
    }
}

/// Closes a connection so that the peer gets a reset. A linger time of zero discards unsent data.
fn reset(peer: Peer<TcpStream>) {
    SockRef::from(&peer.stream).set_linger(Some(Duration::ZERO)).unwrap();
}

#[test]
fn a_connection_that_is_never_established_ends_at_the_deadline() {
    // With a full backlog, the kernel does not respond to further connections.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let mut waiting = Vec::new();
    let full = (0..16).any(|_| {
        let connected = TcpStream::connect_timeout(&address, Duration::from_millis(200));
        connected.map(|stream| waiting.push(stream)).is_err()
    });
    assert!(full, "{} connections were accepted", waiting.len());
    let service = open(&format!("http://{address}"));
    let error = in_time(DEADLINE, || verify(&service).unwrap_err());
    assert!(matches!(error, Error::Unavailable { stage: Stage::Connect, .. }), "{error}");
    assert!(error.retry_safe(), "{error}");
    assert!(error.to_string().contains("the deadline was exceeded"), "{error}");
}

#[test]
fn with_timeout_applies_to_the_new_handle_only() {
    let received = AtomicUsize::new(0);
    let stub = Stub::start(move |mut peer| {
        while peer.request().is_some() {
            match received.fetch_add(1, Ordering::SeqCst) {
                0 => {}
                1 => peer.stay_silent(),
                _ => std::thread::sleep(Duration::from_millis(400)),
            }
            peer.send(&response(200, "", DETAILS));
        }
    });
    let service = open(&stub.url()).with_timeout(Duration::from_secs(60));
    service.app_details().unwrap();
    let quick = service.with_timeout(Duration::from_millis(300));
    let late = quick.app_details().unwrap_err();
    is_late(&late);
    assert!(late.retry_safe(), "app_details only reads: {late}");
    assert!(late.to_string().ends_with("The call changes nothing, and can be retried"), "{late}");
    service.app_details().unwrap();
    for wrong in [Duration::ZERO, Duration::from_secs(3601)] {
        let error = service.with_timeout(wrong).app_details().unwrap_err();
        assert!(
            matches!(error, Error::InvalidArgument { parameter, .. } if parameter == "timeout")
        );
    }
    assert_eq!(stub.requests().len(), 3);
}

#[test]
fn a_read_only_call_is_retried_if_the_wait_fits() {
    for (status, after, times) in [
        (429, "Retry-After: 0\r\n", 2),
        (503, "Retry-After: 0\r\n", 2),
        (
            429,
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
            2,
        ),
        (429, "Retry-After: 30\r\n", 1),
        (
            503,
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:50:07 GMT\r\n",
            1,
        ),
        (429, "", 1),
        (500, "Retry-After: 0\r\n", 1),
        (502, "Retry-After: 0\r\n", 1),
        (403, "Retry-After: 0\r\n", 1),
    ] {
        let stub = Stub::start(move |mut peer| {
            peer.respond(&response(status, after, "busy"));
            peer.respond(&response(200, "", DETAILS));
        });
        // No longer than the wait of 30 s that must not fit, and long enough for the wait of 0 s.
        let service = open(&stub.url()).with_timeout(Duration::from_secs(30));
        let result = service.app_details();
        assert_eq!(
            (result.is_ok(), stub.requests().len()),
            (times == 2, times),
            "{status} {after}"
        );
    }
}

#[test]
fn a_retry_waits_as_long_as_retry_after_says() {
    let limited = AtomicBool::new(false);
    let stub = Stub::start(move |mut peer| {
        while peer.request().is_some() {
            peer.send(&match limited.swap(true, Ordering::SeqCst) {
                false => response(429, "Retry-After: 1\r\n", ""),
                true => response(200, "", DETAILS),
            });
        }
    });
    let service = open(&stub.url()).with_timeout(Duration::from_secs(60));
    let second = Duration::from_secs(1);
    let started = Instant::now();
    in_time(second, || service.app_details()).unwrap();
    assert!(started.elapsed() >= second, "{:?}", started.elapsed());
}

#[test]
fn retries_end_at_the_deadline() {
    let stub = Stub::responding(response(429, "Retry-After: 0\r\n", "busy"));
    let service = open(&stub.url());
    let error = in_time(DEADLINE, || service.app_details().unwrap_err());
    assert!(matches!(error, Error::RateLimited { .. }) && error.retry_safe(), "{error}");
}

#[test]
fn calls_that_change_state_are_not_retried_unless_requested() {
    let count = |repeats: Option<Repeats>, call: &dyn Fn(&Service) -> Option<Error>| {
        let received = AtomicUsize::new(0);
        let stub = Stub::start(move |mut peer| {
            while peer.request().is_some() {
                // A wait of an hour does not fit.
                let wait = if received.fetch_add(1, Ordering::SeqCst) < 3 { 0 } else { 3600 };
                let limited = response(503, &format!("Retry-After: {wait}\r\n"), "busy");
                peer.send(&peer.named(&limited));
            }
        });
        let service = open(&stub.url()).with_timeout(Duration::from_secs(60));
        let service = repeats.map_or(service.clone(), |repeats| service.with_repeats(repeats));
        assert!(matches!(call(&service), Some(Error::RateLimited { .. })));
        stub.requests().len()
    };
    let user = 1.try_into().unwrap();
    let uuid = "0a1b2c3d-0000-4000-8000-0123456789ab".parse().unwrap();
    type Calls<'a> = Vec<(usize, Box<dyn Fn(&Service) -> Option<Error> + Send + 'a>)>;
    let calls: Calls<'_> = vec![
        (1, Box::new(|s| verify(s).err())),
        (1, Box::new(|s| s.request_sms(user).err())),
        (1, Box::new(|s| s.request_call(user).err())),
        (1, Box::new(|s| s.create_approval(user, "Log in?").err())),
        (1, Box::new(|s| s.create_user("ada@example.com", "5550100123", "1").err())),
        (1, Box::new(|s| s.delete_user(user).err())),
        (
            1,
            Box::new(|s| {
                s.check_phone_verification("5550100123", "1", &"1234".parse().unwrap()).err()
            }),
        ),
        (4, Box::new(|s| s.app_details().err())),
        (4, Box::new(|s| s.app_stats().err())),
        (4, Box::new(|s| s.user_status(user).err())),
        (4, Box::new(|s| s.phone_info("5550100123", "1").err())),
        (4, Box::new(|s| s.check_approval(&uuid).err())),
    ];
    std::thread::scope(|scope| {
        for (times, call) in calls {
            scope.spawn({
                let count = &count;
                move || assert_eq!(count(None, &*call), times)
            });
        }
    });
    let sms = |s: &Service| s.handle(&RequestSms::new(user)).err();
    assert_eq!(count(Some(Repeats::All), &sms), 4);
    assert_eq!(count(Some(Repeats::None), &|s| s.app_details().err()), 1);
}

#[test]
fn the_next_address_is_tried_if_the_first_refuses_connections() {
    // On most machines, `localhost` is ::1 and 127.0.0.1, in this order. The stub listens at the
    // second only. The test also passes where there is only the second.
    let stub = Stub::responding(response(200, "", DETAILS));
    let service = open(&format!("http://localhost:{}", stub.addr.port()));
    service.app_details().unwrap();
    assert_eq!((stub.connections(), stub.requests().len()), (1, 1));
}

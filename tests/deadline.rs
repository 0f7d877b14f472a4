//! A call ends by its deadline whatever the service does, and is repeated only where that is safe.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what fails here fails the test")]

mod stub;

use seconder::calls::RequestSms;
use seconder::remote::Repeats;
use seconder::{Error, Handle, Result, Service, Settings, Stage, Verdict};
use socket2::{Domain, SockRef, Socket, Type};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use stub::{KEY, Peer, RIGHT, Stub, TOKEN, in_time, response};

const DEADLINE: Duration = Duration::from_millis(500);
const LATE: Duration = Duration::from_millis(100);
const DETAILS: &str = r#"{"success":true,"app":{"name":"Bank"}}"#;

fn open(url: &str) -> Service {
    Settings::new(url).allow_loopback_http(true).api_key(KEY).timeout(DEADLINE).open().unwrap()
}

fn verify(service: &Service) -> Result<Verdict> {
    service.verify(&TOKEN.parse().unwrap(), 1.try_into().unwrap())
}

/// The error of a verification that must end in time, and is never sent twice.
fn ends(behave: impl Fn(Peer<TcpStream>) + Send + Sync + 'static) -> Error {
    let stub = Stub::start(behave);
    let mut tries = 0;
    let service = open(&stub.url());
    in_time(DEADLINE + LATE, || {
        let error = verify(&service).unwrap_err();
        tries += 1;
        assert!(stub.asked().len() <= tries && stub.connections() <= tries, "a verification twice");
        error
    })
}

fn is_late(error: &Error) {
    assert!(matches!(error, Error::Unavailable { stage: Stage::Response, .. }), "{error}");
    assert!(error.to_string().contains("the deadline was exceeded"), "{error}");
    assert!(!error.retry_safe());
}

fn closed(error: &Error) {
    assert!(matches!(error, Error::Unavailable { stage: Stage::Response, .. }), "{error}");
    assert!(error.to_string().contains("it closed the connection"), "{error}");
    assert!(!error.retry_safe());
}

#[test]
fn silence() {
    is_late(&ends(|mut peer| peer.hush()));
}

#[test]
fn silence_after_the_head() {
    is_late(&ends(|mut peer| {
        peer.request();
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n");
        peer.hush();
    }));
}

#[test]
fn drips() {
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
        // What drips in can be seen to be nonsense before the time is over.
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
fn answers_that_are_not_yet_the_answer() {
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
fn connections_that_break_off() {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{RIGHT}");
    closed(&ends(move |mut peer| {
        peer.request();
        peer.send(head.as_bytes());
    }));
    let chunk = format!("{:x}\r\n{RIGHT}\r\n", RIGHT.len());
    let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    closed(&ends(move |mut peer| {
        peer.request();
        peer.send(head.as_bytes());
    }));
    closed(&ends(|mut peer| {
        peer.request();
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Le");
    }));
    closed(&ends(|mut peer| drop(peer.request())));
    closed(&ends(drop));
    // What is closed with a request unread is reset.
    closed(&ends(|_| std::thread::sleep(Duration::from_millis(50))));
}

#[test]
fn connections_that_are_reset() {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{RIGHT}");
    let chunk = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{RIGHT}");
    for first in ["", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 103 X\r\n\r\n", &head, &chunk] {
        let first = first.to_owned();
        closed(&ends(move |mut peer| {
            peer.request();
            peer.send(first.as_bytes());
            // What was sent is read before the connection is reset.
            std::thread::sleep(Duration::from_millis(20));
            reset(peer);
        }));
    }
    // A reset at once may come while the connection is still being made.
    let error = ends(reset);
    match error {
        Error::Unavailable { stage: Stage::Connect, .. } => assert!(error.retry_safe()),
        _ => closed(&error),
    }
}

#[test]
fn connections_that_are_reset_or_silent_while_they_are_secured() {
    const PIN: &str = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    // The head of a handshake record, whose rest never comes.
    const BEGUN: &[u8] = &[22, 3, 3, 0, 100, 2, 0, 0];
    for (first, told) in [(None, "closed"), (Some(BEGUN), "closed"), (Some(BEGUN), "deadline")] {
        let stub = Stub::start(move |mut peer| {
            peer.stream.read_exact(&mut [0; 64]).unwrap();
            first.map(|first| peer.send(first));
            match told {
                "closed" => reset(peer),
                _ => peer.hush(),
            }
        });
        let settings = Settings::new(&format!("https://{}", stub.addr)).api_key(KEY).pin(PIN);
        let service = settings.timeout(DEADLINE).open().unwrap();
        let error = in_time(DEADLINE + LATE, || verify(&service).unwrap_err());
        assert!(matches!(error, Error::Unavailable { stage: Stage::Tls, .. }), "{error}");
        assert!(error.retry_safe() && error.to_string().contains(told), "{error}");
    }
}

/// Closes a connection so that the other side gets a reset, whatever was sent.
fn reset(peer: Peer<TcpStream>) {
    SockRef::from(&peer.stream).set_linger(Some(Duration::ZERO)).unwrap();
}

#[test]
fn connections_that_never_come_about() {
    // A backlog that is full: no further connection is answered at all.
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let mut waiting = Vec::new();
    let full = (0..16).any(|_| {
        let connected = TcpStream::connect_timeout(&address, Duration::from_millis(200));
        connected.map(|stream| waiting.push(stream)).is_err()
    });
    assert!(full, "{} connections were taken", waiting.len());
    let service = open(&format!("http://{address}"));
    let error = in_time(DEADLINE + LATE, || verify(&service).unwrap_err());
    assert!(matches!(error, Error::Unavailable { stage: Stage::Connect, .. }), "{error}");
    assert!(error.retry_safe(), "{error}");
    assert!(error.to_string().contains("the deadline was exceeded"), "{error}");
}

#[test]
fn the_time_for_one_call() {
    let stub = Stub::start(|mut peer| {
        while peer.request().is_some() {
            std::thread::sleep(Duration::from_millis(300));
            peer.send(&response(200, "", DETAILS));
        }
    });
    let service = open(&stub.url()).with_timeout(Duration::from_secs(5));
    service.app_details().unwrap();
    let quick = service.with_timeout(Duration::from_millis(100));
    is_late(&quick.app_details().unwrap_err());
    service.app_details().unwrap();
    for wrong in [Duration::ZERO, Duration::from_secs(3601)] {
        let error = service.with_timeout(wrong).app_details().unwrap_err();
        assert!(
            matches!(error, Error::InvalidArgument { parameter, .. } if parameter == "timeout")
        );
    }
    assert_eq!(stub.asked().len(), 3);
}

#[test]
fn a_question_is_repeated_when_its_wait_fits() {
    for (status, after, times) in [
        (429, "Retry-After: 0\r\n", 2),
        (503, "Retry-After: 0\r\n", 2),
        (
            429,
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
            2,
        ),
        (429, "Retry-After: 1\r\n", 1),
        (
            503,
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:38 GMT\r\n",
            1,
        ),
        (429, "", 1),
        (500, "Retry-After: 0\r\n", 1),
        (502, "Retry-After: 0\r\n", 1),
        (403, "Retry-After: 0\r\n", 1),
    ] {
        let stub = Stub::start(move |mut peer| {
            peer.request();
            peer.send(&response(status, after, "busy"));
            peer.request();
            peer.send(&response(200, "", DETAILS));
        });
        // Less than the wait that does not fit, and long enough for the one that does.
        let service = open(&stub.url()).with_timeout(Duration::from_millis(900));
        let answer = service.app_details();
        assert_eq!((answer.is_ok(), stub.asked().len()), (times == 2, times), "{status} {after}");
    }
}

#[test]
fn the_wait_is_as_long_as_the_service_says() {
    let told = AtomicBool::new(false);
    let stub = Stub::start(move |mut peer| {
        while peer.request().is_some() {
            peer.send(&match told.swap(true, Ordering::SeqCst) {
                false => response(429, "Retry-After: 1\r\n", ""),
                true => response(200, "", DETAILS),
            });
        }
    });
    let service = open(&stub.url()).with_timeout(Duration::from_secs(3));
    let started = Instant::now();
    service.app_details().unwrap();
    let took = started.elapsed();
    assert!((Duration::from_secs(1)..Duration::from_secs(2)).contains(&took), "{took:?}");
}

#[test]
fn an_endless_wait_ends() {
    let stub = Stub::answering(response(429, "Retry-After: 0\r\n", "busy"));
    let service = open(&stub.url());
    let error = in_time(DEADLINE + LATE, || service.app_details().unwrap_err());
    assert!(matches!(error, Error::RateLimited { .. }) && error.retry_safe(), "{error}");
}

#[test]
fn what_changes_something_is_not_repeated_unless_asked() {
    let limited = response(503, "Retry-After: 0\r\n", "busy");
    let count = |repeats: Option<Repeats>, call: &dyn Fn(&Service) -> Option<Error>| {
        let stub = Stub::answering(limited.clone());
        // Long enough for waits of 100, 200 and 400 ms on a busy machine, and not for 800 ms more.
        let service = open(&stub.url()).with_timeout(Duration::from_millis(1400));
        let service = repeats.map_or(service.clone(), |repeats| service.with_repeats(repeats));
        assert!(matches!(call(&service), Some(Error::RateLimited { .. })));
        stub.asked().len()
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
fn the_next_address_is_tried_when_nobody_listens_at_the_first() {
    // `localhost` is ::1 and 127.0.0.1 in this order on most machines; with one alone, this holds too.
    let stub = Stub::answering(response(200, "", DETAILS));
    let service = open(&format!("http://localhost:{}", stub.addr.port()));
    service.app_details().unwrap();
    assert_eq!((stub.connections(), stub.asked().len()), (1, 1));
}

//! The client of a service on this machine: calls over a Unix socket.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::local_stub::{Local, url};
use crate::stub::{self, RIGHT, TOKEN, Watched, eventually, in_time, response, spawn};
use seconder::calls::{CreateApproval, RequestSms};
use seconder::wire::Generation;
use seconder::{Error, Handle, Result, Service, Settings, Stage, Verdict};
use socket2::{Domain, SockAddr, Socket, Type};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_millis(500);

fn open(path: &Path) -> Service {
    Settings::new(&url(path)).timeout(Duration::from_secs(60)).open().unwrap()
}

fn verify(service: &Service) -> Result<Verdict> {
    service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap())
}

/// The message of a call that failed before anything was sent, because of this socket.
fn unconnected(path: &Path, at: Stage) -> String {
    let error = verify(&open(path)).unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage, .. } if stage == at), "{error}");
    let text = error.to_string();
    assert!(error.retry_safe() && text.contains(&path.display().to_string()), "{text}");
    let advice =
        if at == Stage::Access { "its owner and its mode" } else { "or the socket, of the URL" };
    assert!(text.ends_with(advice), "{text}");
    text
}

/// A socket that listens and whose backlog is full, so that no further connection is established.
fn full(path: &Path) -> (Socket, Vec<Socket>) {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    socket.bind(&SockAddr::unix(path).unwrap()).unwrap();
    socket.listen(0).unwrap();
    let mut waiting = Vec::new();
    loop {
        let stream = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        stream.set_nonblocking(true).unwrap();
        if stream.connect(&SockAddr::unix(path).unwrap()).is_err() {
            return (socket, waiting);
        }
        waiting.push(stream);
        assert!(waiting.len() < 16, "the backlog is never full");
    }
}

#[test]
fn a_request_names_localhost_and_has_no_key() {
    let local = Local::responding(response(200, "", RIGHT));
    let service = Settings::new(&local.url()).open().unwrap();
    assert_eq!(verify(&service).unwrap(), Verdict::Right);
    let slashes = local.url().replace("unix:", "unix://");
    assert_eq!(verify(&Settings::new(&slashes).open().unwrap()).unwrap(), Verdict::Right);
    for request in local.requests() {
        let request = request.to_lowercase();
        let line =
            "get /protected/json/verify/7654321/1?force=true http/1.1\r\nhost: localhost\r\n";
        assert!(request.starts_with(line), "{request}");
        assert!(!request.contains("key") && !request.contains("authorization"), "{request}");
    }
    assert_eq!(local.requests().len(), 2);
}

#[test]
fn no_request_of_the_older_generation_has_a_key_either() {
    let created = r#"{"success":true,"approval_request":{"uuid":"0a1b2c3d"}}"#;
    let sent = r#"{"success":"SMS sent"}"#;
    let local = Local::start(move |mut peer| {
        while let Some(request) = peer.request() {
            let body = if request.starts_with("POST") { created } else { sent };
            peer.send(&response(200, "", body));
        }
    });
    let service = Settings::new(&local.url()).generation(Generation::Older).open().unwrap();
    service.handle(&RequestSms::new(7.try_into().unwrap())).unwrap();
    let push = CreateApproval::new(7.try_into().unwrap(), "Log in?".parse().unwrap());
    service.handle(&push).unwrap();
    let requests = local.requests();
    assert!(requests[0].starts_with("GET /protected/json/sms/7 HTTP/1.1\r\n"), "{requests:?}");
    assert!(requests.iter().all(|request| !request.to_lowercase().contains("key")), "{requests:?}");
}

#[test]
fn a_socket_without_a_service_is_unavailable_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let fails = |path: &Path, at: Stage, wanted: &str| {
        let text = unconnected(path, at);
        assert!(text.contains(wanted), "{text}");
    };
    // A service that has ended is there again later, and nothing else is.
    let stopped = |path: &Path, wanted: &str| fails(path, Stage::Connect, wanted);
    let is = |path: &Path, wanted: &str| fails(path, Stage::Access, wanted);
    stopped(&path("missing.sock"), "there is no such socket: is seconder serve running");
    stopped(&path("missing/below.sock"), "there is no such socket: is seconder serve running");
    std::fs::write(path("file"), "").unwrap();
    is(&path("file"), "it is not a socket");
    is(&path("file/below.sock"), "it is not a socket");
    is(folder.path(), "it is not a socket");
    // The file stays when the listener is gone.
    drop(UnixListener::bind(path("stale.sock")).unwrap());
    stopped(&path("stale.sock"), "nothing listens on the socket: is seconder serve running?");
    let _datagrams = UnixDatagram::bind(path("datagrams.sock")).unwrap();
    is(&path("datagrams.sock"), "a socket of another kind");
}

#[test]
fn a_service_that_hangs_ends_at_the_deadline() {
    let local = Local::start(|mut peer| peer.stay_silent());
    let service = open(&local.path()).with_timeout(DEADLINE);
    let error = in_time(DEADLINE, || verify(&service).unwrap_err());
    assert!(matches!(error, Error::Unavailable { stage: Stage::Response, .. }), "{error}");
    assert!(error.timed_out() && !error.retry_safe(), "{error}");
}

#[test]
fn a_full_backlog_ends_at_the_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.sock");
    let _full = full(&path);
    let service = open(&path).with_timeout(DEADLINE);
    let error = in_time(DEADLINE, || {
        let began = Instant::now();
        let error = verify(&service).unwrap_err();
        assert!(began.elapsed() >= DEADLINE, "{:?}: {error}", began.elapsed());
        error
    });
    assert!(matches!(error, Error::Unavailable { stage: Stage::Connect, .. }), "{error}");
    assert!(error.timed_out() && error.retry_safe(), "{error}");
}

#[test]
fn a_backlog_that_is_no_longer_full_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("busy.sock");
    let (socket, waiting) = full(&path);
    let later = Duration::from_millis(200);
    let began = Instant::now();
    spawn(move || {
        sleep(later);
        drop(waiting);
        let listener = UnixListener::from(std::os::fd::OwnedFd::from(socket));
        let requests = Arc::default();
        for stream in listener.incoming() {
            let mut peer = stub::Peer::of(stream.unwrap(), &requests);
            if peer.request().is_some() {
                peer.send(&response(200, "", RIGHT));
            }
        }
    });
    let service = open(&path);
    assert_eq!(in_time(later, || verify(&service)).unwrap(), Verdict::Right);
    assert!(began.elapsed() >= later, "{:?}", began.elapsed());
}

#[test]
fn a_call_that_waits_can_be_cancelled() {
    let local = Local::start(|mut peer| {
        peer.request();
        peer.stay_silent();
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.sock");
    let _full = full(&path);
    for (path, sent) in [(local.path(), true), (path, false)] {
        let watched = Arc::new(Watched::default());
        let interrupt = Arc::clone(&watched);
        let handle = open(&path).with_interrupt(interrupt);
        let error = std::thread::scope(|scope| {
            scope.spawn(|| watched.cancel_after(|| !sent || !local.requests().is_empty()));
            in_time(Duration::from_millis(200), || verify(&handle).unwrap_err())
        });
        assert_eq!(error, Error::Cancelled { sent });
    }
}

#[test]
fn consecutive_calls_share_a_connection_until_it_is_old_or_closed() {
    let local = Local::responding(response(200, "", RIGHT));
    let service = Settings::new(&local.url()).max_idle(Duration::from_secs(60)).open().unwrap();
    for _ in 0..10 {
        assert!(verify(&service).is_ok());
    }
    assert_eq!((local.connections(), local.requests().len()), (1, 10));
    let service = open(&local.path());
    assert!(verify(&service).is_ok());
    sleep(Duration::from_millis(1100));
    assert!(verify(&service).is_ok());
    assert_eq!(local.connections(), 3);

    // The response says nothing of the end of the connection.
    let closes = Arc::new(AtomicUsize::new(0));
    let closed = Arc::clone(&closes);
    let local = Local::start(move |mut peer| {
        peer.respond(&response(200, "", RIGHT));
        drop(peer);
        closed.fetch_add(1, Ordering::SeqCst);
    });
    let service = open(&local.path());
    for calls in 1..4 {
        assert!(verify(&service).is_ok());
        assert_eq!((local.connections(), local.requests().len()), (calls, calls));
        assert!(eventually(|| closes.load(Ordering::SeqCst) == calls));
    }
}

#[test]
fn a_service_that_closes_early_is_unavailable() {
    for asked in [true, false] {
        let local = Local::start(move |mut peer| drop(asked.then(|| peer.request())));
        let error = verify(&open(&local.path())).unwrap_err();
        assert!(matches!(error, Error::Unavailable { stage: Stage::Response, .. }), "{error}");
        assert!(error.to_string().contains("it closed the connection"), "{error}");
    }
}

#[test]
fn a_warm_connection_is_there_before_the_call() {
    let closes = Arc::new(AtomicUsize::new(0));
    let closed = Arc::clone(&closes);
    let local = Local::start(move |mut peer| {
        while peer.respond(&response(200, "", RIGHT)) {}
        closed.fetch_add(1, Ordering::SeqCst);
    });
    let service = Settings::new(&local.url()).max_idle(Duration::from_secs(60)).open().unwrap();
    for _ in 0..3 {
        service.keep_warm().unwrap();
    }
    assert!(eventually(|| local.connections() == 1) && local.requests().is_empty());
    sleep(Duration::from_millis(1100));
    service.keep_warm().unwrap();
    assert!(verify(&service).is_ok());
    assert_eq!((local.connections(), closes.load(Ordering::SeqCst)), (1, 0));

    // By default, a connection is old after a second, and this does not make it younger.
    let service = open(&local.path());
    assert!(eventually(|| {
        service.keep_warm().unwrap();
        local.connections() >= 3 && closes.load(Ordering::SeqCst) >= 1
    }));

    // One that the service has closed is replaced at once.
    let closes = Arc::new(AtomicUsize::new(0));
    let closed = Arc::clone(&closes);
    let local = Local::start(move |peer| {
        drop(peer);
        closed.fetch_add(1, Ordering::SeqCst);
    });
    let service = open(&local.path());
    for connections in 1..4 {
        service.keep_warm().unwrap();
        assert!(eventually(|| closes.load(Ordering::SeqCst) == connections));
        assert_eq!(local.connections(), connections);
    }
    let nowhere = open(Path::new("/no/such.sock")).keep_warm().unwrap_err();
    assert!(matches!(nowhere, Error::Unavailable { stage: Stage::Connect, .. }), "{nowhere}");
}

#[test]
fn a_connection_that_may_not_be_idle_is_closed_after_its_reply() {
    let closes = Arc::new(AtomicUsize::new(0));
    let closed = Arc::clone(&closes);
    let local = Local::start(move |mut peer| {
        while peer.respond(&response(200, "", RIGHT)) {}
        closed.fetch_add(1, Ordering::SeqCst);
    });
    let service = Settings::new(&local.url()).max_idle(Duration::ZERO).open().unwrap();
    for calls in 1..4 {
        assert!(verify(&service).is_ok());
        assert!(eventually(|| closes.load(Ordering::SeqCst) == calls));
        assert_eq!(local.connections(), calls);
    }
    service.keep_warm().unwrap();
    assert!(eventually(|| closes.load(Ordering::SeqCst) == local.connections()));
}

#[test]
fn a_peer_that_may_not_make_the_call_is_rejected() {
    let body = r#"{"message":"user 1000 may not make this call","success":false}"#;
    let local = Local::responding(response(403, "", body));
    let error = verify(&open(&local.path())).unwrap_err();
    let Error::Rejected(rejection) = &error else { panic!("{error}") };
    assert_eq!(rejection.status, 403);
    let text = error.to_string();
    assert!(text.contains("user 1000 may not make this call") && !text.contains("key"), "{text}");
}

//! Tests of sending callbacks: the requests that applications get, and the outcome of their responses.

use super::super::lookup::Lookup;
use super::super::loopback::{Canned, Loopback, ok, reply};
use super::super::network::Network;
use super::*;
use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, ResourceRecord};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};

/// Enough to connect, for callbacks to applications that do not respond.
const BRIEF: Duration = Duration::from_secs(1);
const BODY: &[u8] = br#"{"status":"approved"}"#;

fn callback(url: &str) -> SignedCallback {
    let header = |name: &str| (name.to_owned(), "c2ln".to_owned());
    SignedCallback {
        url: url.parse().unwrap(),
        method: CallbackMethod::Post,
        query: String::new(),
        body: BODY.to_vec(),
        headers: vec![header("X-Svc-Signature"), header("X-Svc-Signature-Nonce")],
        ca_file: None,
        private: false,
    }
}

fn attempt(callback: &SignedCallback) -> Outcome {
    Callbacks::new(Dialer::default()).attempt(callback)
}

fn reason(outcome: Outcome) -> String {
    outcome.reason().unwrap_or_default().to_owned()
}

#[test]
fn posts_json_with_the_headers_given() {
    let server = Loopback::start(|_| ok("accepted"));
    assert_eq!(attempt(&callback(&server.url("/callback"))), Outcome::Sent(None));
    let request = server.request();
    assert!(request.starts_with("POST /callback HTTP/1.1\r\n"), "{request}");
    let lower = request.to_lowercase();
    assert!(lower.contains("\r\nx-svc-signature: c2ln\r\n"), "{request}");
    assert!(lower.contains("\r\ncontent-type: application/json\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"status\":\"approved\"}"), "{request}");
}

#[test]
fn gets_the_url_with_the_query_and_without_a_body() {
    let server = Loopback::start(|_| ok("accepted"));
    for (path, target) in [("/callback", "/callback?a=1&b=2"), ("", "/?a=1&b=2")] {
        let given = SignedCallback {
            method: CallbackMethod::Get,
            query: "a=1&b=2".to_owned(),
            body: Vec::new(),
            ..callback(&server.url(path))
        };
        assert_eq!(given.request_url(), format!("{}?a=1&b=2", server.url(path)));
        assert_eq!(attempt(&given), Outcome::Sent(None));
        let request = server.request();
        assert!(request.starts_with(&format!("GET {target} HTTP/1.1\r\n")), "{request}");
        assert!(!request.to_lowercase().contains("\r\ncontent-"), "{request}");
        assert!(request.ends_with("\r\n\r\n"), "{request}");
    }
}

#[test]
fn housekeeping_closes_connections_that_were_idle_for_too_long() {
    let kept = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec();
    let server =
        Loopback::start(move |_| Canned { pieces: vec![kept.clone()], pause: Duration::ZERO });
    let callbacks = Callbacks::new(Dialer::default());
    assert_eq!(callbacks.attempt(&callback(&server.url("/callback"))), Outcome::Sent(None));
    callbacks.housekeep();
    assert_eq!(callbacks.0.age(Duration::from_secs(16)), 1);
    callbacks.housekeep();
    assert_eq!(callbacks.0.age(Duration::ZERO), 0);
}

#[test]
fn every_status_but_success_and_gone_is_repeated() {
    for status in [200, 204, 299] {
        let server = Loopback::start(move |_| reply(status, "", ""));
        assert_eq!(attempt(&callback(&server.url("/"))), Outcome::Sent(None), "{status}");
    }
    for status in [302, 307, 400, 401, 404, 429, 500, 503] {
        let location = "Location: http://127.0.0.1:1/\r\n";
        let server = Loopback::start(move |_| reply(status, location, ""));
        let outcome = attempt(&callback(&server.url("/")));
        assert!(matches!(outcome, Outcome::Retry { after: None, .. }), "{outcome:?}");
        assert!(reason(outcome).contains(&status.to_string()));
        server.request();
        assert!(server.is_untouched(), "it was sent twice after {status}");
    }
    let server = Loopback::start(|_| reply(410, "", ""));
    let outcome = attempt(&callback(&server.url("/")));
    assert!(matches!(outcome, Outcome::Permanent(_)), "{outcome:?}");
}

#[test]
fn an_application_that_is_overloaded_says_when_to_repeat() {
    for (status, after) in [(429, Some(90)), (503, Some(90)), (500, None)] {
        let server = Loopback::start(move |_| reply(status, "Retry-After: 90\r\n", ""));
        let after = after.map(Duration::from_secs);
        let outcome = attempt(&callback(&server.url("/")));
        assert!(
            matches!(&outcome, Outcome::Retry { after: asked, .. } if *asked == after),
            "{outcome:?}"
        );
    }
}

#[test]
fn what_may_have_arrived_is_ambiguous_and_what_cannot_have_is_not() {
    let silent = Loopback::start(|_| Canned { pieces: Vec::new(), pause: Duration::ZERO });
    let garbage = Loopback::start(|_| Canned {
        pieces: vec![b"SSH-2.0-x\r\n\r\n".to_vec()],
        pause: Duration::ZERO,
    });
    for server in [silent, garbage] {
        let outcome = attempt(&callback(&server.url("/")));
        assert!(matches!(outcome, Outcome::Ambiguous(_)), "{outcome:?}");
        server.request();
        assert!(server.is_untouched(), "it was sent twice on a new connection");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let sent = Callbacks::new(Dialer::default()).send(&callback(&url), BRIEF);
    let outcome = outcome(sent);
    assert!(matches!(outcome, Outcome::Ambiguous(_)), "{outcome:?}");
    drop(listener);
    let outcome = attempt(&callback(&url));
    assert!(matches!(outcome, Outcome::Retry { .. }), "{outcome:?}");
}

/// A dialer for which names have the addresses of this file, whose lines have the format of `/etc/hosts`.
fn with_hosts(lines: &str) -> (Dialer, tempfile::NamedTempFile) {
    let hosts = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(hosts.path(), lines).unwrap();
    let lookup = Lookup::default().with_files(hosts.path().into(), "/nowhere".into());
    (Dialer::resolving_by(lookup), hosts)
}

#[test]
fn nothing_is_sent_to_private_addresses_unless_they_are_allowed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (dialer, _hosts) = with_hosts("127.0.0.1 app.example\n");
    let callbacks = Callbacks::new(dialer);
    for (host, shown) in [
        ("app.example", "127.0.0.1"),
        ("app.localhost", "127.0.0.1"),
        ("10.0.0.1", "10.0.0.1"),
        ("169.254.169.254", "169.254.169.254"),
        ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
        ("[fe80::1]", "fe80::1"),
        ("0.0.0.0", "0.0.0.0"),
    ] {
        let url = format!("https://{host}:{port}/cb");
        let outcome = callbacks.attempt(&callback(&url));
        assert!(matches!(outcome, Outcome::Retry { .. }), "{host}: {outcome:?}");
        let reason = reason(outcome);
        assert!(reason.contains("callback_private"), "{reason}");
        assert!(reason.contains(shown) || host == "app.localhost", "{reason}");
        assert!(listener.accept().is_err(), "{host} was connected to");
    }
    let allowed =
        SignedCallback { private: true, ..callback(&format!("https://app.example:{port}/")) };
    let _ = callbacks.send(&allowed, BRIEF);
    assert!(listener.accept().is_ok());
}

/// For a name, the proxy could find another address than the one that was checked.
#[test]
fn a_proxy_is_asked_for_addresses_that_were_checked_unless_all_are_allowed() {
    let proxy = Loopback::start(|_| reply(502, "", ""));
    let lines = "9.9.9.9 app.example\n9.9.9.10 app.example\n10.0.0.1 inner.example\n";
    let (dialer, _hosts) = with_hosts(lines);
    let callbacks = Callbacks::new(dialer.through(&proxy.url("")));
    let attempt = |url: &str, private: bool| {
        let callback = SignedCallback { private, ..callback(url) };
        reason(callbacks.attempt(&callback))
    };
    let failed = attempt("https://app.example/cb", false);
    assert!(failed.contains("cannot reach the service (status 502)"), "{failed}");
    assert!(proxy.request().starts_with("CONNECT 9.9.9.9:443 HTTP/1.1\r\n"));
    assert!(proxy.request().starts_with("CONNECT 9.9.9.10:443 HTTP/1.1\r\n"));
    let refused = attempt("https://inner.example/cb", false);
    assert!(refused.contains("10.0.0.1") && proxy.is_untouched(), "{refused}");
    attempt("https://inner.example/cb", true);
    assert!(proxy.request().starts_with("CONNECT inner.example:443 HTTP/1.1\r\n"));
    // This machine is reached directly.
    let server = Loopback::start(|_| ok(""));
    assert_eq!(attempt(&server.url("/cb"), false), "");
    assert!(attempt("https://127.0.0.1:9/cb", false).contains("connection refused"));
    assert!(proxy.is_untouched());
}

#[test]
fn a_url_with_an_address_of_this_machine_leads_there_and_nowhere_else() {
    let server = Loopback::start(|_| ok(""));
    let port = server.url("").rsplit(':').next().unwrap().to_owned();
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{port}/");
        assert_eq!(attempt(&callback(&url)), Outcome::Sent(None), "{host}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    for private in [false, true] {
        let given = SignedCallback { private, ..callback(&url) };
        assert!(Callbacks::new(Dialer::default()).send(&given, BRIEF).is_err());
        assert!(listener.accept().is_ok());
    }
}

/// Starts a name server that answers differently each time: first one address, and then another one.
#[allow(clippy::disallowed_methods, reason = "a test needs a name server")]
fn rebinding(first: Ipv4Addr, later: Ipv4Addr) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut buffer, mut is_first) = ([0; 1024], true);
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let mut packet = Packet::parse(&buffer[..length]).unwrap().into_reply();
            packet.set_flags(PacketFlag::RECURSION_AVAILABLE);
            if packet.questions[0].qtype == simple_dns::TYPE::A.into() {
                let address = if std::mem::take(&mut is_first) { first } else { later };
                let name = Name::new("app.example").unwrap();
                let data = RData::A(address.into());
                packet.answers.push(ResourceRecord::new(name, CLASS::IN, 0, data));
            }
            let _ = socket.send_to(&packet.build_bytes_vec().unwrap(), from);
        }
    });
    address
}

/// The second address would be accepted as well, so that only the listeners decide which one it was.
#[test]
fn the_address_that_was_checked_is_the_one_that_is_connected_to() {
    let (listener, other, port) = loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        if let Ok(other) = TcpListener::bind(("127.0.0.2", port)) {
            break (listener, other, port);
        }
    };
    other.set_nonblocking(true).unwrap();
    let server = rebinding([127, 0, 0, 1].into(), [127, 0, 0, 2].into());
    let lookup = Lookup::new(&[server]).unwrap().with_files("/nowhere".into(), "/nowhere".into());
    let host: http::uri::Authority = format!("app.example:{port}").parse().unwrap();
    let network = Network::new(host, Trust::ThisMachine, Dialer::resolving_by(lookup));
    let connection = network.connect(&None, Deadline::within(Duration::from_secs(5)));
    assert!(connection.is_ok() && listener.accept().is_ok() && other.accept().is_err());
}

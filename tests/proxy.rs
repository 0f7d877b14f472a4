//! Connections through the proxy of the settings.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::stub::{self, KEY, Peer, RIGHT, Stub, TOKEN, closed_port, in_time, response};
use crate::tls::{self, Identity, params};
use seconder::{Error, Result, Service, Settings, Stage, Verdict};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

const PASSWORD: &str = "hidden-pass";
const DEADLINE: Duration = Duration::from_millis(500);

fn service(identity: &Identity) -> Stub {
    tls::start(identity.config(), |mut peer| while peer.respond(&response(200, "", RIGHT)) {})
}

/// A proxy that connects every client to the service, whatever host the client names.
fn proxy(service: &Stub) -> Stub {
    let to = service.addr;
    Stub::start(move |mut peer: Peer<TcpStream>| {
        if peer.request().is_none() {
            return;
        }
        let service = TcpStream::connect(to).unwrap();
        peer.send(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 stub\r\n\r\n");
        let (mut from, mut back) = (service.try_clone().unwrap(), peer.stream.try_clone().unwrap());
        stub::spawn(move || drop(std::io::copy(&mut from, &mut back)));
        let _ = std::io::copy(&mut peer.stream, &mut &service);
        let _ = service.shutdown(Shutdown::Both);
    })
}

fn settings(url: &str, proxy: &str) -> Settings {
    let settings = Settings::new(url).api_key(KEY).proxy(proxy).max_idle(Duration::from_secs(60));
    settings.timeout(Duration::from_secs(60))
}

fn verify(service: &Service) -> Result<Verdict> {
    service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap())
}

#[test]
fn the_proxy_sees_only_the_connect_request() {
    let identity = Identity::self_signed(params());
    let served = service(&identity);
    let between = proxy(&served);
    let url = format!("https://{}", served.addr);
    let through = format!("http://us%65r:{PASSWORD}@{}", between.addr);
    let service = settings(&url, &through).pin(identity.pin()).open().unwrap();
    for _ in 0..3 {
        assert_eq!(verify(&service).unwrap(), Verdict::Right);
    }
    assert_eq!((between.connections(), served.connections(), served.requests().len()), (1, 1, 3));
    let requests = between.requests();
    let head: Vec<&str> = requests[0].lines().collect();
    assert_eq!(head[0], format!("CONNECT {} HTTP/1.1", served.addr));
    assert_eq!(head[1], format!("Host: {}", served.addr));
    assert_eq!(head[2], "Proxy-Authorization: Basic dXNlcjpoaWRkZW4tcGFzcw==");
    assert_eq!((requests.len(), head.len()), (1, 4));
    assert!(served.requests().iter().all(|request| !request.to_lowercase().contains("proxy")));
}

#[test]
fn the_proxy_resolves_the_host_and_the_certificate_must_name_it() {
    let identity =
        Identity::self_signed(rcgen::CertificateParams::new(["2fa.invalid".to_owned()]).unwrap());
    let served = service(&identity);
    let between = proxy(&served);
    let through = format!("http://{}", between.addr);
    let open = |url| settings(url, &through).pin(identity.pin()).open().unwrap();
    assert_eq!(verify(&open("https://2fa.invalid")).unwrap(), Verdict::Right);
    assert!(between.requests()[0].starts_with("CONNECT 2fa.invalid:443 HTTP/1.1\r\n"));
    let error = verify(&open("https://other.invalid:8443/base")).unwrap_err();
    assert!(error.to_string().contains("other.invalid:8443: its certificate is for another host"));
    assert!(between.requests()[1].starts_with("CONNECT other.invalid:8443 HTTP/1.1\r\n"));
}

/// The error of a call with this deadline through a proxy that sends this response. It must not
/// contain secrets.
fn error_through(response: &'static [u8], deadline: Duration) -> Error {
    let between = Stub::start(move |mut peer| {
        peer.request();
        peer.send(response);
        peer.stay_silent();
    });
    let through = format!("http://user:{PASSWORD}@{}", between.addr);
    let settings = settings("https://127.0.0.1:9", &through).timeout(deadline);
    assert!(!format!("{settings:?}").contains(PASSWORD));
    let service = settings.pin(Identity::self_signed(params()).pin()).open().unwrap();
    let error = in_time(DEADLINE, || verify(&service).unwrap_err());
    let text = format!("{error} {error:?} {service:?}");
    for secret in [PASSWORD, "aWRkZW4t", KEY, TOKEN] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(matches!(error, Error::Unavailable { stage: Stage::Connect, .. }), "{error}");
    assert!(error.retry_safe() && text.contains(&format!("the proxy {}", between.addr)), "{text}");
    assert_eq!(between.requests().len(), 1);
    error
}

#[test]
fn the_responses_of_a_failing_proxy_are_reported() {
    let reports_within = |deadline, response, part: &str| {
        let error = error_through(response, deadline).to_string();
        assert!(error.contains(part), "{error}");
    };
    let reports = |response, part: &str| reports_within(Duration::from_secs(60), response, part);
    reports(b"HTTP/1.1 407 X\r\nProxy-Authenticate: Basic\r\n\r\n", "a user name and a password");
    reports(b"HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n", "does not allow");
    reports(b"HTTP/1.0 503 X\r\n\r\n", "cannot reach the service");
    reports(b"HTTP/1.1 301 X\r\nLocation: http://127.0.0.1:1/\r\n\r\n", "status 301");
    reports(b"HTTP/1.1 100 Continue\r\n\r\n", "status 100");
    reports(b"SSH-2.0-x\r\n\r\n", "not respond as an HTTP proxy");
    reports(&[b'x'; 20_000], "not respond as an HTTP proxy");
    reports_within(DEADLINE, b"HTTP/1.1 200 X\r\n", "the deadline was exceeded");
}

#[test]
fn an_unreachable_proxy_is_reported() {
    let (_held, addr) = closed_port();
    let pin = Identity::self_signed(params()).pin();
    let error = |proxy: String| {
        let service = settings("https://127.0.0.1:9", &proxy).pin(&*pin).open().unwrap();
        verify(&service).unwrap_err().to_string()
    };
    let closed = error(format!("http://{addr}"));
    assert!(closed.contains(&format!("the proxy {addr}: connection refused")), "{closed}");
    let unknown = error("http://proxy.invalid:3128".into());
    assert!(
        unknown.contains("the proxy proxy.invalid:3128: the name could not be resolved"),
        "{unknown}"
    );
}

#[test]
fn a_proxy_requires_https() {
    let settings = settings("http://127.0.0.1:9", "http://127.0.0.1:3128");
    let error = settings.allow_loopback_http(true).open().unwrap_err();
    assert!(matches!(error, Error::InvalidArgument { parameter, .. } if parameter == "proxy"));
}

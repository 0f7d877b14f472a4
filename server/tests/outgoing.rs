//! Gateways, look-ups and the program connect by the name servers and the proxy of the settings.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a proxy runs in threads of the test")]

use crate::http_provider::{Provider, Reply, always, dialed_by, message, response, shown};
use crate::name_server::NameServer;
use crate::provider::{self, error, printed};
use crate::serving::{Running, database};
use seconder::Settings;
use seconder::engine::PhoneLine;
use seconder::remote::Dialer;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A name that only the name server of a test knows.
const NAME: &str = "sms.example.test";
/// The address to which e-mails for a number go.
const TO: &str = "{{to_digits}}@sms.example";
const OPENED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

/// A proxy that responds to each client with the same bytes.
struct Proxy {
    url: String,
    requests: Receiver<String>,
}

impl Proxy {
    /// Connects clients to this address, whatever host they name, if there is one.
    fn start(reply: &'static str, to: Option<SocketAddr>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let sender = sender.clone();
                std::thread::spawn(move || {
                    let mut client = stream.unwrap();
                    let Some(request) = head(&mut client) else { return };
                    let _ = sender.send(request);
                    let _ = client.write_all(reply.as_bytes());
                    if let Some(to) = to {
                        join(&client, &TcpStream::connect(to).unwrap());
                    }
                });
            }
        });
        Proxy { url, requests }
    }

    fn dialer(&self) -> Dialer {
        Settings::new("sandbox:").proxy(&self.url).dialer().unwrap()
    }

    /// The next request, which may still be on its way.
    fn wait(&self) -> String {
        self.requests.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    /// The next request, if it is there already.
    fn request(&self) -> Option<String> {
        self.requests.try_recv().ok()
    }
}

/// Reads a request without a body.
fn head(stream: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    String::from_utf8(bytes).ok()
}

/// Copies between two connections until both ends are done.
fn join(one: &TcpStream, other: &TcpStream) {
    let copy = |mut from: &TcpStream, mut to: &TcpStream| {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| copy(one, other));
        copy(other, one);
    });
}

fn resolving_by(address: impl Into<String>) -> Dialer {
    Settings::new("sandbox:").name_server(address).dialer().unwrap()
}

fn names() -> NameServer {
    NameServer::start(&[format!("--host-record={NAME},127.0.0.1")])
}

/// The settings of a gateway to a provider, at this host and without TLS.
fn settings(provider: &Provider, host: &str) -> Value {
    let url = provider.origin.replace("127.0.0.1", host);
    json!({"gateway": "http", "url": url, "allow_http": true, "body": "text={{text}}"})
}

#[test]
fn a_host_that_only_the_name_server_of_the_settings_knows_is_reached() {
    let (names, provider) = (names(), always(200, "", "{\"type\": \"mobile\"}"));
    let dialer = resolving_by(names.address());
    let gateway = dialed_by(&dialer, &settings(&provider, NAME));
    for _ in 0..2 {
        assert_eq!(shown(&gateway.send(&message())).0, "sent");
        assert!(provider.request().to_lowercase().contains(&format!("\r\nhost: {NAME}:")));
    }
    assert_eq!(names.queries(NAME), 1, "a kept connection needs no query");
    let unknown = dialed_by(&dialer, &settings(&provider, "no.example.test"));
    let (kind, reason) = shown(&unknown.send(&message()));
    assert!(kind == "retry" && reason.ends_with("the name could not be resolved"), "{reason}");
    let mut lookup = settings(&provider, NAME);
    lookup["body"] = Value::Null;
    lookup["carrier_pointer"] = "/carrier".into();
    let lookup = seconder_gateways::open_lookup(lookup.as_object().unwrap(), &dialer).unwrap();
    assert_eq!(lookup.look_up("+15550100123"), Ok(PhoneLine::default()));
    assert_eq!(names.queries(NAME), 2);
}

#[test]
fn the_time_limit_of_a_gateway_includes_the_resolution_of_its_host() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let dialer = resolving_by(silent.local_addr().unwrap().to_string());
    for settings in [
        json!({"gateway": "http", "url": format!("https://{NAME}/"), "timeout": 1}),
        json!({"gateway": "smtp", "host": NAME, "from": "login@app.example", "to": TO, "timeout": 1}),
        json!({"gateway": "smpp", "host": NAME, "system_id": "seconder", "timeout": 1}),
    ] {
        let started = Instant::now();
        let (kind, reason) = shown(&dialed_by(&dialer, &settings).send(&message()));
        assert_eq!(kind, "retry", "{settings}: {reason}");
        // Without the limit, the name server is waited for at least twice as long as this.
        assert!(started.elapsed() < Duration::from_secs(10), "{settings}: {:?}", started.elapsed());
        assert!(settings["gateway"] == "smpp" || reason.contains("no name server"), "{reason}");
    }
}

#[test]
fn connections_with_tls_go_through_the_proxy_which_resolves_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let reply = |_: usize, _: &str| Reply::Bytes(response(200, "", "{}"));
    let (provider, pem) = Provider::with_certificate("sms.invalid", rcgen::IsCa::NoCa, reply);
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, pem).unwrap();
    let (_, port) = provider.origin.rsplit_once(':').unwrap();
    let proxy = Proxy::start(OPENED, Some(([127, 0, 0, 1], port.parse().unwrap()).into()));
    let settings = json!({"gateway": "http", "url": provider.origin, "ca_file": ca_file});
    let gateway = dialed_by(&proxy.dialer(), &settings);
    for _ in 0..2 {
        assert_eq!(shown(&gateway.send(&message())), ("sent", String::new()));
        assert!(!provider.request().to_lowercase().contains("proxy"));
    }
    let target = format!("sms.invalid:{port}");
    let expected = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
    assert_eq!((proxy.request(), proxy.request()), (Some(expected), None));
}

#[test]
fn nothing_was_sent_if_the_proxy_refuses() {
    let proxy = Proxy::start("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", None);
    let dialer = proxy.dialer();
    for settings in [
        json!({"gateway": "http", "url": format!("https://{NAME}/")}),
        json!({"gateway": "smtp", "host": NAME, "from": "login@app.example", "to": TO}),
        json!({"gateway": "smtp", "host": NAME, "tls": "wrapper", "from": "login@app.example", "to": TO}),
        json!({"gateway": "smpp", "host": NAME, "system_id": "seconder", "tls": true, "timeout": 1}),
    ] {
        let gateway = dialed_by(&dialer, &settings);
        if settings["gateway"] == "smpp" {
            // It connects by itself. With the second attempt, the reason of the first one is known.
            gateway.start().unwrap();
            (0..2).for_each(|_| drop(proxy.wait()));
        }
        let (kind, reason) = shown(&gateway.send(&message()));
        assert_eq!(kind, "retry", "{settings}: {reason}");
        let address = proxy.url.trim_start_matches("http://");
        let wanted = format!("the proxy {address}: it does not allow connections to the service");
        assert!(reason.contains(&wanted), "{settings}: {reason}");
        assert!(proxy.wait().starts_with(&format!("CONNECT {NAME}:")), "{settings}");
    }
}

#[test]
fn this_machine_and_connections_without_tls_are_reached_without_the_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let proxy = Proxy::start(OPENED, None);
    let plain = always(200, "", "{}");
    let gateway = dialed_by(&proxy.dialer(), &settings(&plain, "127.0.0.1"));
    assert_eq!(shown(&gateway.send(&message())).0, "sent");
    let (local, pem) = Provider::with_tls(|_, _| Reply::Bytes(response(200, "", "{}")));
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, pem).unwrap();
    let settings = json!({"gateway": "http", "url": local.origin, "ca_file": ca_file});
    assert_eq!(shown(&dialed_by(&proxy.dialer(), &settings).send(&message())).0, "sent");
    assert_eq!(proxy.request(), None);
}

#[test]
fn the_options_of_the_program_are_for_its_gateways() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    let (names, provider) = (names(), provider::Provider::start(200));
    let url = format!("url={}", provider.url.replace("127.0.0.1", NAME));
    provider.set_route(folder, "main", &[&url]);
    let (test, address) = (["route", "test", "main", "+15550100123"], names.address());
    let silent = error(folder, &[&test[..], &["--name-server", "127.0.0.1:9"]].concat());
    assert!(silent.contains("no name server returned an answer"), "{silent}");
    printed(folder, &[&test[..], &["--name-server", &address]].concat());
    std::fs::write(folder.join("s.conf"), format!("name_server = [{address:?}]\n")).unwrap();
    printed(folder, &[&test[..], &["--config", "s.conf"]].concat());
    let running = Running::start(folder, &["--config", "s.conf"]);
    running.send_code("2025550123", false);
    assert_eq!(provider.received().len(), 3, "{}", running.log());
}

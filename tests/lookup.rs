//! Names are resolved by name servers within the deadline. The tests use a real name server, and
//! some that never respond.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::name_server::NameServer;
use crate::stub::{KEY, RIGHT, Stub, TOKEN, closed_port, in_time, response};
use crate::tls::{self, Identity};
use seconder::keyring::Keyring;
use seconder::{Error, Result, Service, Settings, Stage, Verdict};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::Duration;

const SERVER: &str = "SECONDER_TEST_SERVER";
const DEADLINE: Duration = Duration::from_millis(500);

/// A service on this machine, with the names of its certificate.
fn service(identity: &Identity) -> Stub {
    tls::start(identity.config(), |mut peer| while peer.respond(&response(200, "", RIGHT)) {})
}

fn identity(names: &[&str]) -> Identity {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    Identity::self_signed(rcgen::CertificateParams::new(names).unwrap())
}

fn settings(name: &str, port: u16, identity: &Identity, server: &str) -> Settings {
    let settings = Settings::new(&format!("https://{name}:{port}")).api_key(KEY);
    let settings = settings.max_idle(Duration::from_secs(60));
    settings.pin(identity.pin()).name_server(server).timeout(Duration::from_secs(5))
}

fn verify(service: &Service) -> Result<Verdict> {
    service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap())
}

#[test]
fn names_are_resolved_by_a_real_name_server() {
    let many = (1..=60).map(|last| format!("--host-record=many.example.test,127.0.9.{last}"));
    let names = ["service.example.test", "alias.example.test", "many.example.test"];
    let mut records = vec![
        format!("--host-record={},127.0.0.1,::1", names[0]),
        format!("--cname={},{}", names[1], names[0]),
    ];
    records.extend(many);
    let real = NameServer::start(&records);
    let identity = identity(&names);
    let stub = service(&identity);
    let open = |name| settings(name, stub.addr.port(), &identity, &real.address()).open().unwrap();

    let service = open(names[0]);
    for _ in 0..3 {
        assert_eq!(verify(&service).unwrap(), Verdict::Right);
    }
    assert_eq!(
        (real.queries(names[0]), stub.connections()),
        (1, 1),
        "a reused connection needs no query"
    );
    assert_eq!(verify(&open(names[1])).unwrap(), Verdict::Right);

    // More addresses than fit into a datagram. No service listens at any of them.
    let error = verify(&open(names[2])).unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Connect, .. }), "{error}");
    assert!(error.to_string().contains("connection refused"), "{error}");
    assert!(real.queries(names[2]) >= 2, "over UDP, then over TCP");

    let error = verify(&open("nobody.example.test")).unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Dns, .. }), "{error}");
    assert!(
        error.retry_safe() && error.to_string().contains("the name could not be resolved"),
        "{error}"
    );

    // dnsmasq refuses queries for other domains, as it forwards none.
    let error = verify(&open("other.example.com")).unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Dns, .. }), "{error}");
    let reason = format!("no name server returned an answer (queried: {})", real.address());
    assert!(error.retry_safe() && error.to_string().contains(&reason), "{error}");
}

#[test]
fn a_silent_name_server_is_skipped_and_only_the_proxy_is_resolved() {
    let real = NameServer::start(&["--host-record=proxy.example.test,127.0.0.1".to_owned()]);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let proxy = Stub::responding(response(407, "", ""));
    let through = format!("http://proxy.example.test:{}", proxy.addr.port());
    let silent = silent.local_addr().unwrap().to_string();
    let settings = settings("service.example.test", 443, &identity(&[]), &silent);
    let service = settings.name_server(real.address()).proxy(through).open().unwrap();
    let error = verify(&service.with_timeout(Duration::from_secs(2))).unwrap_err().to_string();
    assert!(error.contains("requires a user name and a password"), "{error}");
    assert!(proxy.requests()[0].starts_with("CONNECT service.example.test:443 "));
    assert_eq!((real.queries("proxy.example.test"), real.queries("service.example.test")), (1, 0));
}

#[test]
fn resolution_ends_at_the_deadline_if_the_name_server_is_silent() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = silent.local_addr().unwrap().to_string();
    let settings = settings("service.example.test", 443, &identity(&[]), &server);
    let service = settings.timeout(DEADLINE).open().unwrap();
    let error = in_time(DEADLINE, || verify(&service).unwrap_err());
    assert!(matches!(error, Error::Unavailable { stage: Stage::Dns, .. }), "{error}");
    assert!(error.retry_safe() && error.to_string().contains(&server), "{error}");
}

#[test]
fn an_engine_resolves_the_host_of_its_database_by_the_name_servers_of_the_settings() {
    let real = NameServer::start(&["--host-record=db.example.test,127.0.0.1".to_owned()]);
    let folder = tempfile::tempdir().unwrap();
    let ring = folder.path().join("ring");
    Keyring::at(&ring).create().unwrap();
    let (_closed, address) = closed_port();
    let url = format!("postgres://ada@db.example.test:{}/d?sslmode=disable", address.port());
    // A database is not reached through a proxy.
    let settings = Settings::new(&url).keyring(ring).proxy("http://127.0.0.1:9");
    let error = settings.name_server(real.address()).open().unwrap_err().to_string();
    assert!(error.contains("db.example.test") && error.contains("connection refused"), "{error}");
    assert_eq!(real.queries("db.example.test"), 1);
}

#[test]
fn name_server_must_be_an_address() {
    for wrong in ["", "dns.example.com", "192.0.2.1:", "192.0.2.1:0"] {
        let settings = settings("service.example.test", 443, &identity(&[]), wrong);
        let error = settings.open().unwrap_err();
        assert!(
            matches!(&error, Error::InvalidArgument { parameter, .. } if parameter == "name_server")
        );
    }
}

#[test]
fn the_environment_does_not_affect_name_resolution() {
    let real = NameServer::start(&[]);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lookup::child_that_resolves_in_that_environment"])
        .env("LOCALDOMAIN", "environment.test")
        .env("RES_OPTIONS", "ndots:9")
        .env(SERVER, real.address())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    assert_eq!((real.queries("a.test"), real.queries("a.test.environment.test")), (1, 0));
}

/// The child process of the test above. Without the variable, it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the test above passes the address in a variable")]
fn child_that_resolves_in_that_environment() {
    let Ok(server) = std::env::var(SERVER) else { return };
    let service = settings("a.test", 443, &identity(&[]), &server);
    let error = verify(&service.open().unwrap()).unwrap_err();
    assert!(error.to_string().contains("the name could not be resolved"), "{error}");
}

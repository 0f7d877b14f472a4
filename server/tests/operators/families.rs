//! The four families of requests, with the credentials of each other: none of them opens another family, and where a
//! family is not served, its paths are as unknown as any other.

use super::{ANY, World, request};
use crate::common::KEY;
use seconder::engine::operator::Role;
use seconder::http::SANDBOX_API_KEY;
use seconder::sandbox::Sandbox;
use seconder_server::{Listeners, Server, Tls};
use std::net::SocketAddr;

/// A path of each family, with its method.
const APPLICATION: (&str, &str) = ("GET", "/protected/json/app/details");
const OPERATOR: (&str, &str) = ("POST", "/-/operator/user.list");
const DEVICE: (&str, &str) = ("GET", "/-/approver/api/requests");
const SANDBOX: (&str, &str) = ("GET", "/-/sandbox/clock");
/// A path that no family has.
const UNKNOWN: &str = "/-/nothing/here";
/// The header of a device, with a signature that is never right.
const SIGNATURE: &str = "Authorization: Seconder device=1.1, time=1790000000, signature=AAAA\r\n";

fn key(key: &str) -> String {
    format!("X-Svc-API-Key: {key}\r\n")
}

impl World {
    /// Serves the same database with a new server.
    fn serve(&mut self) {
        let listeners =
            Listeners::new().tls(Tls::SelfSigned).https(ANY).unwrap().operators(ANY).unwrap();
        self.server = Server::serve(self.service.clone(), listeners).unwrap();
    }

    fn ask(&self, addr: SocketAddr, (method, path): (&str, &str), header: &str) -> (u16, String) {
        let body = if method == "POST" { "{}" } else { "" };
        let (status, body) = self.send(addr, &request(method, path, header, body));
        // A reply may repeat the path.
        (status, body.replace(path, "PATH"))
    }
}

#[test]
fn no_credential_opens_another_family() {
    let mut world = World::start();
    world.service.require_engine().unwrap().set_public_url("https://login.example").unwrap();
    let token = world.token("ada", Role::Admin, None);
    let bearer = format!("Authorization: Bearer {}\r\n", token.expose());
    let headers = [String::new(), key(KEY), key(token.expose()), bearer.clone(), SIGNATURE.into()];
    let bearers = [format!("Authorization: Bearer {KEY}\r\n"), key(KEY) + SIGNATURE];

    for header in headers.iter().chain(&bearers) {
        // An address has few wrong tokens, so each of these has a server of its own.
        world.serve();
        let (main, operators) = (world.server.addrs()[0], world.server.operator_addrs()[0]);
        let ask = |asked| world.ask(main, asked, header);
        // No other family is on this listener, whoever asks.
        for (method, path) in [OPERATOR, SANDBOX] {
            assert_eq!(ask((method, path)), ask((method, UNKNOWN)), "{path} with {header}");
        }
        let has_key = header.starts_with(&key(KEY));
        assert_eq!(ask(APPLICATION).0, if has_key { 200 } else { 401 }, "{header}");
        let (status, body) = ask(DEVICE);
        assert!((status, body.contains("unauthorized")) == (401, true), "{header}: {body}");

        // A stranger learns nothing of the paths for operators.
        let ask = |asked| world.ask(operators, asked, header);
        if *header != bearer {
            let stranger = ask(OPERATOR);
            assert_eq!(stranger.0, 401, "{header}");
            for (method, path) in [APPLICATION, OPERATOR, DEVICE, SANDBOX, ("POST", UNKNOWN)] {
                assert_eq!(ask((method, path)), stranger, "{path} with {header}");
            }
        }
    }

    let operators = world.server.operator_addrs()[0];
    let ask = |asked| world.ask(operators, asked, &bearer);
    assert_eq!((ask(APPLICATION).0, ask(OPERATOR).0), (200, 200));
    for (method, path) in [DEVICE, SANDBOX] {
        assert_eq!(ask((method, path)), ask((method, UNKNOWN)), "{path}");
    }
    // Imported ids decide those of every application, so a token for some does not permit it.
    let limited = world.token("sam", Role::Admin, Some(vec![1]));
    let limited = format!("Authorization: Bearer {}\r\n", limited.expose());
    let import = ("POST", "/-/operator/user.import");
    let (status, body) = world.ask(operators, import, &limited);
    assert!(status == 403 && body.contains("whole service"), "{body}");
    // Two tokens, and another key beside a token.
    assert_eq!(world.ask(operators, OPERATOR, &format!("{bearer}{bearer}")).0, 401);
    assert_eq!(world.ask(operators, APPLICATION, &(bearer.clone() + &key(KEY))).0, 400);
}

#[test]
fn other_spellings_of_a_path_are_other_paths() {
    let world = World::start();
    let (main, operators) = (world.server.addrs()[0], world.server.operator_addrs()[0]);
    let token = world.token("ada", Role::Admin, None);
    let bearer = format!("Authorization: Bearer {}\r\n", token.expose());
    let spelt = |path: &str| {
        let name = path.rsplit('/').next().unwrap();
        let folder = path.strip_suffix(name).unwrap();
        let (first, rest) = name.split_at(1);
        [
            format!("{folder}/{name}"),
            format!("{folder}./{name}"),
            format!("{folder}x/../{name}"),
            format!("{path}/"),
            format!("{folder}%{:02x}{rest}", first.as_bytes()[0]),
            format!("{folder}{}", name.to_uppercase()),
            path.to_uppercase(),
            format!("{path};a=b"),
            format!("{path}%00"),
        ]
    };
    for (asked, addr, header) in [
        (OPERATOR, operators, bearer.as_str()),
        (APPLICATION, operators, &bearer),
        (APPLICATION, main, &key(KEY)),
    ] {
        assert_eq!(world.ask(addr, asked, header).0, 200);
        for path in spelt(asked.1) {
            let (status, body) = world.ask(addr, (asked.0, &path), header);
            assert!((400..500).contains(&status), "{path}: {status} {body}");
        }
    }
}

#[test]
fn a_sandbox_has_no_operators() {
    let sandbox = Sandbox::new().unwrap();
    let listeners = Listeners::new().tls(Tls::SelfSigned).https(ANY).unwrap();
    let server = Server::sandbox(sandbox.clone(), listeners).unwrap();
    let world = World { server, ..World::start() };
    let addr = world.server.addrs()[0];
    let own = key(SANDBOX_API_KEY);
    assert_eq!(
        (world.ask(addr, SANDBOX, &own).0, world.ask(addr, APPLICATION, &own).0),
        (200, 200)
    );
    assert_eq!(world.ask(addr, SANDBOX, &key("another")).0, 401);
    let (method, path) = OPERATOR;
    assert_eq!(world.ask(addr, (method, path), &own), world.ask(addr, (method, UNKNOWN), &own));
    let listeners = Listeners::new().tls(Tls::SelfSigned).operators(ANY).unwrap();
    let refused = Server::sandbox(sandbox, listeners).err().unwrap();
    assert!(refused.to_string().contains("have no operators"), "{refused}");
}

//! The cases of `tests/vectors/calls`, over HTTPS and a local socket.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::cases::raw::{DIALECTS, Dialect, Raw, Response};
use crate::cases::{World, cases};
use crate::common;
use seconder::Settings;
use seconder::engine::Engine;
use seconder::wire::{Format, Generation, Names};
use seconder_server::{Server, Tls};
use std::io::{Read, Write};
use std::net::SocketAddr;

/// Runs every case with a server that replies in one generation and a client that speaks another or
/// the same, both with the same names. `dialect` is that of the `>>` lines.
fn through_https(
    format: Format,
    (generation, replies): (Generation, Generation),
    names: &Names,
    dialect: Dialect,
) {
    for (name, text) in cases() {
        let folder = tempfile::tempdir().unwrap();
        let (mut world, engine) = World::new(folder.path(), &text, |settings| {
            settings.names(names.clone()).replies(replies)
        });
        let server = Server::start(engine, ([127, 0, 0, 1], 0).into(), Tls::SelfSigned).unwrap();
        let certificate = folder.path().join("certificate.pem");
        std::fs::write(&certificate, server.certificate_pem()).unwrap();
        let settings = speaking(&server.url(), format, generation, names);
        let key = world.engine.api_key();
        let key = key.expose();
        let client = settings.api_key(key).ca_file(certificate).open().unwrap();
        world.dialect = dialect;
        let (addr, pem) = (server.addr(), server.certificate_pem().to_owned());
        world.send_raw = Box::new(move |_, raw| send(addr, &pem, raw));
        world.run(&client, &format!("{name}, {dialect:?}"), &text);
    }
}

/// Runs every case with a server on a local socket that lets this process make every call, and a
/// client that speaks the same generation.
#[cfg(unix)]
fn through_socket(format: Format, generation: Generation, names: &Names, dialect: Dialect) {
    use seconder_server::{Listeners, LocalSocket, PeerRules, SocketOptions};
    for (name, text) in cases() {
        let folder = tempfile::tempdir().unwrap();
        let (mut world, engine) = World::new(folder.path(), &text, |settings| {
            settings.names(names.clone()).replies(generation)
        });
        let path = folder.path().join("s.sock");
        let own = format!("user:{}=application", nix::unistd::getuid());
        let rules = PeerRules::parse(&[own]).unwrap();
        let socket = LocalSocket::bind(&path, SocketOptions::default(), rules).unwrap();
        let _server = Server::serve(engine, Listeners::new().local(socket)).unwrap();
        let url = format!("unix:{}", path.display());
        let client = speaking(&url, format, generation, names).open().unwrap();
        world.dialect = dialect;
        world.send_raw = Box::new(move |engine, raw| {
            let mut stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
            stream.write_all(&written(without_key(engine, raw))).unwrap();
            let mut got = Vec::new();
            stream.read_to_end(&mut got).unwrap();
            read(&got)
        });
        world.run(&client, &format!("{name}, {dialect:?}, unix:"), &text);
    }
}

/// The settings of a client in a dialect.
fn speaking(url: &str, format: Format, generation: Generation, names: &Names) -> Settings {
    Settings::new(url).format(format).generation(generation).names(names.clone())
}

/// The same request without the API key, which a local socket rejects.
#[cfg(unix)]
fn without_key(engine: &Engine, mut raw: Raw) -> Raw {
    let (header, key) = (engine.names().api_key(), engine.api_key());
    raw.headers.retain(|(name, _)| *name != header);
    let parameter = format!("api_key={}", key.expose());
    let (path, query) = raw.target.split_once('?').unwrap_or((&raw.target, ""));
    let query: Vec<&str> = query.split('&').filter(|pair| *pair != parameter).collect();
    raw.target = match query.join("&") {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    };
    raw
}

fn send(addr: SocketAddr, pem: &str, raw: Raw) -> Response {
    read(&common::exchange(addr, pem, &written(raw)))
}

fn written(raw: Raw) -> Vec<u8> {
    let headers = raw.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    let head = format!(
        "{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n",
        raw.method,
        raw.target,
        raw.body.len(),
        headers.collect::<String>()
    );
    [head.as_bytes(), &raw.body].concat()
}

fn read(got: &[u8]) -> Response {
    let end = got.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(got[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let wait = head.lines().find_map(|line| line.strip_prefix("retry-after: "));
    (status, wait.map(|seconds| seconds.parse().unwrap()), got[end + 4..].to_vec())
}

#[test]
fn every_case_passes_in_json() {
    let current = (Generation::Current, Generation::Current);
    through_https(Format::Json, current, &Names::default(), DIALECTS[0]);
}

#[test]
fn every_case_passes_in_xml() {
    let current = (Generation::Current, Generation::Current);
    through_https(Format::Xml, current, &Names::default(), DIALECTS[3]);
}

#[test]
fn every_case_passes_in_the_older_json() {
    let older = (Generation::Older, Generation::Older);
    through_https(Format::Json, older, &Names::default(), DIALECTS[1]);
}

#[test]
fn every_case_passes_in_the_older_xml() {
    let older = (Generation::Older, Generation::Older);
    through_https(Format::Xml, older, &Names::default(), DIALECTS[2]);
}

#[test]
fn every_case_passes_under_other_names() {
    let names = Names::new("acme").unwrap().push_path("onetouch").unwrap();
    let mut dialects = DIALECTS.into_iter().skip(2);
    for format in [Format::Json, Format::Xml] {
        for generation in [Generation::Current, Generation::Older] {
            through_https(format, (generation, generation), &names, dialects.next().unwrap());
        }
    }
}

#[test]
fn every_case_passes_where_the_replies_are_of_the_other_generation() {
    let both = [Generation::Current, Generation::Older];
    let mut dialects = DIALECTS.into_iter();
    for format in [Format::Json, Format::Xml] {
        for generations in [(both[0], both[1]), (both[1], both[0])] {
            through_https(format, generations, &Names::default(), dialects.next().unwrap());
        }
    }
}

#[cfg(unix)]
#[test]
fn every_case_passes_over_a_local_socket() {
    through_socket(Format::Json, Generation::Current, &Names::default(), DIALECTS[0]);
    let names = Names::new("acme").unwrap().push_path("onetouch").unwrap();
    through_socket(Format::Xml, Generation::Older, &names, DIALECTS[3]);
}

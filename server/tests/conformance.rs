//! The cases of `tests/vectors/calls`, over HTTPS.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod common;
#[path = "../../tests/conformance/mod.rs"]
mod conformance;

use conformance::raw::{DIALECTS, Dialect, Raw, Response};
use conformance::{World, cases};
use seconder::Settings;
use seconder::wire::{Format, Generation, Names};
use seconder_server::{Server, Tls};
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
        let client = Settings::new(&server.url())
            .api_key(world.engine.api_key().expose())
            .ca_file(certificate)
            .format(format)
            .generation(generation)
            .names(names.clone())
            .open()
            .unwrap();
        world.dialect = dialect;
        let (addr, pem) = (server.addr(), server.certificate_pem().to_owned());
        world.send_raw = Box::new(move |_, raw| send(addr, &pem, raw));
        world.run(&client, &format!("{name}, {dialect:?}"), &text);
    }
}

fn send(addr: SocketAddr, pem: &str, raw: Raw) -> Response {
    let headers = raw.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    let head = format!(
        "{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n",
        raw.method,
        raw.target,
        raw.body.len(),
        headers.collect::<String>()
    );
    let got = common::exchange(addr, pem, &[head.as_bytes(), &raw.body].concat());
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

//! The cases of `tests/vectors/calls`, over HTTPS.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "../../tests/conformance/mod.rs"]
mod conformance;

use conformance::{World, cases};
use seconder::Settings;
use seconder::wire::{Format, Generation, Names};
use seconder_server::{Server, Tls};

/// Runs every case with a server and a client that use the same names.
fn through_https(format: Format, generation: Generation, names: &Names) {
    for (name, text) in cases() {
        let folder = tempfile::tempdir().unwrap();
        let (mut world, engine) = World::new(folder.path(), names.clone());
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
        world.run(&client, &name, &text);
    }
}

#[test]
fn every_case_passes_in_json() {
    through_https(Format::Json, Generation::Current, &Names::default());
}

#[test]
fn every_case_passes_in_xml() {
    through_https(Format::Xml, Generation::Current, &Names::default());
}

#[test]
fn every_case_passes_in_the_older_json() {
    through_https(Format::Json, Generation::Older, &Names::default());
}

#[test]
fn every_case_passes_in_the_older_xml() {
    through_https(Format::Xml, Generation::Older, &Names::default());
}

#[test]
fn every_case_passes_under_other_names() {
    let names = Names::new("acme").unwrap().push_path("onetouch").unwrap();
    for format in [Format::Json, Format::Xml] {
        for generation in [Generation::Current, Generation::Older] {
            through_https(format, generation, &names);
        }
    }
}

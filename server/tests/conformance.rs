//! The cases of `tests/vectors/calls`, answered through HTTPS.

#[path = "../../tests/conformance/mod.rs"]
mod conformance;

use conformance::{World, cases};
use seconder::Settings;
use seconder_server::{Server, Tls};

#[test]
fn every_case_is_answered_through_https() {
    for (name, text) in cases() {
        let folder = tempfile::tempdir().unwrap();
        let (mut world, engine) = World::new(folder.path());
        let server = Server::start(engine, ([127, 0, 0, 1], 0).into(), Tls::SelfSigned).unwrap();
        let certificate = folder.path().join("certificate.pem");
        std::fs::write(&certificate, server.certificate_pem()).unwrap();
        let client = Settings::new(&server.url())
            .api_key(world.engine.api_key().expose())
            .ca_file(certificate)
            .open()
            .unwrap();
        world.run(&client, &name, &text);
    }
}

//! How an engine sends callbacks by itself: to real servers on this machine, with TLS and without.

#![cfg(all(feature = "engine", feature = "https"))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::fresh::{self, url};
use crate::stub::{Stub, response};
use crate::tls::{self, Identity, params};
use seconder::callback::{Received, Verifier};
use seconder::engine::{ApprovalResponse, DeviceRegistered, DeviceType, Events, Post};
use seconder::engine::{RespondToApproval, SignedCallback};
use seconder::model::{ApprovalId, CallbackMethod, CallbackUrl, UserId};
use seconder::{Service, Settings};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A service with a user who has a device.
struct World {
    service: Service,
    user: UserId,
    device: DeviceRegistered,
}

impl World {
    fn new(settings: Settings) -> World {
        let service = settings.open().unwrap();
        let user = fresh::ada(&service);
        let device = service.engine().unwrap().register_device(user, DeviceType::Ios).unwrap();
        World { service, user, device }
    }

    /// A request that the user approves, which is called back.
    fn approve(&self) -> ApprovalId {
        let uuid = self.service.create_approval(self.user, "Log in to a & b?").unwrap().uuid;
        let response = RespondToApproval {
            uuid: uuid.clone(),
            device_id: self.device.device_id,
            device_secret: self.device.secret.clone(),
            response: ApprovalResponse::Approve,
            number: None,
        };
        let _ = self.service.engine().unwrap().respond_to_approval(&response).unwrap();
        uuid
    }
}

/// What failed in the callbacks that are still to be sent.
fn errors(path: &Path) -> Vec<String> {
    let db = rusqlite::Connection::open(path).unwrap();
    let mut errors = db.prepare("SELECT last_error FROM jobs").unwrap();
    errors.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn header<'a>(request: &'a str, name: &str) -> &'a str {
    let line = |line: &'a str| line.split_once(": ").filter(|(n, _)| n.eq_ignore_ascii_case(name));
    request.lines().find_map(line).map_or("", |(_, value)| value)
}

/// The event that the receiver of a request reads from it.
fn verified(world: &World, url: &str, request: &str) -> seconder::callback::Event {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let target = head.split(' ').nth(1).unwrap();
    let (signature, nonce) =
        (header(request, "x-svc-signature"), header(request, "x-svc-signature-nonce"));
    let received = match target.split_once('?') {
        Some((_, query)) => Received::get(query, signature, nonce),
        None => Received::post(body.as_bytes(), signature, nonce),
    };
    let verifier = Verifier::new(world.service.engine().unwrap().api_key()).url(url);
    let now = nonce.split('.').next().unwrap().parse().unwrap();
    verifier.fresh(Duration::from_secs(60)).verify(&received, now).unwrap()
}

#[test]
fn a_callback_arrives_by_the_method_that_the_application_has() {
    let folder = tempfile::tempdir().unwrap();
    let at = url(&folder.path().join("seconder.db"));
    let receiver = Stub::responding(response(200, "", "ok"));
    let to = format!("{}/callback", receiver.url());
    drop(Settings::new(&at).callback_url(&to).callback_method(CallbackMethod::Get).open().unwrap());
    // The method is stored: a process that was given none uses it.
    let world = World::new(Settings::new(&at));
    let by_get = world.approve();
    drop(Settings::new(&at).callback_method(CallbackMethod::Post).open().unwrap());
    let world = World { service: seconder::open(&at).unwrap(), ..world };
    let by_post = world.approve();
    let requests = receiver.requests();
    assert!(requests[0].starts_with("GET /callback?approval_request%5B"), "{}", requests[0]);
    assert!(requests[1].starts_with("POST /callback HTTP/1.1\r\n"), "{}", requests[1]);
    for (request, uuid) in requests.iter().zip([by_get, by_post]) {
        let event = verified(&world, &to, request);
        assert!(event.approved_by(world.user) && event.uuid == uuid);
        let message = &event.parameters()["approval_request"]["transaction"]["message"];
        assert_eq!(message, "Log in to a & b?");
    }
}

#[test]
fn one_connection_carries_many_callbacks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let identity = Identity::self_signed(params());
    let receiver =
        tls::start(identity.config(), |mut peer| while peer.respond(&response(200, "", "ok")) {});
    let to = format!("https://{}/callback", receiver.addr);
    let settings = Settings::new(&url(&path)).callback_url(to).callback_ca_file(identity.files().0);
    let world = World::new(settings);
    for _ in 0..3 {
        world.approve();
    }
    assert_eq!((receiver.requests().len(), receiver.connections()), (3, 1));
    assert_eq!(errors(&path), [""; 0]);
}

#[test]
fn a_callback_that_meets_the_end_of_a_kept_connection_is_sent_on_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    // It closes each connection in place of its second response.
    let receiver = Stub::start(|mut peer| {
        let _ = peer.request().is_some() && peer.send(&response(200, "", "ok"));
        peer.request();
    });
    let to = format!("{}/callback", receiver.url());
    let world = World::new(Settings::new(&url(&path)).callback_url(to));
    world.approve();
    world.approve();
    let requests = receiver.requests();
    assert_eq!((requests.len(), receiver.connections()), (3, 2));
    let delivery = |at: usize| header(&requests[at], "seconder-delivery");
    assert!(delivery(0) != delivery(1) && delivery(1) == delivery(2), "{requests:?}");
    assert_eq!(errors(&path), [""; 0]);
}

#[test]
fn a_file_of_authorities_is_read_again_when_it_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let (ours, others) = (Identity::self_signed(params()), Identity::self_signed(params()));
    let receiver =
        tls::start(ours.config(), |mut peer| while peer.respond(&response(200, "", "ok")) {});
    let file = folder.path().join("ca.pem");
    std::fs::copy(ours.files().0, &file).unwrap();
    let to = format!("https://{}/callback", receiver.addr);
    let world = World::new(Settings::new(&url(&path)).callback_url(to).callback_ca_file(&file));
    world.approve();
    assert_eq!((receiver.requests().len(), errors(&path).len()), (1, 0));
    // Neither is the connection used that was trusted before.
    let replacement = folder.path().join("new.pem");
    std::fs::copy(others.files().0, &replacement).unwrap();
    std::fs::rename(&replacement, &file).unwrap();
    world.approve();
    assert_eq!((receiver.requests().len(), errors(&path).len()), (1, 1));
    assert!(errors(&path)[0].contains("certificate"), "{:?}", errors(&path));
    std::fs::copy(ours.files().0, &replacement).unwrap();
    std::fs::rename(&replacement, &file).unwrap();
    world.approve();
    assert_eq!((receiver.requests().len(), errors(&path).len()), (2, 1));
}

#[test]
fn a_callback_to_a_private_address_is_refused_and_the_job_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let noted = Noted::default();
    let settings = Settings::new(&url(&path)).callback_url("https://169.254.169.254/latest");
    World::new(settings.events(noted.clone())).approve();
    let errors = errors(&path);
    assert_eq!(errors.len(), 1);
    let words = ["169.254.169.254", "not one of the public Internet", "callback_private"];
    assert!(words.iter().all(|word| errors[0].contains(word)), "{errors:?}");
    let noted = noted.0.lock().unwrap();
    assert_eq!(*noted, [("https://169.254.169.254/latest".to_owned(), errors[0].clone())]);
}

/// What a program can log of callbacks that failed.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<(String, String)>>>);

impl Events for Noted {
    fn callback_failed(&self, url: &CallbackUrl, reason: &str) {
        self.0.lock().unwrap().push((url.to_string(), reason.to_owned()));
    }
}

/// Fails with what HTTP clients say of a request that failed.
struct Talkative;

impl Post for Talkative {
    fn post(&self, callback: &SignedCallback) -> Result<(), String> {
        Err(format!("GET {}?{} failed: is it up?", callback.url, callback.query))
    }
}

#[test]
fn the_error_of_a_callback_does_not_have_its_query() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seconder.db");
    let settings = Settings::new(&url(&path)).callback_url("https://app.example/callback");
    World::new(settings.callback_method(CallbackMethod::Get).post(Talkative)).approve();
    assert_eq!(errors(&path), ["GET https://app.example/callback?… failed: is it up?"]);
}

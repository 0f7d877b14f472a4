//! A service that phones with the approver reach, and what it sends.

use super::{Phone, SERVICE, new_key};
use crate::fresh::{ManualClock, ada, url};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use seconder::calls::{ApprovalStatus, CreateApproval};
use seconder::engine::approver::{DeviceSettings, Refused, ShownRequest, Subscription};
use seconder::engine::{Engine, Message, Post, PushMessage, PushOutcome, SendPush, SignedCallback};
use seconder::model::{ApprovalId, UserId};
use seconder::{Handle, Service, Settings};
use serde_json::Value;
use std::sync::{Arc, Mutex};

pub(crate) const NOW: u64 = 1_790_000_000;

/// A service that phones reach, and what it sends.
pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) clock: ManualClock,
    pub(crate) messages: Arc<Mutex<Vec<Message>>>,
    pub(crate) callbacks: Arc<Mutex<Vec<Value>>>,
    pub(crate) pushes: Arc<Mutex<Vec<PushMessage>>>,
    /// What push services respond, the last again and again.
    pub(crate) responses: Arc<Mutex<Vec<PushOutcome>>>,
    pub(crate) ada: UserId,
    _folder: tempfile::TempDir,
}

struct Callbacks(Arc<Mutex<Vec<Value>>>);

impl Post for Callbacks {
    fn post(&self, callback: &SignedCallback) -> Result<(), String> {
        self.0.lock().unwrap().push(serde_json::from_slice(&callback.body).unwrap());
        Ok(())
    }
}

struct Pushes(Arc<Mutex<Vec<PushMessage>>>, Arc<Mutex<Vec<PushOutcome>>>);

impl SendPush for Pushes {
    fn send(&self, message: &PushMessage) -> PushOutcome {
        self.0.lock().unwrap().push(message.clone());
        let mut responses = self.1.lock().unwrap();
        match responses.len() {
            0 => PushOutcome::Accepted,
            1 => responses[0].clone(),
            _ => responses.remove(0),
        }
    }
}

impl World {
    pub(crate) fn new() -> World {
        let world = World::unreachable();
        world.engine().set_public_url(&format!("{SERVICE}/")).unwrap();
        world
    }

    pub(crate) fn unreachable() -> World {
        let folder = tempfile::tempdir().unwrap();
        let clock = ManualClock::at(NOW);
        let (messages, callbacks) = (Arc::<Mutex<Vec<Message>>>::default(), Arc::default());
        let (pushes, responses) = (Arc::default(), Arc::default());
        let sent = Arc::clone(&messages);
        let service = Settings::new(&url(&folder.path().join("a.db")))
            .clock(clock.clone())
            .callback_url("https://app.example/callback")
            .deliver(move |message: &Message| {
                sent.lock().unwrap().push(message.clone());
                Ok(())
            })
            .post(Callbacks(Arc::clone(&callbacks)))
            .push(Pushes(Arc::clone(&pushes), Arc::clone(&responses)))
            .open()
            .unwrap();
        let ada = ada(&service);
        World { service, clock, messages, callbacks, pushes, responses, ada, _folder: folder }
    }

    pub(crate) fn engine(&self) -> &Engine {
        self.service.engine().unwrap()
    }

    pub(crate) fn code(&self) -> String {
        self.service.invite_device(self.ada).unwrap().code.expose().to_owned()
    }

    pub(crate) fn phone(&self) -> Phone {
        Phone::register(self.engine(), &self.code(), NOW).unwrap()
    }

    /// Asks for an approval, and returns it as the phone shows it, and the number.
    pub(crate) fn ask(&self, phone: &Phone, digits: u64) -> (ShownRequest, Option<String>) {
        let call = CreateApproval::new(self.ada, "Log in?".parse().unwrap());
        let created =
            self.service.handle(&CreateApproval { number_digits: Some(digits), ..call }).unwrap();
        let open = phone.signed(self.engine(), NOW).unwrap().requests().unwrap();
        let shown = open.into_iter().find(|request| request.uuid == created.uuid).unwrap();
        (shown, created.number.map(|number| number.expose().to_owned()))
    }

    pub(crate) fn status(&self, uuid: &ApprovalId) -> ApprovalStatus {
        self.service.check_approval(uuid).unwrap().status
    }

    pub(crate) fn subscribe(&self, phone: &Phone, endpoint: &str) -> Result<(), Refused> {
        phone.signed(self.engine(), NOW).unwrap().change(&subscription(endpoint))
    }
}

/// What a phone stores that has subscribed to push messages.
pub(crate) fn subscription(endpoint: &str) -> DeviceSettings {
    let p256dh = URL_SAFE_NO_PAD.encode(ring::signature::KeyPair::public_key(&new_key()));
    let auth = URL_SAFE_NO_PAD.encode([7; 16]);
    let subscription = Subscription { endpoint: endpoint.to_owned(), p256dh, auth };
    DeviceSettings { subscription: Some(Some(subscription)), ..DeviceSettings::default() }
}

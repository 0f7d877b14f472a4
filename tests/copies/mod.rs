//! A database with a user, and copies of it.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, ada, open_at};
use seconder::calls::{ApprovalStatus, CheckApproval, CreateApproval, Recognition, RequestSms};
use seconder::engine::{
    ApprovalResponse, DeviceRegistered, DeviceType, Message, RespondToApproval, restore,
};
use seconder::model::{ApprovalId, BrowserToken, UserId};
use seconder::otp::Totp;
use seconder::{Error, Handle, Service, Verdict};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Before the time at which this runs.
pub(crate) const NOW: u64 = 1_700_000_010;
/// Later than the time at which this runs, so that codes of it are good after a restore.
pub(crate) const LATER: u64 = 4_000_000_000;

pub(crate) fn backup(service: &Service, to: &Path) -> Result<(), Error> {
    service.engine().unwrap().backup(to, |_, _| {})
}

pub(crate) fn put_back(copy: &Path, database: &Path, replace: bool) -> Result<(), Error> {
    restore(copy, database, replace, None, |_, _| {})
}

/// Every file of a folder.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// A user with everything that can be used once or revoked.
pub(crate) struct User {
    pub(crate) id: UserId,
    pub(crate) app: Totp,
    pub(crate) sent: String,
    pub(crate) browser: BrowserToken,
    pub(crate) device: DeviceRegistered,
    pub(crate) approval: ApprovalId,
}

impl User {
    pub(crate) fn enrol(service: &Service, sent: &Mutex<Vec<Message>>) -> User {
        let id = ada(service);
        let app = Totp::from_uri(service.enrol_authenticator(id).unwrap().uri.expose()).unwrap();
        let user = User {
            id,
            browser: BrowserToken::from(""),
            device: service.engine().unwrap().register_device(id, DeviceType::Ios).unwrap(),
            approval: service
                .handle(&CreateApproval::new(id, "Log in?".parse().unwrap()))
                .unwrap()
                .uuid,
            app,
            sent: String::new(),
        };
        // The code that confirms the app, which is not the one that is used later.
        assert_eq!(user.check(service, user.app.code(NOW - 30).expose()), Verdict::Right);
        service.handle(&RequestSms { force: Some(true), ..RequestSms::new(id) }).unwrap();
        let sent = sent.lock().unwrap().pop().unwrap().code;
        User { browser: service.remember(id).unwrap().token, sent, ..user }
    }

    pub(crate) fn check(&self, service: &Service, code: &str) -> Verdict {
        service.verify(self.id, &code.parse().unwrap()).unwrap()
    }

    pub(crate) fn recognised(&self, service: &Service) -> Recognition {
        service.recognise(self.id, &self.browser).unwrap()
    }

    pub(crate) fn approve(&self, service: &Service) -> bool {
        let (device_id, device_secret) = (self.device.device_id, self.device.secret.clone());
        let (uuid, response) = (self.approval.clone(), ApprovalResponse::Approve);
        let call = RespondToApproval { uuid, device_id, device_secret, response, number: None };
        service.engine().unwrap().respond_to_approval(&call).is_ok()
    }

    /// What was used after the copy was made is accepted no more, and what comes after it is.
    pub(crate) fn is_spent(&self, service: &Service, clock: &ManualClock) {
        assert_eq!(self.check(service, self.app.code(NOW).expose()), Verdict::Wrong);
        // The next step is accepted early, so it may have been used too.
        assert_eq!(self.check(service, self.app.code(NOW + 30).expose()), Verdict::Wrong);
        assert_eq!(self.check(service, &self.sent), Verdict::Wrong);
        assert_eq!(self.recognised(service), Recognition::NotRecognised);
        assert!(!self.approve(service));
        let approval = service.handle(&CheckApproval::new(self.approval.clone())).unwrap();
        assert_eq!(approval.status, ApprovalStatus::Expired);
        clock.set(LATER);
        assert_eq!(self.check(service, self.app.code(LATER).expose()), Verdict::Right);
        clock.set(NOW);
    }

    /// All of it is accepted, so nothing of it was spent.
    pub(crate) fn is_not_spent(&self, service: &Service) {
        assert_eq!(self.check(service, self.app.code(NOW).expose()), Verdict::Right);
        assert_eq!(self.check(service, &self.sent), Verdict::Right);
        assert_eq!(self.recognised(service), Recognition::Recognised);
        assert!(self.approve(service));
    }
}

/// A database with a user in a folder, and the clock of its services.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
    pub(crate) clock: ManualClock,
    pub(crate) user: User,
}

impl World {
    pub(crate) fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seconder.db");
        let clock = ManualClock::at(NOW);
        let (service, sent) = open_at(&path, &clock);
        let user = User::enrol(&service, &sent);
        drop(service);
        World { folder, path, clock, user }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn open(&self) -> Service {
        open_at(&self.path, &self.clock).0
    }

    /// Uses everything once, in a service that is closed after it.
    pub(crate) fn use_all(&self) {
        self.user.is_not_spent(&self.open());
    }

    pub(crate) fn backup(&self) -> PathBuf {
        let copy = self.at("copy.db");
        backup(&self.open(), &copy).unwrap();
        copy
    }
}

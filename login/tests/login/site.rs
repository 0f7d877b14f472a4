//! A machine with a cache of offline logins, before a service that a test stops.

use crate::stage::{Ended, ManualClock, Script, Stage, ask};
use seconder::calls::*;
use seconder::engine::Clock;
use seconder::model::{Secret, UserId};
use seconder::otp::Totp;
use seconder::{ApprovalWait, Error, Rejection, Result, Sleeper, Stage as Reached, Verify};
use seconder_login::offline::Problem;
use seconder_login::{Backend, Login, Machine};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;

pub(crate) const QUESTION: &str = "The service cannot be reached. Code of your authenticator app: ";

/// The machine has the clock of the service.
#[derive(Debug)]
struct Here(ManualClock);

impl Machine for Here {
    fn now(&self) -> u64 {
        self.0.now().as_secs()
    }
    fn id(&self) -> std::result::Result<Vec<u8>, Problem> {
        Ok(b"0123456789abcdef0123456789abcdef".to_vec())
    }
}

pub(crate) struct Site {
    pub(crate) stage: Stage,
    pub(crate) is_in_directory: Cell<bool>,
    app: Totp,
    here: Here,
    folder: tempfile::TempDir,
    calls: RefCell<Vec<&'static str>>,
    /// Which calls fail, and how; all of them, if there are no names.
    failing: RefCell<Option<(Vec<&'static str>, Error)>>,
}

impl Site {
    pub(crate) fn new() -> Site {
        let stage = Stage::new();
        let uri = stage.service.enrol_authenticator(stage.user).unwrap().uri;
        Site {
            app: Totp::from_uri(uri.expose()).unwrap(),
            is_in_directory: Cell::new(true),
            here: Here(stage.clock.clone()),
            folder: tempfile::tempdir().unwrap(),
            calls: RefCell::default(),
            failing: RefCell::default(),
            stage,
        }
    }

    /// A site on which ada has logged in with her app.
    pub(crate) fn prepared() -> Site {
        let site = Site::new();
        site.stage.phone();
        site.prepare_again();
        site
    }

    pub(crate) fn prepare_again(&self) {
        self.start();
        let (ended, _) = self.log_in("users = directory", &[&self.code()]);
        assert!(ended.notice.ends_with("accepted (by a code)"), "{ended:?}");
        self.calls();
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// The next code of the app.
    pub(crate) fn code(&self) -> String {
        self.advance(30);
        self.app.code(self.here.now()).expose().to_owned()
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.stage.clock.advance(seconds);
    }

    pub(crate) fn stop(&self) {
        self.fail(&[], &unavailable());
    }

    pub(crate) fn start(&self) {
        self.failing.replace(None);
    }

    /// Makes these calls fail, and no others.
    pub(crate) fn fail(&self, calls: &[&'static str], error: &Error) {
        self.failing.replace(Some((calls.to_vec(), error.clone())));
    }

    /// The calls since the last time.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        self.calls.take()
    }

    pub(crate) fn log_in(&self, more: &str, says: &[&str]) -> (Ended, Script) {
        self.log_in_as(more, says, Login::default())
    }

    /// Logs in after another module, for which this was typed.
    pub(crate) fn log_in_after(&self, more: &str, before: &str, says: &[&str]) -> (Ended, Script) {
        let typed_before = Some(before).filter(|text| !text.is_empty()).map(Secret::new);
        self.log_in_as(more, says, Login { typed_before, ..Login::default() })
    }

    /// Logs ada in by a login of which this is known.
    pub(crate) fn log_in_as(&self, more: &str, says: &[&str], login: Login<'_>) -> (Ended, Script) {
        // Of one day, because that is faster.
        let cache = self.cache();
        let keys = format!("offline = yes\noffline_days = 1\noffline_cache = {}", cache.display());
        let more = format!("{keys}\n{more}");
        let login = Login { user: "ada", machine: Some(&self.here), ..login };
        let mut user = Script::of(says);
        let ended = ask(&self.stage.config(&more), self, &mut user, login);
        (ended, user)
    }

    fn call<T>(&self, call: &'static str, reply: impl FnOnce() -> Result<T>) -> Result<T> {
        self.calls.borrow_mut().push(call);
        match &*self.failing.borrow() {
            Some((calls, error)) if calls.is_empty() || calls.contains(&call) => Err(error.clone()),
            _ => reply(),
        }
    }
}

pub(crate) fn unavailable() -> Error {
    Error::Unavailable {
        stage: Reached::Connect,
        message: "connection refused".into(),
        reads: false,
    }
}

pub(crate) fn rejected(code: &str) -> Error {
    let (code, message) = (Some(code.to_owned()), "no".to_owned());
    Error::Rejected(Box::new(Rejection { status: 403, code, message, fields: [].into() }))
}

impl Backend for Site {
    fn find_user(&self, _: &str) -> Result<Option<UserId>> {
        self.call("find_user", || Ok(self.is_in_directory.get().then_some(self.stage.user)))
    }
    fn user_status(&self, call: &UserStatus) -> Result<UserStatusReply> {
        self.call("user_status", || Backend::user_status(&self.stage.service, call))
    }
    fn verify(&self, call: &Verify) -> Result<Verification> {
        self.call("verify", || Backend::verify(&self.stage.service, call))
    }
    fn request_sms(&self, call: &RequestSms) -> Result<CodeRequested> {
        self.call("request_sms", || Backend::request_sms(&self.stage.service, call))
    }
    fn request_call(&self, call: &RequestCall) -> Result<CodeRequested> {
        self.call("request_call", || Backend::request_call(&self.stage.service, call))
    }
    fn create_approval(&self, call: &CreateApproval) -> Result<ApprovalCreated> {
        self.call("create_approval", || Backend::create_approval(&self.stage.service, call))
    }
    fn wait_for_approval(&self, _: ApprovalWait, _: &mut dyn Sleeper) -> Result<Approval> {
        self.call("wait_for_approval", || Ok(Approval::new(ApprovalStatus::Pending)))
    }
    fn prepare_offline(&self, call: &PrepareOffline) -> Result<OfflinePrepared> {
        self.call("prepare_offline", || Backend::prepare_offline(&self.stage.service, call))
    }
    fn report_offline(&self, call: &ReportOffline) -> Result<Done> {
        self.call("report_offline", || Backend::report_offline(&self.stage.service, call))
    }
}

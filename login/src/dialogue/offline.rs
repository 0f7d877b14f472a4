//! Logins while the service cannot be reached, and their preparation while it can.

use super::questions::{Dialogue, Next};
use super::{End, Login, started_by_user};
use crate::clean::clean;
use crate::config::{Config, Method, Offer};
use crate::conversation::{Journal, Style};
use crate::machine::{Machine, ThisMachine, host_name};
use crate::offline::{Limits, Offline, OfflineVerdict, Problem, system_random};
use crate::outcome::{Outcome, Trouble};
use seconder::calls::{PrepareOffline, ReportOffline, Verification};
use seconder::model::{DisplayText, Token, UserId};
use seconder::{Error, codes};

/// The question while the service cannot be reached.
pub(super) const QUESTION: &str = "The service cannot be reached. Code of your authenticator app: ";
/// The service's name for an authenticator app among a user's devices.
const APP: &str = "authenticator";
const UNAVAILABLE: Outcome = Outcome::Trouble(Trouble::Unavailable);

/// The cache of this machine, if the configuration has one.
pub(super) struct Cache<'a> {
    offline: Offline,
    machine: &'a dyn Machine,
    days: u64,
}

impl<'a> Cache<'a> {
    /// Opens the cache. Without it, users log in with the service alone.
    pub(super) fn open(
        config: &Config,
        login: &Login<'a>,
        journal: &mut dyn Journal,
    ) -> Option<Cache<'a>> {
        let configured = config.offline.as_ref()?;
        let days = configured.days.into();
        let limits = Limits { days, logins: configured.logins };
        let machine = login.machine.unwrap_or(&ThisMachine);
        let folder = &configured.cache;
        let opened = machine
            .id()
            .and_then(|id| Offline::open(folder, &config.url, &id, limits, system_random));
        match opened {
            Ok(offline) => Some(Cache { offline, machine, days }),
            Err(problem) => {
                journal.error(&clean(&format!("nobody can log in offline: {problem}")));
                None
            }
        }
    }

    /// Keeps the user of a login name, by the reply of the service's directory.
    pub(super) fn keep_login(&self, login: &str, user: Option<UserId>, journal: &mut dyn Journal) {
        let kept = match user {
            Some(user) => self.offline.remember(login, user),
            None => self.offline.forget_login(login),
        };
        if let Err(problem) = kept {
            let text = format!("who {login} is was not kept for offline logins: {problem}");
            journal.error(&clean(&text));
        }
    }

    /// Returns the user of a login name, by the last reply of the service's directory.
    pub(super) fn remembered(&self, login: &str) -> Option<UserId> {
        self.offline.remembered(login)
    }
}

impl Dialogue<'_> {
    /// Returns whether codes of the user's app are checked without the service from now on, after an error that would
    /// end the login like this.
    pub(super) fn goes_offline(&mut self, end: Outcome) -> bool {
        let by_code = matches!(self.config.method, Method::Ask | Method::Code);
        let Some(cache) = self.cache.as_ref().filter(|_| by_code && end == UNAVAILABLE) else {
            return false;
        };
        // Such a user can make the trouble by stopping the process until its time is over.
        if started_by_user(self.login) {
            self.journal.error(&clean(&format!(
                "{} cannot log in offline: a user started this program, which has the rights of \
                 root, and can stop it until its time is over",
                self.login.user
            )));
            return false;
        }
        if let Some(problem) = cache.offline.refusal(self.user, cache.machine.now()) {
            self.refused(&problem);
            return false;
        }
        self.offer = Offer::default();
        self.unreachable = true;
        true
    }

    /// Checks a code without the service.
    pub(super) fn check_offline(&mut self, token: &Token) -> Next {
        let Some(cache) = &self.cache else { return self.not_offline("there is no cache") };
        match cache.offline.check(self.user, token, cache.machine.now()) {
            OfflineVerdict::Accepted { logins_left } => {
                let why = format!(
                    "OFFLINE: by a code that this machine checked, because the service was not \
                     reached; {logins_left} offline logins left"
                );
                Next::Break(End::new(Outcome::Accepted, why))
            }
            OfflineVerdict::Wrong => self.fail("The code is wrong, or was used before."),
            OfflineVerdict::Locked(time) => self.locked_for(Some(time.as_secs())),
            OfflineVerdict::Refused(problem) => {
                self.refused(&problem);
                self.not_offline("and the cache of offline logins cannot be used")
            }
        }
    }

    /// Returns the outcome of a login that the cache cannot decide: as without a cache.
    fn not_offline(&mut self, why: &str) -> Next {
        // The login ends in any case.
        let _ = self.conversation.show(super::questions::NOT_NOW, Style::Error);
        Next::Break(End::new(UNAVAILABLE, format!("the service was not reached, {why}")))
    }

    fn refused(&mut self, problem: &Problem) {
        let text = format!("{} cannot log in offline: {problem}", self.login.user);
        self.journal.error(&clean(&text));
    }

    /// Reports the user's offline logins to the service, once in a login, so that it does not accept
    /// their codes again.
    pub(super) fn report_offline(&mut self) {
        let Some(cache) = self.cache.as_ref().filter(|_| !self.reported) else { return };
        self.reported = true;
        let reported = cache.offline.reports(self.user).map_err(text).and_then(|reports| {
            let Some(reports) = reports else { return Ok(()) };
            let (app, logins) = (reports.authenticator_id, reports.logins.clone());
            let call = ReportOffline {
                machine: machine_name(),
                ..ReportOffline::new(self.user, app, logins)
            };
            self.backend.report_offline(&call).map_err(text)?;
            cache.offline.acknowledged(self.user, &reports).map_err(text)
        });
        self.log_failure("the offline logins were not reported, and will be later", reported);
    }

    /// Notes that the service has accepted a code, and has codes prepared for later. The login is
    /// accepted even if this fails.
    pub(super) fn used_online(&mut self, token: &Token, found: &Verification) {
        let Some(cache) = &self.cache else { return };
        let now = cache.machine.now();
        if let Err(problem) = cache.offline.used_online(self.user, token, now) {
            self.log_failure("that a code was used was not kept", Err(problem.to_string()));
            return self.forget_codes();
        }
        let device = found.device.as_ref().and_then(|device| device.os_type.as_deref());
        if device == Some(APP) && cache.offline.wants_codes(self.user, now) {
            self.prepare(token);
        }
    }

    fn prepare(&mut self, token: &Token) {
        let Some(cache) = &self.cache else { return };
        let call = PrepareOffline {
            days: Some(cache.days),
            machine: machine_name(),
            ..PrepareOffline::new(self.user, token.clone())
        };
        let prepared = self.backend.prepare_offline(&call);
        let not_allowed = matches!(&prepared, Err(Error::Rejected(rejection))
            if rejection.code.as_deref() == Some(codes::OFFLINE_NOT_ALLOWED));
        let kept = prepared.map_err(text).and_then(|reply| {
            cache.offline.prepared(self.user, &reply, cache.machine.now()).map_err(text)
        });
        self.log_failure("no offline logins were prepared", kept);
        if not_allowed {
            self.forget_codes();
        }
    }

    /// Ends offline logins of the user until the service has accepted a code again.
    pub(super) fn forget_codes(&mut self) {
        let Some(cache) = &self.cache else { return };
        let forgotten = cache.offline.forget(self.user).map_err(text);
        self.log_failure("the codes for offline logins were not removed", forgotten);
    }

    fn log_failure(&mut self, what: &str, done: Result<(), String>) {
        if let Err(error) = done {
            self.journal.error(&clean(&format!("{}: {what}: {error}", self.login.user)));
        }
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn machine_name() -> Option<DisplayText> {
    host_name().parse().ok()
}

//! Opens a service by its URL, and passes each call on to the engine or the remote client.

mod applies;
mod browsers;
#[cfg(feature = "engine")]
mod checking;
#[cfg(feature = "engine")]
mod engine_settings;
mod factors;
#[cfg(feature = "remote")]
mod forwarding;
mod making;
#[cfg(feature = "engine")]
mod operating;
mod options;
mod phones;
mod scheme;
mod waiting;
#[cfg(feature = "remote")]
mod warm;

pub use scheme::Scheme;
pub use waiting::{ApprovalPoll, ApprovalWait, Sleep, Sleeper};

use crate::call_log::Log;
use crate::calls::*;
#[cfg(feature = "engine")]
use crate::engine::{Engine, EngineSettings};
use crate::interrupt::Interrupt;
use crate::model::{ApiKey, ApprovalId, DisplayText, LoginName, Secret, Token, UserId};
#[cfg(feature = "remote")]
use crate::remote::{Remote, RemoteSettings};
#[cfg(feature = "engine")]
use crate::sandbox::InProcess;
#[cfg(all(feature = "engine", feature = "remote"))]
use crate::wire::Reply;
use crate::{Error, Result};
#[cfg(feature = "engine")]
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// Returns the URL with the part before the first colon, in which capitals do not count (RFC 3986,
/// 3.1), in small letters.
fn with_plain_scheme(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find(':').unwrap_or(0));
    scheme.to_ascii_lowercase() + rest
}

/// Opens a service with the defaults of [`Settings`].
///
/// # Errors
/// As [`Settings::open`].
pub fn open(url: &str) -> Result<Service> {
    Settings::new(url).open()
}

/// A service: an engine in this process, or a client of a remote service, which may also run on this
/// machine.
///
/// It can be shared between threads and cloned; clones refer to the same service.
#[derive(Clone)]
pub struct Service {
    backend: Backend,
    interrupt: Option<Arc<dyn Interrupt>>,
    log: Option<Arc<dyn Log>>,
}

#[derive(Clone)]
enum Backend {
    #[cfg(feature = "engine")]
    Engine(Engine),
    #[cfg(feature = "engine")]
    Sandbox(InProcess),
    #[cfg(feature = "remote")]
    Remote(Remote),
}

/// Settings for opening a service. None of them is read from the environment.
///
/// Settings of a remote service and settings of an engine exclude each other: a setting that has no
/// effect with the scheme of the URL is rejected. [`Settings::api_key`], [`Settings::names`],
/// [`Settings::proxy`] and [`Settings::name_server`] are for both, but a service on this machine
/// (`unix:`) requires no API key, and rejects one.
#[must_use = "settings do nothing before open()"]
#[derive(Clone)]
pub struct Settings {
    url: String,
    api_key: Option<Secret>,
    /// The names of the settings that were given and do not apply to every URL.
    given: Vec<&'static str>,
    #[cfg(feature = "engine")]
    engine: EngineSettings,
    #[cfg(feature = "remote")]
    remote: RemoteSettings,
}

impl Settings {
    /// Returns the default settings for a URL: `https://…` for a remote service, `unix:/path/of.sock` for a service on
    /// this machine by its Unix socket, `sqlite:/path/file.db` for an engine in this process,
    /// `postgres://user@host/database` for one on a database that several processes and machines share (see
    /// docs/scale.md for its parameters), `sandbox:` for an engine in memory that accepts every token, for testing
    /// applications (`sandbox:?accept=0000000` accepts only that token, and `sandbox:?accept=right` checks codes as
    /// `sqlite:` does). A sandbox that does not check codes has no waits and caps, and accepts `0000` for every phone
    /// number. With `clear_every=86400`, as in `sandbox:?accept=0000000&clear_every=86400`, a sandbox is emptied every
    /// that many seconds, 1 to 31536000, when a call begins; `Engine::clear_sandbox` empties it at once.
    pub fn new(url: &str) -> Settings {
        Settings {
            url: with_plain_scheme(url),
            api_key: None,
            given: Vec::new(),
            #[cfg(feature = "engine")]
            engine: EngineSettings::default(),
            #[cfg(feature = "remote")]
            remote: RemoteSettings::default(),
        }
    }

    /// Opens the service.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the URL or a setting is invalid, or a setting has no effect with
    /// this URL, [`Error::Storage`] if the database cannot be opened (it is then left unchanged),
    /// [`Error::Unauthorized`] if the database has no application with that API key, and
    /// [`Error::Unavailable`] if a file of certificates cannot be read because the process has no
    /// descriptors or memory left. Nothing is sent before the first call.
    pub fn open(mut self) -> Result<Service> {
        self.check_uses()?;
        let url = std::mem::take(&mut self.url);
        let api_key = self.api_key.take().map(ApiKey::try_from).transpose()?;
        #[cfg(feature = "engine")]
        self.engine.api_key.clone_from(&api_key);
        #[cfg(feature = "remote")]
        self.remote.api_key.clone_from(&api_key);
        let unknown = || Error::invalid_argument("url", scheme::MUST_BE);
        #[cfg_attr(
            not(any(feature = "engine", feature = "unix")),
            allow(unused_variables, reason = "https: takes the whole URL")
        )]
        let (scheme, rest) = Scheme::split(&url).ok_or_else(unknown)?;
        let backend = match scheme {
            #[cfg(feature = "https")]
            Scheme::Https => Backend::Remote(Remote::open_network(&url, self.remote)?),
            #[cfg(feature = "unix")]
            Scheme::Unix => Backend::Remote(Remote::open_socket(rest, self.remote)?),
            #[cfg(feature = "engine")]
            Scheme::Sqlite => {
                Backend::Engine(Engine::open_sqlite(rest, self.take_engine_settings()?)?)
            }
            #[cfg(feature = "postgres")]
            Scheme::Postgres => {
                Backend::Engine(Engine::open_postgres(rest, self.take_engine_settings()?)?)
            }
            #[cfg(feature = "engine")]
            Scheme::Sandbox => {
                Backend::Engine(Engine::open_sandbox(rest, self.take_engine_settings()?)?)
            }
            #[allow(unreachable_patterns, reason = "a build may lack none of them")]
            _ => return Err(unknown()),
        };
        Ok(Service { backend, interrupt: None, log: None })
    }
}

impl Service {
    /// Returns a service of a sandbox in this process.
    #[cfg(feature = "engine")]
    pub(crate) fn in_sandbox(sandbox: InProcess) -> Service {
        Service { backend: Backend::Sandbox(sandbox), interrupt: None, log: None }
    }

    /// Returns the sandbox in this process, for functions of tests.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for any other service, and [`Error::Storage`] in a forked child.
    #[cfg(all(feature = "engine", feature = "capi"))]
    pub(crate) fn require_sandbox(&self) -> Result<&InProcess> {
        match &self.backend {
            Backend::Sandbox(sandbox) => sandbox.check().map(|()| sandbox),
            _ => {
                let reason = "names no sandbox: this is for tests, and needs a sandbox: URL";
                Err(Error::invalid_argument("url", reason))
            }
        }
    }

    /// Returns the engine in this process, if there is one. Only an engine manages devices and API
    /// keys.
    #[cfg(feature = "engine")]
    pub fn engine(&self) -> Option<&Engine> {
        match &self.backend {
            Backend::Engine(engine) => Some(engine),
            Backend::Sandbox(sandbox) => Some(sandbox.engine()),
            #[cfg(feature = "remote")]
            Backend::Remote(_) => None,
        }
    }

    /// Returns the engine in this process, for operations that only an engine supports.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if this is a remote service.
    #[cfg(feature = "engine")]
    pub fn require_engine(&self) -> Result<&Engine> {
        self.engine().ok_or_else(|| {
            Error::invalid_argument(
                "url",
                "names a remote service: this needs a sqlite:, postgres: or sandbox: URL",
            )
        })
    }

    /// Enrols a user (interface 4.1). See [`CreateUser`] for the options.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] names the argument that is invalid; otherwise see [`Error`].
    pub fn create_user(
        &self,
        email: &str,
        cellphone: &str,
        country_code: &str,
    ) -> Result<UserCreated> {
        let cellphone =
            cellphone.parse().map_err(|error: Error| error.of_parameter("cellphone"))?;
        self.handle(&CreateUser::new(email.parse()?, cellphone, country_code.parse()?))
    }

    /// Sends a code by SMS (interface 4.2). See [`RequestSms`] for the options.
    ///
    /// # Errors
    /// [`Error::RateLimited`] if the user was sent an SMS for this action a moment ago, or too many
    /// codes; otherwise see [`Error`].
    pub fn request_sms(&self, user_id: UserId) -> Result<CodeRequested> {
        self.handle(&RequestSms::new(user_id))
    }

    /// Sends a code by voice call (interface 4.3). See [`RequestCall`] for the options.
    ///
    /// # Errors
    /// As for [`Service::request_sms`]; an SMS a moment ago does not matter.
    pub fn request_call(&self, user_id: UserId) -> Result<CodeRequested> {
        self.handle(&RequestCall::new(user_id))
    }

    /// Checks a code (interface 4.4). See [`Verify`] for the options.
    ///
    /// # Errors
    /// [`Error::RateLimited`] after wrong codes, until the user may try again; otherwise see
    /// [`Error`].
    pub fn verify(&self, user_id: UserId, token: &Token) -> Result<Verdict> {
        self.handle(&Verify::new(user_id, token.clone())).map(|found| found.verdict)
    }

    /// Removes a user (interface 4.5). See [`DeleteUser`] for the options.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn delete_user(&self, user_id: UserId) -> Result<Done> {
        self.handle(&DeleteUser::new(user_id))
    }

    /// Reports a user's activity (interface 4.6). See [`RegisterActivity`] for the options.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn register_activity(&self, user_id: UserId, activity: ActivityType) -> Result<Done> {
        self.handle(&RegisterActivity::new(user_id, activity))
    }

    /// Returns the service's record of the application (interface 4.7).
    ///
    /// # Errors
    /// See [`Error`].
    pub fn app_details(&self) -> Result<Application> {
        self.handle(&AppDetails::default())
    }

    /// Returns the service's record of a user (interface 4.8).
    ///
    /// # Errors
    /// See [`Error`].
    pub fn user_status(&self, user_id: UserId) -> Result<UserStatusReply> {
        self.handle(&UserStatus::new(user_id))
    }

    /// Returns the application's usage, month by month (interface 4.9).
    ///
    /// # Errors
    /// See [`Error`].
    pub fn app_stats(&self) -> Result<Statistics> {
        self.handle(&AppStats::default())
    }

    /// Asks a user to approve something (interface 4.12). See [`CreateApproval`] for the options.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn create_approval(&self, user_id: UserId, message: &str) -> Result<ApprovalCreated> {
        let message: DisplayText =
            message.parse().map_err(|error: Error| error.of_parameter("message"))?;
        self.handle(&CreateApproval::new(user_id, message))
    }

    /// Returns a user's response to an approval request (interface 4.13).
    ///
    /// # Errors
    /// See [`Error`].
    pub fn check_approval(&self, uuid: &ApprovalId) -> Result<Approval> {
        self.handle(&CheckApproval::new(uuid.clone()))
    }

    /// Issues a new secret for a user's authenticator app. See [`EnrolAuthenticator`] for the
    /// options.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn enrol_authenticator(&self, user_id: UserId) -> Result<AuthenticatorEnrolled> {
        self.handle(&EnrolAuthenticator::new(user_id))
    }

    /// Finds the user who has a login name (interface 4.17).
    ///
    /// # Errors
    /// [`Error::Rejected`] with the code 60026 if no user has the name; otherwise see [`Error`].
    pub fn find_user(&self, login: &LoginName) -> Result<FoundUser> {
        self.handle(&FindUser::new(login.clone()))
    }

    /// Gives a user a login name (interface 4.18).
    ///
    /// # Errors
    /// [`Error::Rejected`] if another user has the name, or if the user has another one; otherwise
    /// see [`Error`].
    pub fn set_login(&self, user_id: UserId, login: &LoginName) -> Result<Done> {
        self.handle(&SetLogin::new(user_id, login.clone()))
    }

    /// Takes a login name from the user who has it (interface 4.19).
    ///
    /// # Errors
    /// As for [`Service::find_user`].
    pub fn remove_login(&self, login: &LoginName) -> Result<Done> {
        self.handle(&RemoveLogin::new(login.clone()))
    }

    /// Creates a set of recovery codes for a user, in place of any that the user has (interface
    /// 4.20).
    ///
    /// # Errors
    /// See [`Error`].
    pub fn create_recovery_codes(&self, user_id: UserId) -> Result<RecoveryCodes> {
        self.handle(&CreateRecoveryCodes::new(user_id))
    }

    /// Prepares logins of a user while the service is unreachable. See [`PrepareOffline`] for the
    /// options.
    ///
    /// # Errors
    /// [`Error::Rejected`] if the service does not allow it, or if the code is not the one of the
    /// user's authenticator app that was accepted just now; otherwise see [`Error`].
    pub fn prepare_offline(&self, user_id: UserId, token: &Token) -> Result<OfflinePrepared> {
        self.handle(&PrepareOffline::new(user_id, token.clone()))
    }

    /// Reports the logins that a machine has accepted while the service was unreachable. See
    /// [`ReportOffline`] for the options.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn report_offline(
        &self,
        user_id: UserId,
        authenticator_id: u64,
        logins: &[OfflineLogin],
    ) -> Result<Done> {
        self.handle(&ReportOffline::new(user_id, authenticator_id, logins.to_vec()))
    }
}

#[cfg(feature = "engine")]
impl<C: Call> Handle<C> for Service
where
    Engine: Handle<C>,
{
    fn handle(&self, call: &C) -> Result<C::Reply> {
        let work = || match &self.backend {
            Backend::Engine(engine) => engine.handle(call),
            Backend::Sandbox(sandbox) => sandbox.handle(call),
            #[cfg(feature = "remote")]
            Backend::Remote(remote) => remote.handle(call),
        };
        self.make(call, work, |reply| reply)
    }
}

#[cfg(feature = "engine")]
impl Service {
    /// Carries out a call as [`Handle::handle`] does. Besides the reply, returns the fields of the
    /// body that a remote service sent, for callers that need fields beyond the interface. They
    /// must not decide anything.
    ///
    /// # Errors
    /// As [`Handle::handle`].
    pub fn handle_with_body<C: Call>(&self, call: &C) -> Result<(C::Reply, Map<String, Value>)>
    where
        Engine: Handle<C>,
    {
        match &self.backend {
            Backend::Engine(_) | Backend::Sandbox(_) => Ok((self.handle(call)?, Map::new())),
            #[cfg(feature = "remote")]
            Backend::Remote(remote) => {
                let read = |reply: Reply| {
                    let body = reply.body.as_object().cloned().unwrap_or_default();
                    Ok((call.read_own(reply)?, body))
                };
                self.make(call, || remote.ask(call, read), |(reply, _)| reply)
            }
        }
    }
}

#[cfg(not(feature = "engine"))]
impl<C: Call> Handle<C> for Service {
    fn handle(&self, call: &C) -> Result<C::Reply> {
        let Backend::Remote(remote) = &self.backend;
        self.make(call, || remote.handle(call), |reply| reply)
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.backend {
            #[cfg(feature = "engine")]
            Backend::Engine(_) | Backend::Sandbox(_) => "Service(engine in this process)",
            #[cfg(feature = "remote")]
            Backend::Remote(_) => "Service(remote service)",
        })
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rest of the URL may contain a secret.
        let scheme = self.url.split_once(':').map_or("", |(scheme, _)| scheme);
        f.debug_struct("Settings").field("scheme", &scheme).finish_non_exhaustive()
    }
}

//! The service itself, inside this process.

use crate::calls::*;
use crate::model::{ApprovalId, DeviceId, Secret, UserId};
use crate::{Error, Result};
use std::sync::Arc;
use std::time::Duration;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The time since the Unix epoch.
    fn now(&self) -> Duration;
}

/// Gives random bytes that nobody can guess.
pub trait Random: Send + Sync {
    /// Fills the buffer.
    ///
    /// # Errors
    /// [`Error::Internal`] when the source fails; nothing is issued then.
    fn fill(&self, buffer: &mut [u8]) -> Result<()>;
}

/// Carries a message to a phone.
pub trait Deliver: Send + Sync {
    /// Hands the message over; `Ok` says that it is on its way.
    ///
    /// # Errors
    /// What went wrong, for the log of the application; without the code.
    fn deliver(&self, message: &Message) -> std::result::Result<(), String>;
}

/// A message to a phone.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The number, in E.164: `+15550100123`.
    pub to: String,
    /// How it travels.
    pub via: Channel,
    /// What the person reads or hears.
    pub text: String,
    /// The code alone, when the message carries one.
    pub code: Option<String>,
    /// When the code dies, in Unix seconds.
    pub expires_at: Option<u64>,
}

impl<F> Deliver for F
where
    F: Fn(&Message) -> std::result::Result<(), String> + Send + Sync,
{
    fn deliver(&self, message: &Message) -> std::result::Result<(), String> {
        self(message)
    }
}

/// The service itself, seen by one application.
#[derive(Clone)]
pub struct Engine {
    settings: EngineSettings,
}

#[derive(Clone)]
pub(crate) struct EngineSettings {
    pub(crate) api_key: Option<Secret>,
    pub(crate) application_name: Option<String>,
    pub(crate) callback_url: Option<String>,
    pub(crate) deliver: Option<Arc<dyn Deliver>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
}

/// A device that was registered for a user: what it needs to answer approval requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceRegistered {
    /// The device.
    pub device_id: DeviceId,
    /// What the device proves itself with. It is told this once.
    pub secret: Secret,
}

/// The kinds of device that users register (interface 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceType {
    /// `android`
    Android,
    /// `android_tablet`
    AndroidTablet,
    /// `ios`
    Ios,
    /// `svc_chrome`
    Chrome,
}

impl DeviceType {
    /// The kind's name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceType::Android => "android",
            DeviceType::AndroidTablet => "android_tablet",
            DeviceType::Ios => "ios",
            DeviceType::Chrome => "svc_chrome",
        }
    }
}

impl std::str::FromStr for DeviceType {
    type Err = Error;
    fn from_str(name: &str) -> Result<DeviceType> {
        let all = [Self::Android, Self::AndroidTablet, Self::Ios, Self::Chrome];
        all.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            Error::invalid("device_type", "must be android, android_tablet, ios or svc_chrome")
        })
    }
}

/// A device's answer to an approval request.
#[derive(Clone, Debug)]
pub struct AnswerApproval {
    /// The request.
    pub uuid: ApprovalId,
    /// The device that answers.
    pub device_id: DeviceId,
    /// The secret that the device was told when it was registered.
    pub device_secret: Secret,
    /// What the user said.
    pub answer: UserAnswer,
}

/// What a user said to an approval request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserAnswer {
    /// Yes.
    Approve,
    /// No.
    Deny,
    /// No, and it was not me who asked: the user gets 5 minutes of quiet.
    Report,
}

impl UserAnswer {
    /// The answer's name in every language.
    pub const fn name(self) -> &'static str {
        match self {
            UserAnswer::Approve => "approve",
            UserAnswer::Deny => "deny",
            UserAnswer::Report => "report",
        }
    }
}

impl std::str::FromStr for UserAnswer {
    type Err = Error;
    fn from_str(name: &str) -> Result<UserAnswer> {
        let all = [Self::Approve, Self::Deny, Self::Report];
        all.into_iter()
            .find(|answer| answer.name() == name)
            .ok_or_else(|| Error::invalid("answer", "must be approve, deny or report"))
    }
}

impl Engine {
    pub(crate) fn open_sqlite(_path: &str, settings: EngineSettings) -> Result<Engine> {
        Ok(Engine { settings })
    }

    pub(crate) fn open_sandbox(_options: &str, settings: EngineSettings) -> Result<Engine> {
        Ok(Engine { settings })
    }

    /// The application's API key: callbacks are signed with it, and clients of `seconder serve`
    /// present it.
    pub fn api_key(&self) -> Secret {
        self.settings.api_key.clone().unwrap_or_default()
    }

    /// The same engine as the application with this API key sees it.
    ///
    /// # Errors
    /// [`Error::Unauthorized`] when no application has it.
    pub fn authenticate(&self, _api_key: &Secret) -> Result<Engine> {
        Err(not_yet())
    }

    /// Registers a device for a user.
    ///
    /// # Errors
    /// [`Error::Refused`] when there is no such user.
    pub fn register_device(&self, _svc_id: UserId, _kind: DeviceType) -> Result<DeviceRegistered> {
        Err(not_yet())
    }

    /// Answers an approval request from a device, and posts the callback.
    ///
    /// # Errors
    /// [`Error::Refused`] when the request is not the device's to answer, or no longer.
    pub fn answer_approval(&self, _answer: &AnswerApproval) -> Result<Approval> {
        Err(not_yet())
    }
}

fn not_yet() -> Error {
    Error::Internal { message: "not here yet".into() }
}
impl<C: Call> Answer<C> for Engine {
    fn answer(&self, _call: &C) -> Result<C::Reply> {
        Err(not_yet())
    }
}

struct System;
impl Clock for System {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}
impl Random for System {
    fn fill(&self, _buffer: &mut [u8]) -> Result<()> {
        Err(not_yet())
    }
}

impl Default for EngineSettings {
    fn default() -> EngineSettings {
        EngineSettings {
            api_key: None,
            application_name: None,
            callback_url: None,
            deliver: None,
            clock: Arc::new(System),
            random: Arc::new(System),
        }
    }
}

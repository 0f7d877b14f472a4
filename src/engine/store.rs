//! The engine's storage, as whole operations instead of rows. Each operation is atomic, and once it
//! has returned, its effect survives a crash. Codes are accepted by conditional writes, so that a
//! code is accepted once, however many attempts race for it.

mod approvals;
mod factors;
mod remembered;
mod sqlite;

pub(super) use approvals::{AddApproval, ApprovalRow, Decided, Decision, NewApproval};
pub(super) use factors::{
    AuthenticatorInfo, AuthenticatorRow, DeviceInfo, DeviceRow, FactorRows, NewAuthenticator,
    NewDevice, Removed,
};
pub(super) use remembered::{BrowserKey, NewBrowser};
pub(super) use sqlite::Sqlite;
pub use sqlite::{after_fork, before_fork};

use super::clock::Time;
use super::limits::CLOCK_SLACK;
use super::phones::Phone;
use crate::Result;
use crate::model::{ApiKey, ApprovalId, CallbackUrl, DeviceId, InstallLink, LoginName, UserId};
use crate::wire::{Generation, Names};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use zeroize::Zeroizing;

pub(super) type AppId = i64;

pub(super) trait Store: Send + Sync {
    /// Every application, in the order they were added.
    fn applications(&self) -> Result<Vec<AppRow>>;
    /// The application with that API key.
    fn application_of_key(&self, api_key: &ApiKey) -> Result<Option<AppRow>>;
    /// Adds the first application, unless another process has added one.
    fn add_first_application(&self, app: AppRow, now: Time) -> Result<()>;
    fn configure_application(&self, app: AppId, change: AppChange) -> Result<()>;
    /// Deletes everything but the applications. Ids that were given are not given again.
    fn clear(&self) -> Result<()>;
    /// Counts a call of the interface. The count reaches the disk with the next write.
    fn count_call(&self, app: AppId, now: Time);
    /// The counts of each month from `from` on, and the number of users.
    fn statistics(&self, app: AppId, from: i64) -> Result<(Vec<Counted>, u64)>;

    /// Adds a user with that phone, or adds the e-mail to the user who already has the phone.
    fn enrol_user(&self, user: EnrolUser) -> Result<EnrolledUser>;
    /// Removes the message to a new user from the outbox, and counts it if it was sent.
    fn finish_welcome(&self, app: AppId, job: i64, sent: bool, now: Time) -> Result<()>;
    fn user(&self, app: AppId, user_id: UserId) -> Result<Option<UserRow>>;
    /// Deletes a user. Returns whether there was such a user.
    fn delete_user(&self, app: AppId, user_id: UserId) -> Result<bool>;
    /// The user with this login name, and how many recovery codes the user has left.
    fn user_of_login(&self, app: AppId, login: &LoginName) -> Result<Option<(UserRow, u64)>>;
    /// Gives a user a login name, unless another user has it, or the user has another one.
    fn set_login(&self, change: SetLoginName) -> Result<LoginSet>;
    /// Takes a login name from its user. Returns whether there was one.
    fn remove_login(&self, app: AppId, login: LoginName) -> Result<bool>;
    /// Replaces the recovery codes of a user. Returns whether there is such a user.
    fn replace_recovery_codes(&self, codes: NewRecoveryCodes) -> Result<bool>;
    /// The recovery codes of a user, and the wrong ones in a row.
    fn recovery_codes(&self, user_id: UserId) -> Result<(Vec<RecoveryCodeRow>, WrongAnswers)>;
    /// When a code of the user's authenticator apps was last accepted.
    fn authenticator_used_at(&self, user_id: UserId) -> Result<Option<Time>>;
    /// Remembers a browser. Returns whether there is such a user.
    fn remember(&self, browser: NewBrowser) -> Result<bool>;
    /// Whether a browser is remembered. One that has expired is forgotten for good.
    fn is_remembered(&self, browser: BrowserKey, now: Time) -> Result<bool>;
    fn forget(&self, browser: BrowserKey, now: Time) -> Result<()>;
    /// Forgets all browsers of a user. Returns whether there is such a user.
    fn forget_all(&self, app: AppId, user_id: UserId, now: Time) -> Result<bool>;
    /// Confirms a user whose token a sandbox accepted. Returns when the user was enrolled.
    fn confirm_user(&self, app: AppId, user_id: UserId, now: Time) -> Result<Option<Time>>;
    /// Stores an activity, and forgets the user's browsers if it says so. Returns whether there is
    /// such a user.
    fn add_activity(&self, activity: Activity) -> Result<bool>;
    /// Stores which codes a machine may accept without the service. Returns whether the step is that
    /// of the last code that was accepted, and has not prepared any yet.
    fn prepare_offline(&self, preparation: OfflinePreparation) -> Result<bool>;
    /// Marks the codes of logins without the service as used, and stores each login as an activity,
    /// unless it was reported before.
    fn report_offline(&self, report: OfflineReport) -> Result<Reported>;
    fn add_device(&self, device: NewDevice) -> Result<Option<DeviceId>>;
    fn device(&self, app: AppId, device: DeviceId) -> Result<Option<DeviceRow>>;
    /// Adds an authenticator app, and replaces any that has not produced a right code yet. Returns
    /// whether there is such a user.
    fn add_authenticator(&self, authenticator: NewAuthenticator) -> Result<bool>;
    /// A user, and what protects the account.
    fn factors(&self, app: AppId, user_id: UserId) -> Result<Option<(UserRow, FactorRows)>>;
    fn remove_authenticator(&self, app: AppId, user_id: UserId, id: i64) -> Result<Removed>;
    fn remove_device(&self, app: AppId, user_id: UserId, device: DeviceId) -> Result<Removed>;

    /// Issues a code or finds the valid one, and stores the message that carries it.
    fn issue_code(&self, issue: IssueCode) -> Result<Issued>;
    fn verification(&self, key: VerificationKey, now: Time) -> Result<Option<Verification>>;
    /// Removes a job from the outbox. If it failed, the caller may request the code again at once.
    fn finish_delivery(&self, job: i64, done: bool) -> Result<()>;
    /// Everything that a code of this subject can be compared with.
    fn begin_verify(&self, subject: Subject) -> Result<Option<VerifyState>>;
    /// Accepts a code or counts a wrong one, if the state has not changed in the meantime.
    fn commit_verify(&self, attempt: Attempt) -> Result<Committed>;

    fn add_approval(&self, approval: NewApproval) -> Result<AddApproval>;
    /// A request. One that is past its end becomes expired for good, also if the clock is set back
    /// afterwards.
    fn approval(&self, app: AppId, uuid: ApprovalId, now: Time) -> Result<Option<ApprovalRow>>;
    /// The open requests of a user, oldest first. Those that are past their end become expired.
    fn open_approvals(&self, user_id: UserId, now: Time) -> Result<Vec<ApprovalRow>>;
    /// Decides a request that is still pending.
    fn decide_approval(&self, decision: Decision) -> Result<Decided>;
    /// Records the result of a callback: one that was accepted is removed from the outbox, and one
    /// that failed stays there.
    fn finish_callback(&self, job: i64, error: Option<String>) -> Result<()>;
}

#[derive(Clone)]
pub(super) struct AppRow {
    pub(super) app_id: AppId,
    pub(super) name: String,
    pub(super) plan: String,
    pub(super) sms_enabled: bool,
    pub(super) white_label: bool,
    pub(super) api_key: ApiKey,
    /// Signs the tokens of remembered browsers. It never leaves the service.
    pub(super) secret: Zeroizing<[u8; 32]>,
    pub(super) callback_url: Option<CallbackUrl>,
    pub(super) token_length: u8,
    /// The generation of the bodies that a server replies with.
    pub(super) replies: Generation,
    pub(super) names: Names,
    /// The absolute path of the authorities to trust when callbacks are posted.
    pub(super) callback_ca_file: Option<String>,
    pub(super) install_link: Option<InstallLink>,
    pub(super) offline_days: u8,
}

/// The changes to an application. `None` leaves a value unchanged, and `Some(None)` removes it.
#[derive(Clone, Default, PartialEq)]
pub(super) struct AppChange {
    pub(super) name: Option<String>,
    pub(super) callback_url: Option<Option<CallbackUrl>>,
    pub(super) token_length: Option<u8>,
    pub(super) replies: Option<Generation>,
    pub(super) callback_ca_file: Option<Option<String>>,
    pub(super) install_link: Option<Option<InstallLink>>,
    pub(super) offline_days: Option<u8>,
}

/// The counts of one month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) month: i64,
    pub(super) api_calls: u64,
    pub(super) auths: u64,
    pub(super) calls: u64,
    pub(super) sms: u64,
    pub(super) users: u64,
}

#[derive(Clone)]
pub(super) struct EnrolUser {
    pub(super) app: AppId,
    pub(super) email: String,
    pub(super) phone: Phone,
    /// The message to a user who is new.
    pub(super) welcome: Option<Outgoing>,
    /// Whether a number that a user has already changes nothing.
    pub(super) new_only: bool,
    pub(super) now: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EnrolledUser {
    pub(super) user_id: UserId,
    /// Whether the user was not there before.
    pub(super) created: bool,
    /// The job of the message in the outbox, if there is one to send.
    pub(super) welcome: Option<i64>,
}

#[derive(Clone)]
pub(super) struct UserRow {
    pub(super) user_id: UserId,
    pub(super) phone: Phone,
    /// The most recently added e-mail.
    pub(super) email: String,
    pub(super) confirmed: bool,
    pub(super) sms_used: bool,
    pub(super) authenticator_used: bool,
    /// The types of the user's devices, oldest first.
    pub(super) devices: Vec<String>,
}

pub(super) struct Activity {
    pub(super) app: AppId,
    pub(super) user_id: UserId,
    pub(super) kind: &'static str,
    pub(super) data: String,
    pub(super) user_ip: Option<String>,
    pub(super) forgets_browsers: bool,
    pub(super) now: Time,
}

/// Which codes a machine may accept without the service.
pub(super) struct OfflinePreparation {
    pub(super) user_id: UserId,
    pub(super) authenticator_id: i64,
    /// The step of the code that proves the user.
    pub(super) step: u64,
    pub(super) period: u64,
    pub(super) first_step: u64,
    /// The first step that is not prepared.
    pub(super) end_step: u64,
    /// Empty without a name.
    pub(super) machine: String,
    pub(super) kind: &'static str,
    /// What to store of it.
    pub(super) data: String,
    pub(super) now: Time,
}

/// Logins that were accepted without the service.
pub(super) struct OfflineReport {
    pub(super) app: AppId,
    pub(super) user_id: UserId,
    pub(super) authenticator_id: i64,
    /// Empty without a name.
    pub(super) machine: String,
    pub(super) kind: &'static str,
    pub(super) logins: Vec<OfflineLoginRow>,
    pub(super) now: Time,
}

pub(super) struct OfflineLoginRow {
    pub(super) step: u64,
    /// What to store of it.
    pub(super) data: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reported {
    /// How many logins were not reported before.
    Added(usize),
    NoUser,
    /// No machine was given the codes of these logins, or a step has not begun.
    NotPrepared,
}

pub(super) struct SetLoginName {
    pub(super) app: AppId,
    pub(super) user_id: UserId,
    pub(super) login: LoginName,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoginSet {
    Done,
    NoUser,
    /// Another user has the name.
    Taken,
    /// The user has this other name.
    HasAnother(String),
}

pub(super) struct NewRecoveryCodes {
    pub(super) app: AppId,
    pub(super) user_id: UserId,
    pub(super) salt: [u8; 16],
    pub(super) hashes: Vec<Vec<u8>>,
}

pub(super) struct RecoveryCodeRow {
    pub(super) hash: Vec<u8>,
    /// The same for every code of a set.
    pub(super) salt: Vec<u8>,
    pub(super) spent: bool,
}

/// The recipient of a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    User(AppId, UserId),
    /// A number that does not belong to a user yet.
    Phone(AppId, String),
}

pub(super) struct IssueCode {
    pub(super) app: AppId,
    pub(super) subject: Subject,
    /// Empty for a code that is not bound to an action.
    pub(super) action: String,
    /// The code to use if there is no valid one.
    pub(super) fresh: Zeroizing<String>,
    pub(super) life: Duration,
    pub(super) cool_down: Duration,
    pub(super) sends: u32,
    pub(super) tries: u32,
    pub(super) message: Outgoing,
    /// The id of the verification that a new code begins, for a number.
    pub(super) uuid: Option<ApprovalId>,
    pub(super) now: Time,
}

/// Which verification of a number.
pub(super) enum VerificationKey {
    Uuid(AppId, ApprovalId),
    /// The latest one of this number.
    Number(Subject),
}

/// The latest verification of a number.
pub(super) struct Verification {
    pub(super) expires_at: Time,
    pub(super) verified: bool,
    /// Whether wrong codes have invalidated the code.
    pub(super) is_void: bool,
}

/// A message without its code, which belongs between the two texts.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Outgoing {
    pub(super) to: String,
    pub(super) by_voice: bool,
    pub(super) text: (String, String),
}

pub(super) enum Issued {
    Sent {
        job: i64,
        code: Zeroizing<String>,
        expires_at: Time,
        /// The id of the verification, for a number.
        uuid: Option<ApprovalId>,
    },
    /// A code was sent just now, for the same action and by the same channel.
    TooSoon(Time),
    /// Codes that were not used yet were sent as many times as allowed.
    TooOften(Time),
}

/// The factors that protect a user. Wrong codes are counted separately for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    Code,
    Authenticator,
    Recovery,
}

/// Everything that a code can be compared with.
#[derive(Default)]
pub(super) struct VerifyState {
    pub(super) confirmed: bool,
    pub(super) created_at: Option<Time>,
    pub(super) codes: Vec<CodeRow>,
    pub(super) authenticators: Vec<AuthenticatorRow>,
    pub(super) wrong_codes: WrongAnswers,
    pub(super) wrong_authenticator_codes: WrongAnswers,
}

/// The consecutive wrong codes of a factor since its last right one.
#[derive(Clone, Copy, Default)]
pub(super) struct WrongAnswers {
    pub(super) in_a_row: u32,
    pub(super) last_at: Option<Time>,
}

impl WrongAnswers {
    /// When the next try is allowed, unless it is allowed now. A wrong code from the future means
    /// that the clock was wrong, and must not lock a user out until then.
    pub(super) fn wait_until(self, delay: fn(u32) -> Duration, now: Time) -> Option<Time> {
        let delay = delay(self.in_a_row);
        let last = self.last_at.filter(|last| *last <= now.plus(CLOCK_SLACK))?;
        // Without a delay there is no wait, even if the clock was set back since the wrong code.
        (!delay.is_zero()).then(|| last.plus(delay)).filter(|next| *next > now)
    }
}

pub(super) struct CodeRow {
    pub(super) action: String,
    pub(super) code: Zeroizing<String>,
    pub(super) expires_at: Time,
    pub(super) wrong_tries: u32,
    pub(super) spent: bool,
}

pub(super) struct Attempt {
    pub(super) app: AppId,
    pub(super) subject: Subject,
    pub(super) found: Match,
    /// The number of wrong tries that invalidates a code.
    pub(super) tries: u32,
    /// How long to wait after this many consecutive wrong codes.
    pub(super) delay: fn(u32) -> Duration,
    pub(super) now: Time,
}

pub(super) enum Match {
    /// A valid code.
    Code(ComparedCode),
    /// A step of an authenticator app that was not accepted before.
    Step { authenticator_id: i64, step: u64 },
    /// A recovery code that was not used.
    Recovery { hash: Vec<u8> },
    /// No match in these factors. Each valid code that the token was compared with loses a try.
    Nothing { factors: Vec<Factor>, compared: Vec<ComparedCode> },
}

/// A valid code that a token was compared with.
pub(super) struct ComparedCode {
    pub(super) action: String,
    pub(super) code: Zeroizing<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Committed {
    Done,
    /// A concurrent attempt changed the state: read it again.
    Changed,
    /// Concurrent attempts were wrong, so this one must wait and does not count.
    RateLimited(Time),
}

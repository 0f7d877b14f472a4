//! What the engine remembers: whole operations, not rows. Each is atomic, and once it returned, its
//! effect survives a crash. Every acceptance is conditional, so that one code opens one door
//! however many race for it.

mod sqlite;

pub(super) use sqlite::Sqlite;

use super::clock::Time;
use super::limits::CLOCK_SLACK;
use super::phones::Phone;
use crate::Result;
use crate::model::{ApiKey, ApprovalId, CallbackUrl, DeviceId, UserId};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use zeroize::Zeroizing;

pub(super) type AppId = i64;

pub(super) trait Store: Send + Sync {
    /// Every application, in the order they were added.
    fn applications(&self) -> Result<Vec<AppRow>>;
    /// The application with that API key.
    fn application_of_key(&self, api_key: &ApiKey) -> Result<Option<AppRow>>;
    /// Adds the first application, unless another process was faster.
    fn add_first_application(&self, app: AppRow, now: Time) -> Result<()>;
    fn configure_application(&self, app: AppId, change: AppChange) -> Result<()>;
    /// Counts a call of the interface. The count reaches the disk with the next write.
    fn count_call(&self, app: AppId, now: Time);
    /// What was counted in each month from `from` on, and how many users there are.
    fn statistics(&self, app: AppId, from: i64) -> Result<(Vec<Counted>, u64)>;

    /// Adds the user of that phone, or the e-mail to the user who has it.
    fn enrol_user(&self, user: EnrolUser) -> Result<UserId>;
    fn user(&self, app: AppId, user_id: UserId) -> Result<Option<UserRow>>;
    /// Whether there was such a user.
    fn delete_user(&self, app: AppId, user_id: UserId) -> Result<bool>;
    /// Whether there is such a user.
    fn add_activity(&self, activity: Activity) -> Result<bool>;
    fn add_device(&self, device: NewDevice) -> Result<Option<DeviceId>>;
    fn device(&self, app: AppId, device: DeviceId) -> Result<Option<DeviceRow>>;
    /// Adds an authenticator app that has shown no code yet, in place of any other such.
    fn add_authenticator(&self, authenticator: NewAuthenticator) -> Result<bool>;

    /// Makes a code, or finds the one that lives, and the message that carries it.
    fn issue_code(&self, issue: IssueCode) -> Result<Issued>;
    /// Ends a job of the outbox: it was done, or it failed and the caller may ask again at once.
    fn finish_delivery(&self, job: i64, done: bool) -> Result<()>;
    /// All that a code of this subject can be compared with.
    fn begin_verify(&self, subject: Subject) -> Result<Option<VerifyState>>;
    /// Accepts or counts, if what was found still holds.
    fn commit_verify(&self, attempt: Attempt) -> Result<Committed>;

    fn add_approval(&self, approval: NewApproval) -> Result<AddApproval>;
    fn approval(&self, app: AppId, uuid: ApprovalId) -> Result<Option<ApprovalRow>>;
    /// Requests that a user can still answer, the oldest first.
    fn open_approvals(&self, user_id: UserId, now: Time) -> Result<Vec<ApprovalRow>>;
    /// Decides a request that is still pending.
    fn decide_approval(&self, decision: Decision) -> Result<Decided>;
    /// Ends a callback: the application took it, or it waits for another try.
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
    pub(super) callback_url: Option<CallbackUrl>,
    pub(super) token_length: u8,
}

/// What is to be different; none is as it was.
#[derive(Clone, Default, PartialEq)]
pub(super) struct AppChange {
    pub(super) name: Option<String>,
    pub(super) callback_url: Option<CallbackUrl>,
    pub(super) token_length: Option<u8>,
}

/// What was counted in one month.
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
    pub(super) now: Time,
}

#[derive(Clone)]
pub(super) struct UserRow {
    pub(super) user_id: UserId,
    pub(super) phone: Phone,
    /// The e-mail that was added last.
    pub(super) email: String,
    pub(super) confirmed: bool,
    pub(super) sms_used: bool,
    pub(super) authenticator_used: bool,
    /// The kinds of the user's devices, the oldest first.
    pub(super) devices: Vec<String>,
}

pub(super) struct Activity {
    pub(super) app: AppId,
    pub(super) user_id: UserId,
    pub(super) kind: &'static str,
    pub(super) data: String,
    pub(super) user_ip: Option<String>,
    pub(super) now: Time,
}

pub(super) struct NewDevice {
    pub(super) app: AppId,
    pub(super) user_id: UserId,
    pub(super) os_type: &'static str,
    pub(super) secret_hash: [u8; 32],
    pub(super) now: Time,
}

pub(super) struct DeviceRow {
    pub(super) device_id: DeviceId,
    pub(super) user_id: UserId,
    pub(super) os_type: String,
    pub(super) secret_hash: Vec<u8>,
    pub(super) registered_at: Time,
}

pub(super) struct NewAuthenticator {
    pub(super) app: AppId,
    pub(super) user_id: UserId,
    pub(super) secret: Zeroizing<Vec<u8>>,
    pub(super) digits: u8,
    pub(super) period: u64,
    pub(super) now: Time,
}

/// Whom a code is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    User(AppId, UserId),
    /// A number that belongs to no user yet.
    Phone(AppId, String),
}

pub(super) struct IssueCode {
    pub(super) app: AppId,
    pub(super) subject: Subject,
    /// The empty text for a code that is bound to no action.
    pub(super) action: String,
    /// The code, should none live.
    pub(super) fresh: Zeroizing<String>,
    pub(super) life: Duration,
    pub(super) cool_down: Duration,
    pub(super) sends: u32,
    pub(super) tries: u32,
    pub(super) message: Outgoing,
    pub(super) now: Time,
}

/// A message but for its code, which stands between the two texts.
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
    },
    /// A code was sent just now.
    TooSoon(Time),
    /// The code was sent as often as it may be.
    TooOften(Time),
}

/// What guards a user: wrong answers are counted apart for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    Code,
    Authenticator,
}

/// All that a code can be compared with.
#[derive(Default)]
pub(super) struct VerifyState {
    pub(super) confirmed: bool,
    pub(super) created_at: Option<Time>,
    pub(super) codes: Vec<CodeRow>,
    pub(super) authenticators: Vec<AuthenticatorRow>,
    pub(super) wrong_codes: WrongAnswers,
    pub(super) wrong_authenticator_codes: WrongAnswers,
}

/// The wrong answers that a factor was given since its last right one.
#[derive(Clone, Copy, Default)]
pub(super) struct WrongAnswers {
    pub(super) in_a_row: u32,
    pub(super) last_at: Option<Time>,
}

impl WrongAnswers {
    /// When the next try is due, if that is not now. An answer from the future says that the clock
    /// was wrong, and must not lock anybody out for as long as it was.
    pub(super) fn wait_until(self, delay: fn(u32) -> Duration, now: Time) -> Option<Time> {
        let last = self.last_at.filter(|last| *last <= now.plus(CLOCK_SLACK))?;
        Some(last.plus(delay(self.in_a_row))).filter(|next| *next > now)
    }
}

pub(super) struct CodeRow {
    pub(super) action: String,
    pub(super) code: Zeroizing<String>,
    pub(super) expires_at: Time,
    pub(super) wrong_tries: u32,
    pub(super) spent: bool,
}

pub(super) struct AuthenticatorRow {
    pub(super) authenticator_id: i64,
    pub(super) secret: Zeroizing<Vec<u8>>,
    pub(super) digits: u8,
    pub(super) period: u64,
    pub(super) last_step: Option<u64>,
}

pub(super) struct Attempt {
    pub(super) app: AppId,
    pub(super) subject: Subject,
    pub(super) found: Match,
    /// The wrong tries that kill a code.
    pub(super) tries: u32,
    /// How long to wait after so many wrong answers in a row.
    pub(super) delay: fn(u32) -> Duration,
    pub(super) now: Time,
}

pub(super) enum Match {
    /// A living code.
    Code { action: String, code: Zeroizing<String> },
    /// A step that was not accepted before.
    Step { authenticator_id: i64, step: u64 },
    /// None of what the factors know; codes of that length lose a try.
    Nothing { factors: Vec<Factor>, length: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Committed {
    Done,
    /// Another attempt changed what was found: look again.
    Changed,
    /// Another attempt was wrong in the meantime, so this one does not count.
    RateLimited(Time),
}

pub(super) struct NewApproval {
    pub(super) app: AppId,
    pub(super) user_id: UserId,
    pub(super) uuid: ApprovalId,
    pub(super) message: String,
    pub(super) details: String,
    pub(super) hidden_details: String,
    pub(super) logos: String,
    pub(super) seconds_to_expire: u64,
    pub(super) expires_at: Option<Time>,
    pub(super) most_open: u32,
    pub(super) now: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddApproval {
    Added,
    NoUser,
    /// The user has as many open requests as there may be, and said nothing to any.
    TooMany,
    /// The user said that it was not they who asked.
    Snoozed(Time),
}

#[derive(Clone)]
pub(super) struct ApprovalRow {
    pub(super) uuid: ApprovalId,
    pub(super) user_id: UserId,
    pub(super) message: String,
    pub(super) details: String,
    pub(super) hidden_details: String,
    pub(super) logos: String,
    pub(super) seconds_to_expire: u64,
    /// `pending`, `approved` or `denied`: what is pending and late is expired.
    pub(super) status: String,
    pub(super) created_at: Time,
    pub(super) updated_at: Time,
    pub(super) expires_at: Option<Time>,
    pub(super) processed_at: Option<Time>,
}

pub(super) struct Decision {
    pub(super) app: AppId,
    pub(super) user_id: UserId,
    pub(super) uuid: ApprovalId,
    pub(super) device: DeviceId,
    pub(super) approved: bool,
    /// Until when the user is asked nothing, if they ask for it.
    pub(super) snoozed_until: Option<Time>,
    /// Where the callback goes, and its body.
    pub(super) callback: Option<(CallbackUrl, String)>,
    pub(super) now: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decided {
    NotPending,
    /// The callback's job in the outbox, if the application has a callback URL.
    Done {
        callback: Option<i64>,
    },
}

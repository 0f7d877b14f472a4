//! The service itself, inside this process: users, codes, approvals, devices, phones and
//! applications, in a database. It handles the calls of the interface and knows no HTTP.

mod app_settings;
mod core;
mod delivery;
pub mod handlers;
pub(crate) mod model;
mod operations;
pub mod operator;
mod store;

pub use self::core::{
    AfterAttempt, CALLBACK_LANES, Engine, Lane, LeasedJob, Offered, Prepared, Sender,
};
pub use app_settings::{APP_SETTINGS, AppSetting, ApplicationSettings, SettingKind};
pub use delivery::{
    Deliver, Delivery, Events, Message, Outcome, Post, PushHosts, PushMessage, PushOutcome,
    SendPush, SignedCallback, Spool, WipedMessage,
};
pub use handlers::approvals::{ApprovalRequest, ApprovalResponse, RespondToApproval};
pub use handlers::approver;
pub use handlers::audit::{AUDIT_VERDICTS, AuditEntry, AuditFilter, AuditPage};
pub use handlers::backups::restore;
pub use handlers::forwarding::{Forwarding, Learned};
pub use handlers::jobs::{JobEntry, JobFilter, JobPage, JobStatus, JobsRun};
pub use handlers::keys::Resealed;
pub use handlers::moving::{SourceFormat, SourceLine, SourceOptions, UserRecordPage};
pub use handlers::rate::CodesOfHour;
pub use handlers::routes::StoredRoute;
pub(crate) use handlers::settings::EngineSettings;
pub(crate) use model::clock::system_time;
pub use model::clock::{Clock, Random};
pub use model::devices::{DeviceRegistered, DeviceType};
pub use model::jobs::{JobKind, JobState};
pub use model::limits::Limits;
pub use model::lines::{LineType, LookUp, NumberLookup, PhoneLine, Reserved};
pub use model::records::{
    AuthenticatorRecord, DeviceRecord, Imported, LockedFactors, Problem, UserRecord,
};
pub use model::texts::Texts;
pub use store::{after_fork, before_fork};

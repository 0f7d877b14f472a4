//! Operations of operators on a service in this process. Each operation is declared once, as a struct
//! whose fields are its parameters, and has a name, by which every language carries it out with JSON:
//! [`Service::operate`](crate::Service::operate) and
//! [`Service::operate_json`](crate::Service::operate_json).

mod approvals;
mod apps;
mod audit;
mod declaration;
mod doctor;
mod export;
mod forward;
mod import;
mod jobs;
mod keyring;
mod limits;
mod locking;
mod lookup;
mod maintain;
mod numbers;
mod operators;
mod registry;
mod role;
mod routes;
mod session;
mod users;

pub use approvals::{
    ApprovalEntry, Approvals, CancelApproval, Evidence, ListApprovals, ShowEvidence,
};
pub use apps::{
    AppKey, AppRecord, AppSettings, Apps, CreateApp, DeleteApp, EndOverlap, ListApps, RotateAppKey,
    SetApp, ShowApp, ShowAppKey,
};
pub use audit::ListAudit;
pub use declaration::{Nothing, Operation};
pub use doctor::{CheckService, Finding, Findings, Health};
pub use export::{ExportUser, ExportedUser};
pub use forward::{ForwardStatus, Forwarded, ReturnUser, TakeUser};
pub use import::{ImportOutcome, ImportUsers, ImportedUser, ImportedUsers, UserFields};
pub use jobs::{CancelJob, CountJobs, JobCounts, ListJobs, ReplayJob, RunJobs, ShowJob};
pub use keyring::{
    AddKey, AddedKey, KeyEntry, ListKeys, RemoveKey, Reseal, ResealedValues, RotateKey,
    SealingKeys, UseKey,
};
pub use limits::{SetLimits, ShowLimits};
pub use locking::{LockUser, UnlockUser};
pub use lookup::{LookupSettings, RemoveLookup, SetLookup, ShowLookup};
pub use maintain::{BackedUp, Backup, Maintain, Maintained};
pub use numbers::SetUserNumber;
pub use operators::{
    AddOperator, ListOperators, OperatorEntry, OperatorToken, Operators, RemoveOperator,
    RotateOperatorToken,
};
pub(crate) use registry::Named;
pub use registry::{OperationInfo, operations};
pub use role::Role;
pub use routes::{ListRoutes, RemoveRoute, Routes, SetRoute};
pub use session::Operator;
pub use users::{
    Activities, ActivityEntry, DeleteUser, DeviceEntry, FindUsers, FoundUsers, ListActivities,
    ListDevices, ListUsers, ShowUser, UserDetails, UserDevices, UserEntry, Users, WrongCodes,
};

pub(crate) use declaration::APP;

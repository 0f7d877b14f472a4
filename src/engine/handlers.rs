//! The calls, one file for each subject: a handler reads and checks what a call brings, has an operation decide, and makes the
//! reply.

pub(super) mod applications;
pub(super) mod approvals;
pub mod approver;
pub(super) mod audit;
pub(super) mod authenticators;
pub(super) mod backups;
pub(super) mod codes;
pub(super) mod devices;
pub(super) mod factors;
pub(super) mod forwarding;
pub(super) mod jobs;
pub(super) mod keys;
pub(super) mod lines;
pub(super) mod logins;
pub(super) mod moving;
pub(super) mod offline;
mod opening;
pub(super) mod rate;
pub(super) mod receipts;
pub(super) mod recovery;
pub(super) mod remembered;
pub(super) mod routes;
pub(super) mod sandbox;
pub(super) mod settings;
pub(super) mod users;
pub(super) mod verify;

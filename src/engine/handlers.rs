//! The calls, one file for each subject: a handler reads and checks what a call brings, has an operation decide, and makes the
//! reply.

pub(in crate::engine) mod applications;
pub(in crate::engine) mod approvals;
pub mod approver;
pub(in crate::engine) mod audit;
pub(in crate::engine) mod authenticators;
pub(in crate::engine) mod backups;
pub(in crate::engine) mod codes;
pub(in crate::engine) mod devices;
pub(in crate::engine) mod factors;
pub(in crate::engine) mod forwarding;
pub(in crate::engine) mod jobs;
pub(in crate::engine) mod keys;
pub(in crate::engine) mod known;
pub(in crate::engine) mod lines;
pub(in crate::engine) mod logins;
pub(in crate::engine) mod moving;
pub(in crate::engine) mod offline;
pub(in crate::engine) mod push;
pub(in crate::engine) mod rate;
pub(in crate::engine) mod receipts;
pub(in crate::engine) mod recovery;
pub(in crate::engine) mod remembered;
pub(in crate::engine) mod routes;
pub(in crate::engine) mod sandbox;
pub(in crate::engine) mod settings;
pub(in crate::engine) mod strangers;
pub(in crate::engine) mod users;
pub(in crate::engine) mod verify;

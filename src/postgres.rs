//! A client of PostgreSQL with the features that the engine's store needs, on the caller's thread
//! and with a deadline for everything. It starts no thread, has no runtime, and reads no
//! environment.

mod account;
mod connect;
mod endpoint;
mod login;
mod password;
mod pipeline;
mod report;
mod target;

pub(crate) use crate::remote::{Dialer, Tls, Until};
pub(crate) use connect::Connection;
pub(crate) use pipeline::{List, Param, Returned, Row, Statement};
pub(crate) use report::{Problem, Report};
pub(crate) use target::{Target, has_password};

//! The second factor of a login: one set of calls, and a URL that says who handles them.

#[cfg(any(feature = "engine", feature = "remote"))]
#[cfg_attr(
    not(feature = "engine"),
    allow(dead_code, unreachable_pub, reason = "a build without an engine needs the names alone")
)]
mod app_settings;
#[cfg(any(feature = "engine", feature = "remote"))]
mod call_log;
#[cfg(feature = "callbacks")]
pub mod callback;
pub mod calls;
#[cfg(all(feature = "capi", any(feature = "engine", feature = "remote")))]
pub mod capi;
pub mod codes;
#[cfg(feature = "engine")]
pub mod engine;
mod error;
#[cfg(any(feature = "engine", feature = "remote"))]
mod exhausted;
#[cfg(feature = "engine")]
#[doc(hidden)]
pub mod files;
#[cfg(feature = "engine")]
pub mod http;
#[cfg(any(feature = "engine", feature = "remote"))]
mod in_order;
#[cfg(any(feature = "engine", feature = "remote"))]
mod interrupt;
#[cfg(feature = "engine")]
pub mod keyring;
#[cfg(feature = "engine")]
#[doc(hidden)]
pub mod links;
pub mod model;
pub mod offline;
#[cfg(any(feature = "engine", feature = "remote"))]
mod open_options;
pub mod otp;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "remote")]
pub mod remote;
#[cfg(feature = "engine")]
pub mod sandbox;
#[cfg(any(feature = "engine", feature = "remote"))]
mod service;
#[cfg(feature = "engine")]
mod webpush;
pub mod wire;

#[cfg(all(feature = "capi", not(any(feature = "engine", feature = "remote"))))]
compile_error!("the feature capi needs engine, https or unix, which handle the calls");

#[cfg(all(feature = "remote", not(any(feature = "https", feature = "unix"))))]
compile_error!("the feature remote is a part of https and unix: enable one of them instead");

#[cfg(any(feature = "engine", feature = "remote"))]
pub use call_log::{CallOutcome, CallRecord, Log};
pub use calls::{Call, Handle, Verdict, Verify};
pub use error::{Error, Rejection, Result, Stage};
#[cfg(any(feature = "engine", feature = "remote"))]
pub use interrupt::{Canceller, Interrupt, interrupted};
#[cfg(any(feature = "engine", feature = "remote"))]
#[doc(hidden)]
pub use open_options::{OPEN_OPTIONS, OpenOption};
#[cfg(any(feature = "engine", feature = "remote"))]
pub use service::{ApprovalPoll, ApprovalWait, Scheme, Service, Settings, Sleep, Sleeper, open};

/// The README's examples, as doc tests.
#[cfg(all(doctest, feature = "engine"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The example of docs/names.md, as a doc test.
#[cfg(all(doctest, feature = "https"))]
#[doc = include_str!("../docs/names.md")]
struct NamesDocument;

//! The second factor of a login: one set of calls, and a URL that says who answers them.

pub mod callback;
pub mod calls;
#[cfg(feature = "capi")]
pub mod capi;
pub mod engine;
mod error;
pub mod model;
pub mod otp;
pub mod remote;
mod service;
pub mod wire;

pub use calls::{Answer, Call, Verdict, Verify};
pub use error::{Error, Refusal, Result, Stage};
pub use service::{Service, Settings, open};

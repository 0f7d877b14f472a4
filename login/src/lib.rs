//! Asks a user who logs in for the second factor, and decides whether they may.
//!
//! `pam_seconder` and the program `seconder-login` are built on this crate, and so is
//! `seconder pam check`. It knows neither PAM nor terminals: a [`Conversation`] reaches the user,
//! and a [`Journal`] the operator.

pub mod config;
mod conversation;
mod dialogue;
mod outcome;

pub use conversation::{Conversation, Journal, Silent, Style, Typed};
pub use dialogue::{Login, log_in};
pub use outcome::{Outcome, Trouble};

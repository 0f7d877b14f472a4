//! Asks a user who logs in for the second factor, and decides whether they may.
//!
//! `pam_seconder` and the program `seconder-login` are built on this crate, and so is
//! `seconder check-pam`. It knows neither PAM nor terminals: a [`Conversation`] reaches the user,
//! and a [`Journal`] the operator.

mod backend;
mod clean;
mod command;
pub mod config;
mod conversation;
mod dialogue;
mod machine;
mod networks;
pub mod offline;
mod outcome;
#[cfg(feature = "terminal")]
pub mod terminal;
mod trusted_file;
mod users;
mod who;

pub use backend::Backend;
pub use command::{RunCommand, run_command, run_prepared};
pub use conversation::{Conversation, Journal, Nobody, Silent, Style, Typed};
pub use dialogue::{Login, log_in, log_in_as_configured, log_in_with};
pub use machine::{Machine, ThisMachine};
pub use outcome::{EXIT_STATUSES, Outcome, Trouble, exit_status, outcome_of};
pub use users::read_users;

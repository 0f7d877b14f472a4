//! The input of commands: options that many have, files, secrets and lines that are typed.

pub(crate) mod gateway;
pub(crate) mod moment;
pub(crate) mod prompt;
pub(crate) mod secret;

/// The heading in the help of the options that most commands have.
pub(crate) const COMMON: &str = "Common options";

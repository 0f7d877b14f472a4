//! Roles of operators with a token.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The permissions of an operator with a token. Each role includes the ones before it. A user with
/// access to the database and its keyring on this machine may do everything, and needs no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// To look at everything but credentials.
    Read,
    /// To help users too: to lock, unlock and delete them, to change their numbers, to cancel their approval requests, and to look after
    /// messages and callbacks.
    Support,
    /// Everything.
    Admin,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 3] = [Role::Read, Role::Support, Role::Admin];

    /// Returns its name: `read`, `support` or `admin`.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Support => "support",
            Role::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(name: &str) -> Result<Role> {
        Role::ALL
            .into_iter()
            .find(|role| role.name() == name)
            .ok_or_else(|| Error::invalid_argument("role", "must be read, support or admin"))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

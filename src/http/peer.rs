//! Rights of a process on this machine that connects over a local socket. The operating system says
//! which user it runs as, and the operator's rules which rights that user has, so it needs no API
//! key.

use super::Backend;
use crate::calls::{MatchedCall, USER_ID_ON_THE_WIRE};
use crate::model::UserId;
use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The fields of paths that hold a user's id.
const USER_IDS: [&str; 2] = [USER_ID_ON_THE_WIRE, "user_id"];
/// The field of a path that holds a login name.
const LOGIN: &str = "login";

/// The reason why a peer may not make a call.
pub(super) enum Denied {
    /// The rights of the peer do not suffice: the user and the missing right, for the peer and for
    /// the log.
    Forbidden(String),
    /// The backend rejects the call, or could not find out whose account the call concerns.
    Failed(Error),
}

impl From<Error> for Denied {
    fn from(error: Error) -> Denied {
        Denied::Failed(error)
    }
}

/// A right of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To make every call, as a client with the API key may.
    Application,
    /// To make the calls of a login for any user: calls with
    /// [`Call::FOR_LOGIN`](crate::Call::FOR_LOGIN).
    Login,
    /// To make calls with [`Call::FOR_OWN_ACCOUNT`](crate::Call::FOR_OWN_ACCOUNT) for the account
    /// whose login name is the name of the peer's own user.
    OwnAccount,
}

/// The rights of a peer. By default none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    application: bool,
    login: bool,
    own_account: bool,
}

/// A process at the other end of a local socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    uid: u32,
    login: Option<String>,
    rights: Rights,
}

impl Right {
    /// Every right.
    pub const ALL: [Right; 3] = [Right::Application, Right::Login, Right::OwnAccount];

    /// Returns the name in rules: `application`, `login` or `own-account`.
    pub const fn name(self) -> &'static str {
        match self {
            Right::Application => "application",
            Right::Login => "login",
            Right::OwnAccount => "own-account",
        }
    }
}

impl FromStr for Right {
    type Err = Error;

    fn from_str(name: &str) -> Result<Right> {
        Right::ALL.into_iter().find(|right| right.name() == name).ok_or_else(|| {
            Error::invalid_argument("right", "must be application, login or own-account")
        })
    }
}

impl Rights {
    /// Adds another right to these.
    pub fn with(mut self, right: Right) -> Rights {
        match right {
            Right::Application => self.application = true,
            Right::Login => self.login = true,
            Right::OwnAccount => self.own_account = true,
        }
        self
    }

    /// Returns whether this right is among them.
    pub fn has(self, right: Right) -> bool {
        match right {
            Right::Application => self.application,
            Right::Login => self.login,
            Right::OwnAccount => self.own_account,
        }
    }
}

impl Peer {
    /// Creates a peer that runs as this user, whose name on this machine is `login`. Without a name it has no account
    /// of its own.
    pub fn new(uid: u32, login: Option<String>, rights: Rights) -> Peer {
        Peer { uid, login, rights }
    }

    /// Returns the user that the peer runs as.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Returns the rights of the peer.
    pub fn rights(&self) -> Rights {
        self.rights
    }

    /// Rejects a call that the peer may not make.
    ///
    /// # Errors
    /// That it may not, or that this cannot be found out.
    pub(super) fn permit(&self, call: &MatchedCall, backend: &dyn Backend) -> Result<(), Denied> {
        let rights = self.rights;
        if rights.application || rights.login && call.for_login() {
            return Ok(());
        }
        let name = call.route().name;
        let for_own_account = rights.own_account && call.for_own_account();
        match for_own_account {
            true if self.is_own_account(call, backend)? => Ok(()),
            true => Err(Denied::Forbidden(format!(
                "{self} may make {name} over this socket for the own account only, the one with \
                 that login name"
            ))),
            false => Err(Denied::Forbidden(format!(
                "{self} may not make {name} over this socket: the rules of the server give no such \
                 right"
            ))),
        }
    }

    /// Returns whether everything in the path that names a user names the peer's own, and there is such a
    /// field. Parameters never override the fields of the path.
    ///
    /// # Errors
    /// The errors of the backend, which may also reject the call for the own account.
    fn is_own_account(&self, call: &MatchedCall, backend: &dyn Backend) -> Result<bool> {
        let Some(own) = &self.login else { return Ok(false) };
        let field = |name: &str| call.fields().get(name).and_then(|value| value.as_str());
        let ids: Vec<&str> = USER_IDS.into_iter().filter_map(field).collect();
        let login = field(LOGIN);
        if login.is_some_and(|login| login != own) || login.is_none() && ids.is_empty() {
            return Ok(false);
        }
        if ids.is_empty() {
            return Ok(true);
        }
        let Some(user) = backend.user_with_login(own)? else { return Ok(false) };
        if !ids.iter().all(|id| id.parse::<UserId>().is_ok_and(|id| id == user)) {
            return Ok(false);
        }
        backend.check_own_account(call, user)?;
        Ok(true)
    }
}

impl fmt::Display for Peer {
    /// `user 1000`, without the name: names may be anything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user {}", self.uid)
    }
}

#[cfg(test)]
mod tests;

//! `POST /-/{format}/users/{user_id}/browsers`

use super::{Call, Route};
use crate::model::{BrowserToken, UserId};
use crate::wire::Reply;
use crate::wire::older::Shape;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The longest time for which a browser can be remembered, in days: browsers keep no cookie longer.
pub const MOST_REMEMBERED_DAYS: u64 = 400;

/// The end of the year 9999, after which not every language has a time.
const LAST_SECOND: u64 = 253_402_300_799;

/// Remembers the browser of a user who has just proven the second factor, and returns a token for a
/// cookie of it (interface 4.27). [`Recognise`](super::Recognise) accepts the token in place of the
/// second factor until it expires or [`Forget`](super::Forget) revokes it.
///
/// The service does not check that there was a proof: the application calls this only after one, and
/// only for users who ask for it. The cookie should be `Secure`, `HttpOnly` and `SameSite=Lax`. A user
/// has at most 20 remembered browsers: for a further one, the oldest is forgotten.
///
/// # Errors
/// [`Error::Rejected`] if there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remember {
    /// The user whose browser it is.
    pub user_id: UserId,
    /// The number of days, 1 to 400. Default: 30.
    pub days: Option<u64>,
}

impl Remember {
    /// The call with its defaults.
    pub fn new(user_id: UserId) -> Remember {
        Remember { user_id, days: None }
    }
}

impl Call for Remember {
    const ROUTE: Route = Route::post("remember", "/-/{format}/users/{user_id}/browsers");
    const OLDER: Shape = Shape::Same;
    const MUST_SAY_SUCCESS: bool = true;
    const KEY_IN_HEADER: bool = true;
    type Reply = Remembered;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn check(&self) -> Result<()> {
        match self.days {
            None | Some(1..=MOST_REMEMBERED_DAYS) => Ok(()),
            Some(_) => Err(Error::invalid_argument("days", "must be 1 to 400")),
        }
    }

    fn read(reply: Reply) -> Result<Remembered> {
        let remembered = super::read::<Self>(reply)?;
        if !remembered.token.is_one() {
            return Err(Error::invalid_response("its token does not fit into a cookie"));
        }
        if remembered.expires_at > LAST_SECOND {
            return Err(Error::invalid_response("its token never expires"));
        }
        Ok(remembered)
    }
}

/// A browser that is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Remembered {
    /// The token for the browser's cookie: at most 200 letters, digits, dashes, dots and
    /// underscores of ASCII. It is returned only here. Anyone who has it needs no second factor.
    /// `Debug` does not show it.
    pub token: BrowserToken,
    /// When the token expires, in Unix seconds.
    #[cfg_attr(false, python(time))]
    pub expires_at: u64,
    /// The service's message.
    pub message: Option<String>,
}

impl Remembered {
    /// This token, without a message.
    pub fn new(token: BrowserToken, expires_at: u64) -> Remembered {
        Remembered { token, expires_at, message: None }
    }
}

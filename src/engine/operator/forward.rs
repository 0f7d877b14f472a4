//! Operations on the users of an application that moves here from another service. Calls for users
//! who are not here yet are forwarded to that service.

use super::declaration::{Nothing, operation};
use crate::engine::core::Engine;
use crate::engine::handlers::forwarding;
use crate::engine::operations::forwarding as stored;
use crate::engine::operations::forwarding::{Because, Taken};
use crate::model::UserId;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

operation! {
    /// Returns how far the move has come.
    ForwardStatus = "forward.status" -> Forwarded {}
}

/// The progress of a move. All counts are 0 if calls were never forwarded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Forwarded {
    /// The time since which calls are forwarded, in Unix seconds.
    pub since: Option<u64>,
    /// The number of calls that were forwarded.
    pub calls: u64,
    /// The number of forwarded calls to which the other service gave no usable reply.
    pub failed: u64,
    /// The number of users who are known to be there, because calls for them were forwarded.
    pub users_there: u64,
    /// The number of users who were taken over.
    pub users_taken: u64,
    /// The number of users who were returned.
    pub users_returned: u64,
}

impl ForwardStatus {
    fn run(&self, engine: &Engine) -> Result<Forwarded> {
        let app = engine.app.app_id;
        let counted = engine.look(move |view| stored::counted(view, app))?;
        Ok(counted.map_or_else(Forwarded::default, |counted| Forwarded {
            since: Some(counted.begun_at.seconds()),
            calls: counted.calls,
            failed: counted.failed,
            users_there: counted.there,
            users_taken: counted.here,
            users_returned: counted.returned,
        }))
    }
}

operation! {
    /// Forwards the calls for a user who is here again, such as after a user was taken over by mistake. What is
    /// known of the user here stays, and nobody uses it meanwhile.
    ReturnUser = "forward.return" -> Nothing {
        /// The user.
        user_id: UserId,
    }
}

impl ReturnUser {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        forwarding::give_back(engine, self.user_id).map(|()| Nothing {})
    }
}

operation! {
    /// Takes over a user whose number and e-mail address have passed through, or who was returned, whatever the
    /// user has at the other service.
    TakeUser = "forward.take" -> Nothing {
        /// The user.
        user_id: UserId,
    }
}

impl TakeUser {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        let bad = |reason: String| Err(Error::invalid_argument("user_id", reason));
        match forwarding::take(engine, self.user_id, None, Because::Operator)? {
            Taken::Here => Ok(Nothing {}),
            Taken::Unknown => {
                bad("cannot be taken over: the number and the e-mail address are not known. \
                                   Create the user again with them, or import the user"
                    .to_owned())
            }
            Taken::Conflict(reason) => bad(format!("cannot be taken over: {reason}")),
        }
    }
}

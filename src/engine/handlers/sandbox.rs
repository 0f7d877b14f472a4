//! The sandbox (interface 8): an engine in memory for the tests of applications, which accepts every
//! token or a configured one, has no waits and caps, and can be emptied.

use super::verify::accepted;
use crate::calls::Verification;
use crate::engine::core::{Accepts, Engine};
use crate::engine::model::clock::Now;
use crate::engine::model::limits::{Caps, Limits};
use crate::engine::model::rejections;
use crate::engine::operations::{user, users};
use crate::model::{Token, UserId};
use crate::{Error, Result};

/// The code that the verification of every phone number accepts.
pub(in crate::engine) const PHONE_CODE: &str = "0000";

impl Engine {
    /// Empties a sandbox: removes every user, code, device, approval request and activity, and the
    /// statistics. The application keeps its key, and the ids of users are not given again.
    ///
    /// A sandbox can also empty itself, as `sandbox:?clear_every=86400` does every day.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if this is not a sandbox: a database is never emptied.
    pub fn clear_sandbox(&self) -> Result<()> {
        match &self.shared.sandbox {
            Some(_) => self.run(users::clear),
            None => Err(Error::invalid_argument(
                "url",
                "names a database, which is not emptied: this needs a sandbox: URL",
            )),
        }
    }

    /// Returns whether this is a sandbox that accepts tokens without looking for codes.
    pub(in crate::engine) fn is_lenient(&self) -> bool {
        let sandbox = self.shared.sandbox.as_ref();
        sandbox.is_some_and(|sandbox| !matches!(sandbox.accepts, Accepts::Right))
    }

    pub(in crate::engine) fn caps(&self) -> Caps {
        if self.is_lenient() { Caps::NONE } else { Caps::of(&self.app.settings.limits) }
    }

    /// Returns the limits of messages; `None` in a sandbox that has none.
    pub(in crate::engine) fn limits(&self) -> Option<Limits> {
        (!self.is_lenient()).then(|| self.app.settings.limits.clone())
    }

    /// Checks a token as a sandbox does; `None` if this is a real engine. A right token confirms
    /// the user, if there is such a user, and is counted. `token` is `None` for a text that cannot
    /// be one, which a sandbox that accepts every token accepts too.
    pub(in crate::engine) fn verify_in_sandbox(
        &self,
        token: Option<&Token>,
        user_id: UserId,
        now: Now,
    ) -> Result<Option<Verification>> {
        match self.sandbox_accepts(token) {
            None => return Ok(None),
            Some(false) => return Ok(Some(Verification::wrong(false))),
            Some(true) => {}
        }
        let app = self.app.app_id;
        let user = self.look(move |view| user(view, app, user_id))?;
        if let Some(barred) = user.and_then(|user| user.bar()) {
            return rejections::barred(barred, now);
        }
        // The audit has no row of it: nothing was decided, and tests of applications may run for long.
        let enrolled_at = self.run(move |view| users::confirm(view, app, user_id, now))?;
        Ok(Some(accepted("sms", enrolled_at.unwrap_or(now.clock))))
    }

    /// Returns whether a sandbox accepts a token, without looking for codes; `None` if this is a real engine.
    pub(in crate::engine) fn sandbox_accepts(&self, token: Option<&Token>) -> Option<bool> {
        match self.shared.sandbox.as_ref().map(|sandbox| &sandbox.accepts)? {
            Accepts::Right => None,
            Accepts::Every => Some(true),
            Accepts::Only(right) => Some(Some(right) == token),
        }
    }
}

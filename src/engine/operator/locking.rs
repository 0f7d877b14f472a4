//! Operations that lock and unlock users.

use super::declaration::{Nothing, Operation, operation};
use super::doctor;
use crate::engine::core::Engine;
use crate::engine::model::rejections;
use crate::engine::operations::users;
use crate::model::UserId;
use crate::{Error, Handle, Result, calls};

operation! {
    /// Locks a user until an operator unlocks them: nothing is accepted of a locked user, and nothing is sent. Open
    /// approval requests expire. A machine that was given codes for logins without the service keeps them.
    LockUser = "user.lock" -> Nothing {
        /// The user.
        user_id: UserId,
    }
}

impl LockUser {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        set_locked(engine, <Self as Operation>::NAME, self.user_id, true)
    }
}

/// Locks a user, or takes the lock away. What changes nothing is not in the audit.
fn set_locked(
    engine: &Engine,
    operation: &'static str,
    user_id: UserId,
    locked: bool,
) -> Result<Nothing> {
    let (app, now) = (engine.app.app_id, engine.begin());
    let trail = engine.trail_of(operation, now, None)?;
    let set = engine.run(move |view| {
        let set = users::set_locked(view, app, user_id, locked, now)?;
        if set == Some(true) {
            trail.done(view, user_id);
        }
        Ok(set)
    })?;
    set.map(|_| Nothing {}).ok_or_else(rejections::user_not_found)
}

operation! {
    /// Lets a user log in again: takes the lock of `user.lock` away, and lets codes be tried again after too many wrong
    /// ones, as the call `unlock_user` does.
    UnlockUser = "user.unlock" -> Nothing {
        /// The user.
        user_id: UserId,
        /// Also accepts codes of the user's authenticator apps again after the clock was ahead: those of a
        /// minute from now on. The clock must be right.
        #[serde(default)]
        clock: bool,
        /// Does so although the clock is behind the newest decision, as after it was ahead. While a clock is
        /// behind, codes that were used would be accepted again.
        #[serde(default)]
        clock_is_right: bool,
    }
}

impl UnlockUser {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        if self.clock {
            if let Some(behind) = doctor::behind(engine)?.filter(|_| !self.clock_is_right) {
                let now = engine.now().clock.utc();
                let reason = format!(
                    "was not done, because the clock is {behind} s behind the newest decision: here it is \
                     {now}. If that is right, repeat this with clock_is_right (--clock-is-right). Otherwise set \
                     the clock first: codes that were used would be accepted again"
                );
                return Err(Error::invalid_argument("clock", reason));
            }
            engine.reset_steps(<Self as Operation>::NAME, self.user_id)?;
        }
        set_locked(engine, <Self as Operation>::NAME, self.user_id, false)?;
        engine.handle(&calls::UnlockUser::new(self.user_id)).map(|_| Nothing {})
    }
}

//! Events that a program logs, or acts on.

use crate::model::{CallbackUrl, UserId};

/// Is notified of events that no caller of the service learns of. Each method does nothing by default.
pub trait Events: Send + Sync {
    /// A recovery code of this user was accepted, with the number of codes left. A user who has a phone does not need
    /// one, so a program may want to log it, or write to the user. The call is made during the verification, after the
    /// code was used up.
    fn recovery_code_used(&self, _user_id: UserId, _left: usize) {}

    /// A machine has reported logins of this user that it accepted while the service was unreachable, with the number
    /// of those not reported before. The machine's name is the one that it gives itself.
    fn offline_logins_reported(&self, _user_id: UserId, _machine: Option<&str>, _logins: usize) {}

    /// An attempt to send a callback failed: why, without its parameters. Whether another one is made is as for
    /// [`Post::attempt`](super::Post::attempt).
    fn callback_failed(&self, _url: &CallbackUrl, _reason: &str) {}

    /// Warns the operator of what no caller can change, such as that an application makes more requests than it may. The
    /// text has no secrets and no whole number.
    fn warning(&self, _text: &str) {}

    /// A push service has rejected a message permanently, with its reason. That concerns the operator of the service: as
    /// long as nothing is changed, it will reject all others too.
    fn push_rejected(&self, _reason: &str) {}

    /// The push service at this host could not be reached, or took no message, with the error. The message is attempted
    /// again while it is of use.
    fn push_failed(&self, _host: &str, _reason: &str) {}
}

/// Ignores all of them.
impl Events for () {}

//! Decisions about the answer to an approval request.

use super::ffi::read_handle;
use super::generated::check_approval::seconder_approval;
use crate::model::UserId;

/// Returns whether this user approved the request. Only this check may let anyone in, unless the service
/// never provides the user: see seconder_approval_approved_unbound(). False for NULL, for any other
/// answer, for another user, and if the service does not say which user was asked.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_approved_by(
    approval: Option<&seconder_approval>,
    user_id: u64,
) -> bool {
    let user = UserId::try_from(user_id).ok();
    read_handle(approval, |approval| user.is_some_and(|user| approval.reply.approved_by(user)))
}

/// Returns whether the request is approved, and the service names this user or none: for a service that
/// provides only the status. This is weaker than seconder_approval_approved_by(), which nothing
/// replaces where the service provides the user.
///
/// An approval without a user says that somebody approved some request. If the uuid comes from the
/// browser, attackers approve a request of their own and present its uuid in another user's login.
/// So keep the uuid on the server, in the session of the login for whose user it was created; take
/// it from there alone; and delete it once it was used. A user is recognised only under the names
/// that `names` of seconder_open_options sets, so these must be the service's.
///
/// False for NULL, for any other answer, and for another user.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_approval_approved_unbound(
    approval: Option<&seconder_approval>,
    user_id: u64,
) -> bool {
    let user = UserId::try_from(user_id).ok();
    read_handle(approval, |approval| user.is_some_and(|user| approval.reply.approved_unbound(user)))
}

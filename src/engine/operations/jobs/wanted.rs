//! Jobs that are no longer of use.

use super::super::{codes, pushes, user};
use super::carried::What;
use super::job::user_id;
use crate::engine::model::clock::Now;
use crate::engine::store::{Application, Decided, Job, View};

/// Returns whether the payload of a job is still of use. Once an application no longer sends SMS, waiting ones are not
/// sent either, no message to a user whom an operator has locked, and none to a number that the user no longer has.
pub(super) fn is_wanted(view: &mut View, job: &Job, what: &What, now: Now) -> Decided<bool> {
    if matches!(what, What::Message { message, .. } if !message.by_voice)
        && view.get::<Application>((job.app_id,))?.is_some_and(|app| !app.sms_enabled)
    {
        return Ok(false);
    }
    if !matches!(what, What::Callback { .. })
        && let Some(user_id) = user_id(job)
        && let Some(user) = user(view, job.app_id, user_id)?
    {
        let number = user.phone().map(|phone| phone.e164());
        let is_former = |what: &What| matches!(what, What::Message { message, .. } if Some(&message.to) != number.as_ref());
        if user.locked_at.is_some() || is_former(what) {
            return Ok(false);
        }
    }
    let carried = match what {
        What::Message { code: Some(carried), .. } => carried,
        What::Message { .. } | What::Callback { .. } => return Ok(true),
        What::Push { device, notice } => {
            return pushes::is_wanted(view, user_id(job), *device, notice.request(), now);
        }
    };
    let key = (job.subject.clone(), job.action.clone());
    codes::is_code(view, key, job.app_id, carried, now)
}

//! Changes of users' phone numbers.

use super::jobs::job::Claimed;
use super::lookups::{self, Kind};
use super::pushes::{self, About, NewPushes};
use super::{AppId, Subject, browsers, enrolment, finding, forwarding, user};
use crate::engine::model::limits::{APPROVAL_LIFE, Limits};
use crate::engine::model::phones::Phone;
use crate::engine::store::{Decided, Device, SentCode, User, View};
use crate::model::UserId;
use std::time::Duration;

/// A number that a user is to have.
#[derive(Clone)]
pub(in crate::engine) struct NewNumber {
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) phone: Phone,
    /// The limits that apply to messages to it.
    pub(in crate::engine) limits: Option<Limits>,
    /// True if an operator changes it, who may also do so for a user who is locked.
    pub(in crate::engine) by_operator: bool,
}

/// The reason for which a user cannot have a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Refused {
    NoUser,
    /// An operator has locked the user.
    Locked,
    /// The calls for the user are forwarded to another service, which would keep the former number.
    Returned,
    /// The application sends no messages to it.
    NotAllowed,
    /// Another user of the application has it.
    Taken,
}

/// Returns the user if they may have the number.
pub(in crate::engine) fn may_have(
    view: &mut View,
    app: AppId,
    new: &NewNumber,
) -> Decided<Result<User, Refused>> {
    let number = new.phone.e164();
    let owner = lookups::find(view, Kind::Phone, app, &number)?;
    let Some(found) = user(view, app, new.user_id)? else { return Ok(Err(Refused::NoUser)) };
    if found.locked_at.is_some() && !new.by_operator {
        return Ok(Err(Refused::Locked));
    }
    if forwarding::is_returned(view, app, new.user_id)? {
        return Ok(Err(Refused::Returned));
    }
    if new.limits.as_ref().is_some_and(|it| !it.allows(new.phone.country_code, &number)) {
        return Ok(Err(Refused::NotAllowed));
    }
    let id = i64::try_from(found.user_id).ok();
    Ok(if owner.is_some() && owner != id { Err(Refused::Taken) } else { Ok(found) })
}

/// Gives a user the number, and returns the messages to the user's devices; `None` if the user has it already.
///
/// What was sent to the former number no longer counts: codes, and an invitation. The user stays confirmed, because a
/// user who is not could log in with any code. With a number that is not verified, the user has used no code by SMS.
pub(in crate::engine) fn set(
    view: &mut View,
    found: User,
    (new, verified): (&NewNumber, bool),
    notices: &NewPushes,
) -> Decided<Option<Vec<Claimed>>> {
    if found.phone().as_ref() == Some(&new.phone) {
        return Ok(None);
    }
    let (app, user_id, now) = (notices.app, new.user_id, notices.now);
    let id = i64::try_from(found.user_id).unwrap_or(i64::MAX);
    let devices = view.all::<Device>((found.user_id,))?;
    let (kind, name) = enrolment::key(found.phone().as_ref(), &found.email);
    lookups::remove(view, kind, app, &name);
    lookups::set(view, Kind::Phone, app, &new.phone.e164(), id);
    view.delete_all::<SentCode>((Subject::User(app, user_id).key(),));
    browsers::forget_those_of(view, user_id);
    let columns = Phone::columns(Some(&new.phone));
    finding::change(view, found, |found| {
        (found.country_code, found.cellphone) = columns;
        found.sms_used = verified;
        found.number_changed_at = Some(now.clock);
    })?;
    let deadline = now.steady.plus(Duration::from_secs(APPROVAL_LIFE));
    pushes::add(view, user_id, &devices, (&About::Number, deadline), notices).map(Some)
}

//! The latest verification of each number that belongs to no user yet, for its status.

use super::codes::IssueCode;
use super::lookups::{self, Kind};
use super::{AppId, Subject};
use crate::engine::model::clock::Time;
use crate::engine::model::limits::VERIFICATION_RECORD;
use crate::engine::store::{Decided, FactorState, NumberCheck, SentCode, View};
use crate::model::ApprovalId;

/// The key of a number's verification.
#[derive(Clone)]
pub(in crate::engine) enum VerificationKey {
    Uuid(AppId, ApprovalId),
    /// The latest one of this number.
    Number(Subject),
}

/// The latest verification of a number.
pub(in crate::engine) struct Verification {
    pub(in crate::engine) expires_at: Time,
    pub(in crate::engine) verified: bool,
    /// True if wrong codes have invalidated the code.
    pub(in crate::engine) is_void: bool,
}

/// Records that a code was issued, and returns the id of the verification. One that sends its code
/// again keeps its id.
pub(super) fn begin(
    view: &mut View,
    issue: &IssueCode,
    is_new: bool,
    expires_at: Time,
) -> Decided<Option<ApprovalId>> {
    let (Some(uuid), Subject::Phone(app, number)) = (&issue.uuid, &issue.subject) else {
        return Ok(None);
    };
    let subject = issue.subject.key();
    let before = view.get::<NumberCheck>((subject.clone(),))?;
    if !is_new {
        let uuid = before.map(|before| before.uuid.parse());
        return Ok(uuid.transpose().map_err(|_| super::damaged("verifications", "uuid"))?);
    }
    if let Some(before) = &before {
        lookups::remove(view, Kind::Verification, *app, &before.uuid);
    }
    // A number in E.164 has at most 15 digits.
    let digits = number.trim_start_matches('+').parse().unwrap_or(0);
    lookups::set(view, Kind::Verification, *app, uuid.as_str(), digits);
    if before.is_some_and(|before| before.forget_at <= issue.now.steady) {
        view.delete_all::<FactorState>((subject.clone(),));
    }
    view.put(NumberCheck {
        subject,
        app_id: *app,
        uuid: uuid.as_str().to_owned(),
        expires_at,
        forget_at: expires_at.plus(VERIFICATION_RECORD),
        verified: false,
    });
    Ok(Some(uuid.clone()))
}

pub(in crate::engine) fn find(
    view: &mut View,
    key: &VerificationKey,
    now: Time,
    tries: u32,
) -> Decided<Option<Verification>> {
    let (app, subject, uuid) = match key {
        VerificationKey::Uuid(app, uuid) => {
            let digits = lookups::find(view, Kind::Verification, *app, uuid.as_str())?;
            let Some(digits) = digits else { return Ok(None) };
            (*app, Subject::Phone(*app, format!("+{digits}")).key(), Some(uuid.as_str()))
        }
        VerificationKey::Number(subject) => (subject.app(), subject.key(), None),
    };
    let found = view.get::<NumberCheck>((subject.clone(),))?;
    let is_it = |check: &NumberCheck| uuid.is_none_or(|uuid| check.uuid == uuid);
    let Some(found) =
        found.filter(|check| check.app_id == app && check.forget_at > now && is_it(check))
    else {
        return Ok(None);
    };
    let code = view.get::<SentCode>((subject, String::new()))?;
    Ok(Some(Verification {
        expires_at: found.expires_at,
        verified: found.verified,
        is_void: code.is_some_and(|code| code.wrong_tries >= tries),
    }))
}

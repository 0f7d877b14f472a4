//! Decides which service handles the calls for a user while an application moves: this one, or the
//! one before it, to which calls are forwarded.
//!
//! Both give the same ids to the same users. Users who are here are handled here, except the ones
//! who were returned; all others are there. A user who comes is added like an imported one.

use super::addresses::WrongFromAddress;
use super::audit::{AuditVerdict, Noted, Trail};
use super::enrolment;
use super::lookups::{self, Kind};
use super::moving;
use super::verifications::{self, VerificationKey};
use super::{AppId, IMPORTED_WITHOUT_IDS, USERS, pass_id, statistics, user};
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::phones::Phone;
use crate::engine::model::records::{HIGHEST, Imported, UserRecord};
use crate::engine::store::{
    Authenticator, Decided, Forwarded, Forwarding, Sequence, Statistics, User, View,
};
use crate::model::{ApprovalId, UserId};
use std::time::Duration;

/// The states of a user.
const THERE: &str = "there";
const HERE: &str = "here";
const RETURNED: &str = "returned";
/// Neither here nor there: the user must not come back as one who is there.
const DELETED: &str = "deleted";

/// The number of ids after the highest one seen there that no user is given here: the other service may create users
/// meanwhile.
const RESERVED: i64 = 1_000_000;
/// The reason of a verdict that is not of this service.
pub(in crate::engine) const FORWARDED: &str = "forwarded";
/// The time for which a code that was sent there may be valid.
pub(in crate::engine) const CODE_LIFE: Duration = Duration::from_secs(60 * 60);

/// The information about a user in a reply from there.
#[derive(Clone, Default)]
pub(in crate::engine) struct News {
    /// The number and the e-mail address.
    pub(in crate::engine) known: Option<(Phone, String)>,
    pub(in crate::engine) confirmed: Option<bool>,
    /// `Some` if a code was sent: true if it would have been sent to a user with an app too.
    pub(in crate::engine) sent: Option<bool>,
    pub(in crate::engine) uses_app: bool,
    /// The verdict on a code, for the audit.
    pub(in crate::engine) checked: Option<AuditVerdict>,
    /// True for the reply to a request of this service, which is not counted as a call.
    pub(in crate::engine) asked: bool,
}

/// Begins to forward. Returns false if users got ids here before, one by one or by an import without ids: the ids of
/// others there may be the same.
pub(in crate::engine) fn begin(view: &mut View, app: AppId, now: Now) -> Decided<bool> {
    if view.get::<Forwarding>((app,))?.is_some() {
        return Ok(true);
    }
    let (months, _) = statistics::statistics(view, app, Statistics::TOTALS + 1)?;
    let imported = view.get::<Sequence>((IMPORTED_WITHOUT_IDS.to_owned(),))?;
    if months.iter().any(|month| month.users > 0) || imported.is_some() {
        return Ok(false);
    }
    let (calls, failed, there, here, returned) = (0, 0, 0, 0, 0);
    let begun_at = now.clock;
    view.put(Forwarding { app_id: app, begun_at, calls, failed, there, here, returned });
    // Also for nodes that do not forward yet: users may have been created there since an import.
    let last = view.get::<Sequence>((USERS.to_owned(),))?.map_or(0, |sequence| sequence.last);
    pass_id(view, USERS, last.saturating_add(RESERVED))?;
    Ok(true)
}

pub(in crate::engine) fn counted(view: &mut View, app: AppId) -> Decided<Option<Forwarding>> {
    view.get::<Forwarding>((app,))
}

/// Returns whether the calls for a user are handled there.
pub(in crate::engine) fn is_there(view: &mut View, app: AppId, id: UserId) -> Decided<bool> {
    view.ask::<User>((id.get(),));
    let row = view.get::<Forwarded>((app, id.get()))?;
    let found = user(view, app, id)?;
    // The other service does not know that an operator has locked the user here.
    if found.as_ref().is_some_and(|user| user.locked_at.is_some()) {
        return Ok(false);
    }
    Ok(match row.as_ref().map(|row| row.state.as_str()) {
        Some(RETURNED) => true,
        Some(DELETED) => false,
        _ => found.is_none(),
    })
}

/// Returns whether an operator has given a user back to the other service.
pub(super) fn is_returned(view: &mut View, app: AppId, id: UserId) -> Decided<bool> {
    let row = view.get::<Forwarded>((app, id.get()))?;
    Ok(row.is_some_and(|row| row.state == RETURNED))
}

/// Returns whether the user with a number is there. If no user has the number here, only the other service can say
/// whether one has it there. Without a number, the e-mail address decides.
pub(in crate::engine) fn new_user_is_there(
    view: &mut View,
    app: AppId,
    phone: Option<&Phone>,
    email: &str,
) -> Decided<bool> {
    match enrolment::find(view, app, phone, email)? {
        Some(id) => is_there(view, app, super::user_id(id)?),
        None => Ok(true),
    }
}

/// Returns whether an approval request was created there.
pub(in crate::engine) fn approval_is_there(
    view: &mut View,
    app: AppId,
    uuid: &ApprovalId,
) -> Decided<bool> {
    Ok(lookups::find(view, Kind::Approval, app, uuid.as_str())?.is_none())
}

/// Returns whether the verification of a number began there.
pub(in crate::engine) fn verification_is_there(
    view: &mut View,
    key: &VerificationKey,
    now: Now,
) -> Decided<bool> {
    Ok(verifications::find(view, key, now.steady, u32::MAX)?.is_none())
}

/// Counts a call that was forwarded.
pub(in crate::engine) fn count(view: &mut View, app: AppId, failed: bool) -> Decided<()> {
    if let Some(mut counts) = view.get::<Forwarding>((app,))? {
        counts.calls += 1;
        counts.failed += u64::from(failed);
        view.put(counts);
    }
    Ok(())
}

/// Stores the information about a user in a reply from there. Returns whether the user can come here now:
/// the number is known, no code is on its way, and nothing says that the user has an app.
pub(in crate::engine) fn note(
    view: &mut View,
    id: UserId,
    (news, address): (&News, &WrongFromAddress),
    trail: &Trail,
) -> Decided<bool> {
    let (app, now) = (trail.app, trail.now);
    address.ask(view);
    view.ask::<Forwarding>((app,));
    view.ask::<Sequence>((USERS.to_owned(),));
    let before = view.get::<Forwarded>((app, id.get()))?;
    if !news.asked {
        count(view, app, false)?;
    }
    if let Some(verdict) = news.checked {
        if verdict == AuditVerdict::Wrong {
            address.count(view)?;
        }
        trail.note(view, Noted::of(id, verdict).because(Some(FORWARDED)));
    }
    reserve(view, id)?;
    let state = before.as_ref().map(|row| row.state.clone());
    let mut row = before.clone().unwrap_or_else(|| unknown(app, id));
    if row.state == DELETED {
        // A user who was created again was so at the other service too.
        if news.known.is_none() {
            return Ok(false);
        }
        row = unknown(app, id);
    }
    if let Some((phone, email)) = &news.known {
        row.country_code = Some(phone.country_code);
        row.cellphone = Some(phone.national.clone());
        row.email = Some(email.clone());
    }
    row.confirmed = news.confirmed.unwrap_or(row.confirmed);
    let is_on_its_way = row.sent_until > now.steady;
    let proven = match news.checked {
        Some(AuditVerdict::Right) => {
            // A right code that was not sent comes from an app.
            row.has_app |= !is_on_its_way;
            let proven = is_on_its_way && !row.sent_forced;
            row.sent_until = Time(0);
            proven
        }
        _ => news.known.is_some() && !is_on_its_way,
    };
    if let Some(forced) = news.sent {
        row.sent_forced = forced || (is_on_its_way && row.sent_forced);
        row.sent_until = now.steady.plus(CODE_LIFE);
    }
    row.has_app |= news.uses_app;
    let may_come = proven && row.state == THERE && !row.has_app && row.cellphone.is_some();
    if before.as_ref() != Some(&row) {
        put(view, state.as_deref(), row)?;
    }
    Ok(may_come)
}

/// Returns the state of a user whose number and e-mail address are known, so that the user can
/// come.
pub(in crate::engine) fn known(
    view: &mut View,
    app: AppId,
    id: UserId,
) -> Decided<Option<(Phone, String, bool)>> {
    let row = view.get::<Forwarded>((app, id.get()))?;
    let Some(row) = row.filter(|row| row.state == THERE) else { return Ok(None) };
    let (Some(country_code), Some(national), Some(email)) =
        (row.country_code, row.cellphone, row.email)
    else {
        return Ok(None);
    };
    Ok(Some((Phone { country_code, national }, email, row.confirmed)))
}

/// The outcome of taking over a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Taken {
    Here,
    /// The other service gave the user's number or e-mail address to no caller through this one.
    Unknown,
    /// Another user is here with the id or the number.
    Conflict(String),
}

/// The reason for taking over a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Because {
    /// Nothing keeps the user there.
    Proven,
    /// The user gets a new app, and gives up the one there.
    NewApp,
    /// An operator wants it, who alone brings back who was returned.
    Operator,
}

/// Adds a user who was there, or has one who was returned handled here again.
pub(in crate::engine) fn take(
    view: &mut View,
    id: UserId,
    (record, because): (Option<&UserRecord>, Because),
    trail: &Trail,
) -> Decided<Taken> {
    let (app, now) = (trail.app, trail.now);
    view.ask::<User>((id.get(),));
    view.ask::<Forwarding>((app,));
    view.ask::<Authenticator>((id.get(),));
    let Some(mut row) = view.get::<Forwarded>((app, id.get()))? else {
        return Ok(if user(view, app, id)?.is_some() { Taken::Here } else { Taken::Unknown });
    };
    let before = row.state.clone();
    match (before.as_str(), record) {
        (HERE, _) => return Ok(Taken::Here),
        (RETURNED, _) if because == Because::Operator => {
            spend_codes(view, id, now)?;
            trail.done(view, id);
        }
        // Another call may have shown, while the other service was asked, that the user has an app there, or a
        // code on its way.
        (THERE, _)
            if because == Because::Proven && (row.has_app || row.sent_until > now.steady) =>
        {
            return Ok(Taken::Unknown);
        }
        (THERE, Some(record)) => {
            let outcomes = moving::import(view, app, std::slice::from_ref(record), trail)?;
            if let Some(Imported::Conflict(at)) = outcomes.into_iter().next() {
                return Ok(Taken::Conflict(format!("{} {}", at.field, at.problem)));
            }
        }
        _ => return Ok(Taken::Unknown),
    }
    // The row of the user has it from now on.
    (row.country_code, row.cellphone, row.email) = (None, None, None);
    row.state = HERE.to_owned();
    put(view, Some(&before), row)?;
    Ok(Taken::Here)
}

/// Spends the codes up to now of the apps of a user who was returned: the other service, which has the same
/// secrets if the user was imported, may have accepted them.
fn spend_codes(view: &mut View, id: UserId, now: Now) -> Decided<()> {
    for mut app in view.all::<Authenticator>((id.get(),))? {
        if let Some(last) = app.last_step {
            // The next one is accepted early.
            let step = now.clock.seconds() / app.period.max(1) + 1;
            app.last_step = Some(last.max(step));
            view.put(app);
        }
    }
    Ok(())
}

/// Has the calls for a user who is here be forwarded again. Returns false if the user is not here, and
/// `None` if the application has never forwarded calls.
pub(in crate::engine) fn give_back(
    view: &mut View,
    id: UserId,
    trail: &Trail,
) -> Decided<Option<bool>> {
    let app = trail.app;
    if view.get::<Forwarding>((app,))?.is_none() {
        return Ok(None);
    }
    if user(view, app, id)?.is_none() {
        return Ok(Some(false));
    }
    let before = view.get::<Forwarded>((app, id.get()))?;
    let state = before.as_ref().map(|row| row.state.clone());
    if state.as_deref() != Some(RETURNED) {
        let row = before.unwrap_or_else(|| unknown(app, id));
        put(view, state.as_deref(), Forwarded { state: RETURNED.to_owned(), ..row })?;
        trail.done(view, id);
    }
    Ok(Some(true))
}

/// Remembers that a user was deleted, and nothing else of them, if calls are forwarded or once were.
pub(in crate::engine) fn forget(view: &mut View, app: AppId, id: UserId) -> Decided<()> {
    if view.get::<Forwarding>((app,))?.is_none() {
        return Ok(());
    }
    let before = view.get::<Forwarded>((app, id.get()))?.map(|row| row.state);
    put(view, before.as_deref(), Forwarded { state: DELETED.to_owned(), ..unknown(app, id) })
}

/// Reserves ids, so that users who are created here have ids that no user has there.
fn reserve(view: &mut View, id: UserId) -> Decided<()> {
    let Some(id) = i64::try_from(id.get()).ok().filter(|id| *id <= HIGHEST as i64) else {
        return Ok(());
    };
    let last = view.get::<Sequence>((USERS.to_owned(),))?.map_or(0, |sequence| sequence.last);
    if last < id + RESERVED {
        // Further, so that not every new user is written here.
        pass_id(view, USERS, id + 2 * RESERVED)?;
    }
    Ok(())
}

fn unknown(app_id: AppId, id: UserId) -> Forwarded {
    Forwarded {
        app_id,
        id: id.get(),
        state: THERE.to_owned(),
        country_code: None,
        cellphone: None,
        email: None,
        confirmed: false,
        has_app: false,
        sent_until: Time(0),
        sent_forced: false,
    }
}

/// Writes a row, which had this state, and counts the change of it.
fn put(view: &mut View, before: Option<&str>, row: Forwarded) -> Decided<()> {
    if before != Some(&row.state)
        && let Some(mut counts) = view.get::<Forwarding>((row.app_id,))?
    {
        if let Some(count) = before.and_then(|state| counts.of(state)) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = counts.of(&row.state) {
            *count += 1;
        }
        view.put(counts);
    }
    view.put(row);
    Ok(())
}

impl Forwarding {
    /// Returns the counter of the users with this state; `None` if they are not counted.
    fn of(&mut self, state: &str) -> Option<&mut u64> {
        match state {
            THERE => Some(&mut self.there),
            HERE => Some(&mut self.here),
            RETURNED => Some(&mut self.returned),
            _ => None,
        }
    }
}

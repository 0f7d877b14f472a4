//! Users.

use super::approver::{self, NewInvitation};
use super::budgets::{Over, Sending};
use super::forwarding;
use super::jobs::{self, Claimed, NewJob, Outgoing, What};
use super::lookups::{self, Kind};
use super::{AppId, Subject, USERS, browsers, count, count_users, next_id, user};
use crate::engine::JobKind;
use crate::engine::clock::{Now, Time};
use crate::engine::limits;
use crate::engine::phones::Phone;
use crate::engine::store::{
    Activity, Approval, Audit, Authenticator, Browser, Budget, Decided, Device, Email, Forwarded,
    Forwarding, Job, KeptLine, Lookup, NumberCheck, OfflineSteps, OfflineUse, OpenApproval,
    RecoveryCode, SentCode, User, View,
};
use crate::model::UserId;
use std::time::Duration;

#[derive(Clone)]
pub(in crate::engine) struct EnrolUser {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) email: String,
    pub(in crate::engine) phone: Phone,
    /// The message to a user who is new.
    pub(in crate::engine) welcome: Option<Welcome>,
    /// True if a number that a user has already changes nothing.
    pub(in crate::engine) new_only: bool,
    pub(in crate::engine) now: Now,
}

/// The message to a user who is new.
#[derive(Clone)]
pub(in crate::engine) struct Welcome {
    pub(in crate::engine) message: Outgoing,
    /// The invitation in it.
    pub(in crate::engine) invitation: Option<NewInvitation>,
    /// The id of its job, the route that it tries first, and for how long.
    pub(in crate::engine) job: (i64, String, Duration),
    pub(in crate::engine) sending: Sending,
}

pub(in crate::engine) struct EnrolledUser {
    pub(in crate::engine) user_id: UserId,
    /// True if the user was not there before.
    pub(in crate::engine) created: bool,
    /// The message for its first attempt, or why it is not sent, if there is one for this user.
    pub(in crate::engine) welcome: Option<Result<Box<Claimed>, Over>>,
}

/// A user as calls show them.
#[derive(Clone)]
pub(in crate::engine) struct Profile {
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) phone: Phone,
    /// The most recently added e-mail.
    pub(in crate::engine) email: String,
    pub(in crate::engine) confirmed: bool,
    pub(in crate::engine) sms_used: bool,
    pub(in crate::engine) authenticator_used: bool,
    /// True if one of the devices shows codes.
    pub(in crate::engine) device_shows_codes: bool,
    /// The types of the user's devices, oldest first.
    pub(in crate::engine) devices: Vec<String>,
    pub(in crate::engine) created_at: Time,
}

/// Returns whether a user has that number.
pub(in crate::engine) fn is_enrolled(view: &mut View, app: AppId, number: &str) -> Decided<bool> {
    Ok(lookups::find(view, Kind::Phone, app, number)?.is_some())
}

/// Adds a user with that phone, or adds the e-mail to the user who already has the phone.
pub(in crate::engine) fn enrol(view: &mut View, new: &EnrolUser) -> Decided<EnrolledUser> {
    let number = new.phone.e164();
    let known = lookups::find(view, Kind::Phone, new.app, &number)?;
    if let Some(known) = known {
        let user_id = user_id(known)?;
        if !new.new_only {
            add_email(view, user_id, &new.email)?;
        }
        return Ok(EnrolledUser { user_id, created: false, welcome: None });
    }
    let id = next_id(view, USERS)?;
    let user_id = user_id(id)?;
    lookups::set(view, Kind::Phone, new.app, &number, id);
    let number = (new.phone.country_code, new.phone.national.clone());
    view.put(User::new((new.app, user_id.get()), number, &new.email, new.now.clock));
    count(view, new.app, new.now, |counted| counted.users += 1);
    count_users(view, new.app, 1);
    let mut welcome = None;
    if let Some(Welcome { message, invitation, job, sending }) = &new.welcome {
        welcome = Some(match sending.spend(view)? {
            Err(over) => Err(over),
            Ok(_) => {
                let (job_id, lane, lease) = job.clone();
                if let Some(invitation) = invitation {
                    approver::invite(view, new.app, user_id, invitation, new.now);
                }
                let new_job = NewJob {
                    subject: &Subject::User(new.app, user_id),
                    job_id,
                    kind: JobKind::Welcome,
                    action: "",
                    what: What::Message { message: message.clone(), code: None },
                    lane,
                    lease,
                    deadline: new.now.steady.plus(limits::CODE_LIFE),
                    now: new.now,
                };
                Ok(Box::new(jobs::add(view, new_job)?))
            }
        });
    }
    Ok(EnrolledUser { user_id, created: true, welcome })
}

/// Makes an e-mail the last one, unless the user has it already.
fn add_email(view: &mut View, id: UserId, email: &str) -> Decided<()> {
    let Some(mut user) = view.get::<User>((id.get(),))? else { return Ok(()) };
    let earlier = view.get::<Email>((id.get(), email.to_owned()))?;
    if user.email != email && earlier.is_none() {
        let before = std::mem::replace(&mut user.email, email.to_owned());
        view.put(Email { user_id: id.get(), email: before });
        view.put(user);
    }
    Ok(())
}

pub(in crate::engine) fn profile(
    view: &mut View,
    app: AppId,
    user_id: UserId,
) -> Decided<Option<Profile>> {
    view.ask::<User>((user_id.get(),));
    view.ask::<Authenticator>((user_id.get(),));
    view.ask::<Device>((user_id.get(),));
    let Some(found) = user(view, app, user_id)? else { return Ok(None) };
    let authenticators = view.all::<Authenticator>((user_id.get(),))?;
    let devices = view.all::<Device>((user_id.get(),))?;
    Ok(Some(Profile {
        user_id,
        phone: Phone { country_code: found.country_code, national: found.cellphone },
        email: found.email,
        confirmed: found.confirmed,
        sms_used: found.sms_used,
        authenticator_used: authenticators
            .iter()
            .any(|app| app.is_app() && app.last_step.is_some()),
        device_shows_codes: authenticators.iter().any(|codes| !codes.is_app()),
        devices: devices.into_iter().map(|device| device.os_type).collect(),
        created_at: found.created_at,
    }))
}

/// Deletes a user. Returns whether there was such a user.
pub(in crate::engine) fn delete(view: &mut View, app: AppId, user_id: UserId) -> Decided<bool> {
    let Some(found) = user(view, app, user_id)? else { return Ok(false) };
    let id = user_id.get();
    let phone = Phone { country_code: found.country_code, national: found.cellphone.clone() };
    for approval in view.all::<Approval>((id,))? {
        lookups::remove(view, Kind::Approval, app, &approval.uuid);
    }
    for device in view.all::<Device>((id,))? {
        lookups::remove(view, Kind::Device, app, &device.device_id.to_string());
    }
    lookups::remove(view, Kind::Phone, app, &phone.e164());
    if let Some(login) = &found.login {
        lookups::remove(view, Kind::Login, app, login);
    }
    view.delete(&found);
    view.delete_all::<Email>((id,));
    view.delete_all::<Authenticator>((id,));
    view.delete_all::<OfflineSteps>((id,));
    view.delete_all::<OfflineUse>((id,));
    view.delete_all::<RecoveryCode>((id,));
    view.delete_all::<Browser>((id,));
    view.delete_all::<Device>((id,));
    view.delete_all::<Approval>((id,));
    view.delete_all::<OpenApproval>((id,));
    view.delete_all::<Activity>((id,));
    view.delete_all::<SentCode>((Subject::User(app, user_id).key(),));
    jobs::delete_all(view, &Subject::User(app, user_id))?;
    forwarding::forget(view, app, user_id)?;
    count_users(view, app, -1);
    Ok(true)
}

/// Deletes everything but the applications. Ids that were given are not given again.
pub(in crate::engine) fn clear(view: &mut View) -> Decided<()> {
    // The keys of the applications stay.
    let of_users = [Kind::Phone, Kind::Login, Kind::Device, Kind::Approval, Kind::Verification];
    for kind in of_users {
        view.delete_all::<Lookup>((kind.name(),));
    }
    view.delete_all::<User>(());
    view.delete_all::<Email>(());
    view.delete_all::<Authenticator>(());
    view.delete_all::<OfflineSteps>(());
    view.delete_all::<OfflineUse>(());
    view.delete_all::<RecoveryCode>(());
    view.delete_all::<Browser>(());
    view.delete_all::<Device>(());
    view.delete_all::<Approval>(());
    view.delete_all::<OpenApproval>(());
    view.delete_all::<Activity>(());
    view.delete_all::<Audit>(());
    view.delete_all::<Budget>(());
    view.delete_all::<KeptLine>(());
    view.delete_all::<Forwarded>(());
    view.delete_all::<Forwarding>(());
    view.delete_all::<SentCode>(());
    view.delete_all::<NumberCheck>(());
    view.delete_all::<Job>(());
    view.delete_counts();
    Ok(())
}

/// Confirms a user whose token a sandbox accepted. Returns when the user was enrolled.
pub(in crate::engine) fn confirm(
    view: &mut View,
    app: AppId,
    user_id: UserId,
    now: Now,
) -> Decided<Option<Time>> {
    let Some(mut found) = user(view, app, user_id)? else { return Ok(None) };
    (found.confirmed, found.sms_used) = (true, true);
    let created_at = found.created_at;
    view.put(found);
    count(view, app, now, |counted| counted.auths += 1);
    Ok(Some(created_at))
}

/// Lets a user try codes again. Returns whether there is such a user.
pub(in crate::engine) fn unlock(view: &mut View, app: AppId, user_id: UserId) -> Decided<bool> {
    let Some(mut found) = user(view, app, user_id)? else { return Ok(false) };
    found.unlock();
    view.put(found);
    Ok(true)
}

#[derive(Clone)]
pub(in crate::engine) struct NewActivity {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) kind: &'static str,
    pub(in crate::engine) data: String,
    pub(in crate::engine) user_ip: Option<String>,
    pub(in crate::engine) forgets_browsers: bool,
    pub(in crate::engine) nonce: i64,
    pub(in crate::engine) now: Now,
}

/// Stores an activity, and forgets the user's browsers if it says so. Returns whether there is such a
/// user.
pub(in crate::engine) fn add_activity(view: &mut View, new: &NewActivity) -> Decided<bool> {
    if user(view, new.app, new.user_id)?.is_none() {
        return Ok(false);
    }
    view.append(Activity {
        user_id: new.user_id.get(),
        created_at: new.now.clock,
        nonce: new.nonce,
        kind: new.kind.into(),
        data: new.data.clone(),
        user_ip: new.user_ip.clone(),
    });
    if new.forgets_browsers {
        browsers::forget_those_of(view, new.user_id);
    }
    Ok(true)
}

/// Converts a stored number to a user's id.
pub(super) fn user_id(number: i64) -> Decided<UserId> {
    let number = u64::try_from(number).unwrap_or(0);
    Ok(UserId::try_from(number).map_err(|_| super::damaged("lookups", "id"))?)
}

/// Returns the user with this login name, and how many recovery codes the user has left.
pub(in crate::engine) fn of_login(
    view: &mut View,
    app: AppId,
    login: &str,
) -> Decided<Option<(Profile, u64)>> {
    let Some(id) = lookups::find(view, Kind::Login, app, login)? else { return Ok(None) };
    let user_id = user_id(id)?;
    let left = super::recovery::left(view, user_id)?;
    Ok(profile(view, app, user_id)?.map(|user| (user, left)))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) enum LoginSet {
    Done,
    NoUser,
    /// Another user has the name.
    Taken,
    /// The user has this other name.
    HasAnother(String),
}

/// Gives a user a login name. Neither does a name move to another user in one step, nor does a user
/// get another name: a mistake would let that user's codes in as another user, or end the logins by
/// the earlier name, such as of two people who were enrolled with one phone number.
pub(in crate::engine) fn set_login(
    view: &mut View,
    app: AppId,
    user_id: UserId,
    login: &str,
) -> Decided<LoginSet> {
    let owner = lookups::find(view, Kind::Login, app, login)?;
    let Some(mut found) = user(view, app, user_id)? else { return Ok(LoginSet::NoUser) };
    let id = i64::try_from(user_id.get()).unwrap_or(i64::MAX);
    if owner.is_some_and(|owner| owner != id) {
        return Ok(LoginSet::Taken);
    }
    match &found.login {
        Some(other) if other != login => return Ok(LoginSet::HasAnother(other.clone())),
        _ => {}
    }
    lookups::set(view, Kind::Login, app, login, id);
    found.login = Some(login.to_owned());
    view.put(found);
    Ok(LoginSet::Done)
}

/// Takes a login name from its user. Returns who had it.
pub(in crate::engine) fn remove_login(
    view: &mut View,
    app: AppId,
    login: &str,
) -> Decided<Option<UserId>> {
    let Some(id) = lookups::find(view, Kind::Login, app, login)? else { return Ok(None) };
    if let Some(mut found) = user(view, app, user_id(id)?)? {
        found.login = None;
        view.put(found);
    }
    lookups::remove(view, Kind::Login, app, login);
    user_id(id).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::operations::applications;
    use crate::engine::store::{Memory, Store};

    const NOW: Now = Now { clock: Time(1_000_000_000), steady: Time(1_000_000_000) };

    /// Returns a store with a user.
    fn store() -> (Store, UserId) {
        let store = Store::new(Memory::new());
        let new = EnrolUser {
            app: 1,
            email: "ada@example.com".into(),
            phone: Phone { country_code: 1, national: "5550100123".into() },
            welcome: None,
            new_only: false,
            now: NOW,
        };
        let user_id = store.run(move |view| enrol(view, &new)).unwrap().user_id;
        (store, user_id)
    }

    fn activity(user_id: UserId) -> NewActivity {
        NewActivity {
            app: 1,
            user_id,
            kind: "banned",
            data: "{}".into(),
            user_ip: Some("192.0.2.1".into()),
            forgets_browsers: true,
            nonce: 1,
            now: NOW,
        }
    }

    fn job(user_id: UserId) -> Job {
        Job {
            subject: Subject::User(1, user_id).key(),
            job_id: 1,
            app_id: 1,
            kind: JobKind::Callback,
            action: String::new(),
            payload: "{}".into(),
            number: None,
            lane: "host".into(),
            route: "host".into(),
            leased: false,
            due_at: NOW.steady,
            deadline: NOW.steady,
            created_at: NOW.steady,
            ended_at: None,
            attempts: 1,
            ambiguous: 0,
            ambiguous_here: 0,
            epoch: 1,
            asked: String::new(),
            provider_id: None,
            receipt: None,
            receipt_at: None,
            last_error: Some("down".into()),
        }
    }

    #[test]
    fn nothing_of_a_deleted_user_stays() {
        let (store, user_id) = store();
        let failed = store.run(move |view| {
            view.put(job(user_id));
            Ok(())
        });
        failed.unwrap();
        // Rows recorded in the same batch are deleted too.
        let deleted = store.run(move |view| {
            add_activity(view, &activity(user_id))?;
            delete(view, 1, user_id)
        });
        assert!(deleted.unwrap());
        let left = store.look(|view| {
            let (jobs, activities) = (view.all::<Job>(())?, view.all::<Activity>(())?);
            Ok((jobs.len(), activities.len(), view.all::<Lookup>(())?.len()))
        });
        assert_eq!(left.unwrap(), (0, 0, 0));
    }

    #[test]
    fn no_count_of_before_survives_a_sandbox_that_is_emptied() {
        let (store, user_id) = store();
        store.count_call(1, NOW.clock.month());
        let emptied = store.run(move |view| {
            delete(view, 1, user_id)?;
            clear(view)
        });
        emptied.unwrap();
        let counted = store.run(|view| applications::statistics(view, 1, 1)).unwrap();
        assert!(counted.0.iter().all(|month| month.api_calls == 0) && counted.1 == 0);
    }

    #[test]
    fn statistics_have_the_calls_that_are_not_written_yet() {
        let (store, _) = store();
        (0..3).for_each(|_| store.count_call(1, NOW.clock.month()));
        let counted = store.run(|view| applications::statistics(view, 1, 1)).unwrap();
        assert_eq!(counted.0.iter().map(|month| month.api_calls).sum::<i64>(), 3);
    }
}

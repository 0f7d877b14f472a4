//! Users.

use super::jobs;
use super::lookups::{self, Kind};
use super::profiles::{Profile, profile};
use super::{
    AppId, Subject, approvals, browsers, count, count_users, enrolment, finding, forwarding, user,
    user_id,
};
use crate::engine::model::clock::{Now, Time};
use crate::engine::store::{
    Activity, Approval, Audit, Authenticator, Browser, Budget, Decided, Device, Email, FactorState,
    Forwarded, Forwarding, Job, KeptLine, Lookup, NumberCheck, OfflineSteps, OfflineUse,
    OpenApproval, RecoveryCode, SentCode, User, View,
};
use crate::model::UserId;

/// Deletes a user. Returns whether there was such a user.
pub(in crate::engine) fn delete(view: &mut View, app: AppId, user_id: UserId) -> Decided<bool> {
    let Some(found) = user(view, app, user_id)? else { return Ok(false) };
    let id = user_id.get();
    for approval in view.all::<Approval>((id,))? {
        lookups::remove(view, Kind::Approval, app, &approval.uuid);
    }
    for device in view.all::<Device>((id,))? {
        lookups::remove(view, Kind::Device, app, &device.device_id.to_string());
    }
    let (kind, name) = enrolment::key(found.phone().as_ref(), &found.email);
    lookups::remove(view, kind, app, &name);
    if let Some(login) = &found.login {
        lookups::remove(view, Kind::Login, app, login);
    }
    finding::forget(view, &found)?;
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
    view.delete_all::<FactorState>((Subject::User(app, user_id).key(),));
    jobs::delete_all(view, &Subject::User(app, user_id))?;
    forwarding::forget(view, app, user_id)?;
    count_users(view, app, -1);
    Ok(true)
}

/// Deletes everything but the applications. Ids that were given are not given again.
pub(in crate::engine) fn clear(view: &mut View) -> Decided<()> {
    // The keys of the applications stay.
    for kind in Kind::OF_USERS {
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
    view.delete_all::<FactorState>(());
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
    (found.confirmed, found.sms_used) = (true, found.phone().is_some());
    let created_at = found.created_at;
    view.put(found);
    count(view, app, now, |counted| counted.auths += 1);
    Ok(Some(created_at))
}

/// Lets a user try codes again. Returns whether there is such a user.
pub(in crate::engine) fn unlock(view: &mut View, app: AppId, user_id: UserId) -> Decided<bool> {
    if user(view, app, user_id)?.is_none() {
        return Ok(false);
    }
    // Without reading them: an operator unlocks a user with a damaged row too.
    view.delete_all::<FactorState>((Subject::key_of(user_id),));
    Ok(true)
}

/// Locks a user, whose open approval requests expire, or takes the lock away. Returns whether that changed anything, if
/// there is such a user.
pub(in crate::engine) fn set_locked(
    view: &mut View,
    app: AppId,
    user_id: UserId,
    locked: bool,
    now: Now,
) -> Decided<Option<bool>> {
    let Some(found) = user(view, app, user_id)? else { return Ok(None) };
    if found.locked_at.is_some() == locked {
        return Ok(Some(false));
    }
    if locked {
        approvals::expire_all(view, user_id, now)?;
    }
    finding::change(view, found, |found| found.locked_at = locked.then_some(now.clock))?;
    Ok(Some(true))
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
    let Some(found) = user(view, app, user_id)? else { return Ok(LoginSet::NoUser) };
    let id = i64::try_from(user_id.get()).unwrap_or(i64::MAX);
    if owner.is_some_and(|owner| owner != id) {
        return Ok(LoginSet::Taken);
    }
    match &found.login {
        Some(other) if other != login => return Ok(LoginSet::HasAnother(other.clone())),
        _ => {}
    }
    lookups::set(view, Kind::Login, app, login, id);
    finding::change(view, found, |found| found.login = Some(login.to_owned()))?;
    Ok(LoginSet::Done)
}

/// The outcome of a request to remove a login name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum LoginRemoved {
    Done(UserId),
    Unknown,
    /// The user has no other name by which an application finds them.
    OnlyName,
}

/// Takes a login name from its user.
pub(in crate::engine) fn remove_login(
    view: &mut View,
    app: AppId,
    login: &str,
) -> Decided<LoginRemoved> {
    let Some(id) = lookups::find(view, Kind::Login, app, login)? else {
        return Ok(LoginRemoved::Unknown);
    };
    if let Some(found) = user(view, app, user_id(id)?)? {
        if found.phone().is_none() && found.email.is_empty() {
            return Ok(LoginRemoved::OnlyName);
        }
        finding::change(view, found, |found| found.login = None)?;
    }
    lookups::remove(view, Kind::Login, app, login);
    user_id(id).map(LoginRemoved::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::jobs::JobKind;
    use crate::engine::operations::enrolment::{EnrolUser, enrol};
    use crate::engine::operations::statistics;
    use crate::engine::store::{Memory, Store};

    const NOW: Now = Now { clock: Time(1_000_000_000), steady: Time(1_000_000_000) };

    /// Returns a store with a user.
    fn store() -> (Store, UserId) {
        let store = Store::new(Memory::new());
        let new = EnrolUser {
            app: 1,
            email: "ada@example.com".into(),
            phone: Some(crate::engine::model::phones::Phone {
                country_code: 1,
                national: "5550100123".into(),
            }),
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
        let counted = store.run(|view| statistics::statistics(view, 1, 1)).unwrap();
        assert!(counted.0.iter().all(|month| month.api_calls == 0) && counted.1 == 0);
    }

    #[test]
    fn statistics_have_the_calls_that_are_not_written_yet() {
        let (store, _) = store();
        (0..3).for_each(|_| store.count_call(1, NOW.clock.month()));
        let counted = store.run(|view| statistics::statistics(view, 1, 1)).unwrap();
        assert_eq!(counted.0.iter().map(|month| month.api_calls).sum::<i64>(), 3);
    }
}

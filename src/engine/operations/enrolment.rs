//! Enrolment: a user is found by the number or, without one, by the e-mail address.

use super::approver::{self, NewInvitation};
use super::budgets::{Over, Sending};
use super::jobs::carried::{Outgoing, What};
use super::jobs::job::{self, Claimed, NewJob};
use super::lookups::{self, Kind};
use super::user_id;
use super::{AppId, Subject, USERS, count, count_users, finding, next_id};
use crate::engine::model::clock::Now;
use crate::engine::model::jobs::JobKind;
use crate::engine::model::limits;
use crate::engine::model::phones::Phone;
use crate::engine::store::{Decided, Email, User, View};
use crate::model::UserId;
use std::time::Duration;

#[derive(Clone)]
pub(in crate::engine) struct EnrolUser {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) email: String,
    /// `None` for a user without a number, who is found by the e-mail.
    pub(in crate::engine) phone: Option<Phone>,
    /// The message to a user who is new.
    pub(in crate::engine) welcome: Option<Welcome>,
    /// True if a user who is there already is left as they are.
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

/// Returns the name by which a user is found: the number, or without one the e-mail address. The
/// addresses of users with a number are no such names: a caller could otherwise add a number to the
/// account of another person, or reach it without the number.
pub(super) fn key(phone: Option<&Phone>, email: &str) -> (Kind, String) {
    match phone {
        Some(phone) => (Kind::Phone, phone.e164()),
        None => (Kind::Email, email.to_owned()),
    }
}

/// Returns the id of the user with this number, or without one with this e-mail address.
pub(in crate::engine) fn find(
    view: &mut View,
    app: AppId,
    phone: Option<&Phone>,
    email: &str,
) -> Decided<Option<i64>> {
    let (kind, name) = key(phone, email);
    lookups::find(view, kind, app, &name)
}

/// Adds a user with that phone, or adds the e-mail to the user who already has the phone. Adds a user
/// without a phone, unless one has the e-mail.
pub(in crate::engine) fn enrol(view: &mut View, new: &EnrolUser) -> Decided<EnrolledUser> {
    let (kind, name) = key(new.phone.as_ref(), &new.email);
    let known = lookups::find(view, kind, new.app, &name)?;
    if let Some(known) = known {
        let user_id = user_id(known)?;
        if !new.new_only {
            add_email(view, user_id, &new.email)?;
        }
        return Ok(EnrolledUser { user_id, created: false, welcome: None });
    }
    let id = next_id(view, USERS)?;
    let user_id = user_id(id)?;
    lookups::set(view, kind, new.app, &name, id);
    let number = Phone::columns(new.phone.as_ref());
    let user = User::new((new.app, user_id.get()), number, &new.email, new.now.clock);
    finding::add(view, &user, &[]);
    view.put(user);
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
                Ok(Box::new(job::add(view, new_job)?))
            }
        });
    }
    Ok(EnrolledUser { user_id, created: true, welcome })
}

/// Makes an e-mail the last one, unless the user has it already.
fn add_email(view: &mut View, id: UserId, email: &str) -> Decided<()> {
    let Some(user) = view.get::<User>((id.get(),))? else { return Ok(()) };
    let earlier = view.get::<Email>((id.get(), email.to_owned()))?;
    if user.email != email && earlier.is_none() {
        view.put(Email { user_id: id.get(), email: user.email.clone() });
        finding::change(view, user, |user| user.email = email.to_owned())?;
    }
    Ok(())
}

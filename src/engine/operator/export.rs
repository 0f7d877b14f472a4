//! The operation that exports the data of a user.

use super::declaration::operation;
use super::users::{ActivityEntry, ShowUser, UserDetails, activity};
use crate::engine::core::Engine;
use crate::engine::handlers::jobs::JobEntry;
use crate::engine::handlers::jobs::entry;
use crate::engine::model::rejections;
use crate::engine::operations::approvals::{self, Request};
use crate::engine::operations::{Subject, user};
use crate::engine::store::{self, Activity, Browser, Email, Job};
use crate::model::{ApprovalId, UserId};
use crate::{Error, Result, calls};
use serde::{Deserialize, Serialize};

operation! {
    /// Returns all data of a user, such as for a person who asks for it: with the whole number, and without secrets and
    /// codes. Decisions are in the audit: see `audit.list`.
    ExportUser = "user.export" -> ExportedUser {
        /// The user.
        user_id: UserId,
    }
}

/// The data of a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExportedUser {
    /// The user, with what protects the account.
    pub user: UserDetails,
    /// The phone number in E.164; `None` for a user without one.
    pub whole_number: Option<String>,
    /// The e-mail addresses that were added before the last one.
    pub earlier_emails: Vec<String>,
    /// The remembered browsers, by the times until which they are, in Unix seconds.
    pub browsers: Vec<u64>,
    /// The approval requests.
    pub approvals: Vec<calls::Approval>,
    /// The activities, the earliest first.
    pub activities: Vec<ActivityEntry>,
    /// The messages and callbacks that are kept.
    pub jobs: Vec<JobEntry>,
}

impl ExportUser {
    fn run(&self, engine: &Engine) -> Result<ExportedUser> {
        let details =
            super::declaration::Operation::carry_out(&ShowUser { user_id: self.user_id }, engine)?;
        let (app, user_id, now) = (engine.app.app_id, self.user_id, engine.now());
        let id = user_id.get();
        let found = engine.look(move |view| {
            let Some(user) = user(view, app, user_id)? else { return Ok(None) };
            // Requests whose time has passed are expired in what follows.
            approvals::open(view, app, user_id, now)?;
            Ok(Some((
                user,
                view.all::<Email>((id,))?,
                view.all::<Browser>((id,))?,
                view.all::<store::Approval>((id,))?,
                view.all::<Activity>((id,))?,
                view.all::<Job>((Subject::User(app, user_id).key(),))?,
            )))
        })?;
        let (user, emails, browsers, approvals, activities, jobs) =
            found.ok_or_else(rejections::user_not_found)?;
        let shown = |row: store::Approval| {
            let uuid: ApprovalId = row.uuid.parse().map_err(|_| damaged())?;
            let user_email = user.email.clone();
            engine.shown(Request { row, user_id, uuid, user_email })
        };
        // A number that leaves the service leaves a trace.
        let trail = engine.trail_of(<Self as super::declaration::Operation>::NAME, now, None)?;
        engine.run(move |view| {
            trail.done(view, user_id);
            Ok(())
        })?;
        Ok(ExportedUser {
            user: details,
            whole_number: user.phone().map(|phone| phone.e164()),
            earlier_emails: emails.into_iter().map(|row| row.email).collect(),
            browsers: browsers.iter().map(|row| now.shown(row.expires_at).seconds()).collect(),
            approvals: approvals.into_iter().map(shown).collect::<Result<_>>()?,
            activities: activities.into_iter().map(activity).collect::<Result<_>>()?,
            jobs: jobs.iter().map(|job| entry(job, now)).collect(),
        })
    }
}

fn damaged() -> Error {
    store::damaged("approvals", "uuid")
}

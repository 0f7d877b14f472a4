//! The decisions of the engine, as pure functions: each reads rows through a [`View`], and its
//! changes to them are written. No decision does I/O, reads a clock or draws random numbers, so it
//! can be repeated if the rows have changed, and every store decides alike.

pub(super) mod addresses;
pub(super) mod applications;
pub(super) mod approvals;
pub(super) mod approver;
pub(super) mod audit;
pub(super) mod browsers;
pub(super) mod budgets;
pub(super) mod codes;
pub(super) mod completions;
pub(super) mod documents;
pub(super) mod enrolment;
pub(super) mod factors;
pub(super) mod finding;
pub(super) mod forwarding;
pub(super) mod housekeeping;
pub(super) mod jobs;
pub(super) mod lines;
pub(super) mod listing;
pub(super) mod lookups;
pub(super) mod moving;
pub(super) mod numbers;
pub(super) mod offline;
pub(super) mod operators;
pub(super) mod profiles;
pub(super) mod pushes;
pub(super) mod recovery;
pub(super) mod routes;
pub(super) mod statistics;
pub(super) mod steady;
pub(super) mod users;
pub(super) mod verifications;
pub(super) mod verify;

use super::model::clock::Now;
use super::model::limits::Limits;
use super::model::phones::Phone;
use super::store::{Application, Decided, Sequence, Statistics, User, View};
use crate::Error;
use crate::model::UserId;

pub(super) type AppId = i64;

/// The prefix of users' keys, before the id.
const USER: &str = "user:";

/// The names of the sequences of ids.
const USERS: &str = "users";
/// Above 0 once an import has given ids to users.
const IMPORTED_WITHOUT_IDS: &str = "imported_without_ids";
const DEVICES: &str = "devices";

/// The recipient of a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    User(AppId, UserId),
    /// A number that does not belong to a user yet, in E.164.
    Phone(AppId, String),
}

impl Subject {
    /// Returns the subject's key in the tables.
    pub(super) fn key(&self) -> String {
        match self {
            Subject::User(_, user_id) => Subject::key_of(*user_id),
            Subject::Phone(app, number) => format!("phone:{app}:{number}"),
        }
    }

    /// Returns the key of a user, in any application.
    pub(super) fn key_of(user_id: UserId) -> String {
        format!("{USER}{user_id}")
    }

    /// Returns the user whose key this is; `None` if it is the key of something else.
    pub(super) fn user_of(key: &str) -> Option<UserId> {
        key.strip_prefix(USER)?.parse().ok()
    }

    pub(super) fn app(&self) -> AppId {
        match self {
            Subject::User(app, _) | Subject::Phone(app, _) => *app,
        }
    }
}

impl User {
    /// Returns the user's number; `None` for a user without one.
    pub(in crate::engine) fn phone(&self) -> Option<Phone> {
        let national = self.cellphone.clone();
        (!national.is_empty()).then_some(Phone { country_code: self.country_code, national })
    }
}

/// Returns the user with this id, if they belong to the application.
pub(super) fn user(view: &mut View, app: AppId, user_id: UserId) -> Decided<Option<User>> {
    let user = view.get::<User>((user_id.get(),))?;
    Ok(user.filter(|user| user.app_id == app))
}

/// Converts a stored number to a user's id.
fn user_id(number: i64) -> Decided<UserId> {
    let number = u64::try_from(number).unwrap_or(0);
    Ok(UserId::try_from(number).map_err(|_| damaged("lookups", "id"))?)
}

/// Returns the next id of this kind.
fn next_id(view: &mut View, kind: &str) -> Decided<i64> {
    let name = kind.to_owned();
    let last = view.get::<Sequence>((name.clone(),))?.map_or(0, |sequence| sequence.last);
    view.put(Sequence { name, last: last + 1 });
    Ok(last + 1)
}

/// Returns this many ids in a row, which were not given before.
fn next_ids(view: &mut View, kind: &str, count: usize) -> Decided<std::ops::Range<i64>> {
    let name = kind.to_owned();
    let last = view.get::<Sequence>((name,))?.map_or(0, |sequence| sequence.last);
    let end = last.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
    pass_id(view, kind, end)?;
    Ok(last + 1..end + 1)
}

/// Has the next id of this kind be above this one.
fn pass_id(view: &mut View, kind: &str, id: i64) -> Decided<()> {
    let name = kind.to_owned();
    let last = view.get::<Sequence>((name.clone(),))?.map_or(0, |sequence| sequence.last);
    if id > last {
        view.put(Sequence { name, last: id });
    }
    Ok(())
}

/// Adds to the counts of this month.
fn count(view: &mut View, app: AppId, now: Now, add: impl FnOnce(&mut Statistics)) {
    let mut counted = Statistics::none(app, now.clock.month());
    add(&mut counted);
    view.count(counted);
}

/// Adds to the number of users that the application has.
fn count_users(view: &mut View, app: AppId, by: i64) {
    view.count(Statistics { users: by, ..Statistics::none(app, Statistics::TOTALS) });
}

/// Returns a value of a row that is not one of its type.
fn damaged(table: &str, column: &str) -> Error {
    super::store::damaged(table, column)
}

/// Returns the limits of an application.
fn limits(row: &Application) -> Decided<Limits> {
    let mut limits = Limits::default();
    limits.set(&row.limits).map_err(|_| damaged("applications", "limits"))?;
    Ok(limits)
}

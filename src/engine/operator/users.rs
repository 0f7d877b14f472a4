//! Operations on the users of the application.

use super::declaration::{Nothing, operation};
use crate::calls::{self, Factors, Handle, RegisteredDevice};
use crate::engine::core::Engine;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::factors::{Barred, Factor};
use crate::engine::model::phones::Phone;
use crate::engine::model::rejections;
use crate::engine::operations::finding::{self, Place, Query};
use crate::engine::operations::statistics;
use crate::engine::operations::verify::WrongAnswers;
use crate::engine::operations::{Subject, listing};
use crate::engine::store::{Activity, Authenticator, Device, FactorState, User};
use crate::model::UserId;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most rows of a page.
const MOST_READ: u32 = 1000;
/// The most bytes of a text that users are found by: as many as an e-mail address has.
const LONGEST: usize = 254;

operation! {
    /// Lists the users of the application, those who were added last first, page by page.
    #[derive(Default)]
    ListUsers = "user.list" -> Users {
        /// What the page before has as `next`.
        after: Option<u64>,
        /// The most users on the page, 1 to 1000. Default: 100.
        most: Option<u32>,
        /// Only those whom an operator has locked. Default: all.
        #[serde(default)]
        locked: bool,
    }
}

/// Some users, the most recently added first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Users {
    /// The users.
    pub users: Vec<UserEntry>,
    /// The number of users that the application has, locked or not.
    pub total: u64,
    /// The value of `after` for the next page; `None` at the end.
    pub next: Option<u64>,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserEntry {
    /// The id.
    pub user_id: u64,
    /// The e-mail address that was added last; empty for a user who was imported without one.
    pub email: String,
    /// The phone number, masked; empty for a user without one.
    pub number: String,
    /// The login name on machines.
    pub login: Option<String>,
    /// True if a code of the user was right once.
    pub confirmed: bool,
    /// The time at which the user was added, in Unix seconds.
    pub created: u64,
    /// The time since which an operator has locked the user, in Unix seconds; `None` for a user who is not locked.
    pub locked: Option<u64>,
}

pub(super) fn check_most(most: Option<u32>) -> Result<u32> {
    let most = most.unwrap_or(super::declaration::MOST);
    match (1..=MOST_READ).contains(&most) {
        true => Ok(most),
        false => Err(Error::invalid_argument("most", "must be 1 to 1000")),
    }
}

impl ListUsers {
    fn run(&self, engine: &Engine) -> Result<Users> {
        let (most, app) = (check_most(self.most)?, engine.app.app_id);
        let before = self.after.unwrap_or(u64::MAX);
        let list = if self.locked { listing::locked_users } else { listing::users };
        let (rows, total) = engine.look(move |view| {
            Ok((list(view, app, before, most)?, statistics::user_count(view, app)?))
        })?;
        let last = rows.last().filter(|_| rows.len() == most as usize);
        let next = last.map(|row| row.user_id);
        Ok(Users { users: rows.into_iter().map(user).collect(), total, next })
    }
}

operation! {
    /// Finds users of the application by a text, page by page: by the id, by the beginning of the login name or of an
    /// e-mail address, also an earlier one, and by the last digits of the number, or all of it with a + before it. The
    /// case of letters does not matter, and each character stands for itself. Each page reads a limited number of
    /// rows, so it may hold less than `most`, also nothing, although more follow.
    #[derive(Default)]
    FindUsers = "user.find" -> FoundUsers {
        /// The text.
        text: String,
        /// What the page before has as `next`.
        after: Option<String>,
        /// The most users on the page, 1 to 1000. Default: 100.
        most: Option<u32>,
    }
}

/// Some of the users who were found: first by the id, then by the login name, the e-mail addresses and the number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FoundUsers {
    /// The users. There may be none although more follow.
    pub users: Vec<UserEntry>,
    /// The value of `after` for the next page; `None` at the end.
    pub next: Option<String>,
}

impl FindUsers {
    fn run(&self, engine: &Engine) -> Result<FoundUsers> {
        let (most, app) = (check_most(self.most)? as usize, engine.app.app_id);
        if self.text.trim().is_empty() || self.text.len() > LONGEST {
            let reason = "must be the beginning of an e-mail address or login name, the last digits of a \
                          number, or an id";
            return Err(Error::invalid_argument("text", reason));
        }
        let query = Query::new(&self.text);
        let after = self.after.as_deref().map(found_last).transpose()?;
        let (rows, next) =
            engine.look(move |view| finding::find(view, app, &query, after, most))?;
        let next = next.map(|Place { kind, of }| match of {
            Some((user_id, term)) => format!("{kind}.{user_id}.{term}"),
            None => kind.to_string(),
        });
        Ok(FoundUsers { users: rows.into_iter().map(user).collect(), next })
    }
}

/// Returns the place that a page of users who were found has named.
fn found_last(text: &str) -> Result<Place> {
    let read = || {
        let mut parts = text.split('.');
        let kind = parts.next()?.parse().ok()?;
        let of = match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => None,
            (Some(user_id), Some(term), None) => Some((user_id.parse().ok()?, term.parse().ok()?)),
            _ => return None,
        };
        Some(Place { kind, of })
    };
    read().ok_or_else(|| Error::invalid_argument("after", "must be what the page before returned"))
}

fn user(row: User) -> UserEntry {
    UserEntry {
        user_id: row.user_id,
        number: row.phone().as_ref().map(Phone::masked_e164).unwrap_or_default(),
        email: row.email,
        login: row.login,
        confirmed: row.confirmed,
        created: row.created_at.seconds(),
        locked: row.locked_at.map(Time::seconds),
    }
}

operation! {
    /// Returns a user, with what protects the account.
    ShowUser = "user.show" -> UserDetails {
        /// The user.
        user_id: UserId,
    }
}

/// A user, and the factors that protect the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserDetails {
    /// The user.
    #[serde(flatten)]
    pub user: UserEntry,
    /// The factors, as the call `user_status` returns them: none of them is a secret.
    pub factors: Factors,
    /// The devices, with their names and when they were last used, the oldest first.
    pub devices: Vec<DeviceEntry>,
    /// The wrong codes since the last right one, by what they were compared with.
    pub wrong: Vec<WrongCodes>,
    /// The time of the last change of the number, in Unix seconds; `None` if it was not changed.
    #[serde(default)]
    pub number_changed: Option<u64>,
}

/// The wrong codes of a user in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WrongCodes {
    /// `codes`, `authenticators` or `recovery_codes`.
    pub of: String,
    /// The number of them.
    pub wrong: u32,
    /// The time until which no code is looked at, in Unix seconds; `None` if there is no wait.
    pub until: Option<u64>,
    /// True if no code is looked at until the user is unlocked.
    pub locked: bool,
}

impl ShowUser {
    fn run(&self, engine: &Engine) -> Result<UserDetails> {
        let status = engine.handle(&calls::UserStatus::new(self.user_id))?;
        let id = self.user_id.get();
        let key = Subject::key_of(self.user_id);
        let (row, wrong) = engine.look(move |view| {
            view.ask::<FactorState>((key.clone(),));
            Ok((view.get::<User>((id,))?, view.all::<FactorState>((key.clone(),))?))
        })?;
        let row = row.ok_or_else(rejections::user_not_found)?;
        let factors = status.factors.unwrap_or_default();
        let devices = devices(engine, self.user_id, &factors.devices)?;
        let wrong = wrong_codes(&wrong, engine.now());
        let number_changed = row.number_changed_at.map(Time::seconds);
        Ok(UserDetails { user: user(row), factors, devices, wrong, number_changed })
    }
}

fn wrong_codes(rows: &[FactorState], now: Now) -> Vec<WrongCodes> {
    let factors = [
        ("codes", Factor::Code),
        ("authenticators", Factor::Authenticator),
        ("recovery_codes", Factor::Recovery),
    ];
    let wrong = factors.into_iter().map(|(of, factor)| {
        let wrong = WrongAnswers::of(rows, factor);
        let barred = wrong.bar(now);
        let until = match barred {
            Some(Barred::Until(until)) => Some(now.shown(until).seconds()),
            _ => None,
        };
        let locked = barred == Some(Barred::Locked);
        WrongCodes { of: of.to_owned(), wrong: wrong.in_a_row, until, locked }
    });
    wrong.filter(|wrong| wrong.wrong > 0).collect()
}

operation! {
    /// Lists the devices that a user has registered, the oldest first.
    ListDevices = "user.devices" -> UserDevices {
        /// The user.
        user_id: UserId,
    }
}

/// The devices of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserDevices {
    /// The devices, the oldest first.
    pub devices: Vec<DeviceEntry>,
}

/// A device of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceEntry {
    /// The device, as the call `devices` returns it.
    #[serde(flatten)]
    pub device: RegisteredDevice,
    /// The name that the user or the device gave it.
    pub name: Option<String>,
    /// The time at which it last responded to an approval request, or a code of it was accepted, in Unix seconds;
    /// `None` if it did neither.
    pub used: Option<u64>,
}

impl ListDevices {
    fn run(&self, engine: &Engine) -> Result<UserDevices> {
        let found = engine.handle(&calls::Devices::new(self.user_id))?;
        Ok(UserDevices { devices: devices(engine, self.user_id, &found.devices)? })
    }
}

/// Returns the devices of a user with what only operators see of them.
fn devices(
    engine: &Engine,
    user_id: UserId,
    known: &[RegisteredDevice],
) -> Result<Vec<DeviceEntry>> {
    let (id, now) = (user_id.get(), engine.now());
    let (rows, codes) = engine
        .look(move |view| Ok((view.all::<Device>((id,))?, view.all::<Authenticator>((id,))?)))?;
    let entry = |device: &RegisteredDevice| {
        let row = rows.iter().find(|row| row.device_id == device.id.get());
        let of_device = codes.iter().filter(|codes| codes.device_id == Some(device.id.get()));
        let code = of_device.filter_map(|codes| codes.used_at).max().map(|at| now.shown(at));
        let used = row.and_then(|row| row.used_at).max(code);
        let name = row.and_then(|row| row.name.clone());
        DeviceEntry { device: device.clone(), name, used: used.map(Time::seconds) }
    };
    Ok(known.iter().map(entry).collect())
}

operation! {
    /// Lists what was reported of a user by `register_activity`, and what the service noted itself, the
    /// latest first, page by page.
    ListActivities = "user.activities" -> Activities {
        /// The user.
        user_id: UserId,
        /// What the page before has as `next`.
        after: Option<String>,
        /// The most activities on the page, 1 to 1000. Default: 100.
        most: Option<u32>,
    }
}

/// Some activities of a user, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Activities {
    /// The activities.
    pub activities: Vec<ActivityEntry>,
    /// The value of `after` for the next page; `None` at the end.
    pub next: Option<String>,
}

/// Something that a user or an application did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ActivityEntry {
    /// The time of the activity, in milliseconds since the Unix epoch.
    pub time: i64,
    /// The kind of activity, such as `password_reset`.
    pub kind: String,
    /// The data that the application has reported about it.
    pub data: Value,
    /// The address of the user, if it is known.
    pub user_ip: Option<String>,
}

impl ListActivities {
    fn run(&self, engine: &Engine) -> Result<Activities> {
        let (most, app, user_id) = (check_most(self.most)?, engine.app.app_id, self.user_id);
        let before = self.after.as_deref().map(place_of).transpose()?;
        let rows =
            engine.look(move |view| listing::activities(view, app, user_id, before, most))?;
        let rows = rows.ok_or_else(rejections::user_not_found)?;
        let last = rows.last().filter(|_| rows.len() == most as usize);
        let next = last.map(|row| format!("{}.{}", row.created_at.0, row.nonce));
        Ok(Activities { activities: rows.into_iter().map(activity).collect::<Result<_>>()?, next })
    }
}

operation! {
    /// Deletes a user, and all that protects the account, as the call `delete_user` does.
    DeleteUser = "user.delete" -> Nothing {
        /// The user.
        user_id: UserId,
    }
}

impl DeleteUser {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        engine.handle(&calls::DeleteUser::new(self.user_id)).map(|_| Nothing {})
    }
}

fn place_of(text: &str) -> Result<(i64, i64)> {
    let place =
        text.split_once('.').and_then(|(at, nonce)| Some((at.parse().ok()?, nonce.parse().ok()?)));
    place.ok_or_else(|| Error::invalid_argument("after", "must be what the page before returned"))
}

pub(super) fn activity(row: Activity) -> Result<ActivityEntry> {
    let data =
        crate::engine::handlers::approvals::kept_json::value(&row.data, ["activities", "data"])?;
    Ok(ActivityEntry { time: row.created_at.0, kind: row.kind, data, user_ip: row.user_ip })
}

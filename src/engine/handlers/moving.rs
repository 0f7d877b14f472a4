//! Moving between services: imports users with their ids, and exports all users.

mod fields;
mod reader;
mod source;

pub use source::{SourceFormat, SourceLine, SourceOptions};

use crate::engine::core::Engine;
use crate::engine::model::clock::Time;
use crate::engine::model::factors::Factor;
use crate::engine::model::records::{
    AuthenticatorRecord, DeviceRecord, HIGHEST, Imported, LockedFactors, UserRecord,
};
use crate::engine::operations::applications;
use crate::engine::operations::approver::has_key;
use crate::engine::operations::moving::{self, Account};
use crate::engine::operations::verify::WrongAnswers;
use crate::engine::store;
use crate::model::UserId;
use crate::{Error, Result};
use std::time::Duration;
use zeroize::Zeroizing;

/// The last time that has four digits for the year, in milliseconds.
const LAST_TIME: i64 = 253_402_300_799_999;
/// The time by which the clock of the other service may be ahead.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The most users that one call imports or returns.
const MOST: u32 = 10_000;

/// Some users.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct UserRecordPage {
    /// The users. There may be none although more follow.
    pub users: Vec<UserRecord>,
    /// The number of their authenticator apps that were left out: all of them without their secrets,
    /// and otherwise the apps on phones with the approver, which are of use here alone.
    pub apps_left_out: usize,
    /// The number of their devices that were left out. A phone with the approver has a key of its own,
    /// and has to be registered again.
    pub devices_left_out: usize,
    /// The value of `after` for the next page; `None` at the end.
    pub next: Option<UserId>,
}

impl Engine {
    /// Adds users of another service, with their ids, in one transaction. Users who are here already are left as they
    /// are, so the same users can be imported again. Users who are created later have ids above all that were imported.
    /// The outcomes are in the order of the users; with `dry_run` they are the outcomes that an import would have, and
    /// nothing is changed.
    ///
    /// # Errors
    /// As [`Engine::check_record`], and for more than 10 000 users; [`Error::Unauthorized`] if the application was
    /// removed; [`Error::Storage`] if the database cannot be written. Nothing was changed then.
    pub fn import_users(&self, users: Vec<UserRecord>, dry_run: bool) -> Result<Vec<Imported>> {
        if users.len() > MOST as usize {
            return Err(Error::invalid_argument("users", "must be 10000 at most"));
        }
        users.iter().try_for_each(|user| self.check_record(user))?;
        let app = self.app.app_id;
        let now = self.now();
        if dry_run {
            return self.look(move |view| moving::compare(view, app, &users, now));
        }
        let trail = self.trail_of("import_users", now, None)?;
        let imported = self.run(move |view| match applications::exists(view, app)? {
            true => moving::import(view, app, &users, &trail).map(Some),
            false => Ok(None),
        })?;
        imported.ok_or_else(super::applications::removed)
    }

    /// Checks the parts of a user against each other.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a user whom nothing identifies, an id that leaves none for later users, a time
    /// before 1970 or after the year 9999, the last step of an authenticator app that is in the future, and more authenticator
    /// apps than a user can have.
    pub fn check_record(&self, user: &UserRecord) -> Result<()> {
        let bad =
            |field: &'static str, reason: &'static str| Err(Error::invalid_argument(field, reason));
        let devices = &user.devices;
        if user.phone.is_none() && user.email.is_none() && user.login.is_none() {
            return bad(
                "email",
                "is missing: a user has a phone, an e-mail address or a login name",
            );
        }
        if user.email.is_none() && !user.earlier_emails.is_empty() {
            return bad(
                "earlier_emails",
                "must not be there without email, which is the latest one",
            );
        }
        if user.user_id.is_some_and(|id| id.get() > HIGHEST) {
            return bad("id", "must be at most 4611686018427387904: later users have higher ids");
        }
        if devices.iter().any(|device| device.device_id.get() > HIGHEST) {
            return bad("devices", "must have ids of at most 4611686018427387904");
        }
        let ids = |device: &DeviceRecord| device.device_id;
        let unique: std::collections::BTreeSet<_> = devices.iter().map(ids).collect();
        if unique.len() < devices.len() {
            return bad("devices", "must have an id each");
        }
        let apps = &user.authenticators;
        if let Some(reason) = wrong_apps(apps) {
            return bad("authenticators", reason);
        }
        let times = [user.created].into_iter().chain(apps.iter().map(|app| app.created));
        let mut times = times.chain(devices.iter().map(|device| device.registered)).flatten();
        if times.any(|time| !(0..=LAST_TIME).contains(&time)) {
            return bad("created", "must be from 1970 to 9999");
        }
        let latest = Time::of(&*self.shared.clock).plus(A_DAY).seconds();
        let is_ahead = |app: &AuthenticatorRecord| {
            app.last_step.is_some_and(|step| step > latest / app.period.max(1))
        };
        if apps.iter().any(is_ahead) {
            let reason = "must not be in the future: it is a Unix time, divided by the period";
            return bad("last_step", reason);
        }
        Ok(())
    }

    /// Reads the users of this application, page by page, with their authenticator apps and devices or, without
    /// `secrets`, only how many there are: users who come after `after` in the order of the database, which is that of
    /// ids for SQLite. Each page is of one moment, and complete for each of its users. A user who is created or changed
    /// meanwhile may be in a page as before or as after it; a user who is there all the time is in exactly one.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for `most` that is not 1 to 10 000; [`Error::Storage`] if the database cannot be
    /// read, or, with `secrets`, one of them cannot.
    pub fn export_users(
        &self,
        after: Option<UserId>,
        most: u32,
        secrets: bool,
    ) -> Result<UserRecordPage> {
        if !(1..=MOST).contains(&most) {
            return Err(Error::invalid_argument("most", "must be 1 to 10000"));
        }
        let (app, after) = (self.app.app_id, after.map(UserId::get));
        let (accounts, next) = self.look(move |view| moving::export(view, app, after, most))?;
        let mut page = UserRecordPage {
            next: next.map(UserId::try_from).transpose()?,
            ..UserRecordPage::default()
        };
        for mut account in accounts {
            let (apps, devices) = (account.authenticators.len(), account.devices.len());
            account.authenticators.retain(|app| secrets && app.is_app());
            account.devices.retain(|device| secrets && !has_key(device));
            page.apps_left_out += apps - account.authenticators.len();
            page.devices_left_out += devices - account.devices.len();
            page.users.push(record(account)?);
        }
        Ok(page)
    }
}

/// Makes a record of an account that was read.
fn record(account: Account) -> Result<UserRecord> {
    let Account { user, emails, authenticators, devices, wrong } = account;
    let locked = |factor| WrongAnswers::of(&wrong, factor).are_too_many();
    let damaged = |column| move |_| store::damaged("users", column);
    let email = |text: &str| text.parse().map_err(damaged("email"));
    Ok(UserRecord {
        user_id: Some(user.user_id.try_into().map_err(damaged("user_id"))?),
        email: Some(&user.email)
            .filter(|text| !text.is_empty())
            .map(|text| email(text))
            .transpose()?,
        earlier_emails: emails.iter().map(|row| email(&row.email)).collect::<Result<_>>()?,
        login: user.login.as_deref().map(str::parse).transpose().map_err(damaged("login"))?,
        confirmed: user.confirmed,
        sms_used: user.sms_used,
        locked: LockedFactors {
            codes: locked(Factor::Code),
            authenticators: locked(Factor::Authenticator),
            recovery_codes: locked(Factor::Recovery),
            account: user.locked_at.is_some(),
        },
        created: Some(user.created_at.0),
        authenticators: authenticators.iter().map(authenticator).collect::<Result<_>>()?,
        devices: devices.iter().map(device).collect::<Result<_>>()?,
        phone: user.phone(),
    })
}

/// Returns the reason why a user cannot have these apps.
fn wrong_apps(apps: &[AuthenticatorRecord]) -> Option<&'static str> {
    let pending = apps.iter().filter(|app| app.pending).count();
    if pending > 1 || apps.len() - pending > UserRecord::MOST_APPS {
        return Some("must be at most 5 that are used and one that is pending");
    }
    // Each step of an app is accepted once, so a code of two apps would be accepted twice.
    let is_again = |(at, app): (usize, &AuthenticatorRecord)| {
        apps.iter().take(at).any(|earlier| earlier.secret == app.secret)
    };
    apps.iter().enumerate().any(is_again).then_some("must have a secret each")
}

fn authenticator(row: &store::Authenticator) -> Result<AuthenticatorRecord> {
    let secret = Zeroizing::new(row.secret.get()?.clone());
    let label = row.label.as_deref().map(str::parse).transpose();
    Ok(AuthenticatorRecord {
        secret,
        digits: row.digits,
        period: row.period,
        algorithm: row
            .algorithm
            .parse()
            .map_err(|_| store::damaged("authenticators", "algorithm"))?,
        label: label.map_err(|_| store::damaged("authenticators", "label"))?,
        pending: row.last_step.is_none(),
        last_step: row.last_step,
        created: Some(row.created_at.0),
    })
}

fn device(row: &store::Device) -> Result<DeviceRecord> {
    let damaged = |column| move || store::damaged("devices", column);
    Ok(DeviceRecord {
        device_id: row.device_id.try_into().map_err(|_| damaged("device_id")())?,
        kind: row.os_type.parse().map_err(|_| damaged("os_type")())?,
        secret_hash: row.secret_hash.as_slice().try_into().map_err(|_| damaged("secret_hash")())?,
        registered: Some(row.registered_at.0),
    })
}

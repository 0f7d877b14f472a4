//! The authenticator apps and devices of users.

use super::lookups::{self, Kind};
use super::profiles::{self, Profile};
use super::verify::WrongAnswers;
use super::{AppId, DEVICES, Subject, browsers, next_id, recovery, user};
use crate::Result;
use crate::engine::model::clock::Now;
use crate::engine::model::factors::Factor;
use crate::engine::store::{Authenticator, Decided, Device, FactorState, OfflineUse, User, View};
use crate::model::{DeviceId, UserId};
use crate::otp::{Algorithm, Totp};
use zeroize::Zeroizing;

/// The factors that protect an account.
pub(in crate::engine) struct Factors {
    /// Oldest first.
    pub(in crate::engine) authenticators: Vec<Authenticator>,
    /// Oldest first.
    pub(in crate::engine) devices: Vec<Device>,
    /// The number of recovery codes left.
    pub(in crate::engine) recovery_codes: u64,
    /// The factors whose codes are all rejected until the user is unlocked.
    pub(in crate::engine) locked: Vec<Factor>,
}

#[derive(Clone)]
pub(in crate::engine) struct NewDevice {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) os_type: &'static str,
    pub(in crate::engine) credential: Credential,
    pub(in crate::engine) name: Option<String>,
    pub(in crate::engine) language: Option<String>,
    pub(in crate::engine) now: Now,
}

/// The key of a device.
#[derive(Clone)]
pub(in crate::engine) enum Credential {
    /// A secret, as a hash.
    Secret([u8; 32]),
    /// A public key.
    Key(Vec<u8>),
}

#[derive(Clone)]
pub(in crate::engine) struct NewAuthenticator {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) user_id: UserId,
    /// The label, if one was given.
    pub(in crate::engine) label: Option<String>,
    pub(in crate::engine) secret: Zeroizing<Vec<u8>>,
    pub(in crate::engine) digits: u8,
    pub(in crate::engine) period: u64,
    pub(in crate::engine) now: Now,
}

/// The result of removing something of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Removed {
    Done,
    NoUser,
    /// The user has nothing with that id.
    NotFound,
}

/// Returns a user, and the factors that protect the account.
pub(in crate::engine) fn find(
    view: &mut View,
    app: AppId,
    user_id: UserId,
) -> Decided<Option<(Profile, Factors)>> {
    view.ask::<FactorState>((Subject::key_of(user_id),));
    let Some(profile) = profiles::profile(view, app, user_id)? else { return Ok(None) };
    let wrong = view.all::<FactorState>((Subject::key_of(user_id),))?;
    let locked = |factor: &Factor| WrongAnswers::of(&wrong, *factor).are_too_many();
    let authenticators = view.all::<Authenticator>((user_id.get(),))?;
    let factors = Factors {
        locked: Factor::ALL.into_iter().filter(locked).collect(),
        authenticators: authenticators.into_iter().filter(Authenticator::is_app).collect(),
        devices: view.all::<Device>((user_id.get(),))?,
        recovery_codes: recovery::left(view, user_id)?,
    };
    Ok(Some((profile, factors)))
}

/// Adds a device. Returns its id, if there is such a user.
pub(in crate::engine) fn add_device(view: &mut View, new: &NewDevice) -> Decided<Option<DeviceId>> {
    if user(view, new.app, new.user_id)?.is_none() {
        return Ok(None);
    }
    let id = next_id(view, DEVICES)?;
    let device_id = u64::try_from(id).ok().and_then(|id| DeviceId::try_from(id).ok());
    let device_id = device_id.ok_or_else(|| super::damaged("sequences", "last"))?;
    let owner = i64::try_from(new.user_id.get()).unwrap_or(i64::MAX);
    lookups::set(view, Kind::Device, new.app, &device_id.to_string(), owner);
    let (secret_hash, public_key) = match &new.credential {
        Credential::Secret(hash) => (hash.to_vec(), Vec::new()),
        Credential::Key(key) => (Vec::new(), key.clone()),
    };
    view.put(Device {
        user_id: new.user_id.get(),
        device_id: device_id.get(),
        os_type: new.os_type.into(),
        secret_hash,
        public_key,
        name: new.name.clone(),
        language: new.language.clone(),
        push: "".into(),
        registered_at: new.now.clock,
        used_at: None,
    });
    Ok(Some(device_id))
}

pub(in crate::engine) fn device(
    view: &mut View,
    app: AppId,
    device: DeviceId,
) -> Decided<Option<Device>> {
    match lookups::find(view, Kind::Device, app, &device.to_string())? {
        Some(owner) => view.get::<Device>((super::user_id(owner)?.get(), device.get())),
        None => Ok(None),
    }
}

/// Adds a secret. Returns whether there is such a user. An earlier secret that never produced a right
/// code may not have reached the app, so it is replaced. One that did is kept until the new one
/// produces a right code.
pub(in crate::engine) fn add_authenticator(
    view: &mut View,
    new: &NewAuthenticator,
) -> Decided<bool> {
    let Some(mut user) = user(view, new.app, new.user_id)? else { return Ok(false) };
    let apps = view.all::<Authenticator>((user.user_id,))?;
    apps.iter().filter(|app| app.is_pending()).for_each(|app| view.delete(app));
    put_authenticator(view, &mut user, new, None);
    view.put(user);
    Ok(true)
}

/// Gives a device a secret whose codes it shows.
pub(super) fn add_device_codes(
    view: &mut View,
    new: &NewAuthenticator,
    device: DeviceId,
) -> Decided<()> {
    if let Some(mut user) = user(view, new.app, new.user_id)? {
        put_authenticator(view, &mut user, new, Some(device.get()));
        view.put(user);
    }
    Ok(())
}

fn put_authenticator(
    view: &mut View,
    user: &mut User,
    new: &NewAuthenticator,
    device_id: Option<u64>,
) {
    user.last_authenticator += 1;
    view.put(Authenticator {
        user_id: user.user_id,
        authenticator_id: user.last_authenticator,
        label: new.label.clone(),
        secret: new.secret.clone().into(),
        digits: new.digits,
        period: new.period,
        last_step: None,
        used_at: None,
        prepared_step: None,
        created_at: new.now.clock,
        device_id,
        algorithm: Algorithm::Sha1.name().to_owned(),
    });
}

impl Authenticator {
    /// Returns how its codes are derived; `None` for a row out of range, which accepts none.
    pub(in crate::engine) fn totp(&self) -> Result<Option<Totp>> {
        let algorithm = self.algorithm.parse();
        let algorithm = algorithm.map_err(|_| super::damaged("authenticators", "algorithm"))?;
        Ok(Totp::new(self.secret.get()?, algorithm, self.digits, self.period).ok())
    }

    /// Returns whether it is an authenticator app, and not a device of the approver.
    pub(in crate::engine) fn is_app(&self) -> bool {
        self.device_id.is_none()
    }

    /// Returns whether it is an app without any accepted code yet.
    pub(in crate::engine) fn is_pending(&self) -> bool {
        self.is_app() && self.last_step.is_none()
    }
}

pub(in crate::engine) fn remove_authenticator(
    view: &mut View,
    app: AppId,
    user_id: UserId,
    authenticator_id: i64,
) -> Decided<Removed> {
    if user(view, app, user_id)?.is_none() {
        return Ok(Removed::NoUser);
    }
    let found = view.get::<Authenticator>((user_id.get(), authenticator_id))?;
    let Some(found) = found.filter(Authenticator::is_app) else { return Ok(Removed::NotFound) };
    view.delete(&found);
    if found.last_step.is_some() {
        forget_browsers(view, user_id);
    }
    Ok(Removed::Done)
}

/// Accepts later codes of the user's authenticator apps again where the last one is of a time that has not
/// come, because the clock was ahead. Returns whether there is such a user.
pub(in crate::engine) fn reset_steps(
    view: &mut View,
    app: AppId,
    user_id: UserId,
    now: Now,
) -> Decided<bool> {
    if user(view, app, user_id)?.is_none() {
        return Ok(false);
    }
    for mut row in view.all::<Authenticator>((user_id.get(),))? {
        let Some(step) = row.step_ahead(now) else { continue };
        // The code of that step stays used. The codes used before the clock was ahead are no longer known, so nothing
        // up to now is accepted, and a code of a step that is skipped prepares no logins.
        view.put(OfflineUse {
            user_id: row.user_id,
            authenticator_id: row.authenticator_id,
            step,
            machine: String::new(),
        });
        let latest = row.latest_step(now);
        (row.last_step, row.prepared_step) = (Some(latest), Some(latest));
        view.put(row);
    }
    Ok(true)
}

impl Authenticator {
    /// Returns the latest step whose code is accepted now.
    fn latest_step(&self, now: Now) -> u64 {
        now.clock.seconds() / self.period.max(1) + 1
    }

    /// Returns the step of the last accepted code, if no code can be accepted now because of it.
    pub(in crate::engine) fn step_ahead(&self, now: Now) -> Option<u64> {
        self.last_step.filter(|last| *last > self.latest_step(now))
    }
}

pub(in crate::engine) fn remove_device(
    view: &mut View,
    app: AppId,
    user_id: UserId,
    device: DeviceId,
) -> Decided<Removed> {
    if user(view, app, user_id)?.is_none() {
        return Ok(Removed::NoUser);
    }
    let found = view.get::<Device>((user_id.get(), device.get()))?;
    let Some(found) = found else { return Ok(Removed::NotFound) };
    view.delete(&found);
    for codes in view.all::<Authenticator>((user_id.get(),))? {
        if codes.device_id == Some(device.get()) {
            view.delete(&codes);
        }
    }
    lookups::remove(view, Kind::Device, app, &device.to_string());
    forget_browsers(view, user_id);
    Ok(Removed::Done)
}

/// For a phone that may be lost, with a browser on it that is remembered.
fn forget_browsers(view: &mut View, user_id: UserId) {
    browsers::forget_those_of(view, user_id);
}

//! The approver: the data of the service that its devices need, the invitations that register them, and the settings
//! that devices may change of themselves.

use super::audit::Trail;
use super::factors::{self, Credential, NewAuthenticator, NewDevice};
use super::jobs::job::Claimed;
use super::pushes::{self, About, NewPushes};
use super::{AppId, user};
use crate::engine::model::clock::Now;
use crate::engine::model::limits::{APPROVAL_LIFE, INVITATION_RECORD};
use crate::engine::store::{
    Application, Approver, Authenticator, Decided, Device, Invitation, User, View,
};
use crate::model::{DeviceId, UserId};
use std::time::Duration;
use zeroize::Zeroizing;

/// The key of the only row.
const ONE: u8 = 1;

/// The keys of a service that has none yet.
#[derive(Clone)]
pub(in crate::engine) struct NewKeys {
    pub(in crate::engine) push_key: Zeroizing<Vec<u8>>,
    pub(in crate::engine) code_key: Zeroizing<Vec<u8>>,
}

/// Returns the service's data; `None` if its public URL is not set.
pub(in crate::engine) fn find(view: &mut View) -> Decided<Option<Approver>> {
    view.get::<Approver>((ONE,))
}

/// Stores the public URL of the service. The keys are for a service without keys: devices and
/// invitations rely on existing ones.
pub(in crate::engine) fn set_public_url(
    view: &mut View,
    public_url: &str,
    keys: &NewKeys,
) -> Decided<()> {
    let public_url = Some(public_url.to_owned());
    let row = match find(view)? {
        Some(row) if row.public_url == public_url => return Ok(()),
        Some(row) => Approver { public_url, ..row },
        None => Approver {
            one: ONE,
            public_url,
            push_key: keys.push_key.clone().into(),
            code_key: keys.code_key.clone().into(),
        },
    };
    view.put(row);
    Ok(())
}

/// An invitation: the right to register a device, by the code with this hash.
#[derive(Clone)]
pub(in crate::engine) struct NewInvitation {
    pub(in crate::engine) code_hash: Vec<u8>,
    pub(in crate::engine) life: Duration,
    /// True if it is sent to the number of its user.
    pub(in crate::engine) by_sms: bool,
}

/// Adds an invitation for a user who exists.
pub(in crate::engine) fn invite(
    view: &mut View,
    app: AppId,
    user_id: UserId,
    new: &NewInvitation,
    now: Now,
) {
    let expires_at = now.steady.plus(new.life);
    view.append(Invitation {
        code_hash: new.code_hash.clone(),
        app_id: app,
        user_id: user_id.get(),
        expires_at,
        forget_at: expires_at.plus(INVITATION_RECORD),
        device_id: None,
        by_sms: new.by_sms,
    });
}

/// A device that presents the code of an invitation.
#[derive(Clone)]
pub(in crate::engine) struct Presented {
    pub(in crate::engine) code_hash: Vec<u8>,
    pub(in crate::engine) key: Vec<u8>,
    pub(in crate::engine) os_type: &'static str,
    pub(in crate::engine) name: String,
    pub(in crate::engine) language: String,
    /// The secret of its codes.
    pub(in crate::engine) secret: Zeroizing<Vec<u8>>,
    /// The maximum number of devices with a key that a user can have.
    pub(in crate::engine) most_devices: usize,
    /// The messages to the other devices of the user.
    pub(in crate::engine) first_push: i64,
    pub(in crate::engine) push_lease: Duration,
    /// The trail of the invitation's application, which is not known before.
    pub(in crate::engine) trail: Trail,
}

/// The parameters that a device needs to show codes.
pub(in crate::engine) struct Codes {
    pub(in crate::engine) secret: Zeroizing<Vec<u8>>,
    pub(in crate::engine) digits: u8,
    pub(in crate::engine) period: u64,
}

pub(in crate::engine) enum Registered {
    Done {
        app: AppId,
        device: DeviceId,
        account: String,
        codes: Codes,
        pushes: Vec<Claimed>,
    },
    /// There is no such invitation, or its user was deleted, or is locked by an operator.
    Unknown,
    Spent,
    Expired,
    /// The user has as many devices as one can have.
    TooMany,
}

/// Registers a device by an invitation, which is spent then.
pub(in crate::engine) fn register(view: &mut View, new: &Presented) -> Decided<Registered> {
    let now = new.trail.now;
    let found = view.get::<Invitation>((new.code_hash.clone(),))?;
    let Some(mut invitation) = found else { return Ok(Registered::Unknown) };
    let (app, user_id) = (invitation.app_id, UserId::try_from(invitation.user_id)?);
    let is_late = invitation.expires_at <= now.steady;
    let user = user(view, app, user_id)?.filter(|user| user.locked_at.is_none());
    // The former number may belong to another person by now. Only new users are sent invitations.
    let is_void = |user: &User| invitation.by_sms && user.number_changed_at.is_some();
    let Some(user) = user.filter(|user| !is_void(user)) else { return Ok(Registered::Unknown) };
    let Some(settings) = view.get::<Application>((app,))? else { return Ok(Registered::Unknown) };
    let (digits, period) = (settings.authenticator_digits, settings.authenticator_period);
    let devices = view.all::<Device>((user_id.get(),))?;
    if let Some(id) = invitation.device_id {
        // A device that has not got the reply presents the same key again. No other device has that
        // key.
        let same = |row: &Device| row.device_id == id && row.public_key == new.key;
        let is_same = devices.iter().any(same) && !is_late;
        return registered_before(view, (app, user_id), &user, (id, is_same));
    }
    if is_late {
        return Ok(Registered::Expired);
    }
    if devices.iter().filter(|device| has_key(device)).count() >= new.most_devices {
        return Ok(Registered::TooMany);
    }
    let device = NewDevice {
        app,
        user_id,
        os_type: new.os_type,
        credential: Credential::Key(new.key.clone()),
        name: Some(new.name.clone()),
        language: Some(new.language.clone()),
        now,
    };
    let Some(device) = factors::add_device(view, &device)? else { return Ok(Registered::Unknown) };
    let codes = NewAuthenticator {
        app,
        user_id,
        label: None,
        secret: new.secret.clone(),
        digits,
        period,
        now,
    };
    factors::add_device_codes(view, &codes, device)?;
    invitation.device_id = Some(device.get());
    view.put(invitation);
    Trail { app, ..new.trail.clone() }.done(view, user_id);
    let (first_job, lease) = (new.first_push, new.push_lease);
    let others = NewPushes { app, first_job, lease, now };
    let about = (&About::Device(device.get()), now.steady.plus(Duration::from_secs(APPROVAL_LIFE)));
    let pushes = pushes::add(view, user_id, &devices, about, &others)?;
    let codes = Codes { secret: new.secret.clone(), digits, period };
    Ok(Registered::Done { app, device, account: user.account().to_owned(), codes, pushes })
}

/// Returns what an invitation that is spent gives: the same reply for the device that has spent it.
fn registered_before(
    view: &mut View,
    (app, user_id): (AppId, UserId),
    user: &User,
    (id, is_same): (u64, bool),
) -> Decided<Registered> {
    let codes = if is_same { codes_of(view, user_id, id)? } else { None };
    let Some(codes) = codes else { return Ok(Registered::Spent) };
    let (device, account, pushes) = (id.try_into()?, user.account().to_owned(), Vec::new());
    Ok(Registered::Done { app, device, account, codes, pushes })
}

/// Returns the parameters that a registered device needs to show codes.
fn codes_of(view: &mut View, user_id: UserId, device: u64) -> Decided<Option<Codes>> {
    let all = view.all::<Authenticator>((user_id.get(),))?;
    let Some(row) = all.into_iter().find(|row| row.device_id == Some(device)) else {
        return Ok(None);
    };
    let secret = Zeroizing::new(row.secret.get()?.clone());
    Ok(Some(Codes { secret, digits: row.digits, period: row.period }))
}

/// Returns whether a device signs its requests.
pub(in crate::engine) fn has_key(device: &Device) -> bool {
    !device.public_key.is_empty()
}

/// The settings that a device changes of itself. `None` leaves one unchanged.
#[derive(Clone, Default)]
pub(in crate::engine) struct DeviceChange {
    pub(in crate::engine) name: Option<String>,
    pub(in crate::engine) language: Option<String>,
    /// Its subscription; empty to end it.
    pub(in crate::engine) push: Option<String>,
}

/// Changes a device. Returns whether it is registered.
pub(in crate::engine) fn change_device(
    view: &mut View,
    user_id: UserId,
    device: DeviceId,
    change: &DeviceChange,
) -> Decided<bool> {
    let Some(mut row) = view.get::<Device>((user_id.get(), device.get()))? else {
        return Ok(false);
    };
    row.name = change.name.clone().or(row.name);
    row.language = change.language.clone().or(row.language);
    if let Some(push) = &change.push {
        row.push = push.clone().into();
    }
    view.put(row);
    Ok(true)
}

/// Returns the devices of a user, the one that asks among them; `None` if that one is no longer
/// registered.
pub(in crate::engine) fn devices(
    view: &mut View,
    user_id: UserId,
    device: DeviceId,
) -> Decided<Option<Vec<Device>>> {
    let devices = view.all::<Device>((user_id.get(),))?;
    let is_registered = devices.iter().any(|row| row.device_id == device.get());
    Ok(is_registered.then_some(devices))
}

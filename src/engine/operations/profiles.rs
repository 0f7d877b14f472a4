//! Users as calls show them.

use super::{AppId, user};
use crate::engine::model::clock::Time;
use crate::engine::model::phones::Phone;
use crate::engine::store::{Authenticator, Decided, Device, User, View};
use crate::model::UserId;

/// A user as calls show them.
#[derive(Clone)]
pub(in crate::engine) struct Profile {
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) phone: Option<Phone>,
    /// The most recently added e-mail, or else the name on machines.
    pub(in crate::engine) account: String,
    pub(in crate::engine) confirmed: bool,
    pub(in crate::engine) sms_used: bool,
    pub(in crate::engine) authenticator_used: bool,
    /// True if one of the devices shows codes.
    pub(in crate::engine) device_shows_codes: bool,
    /// The types of the user's devices, oldest first.
    pub(in crate::engine) devices: Vec<String>,
    pub(in crate::engine) created_at: Time,
    /// The time since which an operator has locked the user.
    pub(in crate::engine) locked_at: Option<Time>,
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
        phone: found.phone(),
        account: found.account().to_owned(),
        confirmed: found.confirmed,
        sms_used: found.sms_used,
        authenticator_used: authenticators
            .iter()
            .any(|app| app.is_app() && app.last_step.is_some()),
        device_shows_codes: authenticators.iter().any(|codes| !codes.is_app()),
        devices: devices.into_iter().map(|device| device.os_type).collect(),
        created_at: found.created_at,
        locked_at: found.locked_at,
    }))
}

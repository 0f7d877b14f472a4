//! The factors that protect the accounts of users, without the secrets (interface 2.7).

use crate::Result;
use crate::calls::{Authenticator, Factors, PhoneType, RegisteredDevice};
use crate::engine::core::Engine;
use crate::engine::model::factors::Factor;
use crate::engine::model::phones::Phone;
use crate::engine::model::rejections;
use crate::engine::operations::factors;
use crate::engine::operations::profiles::Profile;
use crate::engine::store;
use crate::model::UserId;

impl Engine {
    /// Returns a user, and the factors that protect the account.
    pub(in crate::engine) fn factors(&self, user_id: UserId) -> Result<(Profile, Factors)> {
        let app = self.app.app_id;
        let found = self.look(move |view| factors::find(view, app, user_id))?;
        let (user, rows) = found.ok_or_else(rejections::user_not_found)?;
        let authenticators = rows.authenticators.into_iter().map(authenticator);
        let kind = user.phone.as_ref().map(Phone::kind);
        let is_mobile = kind.is_some_and(|kind| kind != PhoneType::Landline);
        let factors = Factors {
            sms: self.app.settings.sms_enabled && is_mobile,
            authenticators: authenticators.collect::<Result<_>>()?,
            devices: rows.devices.into_iter().map(device).collect::<Result<_>>()?,
            recovery_codes: rows.recovery_codes,
            codes_locked: rows.locked.contains(&Factor::Code),
            authenticators_locked: rows.locked.contains(&Factor::Authenticator),
            recovery_codes_locked: rows.locked.contains(&Factor::Recovery),
        };
        Ok((user, factors))
    }
}

fn authenticator(row: store::Authenticator) -> Result<Authenticator> {
    let mut shown = Authenticator::new(row.authenticator_id.to_string().parse()?);
    shown.confirmed = row.last_step.is_some();
    shown.label = row.label;
    shown.created_at = i64::try_from(row.created_at.seconds()).ok();
    Ok(shown)
}

fn device(row: store::Device) -> Result<RegisteredDevice> {
    let mut shown = RegisteredDevice::new(row.device_id.try_into()?);
    shown.r#type = Some(row.os_type);
    shown.created_at = i64::try_from(row.registered_at.seconds()).ok();
    Ok(shown)
}

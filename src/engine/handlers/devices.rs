//! Devices that users register to respond to approval requests.

use crate::calls::{Devices, Done, RegisteredDevices, RemoveDevice};
use crate::engine::core::Engine;
use crate::engine::model::clock::secret;
use crate::engine::model::devices::{DeviceRegistered, DeviceType};
use crate::engine::model::rejections;
use crate::engine::operations::factors::{self, Credential, NewDevice, Removed};
use crate::engine::store;
use crate::model::{DeviceId, Secret, UserId};
use crate::{Error, Handle, Result};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

impl Engine {
    /// Registers a device for a user, whose status is `registered` from then on (interface 2.2).
    ///
    /// # Errors
    /// [`Error::Rejected`] if there is no such user; otherwise see [`Error`].
    pub fn register_device(&self, user_id: UserId, kind: DeviceType) -> Result<DeviceRegistered> {
        let secret = secret(self.random())?;
        let device = NewDevice {
            app: self.app.app_id,
            user_id,
            os_type: kind.name(),
            credential: Credential::Secret(hash(&secret)),
            name: None,
            language: None,
            now: self.now(),
        };
        let trail = self.trail_of("register_device", device.now, None)?;
        let device_id = self.run(move |view| {
            let device_id = factors::add_device(view, &device)?;
            if device_id.is_some() {
                trail.done(view, user_id);
            }
            Ok(device_id)
        })?;
        let device_id = device_id.ok_or_else(rejections::user_not_found)?;
        Ok(DeviceRegistered { device_id, secret })
    }

    /// Returns the device, if the secret is right.
    pub(in crate::engine) fn device(
        &self,
        device: DeviceId,
        secret: &Secret,
    ) -> Result<store::Device> {
        let app = self.app.app_id;
        let found = self.look(move |view| factors::device(view, app, device))?;
        found.filter(|row| row.secret_hash.ct_eq(&hash(secret)).into()).ok_or_else(wrong_secret)
    }
}

pub(in crate::engine) fn wrong_secret() -> Error {
    Error::invalid_argument("device_secret", "is not the secret of this device")
}

impl Handle<Devices> for Engine {
    fn handle(&self, call: &Devices) -> Result<RegisteredDevices> {
        self.begin();
        let (_, factors) = self.factors(call.user_id)?;
        let message = Some("Registered devices.".into());
        Ok(RegisteredDevices { devices: factors.devices, message })
    }
}

impl Handle<RemoveDevice> for Engine {
    fn handle(&self, call: &RemoveDevice) -> Result<Done> {
        let now = self.begin();
        let (app, user_id, device) = (self.app.app_id, call.user_id, call.device_id);
        let trail = self.trail::<RemoveDevice>(now, None)?;
        let removed = self.run(move |view| {
            let removed = factors::remove_device(view, app, user_id, device)?;
            if removed == Removed::Done {
                trail.done(view, user_id);
            }
            Ok(removed)
        })?;
        match removed {
            Removed::Done => Ok(Done::with_message("Device was removed.")),
            Removed::NoUser => Err(rejections::user_not_found()),
            Removed::NotFound => Err(rejections::device_not_found()),
        }
    }
}

/// Only the hash is stored, so that the database does not reveal the secret. The secret is random
/// and long, so that a plain hash suffices.
fn hash(secret: &Secret) -> [u8; 32] {
    Sha256::digest(secret.expose().as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::engine::operations::approvals::{self, Responded, Response};

    /// A response whose device is removed after its secret was checked.
    #[test]
    fn a_response_under_way_is_void_once_the_device_is_removed() {
        let service = Settings::new("sandbox:").open().unwrap();
        let engine = service.engine().unwrap();
        let user_id = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
        let [lost, kept] =
            [(); 2].map(|()| engine.register_device(user_id, DeviceType::Ios).unwrap());
        let uuid = service.create_approval(user_id, "Log in?").unwrap().uuid;
        let decide = |device| {
            let response = Response {
                app: engine.app.app_id,
                user_id,
                uuid: uuid.clone(),
                device,
                approved: true,
                number: None,
                signed: None,
                snoozed_until: None,
                callback: None,
                now: engine.now(),
            };
            engine.run(move |view| approvals::respond(view, &response)).unwrap()
        };
        service.remove_device(user_id, lost.device_id).unwrap();
        assert!(matches!(decide(lost.device_id), Responded::NoDevice));
        assert!(matches!(decide(kept.device_id), Responded::Done(None)));
    }
}

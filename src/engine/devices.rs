//! Devices that users register to answer approval requests.

use super::clock::secret;
use super::store::{DeviceRow, NewDevice};
use super::{Engine, rejections};
use crate::model::{DeviceId, Secret, UserId};
use crate::{Error, Result};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// A device that was registered for a user: what it needs to answer approval requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceRegistered {
    /// The device.
    pub device_id: DeviceId,
    /// What the device proves itself with. It is told this once.
    pub secret: Secret,
}

/// The kinds of device that users register (interface 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceType {
    /// `android`
    Android,
    /// `android_tablet`
    AndroidTablet,
    /// `ios`
    Ios,
    /// `svc_chrome`
    Chrome,
}

impl DeviceType {
    /// The kind's name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceType::Android => "android",
            DeviceType::AndroidTablet => "android_tablet",
            DeviceType::Ios => "ios",
            DeviceType::Chrome => "svc_chrome",
        }
    }
}

impl std::str::FromStr for DeviceType {
    type Err = Error;
    fn from_str(name: &str) -> Result<DeviceType> {
        let all = [Self::Android, Self::AndroidTablet, Self::Ios, Self::Chrome];
        all.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            Error::invalid_argument(
                "device_type",
                "must be android, android_tablet, ios or svc_chrome",
            )
        })
    }
}

impl Engine {
    /// Registers a device for a user, who is `registered` from now on (interface 2.2).
    ///
    /// # Errors
    /// [`Error::Rejected`] when there is no such user; else as [`Error`] says.
    pub fn register_device(&self, user_id: UserId, kind: DeviceType) -> Result<DeviceRegistered> {
        let secret = secret(self.random())?;
        let device = self.store().add_device(NewDevice {
            app: self.app.app_id,
            user_id,
            os_type: kind.name(),
            secret_hash: hash(&secret),
            now: self.now(),
        })?;
        let device_id = device.ok_or_else(rejections::user_not_found)?;
        Ok(DeviceRegistered { device_id, secret })
    }

    /// The device, if it proves itself.
    pub(super) fn device(&self, device: DeviceId, secret: &Secret) -> Result<DeviceRow> {
        let found = self.store().device(self.app.app_id, device)?;
        found.filter(|row| row.secret_hash.ct_eq(&hash(secret)).into()).ok_or_else(|| {
            Error::invalid_argument("device_secret", "is not that of a registered device")
        })
    }
}

fn hash(secret: &Secret) -> [u8; 32] {
    Sha256::digest(secret.expose().as_bytes()).into()
}

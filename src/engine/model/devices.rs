//! Devices of users, as they are registered.

use crate::model::{DeviceId, Secret};
use crate::wire::Names;
use crate::{Error, Result};

/// A registered device: the credentials with which it responds to approval requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceRegistered {
    /// The device's id.
    pub device_id: DeviceId,
    /// The secret that authenticates the device. It is returned only here.
    pub secret: Secret,
}

/// The types of devices that users register (interface 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceType {
    /// A phone with Android.
    Android,
    /// A tablet with Android.
    AndroidTablet,
    /// A phone or tablet with iOS.
    Ios,
    /// A browser.
    Chrome,
}

impl DeviceType {
    /// Returns the type's name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceType::Android => "android",
            DeviceType::AndroidTablet => "android_tablet",
            DeviceType::Ios => "ios",
            DeviceType::Chrome => "svc_chrome",
        }
    }
}

impl DeviceType {
    /// Returns the type with this name: one of the interface, or of the names that an application has
    /// instead (interface 2.2).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the types that there are.
    pub fn named(name: &str, names: &Names) -> Result<DeviceType> {
        let [.., chrome] = names.parts();
        match name == chrome {
            true => Ok(DeviceType::Chrome),
            false => name.parse().map_err(|_| {
                let must = format!("must be android, android_tablet, ios or {chrome}");
                Error::invalid_argument("device_type", must)
            }),
        }
    }
}

impl DeviceType {
    /// Returns the name by which an application calls the type with this name in the interface. Other
    /// names are returned as they are.
    pub fn shown<'a>(name: &'a str, names: &'a Names) -> &'a str {
        let [.., chrome] = names.parts();
        if name == DeviceType::Chrome.name() { chrome } else { name }
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

//! Devices: where a code came from, or what answered an approval request.

use super::ffi::{Text, pointer};
use crate::calls::Device;
use std::ffi::c_char;

/// The device that generated or received a code, or that answered an approval request (interface
/// 2.5). If the service does not provide a value, or one of another type, a text is NULL and a
/// number is 0.
#[repr(C)]
pub struct seconder_device_info {
    /// The device's id.
    pub id: u64,
    /// The IP address at which it was last seen.
    pub ip: *const c_char,
    /// The city of that address.
    pub city: *const c_char,
    /// The region of that address.
    pub region: *const c_char,
    /// The country of that address.
    pub country: *const c_char,
    /// "android", "ios", "sms" and similar; "recovery_code" for one of
    /// seconder_create_recovery_codes().
    pub os_type: *const c_char,
    /// The id under which it was registered.
    pub registration_device_id: u64,
    /// The IP address from which it was registered.
    pub registration_ip: *const c_char,
    /// The city of that address.
    pub registration_city: *const c_char,
    /// The region of that address.
    pub registration_region: *const c_char,
    /// The country of that address.
    pub registration_country: *const c_char,
    /// How the user proved possession of the phone number at registration.
    pub registration_method: *const c_char,
    /// When it was registered, in Unix seconds.
    pub registration_date: i64,
    /// When the account was last recovered, in Unix seconds.
    pub last_account_recovery_at: i64,
}

/// A device's fields, with the texts that they point to.
pub(super) struct DeviceInfo {
    // Boxed, so that the pointer that C holds stays valid when this moves.
    fields: Box<seconder_device_info>,
    _texts: Vec<Text>,
}

// SAFETY: the pointers point into the texts beside them, which never change.
unsafe impl Send for DeviceInfo {}
// SAFETY: as above.
unsafe impl Sync for DeviceInfo {}

impl DeviceInfo {
    pub(super) fn new(device: &Device) -> DeviceInfo {
        let mut texts = Vec::new();
        let mut text = |value: &Option<String>| {
            let text = Text::of(value.as_deref());
            let start = pointer(&text);
            texts.extend(text);
            start
        };
        let fields = Box::new(seconder_device_info {
            id: device.id.unwrap_or_default(),
            ip: text(&device.ip),
            city: text(&device.city),
            region: text(&device.region),
            country: text(&device.country),
            os_type: text(&device.os_type),
            registration_device_id: device.registration_device_id.unwrap_or_default(),
            registration_ip: text(&device.registration_ip),
            registration_city: text(&device.registration_city),
            registration_region: text(&device.registration_region),
            registration_country: text(&device.registration_country),
            registration_method: text(&device.registration_method),
            registration_date: device.registration_date.unwrap_or_default(),
            last_account_recovery_at: device.last_account_recovery_at.unwrap_or_default(),
        });
        DeviceInfo { fields, _texts: texts }
    }

    pub(super) fn as_ptr(&self) -> *const seconder_device_info {
        &raw const *self.fields
    }
}

//! What protects a user's account, and removing it.

use super::codes::{decide, seconder_verification};
use super::error::seconder_error;
use super::ffi::{self, Text, free, named, pointer, read_handle, with_optional_out, with_out};
use super::open::seconder_service;
use super::status::seconder_status;
use super::users::seconder_done;
use crate::calls::{
    Authenticator, ConfirmAuthenticator, Devices, Factors, Handle, RegisteredDevice,
    RegisteredDevices, RemoveAuthenticator, RemoveDevice, UnlockUser,
};
use crate::model::{DeviceId, UserId};
use std::ffi::c_char;
use std::ptr;

/// What protects a user's account (interface 2.7). None of it is a secret.
pub struct seconder_factors {
    sms: bool,
    recovery_codes: u64,
    codes_locked: bool,
    authenticators_locked: bool,
    recovery_codes_locked: bool,
    authenticators: Vec<seconder_authenticator>,
    devices: DeviceList,
    /// Owns the texts that `authenticators` points into.
    _texts: Vec<Text>,
}

/// An authenticator app of a user.
#[repr(C)]
pub struct seconder_authenticator {
    /// Its id, for seconder_remove_authenticator().
    pub id: *const c_char,
    /// Whether a code of it was accepted. Until then it is pending.
    pub confirmed: bool,
    /// The label that it was enrolled with. NULL if none was given.
    pub label: *const c_char,
    /// When it was enrolled, in Unix seconds. 0 if the service does not provide it.
    pub created_at: i64,
}

/// A device that a user has registered for approval requests.
#[repr(C)]
pub struct seconder_registered_device {
    /// Its id, for seconder_remove_device().
    pub id: u64,
    /// "android", "android_tablet", "ios" or "svc_chrome". NULL if the service does not provide it.
    pub r#type: *const c_char,
    /// When it was registered, in Unix seconds. 0 if the service does not provide it.
    pub created_at: i64,
}

/// The reply of seconder_devices().
pub struct seconder_registered_devices {
    devices: DeviceList,
    message: Option<Text>,
}

// SAFETY: the pointers point into the texts beside them, which never change.
unsafe impl Send for seconder_factors {}
// SAFETY: as above.
unsafe impl Sync for seconder_factors {}
// SAFETY: as above.
unsafe impl Send for DeviceList {}
// SAFETY: as above.
unsafe impl Sync for DeviceList {}

/// Devices, with the texts that they point to.
struct DeviceList {
    devices: Vec<seconder_registered_device>,
    _texts: Vec<Text>,
}

impl DeviceList {
    fn new(devices: &[RegisteredDevice]) -> DeviceList {
        let mut texts = Vec::new();
        let devices = devices.iter().map(|device| seconder_registered_device {
            id: device.id.get(),
            r#type: kept(&mut texts, device.r#type.as_deref()),
            created_at: device.created_at.unwrap_or_default(),
        });
        DeviceList { devices: devices.collect(), _texts: texts }
    }

    fn get(&self, index: usize) -> *const seconder_registered_device {
        self.devices.get(index).map_or(ptr::null(), ptr::from_ref)
    }
}

/// A pointer to a text that is kept in `texts`; NULL for none.
fn kept(texts: &mut Vec<Text>, text: Option<&str>) -> *const c_char {
    let text = Text::of(text);
    let start = pointer(&text);
    texts.extend(text);
    start
}

impl From<&Factors> for seconder_factors {
    fn from(factors: &Factors) -> seconder_factors {
        let mut texts = Vec::new();
        let authenticators = factors.authenticators.iter();
        let authenticators = authenticators.map(|app: &Authenticator| seconder_authenticator {
            id: kept(&mut texts, Some(app.id.as_str())),
            confirmed: app.confirmed,
            label: kept(&mut texts, app.label.as_deref()),
            created_at: app.created_at.unwrap_or_default(),
        });
        seconder_factors {
            sms: factors.sms,
            recovery_codes: factors.recovery_codes,
            codes_locked: factors.codes_locked,
            authenticators_locked: factors.authenticators_locked,
            recovery_codes_locked: factors.recovery_codes_locked,
            authenticators: authenticators.collect(),
            devices: DeviceList::new(&factors.devices),
            _texts: texts,
        }
    }
}

impl From<RegisteredDevices> for seconder_registered_devices {
    fn from(reply: RegisteredDevices) -> seconder_registered_devices {
        seconder_registered_devices {
            devices: DeviceList::new(&reply.devices),
            message: Text::of(reply.message.as_deref()),
        }
    }
}

/// Checks a code of the authenticator app that seconder_enrol_authenticator() has enrolled last, if it
/// is still pending, and of no other factor (interface 4.23). The right one makes it the user's app,
/// in place of an earlier one. seconder_verify() accepts any code of the user, such as one by SMS, so
/// it does not show that the user has scanned the new secret.
///
/// Only SECONDER_OK means that the code was checked and is correct. `code` must be 6 to 12 digits and
/// nothing else. `out` may be NULL; otherwise free it with seconder_verification_free().
///
/// SECONDER_TOKEN_WRONG and SECONDER_TOKEN_REUSED say why the code was not accepted;
/// SECONDER_RATE_LIMITED is returned after wrong codes, until the user may try again;
/// SECONDER_TOKEN_MALFORMED means that `code` does not have the form of a code; SECONDER_REJECTED, with
/// the service code "no_pending_authenticator", that no app of the user is pending. Other statuses are
/// as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_confirm_authenticator(
    service: Option<&seconder_service>,
    user_id: u64,
    code: *const c_char,
    out: *mut *mut seconder_verification,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = ConfirmAuthenticator {
                user_id: named("user_id", UserId::try_from(user_id))?,
                code: ffi::typed("code", code)?,
            };
            decide("code", service.service.handle(&call)?)
        })
    }
}

/// Removes an authenticator app of a user, confirmed or pending (interface 4.24). Its codes are wrong
/// from then on, except on machines that have prepared logins without the service (4.21). A user who
/// has no app and no device left is sent codes by SMS again. Removing a confirmed app also forgets the
/// remembered browsers of the user.
///
/// `authenticator_id` is its id from seconder_factors_authenticator(). `out` may be NULL; otherwise free
/// it with seconder_done_free(). SECONDER_REJECTED, with the service code "authenticator_not_found", if
/// the user has no such app. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_remove_authenticator(
    service: Option<&seconder_service>,
    user_id: u64,
    authenticator_id: *const c_char,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = RemoveAuthenticator {
                user_id: named("user_id", UserId::try_from(user_id))?,
                authenticator_id: ffi::value("authenticator_id", authenticator_id)?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// Lists the devices that a user has registered for approval requests (interface 4.25).
///
/// Free `out` with seconder_registered_devices_free(). SECONDER_REJECTED if there is no such user.
/// Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_devices(
    service: Option<&seconder_service>,
    user_id: u64,
    out: *mut *mut seconder_registered_devices,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_out(out, error, || {
            let service = ffi::need("service", service)?;
            let user_id = named("user_id", UserId::try_from(user_id))?;
            Ok(service.service.handle(&Devices { user_id })?.into())
        })
    }
}

/// Removes a registered device of a user (interface 4.26). Its secret is void from then on, and the
/// remembered browsers of the user are forgotten. Approval requests stay open for the user's other
/// devices; a user who has no app and no device left is sent codes by SMS again.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED, with the service
/// code "device_not_found", if the user has no such device. Other statuses are as described at the top
/// of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_remove_device(
    service: Option<&seconder_service>,
    user_id: u64,
    device_id: u64,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let call = RemoveDevice {
                user_id: named("user_id", UserId::try_from(user_id))?,
                device_id: named("device_id", DeviceId::try_from(device_id))?,
            };
            Ok(service.service.handle(&call)?.into())
        })
    }
}

/// Lets a user try codes again after too many wrong ones (interface 4.30). The counts of wrong codes of
/// all factors begin anew. Codes that were sent have the tries that they had.
///
/// `out` may be NULL; otherwise free it with seconder_done_free(). SECONDER_REJECTED if there is no such
/// user. Other statuses are as described at the top of the header.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn seconder_unlock_user(
    service: Option<&seconder_service>,
    user_id: u64,
    out: *mut *mut seconder_done,
    error: *mut *mut seconder_error,
) -> seconder_status {
    // SAFETY: as the header requires.
    unsafe {
        with_optional_out(out, error, || {
            let service = ffi::need("service", service)?;
            let user_id = named("user_id", UserId::try_from(user_id))?;
            Ok(service.service.handle(&UnlockUser { user_id })?.into())
        })
    }
}

/// Whether codes can be sent to the user's number by SMS.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_sms(factors: Option<&seconder_factors>) -> bool {
    read_handle(factors, |factors| factors.sms)
}

/// The number of authenticator apps: at most one that is confirmed, and one that is pending.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_authenticator_count(
    factors: Option<&seconder_factors>,
) -> usize {
    read_handle(factors, |factors| factors.authenticators.len())
}

/// The authenticator app at `index`, oldest first, owned by the reply of seconder_user_status(); NULL
/// if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_authenticator(
    factors: Option<&seconder_factors>,
    index: usize,
) -> *const seconder_authenticator {
    read_handle(factors, |factors| {
        factors.authenticators.get(index).map_or(ptr::null(), ptr::from_ref)
    })
}

/// The number of devices that the user has registered for approval requests.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_device_count(factors: Option<&seconder_factors>) -> usize {
    read_handle(factors, |factors| factors.devices.devices.len())
}

/// The device at `index`, oldest first, owned by the reply of seconder_user_status(); NULL if `index`
/// is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_device(
    factors: Option<&seconder_factors>,
    index: usize,
) -> *const seconder_registered_device {
    read_handle(factors, |factors| factors.devices.get(index))
}

/// How many recovery codes the user has left.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_recovery_codes(factors: Option<&seconder_factors>) -> u64 {
    read_handle(factors, |factors| factors.recovery_codes)
}

/// Whether codes by SMS and voice are not checked, after too many wrong ones in a row, until
/// seconder_unlock_user().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_codes_locked(factors: Option<&seconder_factors>) -> bool {
    read_handle(factors, |factors| factors.codes_locked)
}

/// Whether the codes of authenticator apps are not checked, until seconder_unlock_user().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_authenticators_locked(
    factors: Option<&seconder_factors>,
) -> bool {
    read_handle(factors, |factors| factors.authenticators_locked)
}

/// Whether recovery codes are not checked, until seconder_unlock_user().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_recovery_codes_locked(
    factors: Option<&seconder_factors>,
) -> bool {
    read_handle(factors, |factors| factors.recovery_codes_locked)
}

/// The number of devices.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_registered_devices_device_count(
    devices: Option<&seconder_registered_devices>,
) -> usize {
    read_handle(devices, |devices| devices.devices.devices.len())
}

/// The device at `index`, oldest first, owned by the reply; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_registered_devices_device(
    devices: Option<&seconder_registered_devices>,
    index: usize,
) -> *const seconder_registered_device {
    read_handle(devices, |devices| devices.devices.get(index))
}

/// The service's message. NULL if it does not provide one.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_registered_devices_message(
    devices: Option<&seconder_registered_devices>,
) -> *const c_char {
    read_handle(devices, |devices| pointer(&devices.message))
}

/// Frees the reply of seconder_devices(). NULL is fine.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_registered_devices_free(
    devices: Option<Box<seconder_registered_devices>>,
) {
    free(devices);
}

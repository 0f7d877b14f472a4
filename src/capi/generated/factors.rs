//! Written by tools/generate from src/calls/factors.rs.

use crate::calls::{Authenticator, Factors, RegisteredDevice};
use crate::capi::ffi::read_handle;
use crate::capi::items::{Item, Items, MadeOf, Texts};
use std::ffi::c_char;

/// An authenticator app of a user.
#[repr(C)]
pub struct seconder_authenticator {
    /// Its id, for seconder_remove_authenticator().
    pub id: *const c_char,
    /// True if a code of it was accepted. Until then it is pending.
    pub confirmed: bool,
    /// The label that it was enrolled with, if one was given. NULL if the service does not provide
    /// it.
    pub label: *const c_char,
    /// When it was enrolled, in Unix seconds. 0 if the service does not provide it.
    pub created_at: i64,
}

// SAFETY: its pointers come from `keep`.
unsafe impl Item for seconder_authenticator {}

impl MadeOf<Authenticator> for seconder_authenticator {
    fn new(of: &Authenticator, texts: &mut Texts) -> seconder_authenticator {
        seconder_authenticator {
            id: texts.keep(Some(of.id.as_str())),
            confirmed: of.confirmed,
            label: texts.keep(of.label.as_deref()),
            created_at: of.created_at.unwrap_or_default(),
        }
    }
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

// SAFETY: its pointers come from `keep`.
unsafe impl Item for seconder_registered_device {}

impl MadeOf<RegisteredDevice> for seconder_registered_device {
    fn new(of: &RegisteredDevice, texts: &mut Texts) -> seconder_registered_device {
        seconder_registered_device {
            id: of.id.get(),
            r#type: texts.keep(of.r#type.as_deref()),
            created_at: of.created_at.unwrap_or_default(),
        }
    }
}

/// The factors of a user (interface 2.7). None of these is a secret. A service that leaves one of
/// them out says nothing: an empty list would mean that the user has none.
pub struct seconder_factors {
    sms: bool,
    authenticators: Items<seconder_authenticator>,
    devices: Items<seconder_registered_device>,
    recovery_codes: u64,
    codes_locked: bool,
    authenticators_locked: bool,
    recovery_codes_locked: bool,
}

impl From<Factors> for seconder_factors {
    fn from(reply: Factors) -> seconder_factors {
        seconder_factors {
            sms: reply.sms,
            authenticators: Items::new(&reply.authenticators),
            devices: Items::new(&reply.devices),
            recovery_codes: reply.recovery_codes,
            codes_locked: reply.codes_locked,
            authenticators_locked: reply.authenticators_locked,
            recovery_codes_locked: reply.recovery_codes_locked,
        }
    }
}

/// Returns whether codes can be sent to the user's number by SMS.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_sms(factors: Option<&seconder_factors>) -> bool {
    read_handle(factors, |reply| reply.sms)
}

/// The number of values that seconder_factors_authenticator() returns.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_authenticator_count(
    factors: Option<&seconder_factors>,
) -> usize {
    read_handle(factors, |reply| reply.authenticators.len())
}

/// The user's authenticator apps, oldest first: at most one that is confirmed, and one that is
/// pending. Returns the one at `index`, owned by the handle; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_authenticator(
    factors: Option<&seconder_factors>,
    index: usize,
) -> *const seconder_authenticator {
    read_handle(factors, |reply| reply.authenticators.get(index))
}

/// The number of values that seconder_factors_device() returns.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_device_count(factors: Option<&seconder_factors>) -> usize {
    read_handle(factors, |reply| reply.devices.len())
}

/// The devices that the user has registered for approval requests, oldest first. Returns the one at
/// `index`, owned by the handle; NULL if `index` is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_device(
    factors: Option<&seconder_factors>,
    index: usize,
) -> *const seconder_registered_device {
    read_handle(factors, |reply| reply.devices.get(index))
}

/// The number of recovery codes that the user has left.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_recovery_codes(factors: Option<&seconder_factors>) -> u64 {
    read_handle(factors, |reply| reply.recovery_codes)
}

/// Returns whether codes by SMS and voice are not checked, after too many wrong ones in a row,
/// until seconder_unlock_user(); false if the service does not say.
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_codes_locked(factors: Option<&seconder_factors>) -> bool {
    read_handle(factors, |reply| reply.codes_locked)
}

/// Returns whether the codes of authenticator apps are not checked, until seconder_unlock_user().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_authenticators_locked(
    factors: Option<&seconder_factors>,
) -> bool {
    read_handle(factors, |reply| reply.authenticators_locked)
}

/// Returns whether recovery codes are not checked, until seconder_unlock_user().
#[unsafe(no_mangle)]
pub extern "C" fn seconder_factors_recovery_codes_locked(
    factors: Option<&seconder_factors>,
) -> bool {
    read_handle(factors, |reply| reply.recovery_codes_locked)
}

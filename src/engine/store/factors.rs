//! What the store keeps of authenticator apps and devices.

use super::AppId;
use crate::engine::clock::Time;
use crate::model::{DeviceId, UserId};
use zeroize::Zeroizing;

pub(in crate::engine) struct NewDevice {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) os_type: &'static str,
    pub(in crate::engine) secret_hash: [u8; 32],
    pub(in crate::engine) now: Time,
}

pub(in crate::engine) struct DeviceRow {
    pub(in crate::engine) device_id: DeviceId,
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) os_type: String,
    pub(in crate::engine) secret_hash: Vec<u8>,
    pub(in crate::engine) registered_at: Time,
}

pub(in crate::engine) struct NewAuthenticator {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) user_id: UserId,
    /// The label, if one was given.
    pub(in crate::engine) label: Option<String>,
    pub(in crate::engine) secret: Zeroizing<Vec<u8>>,
    pub(in crate::engine) digits: u8,
    pub(in crate::engine) period: u64,
    pub(in crate::engine) now: Time,
}

pub(in crate::engine) struct AuthenticatorRow {
    pub(in crate::engine) authenticator_id: i64,
    pub(in crate::engine) secret: Zeroizing<Vec<u8>>,
    pub(in crate::engine) digits: u8,
    pub(in crate::engine) period: u64,
    /// The step of the code that was accepted last; `None` while the app is pending.
    pub(in crate::engine) last_step: Option<u64>,
    /// Later steps that a machine has accepted without the service.
    pub(in crate::engine) used_after: Vec<u64>,
}

/// What protects an account, without its secrets.
pub(in crate::engine) struct FactorRows {
    /// Oldest first.
    pub(in crate::engine) authenticators: Vec<AuthenticatorInfo>,
    /// Oldest first.
    pub(in crate::engine) devices: Vec<DeviceInfo>,
    /// How many are left.
    pub(in crate::engine) recovery_codes: u64,
}

pub(in crate::engine) struct AuthenticatorInfo {
    pub(in crate::engine) authenticator_id: i64,
    pub(in crate::engine) confirmed: bool,
    pub(in crate::engine) label: Option<String>,
    pub(in crate::engine) created_at: Time,
}

pub(in crate::engine) struct DeviceInfo {
    pub(in crate::engine) device_id: DeviceId,
    pub(in crate::engine) os_type: String,
    pub(in crate::engine) registered_at: Time,
}

/// The result of removing something of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Removed {
    Done,
    NoUser,
    /// The user has nothing with that id.
    NotFound,
}

//! The phones of a sandbox: the devices that respond to approval requests, and the authenticator apps.

use super::World;
use crate::calls::{Approval, CheckApproval};
use crate::engine::{
    ApprovalRequest, ApprovalResponse, Clock, DeviceRegistered, DeviceType, RespondToApproval,
    SignedCallback,
};
use crate::model::{ApprovalId, Secret, UserId};
use crate::otp::Totp;
use crate::{Error, Handle, Result};

impl World {
    pub(super) fn authenticator_code(&self, user_id: UserId) -> Result<Secret> {
        let uri = self.records.kept().authenticators.get(&user_id).cloned();
        let uri = uri.ok_or_else(|| {
            missing(format!(
                "user {user_id} has no authenticator app: make the call enrol_authenticator"
            ))
        })?;
        Ok(Totp::from_uri(uri.expose())?.code(self.clock.now().as_secs()))
    }

    pub(super) fn add_device(&self, user_id: UserId, kind: DeviceType) -> Result<DeviceRegistered> {
        let device = self.engine.register_device(user_id, kind)?;
        self.records.kept().devices.insert(user_id, device.clone());
        Ok(device)
    }

    /// Returns the device of a user, and registers one if the user has no device.
    fn device(&self, user_id: UserId) -> Result<DeviceRegistered> {
        let known = self.records.kept().devices.get(&user_id).cloned();
        known.map_or_else(|| self.add_device(user_id, DeviceType::Android), Ok)
    }

    /// Returns the open requests on the device of a user, the oldest first.
    pub(super) fn pending(&self, user_id: UserId) -> Result<Vec<ApprovalRequest>> {
        let device = self.device(user_id)?;
        self.engine.open_approvals(device.device_id, &device.secret)
    }

    /// Returns the latest open request of a user.
    pub(super) fn latest(&self, user_id: UserId) -> Result<ApprovalId> {
        let latest = self.pending(user_id)?.pop().map(|request| request.uuid);
        latest.ok_or_else(|| missing(format!("user {user_id} has no pending approval request")))
    }

    pub(super) fn user_of(&self, uuid: &ApprovalId) -> Result<UserId> {
        let approval = self.engine.handle(&CheckApproval::new(uuid.clone()))?;
        approval.user_id.ok_or_else(|| missing("the user of the request was deleted".to_owned()))
    }

    /// Responds on the device of a user. Returns the request, and its callback if there was one.
    pub(super) fn respond(
        &self,
        user_id: UserId,
        uuid: &ApprovalId,
        response: ApprovalResponse,
        number: Option<Secret>,
    ) -> Result<(Approval, Option<SignedCallback>)> {
        let DeviceRegistered { device_id, secret: device_secret, .. } = self.device(user_id)?;
        let response =
            RespondToApproval { uuid: uuid.clone(), device_id, device_secret, response, number };
        let approval = self.engine.respond_to_approval(&response)?;
        // The last callback may belong to another request.
        let kept = self.records.kept();
        let is_of_it = |callback: &&SignedCallback| mentions(callback, uuid.as_str());
        Ok((approval, kept.callbacks.iter().rev().find(is_of_it).cloned()))
    }
}

fn mentions(callback: &SignedCallback, uuid: &str) -> bool {
    callback.query.contains(uuid) || String::from_utf8_lossy(&callback.body).contains(uuid)
}

/// Returns the error that nothing fits the request.
pub(super) fn missing(message: String) -> Error {
    Error::rejected(404, None, message)
}

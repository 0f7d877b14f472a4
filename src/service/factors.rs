//! Calls about the factors that protect a user's account.

use super::Service;
use crate::calls::*;
use crate::model::{AuthenticatorId, DeviceId, Token, UserId};
use crate::{Handle, Result};

impl Service {
    /// Checks a code of the user's pending authenticator app, and of no other factor (interface
    /// 4.23). The right one makes it the user's app.
    ///
    /// # Errors
    /// [`Error::Rejected`](crate::Error::Rejected) with the code `no_pending_authenticator` if no
    /// app is pending, [`Error::RateLimited`](crate::Error::RateLimited) after wrong codes; otherwise
    /// see [`Error`](crate::Error).
    pub fn confirm_authenticator(&self, user_id: UserId, code: &Token) -> Result<Verdict> {
        let call = ConfirmAuthenticator::new(user_id, code.clone());
        self.handle(&call).map(|checked| checked.verdict)
    }

    /// Removes an authenticator app of a user, confirmed or pending (interface 4.24).
    ///
    /// # Errors
    /// [`Error::Rejected`](crate::Error::Rejected) with the code `authenticator_not_found` if the
    /// user has no such app; otherwise see [`Error`](crate::Error).
    pub fn remove_authenticator(
        &self,
        user_id: UserId,
        authenticator_id: &AuthenticatorId,
    ) -> Result<Done> {
        self.handle(&RemoveAuthenticator::new(user_id, authenticator_id.clone()))
    }

    /// Lets a user try codes again after too many wrong ones (interface 4.30).
    ///
    /// # Errors
    /// [`Error::Rejected`](crate::Error::Rejected) if there is no such user; otherwise see
    /// [`Error`](crate::Error).
    pub fn unlock_user(&self, user_id: UserId) -> Result<Done> {
        self.handle(&UnlockUser::new(user_id))
    }

    /// Lists the devices that a user has registered for approval requests (interface 4.25).
    ///
    /// # Errors
    /// See [`Error`](crate::Error).
    pub fn devices(&self, user_id: UserId) -> Result<RegisteredDevices> {
        self.handle(&Devices::new(user_id))
    }

    /// Makes an invitation, by which a user registers a phone that approves logins and shows codes (interface
    /// 4.31). See [`InviteDevice`] for the options.
    ///
    /// # Errors
    /// [`Error::Rejected`](crate::Error::Rejected) with the code `no_public_url` if the service has
    /// no public URL; otherwise see [`Error`](crate::Error).
    pub fn invite_device(&self, user_id: UserId) -> Result<DeviceInvited> {
        self.handle(&InviteDevice::new(user_id))
    }

    /// Removes a registered device of a user (interface 4.26).
    ///
    /// # Errors
    /// [`Error::Rejected`](crate::Error::Rejected) with the code `device_not_found` if the user has
    /// no such device; otherwise see [`Error`](crate::Error).
    pub fn remove_device(&self, user_id: UserId, device_id: DeviceId) -> Result<Done> {
        self.handle(&RemoveDevice::new(user_id, device_id))
    }
}

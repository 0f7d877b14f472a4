//! `POST /protected/{format}/users/{user_id}/secret`

use super::{Call, Route};
use crate::model::{DisplayText, Secret, UserId};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Issues a new secret for a user's authenticator app, with a QR code. A previous secret remains
/// valid until a code of the new one has been accepted: check one with
/// [`ConfirmAuthenticator`](super::ConfirmAuthenticator).
///
/// # Errors
/// [`Error::Rejected`] if there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnrolAuthenticator {
    /// The user whose app gets the secret.
    pub user_id: UserId,
    /// The label that the app shows with the code, without a colon. Default: the user's e-mail
    /// address, with a space for each colon.
    pub label: Option<DisplayText>,
    /// The width and height of the QR code, 100 to 1000 pixels. Default: 300.
    pub qr_size: Option<u64>,
}

impl EnrolAuthenticator {
    /// The call with its defaults.
    pub fn new(user_id: UserId) -> EnrolAuthenticator {
        EnrolAuthenticator { user_id, label: None, qr_size: None }
    }
}

impl Call for EnrolAuthenticator {
    const ROUTE: Route =
        Route::post("enrol_authenticator", "/protected/{format}/users/{user_id}/secret");
    const FOR_OWN_ACCOUNT: bool = true;
    type Reply = AuthenticatorEnrolled;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn check(&self) -> Result<()> {
        match self.qr_size {
            None | Some(100..=1000) => Ok(()),
            Some(_) => Err(Error::invalid_argument("qr_size", "must be 100 to 1000 pixels")),
        }
    }
}

/// The secret for the user's app. Anyone who has it can generate the user's codes. `Debug` does not
/// show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthenticatorEnrolled {
    /// The label that the app shows with the code.
    pub label: Option<String>,
    /// The name of the application that the code is for.
    pub issuer: Option<String>,
    /// The `otpauth:` URI that contains the secret.
    #[serde(default)]
    pub uri: Secret,
    /// The URI as a QR code: a `data:` or `https:` URL for an `<img>`.
    #[serde(default)]
    pub qr_code: Secret,
}

impl AuthenticatorEnrolled {
    /// The secret as a URI and as a QR code.
    pub fn new(uri: Secret, qr_code: Secret) -> AuthenticatorEnrolled {
        AuthenticatorEnrolled { label: None, issuer: None, uri, qr_code }
    }
}

impl fmt::Debug for AuthenticatorEnrolled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("AuthenticatorEnrolled");
        fields.field("label", &self.label).field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

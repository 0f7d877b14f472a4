//! `POST /protected/{format}/users/{user_id}/secret`

use super::{Call, Route};
use crate::model::{DisplayText, Secret, UserId};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Gives a user's authenticator app a new secret, shown as a QR code. A secret that the user had
/// before stays valid until a code of the new one was right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnrolAuthenticator {
    /// The user.
    pub user_id: UserId,
    /// What the app shows beside the code. Default: the user's e-mail.
    pub label: Option<DisplayText>,
    /// The width and height of the QR code, 100 to 1000 pixels. Default 300.
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
    type Reply = AuthenticatorEnrolled;

    fn check(&self) -> Result<()> {
        match self.qr_size {
            None | Some(100..=1000) => Ok(()),
            Some(_) => Err(Error::invalid_argument("qr_size", "must be 100 to 1000 pixels")),
        }
    }
}

/// What the user's app needs. `Debug` does not show it: whoever sees it can make the user's codes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthenticatorEnrolled {
    /// What the app shows beside the code.
    pub label: Option<String>,
    /// Who the code is for.
    pub issuer: Option<String>,
    /// The `otpauth:` URI that holds the secret.
    #[serde(default)]
    pub uri: Secret,
    /// The same as a picture: a `data:` or `https:` URL for an `<img>`.
    #[serde(default)]
    pub qr_code: Secret,
}

impl AuthenticatorEnrolled {
    /// The secret as a URI and as a picture.
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

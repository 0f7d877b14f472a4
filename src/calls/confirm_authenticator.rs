//! `POST /-/{format}/users/{user_id}/authenticators/confirm`

use super::{Call, Route, Verdict, Verification, Verify, failure};
use crate::model::{Token, UserId};
use crate::wire::older::Shape;
use crate::wire::{Generation, Reply};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Checks a code of the authenticator app that was enrolled last and is still pending (interface
/// 4.23). The right one shows that the user has scanned its secret, and makes it the user's app.
///
/// [`Verify`] accepts any code of the user, also one by SMS or of the earlier app, so it does not
/// show that.
///
/// # Errors
/// [`Error::RateLimited`] after wrong codes, until the user may try again; [`Error::Rejected`] with
/// the service code `no_pending_authenticator` if no app of the user is pending.
#[cfg_attr(
    false,
    c = "Checks a code of the authenticator app that [`EnrolAuthenticator`] has enrolled last, if \
         it is still pending, and of no other factor (interface 4.23). The right one makes it the \
         user's app, in place of an earlier one. [`Verify`] accepts any code of the user, such as \
         one by SMS, so it does not show that the user has scanned the new secret.\n\n\
         Only [`Ok`] means that the code was checked and is correct. [`Status::TokenWrong`] and \
         [`Status::TokenReused`] say why it was not accepted."
)]
#[cfg_attr(
    false,
    python = "Checks a code of the authenticator app that was enrolled last and is still pending \
              (interface 4.23). It returns only if the code is right, which makes the app the \
              user's.\n\n\
              [`Verify`] accepts any code of the user, also one by SMS or of the earlier app, so it \
              does not show that the user has scanned the new secret."
)]
#[cfg_attr(
    false,
    python(
        raises = "TokenInvalid: The code is not one of the pending app; `reused` is true if it was \
                  right but has been used before."
    )
)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmAuthenticator {
    /// The user who scanned the secret.
    pub user_id: UserId,
    /// The code that the user typed.
    pub code: Token,
}

impl ConfirmAuthenticator {
    /// The call.
    pub fn new(user_id: UserId, code: Token) -> ConfirmAuthenticator {
        ConfirmAuthenticator { user_id, code }
    }
}

impl Call for ConfirmAuthenticator {
    const ROUTE: Route =
        Route::post("confirm_authenticator", "/-/{format}/users/{user_id}/authenticators/confirm");
    const OLDER: Shape = Shape::Same;
    const SUCCESS_IS_TEXT: bool = true;
    // A peer can do the same by `Verify`, and needs the pending secret for either.
    const FOR_OWN_ACCOUNT: bool = true;
    const CHANGES_PROTECTION: bool = false;
    type Reply = Verification;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn verification(reply: &Verification) -> Option<&Verification> {
        Some(reply)
    }

    /// As the reply to a verification.
    fn read(reply: Reply) -> Result<Verification> {
        match failure::lacks_call(&Self::ROUTE, &reply) {
            Some(error) => Err(error),
            // Fields that only services of the older generation leave out are always there, and no code
            // is left unchecked.
            None => match Verify::read(Reply { generation: Generation::Current, ..reply })? {
                Verification { verdict: Verdict::NotChecked, .. } => {
                    Err(Error::invalid_response("the service did not check the code"))
                }
                checked => Ok(checked),
            },
        }
    }

    fn write(answer: &Verification) -> Reply {
        Verify::write(answer)
    }
}

//! `POST /-/{format}/users/{user_id}/browsers/recognise`

use super::{Call, Route, failure};
use crate::model::{BrowserToken, UserId};
use crate::wire::older::Shape;
use crate::wire::{Reply, loose};
use crate::{Error, Result, codes};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const RECOGNISED: &str = "is recognised";
const NOT_RECOGNISED: &str = "is not recognised";

/// Checks the token of a browser that [`Remember`](super::Remember) returned (interface 4.28).
///
/// It counts as no code: it confirms no user, and does not extend the life of the token.
///
/// # Errors
/// [`Error::InvalidResponse`] if the service's reply does not say clearly whether the browser is
/// recognised; [`Error::Rejected`] if the service has no such call.
#[cfg_attr(
    false,
    c = "Checks the token of a remembered browser (interface 4.28).\n\n\
         Only [`Ok`] means that the browser is recognised: this application remembered it for \
         this user, and the token has neither expired nor been revoked. If not, the status is \
         [`Status::NotRecognised`]: request the second factor.\n\n\
         It counts as no code, confirms no user, and does not extend the life of the token."
)]
#[cfg_attr(false, cpp(by_hand))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recognise {
    /// The user who logs in.
    pub user_id: UserId,
    /// The token of the browser's cookie, which may be any text.
    pub token: BrowserToken,
}

impl Recognise {
    /// The call.
    pub fn new(user_id: UserId, token: BrowserToken) -> Recognise {
        Recognise { user_id, token }
    }
}

/// The verdict on a browser: remembered or not. Only [`Recognised`](Recognition::Recognised) may take
/// the place of the second factor.
#[must_use = "only Recognition::Recognised may take the place of the second factor"]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Recognition {
    /// The token was not given to the user by this application, was altered, has expired or was
    /// revoked.
    #[default]
    NotRecognised = 0,
    /// The token was given to this user, and is still valid.
    Recognised = 1,
}

/// The result of checking the token of a browser.
#[cfg_attr(
    false,
    c = "The reply for a browser that is recognised. Any other outcome returns none."
)]
#[cfg_attr(false, c(decided, optional))]
#[cfg_attr(false, python(flag, handled_by = "recognise"))]
#[must_use = "only a recognition of Recognition::Recognised may take the place of the second factor"]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BrowserCheck {
    /// The verdict on the browser.
    #[cfg_attr(false, c(hidden))]
    pub recognition: Recognition,
    /// With [`Recognition::Recognised`]: the user whose browser it is, who is the user of the call.
    #[cfg_attr(false, c = "The user whose browser it is, who is the user of the call.")]
    #[serde(rename = "svc_id")]
    pub user_id: Option<UserId>,
    /// The service's message.
    pub message: Option<String>,
}

impl BrowserCheck {
    /// A browser of this user.
    pub fn recognised(user_id: UserId) -> BrowserCheck {
        let recognition = Recognition::Recognised;
        BrowserCheck { recognition, user_id: Some(user_id), message: None }
    }
}

impl Call for Recognise {
    const ROUTE: Route = Route::post("recognise", "/-/{format}/users/{user_id}/browsers/recognise");
    const REPEATABLE: bool = true;
    const OLDER: Shape = Shape::Same;
    const MUST_SAY_SUCCESS: bool = true;
    const KEY_IN_HEADER: bool = true;
    type Reply = BrowserCheck;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn recognition(reply: &BrowserCheck) -> Option<Recognition> {
        Some(reply.recognition)
    }

    /// Decides whether a reply recognises a browser of some user, and [`Call::read_own`] whether that
    /// is the user of the call; nothing else does.
    fn read(reply: Reply) -> Result<BrowserCheck> {
        if reply.status == 403 && failure::code(&reply).as_deref() == Some(codes::NOT_RECOGNISED) {
            let message = reply.body.as_object().and_then(failure::message);
            return Ok(BrowserCheck { message, ..BrowserCheck::default() });
        }
        if let Some(error) = failure::lacks_call(&Self::ROUTE, &reply) {
            return Err(error);
        }
        let fields = failure::success(reply, Self::MUST_SAY_SUCCESS)?;
        if fields.get("browser").and_then(Value::as_str) != Some(RECOGNISED) {
            return Err(Error::invalid_response(
                "it does not say whether the browser is recognised",
            ));
        }
        let Said { user_id, message } = loose::read(fields)
            .map_err(|mismatch: loose::Mismatch| Error::invalid_response(mismatch.to_string()))?;
        Ok(BrowserCheck { message, ..BrowserCheck::recognised(user_id) })
    }

    fn read_own(&self, reply: Reply) -> Result<BrowserCheck> {
        let checked = Self::read(reply)?;
        match checked.recognition {
            Recognition::Recognised if checked.user_id != Some(self.user_id) => {
                Err(Error::invalid_response("it is about another user"))
            }
            _ => Ok(checked),
        }
    }

    fn write(answer: &BrowserCheck) -> Reply {
        let message = answer.message.as_deref();
        match (answer.recognition, answer.user_id) {
            (Recognition::Recognised, Some(user_id)) => {
                let message = message.unwrap_or("The browser is recognised.");
                let body = json!({
                    "message": message, "browser": RECOGNISED, "svc_id": user_id, "success": true,
                });
                Reply::new(200, body)
            }
            _ => {
                let message = message.unwrap_or("The browser is not recognised.");
                let body = json!({
                    "message": message,
                    "browser": NOT_RECOGNISED,
                    "success": false,
                    "errors": { "message": message },
                    "error_code": codes::NOT_RECOGNISED,
                });
                Reply::new(403, body)
            }
        }
    }
}

/// The other fields that a reply must have.
#[derive(Deserialize)]
struct Said {
    #[serde(rename = "svc_id")]
    user_id: UserId,
    message: Option<String>,
}

//! `POST /push/{format}/users/{user_id}/approval_requests`

use super::{Call, Route, is_kept, is_small};
use crate::model::{ApprovalId, DisplayText, Secret, UserId};
use crate::wire::older::Shape;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The longest time that a request can remain open: ten years, in seconds.
const LONGEST: u64 = 315_360_000;
/// The resolutions of a logo.
const RESOLUTIONS: [&str; 4] = ["default", "low", "med", "high"];

/// Asks a user to approve something on their device (interface 4.12). An engine keeps the five latest
/// requests of a user open: a further one makes the oldest expire.
///
/// # Errors
/// [`Error::RateLimited`] if the user reported the last request as not theirs; [`Error::Rejected`]
/// if there is no such user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateApproval {
    /// The user to ask.
    pub user_id: UserId,
    /// The question shown to the user.
    pub message: DisplayText,
    /// Further details shown to the user: names and texts, without characters that XML cannot have. Other values reach a remote service as
    /// [`RegisterActivity::data`](super::RegisterActivity::data) describes.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    /// Details not shown to the user, and returned to the application. Sent as `details` are.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub hidden_details: Map<String, Value>,
    /// Logos to show, at most 16 KiB in JSON. If there are any, one must have `res` = `default`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logos: Vec<Logo>,
    /// The time that the request remains open, in seconds; 0 means without an end. Default: 86400.
    #[cfg_attr(
        false,
        c = "The time that the request remains open, in seconds, 1 to 315360000, or [`FOREVER`]. \
             Default: 86400."
    )]
    #[cfg_attr(false, c(zero))]
    pub seconds_to_expire: Option<u64>,
    /// The number of digits of a number that the reply carries, the application shows, and the user
    /// has to type on the device to approve the request: 0 for none, 2, 3 or 6. An engine raises a smaller
    /// number but 0 to the application's. Default: as the application has it, 0 at first.
    #[cfg_attr(
        false,
        c = "The number of digits of a number that the reply carries, the application shows, and \
             the user has to type on the device to approve the request: 2, 3 or 6, or -1 for \
             none. An engine raises a smaller number to the application's. Default: as the application \
             has it, none at first."
    )]
    #[cfg_attr(false, c(zero))]
    pub number_digits: Option<u64>,
}

/// A logo to show with an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logo {
    /// `default`, `low`, `med` or `high`.
    #[cfg_attr(false, python(one_of = "default low med high"))]
    pub res: String,
    /// The URL of the picture.
    pub url: String,
}

impl CreateApproval {
    /// The call with its defaults.
    pub fn new(user_id: UserId, message: DisplayText) -> CreateApproval {
        CreateApproval {
            user_id,
            message,
            details: Map::new(),
            hidden_details: Map::new(),
            logos: Vec::new(),
            seconds_to_expire: None,
            number_digits: None,
        }
    }
}

impl Call for CreateApproval {
    const ROUTE: Route =
        Route::post("create_approval", "/push/{format}/users/{user_id}/approval_requests");
    const FREE_FORM: &'static [&'static str] = &["details", "hidden_details"];
    const KEY_IN_HEADER: bool = true;
    const OLDER: Shape = Shape::Same;
    const REPLY_OBJECT: Option<&'static str> = Some("approval_request");
    const FOR_LOGIN: bool = true;
    type Reply = ApprovalCreated;

    fn user(&self) -> Option<UserId> {
        Some(self.user_id)
    }

    fn check(&self) -> Result<()> {
        if self.seconds_to_expire.is_some_and(|seconds| seconds > LONGEST) {
            return Err(Error::invalid_argument(
                "seconds_to_expire",
                "must be 0 (never expires) to 315360000",
            ));
        }
        if !matches!(self.number_digits, None | Some(0 | 2 | 3 | 6)) {
            return Err(Error::invalid_argument("number_digits", "must be 0 (none), 2, 3 or 6"));
        }
        if !self.logos.iter().all(|logo| RESOLUTIONS.contains(&logo.res.as_str())) {
            return Err(Error::invalid_argument(
                "logos",
                "must have a res of default, low, med or high",
            ));
        }
        if !self.logos.is_empty() && !self.logos.iter().any(|logo| logo.res == RESOLUTIONS[0]) {
            return Err(Error::invalid_argument(
                "logos",
                "must have an entry whose res is default",
            ));
        }
        for (name, fields) in [("details", &self.details), ("hidden_details", &self.hidden_details)]
        {
            is_kept(name, fields)?;
            is_small(name, fields)?;
        }
        is_small("logos", &self.logos)
    }
}

/// An approval request that was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalCreated {
    /// The id of the request, for [`super::CheckApproval`].
    pub uuid: ApprovalId,
    /// The service's message. An engine's says if the user has no device that could respond.
    pub message: Option<String>,
    /// The number that the application shows and the user types on the device. `None` if the
    /// request needs no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<Secret>,
}

impl ApprovalCreated {
    /// A request with that id, without a message.
    pub fn new(uuid: ApprovalId) -> ApprovalCreated {
        ApprovalCreated { uuid, message: None, number: None }
    }
}

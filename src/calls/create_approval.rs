//! `POST /push/{format}/users/{user_id}/approval_requests`

use super::{Call, Route};
use crate::model::{ApprovalId, Line, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Asks a user to approve something on their device (interface 4.12).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateApproval {
    /// The user who is asked.
    pub user_id: UserId,
    /// What the user is asked.
    pub message: Line,
    /// What else the user is shown.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    /// What the user is not shown, and the application gets back.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub hidden_details: Map<String, Value>,
    /// Pictures to show; when there are any, one has `res` = `default`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logos: Vec<Logo>,
    /// How long the request can be answered, in seconds; 0 is for ever. Default 86400.
    pub seconds_to_expire: Option<u64>,
}

/// A picture to show with an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logo {
    /// `default`, `low`, `med` or `high`.
    pub res: String,
    /// Where the picture is.
    pub url: String,
}

impl CreateApproval {
    /// The call with its defaults.
    pub fn new(user_id: UserId, message: Line) -> CreateApproval {
        CreateApproval {
            user_id,
            message,
            details: Map::new(),
            hidden_details: Map::new(),
            logos: Vec::new(),
            seconds_to_expire: None,
        }
    }
}

impl Call for CreateApproval {
    const ROUTE: Route =
        Route::post("create_approval", "/push/{format}/users/{user_id}/approval_requests");
    const ENVELOPE: Option<&'static str> = Some("approval_request");
    type Reply = ApprovalCreated;
}

/// The user is being asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalCreated {
    /// The request's name, to ask for its answer with.
    pub uuid: ApprovalId,
}

impl ApprovalCreated {
    /// A request of that name.
    pub fn new(uuid: ApprovalId) -> ApprovalCreated {
        ApprovalCreated { uuid }
    }
}

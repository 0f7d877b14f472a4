//! `GET /push/{format}/approval_requests/{uuid}`

use super::{Call, Route};
use crate::model::{ApprovalId, UserId};
use crate::wire::Reply;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Requests a user's response to an approval request (interface 4.13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckApproval {
    /// The id of the approval request, from [`super::CreateApproval`].
    pub uuid: ApprovalId,
}

impl CheckApproval {
    /// The call.
    pub fn new(uuid: ApprovalId) -> CheckApproval {
        CheckApproval { uuid }
    }
}

impl Call for CheckApproval {
    const ROUTE: Route = Route::get("check_approval", "/push/{format}/approval_requests/{uuid}");
    const REPEATABLE: bool = true;
    const KEY_IN_HEADER: bool = true;
    const REPLY_OBJECT: Option<&'static str> = Some("approval_request");
    type Reply = Approval;

    /// Some services have used `_svc_id` for the user. If both fields are present, they must agree.
    fn read(mut reply: Reply) -> Result<Approval> {
        let request = reply.body.get_mut("approval_request").and_then(Value::as_object_mut);
        if let Some(request) = request
            && let Some(other) = request.shift_remove("_svc_id")
            && *request.entry("svc_id").or_insert(other.clone()) != other
        {
            return Err(Error::invalid_response("it contains two user ids"));
        }
        super::read::<CheckApproval>(reply)
    }
}

/// The service's record of an approval request (interface 2.6).
///
/// Before letting a user in, call [`approved_by`](Approval::approved_by) with the user who is
/// logging in: an approval by another user proves nothing.
#[must_use = "only ApprovalStatus::Approved lets anyone in"]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approval {
    /// The user's response.
    pub status: ApprovalStatus,
    /// The id of the request.
    pub uuid: Option<ApprovalId>,
    /// The user to whom the request was sent, if the service provides it.
    #[serde(rename = "svc_id")]
    pub user_id: Option<UserId>,
    /// When the request was created, in RFC 3339.
    pub created_at: Option<String>,
    /// When the request last changed, in RFC 3339.
    pub updated_at: Option<String>,
    /// When the user responded, in RFC 3339; `None` while the request is pending.
    pub processed_at: Option<String>,
    /// How long the request remains open, in seconds; 0 means for ever.
    pub seconds_to_expire: Option<u64>,
    /// Whether a device was notified of the request.
    pub notified: Option<bool>,
}

/// A user's response. Only [`Approved`](ApprovalStatus::Approved) lets a user in.
#[must_use = "only ApprovalStatus::Approved lets anyone in"]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// No response yet.
    Pending,
    /// The user approved the request.
    Approved,
    /// The user denied the request.
    Denied,
    /// The user did not respond in time.
    Expired,
    /// A status that this library does not know. It lets no user in.
    #[default]
    #[serde(other)]
    Unknown,
}

impl ApprovalStatus {
    /// The status's name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            ApprovalStatus::Unknown => "unknown",
            ApprovalStatus::Pending => "pending",
            ApprovalStatus::Approved => "approved",
            ApprovalStatus::Denied => "denied",
            ApprovalStatus::Expired => "expired",
        }
    }
}

impl Approval {
    /// Whether this user approved the request. Also false if the service does not provide the user.
    pub fn approved_by(&self, user_id: UserId) -> bool {
        self.status == ApprovalStatus::Approved && self.user_id == Some(user_id)
    }

    /// A record with only the status.
    pub fn new(status: ApprovalStatus) -> Approval {
        Approval {
            status,
            uuid: None,
            user_id: None,
            created_at: None,
            updated_at: None,
            processed_at: None,
            seconds_to_expire: None,
            notified: None,
        }
    }
}

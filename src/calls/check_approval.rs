//! `GET /push/{format}/approval_requests/{uuid}`

use super::{Call, Route};
use crate::model::{ApprovalId, UserId};
use crate::wire::Reply;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Asks how a user answered (interface 4.13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckApproval {
    /// The request's name, from [`super::CreateApproval`].
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

    /// Services have called the user's field `_svc_id`; where both names are there, they must agree.
    fn read(mut reply: Reply) -> Result<Approval> {
        let request = reply.body.get_mut("approval_request").and_then(Value::as_object_mut);
        if let Some(request) = request
            && let Some(other) = request.shift_remove("_svc_id")
            && *request.entry("svc_id").or_insert(other.clone()) != other
        {
            return Err(Error::invalid_response("it names two users"));
        }
        super::read::<CheckApproval>(reply)
    }
}

/// An approval request as the service knows it (interface 2.6).
///
/// Before an approval lets anyone in, ask [`approved_by`](Approval::approved_by) with the user who
/// logs in: an approved request of somebody else proves nothing.
#[must_use = "only ApprovalStatus::Approved lets anyone in"]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approval {
    /// How the user answered.
    pub status: ApprovalStatus,
    /// The request's name.
    pub uuid: Option<ApprovalId>,
    /// The user who was asked, where the service tells.
    #[serde(rename = "svc_id")]
    pub user_id: Option<UserId>,
    /// When the request was made, in RFC 3339.
    pub created_at: Option<String>,
    /// When the request last changed, in RFC 3339.
    pub updated_at: Option<String>,
    /// When the user answered, in RFC 3339; none while the request is pending.
    pub processed_at: Option<String>,
    /// How long the request can be answered, in seconds; 0 is for ever.
    pub seconds_to_expire: Option<u64>,
    /// Whether a device was told of the request.
    pub notified: Option<bool>,
}

/// How a user answered. Only [`Approved`](ApprovalStatus::Approved) lets anyone in.
#[must_use = "only ApprovalStatus::Approved lets anyone in"]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// Not answered yet.
    Pending,
    /// The user said yes.
    Approved,
    /// The user said no.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// A status that this library does not know, which lets nobody in.
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
    /// Whether this user said yes. False also when the service does not tell who did.
    pub fn approved_by(&self, user_id: UserId) -> bool {
        self.status == ApprovalStatus::Approved && self.user_id == Some(user_id)
    }

    /// A request of which only the status is known.
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

//! `GET /push/{format}/approval_requests/{uuid}`

use super::{Call, Logo, Route, USER_ID_ON_THE_WIRE, success_fields};
use crate::model::{ApprovalId, UserId};
use crate::wire::older::Shape;
use crate::wire::{Reply, loose, object};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The object of the body that holds the record.
const RECORD: &str = "approval_request";
/// The names of some fields on the wire, where `app_id` is a text of the service's own.
const INTERNAL: [(&str, &str); 3] =
    [("_app_serial_id", "app_id"), ("_app_name", "app_name"), ("_user_email", "user_email")];

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
    const OLDER: Shape = Shape::Same;
    const REPLY_OBJECT: Option<&'static str> = Some(RECORD);
    type Reply = Approval;

    /// Some services have used `_svc_id` for the user. If both fields are present, they must agree.
    fn read(mut reply: Reply) -> Result<Approval> {
        let mut question = None;
        let request = reply.body.get_mut(RECORD).and_then(Value::as_object_mut);
        if let Some(request) = request {
            for (internal, name) in INTERNAL {
                let value = request.shift_remove(internal);
                request.shift_remove(name);
                request.extend(value.map(|value| (name.to_owned(), value)));
            }
            if let Some(other) = request.shift_remove("_svc_id")
                && *request.entry(USER_ID_ON_THE_WIRE).or_insert(other.clone()) != other
            {
                return Err(Error::invalid_response("it contains two user ids"));
            }
            question = request.shift_remove("message");
        }
        // The message of the reply is not that of the request.
        let mut fields = success_fields(reply, Self::OLDER, false, Self::REPLY_OBJECT)?;
        fields.shift_remove("message");
        fields.extend(question.map(|question| ("message".to_owned(), question)));
        loose::read(fields).map_err(|mismatch| Error::invalid_response(mismatch.to_string()))
    }

    /// Writes the record with the fields that services have in it for their own use: clients in typed
    /// languages require all of them.
    fn write(answer: &Approval) -> Reply {
        let mut record = object(answer);
        for (internal, name) in INTERNAL {
            record.extend(record.get(name).cloned().map(|value| (internal.to_owned(), value)));
            record.shift_remove(name);
        }
        let text = |value: Option<String>| Value::String(value.unwrap_or_default());
        let user_id = record.get(USER_ID_ON_THE_WIRE).cloned().unwrap_or_default();
        record.insert("app_id".into(), text(answer.app_id.map(|id| id.to_string())));
        record.insert("user_id".into(), text(answer.user_id.map(|id| id.to_string())));
        record.insert("_id".into(), text(answer.uuid.as_ref().map(ApprovalId::to_string)));
        record.insert("_svc_id".into(), user_id);
        record.entry("processed_at").or_insert(Value::Null);
        record.entry("details").or_insert_with(|| Map::new().into());
        record.entry("hidden_details").or_insert_with(|| Map::new().into());
        record.entry("logos").or_insert_with(|| Vec::<Value>::new().into());
        Reply::new(200, json!({ RECORD: record, "success": true }))
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
    /// One of the user's e-mail addresses.
    pub user_email: Option<String>,
    /// The number of the application that sent the request.
    pub app_id: Option<u64>,
    /// The name of that application.
    pub app_name: Option<String>,
    /// The question shown to the user.
    pub message: Option<String>,
    /// The details shown to the user.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    /// The details not shown to the user.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub hidden_details: Map<String, Value>,
    /// The logos shown with the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logos: Vec<Logo>,
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
            user_email: None,
            app_id: None,
            app_name: None,
            message: None,
            details: Map::new(),
            hidden_details: Map::new(),
            logos: Vec::new(),
            created_at: None,
            updated_at: None,
            processed_at: None,
            seconds_to_expire: None,
            notified: None,
        }
    }
}

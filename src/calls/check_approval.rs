//! `GET /push/{format}/approval_requests/{uuid}`

use super::{Call, Logo, Route, USER_ID_ON_THE_WIRE, success_fields};
use crate::model::{ApprovalId, UserId};
use crate::wire::older::Shape;
use crate::wire::{Reply, loose, object, scalar};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The object of the body that holds the record.
const RECORD: &str = "approval_request";
/// The names of some fields on the wire.
const INTERNAL: [(&str, &str); 3] =
    [("_app_serial_id", "app_serial_id"), ("_app_name", "app_name"), ("_user_email", "user_email")];
/// The fields that decide nothing. Services differ in them, so one of an unexpected type is left out.
const SHOWN: [&str; 13] = [
    "user_email",
    "app_id",
    "app_serial_id",
    "app_name",
    "message",
    "details",
    "hidden_details",
    "logos",
    "created_at",
    "updated_at",
    "processed_at",
    "seconds_to_expire",
    "notified",
];

/// Requests a user's response to an approval request (interface 4.13).
///
/// [`Ok`] means that the request was found, not that the user approved it: call
/// [`Approval::approved_by`] on the reply.
///
/// # Errors
/// [`Error::Rejected`] if there is no such request.
#[cfg_attr(
    false,
    python = "Requests a user's response to an approval request (interface 4.13). Let a user in \
              only on [`Approval::approved_by`]."
)]
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
    const FOR_LOGIN: bool = true;
    type Reply = Approval;

    fn user_of(reply: &Approval) -> Option<UserId> {
        reply.user_id
    }

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
            if let Some(other) = request.shift_remove("_svc_id").filter(|other| !other.is_null()) {
                let id = request.entry(USER_ID_ON_THE_WIRE).or_insert(Value::Null);
                match (scalar(id), scalar(&other)) {
                    (None, _) if id.is_null() => *id = other,
                    (Some(id), Some(other)) if id == other => {}
                    _ => return Err(Error::invalid_response("it contains two user ids")),
                }
            }
            // A service that has no id to show writes an empty one.
            request.retain(|name, value| name != "app_id" || value.as_str() != Some(""));
            question = request.shift_remove("message");
        }
        // The reply has a message of its own, which is not the one of the request.
        let mut fields = success_fields(reply, Self::OLDER, false, Some((RECORD, Self::BESIDE)))?;
        fields.shift_remove("message");
        fields.extend(question.map(|question| ("message".to_owned(), question)));
        fields.retain(|name, value| !SHOWN.contains(&name.as_str()) || fits(name, value));
        let similar_id = fields.shift_remove("user_id").as_ref().and_then(similar);
        fields.shift_remove("similar_id");
        fields.extend(similar_id.map(|id| ("similar_id".to_owned(), id.into())));
        loose::read(fields).map_err(|mismatch| Error::invalid_response(mismatch.to_string()))
    }

    /// A record of another approval request proves nothing, even if the right user approved it.
    fn read_own(&self, reply: Reply) -> Result<Approval> {
        let approval = CheckApproval::read(reply)?;
        match &approval.uuid {
            Some(uuid) if *uuid != self.uuid => {
                Err(Error::invalid_response("it describes another approval request"))
            }
            _ => Ok(approval),
        }
    }

    /// Writes the record with the fields that services have in it for their own use: clients in typed
    /// languages require all of them.
    fn write(answer: &Approval) -> Reply {
        let mut record = object(answer);
        record.shift_remove("similar_id");
        for (internal, name) in INTERNAL {
            record.extend(record.get(name).cloned().map(|value| (internal.to_owned(), value)));
            record.shift_remove(name);
        }
        let text = |value: Option<String>| Value::String(value.unwrap_or_default());
        let user_id = record.get(USER_ID_ON_THE_WIRE).cloned().unwrap_or_default();
        record.insert("app_id".into(), text(answer.app_id.clone()));
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
#[cfg_attr(
    false,
    c(keeps, returned_by = "seconder_wait_for_approval seconder_respond_to_approval")
)]
#[cfg_attr(
    false,
    python = "The service's record of an approval request (interface 2.6).\n\n\
              It is truthy if, and only if, it is approved. A request that another user approved \
              proves nothing: check [`Approval::approved_by`] with the user who logs in."
)]
#[cfg_attr(false, python(base = "Decision"))]
#[must_use = "only ApprovalStatus::Approved lets anyone in"]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approval {
    /// The user's response.
    #[cfg_attr(
        false,
        c = "The user's response: one of SECONDER_APPROVAL_..., of which only \
             SECONDER_APPROVAL_APPROVED lets anyone in. SECONDER_APPROVAL_UNKNOWN for NULL."
    )]
    #[cfg_attr(false, cpp = "The user's response. Only ApprovalStatus::approved lets anyone in.")]
    pub status: ApprovalStatus,
    /// The id of the request.
    pub uuid: Option<ApprovalId>,
    /// The user to whom the request was sent. Compare it with the user who logs in, or call
    /// [`Approval::approved_by`].
    #[serde(rename = "svc_id")]
    pub user_id: Option<UserId>,
    /// One of the user's e-mail addresses.
    pub user_email: Option<String>,
    /// The id of the application that sent the request, a text of the service's own.
    pub app_id: Option<String>,
    /// The number of that application.
    pub app_serial_id: Option<u64>,
    /// The name of that application.
    pub app_name: Option<String>,
    /// The question shown to the user.
    pub message: Option<String>,
    /// The details shown to the user.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    /// The details not shown to the user.
    #[cfg_attr(false, python(no_repr))]
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub hidden_details: Map<String, Value>,
    /// The logos shown with the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logos: Vec<Logo>,
    /// When the request was created, in RFC 3339.
    #[cfg_attr(false, python(time))]
    pub created_at: Option<String>,
    /// When the request last changed, in RFC 3339.
    #[cfg_attr(false, python(time))]
    pub updated_at: Option<String>,
    /// When the user responded, in RFC 3339; `None` while the request is pending.
    #[cfg_attr(false, python(time))]
    pub processed_at: Option<String>,
    /// The time that the request remains open, in seconds; 0 means without an end.
    #[cfg_attr(
        false,
        c = "The time that the request remains open, in seconds, or [`FOREVER`]. 0 if the \
             service does not provide it."
    )]
    #[cfg_attr(false, c(zero))]
    pub seconds_to_expire: Option<u64>,
    /// True if a device was notified of the request.
    pub notified: Option<bool>,
    /// The record's field `user_id`, if it looks like a number; 0 if it is not the id of any user.
    /// Services use that field for ids of their own too, so it cannot confirm a user, but it can name
    /// another: see [`approved_unbound`](Approval::approved_unbound).
    #[cfg_attr(false, c(hidden))]
    #[cfg_attr(
        false,
        python = "The record's field `user_id`, if it looks like a number; 0 if it is not the id of \
                  any user. Services use that field for ids of their own too, so it cannot confirm \
                  a user, but it can name another: see `bound` of [`Approval::approved_by`]."
    )]
    pub similar_id: Option<u64>,
}

/// A user's response. Only [`Approved`](ApprovalStatus::Approved) lets a user in.
#[cfg_attr(false, c(constant = "of_approval"))]
#[cfg_attr(
    false,
    python = "A user's response. Only [`ApprovalStatus::Approved`] lets a user in, and is truthy."
)]
#[cfg_attr(false, python(truthy = "APPROVED"))]
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
    /// Returns whether this user approved the request. Also false if the service does not provide the user.
    pub fn approved_by(&self, user_id: UserId) -> bool {
        self.status == ApprovalStatus::Approved && self.user_id == Some(user_id)
    }

    /// Returns whether the request is approved, and the record names this user or none: for a service that
    /// provides only the status. **This is weaker than [`approved_by`](Approval::approved_by)**,
    /// which nothing replaces where the service provides the user.
    ///
    /// A record without a user says that somebody approved some request. If the uuid comes from the
    /// browser, in a form, a cookie that is not signed, or a URL, attackers approve a request of
    /// their own and present its uuid in another user's login. So keep the uuid on the server, in
    /// the session of the login for whose user it was created; take it from there alone; and delete
    /// it once it was used. A user is recognised under the names of
    /// [`Settings::names`](crate::Settings::names) only, so these must be the service's.
    pub fn approved_unbound(&self, user_id: UserId) -> bool {
        self.status == ApprovalStatus::Approved && self.names_no_other_than(user_id)
    }

    /// Returns whether the record names this user or none.
    pub(crate) fn names_no_other_than(&self, user_id: UserId) -> bool {
        let named = self.user_id.map(UserId::get).or(self.similar_id);
        named.is_none_or(|named| named == user_id.get())
    }

    /// A record with only the status.
    pub fn new(status: ApprovalStatus) -> Approval {
        Approval {
            status,
            uuid: None,
            user_id: None,
            user_email: None,
            app_id: None,
            app_serial_id: None,
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
            similar_id: None,
        }
    }
}

/// Returns whether a field has the type that the record has for it.
fn fits(name: &str, value: &Value) -> bool {
    let alone = [("status".to_owned(), "pending".into()), (name.to_owned(), value.clone())];
    loose::read::<Approval>(alone.into_iter().collect()).is_ok()
}

/// The id that the record's `user_id` looks like: 0 for a value that is no user's, such as `08`. `None`
/// for a text that is no number, which is an id of the service's own.
fn similar(value: &Value) -> Option<u64> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) if !text.chars().all(|c| c.is_numeric() || " +-.".contains(c)) => {
            return None;
        }
        other => scalar(other).unwrap_or_default(),
    };
    Some(text.parse::<UserId>().map_or(0, UserId::get))
}

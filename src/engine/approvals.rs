//! Approval requests: creating them, responding from a device, and notifying the application
//! (interface 4.12, 4.13 and 6).

use super::clock::{self, Now, Time};
use super::operations::approvals::{self, AddApproval, NewApproval, Request, Responded, Response};
use super::operations::audit::{Noted, Trail};
use super::operations::jobs;
use super::store;
use super::{Engine, View, devices, limits, rejections};
use crate::calls::*;
use crate::model::{ApprovalId, DeviceId, Secret};
use crate::{Error, Handle, Result, callback};
use serde_json::{Map, Value, json};
use std::time::Duration;

const CREATED: &str = "Approval request created.";
const CREATED_WITHOUT_DEVICE: &str = "Approval request created. Nobody can respond to it yet, because \
                                      the user has no device.";

/// A device's response to an approval request.
#[derive(Clone, Debug)]
pub struct RespondToApproval {
    /// The id of the request.
    pub uuid: ApprovalId,
    /// The device that responds.
    pub device_id: DeviceId,
    /// The secret that was issued to the device when it was registered.
    pub device_secret: Secret,
    /// The user's response.
    pub response: ApprovalResponse,
}

/// A user's response to an approval request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalResponse {
    /// The user approves.
    Approve,
    /// The user denies.
    Deny,
    /// The user denies, and reports that the request was not theirs. Further requests to the user
    /// are snoozed for 5 minutes.
    Report,
}

/// An approval request as a device shows it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The id of the request.
    pub uuid: ApprovalId,
    /// The question shown to the user.
    pub message: String,
    /// Further details shown to the user.
    pub details: Map<String, Value>,
    /// When the request expires, in Unix seconds; `None` means never.
    pub expires_at: Option<u64>,
}

impl ApprovalResponse {
    /// The response's name, which is the same in all language interfaces.
    pub const fn name(self) -> &'static str {
        match self {
            ApprovalResponse::Approve => "approve",
            ApprovalResponse::Deny => "deny",
            ApprovalResponse::Report => "report",
        }
    }
}

impl std::str::FromStr for ApprovalResponse {
    type Err = Error;
    fn from_str(name: &str) -> Result<ApprovalResponse> {
        let all = [Self::Approve, Self::Deny, Self::Report];
        all.into_iter()
            .find(|response| response.name() == name)
            .ok_or_else(|| Error::invalid_argument("response", "must be approve, deny or report"))
    }
}

impl Engine {
    /// The open requests of a device's user, oldest first.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the device's secret is wrong; otherwise see [`Error`].
    pub fn open_approvals(
        &self,
        device_id: DeviceId,
        device_secret: &Secret,
    ) -> Result<Vec<ApprovalRequest>> {
        let now = self.now();
        let device = self.device(device_id, device_secret)?;
        let (app, user_id) = (self.app.app_id, device.user_id.try_into()?);
        let open = self.look(move |view| approvals::open(view, app, user_id, now))?;
        let shown = |Request { row, uuid, .. }: Request| ApprovalRequest {
            uuid,
            message: row.message,
            details: serde_json::from_str(&row.details).unwrap_or_default(),
            expires_at: row.expires_at.map(|end| now.shown(end).seconds()),
        };
        Ok(open.into_iter().map(shown).collect())
    }

    /// Responds to an approval request from a device. The response is stored first; then the
    /// callback is posted. One that the application does not accept is posted again by
    /// [`Engine::run_jobs`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the device's secret is wrong, [`Error::Rejected`] if the
    /// request belongs to another user or is no longer pending; otherwise see [`Error`].
    pub fn respond_to_approval(&self, response: &RespondToApproval) -> Result<Approval> {
        let now = self.now();
        let device = self.device(response.device_id, &response.device_secret)?;
        let request = self.approval(&response.uuid, now)?;
        if request.row.user_id != device.user_id {
            return Err(rejections::approval_not_found(Some(&response.uuid)));
        }
        let approved = response.response == ApprovalResponse::Approve;
        let mut body = self.callback_body(&request.row, &device, response.response, now);
        self.app.names.body_to_wire(&mut body);
        // After the names, because they decide the order.
        callback::make_regular(&mut body);
        let body = body.to_string();
        let lease = self.lease(&jobs::callbacks(self.app.app_id));
        let job = self.nonce()?;
        let callback = self.app.callback_url.clone().map(|url| (job, url, body, lease));
        let reported = response.response == ApprovalResponse::Report;
        let decision = Response {
            app: self.app.app_id,
            user_id: request.user_id,
            uuid: response.uuid.clone(),
            device: response.device_id,
            approved,
            snoozed_until: reported.then(|| now.steady.plus(self.caps().snooze)),
            callback,
            now,
        };
        let trail = self.trail_of("respond_to_approval", now, None)?;
        let (user_id, verdict) = (request.user_id, verdict(response.response));
        let responded = self.run(move |view| {
            let responded = approvals::respond(view, &decision)?;
            if matches!(responded, Responded::Done(_)) {
                trail.note(view, Noted::of(user_id, verdict));
            }
            Ok(responded)
        })?;
        let callback = match responded {
            Responded::Done(callback) => callback,
            Responded::NotPending => return Err(rejections::approval_not_pending()),
            Responded::NoDevice => return Err(devices::wrong_secret()),
        };
        // One that the application does not accept is posted again later.
        callback.map(|callback| self.send(*callback)).transpose()?;
        Ok(self.shown(self.approval(&response.uuid, now)?))
    }

    fn approval(&self, uuid: &ApprovalId, now: Now) -> Result<Request> {
        let (app, wanted) = (self.app.app_id, uuid.clone());
        let found = self.look(move |view| approvals::find(view, app, &wanted, now))?;
        found.ok_or_else(|| rejections::approval_not_found(Some(uuid)))
    }

    /// The body of the callback. Typed receivers require every field of the recorded ones: the
    /// device's id is a text, and there is a signature of the device, which is empty, because
    /// devices do not sign here.
    fn callback_body(
        &self,
        row: &store::Approval,
        device: &store::Device,
        response: ApprovalResponse,
        now: Now,
    ) -> Value {
        let status = match response {
            ApprovalResponse::Approve => ApprovalStatus::Approved,
            ApprovalResponse::Deny | ApprovalResponse::Report => ApprovalStatus::Denied,
        };
        json!({
            "svc_id": row.user_id,
            "device_uuid": device.device_id.to_string(),
            "callback_action": "approval_request_status",
            "uuid": row.uuid,
            "status": status,
            "approval_request": {
                "transaction": {
                    "details": stored(&row.details),
                    "hidden_details": stored(&row.hidden_details),
                    "message": row.message,
                    "status": status,
                    "uuid": row.uuid,
                    "created_at_time": row.created_at.seconds(),
                    "device_signing_time": now.clock.seconds(),
                    "encrypted": false,
                    "flagged": response == ApprovalResponse::Report,
                },
                "expiration_timestamp": row.expires_at.map(|end| now.shown(end).seconds()),
                "logos": stored(&row.logos),
                "app_id": self.app.app_id,
            },
            "signature": "",
            "device": {
                "id": device.device_id,
                "os_type": device.os_type,
                "registration_device_id": device.device_id,
                "registration_date": device.registered_at.seconds(),
                "last_account_recovery_at": null,
            },
        })
    }
}

/// What the audit says of a response.
fn verdict(response: ApprovalResponse) -> &'static str {
    match response {
        ApprovalResponse::Approve => "approved",
        ApprovalResponse::Deny => "denied",
        ApprovalResponse::Report => "reported",
    }
}

/// A stored object or list.
fn stored(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

impl Handle<CreateApproval> for Engine {
    fn handle(&self, call: &CreateApproval) -> Result<ApprovalCreated> {
        let now = self.begin();
        let seconds = call.seconds_to_expire.unwrap_or(limits::APPROVAL_LIFE);
        let uuid: ApprovalId = clock::uuid(self.random())?.parse()?;
        let approval = NewApproval {
            app: self.app.app_id,
            user_id: call.user_id,
            uuid: uuid.clone(),
            message: call.message.as_str().to_owned(),
            details: json!(call.details).to_string(),
            hidden_details: json!(call.hidden_details).to_string(),
            logos: json!(call.logos).to_string(),
            seconds_to_expire: seconds,
            expires_at: (seconds > 0).then(|| now.steady.plus(Duration::from_secs(seconds))),
            most_open: self.caps().open_approvals,
            now,
        };
        let user_id = call.user_id;
        let decide = move |view: &mut View, trail: &mut Trail| {
            let added = approvals::add(view, &approval)?;
            match added {
                AddApproval::Added { .. } => trail.note(view, Noted::of(user_id, "created")),
                AddApproval::NoUser => {}
                AddApproval::Snoozed(_) => {
                    let noted = Noted { over: Some("snooze"), ..Noted::of(user_id, "refused") };
                    trail.refuse(noted);
                }
            }
            Ok(added)
        };
        let trail = self.trail::<CreateApproval>(now, None)?;
        match self.run_refusable(trail, &user_id.to_string(), decide)? {
            AddApproval::Added { answerable } => {
                let message = if answerable { CREATED } else { CREATED_WITHOUT_DEVICE };
                Ok(ApprovalCreated { message: Some(message.into()), uuid })
            }
            AddApproval::NoUser => Err(rejections::user_not_found()),
            AddApproval::Snoozed(until) => {
                let message = "The user said that the last request was not theirs";
                rejections::wait(message, until.after(now.steady))
            }
        }
    }
}

impl Handle<CheckApproval> for Engine {
    fn handle(&self, call: &CheckApproval) -> Result<Approval> {
        let now = self.begin();
        Ok(self.shown(self.approval(&call.uuid, now)?))
    }
}

impl Engine {
    /// A request as shown to its application.
    fn shown(&self, Request { row, user_id, uuid, user_email }: Request) -> Approval {
        let status = match row.status.as_str() {
            "approved" => ApprovalStatus::Approved,
            "denied" => ApprovalStatus::Denied,
            "expired" => ApprovalStatus::Expired,
            "pending" => ApprovalStatus::Pending,
            _ => ApprovalStatus::Unknown,
        };
        let mut approval = Approval::new(status);
        approval.uuid = Some(uuid);
        approval.user_id = Some(user_id);
        approval.user_email = Some(user_email);
        approval.app_id = u64::try_from(self.app.app_id).ok();
        approval.app_name = Some(self.app.name.clone());
        approval.message = Some(row.message);
        approval.details = serde_json::from_str(&row.details).unwrap_or_default();
        approval.hidden_details = serde_json::from_str(&row.hidden_details).unwrap_or_default();
        approval.logos = serde_json::from_str(&row.logos).unwrap_or_default();
        approval.created_at = Some(row.created_at.rfc3339());
        approval.updated_at = Some(row.updated_at.rfc3339());
        approval.processed_at = row.processed_at.map(Time::rfc3339);
        approval.seconds_to_expire = Some(row.seconds_to_expire);
        approval.notified = Some(false);
        approval
    }
}

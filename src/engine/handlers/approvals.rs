//! Approval requests: creating them, responding from a device, and notifying the application
//! (interface 4.12, 4.13 and 6).

pub(in crate::engine) mod kept_json;

use super::devices;
use crate::calls::*;
use crate::engine::core::Engine;
use crate::engine::model::clock::{self, Now, Time};
use crate::engine::model::rejections;
use crate::engine::operations::approvals::{
    self, AddApproval, NewApproval, NewCallback, Request, Responded, Response, Signed,
};
use crate::engine::operations::audit::{AuditVerdict, Noted, Trail};
use crate::engine::operations::pushes::NewPushes;
use crate::engine::store;
use crate::engine::store::View;
use crate::model::{ApprovalId, DeviceId, Secret};
use crate::{Error, Handle, Result, callback};
use serde_json::{Map, Value, json};
use std::time::Duration;
use zeroize::Zeroizing;

/// The audit reason of a response with a wrong number.
const WRONG_NUMBER: &str = "wrong_number";
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
    /// The number that the user typed, if the request has one.
    pub number: Option<Secret>,
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
    /// The time at which the request expires, in Unix seconds; `None` means never.
    pub expires_at: Option<u64>,
    /// The number of digits that the user has to type to approve it; 0 if there is no number.
    pub number_digits: usize,
}

/// The device that responds, and its response.
pub(in crate::engine) struct Responder {
    pub(in crate::engine) device: store::Device,
    /// The number that the user typed.
    pub(in crate::engine) number: Option<Secret>,
    /// The response that a device with a key has signed.
    pub(in crate::engine) signed: Option<Signed>,
}

/// The outcome of a response.
pub(in crate::engine) enum Decision {
    Done,
    /// The number is wrong, and can be typed once more.
    WrongNumber,
    /// The number was wrong for the last time, so the request is denied.
    DeniedByNumber,
    NotPending,
    /// The device was removed.
    NoDevice,
}

impl ApprovalResponse {
    /// Returns the response's name, which is the same in all language interfaces.
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
    /// Returns the open requests of a device's user, oldest first.
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
        let shown = |request: Request| {
            let number_digits = request.digits()?;
            let Request { row, uuid, .. } = request;
            Ok(ApprovalRequest {
                uuid,
                details: kept_json::details(&row)?,
                message: row.message,
                expires_at: row.expires_at.map(|end| now.shown(end).seconds()),
                number_digits,
            })
        };
        open.into_iter().map(shown).collect()
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
        let responder = Responder { device, number: response.number.clone(), signed: None };
        match self.decide(&request, responder, response.response, now)? {
            Decision::Done => self.shown(self.approval(&response.uuid, now)?),
            Decision::WrongNumber => Err(rejections::wrong_number(true)),
            Decision::DeniedByNumber => Err(rejections::wrong_number(false)),
            Decision::NotPending => Err(rejections::approval_not_pending()),
            Decision::NoDevice => Err(devices::wrong_secret()),
        }
    }

    /// Decides a request by the response of a device, and sends the callback. One that the application does not
    /// accept is posted again later.
    pub(in crate::engine) fn decide(
        &self,
        request: &Request,
        responder: Responder,
        response: ApprovalResponse,
        now: Now,
    ) -> Result<Decision> {
        let digits = if response == ApprovalResponse::Approve { request.digits()? } else { 0 };
        check_number(responder.number.as_ref(), digits)?;
        let callback = match self.app.settings.callback_url.clone() {
            Some(url) => Some(NewCallback {
                job_id: self.nonce()?,
                url,
                body: self.callback_body(&request.row, &responder, response, now)?,
                // The one who typed it may not be the one who logs in.
                body_of_wrong_number: self.callback_body(
                    &request.row,
                    &responder,
                    ApprovalResponse::Report,
                    now,
                )?,
                lease: self.callback_lane(self.app.app_id).lease(),
            }),
            None => None,
        };
        let reported = response == ApprovalResponse::Report;
        let decision = Response {
            app: self.app.app_id,
            user_id: request.user_id,
            uuid: request.uuid.clone(),
            device: responder.device.device_id.try_into()?,
            approved: response == ApprovalResponse::Approve,
            number: responder.number,
            signed: responder.signed,
            snoozed_until: reported.then(|| now.steady.plus(self.caps().snooze)),
            callback,
            now,
        };
        let trail = self.trail_of("respond_to_approval", now, None)?;
        let (user_id, verdict) = (request.user_id, verdict(response));
        let responded = self.run(move |view| {
            let responded = approvals::respond(view, &decision)?;
            let noted = |verdict| Noted::of(user_id, verdict);
            match &responded {
                Responded::Done(_) => trail.note(view, noted(verdict)),
                Responded::WrongNumber => {
                    trail.note(view, noted(AuditVerdict::Wrong).because(Some(WRONG_NUMBER)));
                }
                Responded::DeniedByNumber(_) => {
                    trail.note(view, noted(AuditVerdict::Denied).because(Some(WRONG_NUMBER)));
                }
                Responded::Repeated | Responded::NotPending | Responded::NoDevice => {}
            }
            Ok(responded)
        })?;
        let (decision, callback) = match responded {
            Responded::Done(callback) => (Decision::Done, callback),
            Responded::DeniedByNumber(callback) => (Decision::DeniedByNumber, callback),
            Responded::WrongNumber | Responded::Repeated => (Decision::WrongNumber, None),
            Responded::NotPending => (Decision::NotPending, None),
            Responded::NoDevice => (Decision::NoDevice, None),
        };
        callback.map(|callback| self.send(*callback)).transpose()?;
        Ok(decision)
    }

    fn approval(&self, uuid: &ApprovalId, now: Now) -> Result<Request> {
        let found = self.find_approval(uuid, now)?;
        found.ok_or_else(|| rejections::approval_not_found(Some(uuid)))
    }

    /// Returns a request of the application, if there is one.
    pub(in crate::engine) fn find_approval(
        &self,
        uuid: &ApprovalId,
        now: Now,
    ) -> Result<Option<Request>> {
        let (app, wanted) = (self.app.app_id, uuid.clone());
        self.look(move |view| approvals::find(view, app, &wanted, now))
    }

    /// The body of the callback. Typed receivers require every field of the recorded ones: the
    /// device's id is a text, and there is a signature of the device, which is empty for one that has
    /// a secret.
    fn callback_body(
        &self,
        row: &store::Approval,
        Responder { device, signed, .. }: &Responder,
        response: ApprovalResponse,
        now: Now,
    ) -> Result<String> {
        let status = match response {
            ApprovalResponse::Approve => ApprovalStatus::Approved,
            ApprovalResponse::Deny | ApprovalResponse::Report => ApprovalStatus::Denied,
        };
        let signature = signed.as_ref().map(|signed| signed.signature.clone());
        let mut body = json!({
            "svc_id": row.user_id,
            "device_uuid": device.device_id.to_string(),
            "callback_action": "approval_request_status",
            "uuid": row.uuid,
            "status": status,
            "approval_request": {
                "transaction": {
                    "details": kept_json::details(row)?,
                    "hidden_details": kept_json::hidden_details(row)?,
                    "message": row.message,
                    "status": status,
                    "uuid": row.uuid,
                    "created_at_time": row.created_at.seconds(),
                    "device_signing_time": now.clock.seconds(),
                    "encrypted": false,
                    "flagged": response == ApprovalResponse::Report,
                },
                "expiration_timestamp": row.expires_at.map(|end| now.shown(end).seconds()),
                "logos": kept_json::logos(row)?,
                "app_id": self.app.app_id,
            },
            "signature": signature.unwrap_or_default(),
            "device": {
                "id": device.device_id,
                "os_type": device.os_type,
                "registration_device_id": device.device_id,
                "registration_date": device.registered_at.seconds(),
                "last_account_recovery_at": null,
            },
        });
        self.app.settings.names.body_to_wire(&mut body);
        // After the names, because they decide the order.
        callback::make_regular(&mut body);
        Ok(body.to_string())
    }
}

/// Checks the form of a typed number. A number that is not needed would be signed and kept as evidence, with any
/// content; and a missing one is not a guess.
fn check_number(number: Option<&Secret>, digits: usize) -> Result<()> {
    let is_right = match number {
        None => digits == 0,
        Some(number) => {
            let number = number.expose().as_bytes();
            digits > 0 && number.len() == digits && number.iter().all(u8::is_ascii_digit)
        }
    };
    is_right.then_some(()).ok_or_else(|| {
        Error::invalid_argument(
            "number",
            "must be the number that the login shows, to approve a request that has one, and nothing otherwise",
        )
    })
}

/// Returns the verdict of a response in the audit.
fn verdict(response: ApprovalResponse) -> AuditVerdict {
    match response {
        ApprovalResponse::Approve => AuditVerdict::Approved,
        ApprovalResponse::Deny => AuditVerdict::Denied,
        ApprovalResponse::Report => AuditVerdict::Reported,
    }
}

/// Details as devices show them: pairs of texts, in order.
fn shown(details: &Map<String, Value>) -> Value {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    details.iter().map(|(name, value)| json!([name, text(value)])).collect()
}

impl Engine {
    /// Returns the pictures of a request: its own, or else the application's.
    fn logos(&self, call: &CreateApproval) -> Vec<Logo> {
        match (&call.logos[..], &self.app.settings.logo) {
            ([], Some(url)) => vec![Logo { res: "default".into(), url: url.as_str().to_owned() }],
            (own, _) => own.to_vec(),
        }
    }
}

/// Returns the digits of the number of a request. An adapter that asks for two must not lower what the operator has set.
fn digits(asked: Option<u64>, least: u64) -> u64 {
    asked.map_or(least, |asked| if asked == 0 { 0 } else { asked.max(least) })
}

impl Handle<CreateApproval> for Engine {
    fn handle(&self, call: &CreateApproval) -> Result<ApprovalCreated> {
        let now = self.begin();
        let seconds = call.seconds_to_expire.unwrap_or(self.app.settings.approval_seconds);
        let length = digits(call.number_digits, self.app.settings.limits.number_digits.into());
        let number = clock::digits(self.random(), u8::try_from(length).unwrap_or(0))?;
        let number = Zeroizing::new(number);
        let uuid: ApprovalId = clock::uuid(self.random())?.parse()?;
        let approval = NewApproval {
            app: self.app.app_id,
            user_id: call.user_id,
            uuid: uuid.clone(),
            message: call.message.as_str().to_owned(),
            details: json!(call.details).to_string(),
            hidden_details: json!(call.hidden_details).to_string(),
            logos: json!(self.logos(call)).to_string(),
            seconds_to_expire: seconds,
            expires_at: (seconds > 0).then(|| now.steady.plus(Duration::from_secs(seconds))),
            most_open: self.caps().open_approvals,
            application: self.app.settings.name.clone(),
            shown_details: shown(&call.details),
            number: number.clone(),
            pushes: NewPushes {
                app: self.app.app_id,
                first_job: self.nonce()?,
                lease: self.push_lane().lease(),
                now,
            },
            most_pushes: self.caps().pushes,
            now,
        };
        let user_id = call.user_id;
        let decide = move |view: &mut View, trail: &mut Trail| {
            let added = approvals::add(view, &approval)?;
            let noted = |verdict| Noted::of(user_id, verdict);
            match &added {
                AddApproval::Added { over_limit, .. } => {
                    trail.note(view, noted(AuditVerdict::Created));
                    if *over_limit {
                        let over = Some("pushes_5_minutes");
                        trail.next().note(view, Noted { over, ..noted(AuditVerdict::Refused) });
                    }
                }
                AddApproval::NoUser => {}
                AddApproval::Snoozed(_) => {
                    trail.refuse(Noted { over: Some("snooze"), ..noted(AuditVerdict::Refused) });
                }
                AddApproval::Barred(barred) => {
                    trail.refuse(noted(AuditVerdict::Unset).barred(*barred));
                }
            }
            Ok(added)
        };
        let trail = self.trail::<CreateApproval>(now, None)?;
        match self.run_refusable(trail, &user_id.to_string(), decide)? {
            AddApproval::Added { answerable, pushes, .. } => {
                self.hand_over(pushes);
                let message = if answerable { CREATED } else { CREATED_WITHOUT_DEVICE };
                let mut created = ApprovalCreated::new(uuid);
                created.message = Some(message.into());
                created.number = (!number.is_empty()).then(|| Secret::new(number.to_string()));
                Ok(created)
            }
            AddApproval::NoUser => Err(rejections::user_not_found()),
            AddApproval::Snoozed(until) => {
                let message = "The user said that the last request was not theirs";
                rejections::wait(message, Some("snooze"), until.after(now.steady))
            }
            AddApproval::Barred(barred) => rejections::barred(barred, now),
        }
    }
}

impl Handle<CheckApproval> for Engine {
    fn handle(&self, call: &CheckApproval) -> Result<Approval> {
        let now = self.begin();
        self.shown(self.approval(&call.uuid, now)?)
    }
}

impl Engine {
    /// A request as shown to its application.
    pub(in crate::engine) fn shown(
        &self,
        Request { row, user_id, uuid, user_email }: Request,
    ) -> Result<Approval> {
        let mut approval = Approval::new(approvals::status(&row));
        approval.uuid = Some(uuid);
        approval.user_id = Some(user_id);
        approval.user_email = Some(user_email).filter(|email| !email.is_empty());
        approval.app_id = Some(self.app.app_id.to_string());
        approval.app_serial_id = u64::try_from(self.app.app_id).ok();
        approval.app_name = Some(self.app.settings.name.clone());
        approval.details = kept_json::details(&row)?;
        approval.hidden_details = kept_json::hidden_details(&row)?;
        approval.logos = kept_json::logos(&row)?;
        approval.message = Some(row.message);
        approval.created_at = Some(row.created_at.rfc3339());
        approval.updated_at = Some(row.updated_at.rfc3339());
        approval.processed_at = row.processed_at.map(Time::rfc3339);
        approval.seconds_to_expire = Some(row.seconds_to_expire);
        approval.notified = Some(row.notified);
        Ok(approval)
    }
}

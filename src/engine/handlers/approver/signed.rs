//! Requests that a device has signed.

use super::super::approvals::{ApprovalResponse, Decision, Responder};
use super::invitations::{language, name};
use super::published::{Published, hash_of, is_now};
use super::pushes::Subscription;
use super::refused::Refused;
use crate::calls::ApprovalStatus;
use crate::engine::core::Engine;
use crate::engine::model::clock::Now;
use crate::engine::operations::approvals::{self, Request, Signed};
use crate::engine::operations::approver::DeviceChange;
use crate::engine::operations::{approver as stored, factors, pushes, user};
use crate::engine::store;
use crate::model::{ApprovalId, DeviceId, Secret, UserId};
use crate::{Result, webpush};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::fmt;

/// A request of a device, and the signature of its method, path, body and time.
#[derive(Clone, Copy)]
pub struct SignedRequest<'a> {
    /// The device's public id.
    pub device: &'a str,
    /// The time of the signature, in Unix seconds.
    pub time: u64,
    /// The signature.
    pub signature: &'a [u8],
    /// The method.
    pub method: &'a str,
    /// The path and the query, after [`APPROVER_PATH`](super::APPROVER_PATH).
    pub path: &'a str,
    /// The body; empty if the request has no body.
    pub body: &'a [u8],
}

/// A response to an approval request, signed by a device.
#[derive(Clone)]
pub struct SignedResponse {
    /// The device's public id.
    pub device: String,
    /// The id of the request.
    pub uuid: ApprovalId,
    /// The user's response.
    pub response: ApprovalResponse,
    /// The number that the user typed.
    pub number: Option<Secret>,
    /// The SHA-256 of the text that the device has shown, in hexadecimal digits.
    pub shown: String,
    /// The time of the signature, in Unix seconds.
    pub time: u64,
    /// The signature.
    pub signature: Vec<u8>,
}

// A signature can be sent again for a minute, so no log may contain one.
impl fmt::Debug for SignedRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SignedRequest { device, method, path, .. } = self;
        let mut shown = f.debug_struct("SignedRequest");
        shown.field("device", device).field("method", method).field("path", path);
        shown.finish_non_exhaustive()
    }
}

impl fmt::Debug for SignedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SignedResponse { device, uuid, response, .. } = self;
        let mut shown = f.debug_struct("SignedResponse");
        shown.field("device", device).field("uuid", uuid).field("response", response);
        shown.finish_non_exhaustive()
    }
}

/// A device whose signature was right.
pub struct SignedDevice {
    engine: Engine,
    approver: Published,
    user_id: UserId,
    device_id: DeviceId,
    row: store::Device,
}

/// An approval request as a device shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownRequest {
    /// Its id.
    pub uuid: ApprovalId,
    /// The text that is shown, and signed: a JSON object.
    pub shown: String,
    /// The time at which it expires, in Unix seconds; `None` means never.
    pub expires: Option<u64>,
    /// The number of digits that the user has to type to approve it; 0 if there is no number.
    pub number_digits: usize,
    /// The status of the request.
    pub status: ApprovalStatus,
    /// The time of the response, in Unix seconds.
    pub decided: Option<u64>,
    /// True if this device responded.
    pub by_this_device: bool,
}

/// The information that a device gets about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceOverview {
    /// The device's public id.
    pub device: String,
    /// The name that its user gave it.
    pub name: String,
    /// The name of the application.
    pub application: String,
    /// The e-mail of the user, masked.
    pub account: String,
    /// The language of its messages.
    pub language: String,
    /// The public key of messages to push services.
    pub push_key: Vec<u8>,
    /// All devices of the user that have a key, the oldest first.
    pub devices: Vec<OtherDevice>,
}

/// A device of the same user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtherDevice {
    /// The device's public id.
    pub device: String,
    /// The name that its user gave it.
    pub name: String,
    /// The time of its registration, in Unix seconds.
    pub created: u64,
    /// True for the device that asks.
    pub this: bool,
    /// True if it has a subscription to push messages.
    pub push: bool,
}

/// The settings that a device changes of itself. `None` leaves one unchanged.
#[derive(Clone, Debug, Default)]
pub struct DeviceSettings {
    /// The name that its user gave it. 1 to 64 characters.
    pub name: Option<String>,
    /// The language of its messages, as in BCP 47.
    pub language: Option<String>,
    /// Its subscription to push messages; `Some(None)` for none.
    pub subscription: Option<Option<Subscription>>,
}

impl Engine {
    /// Returns the device that has signed a request.
    ///
    /// # Errors
    /// [`Refused::Unauthorized`] for a device that is not registered and for a wrong signature, which cannot be
    /// distinguished; [`Refused::Clock`]; [`Refused::Failed`].
    pub fn device_that_signed(&self, request: &SignedRequest<'_>) -> Result<SignedDevice, Refused> {
        let text = |origin: &str| {
            format!(
                "seconder-call-v1\n{origin}\n{}\n{} {}\n{}\n{}",
                request.device,
                request.method,
                request.path,
                hash_of(request.body),
                request.time,
            )
        };
        let (signer, _) =
            self.signer(request.device, text, request.signature, request.time, self.now())?;
        Ok(signer)
    }

    /// Responds to an approval request by a device that has signed the response. The response is stored first;
    /// then the callback is sent.
    ///
    /// # Errors
    /// Why nothing is changed; but the first wrong number is counted, and the second one denies the request.
    pub fn respond_signed(&self, response: &SignedResponse) -> Result<ApprovalStatus, Refused> {
        let now = self.now();
        let text = |origin: &str| {
            format!(
                "seconder-response-v1\n{origin}\n{}\n{}\n{}\n{}\n{}\n{}",
                response.device,
                response.uuid,
                response.response.name(),
                response.number.as_ref().map_or("-", Secret::expose),
                response.shown,
                response.time,
            )
        };
        let (signer, text) =
            self.signer(&response.device, text, &response.signature, response.time, now)?;
        let request = signer.find(&response.uuid, now)?;
        let status = approvals::status(&request.row);
        if status != ApprovalStatus::Pending {
            return Err(Refused::NotPending(status));
        }
        if hash_of(request.row.shown.as_bytes()) != response.shown {
            return Err(Refused::Changed);
        }
        let [signature, key] = [&response.signature, &signer.row.public_key]
            .map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        let responder = Responder {
            number: response.number.clone(),
            signed: Some(Signed { text, signature, key }),
            device: signer.row,
        };
        match signer.engine.decide(&request, responder, response.response, now)? {
            Decision::Done if response.response == ApprovalResponse::Approve => {
                Ok(ApprovalStatus::Approved)
            }
            Decision::Done => Ok(ApprovalStatus::Denied),
            Decision::WrongNumber => Err(Refused::WrongNumber),
            Decision::DeniedByNumber => Err(Refused::WrongNumberDenied),
            Decision::NoDevice => Err(Refused::Unauthorized),
            Decision::NotPending => {
                // Another device was a moment sooner.
                let request = signer.engine.find_approval(&response.uuid, now)?;
                let status = request.map_or(ApprovalStatus::Unknown, |r| approvals::status(&r.row));
                Err(Refused::NotPending(status))
            }
        }
    }

    /// Returns the device that has signed a text, which contains the origin of the service, and the
    /// text.
    fn signer(
        &self,
        device: &str,
        text: impl Fn(&str) -> String,
        signature: &[u8],
        time: u64,
        now: Now,
    ) -> Result<(SignedDevice, String), Refused> {
        let (app, id) = parse(device).ok_or(Refused::Unauthorized)?;
        let found = self.look(move |view| {
            let approver = stored::find(view)?;
            Ok((approver, factors::device(view, app, id)?))
        })?;
        let approver = found.0.and_then(Published::of).ok_or(Refused::Unauthorized)?;
        let row = found.1.filter(stored::has_key);
        let text = text(&approver.origin());
        // A device that does not exist takes as long as one that does.
        let key = match &row {
            Some(row) => webpush::check_length(&row.public_key)?,
            None => webpush::GENERATOR,
        };
        let is_right = webpush::verify_p256(&key, text.as_bytes(), signature);
        let (Some(row), true) = (row, is_right) else { return Err(Refused::Unauthorized) };
        if !is_now(time, now) {
            return Err(Refused::Clock);
        }
        let app = self.application(app)?.ok_or(Refused::Unauthorized)?;
        let user_id = row.user_id.try_into()?;
        let signer = SignedDevice { engine: self.of(app), approver, user_id, device_id: id, row };
        Ok((signer, text))
    }
}

/// Returns the application and the device of a text by which a device is known.
fn parse(text: &str) -> Option<(i64, DeviceId)> {
    let (app, id) = text.split_once('.')?;
    let (app, id): (i64, DeviceId) = (app.parse().ok()?, id.parse().ok()?);
    (known_as(app, id.get()) == text).then_some((app, id))
}

/// Returns the public id of a device.
fn known_as(app: i64, device: u64) -> String {
    format!("{app}.{device}")
}

impl SignedDevice {
    /// Returns the open requests of the user, the oldest first.
    ///
    /// # Errors
    /// [`Refused::Failed`].
    pub fn requests(&self) -> Result<Vec<ShownRequest>, Refused> {
        let now = self.engine.now();
        let (app, user_id) = (self.engine.app.app_id, self.user_id);
        let open = self.engine.look(move |view| approvals::open(view, app, user_id, now))?;
        open.into_iter().map(|request| Ok(self.shown(request, now)?)).collect()
    }

    /// Returns a request of the user, also one that is no longer open.
    ///
    /// # Errors
    /// [`Refused::NotFound`], [`Refused::Failed`].
    pub fn request(&self, uuid: &ApprovalId) -> Result<ShownRequest, Refused> {
        let now = self.engine.now();
        Ok(self.shown(self.find(uuid, now)?, now)?)
    }

    /// Returns the URL of the picture of a request of the user, if it has one.
    ///
    /// # Errors
    /// [`Refused::NotFound`], [`Refused::Failed`].
    pub fn logo(&self, uuid: &ApprovalId) -> Result<Option<String>, Refused> {
        let request = self.find(uuid, self.engine.now())?;
        let logos = super::super::approvals::kept_json::logos(&request.row)?;
        // Shown at 48 points, which are 144 pixels on most phones.
        let of = |res: &str| logos.iter().find(|logo| logo.res == res);
        Ok(["med", "default"].into_iter().find_map(of).map(|logo| logo.url.clone()))
    }

    fn find(&self, uuid: &ApprovalId, now: Now) -> Result<Request, Refused> {
        let found = self.engine.find_approval(uuid, now)?;
        found.filter(|request| request.user_id == self.user_id).ok_or(Refused::NotFound)
    }

    fn shown(&self, request: Request, now: Now) -> Result<ShownRequest> {
        let number_digits = request.digits()?;
        let Request { row, uuid, .. } = request;
        Ok(ShownRequest {
            uuid,
            expires: row.expires_at.map(|end| now.shown(end).seconds()),
            number_digits,
            status: approvals::status(&row),
            decided: row.processed_at.map(|time| time.seconds()),
            by_this_device: row.device_id == Some(self.row.device_id),
            shown: row.shown,
        })
    }

    /// Returns the device's own data, and the other devices of the user.
    ///
    /// # Errors
    /// [`Refused::Unauthorized`] if it was removed, [`Refused::Failed`].
    pub fn overview(&self) -> Result<DeviceOverview, Refused> {
        let (app, user_id, id) = (self.engine.app.app_id, self.user_id, self.device_id);
        let found = self.engine.look(move |view| {
            let account = user(view, app, user_id)?.map(|user| user.account().to_owned());
            Ok(account.zip(stored::devices(view, user_id, id)?))
        })?;
        let (account, devices) = found.ok_or(Refused::Unauthorized)?;
        let this = devices.iter().find(|row| row.device_id == id.get());
        let this = this.unwrap_or(&self.row).clone();
        let devices = devices.into_iter().filter(stored::has_key);
        Ok(DeviceOverview {
            device: known_as(app, id.get()),
            name: this.name.unwrap_or_default(),
            application: self.engine.app.settings.name.clone(),
            account: approvals::masked(&account),
            language: this.language.unwrap_or_default(),
            push_key: self.approver.push_key()?.public_point().to_vec(),
            devices: devices.map(|row| self.other(row)).collect(),
        })
    }

    fn other(&self, row: store::Device) -> OtherDevice {
        OtherDevice {
            device: known_as(self.engine.app.app_id, row.device_id),
            created: row.registered_at.seconds(),
            this: row.device_id == self.row.device_id,
            push: pushes::has_subscription(&row),
            name: row.name.unwrap_or_default(),
        }
    }

    /// Changes the stored settings of the device.
    ///
    /// # Errors
    /// [`Refused::Failed`] if something is invalid, and nothing is changed; [`Refused::Unauthorized`] if it was
    /// removed.
    pub fn change(&self, settings: &DeviceSettings) -> Result<(), Refused> {
        let push = match &settings.subscription {
            None => None,
            Some(None) => Some(String::new()),
            Some(Some(subscription)) => Some(self.engine.checked(subscription)?),
        };
        let change = DeviceChange {
            name: settings.name.as_deref().map(name).transpose()?,
            language: settings.language.as_deref().map(language).transpose()?,
            push,
        };
        let (user_id, id) = (self.user_id, self.device_id);
        let changed =
            self.engine.run(move |view| stored::change_device(view, user_id, id, &change))?;
        changed.then_some(()).ok_or(Refused::Unauthorized)
    }

    /// Removes the device.
    ///
    /// # Errors
    /// [`Refused::Unauthorized`] if it was removed already, [`Refused::Failed`].
    pub fn remove(self) -> Result<(), Refused> {
        let now = self.engine.now();
        let (app, user_id, id) = (self.engine.app.app_id, self.user_id, self.device_id);
        let trail = self.engine.trail_of("remove_device", now, None)?;
        let removed = self.engine.run(move |view| {
            let removed = factors::remove_device(view, app, user_id, id)?;
            if removed == factors::Removed::Done {
                trail.done(view, user_id);
            }
            Ok(removed)
        })?;
        match removed {
            factors::Removed::Done => Ok(()),
            _ => Err(Refused::Unauthorized),
        }
    }
}

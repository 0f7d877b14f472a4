//! Approval requests and the callbacks that report the responses.

use super::audit::Trail;
use super::jobs::carried::What;
use super::jobs::job::{self, Claimed, NewJob};
use super::lookups::{self, Kind};
use super::pushes::{self, About, NewPushes};
use super::{AppId, Subject, browsers, budgets, count, user};
use crate::calls::ApprovalStatus;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::factors::Barred;
use crate::engine::model::jobs::JobKind;
use crate::engine::model::limits::{APPROVAL_LIFE, CALLBACK_LIFE, WRONG_NUMBERS};
use crate::engine::store::{Approval, Decided, Device, OpenApproval, View};
use crate::model::{ApprovalId, CallbackUrl, DeviceId, Secret, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

#[derive(Clone)]
pub(in crate::engine) struct NewApproval {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) uuid: ApprovalId,
    pub(in crate::engine) message: String,
    pub(in crate::engine) details: String,
    pub(in crate::engine) hidden_details: String,
    pub(in crate::engine) logos: String,
    pub(in crate::engine) seconds_to_expire: u64,
    pub(in crate::engine) expires_at: Option<Time>,
    /// With more open requests than this, the oldest expires.
    pub(in crate::engine) most_open: u32,
    /// The name of the application, as devices show it.
    pub(in crate::engine) application: String,
    /// The details as devices show them, in pairs of texts.
    pub(in crate::engine) shown_details: Value,
    /// The number that the user has to type on the device; empty for none.
    pub(in crate::engine) number: Zeroizing<String>,
    pub(in crate::engine) pushes: NewPushes,
    /// The number of requests pushed to the devices of a user in five minutes; 0 is no limit.
    pub(in crate::engine) most_pushes: u32,
    pub(in crate::engine) now: Now,
}

pub(in crate::engine) enum AddApproval {
    /// `answerable` is false if the user has no device yet.
    Added {
        answerable: bool,
        /// The push messages, for their first attempts.
        pushes: Vec<Claimed>,
        /// True if nothing is pushed because of the limit.
        over_limit: bool,
    },
    NoUser,
    /// The user reported that an earlier request was not theirs.
    Snoozed(Time),
    /// An operator has locked the user.
    Barred(Barred),
}

/// A request, and the e-mail of its user.
#[derive(Clone)]
pub(in crate::engine) struct Request {
    pub(in crate::engine) row: Approval,
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) uuid: ApprovalId,
    /// The most recently added e-mail of the user.
    pub(in crate::engine) user_email: String,
}

impl Request {
    /// Returns the number of digits in its number.
    pub(in crate::engine) fn digits(&self) -> crate::Result<usize> {
        Ok(self.row.number.get()?.len())
    }
}

#[derive(Clone)]
pub(in crate::engine) struct Response {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) uuid: ApprovalId,
    pub(in crate::engine) device: DeviceId,
    pub(in crate::engine) approved: bool,
    /// The number that the user typed.
    pub(in crate::engine) number: Option<Secret>,
    /// The response that a device with a key has signed.
    pub(in crate::engine) signed: Option<Signed>,
    /// The time until which further requests are snoozed, if the user reported this one.
    pub(in crate::engine) snoozed_until: Option<Time>,
    pub(in crate::engine) callback: Option<NewCallback>,
    pub(in crate::engine) now: Now,
}

/// A response that a device has signed, as evidence.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::engine) struct Signed {
    pub(in crate::engine) text: String,
    /// In Base64 with the URL alphabet, as is the key that verifies it.
    pub(in crate::engine) signature: String,
    pub(in crate::engine) key: String,
}

impl Signed {
    fn stored(&self) -> crate::Result<String> {
        serde_json::to_string(self)
            .map_err(|error| crate::Error::Internal { message: error.to_string() })
    }

    /// Returns the stored response; `None` if no device has signed it.
    pub(in crate::engine) fn of(row: &Approval) -> crate::Result<Option<Signed>> {
        match row.evidence.get()?.as_str() {
            "" => Ok(None),
            stored => Ok(serde_json::from_str(stored).ok()),
        }
    }
}

/// The callback that reports a response.
#[derive(Clone)]
pub(in crate::engine) struct NewCallback {
    pub(in crate::engine) job_id: i64,
    pub(in crate::engine) url: CallbackUrl,
    pub(in crate::engine) body: String,
    /// The body for a request that is denied because its number was wrong.
    pub(in crate::engine) body_of_wrong_number: String,
    /// The time that one attempt may take.
    pub(in crate::engine) lease: Duration,
}

pub(in crate::engine) enum Responded {
    /// With the callback for its first attempt, if the application has a URL.
    Done(Option<Box<Claimed>>),
    /// The number is wrong, and can be typed once more.
    WrongNumber,
    /// A response that was counted already and has been sent again.
    Repeated,
    /// The number was wrong for the last time, so the request is denied.
    DeniedByNumber(Option<Box<Claimed>>),
    NotPending,
    /// The device was removed.
    NoDevice,
}

pub(in crate::engine) fn add(view: &mut View, new: &NewApproval) -> Decided<AddApproval> {
    let id = new.user_id.get();
    let Some(user) = user(view, new.app, new.user_id)? else { return Ok(AddApproval::NoUser) };
    if let Some(barred) = user.bar() {
        return Ok(AddApproval::Barred(barred));
    }
    if user.snoozed_until > new.now.steady {
        return Ok(AddApproval::Snoozed(user.snoozed_until));
    }
    let devices = view.all::<Device>((id,))?;
    let mut open = pending(view, id, new.now)?;
    // The oldest ones make room.
    let room = new.most_open.saturating_sub(1) as usize;
    let surplus = open.len().saturating_sub(room);
    for (entry, mut row) in open.drain(..surplus) {
        (row.processed_at, row.updated_at) = (Some(new.now.clock), new.now.clock);
        end(view, &entry, row, "expired");
    }
    let number = open.last().map_or(1, |(entry, _)| entry.number + 1);
    let uuid = new.uuid.as_str().to_owned();
    lookups::set(view, Kind::Approval, new.app, &uuid, i64::try_from(id).unwrap_or(i64::MAX));
    view.put(OpenApproval { user_id: id, number, uuid: uuid.clone(), app_id: new.app });
    view.put(Approval {
        user_id: id,
        uuid,
        app_id: new.app,
        message: new.message.clone(),
        details: new.details.clone(),
        hidden_details: new.hidden_details.clone(),
        logos: new.logos.clone(),
        seconds_to_expire: new.seconds_to_expire,
        status: "pending".into(),
        created_at: new.now.clock,
        updated_at: new.now.clock,
        expires_at: new.expires_at,
        processed_at: None,
        device_id: None,
        shown: shown(new, user.account()),
        number: new.number.clone().into(),
        wrong_numbers: 0,
        notified: false,
        evidence: String::new().into(),
    });
    let mut pushes = Vec::new();
    let mut over_limit = false;
    if devices.iter().any(pushes::has_subscription) {
        let steady = new.now.steady;
        over_limit = !budgets::spend_push(view, new.user_id, new.most_pushes, steady)?;
        if !over_limit {
            let uuid = new.uuid.as_str().to_owned();
            let end = new.expires_at;
            let end = end.unwrap_or(steady.plus(Duration::from_secs(APPROVAL_LIFE)));
            pushes = pushes::add(
                view,
                new.user_id,
                &devices,
                (&About::Request(uuid), end),
                &new.pushes,
            )?;
        }
    }
    Ok(AddApproval::Added { answerable: !devices.is_empty(), pushes, over_limit })
}

/// Returns the text that devices show, and nothing else. A change of it in the database changes its hash, which devices
/// sign.
fn shown(new: &NewApproval, account: &str) -> String {
    let shown = json!({
        "application": new.application,
        "account": masked(account),
        "message": new.message,
        "details": new.shown_details,
        "created": new.now.clock.seconds(),
        "logo": new.logos != "[]",
    });
    shown.to_string()
}

/// Returns the status of a request.
pub(in crate::engine) fn status(row: &Approval) -> ApprovalStatus {
    match row.status.as_str() {
        "approved" => ApprovalStatus::Approved,
        "denied" => ApprovalStatus::Denied,
        "expired" => ApprovalStatus::Expired,
        "pending" => ApprovalStatus::Pending,
        _ => ApprovalStatus::Unknown,
    }
}

/// Masks an e-mail address or a login name so that its user still recognises it.
pub(in crate::engine) fn masked(account: &str) -> String {
    let (name, domain) = account.split_at(account.rfind('@').unwrap_or(account.len()));
    format!("{}***{domain}", name.chars().take(1).collect::<String>())
}

/// Returns the open requests of a user, oldest first. A request past its end becomes expired
/// permanently: it would be pending again if the clock was set back.
fn pending(view: &mut View, user_id: u64, now: Now) -> Decided<Vec<(OpenApproval, Approval)>> {
    let entries = view.all::<OpenApproval>((user_id,))?;
    for entry in &entries {
        view.ask::<Approval>((user_id, entry.uuid.clone()));
    }
    let mut open = Vec::new();
    for entry in entries {
        let Some(mut row) = view.get::<Approval>((user_id, entry.uuid.clone()))? else { continue };
        match row.expires_at.filter(|end| *end <= now.steady) {
            Some(at) => {
                let at = now.shown(at);
                (row.processed_at, row.updated_at) = (Some(at), at);
                end(view, &entry, row, "expired");
            }
            None => open.push((entry, row)),
        }
    }
    Ok(open)
}

/// Ends an open request with this status.
fn end(view: &mut View, entry: &OpenApproval, mut row: Approval, status: &str) {
    row.status = status.to_owned();
    view.delete(entry);
    view.put(row);
}

/// Ends all open requests of a user.
pub(super) fn expire_all(view: &mut View, user_id: UserId, now: Now) -> Decided<()> {
    for (entry, mut row) in pending(view, user_id.get(), now)? {
        (row.processed_at, row.updated_at) = (Some(now.clock), now.clock);
        end(view, &entry, row, "expired");
    }
    Ok(())
}

/// Ends an open request of the application of the trail. Returns whether it was open, if there is one.
pub(in crate::engine) fn cancel(
    view: &mut View,
    uuid: &ApprovalId,
    trail: &Trail,
) -> Decided<Option<bool>> {
    let (app, now) = (trail.app, trail.now);
    let Some(found) = find(view, app, uuid, now)? else { return Ok(None) };
    let open = pending(view, found.user_id.get(), now)?;
    let entry = open.into_iter().find(|(entry, _)| entry.uuid == uuid.as_str());
    let Some((entry, mut row)) = entry else { return Ok(Some(false)) };
    (row.processed_at, row.updated_at) = (Some(now.clock), now.clock);
    end(view, &entry, row, "expired");
    trail.done(view, found.user_id);
    Ok(Some(true))
}

/// Returns a request. A request past its end becomes expired permanently.
pub(in crate::engine) fn find(
    view: &mut View,
    app: AppId,
    uuid: &ApprovalId,
    now: Now,
) -> Decided<Option<Request>> {
    let Some(id) = lookups::find(view, Kind::Approval, app, uuid.as_str())? else {
        return Ok(None);
    };
    let user_id = super::user_id(id)?;
    pending(view, user_id.get(), now)?;
    let user = user(view, app, user_id)?;
    let row = view.get::<Approval>((user_id.get(), uuid.as_str().to_owned()))?;
    Ok(user.zip(row).map(|(user, mut row)| {
        // An approval that was given just before an operator locked the user does not let the user in either.
        if user.locked_at.is_some() && row.status == "approved" {
            "expired".clone_into(&mut row.status);
        }
        Request { row, user_id, uuid: uuid.clone(), user_email: user.email }
    }))
}

/// Returns the open requests of a user, oldest first.
pub(in crate::engine) fn open(
    view: &mut View,
    app: AppId,
    user_id: UserId,
    now: Now,
) -> Decided<Vec<Request>> {
    let user = user(view, app, user_id)?;
    let user_email = user.map(|user| user.email).unwrap_or_default();
    let mut open = Vec::new();
    for (_, row) in pending(view, user_id.get(), now)? {
        let uuid = row.uuid.parse().map_err(|_| super::damaged("approvals", "uuid"))?;
        open.push(Request { row, user_id, uuid, user_email: user_email.clone() });
    }
    Ok(open)
}

/// Decides a request that is still pending, by the response of a device.
pub(in crate::engine) fn respond(view: &mut View, response: &Response) -> Decided<Responded> {
    let id = response.user_id.get();
    let Some(mut device) = view.get::<Device>((id, response.device.get()))? else {
        return Ok(Responded::NoDevice);
    };
    let open = pending(view, id, response.now)?;
    let found = open
        .into_iter()
        .find(|(entry, row)| entry.uuid == response.uuid.as_str() && row.app_id == response.app);
    let Some((entry, mut row)) = found else { return Ok(Responded::NotPending) };
    row.updated_at = response.now.clock;
    let is_wrong = response.approved && !is_number(&row, response.number.as_ref())?;
    row.evidence = match &response.signed {
        Some(signed) if is_wrong && is_repeated(&row, signed)? => return Ok(Responded::Repeated),
        Some(signed) => signed.stored()?.into(),
        None => String::new().into(),
    };
    device.used_at = Some(response.now.clock);
    view.put(device);
    if is_wrong {
        row.wrong_numbers = row.wrong_numbers.saturating_add(1);
        if row.wrong_numbers < WRONG_NUMBERS {
            view.put(row);
            return Ok(Responded::WrongNumber);
        }
    }
    let approved = response.approved && !is_wrong;
    row.processed_at = Some(response.now.clock);
    row.device_id = Some(response.device.get());
    end(view, &entry, row, if approved { "approved" } else { "denied" });
    if approved {
        count(view, response.app, response.now, |counted| counted.auths += 1);
    }
    if let (Some(until), Some(mut user)) =
        (response.snoozed_until, user(view, response.app, response.user_id)?)
    {
        user.snoozed_until = until;
        view.put(user);
        // Another person has the password, and perhaps the cookie of a browser.
        browsers::forget_those_of(view, response.user_id);
    }
    let callback = match response.callback.clone() {
        Some(callback) => Some(Box::new(report(view, response, callback, is_wrong)?)),
        None => None,
    };
    Ok(match is_wrong {
        true => Responded::DeniedByNumber(callback),
        false => Responded::Done(callback),
    })
}

/// Returns whether a request can be approved with this number. One that has none needs none.
fn is_number(row: &Approval, typed: Option<&Secret>) -> Decided<bool> {
    let number = row.number.get()?;
    let typed = typed.map_or("", Secret::expose);
    Ok(number.is_empty() || number.as_bytes().ct_eq(typed.as_bytes()).into())
}

/// Returns whether a response with a wrong number was counted before. The signed text includes the time, so another try
/// has another text.
fn is_repeated(row: &Approval, signed: &Signed) -> Decided<bool> {
    Ok(Signed::of(row)?.is_some_and(|counted| counted.text == signed.text))
}

/// Adds the callback.
fn report(
    view: &mut View,
    response: &Response,
    callback: NewCallback,
    is_wrong: bool,
) -> Decided<Claimed> {
    let NewCallback { job_id, url, body, body_of_wrong_number, lease } = callback;
    let body = if is_wrong { body_of_wrong_number } else { body };
    let new_job = NewJob {
        subject: &Subject::User(response.app, response.user_id),
        job_id,
        kind: JobKind::Callback,
        action: "",
        what: What::Callback { url, body },
        lane: job::callbacks(response.app),
        lease,
        deadline: response.now.steady.plus(CALLBACK_LIFE),
        now: response.now,
    };
    job::add(view, new_job)
}

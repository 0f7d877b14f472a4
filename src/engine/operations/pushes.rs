//! Push messages to the devices of a user: one job for each device with a subscription.

use super::jobs::carried::{Notice, What};
use super::jobs::job::{self, Claimed, NewJob};
use super::{AppId, Subject};
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::jobs::JobKind;
use crate::engine::store::{Approval, Decided, Device, View};
use crate::model::UserId;
use std::time::Duration;

/// Messages to the devices of a user.
#[derive(Clone)]
pub(in crate::engine) struct NewPushes {
    pub(in crate::engine) app: AppId,
    /// The id of the first job; the others follow.
    pub(in crate::engine) first_job: i64,
    pub(in crate::engine) lease: Duration,
    pub(in crate::engine) now: Now,
}

/// The subject of a push message.
#[derive(Clone)]
pub(in crate::engine) enum About {
    /// An approval request.
    Request(String),
    /// The registration of a device, which is not notified itself.
    Device(u64),
    /// A change of the user's number.
    Number,
}

/// Adds a message for each of these devices that has a subscription, and leases it.
pub(in crate::engine) fn add(
    view: &mut View,
    user_id: UserId,
    devices: &[Device],
    (about, deadline): (&About, Time),
    new: &NewPushes,
) -> Decided<Vec<Claimed>> {
    let mut claimed = Vec::new();
    for (at, device) in (0..).zip(devices.iter().filter(|device| has_subscription(device))) {
        let notice = match about {
            About::Request(uuid) => Notice::Request(uuid.clone()),
            About::Device(added) if *added == device.device_id => continue,
            About::Device(_) => Notice::Device,
            About::Number => Notice::Number,
        };
        let job = NewJob {
            subject: &Subject::User(new.app, user_id),
            job_id: new.first_job.wrapping_add(at) & i64::MAX,
            kind: JobKind::Push,
            action: "",
            what: What::Push { device: device.device_id, notice },
            lane: job::PUSHES.to_owned(),
            lease: new.lease,
            deadline,
            now: new.now,
        };
        claimed.push(job::add(view, job)?);
    }
    Ok(claimed)
}

/// A subscription that cannot be read ends the messages to its device, and nothing else.
pub(in crate::engine) fn has_subscription(device: &Device) -> bool {
    device.push.get().is_ok_and(|push| !push.is_empty())
}

/// Returns whether a message is still of use: its device has a subscription, and its request can be responded to.
pub(super) fn is_wanted(
    view: &mut View,
    user_id: Option<UserId>,
    device: u64,
    request: Option<&str>,
    now: Now,
) -> Decided<bool> {
    let Some(user_id) = user_id.map(UserId::get) else { return Ok(false) };
    let device = view.get::<Device>((user_id, device))?;
    if !device.is_some_and(|device| has_subscription(&device)) {
        return Ok(false);
    }
    let Some(uuid) = request else { return Ok(true) };
    let request = view.get::<Approval>((user_id, uuid.to_owned()))?;
    Ok(request.is_some_and(|request| {
        request.status == "pending" && request.expires_at.is_none_or(|end| end > now.steady)
    }))
}

/// Notes that a push service has accepted a message about a request.
pub(super) fn accepted(view: &mut View, user_id: Option<UserId>, uuid: &str) -> Decided<()> {
    let Some(user_id) = user_id else { return Ok(()) };
    if let Some(mut request) = view.get::<Approval>((user_id.get(), uuid.to_owned()))?
        && !request.notified
    {
        request.notified = true;
        view.put(request);
    }
    Ok(())
}

/// Ends the subscription of a device, unless it has another one meanwhile.
pub(in crate::engine) fn end_subscription(
    view: &mut View,
    user_id: UserId,
    device: u64,
    ended: &str,
) -> Decided<()> {
    if let Some(mut device) = view.get::<Device>((user_id.get(), device))?
        && device.push.get().is_ok_and(|push| push == ended)
    {
        device.push = "".into();
        view.put(device);
    }
    Ok(())
}

//! What operations on approval requests take and return.

use super::AppId;
use crate::engine::clock::Time;
use crate::model::{ApprovalId, CallbackUrl, DeviceId, UserId};

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
    pub(in crate::engine) now: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum AddApproval {
    /// `answerable` is false if the user has no device yet.
    Added {
        answerable: bool,
    },
    NoUser,
    /// The user reported that an earlier request was not theirs.
    Snoozed(Time),
}

#[derive(Clone)]
pub(in crate::engine) struct ApprovalRow {
    pub(in crate::engine) uuid: ApprovalId,
    pub(in crate::engine) user_id: UserId,
    /// The most recently added e-mail of the user.
    pub(in crate::engine) user_email: String,
    pub(in crate::engine) message: String,
    pub(in crate::engine) details: String,
    pub(in crate::engine) hidden_details: String,
    pub(in crate::engine) logos: String,
    pub(in crate::engine) seconds_to_expire: u64,
    /// `pending`, `approved`, `denied`, or `expired`: past its end, or superseded by later requests.
    pub(in crate::engine) status: String,
    pub(in crate::engine) created_at: Time,
    pub(in crate::engine) updated_at: Time,
    pub(in crate::engine) expires_at: Option<Time>,
    pub(in crate::engine) processed_at: Option<Time>,
}

impl ApprovalRow {
    /// Whether it has expired, and the store does not say so yet.
    pub(in crate::engine) fn is_past_its_end(&self, now: Time) -> bool {
        self.status == "pending" && self.expires_at.is_some_and(|end| end <= now)
    }
}

pub(in crate::engine) struct Decision {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) user_id: UserId,
    pub(in crate::engine) uuid: ApprovalId,
    pub(in crate::engine) device: DeviceId,
    pub(in crate::engine) approved: bool,
    /// Until when further requests are snoozed, if the user reported this one.
    pub(in crate::engine) snoozed_until: Option<Time>,
    /// The URL and the body of the callback.
    pub(in crate::engine) callback: Option<(CallbackUrl, String)>,
    pub(in crate::engine) now: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Decided {
    NotPending,
    /// The device was removed.
    NoDevice,
    /// The callback's job in the outbox, if the application has a callback URL.
    Done {
        callback: Option<i64>,
    },
}

//! Statistics and audit per kind of job.

use super::super::count;
use super::AppId;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::jobs::JobKind;
use crate::engine::store::{SentCode, View};

impl JobKind {
    /// Returns the kind of a message with a code.
    pub(in crate::engine) fn of_code(by_voice: bool) -> JobKind {
        if by_voice { JobKind::Call } else { JobKind::Sms }
    }

    /// Returns whether it goes to a phone by a route, and counts for the limits of messages.
    pub(super) fn is_message(self) -> bool {
        !matches!(self, JobKind::Callback | JobKind::Push)
    }

    pub(super) fn has_code(self) -> bool {
        matches!(self, JobKind::Sms | JobKind::Call)
    }

    /// Returns the call that causes such a job, about a user or about a number that belongs to
    /// none.
    pub(super) fn call(self, has_user: bool) -> &'static str {
        match (self, has_user) {
            (JobKind::Callback, _) => "respond_to_approval",
            (JobKind::Push, _) => "create_approval",
            (JobKind::Welcome, _) => "create_user",
            (JobKind::Sms | JobKind::Call, false) => "start_phone_verification",
            (JobKind::Sms, true) => "request_sms",
            (JobKind::Call, true) => "request_call",
        }
    }

    /// Counts one that was sent, for the statistics of the application.
    pub(super) fn count_sent(self, view: &mut View, app: AppId, now: Now) {
        match self {
            JobKind::Callback | JobKind::Push => {}
            JobKind::Call => count(view, app, now, |counted| counted.calls += 1),
            JobKind::Sms | JobKind::Welcome => count(view, app, now, |counted| counted.sms += 1),
        }
    }

    /// Returns the time at which a code was last sent by the channel of this kind.
    pub(super) fn sent_at(self, code: &mut SentCode) -> &mut Time {
        if self == JobKind::Call { &mut code.call_at } else { &mut code.sms_at }
    }
}

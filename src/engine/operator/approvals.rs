//! Operations on the approval requests that users can still respond to.

use super::declaration::{Nothing, Operation, operation};
use super::users::check_most;
use crate::engine::core::Engine;
use crate::engine::handlers::approvals::ApprovalResponse;
use crate::engine::model::rejections;
use crate::engine::operations::approvals::Signed;
use crate::engine::operations::{approvals as stored, listing};
use crate::engine::store::Approval;
use crate::model::{ApprovalId, UserId};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

operation! {
    /// Lists the open approval requests of the application, page by page: those of a user, or of all, the
    /// user who was added last first. A page may hold less than `most`, also nothing, although more
    /// follow.
    #[derive(Default)]
    ListApprovals = "approval.list" -> Approvals {
        /// Those of this user.
        user_id: Option<UserId>,
        /// What the page before has as `next`.
        after: Option<String>,
        /// The most requests on the page, 1 to 1000. Default: 100.
        most: Option<u32>,
    }
}

/// Some open approval requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approvals {
    /// The requests.
    pub approvals: Vec<ApprovalEntry>,
    /// The value of `after` for the next page; `None` at the end.
    pub next: Option<String>,
}

/// An open approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalEntry {
    /// Its id.
    pub uuid: String,
    /// The user who is asked.
    pub user_id: u64,
    /// The question to the user.
    pub message: String,
    /// The time at which it was created, in Unix seconds.
    pub created: u64,
    /// The time at which it expires, in Unix seconds; `None` for never.
    pub expires: Option<u64>,
}

impl ListApprovals {
    fn run(&self, engine: &Engine) -> Result<Approvals> {
        let (most, app, now) = (check_most(self.most)?, engine.app.app_id, engine.now());
        let before = self.after.as_deref().map(place_of).transpose()?;
        let user_id = self.user_id.map(UserId::get);
        // Expired requests are read too.
        let (rows, may_follow) =
            engine.look(move |view| listing::open_approvals(view, app, user_id, before, most))?;
        let mut page = Approvals::default();
        for ((user, number), row) in rows {
            page.next = Some(format!("{user}.{number}"));
            let is_open = |row: &Approval| {
                row.app_id == app && row.expires_at.is_none_or(|end| end > now.steady)
            };
            if let Some(row) = row.filter(is_open) {
                page.approvals.push(ApprovalEntry {
                    uuid: row.uuid,
                    user_id: row.user_id,
                    message: row.message,
                    created: row.created_at.seconds(),
                    expires: row.expires_at.map(|end| now.shown(end).seconds()),
                });
            }
        }
        page.next = page.next.filter(|_| may_follow);
        Ok(page)
    }
}

fn place_of(text: &str) -> Result<(u64, u64)> {
    let place = text
        .split_once('.')
        .and_then(|(user, number)| Some((user.parse().ok()?, number.parse().ok()?)));
    place.ok_or_else(|| Error::invalid_argument("after", "must be what the page before returned"))
}

operation! {
    /// Returns what a device has signed when it responded to an approval request, so that others can verify who
    /// responded, to what, and how.
    ShowEvidence = "approval.evidence" -> Evidence {
        /// The id of the request.
        uuid: String,
    }
}

/// A signed response to an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The id of the request.
    pub uuid: String,
    /// The user who was asked.
    pub user_id: u64,
    /// The status of the request: `approved`, `denied`, or `expired` if only a wrong number was
    /// given.
    pub status: String,
    /// True if the response has a wrong number, and so did not approve the request even if it says
    /// so.
    pub wrong_number: bool,
    /// The text that the device has shown. Its SHA-256 is in the signed text.
    pub shown: String,
    /// The signed text: docs/approver.md describes its lines.
    pub signed: String,
    /// The signature, ECDSA with P-256 and SHA-256, in Base64 with the URL alphabet.
    pub signature: String,
    /// The public key, an uncompressed point, in the same.
    pub key: String,
}

impl ShowEvidence {
    fn run(&self, engine: &Engine) -> Result<Evidence> {
        let uuid = id(&self.uuid)?;
        let found = engine.find_approval(&uuid, engine.now())?;
        let row = found.ok_or_else(|| rejections::approval_not_found(Some(&uuid)))?.row;
        let is_open = row.status == "pending";
        let found = if is_open { None } else { Signed::of(&row)? };
        let Some(Signed { text, signature, key }) = found else {
            let reason = "is that of a request to which no device has responded that signs";
            return Err(Error::invalid_argument("uuid", reason));
        };
        // The fifth line is the response. A right number would have approved the request.
        let approves = text.lines().nth(4) == Some(ApprovalResponse::Approve.name());
        Ok(Evidence {
            wrong_number: approves && row.status != "approved",
            uuid: row.uuid,
            user_id: row.user_id,
            status: row.status,
            shown: row.shown,
            signed: text,
            signature,
            key,
        })
    }
}

/// Returns the id of a request, as a parameter.
fn id(text: &str) -> Result<ApprovalId> {
    text.parse().map_err(|error: Error| error.of_parameter("uuid"))
}

operation! {
    /// Ends an open approval request: it has expired. Nobody can respond to it any more, and there is no
    /// callback.
    CancelApproval = "approval.cancel" -> Nothing {
        /// The id of the request.
        uuid: String,
    }
}

impl CancelApproval {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        let uuid = id(&self.uuid)?;
        let trail = engine.trail_of(CancelApproval::NAME, engine.now(), None)?;
        let sought = uuid.clone();
        match engine.run(move |view| stored::cancel(view, &sought, &trail))? {
            Some(true) => Ok(Nothing {}),
            Some(false) => {
                let reason = "is that of a request that is not open any more";
                Err(Error::invalid_argument("uuid", reason))
            }
            None => Err(rejections::approval_not_found(Some(&uuid))),
        }
    }
}

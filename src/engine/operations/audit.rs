//! The audit: the decisions of the engine, as rows that are added in the transaction of the
//! decision and never changed. They contain no secret and no code, and a number only masked, and
//! stay when the user is deleted.

use super::AppId;
pub(in crate::engine) use crate::engine::model::author::Author;
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::factors::{Barred, Factor};
use crate::engine::store::{Audit, Decided, Page, View};
use crate::model::UserId;

macro_rules! verdicts {
    ($($verdict:ident $name:literal,)*) => {
        /// The verdict of a decision.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(in crate::engine) enum AuditVerdict {
            /// A place that is filled in before it is noted.
            #[default]
            Unset,
            $($verdict),*
        }

        impl AuditVerdict {
            pub(in crate::engine) fn name(self) -> &'static str {
                match self {
                    AuditVerdict::Unset => "",
                    $(AuditVerdict::$verdict => $name),*
                }
            }
        }

        /// The verdicts of decisions. More may follow.
        pub const AUDIT_VERDICTS: &[&str] = &[$($name),*];
    };
}

verdicts! {
    Right "right",
    Wrong "wrong",
    Reused "reused",
    NotChecked "not_checked",
    NonePending "none_pending",
    Delayed "wait",
    Locked "locked",
    Sent "sent",
    Refused "refused",
    Paused "paused",
    NotDelivered "not_delivered",
    MaybeSent "maybe_sent",
    NotLookedUp "not_looked_up",
    Done "done",
    Created "created",
    Configured "configured",
    Approved "approved",
    Denied "denied",
    Reported "reported",
    Recognised "recognised",
    NotRecognised "not_recognised",
}

/// The call that decides.
#[derive(Clone)]
pub(in crate::engine) struct Trail {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) call: &'static str,
    /// Distinguishes the rows of one user and millisecond.
    pub(in crate::engine) nonce: i64,
    pub(in crate::engine) user_ip: Option<String>,
    pub(in crate::engine) author: Author,
    pub(in crate::engine) now: Now,
    /// The refusal of the decision that is being made: see [`Trail::refuse`].
    pub(in crate::engine) refused: Option<Noted>,
}

/// A decision, as the audit notes it.
#[derive(Clone, Default)]
pub(in crate::engine) struct Noted {
    /// `None` for a number that belongs to no user, and for an application.
    pub(in crate::engine) user_id: Option<UserId>,
    pub(in crate::engine) verdict: AuditVerdict,
    /// The reason, if the verdict leaves it open.
    pub(in crate::engine) reason: Option<String>,
    pub(in crate::engine) factors: Vec<Factor>,
    /// Masked.
    pub(in crate::engine) number: Option<String>,
    /// The limit that was reached.
    pub(in crate::engine) over: Option<&'static str>,
}

impl Noted {
    pub(in crate::engine) fn of(user_id: UserId, verdict: AuditVerdict) -> Noted {
        Noted { user_id: Some(user_id), verdict, ..Noted::default() }
    }

    pub(in crate::engine) fn because(self, reason: Option<&str>) -> Noted {
        Noted { reason: reason.map(str::to_owned), ..self }
    }

    pub(in crate::engine) fn barred(self, barred: Barred) -> Noted {
        let verdict = match barred {
            Barred::Until(_) | Barred::Address(_) => AuditVerdict::Delayed,
            Barred::Locked | Barred::Account => AuditVerdict::Locked,
        };
        let over = match barred {
            Barred::Address(_) => Some("address_wrong_hour"),
            Barred::Until(_) | Barred::Locked => Some("wrong_codes"),
            Barred::Account => None,
        };
        Noted { verdict, over, ..self }
    }
}

impl Trail {
    pub(in crate::engine) fn note(&self, view: &mut View, noted: Noted) {
        self.write(view, noted, 1);
    }

    /// Notes a refusal that changes nothing else, so that it can be requested without end: the
    /// caller of the decision counts it, and writes one row for the refusals of some time.
    pub(in crate::engine) fn refuse(&mut self, noted: Noted) {
        self.refused = Some(noted);
    }

    /// Notes that a call for this user succeeded.
    pub(in crate::engine) fn done(&self, view: &mut View, user_id: UserId) {
        self.note(view, Noted::of(user_id, AuditVerdict::Done));
    }

    /// The same, for another row of the same call.
    pub(in crate::engine) fn next(&self) -> Trail {
        Trail { nonce: self.nonce ^ 1, ..self.clone() }
    }

    /// Writes a row for a decision that was made so many times.
    pub(in crate::engine) fn write(&self, view: &mut View, noted: Noted, times: u32) {
        let names: Vec<_> = noted.factors.iter().map(|factor| factor.name()).collect();
        view.append(Audit {
            user_id: noted.user_id.map_or(0, UserId::get),
            steady_at: self.now.steady,
            nonce: self.nonce,
            app_id: self.app,
            noted_at: self.now.clock,
            call: self.call.to_owned(),
            verdict: noted.verdict.name().to_owned(),
            reason: noted.reason,
            factor: (!names.is_empty()).then(|| names.join("+")),
            number: noted.number,
            user_ip: self.user_ip.clone(),
            over_limit: noted.over.map(str::to_owned),
            operator: self.author.operator.as_deref().map(str::to_owned),
            times,
            request_id: self.author.request_id.as_deref().map(str::to_owned),
        });
    }
}

/// The rows to read: the ones before a place, the latest first.
#[derive(Clone)]
pub(in crate::engine) struct Reading {
    /// The user; `None` for all users of the application.
    pub(in crate::engine) user_id: Option<u64>,
    pub(in crate::engine) app: AppId,
    /// Only rows with this address, or else with this verdict, unless the rows are of one user.
    pub(in crate::engine) user_ip: Option<String>,
    pub(in crate::engine) verdict: Option<String>,
    /// The steady time, the user and the nonce of the row that was read last; or the time alone.
    pub(in crate::engine) before: (Time, Option<(u64, i64)>),
    pub(in crate::engine) most: u32,
}

pub(in crate::engine) fn read(view: &mut View, reading: &Reading) -> Decided<Vec<Audit>> {
    let (at, place) = reading.before;
    match reading.user_id {
        Some(user_id) => {
            let page = Page::below((user_id,), reading.most);
            view.page(match place {
                Some((_, nonce)) => page.before((at, nonce)),
                None => page.before((at,)),
            })
        }
        None => {
            let page = Page::by_due((reading.app,), reading.most);
            let page = match (&reading.user_ip, &reading.verdict) {
                (Some(address), _) => page.with("user_ip", address.clone()),
                (None, Some(verdict)) => page.with("verdict", verdict.clone()),
                (None, None) => page,
            };
            view.page(match place {
                Some((user_id, nonce)) => page.before((at, user_id, nonce)),
                None => page.before((at,)),
            })
        }
    }
}

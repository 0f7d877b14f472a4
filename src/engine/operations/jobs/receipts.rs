//! Delivery receipts: what providers report of messages that they have accepted.
//!
//! A provider can be faster than whoever writes down that it has accepted the message, so a report on an
//! id that is not known yet is kept for a while, and taken up when the job ends.

use super::super::Subject;
use super::ended::{Undelivered, note};
use super::{SENT, unless_damaged};
use crate::engine::Delivery;
use crate::engine::clock::{Now, Time};
use crate::engine::store::{Decided, Job, Receipt, View};
use std::time::Duration;

/// For how long a report waits for its job. An attempt ends within two minutes.
const KEPT_EARLY: Duration = Duration::from_secs(60 * 60);

/// Notes what a provider reports of the message that it has given this id.
pub(in crate::engine) fn receipt(
    view: &mut View,
    route: &str,
    provider_id: &str,
    delivery: &Delivery,
    now: Now,
) -> Decided<()> {
    let key = (route.to_owned(), provider_id.to_owned());
    let known = unless_damaged(view.get::<Receipt>(key))?.unwrap_or_default();
    let reported = (delivery.to_string(), now.steady);
    match known {
        Some(Receipt { subject: Some(subject), job_id, .. }) => {
            let job = view.get::<Job>((subject, job_id))?;
            if let Some(mut job) = job.filter(|job| job.lane == SENT)
                && is_news(job.receipt.as_deref(), delivery)
            {
                report(view, &mut job, reported, now);
                view.put(job);
            }
        }
        early => {
            let before = early.and_then(|early| early.receipt);
            if is_news(before.as_deref(), delivery) {
                let waits = (None, 0, Some(reported));
                view.put(row(route, provider_id, waits, now.steady.plus(KEPT_EARLY)));
            }
        }
    }
    Ok(())
}

/// Deletes what there is of a user who is deleted: messages, and what was reported of them.
pub(in crate::engine) fn delete_all(view: &mut View, subject: &Subject) -> Decided<()> {
    let subject = subject.key();
    // A damaged row is no reason to keep the user.
    let jobs = unless_damaged(view.all::<Job>((subject.clone(),)))?.unwrap_or_default();
    for job in jobs {
        let Some(provider_id) = job.provider_id else { continue };
        if let Some(receipt) =
            unless_damaged(view.get::<Receipt>((job.route, provider_id)))?.unwrap_or_default()
        {
            view.delete(&receipt);
        }
    }
    view.delete_all::<Job>((subject,));
    Ok(())
}

/// Prepares a job that its route has sent, and that is about to be stored, for what is reported of it.
pub(super) fn expect(view: &mut View, job: &mut Job, provider_id: &str, now: Now) -> Decided<()> {
    let key = (job.route.clone(), provider_id.to_owned());
    let early = unless_damaged(view.get::<Receipt>(key))?.unwrap_or_default();
    // A provider that gives an id again means the latest message by it.
    if let Some(Receipt { subject: None, receipt: Some(receipt), receipt_at, .. }) = early
        // It may be about an attempt before the one that was successful.
        && !(receipt.starts_with(FAILED) && job.ambiguous > 0)
    {
        report(view, job, (receipt, receipt_at.unwrap_or(now.steady)), now);
    }
    let of_job = (Some(job.subject.clone()), job.job_id, None);
    view.put(row(&job.route, provider_id, of_job, job.due_at));
    Ok(())
}

fn row(
    route: &str,
    provider_id: &str,
    (subject, job_id, reported): (Option<String>, i64, Option<(String, Time)>),
    forget_at: Time,
) -> Receipt {
    let (receipt, receipt_at) = reported.unzip();
    let (route, provider_id) = (route.to_owned(), provider_id.to_owned());
    Receipt { route, provider_id, subject, job_id, receipt, receipt_at, forget_at }
}

/// Whether a report says more than what was reported before. Reports may arrive twice, and in another
/// order: what has become of the message stays, whatever is said later of its way. But a message that was
/// delivered has arrived, even if an attempt before had failed.
fn is_news(before: Option<&str>, delivery: &Delivery) -> bool {
    match before {
        None => true,
        Some(PENDING) => *delivery != Delivery::Pending,
        Some(before) => before.starts_with(FAILED) && *delivery == Delivery::Delivered,
    }
}

/// As [`Delivery::Pending`] is shown.
const PENDING: &str = "pending";
/// How [`Delivery::Failed`] is shown, before why.
const FAILED: &str = "failed";

fn report(view: &mut View, job: &mut Job, (receipt, at): (String, Time), now: Now) {
    if receipt.starts_with(FAILED) {
        note(view, job, Undelivered::Undeliverable, None, now);
    }
    (job.receipt, job.receipt_at) = (Some(receipt), Some(at));
}

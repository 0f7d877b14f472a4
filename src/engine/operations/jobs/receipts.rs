//! Delivery receipts: the reports of providers on messages that they have accepted.
//!
//! A provider can report before its acceptance of the message is stored, so a report on an unknown id is kept for a
//! while, and used when the job ends.

use super::super::Subject;
use super::super::audit::Author;
use super::ended::{Undelivered, note};
use super::job::{SENT, unless_damaged};
use crate::engine::delivery::Delivery;
use crate::engine::model::clock::{Now, Time};
use crate::engine::store::{Decided, Job, Receipt, View};
use std::time::Duration;

/// The time for which a report waits for its job. An attempt ends within two minutes.
const KEPT_EARLY: Duration = Duration::from_secs(60 * 60);
/// Between the ids of a message of several parts, as in [`Outcome::Sent`](crate::engine::Outcome::Sent).
const PARTS: char = ' ';

/// Notes a provider's report on a message, or on a part of one, by the id that the provider gave it.
/// Returns whether a message with this id is known.
pub(in crate::engine) fn receipt(
    view: &mut View,
    route: &str,
    provider_id: &str,
    delivery: &Delivery,
    now: Now,
) -> Decided<bool> {
    let key = key(route, provider_id);
    let before = unless_damaged(view.get::<Receipt>(key.clone()))?.unwrap_or_default();
    let known = before.as_ref().is_some_and(|row| row.subject.is_some());
    let mut noted = before.unwrap_or_else(|| unreported(key, now.steady.plus(KEPT_EARLY)));
    if !is_news(noted.receipt.as_deref(), delivery) {
        return Ok(known);
    }
    (noted.receipt, noted.receipt_at) = (Some(delivery.to_string()), Some(now.steady));
    match noted.subject.clone() {
        Some(subject) => {
            let job = view.get::<Job>((subject, noted.job_id))?;
            view.put(noted);
            if let Some(mut job) = job.filter(|job| job.lane == SENT) {
                summarise(view, &mut job, now)?;
                view.put(job);
            }
        }
        None => {
            noted.forget_at = now.steady.plus(KEPT_EARLY);
            view.put(noted);
        }
    }
    Ok(known)
}

/// Deletes the messages to a user who is deleted, and the reports on them.
pub(in crate::engine) fn delete_all(view: &mut View, subject: &Subject) -> Decided<()> {
    let subject = subject.key();
    // A damaged row is no reason to keep the user.
    let jobs = unless_damaged(view.all::<Job>((subject.clone(),)))?.unwrap_or_default();
    for job in jobs {
        for key in keys(&job) {
            let receipt = unless_damaged(view.get::<Receipt>(key))?.unwrap_or_default();
            if let Some(receipt) = receipt.filter(|receipt| is_of(receipt, &job)) {
                view.delete(&receipt);
            }
        }
    }
    view.delete_all::<Job>((subject,));
    Ok(())
}

/// Prepares a job that its route has sent, and that is about to be stored, for reports on it.
pub(super) fn expect(view: &mut View, job: &mut Job, now: Now) -> Decided<()> {
    for key in keys(job) {
        let early = unless_damaged(view.get::<Receipt>(key.clone()))?.unwrap_or_default();
        let mut row = unreported(key, job.due_at);
        // A provider that gives an id again means the latest message by it.
        if let Some(Receipt { subject: None, receipt: Some(receipt), receipt_at, .. }) = early
            // It may be about an attempt before the one that was successful.
            && !(receipt.starts_with(FAILED) && job.ambiguous > 0)
        {
            (row.receipt, row.receipt_at) = (Some(receipt), receipt_at);
        }
        (row.subject, row.job_id) = (Some(job.subject.clone()), job.job_id);
        view.put(row);
    }
    summarise(view, job, now)
}

/// Returns whether a row is of this message. A later one may have been given the same id.
fn is_of(receipt: &Receipt, job: &Job) -> bool {
    receipt.subject.as_ref() == Some(&job.subject) && receipt.job_id == job.job_id
}

/// Returns the keys of the reports on a message: one for each of its parts.
fn keys(job: &Job) -> Vec<(String, String)> {
    let ids = job.provider_id.as_deref().unwrap_or_default();
    ids.split(PARTS).filter(|id| !id.is_empty()).map(|id| key(&job.route, id)).collect()
}

/// Returns the key of reports with an id. A provider may write the id differently in responses and in
/// reports: with zeros before it, and its letters in upper or lower case.
fn key(route: &str, provider_id: &str) -> (String, String) {
    let id = provider_id.to_ascii_lowercase();
    let short = match id.trim_start_matches('0') {
        "" => "0",
        short => short,
    };
    (route.to_owned(), short.to_owned())
}

fn unreported((route, provider_id): (String, String), forget_at: Time) -> Receipt {
    let (subject, job_id, receipt, receipt_at) = (None, 0, None, None);
    Receipt { route, provider_id, subject, job_id, receipt, receipt_at, forget_at }
}

/// Returns whether a report says more than the one before. Reports may arrive twice, and in another order: a final
/// status stays, and later reports of an earlier stage are ignored. But a message that was delivered has arrived, even
/// if an attempt before had failed.
fn is_news(before: Option<&str>, delivery: &Delivery) -> bool {
    match before {
        None => true,
        Some(PENDING) => *delivery != Delivery::Pending,
        Some(before) => before.starts_with(FAILED) && *delivery == Delivery::Delivered,
    }
}

/// As [`Delivery::Pending`] and [`Delivery::Delivered`] are shown.
const PENDING: &str = "pending";
const DELIVERED: &str = "delivered";
/// The prefix by which [`Delivery::Failed`] is shown, before the reason.
const FAILED: &str = "failed";

/// Summarises the reports on a job: it failed when one of its parts did, and was delivered when all of
/// them were.
fn summarise(view: &mut View, job: &mut Job, now: Now) -> Decided<()> {
    let mut parts = Vec::new();
    for key in keys(job) {
        let row = unless_damaged(view.get::<Receipt>(key))?.unwrap_or_default();
        let row = row.filter(|row| is_of(row, job));
        parts.push(row.and_then(|row| row.receipt.zip(row.receipt_at)));
    }
    let is_whole = parts.iter().flatten().all(|(receipt, _)| receipt == DELIVERED)
        && parts.iter().all(Option::is_some);
    let failed = parts.iter().flatten().find(|(receipt, _)| receipt.starts_with(FAILED)).cloned();
    let Some(latest) = parts.into_iter().flatten().map(|(_, at)| at).max() else { return Ok(()) };
    let (receipt, at) = match failed {
        Some(failed) => failed,
        None if is_whole => (DELIVERED.to_owned(), latest),
        None => (PENDING.to_owned(), latest),
    };
    let has_failed = |receipt: Option<&str>| receipt.is_some_and(|shown| shown.starts_with(FAILED));
    if job.receipt.as_deref() != Some(&*receipt) {
        if has_failed(Some(&receipt)) && !has_failed(job.receipt.as_deref()) {
            note(view, job, Undelivered::Undeliverable, Author::default(), now);
        }
        (job.receipt, job.receipt_at) = (Some(receipt), Some(at));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn an_id_may_be_written_in_several_ways() {
        for (one, other) in
            [("7005", "0000007005"), ("BEB0-7f", "beb0-7F"), ("00ff", "FF"), ("0", "000")]
        {
            assert_eq!(key("a", one), key("a", other));
        }
        for (one, other) in [("7005", "70050"), ("7", "07a"), ("a-0", "a-"), ("70", "700")] {
            assert_ne!(key("a", one), key("a", other));
        }
        assert_ne!(key("a", "7"), key("b", "7"));
    }
}

//! Refusals that are counted in memory: rows of guesses that have to wait would fill the disk.

use crate::engine::model::clock::Time;
use crate::engine::operations::audit::{Noted, Trail};
use crate::engine::store::View;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time after a refusal during which further ones of the same kind are only counted.
pub(in crate::engine) const APART: Duration = Duration::from_secs(60);
/// The most kinds of refusals that are counted at once.
const MOST_KINDS: usize = 4096;

/// Refusals without a row of their own, by what was refused: rows of guesses that have to wait would fill the disk.
#[derive(Default)]
pub(in crate::engine) struct Refusals(Mutex<HashMap<String, Tally>>);

struct Tally {
    written_at: Time,
    /// The number of refusals without a row, and the last of them.
    unwritten: u32,
    last: Option<(Trail, Noted)>,
}

/// A row to write: the refusal, and the number of refusals that it stands for.
pub(in crate::engine) struct Row {
    kind: String,
    pub(super) trail: Trail,
    noted: Noted,
    times: u32,
}

impl Row {
    pub(super) fn write(&self, view: &mut View) {
        self.trail.write(view, self.noted.clone(), self.times);
    }
}

impl Refusals {
    /// Counts a refusal. Returns the row that has to be written, if the last one of this kind is not of a moment ago.
    pub(in crate::engine) fn count(&self, of: &str, trail: Trail, noted: Noted) -> Option<Row> {
        let now = trail.now.steady;
        let mut all = self.lock();
        let what = kind(&trail, &noted);
        let mut kind = format!("{what} {of}");
        if all.len() >= MOST_KINDS && !all.contains_key(&kind) {
            all.retain(|_, tally| tally.unwritten > 0 || tally.written_at.plus(APART) > now);
        }
        // A client that makes up more kinds than are counted must not get a row for each of them.
        if all.len() >= MOST_KINDS && !all.contains_key(&kind) {
            kind = what;
        }
        let long_ago = Tally { written_at: now.minus(APART), unwritten: 0, last: None };
        let tally = all.entry(kind.clone()).or_insert(long_ago);
        tally.unwritten = tally.unwritten.saturating_add(1);
        if tally.written_at.plus(APART) > now {
            tally.last = Some((trail, noted));
            return None;
        }
        tally.written_at = now;
        tally.last = None;
        let times = std::mem::take(&mut tally.unwritten);
        Some(Row { kind, trail, noted, times })
    }

    /// Returns the rows for refusals that were only counted, if the last row of their kind is that
    /// old.
    pub(super) fn left_over(&self, now: Time, age: Duration, most: usize) -> Vec<Row> {
        let mut all = self.lock();
        let old = all.iter_mut().filter(|(_, tally)| tally.written_at.plus(age) <= now);
        let rows = old.filter_map(|(kind, tally)| {
            let (trail, noted) = tally.last.take()?;
            tally.written_at = now;
            let times = std::mem::take(&mut tally.unwritten);
            Some(Row { kind: kind.clone(), trail, noted, times })
        });
        rows.take(most).collect()
    }

    /// Counts refusals again whose row could not be written.
    pub(super) fn put_back(&self, row: Row) {
        let Row { kind, trail, noted, times } = row;
        if let Some(tally) = self.lock().get_mut(&kind) {
            tally.unwritten = tally.unwritten.saturating_add(times);
            tally.last = Some((trail, noted));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Tally>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the kind of a refusal: refusals of one kind are counted together, for one user.
fn kind(trail: &Trail, noted: &Noted) -> String {
    let Noted { verdict, reason, factors, over, .. } = noted;
    let factors: Vec<_> = factors.iter().map(|factor| factor.name()).collect();
    let (reason, over) = (reason.as_deref().unwrap_or_default(), over.unwrap_or_default());
    format!("{} {} {} {} {over} {reason}", trail.app, trail.call, verdict.name(), factors.join("+"))
}

//! Resolves the outcome of a batch whose commit was not confirmed.
//!
//! Each batch inserts a mark that no other has. If the connection is lost during the commit,
//! another connection inserts the same mark as one that stands for nothing. If that is accepted,
//! the batch is not committed and never will be, even if the server still has its statements before
//! it, because they would insert the mark a second time. If it is refused, the existing mark shows
//! which of the two it is. While the batch is under way, the server makes the second insertion wait
//! for its end.

use super::statements::COMMON;
use super::values::blobs;
use super::{Postgres, SEARCH};
use crate::postgres::{Problem, Until};
use crate::{Error, Result};
use std::time::Duration;

/// The pause before the next query.
const PAUSE: Duration = Duration::from_millis(50);

/// Draws a mark that no other batch has.
pub(super) fn mark() -> Result<[u8; 16]> {
    let mut mark = [0; 16];
    getrandom::fill(&mut mark).map_err(|_| Error::storage("the system has no randomness"))?;
    Ok(mark)
}

impl Postgres {
    /// Returns whether the batch with this mark is committed. If not, it never will be.
    ///
    /// # Errors
    /// [`Error::Storage`] if that cannot be found out in time.
    pub(super) fn is_committed(&self, mark: [u8; 16], why: &str) -> Result<bool> {
        let until = Until::within(SEARCH);
        while !until.left().is_zero() {
            match self.search(mark, until) {
                Ok(found) => return Ok(found),
                Err(_) => std::thread::sleep(PAUSE.min(until.left())),
            }
        }
        Err(Error::storage(format!(
            "PostgreSQL: {why}, during a commit: it is not known whether the call took effect. Check \
             the server and the network"
        )))
    }

    fn search(&self, mark: [u8; 16], until: Until) -> Result<bool, Problem> {
        let mut connection =
            self.connect(until).map_err(|error| Problem::Lost(error.to_string()))?;
        connection.set_deadline(until);
        connection.add(&COMMON.void_batch, &[blobs(&[mark])])?;
        match connection.finish() {
            Ok(_) => return Ok(false),
            Err(Problem::Rejected(report)) if report.is(&["23505"]) => {}
            Err(problem) => return Err(problem),
        }
        connection.add(&COMMON.find_batch, &[blobs(&[mark])])?;
        let answers = connection.finish()?;
        let row = answers.first().and_then(|answer| answer.rows.first());
        let is_done = row.and_then(|row| row.values().next().flatten()?.last().copied());
        connection.close();
        is_done.map(|number| number == 1).ok_or_else(|| Problem::Lost("a mark is missing".into()))
    }
}

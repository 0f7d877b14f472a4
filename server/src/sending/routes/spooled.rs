//! The spool folder, to which messages go as long as a database has no routes.

use super::route::{Log, last_two};
use seconder::engine::{Deliver as _, Lane, Message, Outcome, Spool};
use std::path::Path;

/// The spool folder next to a database. A failure to write to it is logged.
pub struct Spooled {
    spool: Spool,
    /// Set if the operator learns also that a message was written: the user who runs a command waits for its message.
    reports: bool,
}

impl Spooled {
    /// Returns the folder for this database, and whether each message is logged.
    pub fn beside(database: &Path, reports: bool) -> Spooled {
        Spooled { spool: Spool::beside(database), reports }
    }

    pub(super) fn lanes(&self) -> Vec<Lane> {
        let lane = |name: String| Lane { longest_attempt: self.spool.longest_attempt(&name), name };
        self.spool.all_routes().into_iter().map(lane).collect()
    }

    pub(super) fn write(&self, message: &Message, log: &Log) -> Outcome {
        let (via, to) = (message.via.name(), last_two(&message.to));
        let what = format!("a message by {via} to the number ending in {to}");
        match self.spool.deliver(message) {
            Ok(()) => {
                if self.reports {
                    log(&format!(
                        "info: {what} was written to the spool folder, because the database has no route"
                    ));
                }
                Outcome::Sent(None)
            }
            Err(error) => {
                log(&format!("{what} was lost: {error}"));
                Outcome::Permanent(error)
            }
        }
    }

    pub(super) fn housekeep(&self) {
        self.spool.housekeep();
    }
}

//! Operations for the maintenance of a database.

use super::declaration::{Operation, operation};
use crate::Result;
use crate::engine::core::Engine;
use crate::engine::operations::audit::AuditVerdict;
use crate::engine::operations::budgets::probe;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

operation! {
    /// Copies the database file as of one moment into a new file on the machine of the service, for its owner alone,
    /// as [`Engine::backup`] does. Calls go on meanwhile, and the copy is checked. The keyring is not in it.
    Backup = "database.backup" -> BackedUp {
        /// The file to create, in a folder that exists.
        path: String,
    }
}

/// The result of [`Backup`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BackedUp {
    /// The bytes of the copy.
    pub bytes: u64,
}

impl Backup {
    fn run(&self, engine: &Engine) -> Result<BackedUp> {
        let mut bytes = 0;
        engine.backup(Path::new(&self.path), |_, all| bytes = all)?;
        engine.note_of_database(Backup::NAME, AuditVerdict::Done, Some(self.path.clone()))?;
        Ok(BackedUp { bytes })
    }
}

operation! {
    /// Checks a database file, gives back the space of its log, and removes all that has expired, as
    /// [`Engine::maintain`] does. Calls go on meanwhile. A server's database is checked by the server's own tools.
    /// [`Error::Storage`](crate::Error::Storage) says that the file is damaged, and how.
    Maintain = "database.maintain" -> Maintained {
        /// Also compares each index with its table, which takes several times as long. Default: no.
        #[serde(default)]
        full: bool,
    }
}

/// The result of [`Maintain`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Maintained {
    /// True if the database was checked and is sound; false if it is on a server or in memory.
    pub checked: bool,
    /// The size of the file and its log in bytes, before expired rows were removed.
    pub bytes: Option<u64>,
    /// The unused bytes of the file, which new rows fill.
    pub bytes_free: Option<u64>,
}

/// The time after which the removal of expired rows starts over, in seconds.
const ROUND: u64 = 10;

impl Maintain {
    fn run(&self, engine: &Engine) -> Result<Maintained> {
        // This comes before expired rows are removed: a damaged file is best left as it is.
        let found = engine.shared.store.look_after(self.full)?;
        while engine.maintain(Duration::from_secs(ROUND))? {}
        Ok(Maintained { checked: found.checked, bytes: found.bytes, bytes_free: found.bytes_free })
    }
}

impl Engine {
    /// Returns whether the database responds and, if the last write to it failed, whether another one succeeds: a full
    /// or a read-only disk can still be read.
    pub fn is_usable(&self) -> bool {
        if !self.shared.store.is_failing() {
            return self.callback_lanes().is_ok();
        }
        let now = self.now().steady;
        let written = self.run(move |view| {
            probe(view, now);
            Ok(())
        });
        written.is_ok()
    }
}

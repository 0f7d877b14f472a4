//! The files of a database: their names, and how long a lock on them is waited for.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time to wait for a database that another process has locked.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// The pause before a retry in cases in which SQLite does not wait itself.
pub(super) const PAUSE: Duration = Duration::from_millis(10);
/// The number of retries that take as long as `PATIENCE`.
pub(super) const ATTEMPTS: u128 = PATIENCE.as_millis() / PAUSE.as_millis();

/// Returns the path of a file next to the database, with this suffix to its name.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

//! The default delivery: a folder of readable text files.

use super::{Deliver, Message};
use crate::engine::clock::Clock;
use crate::engine::clock::Time;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers the messages of this process across all handles, so that file names are unique.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Writes each message to a separate file. The file names ascend with time.
pub(crate) struct Spool {
    folder: PathBuf,
    clock: Arc<dyn Clock>,
}

impl Spool {
    /// The folder next to a database: `seconder.spool` for `seconder.db`. It is created when the
    /// first message is written.
    pub(crate) fn beside(database: &Path, clock: Arc<dyn Clock>) -> Spool {
        Spool { folder: database.with_extension("spool"), clock }
    }

    fn write(&self, message: &Message) -> std::io::Result<()> {
        make(&self.folder)?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let now = Time::of(&*self.clock);
        let name = format!("{:013}-{}-{number:06}", now.0, std::process::id());
        // A reader must never see an incomplete message, so it is written under another name first.
        let unfinished = self.folder.join(format!(".{name}"));
        let mut file = create(&unfinished)?;
        write!(file, "To: {}\nVia: {}\n", message.to, message.via.name())?;
        if !message.code.is_empty() {
            let expires_at = i64::try_from(message.expires_at).unwrap_or(0).saturating_mul(1000);
            write!(file, "Code: {}\nExpires: {}\n", message.code, Time(expires_at).rfc3339())?;
        }
        write!(file, "\n{}\n", message.text)?;
        file.sync_all()?;
        fs::rename(&unfinished, self.folder.join(format!("{name}.txt")))
    }
}

impl Deliver for Spool {
    fn deliver(&self, message: &Message) -> Result<(), String> {
        let error = |e| format!("cannot write to the spool folder {}: {e}", self.folder.display());
        self.write(message).map_err(error)
    }
}

/// Creates the folder. The messages contain codes, so only the owner has access.
fn make(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(e),
        _ => Ok(()),
    }
}

fn create(file: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

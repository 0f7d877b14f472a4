//! Replacement of `held.rs` on systems without locks that belong to a descriptor.

use crate::{Error, Result};
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};

pub(super) struct Held;

pub(super) fn leave_to_parent() {}

pub(super) fn inherited_are_reused() -> bool {
    false
}

impl Held {
    pub(super) fn begin(_: &Path) -> Result<Held> {
        Ok(Held)
    }

    pub(super) fn take(&mut self, _: &Path) -> Result<()> {
        Ok(())
    }

    pub(super) fn release(&self) {}

    pub(super) fn is_removed(&self) -> bool {
        false
    }

    pub(super) fn opening(&self) -> Arc<Mutex<()>> {
        Arc::default()
    }

    pub(super) fn end_descriptors(&self) {}

    pub(super) fn begin_descriptors(&mut self, _: &Path) {}

    pub(super) fn note_writer(&mut self, _: bool) {}

    pub(super) fn check(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    pub(super) fn check_writer(&self, _: &Path) -> Result<()> {
        Ok(())
    }

    pub(super) fn is_reused(&self) -> bool {
        false
    }

    pub(super) fn is_closed(&self) -> bool {
        false
    }

    pub(super) fn forget(self) {}

    pub(super) fn check_all(&self, _: &Path) -> Result<()> {
        Ok(())
    }
}

pub(super) fn lock_written(_: &File) -> Option<bool> {
    None
}

pub(super) fn has_open(_: &Path) -> bool {
    false
}

pub(super) struct Alone;

/// Always succeeds: SQLite alone knows if others have it open, and reports it when the log is
/// removed.
pub(super) fn exclusively(_: &Path) -> Result<Alone> {
    Ok(Alone)
}

pub(super) fn in_use(database: &Path) -> Error {
    Error::storage(format!("{} is in use: stop every process that has it open", database.display()))
}

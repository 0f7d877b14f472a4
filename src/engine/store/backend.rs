//! The interface of a database that keeps rows, such as SQLite.

use super::change::Change;
use super::table::Value;
use super::which::Key;
use crate::engine::model::clock::Time;
use crate::keyring::KeyId;
use crate::{Error, Result};
use std::any::Any;
use std::path::Path;

/// The reason why nothing was written.
pub(in crate::engine) enum Fault {
    /// A row cannot be written, because of its content.
    OfRow(Error),
    /// Nothing can be written, or it is unknown whether it was.
    OfStore(Error),
}

/// The outcome of [`Backend::look_after`].
#[derive(Default)]
pub(in crate::engine) struct Upkept {
    /// True if the database was checked and is sound.
    pub(in crate::engine) checked: bool,
    /// The size of the files, and of the unused space in them.
    pub(in crate::engine) bytes: Option<u64>,
    pub(in crate::engine) bytes_free: Option<u64>,
}

pub(in crate::engine) trait Backend: Send + Sync {
    /// Begins to use the database, until the returned value is dropped.
    ///
    /// # Errors
    /// [`Error::Storage`] in a process that cannot use it, because it was forked.
    fn begin(&self) -> Result<Box<dyn Any>>;
    /// Does this work in one transaction, which is committed and on disk if it returns success. The
    /// work is repeated if another process has changed the rows that it read.
    fn write(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault>;
    /// Returns whether it was put back from a copy, so that [`Backend::spend`] has to follow before anything.
    fn is_restored(&self) -> bool;
    /// Invalidates everything that may have been used since a copy was made: see
    /// `store/restored.rs`.
    ///
    /// # Errors
    /// [`Error::Storage`] if nothing was changed.
    fn spend(&self, now: Time) -> Result<()>;
    /// Copies everything as of one moment into a new file. The function is given the bytes that are
    /// copied, and all that are to be; it may start over. This begins to use the store for itself,
    /// and not for its whole length, because forks wait for it.
    ///
    /// # Errors
    /// [`Error::Storage`] if there is no copy.
    fn copy_to(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()>;
    /// Does this work on one snapshot.
    fn read(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault>;
    /// Checks the database, with `full` all of it, and does its periodic maintenance. Default: nothing, because a
    /// server does so by itself.
    ///
    /// # Errors
    /// [`Error::Storage`] if it is damaged.
    fn look_after(&self, _full: bool) -> Result<Upkept> {
        Ok(Upkept::default())
    }
    /// Fails if the program has closed descriptors that this needs, so that nothing can be written. Default:
    /// nothing is checked.
    ///
    /// # Errors
    /// [`Error::Storage`].
    fn check(&self) -> Result<()> {
        Ok(())
    }
    /// Does work that no caller has to wait for. Default: nothing.
    fn tidy_up(&self) {}
}

/// The rows of a transaction or a snapshot.
pub(in crate::engine) trait Rows {
    /// Returns the rows of each of these keys. In a transaction, no other transaction changes them
    /// until its end.
    fn load(&mut self, keys: &[Key]) -> Result<Vec<Vec<Vec<Value>>>, Fault>;
    fn apply(&mut self, changes: Vec<Change>) -> Result<(), Fault>;
    /// Returns the key with which this transaction seals. Default: none, because it does not seal.
    fn sealed_with(&self) -> Option<KeyId> {
        None
    }
}

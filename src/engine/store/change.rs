//! Changes to rows that a store has to write.

use super::table::Value;

/// A change that a store has to write.
pub(in crate::engine) struct Change {
    /// The place of the table in `TABLES`.
    pub(in crate::engine) table: usize,
    pub(in crate::engine) kind: ChangeKind,
    /// All values of a row; for deletions, the values of the key or its beginning.
    pub(in crate::engine) values: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum ChangeKind {
    /// Deletes all rows whose key begins so.
    DeleteAll,
    /// Adds a row that the store does not have.
    Insert,
    /// Changes a row that the store has.
    Update,
    /// Deletes a row that the store has.
    Delete,
    /// Adds to the columns after the key. A row that is missing counts as zeros.
    Add,
}

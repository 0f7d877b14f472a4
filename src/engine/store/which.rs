//! Selection of the rows that a decision asks for.

use super::table::{Cell, Prefix, Schema, Value};
use crate::engine::model::clock::Time;

/// The rows to load.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) struct Key {
    /// The place of the table in `TABLES`.
    pub(in crate::engine) table: usize,
    pub(in crate::engine) rows: Which,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Which {
    /// The rows whose key begins with these values.
    Prefix(Vec<Value>),
    /// The rows that were due, the earliest first.
    Due(Due),
    /// The rows whose key comes after these values, in the order of keys, and at most so many: for
    /// walks through a whole table, in steps. Without values, from the first row on.
    After(Vec<Value>, u32),
    /// A page of rows, the latest first.
    Page(Page),
}

/// Rows that were due at a time, and at most so many.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) struct Due {
    /// The value of the column by which rows become due separately, if the table has one: only these
    /// rows.
    pub(in crate::engine) of: Option<Value>,
    pub(in crate::engine) until: i64,
    pub(in crate::engine) most: u32,
}

impl Due {
    pub(in crate::engine) fn until(until: Time, most: u32) -> Due {
        Due { of: None, until: until.0, most }
    }

    pub(in crate::engine) fn of(self, of: impl Cell) -> Due {
        Due { of: Some(of.value()), ..self }
    }
}

/// A page of rows, the latest first: of rows whose key begins with `prefix`, in the order of their keys;
/// or, if `by_due`, of rows that become due separately, with the value in `prefix`, in the order of the
/// column by which they become due, and of the key. Without a prefix, these come in the order of the
/// values by which they become due apart. With `by`, a column that has an index of its own, only rows that have the
/// last value of the prefix there. Only rows before a place, which is the beginning of what follows
/// the prefix in that order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) struct Page {
    pub(in crate::engine) by_due: bool,
    pub(in crate::engine) by: Option<&'static str>,
    pub(in crate::engine) prefix: Vec<Value>,
    /// At least one value, so that no store has to sort a whole table.
    pub(in crate::engine) before: Vec<Value>,
    pub(in crate::engine) most: u32,
}

impl Page {
    pub(in crate::engine) fn below(prefix: impl Prefix, most: u32) -> Page {
        Page { by_due: false, by: None, prefix: prefix.values(), before: Vec::new(), most }
    }

    pub(in crate::engine) fn by_due(of: impl Prefix, most: u32) -> Page {
        Page { by_due: true, by: None, prefix: of.values(), before: Vec::new(), most }
    }

    /// Only rows with this value in a column that has an index: see `store/sqlite/schema_2.sql`.
    pub(in crate::engine) fn with(mut self, column: &'static str, value: impl Cell) -> Page {
        self.prefix.push(value.value());
        Page { by: Some(column), ..self }
    }

    pub(in crate::engine) fn before(self, place: impl Prefix) -> Page {
        Page { before: place.values(), ..self }
    }

    /// Returns the places of the columns that have the values of the prefix.
    pub(super) fn equal(&self, schema: &Schema) -> Vec<usize> {
        match self.by_due {
            true => {
                let columns = [schema.place(schema.due_of), schema.place(self.by)];
                columns.into_iter().flatten().take(self.prefix.len()).collect()
            }
            false => (0..self.prefix.len()).collect(),
        }
    }

    /// Returns the places of the columns that the rows are ordered by, without the prefix.
    pub(super) fn order(&self, schema: &Schema) -> Vec<usize> {
        let apart = schema.place(schema.due_of).filter(|_| self.by_due && self.prefix.is_empty());
        let due = schema.place(schema.due).filter(|_| self.by_due);
        let known = if self.by_due { 0 } else { self.prefix.len() };
        let others = (known..schema.key).filter(|place| ![apart, due].contains(&Some(*place)));
        apart.into_iter().chain(due).chain(others).collect()
    }
}

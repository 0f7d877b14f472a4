//! Declaration of a table, for every store: its name, its columns, and the conversion of rows to
//! values and back.
//!
//! Decisions read and change typed rows. A store knows only tables, keys and values, so no store
//! has a statement of its own for a kind of row, or a limit.

use super::secret::Secret;
use crate::engine::model::clock::Time;
use crate::engine::model::jobs::JobKind;
use crate::{Error, Result};
use std::cmp::Ordering;

/// A value of a row.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Value {
    Null,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
    /// The value of a sealed column, which a store never sees: it has a `Blob` instead.
    Secret(Secret),
}

/// The kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Kind {
    Int,
    Text,
    Blob,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Column {
    pub(in crate::engine) name: &'static str,
    pub(in crate::engine) kind: Kind,
    #[cfg_attr(
        not(any(test, feature = "postgres")),
        expect(dead_code, reason = "a schema is compared with it")
    )]
    pub(in crate::engine) optional: bool,
    /// True if the store has it only sealed: see `sealed.rs`.
    pub(in crate::engine) sealed: bool,
}

/// A table, as every store sees it.
#[derive(Debug)]
pub(in crate::engine) struct Schema {
    pub(in crate::engine) name: &'static str,
    pub(in crate::engine) columns: &'static [Column],
    /// The number of columns, from the first one on, that are the primary key.
    pub(in crate::engine) key: usize,
    /// The column by which rows become due, such as when they expire.
    pub(in crate::engine) due: Option<&'static str>,
    /// The column whose values each have rows that become due separately.
    pub(in crate::engine) due_of: Option<&'static str>,
}

impl Schema {
    pub(in crate::engine) fn place(&self, name: Option<&str>) -> Option<usize> {
        self.columns.iter().position(|column| Some(column.name) == name)
    }
}

/// A row of a table.
pub(in crate::engine) trait Row: Clone + PartialEq + Send + 'static {
    /// The place of the table in `TABLES`.
    const TABLE: usize;
    const SCHEMA: &'static Schema;

    fn values(&self) -> Vec<Value>;
    /// # Errors
    /// [`Error::Storage`] if a value cannot be one of the column.
    fn of(values: Vec<Value>) -> Result<Self>;

    fn key(&self) -> Vec<Value> {
        let mut values = self.values();
        values.truncate(Self::SCHEMA.key);
        values
    }
}

/// A type of a column.
pub(in crate::engine) trait Cell: Sized {
    const KIND: Kind;
    const OPTIONAL: bool = false;
    const SEALED: bool = false;

    fn value(&self) -> Value;
    fn of(value: Value) -> Option<Self>;
}

macro_rules! integers {
    ($($of:ty),*) => {$(
        impl Cell for $of {
            const KIND: Kind = Kind::Int;

            fn value(&self) -> Value {
                // Only unsigned numbers of 64 bits could be too large, and none of them is.
                Value::Int(i64::try_from(*self).unwrap_or(i64::MAX))
            }

            fn of(value: Value) -> Option<$of> {
                match value {
                    Value::Int(number) => <$of>::try_from(number).ok(),
                    _ => None,
                }
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i64);

impl Cell for bool {
    const KIND: Kind = Kind::Int;

    fn value(&self) -> Value {
        Value::Int((*self).into())
    }

    fn of(value: Value) -> Option<bool> {
        match value {
            Value::Int(number @ (0 | 1)) => Some(number == 1),
            _ => None,
        }
    }
}

impl Cell for Time {
    const KIND: Kind = Kind::Int;

    fn value(&self) -> Value {
        Value::Int(self.0)
    }

    fn of(value: Value) -> Option<Time> {
        i64::of(value).map(Time)
    }
}

impl Cell for String {
    const KIND: Kind = Kind::Text;

    fn value(&self) -> Value {
        Value::Text(self.clone())
    }

    fn of(value: Value) -> Option<String> {
        match value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Cell for JobKind {
    const KIND: Kind = Kind::Text;

    fn value(&self) -> Value {
        Value::Text(self.name().to_owned())
    }

    fn of(value: Value) -> Option<JobKind> {
        String::of(value)?.parse().ok()
    }
}

impl Cell for Vec<u8> {
    const KIND: Kind = Kind::Blob;

    fn value(&self) -> Value {
        Value::Blob(self.clone())
    }

    fn of(value: Value) -> Option<Vec<u8>> {
        match value {
            Value::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl<const N: usize> Cell for [u8; N] {
    const KIND: Kind = Kind::Blob;

    fn value(&self) -> Value {
        Value::Blob(self.to_vec())
    }

    fn of(value: Value) -> Option<[u8; N]> {
        match value {
            Value::Blob(bytes) => bytes.try_into().ok(),
            _ => None,
        }
    }
}

impl<T: Cell> Cell for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;
    const SEALED: bool = T::SEALED;

    fn value(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::value)
    }

    fn of(value: Value) -> Option<Option<T>> {
        match value {
            Value::Null => Some(None),
            value => T::of(value).map(Some),
        }
    }
}

/// A key, or the beginning of one.
pub(in crate::engine) trait Prefix {
    fn values(self) -> Vec<Value>;
}

impl Prefix for () {
    fn values(self) -> Vec<Value> {
        Vec::new()
    }
}

impl<A: Cell> Prefix for (A,) {
    fn values(self) -> Vec<Value> {
        vec![self.0.value()]
    }
}

impl<A: Cell, B: Cell> Prefix for (A, B) {
    fn values(self) -> Vec<Value> {
        vec![self.0.value(), self.1.value()]
    }
}

impl<A: Cell, B: Cell, C: Cell> Prefix for (A, B, C) {
    fn values(self) -> Vec<Value> {
        vec![self.0.value(), self.1.value(), self.2.value()]
    }
}

impl<A: Cell, B: Cell, C: Cell, D: Cell> Prefix for (A, B, C, D) {
    fn values(self) -> Vec<Value> {
        vec![self.0.value(), self.1.value(), self.2.value(), self.3.value()]
    }
}

/// The value of a row's next column, whose name is the second one.
#[inline(never)]
pub(in crate::engine) fn next<T: Cell>(
    values: &mut std::vec::IntoIter<Value>,
    [table, column]: [&str; 2],
) -> Result<T> {
    values.next().and_then(T::of).ok_or_else(|| damaged(table, column))
}

pub(in crate::engine) fn damaged(table: &str, column: &str) -> Error {
    Error::storage(format!(
        "a row of {table} has an invalid {column}: the database is damaged. Restore it from a copy"
    ))
}

/// Sorts rows. Each sort with an order of its own would be 5 kB of the library, which this is once.
pub(in crate::engine) fn sort(
    rows: &mut [Vec<Value>],
    order: &dyn Fn(&Vec<Value>, &Vec<Value>) -> Ordering,
) {
    rows.sort_by(order);
}

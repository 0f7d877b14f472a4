//! The stored rows as a decision sees them, and its changes to them. Nothing here does I/O.
//!
//! A decision that reads a row which is not loaded yet stops with [`Stop::Missing`], and is made
//! again once it is. It is a pure function, so only time is lost.

use super::cache::{Cache, Pending, typed};
use super::change::{Change, ChangeKind};
use super::table::{Prefix, Row, Schema, Value};
use super::tables::{READERS, Statistics, TABLES};
use super::which::{Due, Key, Page, Which};
use crate::Error;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The reason why there is no decision.
pub(in crate::engine) enum Stop {
    /// Rows have to be loaded first.
    Missing,
    /// Nothing is changed, and the caller gets this error.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

pub(in crate::engine) type Decided<T> = Result<T, Stop>;

/// The rows that decisions see, and the changes that they have made.
pub(in crate::engine) struct View {
    /// The caches of each table, in the order of `TABLES`.
    caches: [Cache; TABLES.len()],
    missing: BTreeSet<Key>,
    /// The calls that were counted before.
    calls: Vec<Statistics>,
    /// The counts of the decisions.
    counted: Vec<Statistics>,
    /// The counts of the decision that is being made; `None` marks the place at which it has
    /// deleted all counts.
    counting: Vec<Option<Statistics>>,
}

fn is_due(schema: &Schema, values: &[Value], until: i64) -> bool {
    let due = schema.place(schema.due);
    due.is_some_and(|due| matches!(values[due], Value::Int(at) if at <= until))
}

impl View {
    pub(super) fn new(calls: Vec<Statistics>) -> View {
        View {
            caches: std::array::from_fn(|_| Cache::default()),
            missing: BTreeSet::new(),
            calls,
            counted: Vec::new(),
            counting: Vec::new(),
        }
    }

    fn cache<R: Row>(&mut self) -> &mut Cache {
        &mut self.caches[R::TABLE]
    }

    /// Returns the row with this key.
    pub(in crate::engine) fn get<R: Row>(&mut self, key: impl Prefix) -> Decided<Option<R>> {
        let key = key.values();
        let cache = self.cache::<R>();
        if !cache.has(&key) {
            return Err(self.missing(R::TABLE, Which::Prefix(key)));
        }
        cache.check(&key)?;
        Ok(cache.row(&key).and_then(typed))
    }

    /// Returns the rows whose key begins so, in the order of their keys.
    pub(in crate::engine) fn all<R: Row>(&mut self, prefix: impl Prefix) -> Decided<Vec<R>> {
        let prefix = prefix.values();
        let cache = self.cache::<R>();
        if cache.has_all(&prefix) {
            cache.check(&prefix)?;
        }
        self.readable(prefix)
    }

    /// Returns the rows of the whole table that can be read, for decisions that must not fail
    /// because of the others.
    pub(in crate::engine) fn all_readable<R: Row>(&mut self) -> Decided<Vec<R>> {
        self.readable(Vec::new())
    }

    fn readable<R: Row>(&mut self, prefix: Vec<Value>) -> Decided<Vec<R>> {
        let cache = self.cache::<R>();
        match cache.has_all(&prefix) {
            true => Ok(cache.rows(&cache.keys(&prefix))),
            false => Err(self.missing(R::TABLE, Which::Prefix(prefix))),
        }
    }

    /// Returns the rows that were due, the earliest first, and the values of unreadable rows.
    pub(in crate::engine) fn due<R: Row>(
        &mut self,
        due: &Due,
    ) -> Decided<(Vec<R>, Vec<Vec<Value>>)> {
        let cache = self.cache::<R>();
        match cache.due.get(due) {
            Some((keys, unreadable)) => {
                // One may have been replaced since by another decision of the batch.
                let mut rows: Vec<R> = cache.rows(keys);
                rows.retain(|row| is_due(R::SCHEMA, &row.values(), due.until));
                Ok((rows, unreadable.clone()))
            }
            None => Err(self.missing(R::TABLE, Which::Due(due.clone()))),
        }
    }

    /// Returns a page of rows, as they were before the batch: for decisions that only read.
    pub(in crate::engine) fn page<R: Row>(&mut self, page: Page) -> Decided<Vec<R>> {
        let cache = self.cache::<R>();
        match cache.pages.get(&page) {
            Some(keys) => Ok(cache.rows(keys)),
            None => Err(self.missing(R::TABLE, Which::Page(page))),
        }
    }

    /// Returns the rows whose key comes after these values, in the order of keys, and at most so many,
    /// as they were before the batch: for decisions that only read. Without values, from the first row
    /// on.
    pub(in crate::engine) fn after<R: Row>(
        &mut self,
        key: impl Prefix,
        most: u32,
    ) -> Decided<Vec<R>> {
        let place = (key.values(), most);
        let cache = self.cache::<R>();
        match cache.walks.get(&place) {
            Some(keys) => Ok(cache.rows(keys)),
            None => Err(self.missing(R::TABLE, Which::After(place.0, place.1))),
        }
    }

    /// Adds a row, or replaces the one with its key.
    pub(in crate::engine) fn put<R: Row>(&mut self, row: R) {
        let put = Pending::Put(row.key(), Some(Rc::new(row)));
        self.cache::<R>().pending.push(put);
    }

    pub(in crate::engine) fn delete<R: Row>(&mut self, row: &R) {
        self.cache::<R>().pending.push(Pending::Put(row.key(), None));
    }

    /// Deletes all rows whose key begins so, which need not be loaded.
    pub(in crate::engine) fn delete_all<R: Row>(&mut self, prefix: impl Prefix) {
        self.cache::<R>().pending.push(Pending::DeleteAll(prefix.values()));
    }

    /// Deletes the row with these values, which need not be readable.
    pub(in crate::engine) fn delete_values<R: Row>(&mut self, values: &[Value]) {
        let key = values.iter().take(R::SCHEMA.key).cloned().collect();
        self.cache::<R>().pending.push(Pending::DeleteAll(key));
    }

    /// Adds a row that cannot exist yet, without a look.
    pub(in crate::engine) fn append<R: Row>(&mut self, row: R) {
        self.cache::<R>().pending.push(Pending::Append(Rc::new(row)));
    }

    /// Adds to the counts of a month.
    pub(in crate::engine) fn count(&mut self, counted: Statistics) {
        self.counting.push(Some(counted));
    }

    /// Returns the counts that are not written yet.
    pub(in crate::engine) fn counted(&self) -> impl Iterator<Item = &Statistics> {
        self.calls.iter().chain(&self.counted)
    }

    /// Deletes all counts, also those that are not written yet.
    pub(in crate::engine) fn delete_counts(&mut self) {
        self.delete_all::<Statistics>(());
        self.counting.push(None);
    }

    fn missing(&mut self, table: usize, rows: Which) -> Stop {
        self.missing.insert(Key { table, rows });
        Stop::Missing
    }

    /// Asks for rows that the decision is going to read, so that they are loaded together.
    pub(in crate::engine) fn ask<R: Row>(&mut self, prefix: impl Prefix) {
        let prefix = prefix.values();
        if !self.cache::<R>().has(&prefix) {
            self.missing.insert(Key { table: R::TABLE, rows: Which::Prefix(prefix) });
        }
    }

    /// Takes the keys that have to be loaded before the decisions that stopped can be made.
    pub(super) fn take_missing(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.missing).into_iter().collect()
    }

    pub(super) fn absorb(&mut self, key: &Key, rows: Vec<Vec<Value>>) -> crate::Result<()> {
        let table = key.table;
        self.caches[table].absorb(TABLES[table], READERS[table], &key.rows, rows)
    }

    pub(super) fn keep(&mut self) {
        self.caches.iter_mut().for_each(Cache::keep);
        for counting in std::mem::take(&mut self.counting) {
            match counting {
                Some(counted) => self.counted.push(counted),
                None => {
                    self.calls.clear();
                    self.counted.clear();
                }
            }
        }
    }

    pub(super) fn discard(&mut self) {
        self.caches.iter_mut().for_each(|cache| cache.pending.clear());
        self.counting.clear();
    }

    /// Returns whether the decisions have changed anything.
    pub(super) fn is_changed(&self) -> bool {
        !self.counted.is_empty() || self.caches.iter().any(Cache::is_changed)
    }

    /// Everything that was changed, in an order in which it can be written.
    pub(super) fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (table, cache) in self.caches.iter().enumerate() {
            cache.changes(table, &mut changes);
        }
        let mut sums: BTreeMap<Vec<Value>, Statistics> = BTreeMap::new();
        for counted in self.calls.iter().chain(&self.counted) {
            let sum = sums.entry(counted.key());
            sum.and_modify(|sum| sum.add(counted)).or_insert_with(|| counted.clone());
        }
        changes.extend(sums.values().map(|sum| Change {
            table: Statistics::TABLE,
            kind: ChangeKind::Add,
            values: sum.values(),
        }));
        changes
    }
}

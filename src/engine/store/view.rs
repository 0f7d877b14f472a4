//! What a decision sees of the stored rows, and what it changes of them. Nothing here does I/O.
//!
//! A decision that reads a row which is not loaded yet stops with [`Stop::Missing`], and is made
//! again once it is. It is a pure function, so nothing but time is lost.

use super::table::{Prefix, Row, Value};
use super::tables::{Loaded, Statistics};
pub(in crate::engine) use super::which::{Due, Key, Page, Which};
use crate::Error;
use std::collections::{BTreeMap, BTreeSet};

/// Why there is no decision.
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

/// What a store has to write.
pub(in crate::engine) struct Change {
    /// The place of the table in `TABLES`.
    pub(in crate::engine) table: usize,
    pub(in crate::engine) kind: ChangeKind,
    /// All values of a row; for deletions, those of the key or its beginning.
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

/// A row with a cache among those of [`Loaded`].
pub(in crate::engine) trait Cached: Row {
    fn cache(loaded: &mut Loaded) -> &mut Cache<Self>;
}

/// The rows of one table.
pub(in crate::engine) struct Cache<R> {
    slots: BTreeMap<Vec<Value>, Slot<R>>,
    /// The prefixes of which all rows are loaded.
    prefixes: BTreeSet<Vec<Value>>,
    due: BTreeMap<Due, Keys>,
    pages: BTreeMap<Page, Vec<Vec<Value>>>,
    /// What the decision that is being made has changed so far.
    pending: Vec<Pending<R>>,
    deleted: Vec<Vec<Value>>,
    appended: Vec<R>,
}

/// The keys of rows that were due.
#[derive(Default)]
struct Keys {
    keys: Vec<Vec<Value>>,
    /// Of those in which a value cannot be one of its column.
    unreadable: Vec<Vec<Value>>,
}

struct Slot<R> {
    /// As the store has it.
    stored: Option<R>,
    now: Option<R>,
}

enum Pending<R> {
    Put(Vec<Value>, Option<R>),
    DeleteAll(Vec<Value>),
    Append(R),
}

impl<R> Default for Cache<R> {
    fn default() -> Cache<R> {
        Cache {
            slots: BTreeMap::new(),
            prefixes: BTreeSet::new(),
            due: BTreeMap::new(),
            pages: BTreeMap::new(),
            pending: Vec::new(),
            deleted: Vec::new(),
            appended: Vec::new(),
        }
    }
}

impl<R: Row> Cache<R> {
    fn has(&self, key: &[Value]) -> bool {
        self.slots.contains_key(key)
            || (0..=key.len()).any(|length| self.prefixes.contains(&key[..length]))
    }

    fn row(&self, key: &[Value]) -> Option<&R> {
        for pending in self.pending.iter().rev() {
            match pending {
                Pending::Put(of, row) if of == key => return row.as_ref(),
                Pending::DeleteAll(prefix) if key.starts_with(prefix) => return None,
                _ => {}
            }
        }
        self.slots.get(key).and_then(|slot| slot.now.as_ref())
    }

    /// The keys of the rows with this prefix, also of those that were removed.
    fn keys(&self, prefix: &[Value]) -> BTreeSet<Vec<Value>> {
        let stored = self.slots.range(prefix.to_vec()..).map(|(key, _)| key);
        let stored = stored.take_while(|key| key.starts_with(prefix));
        let put = self.pending.iter().filter_map(|pending| match pending {
            Pending::Put(key, _) if key.starts_with(prefix) => Some(key),
            _ => None,
        });
        stored.chain(put).cloned().collect()
    }

    fn merge(&mut self, pending: Pending<R>) {
        match pending {
            Pending::Put(key, row) => match self.slots.get_mut(&key) {
                Some(slot) => slot.now = row,
                None => drop(self.slots.insert(key, Slot { stored: None, now: row })),
            },
            Pending::DeleteAll(prefix) => {
                let below = self.slots.range_mut(prefix.clone()..);
                for (_, slot) in below.take_while(|(key, _)| key.starts_with(&prefix)) {
                    (slot.stored, slot.now) = (None, None);
                }
                self.appended.retain(|row| !row.key().starts_with(&prefix));
                self.prefixes.insert(prefix.clone());
                self.deleted.push(prefix);
            }
            Pending::Append(row) => self.appended.push(row),
        }
    }
}

/// What a batch does with the cache of every table.
pub(in crate::engine) trait AnyCache {
    fn absorb(&mut self, rows: &Which, found: Vec<Vec<Value>>) -> crate::Result<()>;
    /// Keeps what the decision changed.
    fn keep(&mut self);
    /// Drops what the decision changed.
    fn discard(&mut self);
    fn is_changed(&self) -> bool;
    fn changes(&self, changes: &mut Vec<Change>);
}

impl<R: Row> AnyCache for Cache<R> {
    fn absorb(&mut self, which: &Which, found: Vec<Vec<Value>>) -> crate::Result<()> {
        let mut keys = Vec::new();
        let mut unreadable = Vec::new();
        for values in found {
            let stored = values.get(..R::SCHEMA.key).unwrap_or_default().to_vec();
            let row = match (R::of(values), which) {
                (Ok(row), _) => row,
                // Whoever looks for what has expired must not fail for ever because of one row.
                (Err(_), Which::Due(_)) => {
                    unreadable.push(stored);
                    continue;
                }
                (Err(error), _) => return Err(error),
            };
            let key = row.key();
            // The store still has what this batch deletes.
            if self.deleted.iter().any(|prefix| key.starts_with(prefix)) {
                continue;
            }
            keys.push(key.clone());
            // One that is here already may have been changed.
            self.slots
                .entry(key)
                .or_insert_with(|| Slot { stored: Some(row.clone()), now: Some(row) });
        }
        match which {
            Which::Prefix(prefix) => drop(self.prefixes.insert(prefix.clone())),
            Which::Due(due) => drop(self.due.insert(due.clone(), Keys { keys, unreadable })),
            Which::Page(page) => drop(self.pages.insert(page.clone(), keys)),
            // No decision walks through a table.
            Which::After(..) => {}
        }
        Ok(())
    }

    fn keep(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            self.merge(pending);
        }
    }

    fn discard(&mut self) {
        self.pending.clear();
    }

    fn is_changed(&self) -> bool {
        !self.deleted.is_empty()
            || !self.appended.is_empty()
            || self.slots.values().any(|slot| slot.stored != slot.now)
    }

    fn changes(&self, changes: &mut Vec<Change>) {
        let mut change = |kind, values| changes.push(Change { table: R::TABLE, kind, values });
        for prefix in &self.deleted {
            change(ChangeKind::DeleteAll, prefix.clone());
        }
        for (key, slot) in &self.slots {
            match (&slot.stored, &slot.now) {
                (None, Some(row)) => change(ChangeKind::Insert, row.values()),
                (Some(old), Some(row)) if old != row => change(ChangeKind::Update, row.values()),
                (Some(_), None) => change(ChangeKind::Delete, key.clone()),
                _ => {}
            }
        }
        for row in &self.appended {
            change(ChangeKind::Insert, row.values());
        }
    }
}

/// What decisions see, and what they have changed.
#[derive(Default)]
pub(in crate::engine) struct View {
    loaded: Loaded,
    missing: BTreeSet<Key>,
    /// The calls that were counted before.
    calls: Vec<Statistics>,
    /// What the decisions have counted.
    counted: Vec<Statistics>,
    /// What the decision that is being made has counted so far; `None` in the place from which it
    /// has deleted all counts.
    counting: Vec<Option<Statistics>>,
}

fn is_due<R: Row>(row: &R, until: i64) -> bool {
    let due = R::SCHEMA.place(R::SCHEMA.due);
    due.is_some_and(|due| matches!(row.values()[due], Value::Int(at) if at <= until))
}

impl View {
    pub(super) fn new(calls: Vec<Statistics>) -> View {
        View { calls, ..View::default() }
    }

    /// The row with this key.
    pub(in crate::engine) fn get<R: Cached>(&mut self, key: impl Prefix) -> Decided<Option<R>> {
        let key = key.values();
        let cache = R::cache(&mut self.loaded);
        match cache.has(&key) {
            true => Ok(cache.row(&key).cloned()),
            false => Err(self.missing::<R>(Which::Prefix(key))),
        }
    }

    /// The rows whose key begins so, in the order of their keys.
    pub(in crate::engine) fn all<R: Cached>(&mut self, prefix: impl Prefix) -> Decided<Vec<R>> {
        let prefix = prefix.values();
        let cache = R::cache(&mut self.loaded);
        if !(0..=prefix.len()).any(|length| cache.prefixes.contains(&prefix[..length])) {
            return Err(self.missing::<R>(Which::Prefix(prefix)));
        }
        let keys = cache.keys(&prefix);
        Ok(keys.iter().filter_map(|key| cache.row(key)).cloned().collect())
    }

    /// The rows that were due, the earliest first, and the keys of those that cannot be read.
    pub(in crate::engine) fn due<R: Cached>(
        &mut self,
        due: &Due,
    ) -> Decided<(Vec<R>, Vec<Vec<Value>>)> {
        let cache = R::cache(&mut self.loaded);
        match cache.due.get(due) {
            Some(Keys { keys, unreadable }) => {
                // One may have been replaced since by another decision of the batch.
                let rows = keys.iter().filter_map(|key| cache.row(key));
                let rows = rows.filter(|row| is_due(*row, due.until)).cloned().collect();
                Ok((rows, unreadable.clone()))
            }
            None => Err(self.missing::<R>(Which::Due(due.clone()))),
        }
    }

    /// A page of rows, as they were before the batch: for those who only read.
    pub(in crate::engine) fn page<R: Cached>(&mut self, page: Page) -> Decided<Vec<R>> {
        let cache = R::cache(&mut self.loaded);
        match cache.pages.get(&page) {
            Some(keys) => Ok(keys.iter().filter_map(|key| cache.row(key)).cloned().collect()),
            None => Err(self.missing::<R>(Which::Page(page))),
        }
    }

    /// Adds a row, or replaces the one with its key.
    pub(in crate::engine) fn put<R: Cached>(&mut self, row: R) {
        R::cache(&mut self.loaded).pending.push(Pending::Put(row.key(), Some(row)));
    }

    pub(in crate::engine) fn delete<R: Cached>(&mut self, row: &R) {
        R::cache(&mut self.loaded).pending.push(Pending::Put(row.key(), None));
    }

    /// Deletes all rows whose key begins so, which need not be loaded.
    pub(in crate::engine) fn delete_all<R: Cached>(&mut self, prefix: impl Prefix) {
        R::cache(&mut self.loaded).pending.push(Pending::DeleteAll(prefix.values()));
    }

    /// Deletes the row with this key, which need not be readable.
    pub(in crate::engine) fn delete_key<R: Cached>(&mut self, key: Vec<Value>) {
        R::cache(&mut self.loaded).pending.push(Pending::DeleteAll(key));
    }

    /// Adds a row that cannot exist yet, without a look.
    pub(in crate::engine) fn append<R: Cached>(&mut self, row: R) {
        R::cache(&mut self.loaded).pending.push(Pending::Append(row));
    }

    /// Adds to the counts of a month.
    pub(in crate::engine) fn count(&mut self, counted: Statistics) {
        self.counting.push(Some(counted));
    }

    /// What was counted and is not written yet.
    pub(in crate::engine) fn counted(&self) -> impl Iterator<Item = &Statistics> {
        self.calls.iter().chain(&self.counted)
    }

    /// Deletes all counts, also those that are not written yet.
    pub(in crate::engine) fn delete_counts(&mut self) {
        self.delete_all::<Statistics>(());
        self.counting.push(None);
    }

    fn missing<R: Cached>(&mut self, rows: Which) -> Stop {
        self.missing.insert(Key { table: R::TABLE, rows });
        Stop::Missing
    }

    /// Asks for rows that the decision is going to read, so that they are loaded together.
    pub(in crate::engine) fn ask<R: Cached>(&mut self, prefix: impl Prefix) {
        let prefix = prefix.values();
        if !R::cache(&mut self.loaded).has(&prefix) {
            self.missing.insert(Key { table: R::TABLE, rows: Which::Prefix(prefix) });
        }
    }

    /// What has to be loaded before the decisions that stopped can be made.
    pub(super) fn take_missing(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.missing).into_iter().collect()
    }

    pub(super) fn absorb(&mut self, key: &Key, rows: Vec<Vec<Value>>) -> crate::Result<()> {
        match self.loaded.each().into_iter().nth(key.table) {
            Some(cache) => cache.absorb(&key.rows, rows),
            None => Ok(()),
        }
    }

    pub(super) fn keep(&mut self) {
        self.loaded.each().into_iter().for_each(AnyCache::keep);
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
        self.loaded.each().into_iter().for_each(AnyCache::discard);
        self.counting.clear();
    }

    /// Whether the decisions have changed anything.
    pub(super) fn is_changed(&mut self) -> bool {
        !self.counted.is_empty() || self.loaded.each().into_iter().any(|cache| cache.is_changed())
    }

    /// Everything that was changed, in an order in which it can be written.
    pub(super) fn changes(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        self.loaded.each().into_iter().for_each(|cache| cache.changes(&mut changes));
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

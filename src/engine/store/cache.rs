//! Cache of the rows of one table that a batch has loaded, and of the changes that its decisions
//! made to them.

use super::change::{Change, ChangeKind};
use super::table::{Row, Schema, Value};
use super::which::{Due, Page, Which};
use crate::Error;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A row of any table. Caches hold these, so that their code is compiled once, and not for each
/// table.
pub(in crate::engine) trait AnyRow: Any {
    fn all_values(&self) -> Vec<Value>;
    fn equals(&self, other: &dyn AnyRow) -> bool;
}

impl<R: Row> AnyRow for R {
    fn all_values(&self) -> Vec<Value> {
        self.values()
    }

    fn equals(&self, other: &dyn AnyRow) -> bool {
        (other as &dyn Any).downcast_ref::<R>().is_some_and(|other| self == other)
    }
}

pub(super) type RowRc = Rc<dyn AnyRow>;

/// Makes a row of its values.
pub(in crate::engine) type Reader = fn(Vec<Value>) -> crate::Result<RowRc>;

pub(in crate::engine) fn read<R: Row>(values: Vec<Value>) -> crate::Result<RowRc> {
    Ok(Rc::new(R::of(values)?))
}

/// Returns the row of a cache, whose table it is.
pub(super) fn typed<R: Row>(row: &RowRc) -> Option<R> {
    (&**row as &dyn Any).downcast_ref::<R>().cloned()
}

type Keys = Vec<Vec<Value>>;

/// The rows of one table.
#[derive(Default)]
pub(super) struct Cache {
    slots: BTreeMap<Vec<Value>, Slot>,
    /// The prefixes whose rows are all loaded.
    prefixes: BTreeSet<Vec<Value>>,
    /// The keys of rows that were due, and the values of such rows that cannot be read.
    pub(super) due: BTreeMap<Due, (Keys, Vec<Vec<Value>>)>,
    pub(super) pages: BTreeMap<Page, Vec<Vec<Value>>>,
    /// The keys that come after one, and how many were asked for.
    pub(super) walks: BTreeMap<(Vec<Value>, u32), Keys>,
    /// The rows that were loaded by keys and cannot be read.
    unreadable: BTreeMap<Vec<Value>, Error>,
    /// The changes of the decision that is being made.
    pub(super) pending: Vec<Pending>,
    deleted: Vec<Vec<Value>>,
    appended: Vec<RowRc>,
}

struct Slot {
    /// As the store has it.
    stored: Option<RowRc>,
    now: Option<RowRc>,
}

impl Slot {
    fn is_changed(&self) -> bool {
        match (&self.stored, &self.now) {
            (None, None) => false,
            (Some(stored), Some(now)) => !Rc::ptr_eq(stored, now) && !stored.equals(&**now),
            _ => true,
        }
    }
}

pub(super) enum Pending {
    Put(Vec<Value>, Option<RowRc>),
    DeleteAll(Vec<Value>),
    Append(RowRc),
}

impl Cache {
    /// Returns whether all rows whose key begins so are loaded.
    pub(super) fn has_all(&self, prefix: &[Value]) -> bool {
        (0..=prefix.len()).any(|length| self.prefixes.contains(&prefix[..length]))
    }

    pub(super) fn has(&self, key: &[Value]) -> bool {
        self.slots.contains_key(key) || self.has_all(key)
    }

    /// Fails if a row whose key begins so cannot be read: a decision that needs it must not ignore
    /// it.
    pub(super) fn check(&self, prefix: &[Value]) -> crate::Result<()> {
        if self.unreadable.is_empty() {
            return Ok(());
        }
        let below = self.unreadable.range(prefix.to_vec()..);
        let mut below = below.take_while(|(key, _)| key.starts_with(prefix));
        match below.find(|(key, _)| !self.is_being_deleted(key)) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }

    fn is_being_deleted(&self, key: &[Value]) -> bool {
        let deletes = |pending: &Pending| matches!(pending, Pending::DeleteAll(prefix) if key.starts_with(prefix));
        self.pending.iter().any(deletes)
    }

    pub(super) fn row(&self, key: &[Value]) -> Option<&RowRc> {
        for pending in self.pending.iter().rev() {
            match pending {
                Pending::Put(of, row) if of == key => return row.as_ref(),
                Pending::DeleteAll(prefix) if key.starts_with(prefix) => return None,
                _ => {}
            }
        }
        self.slots.get(key).and_then(|slot| slot.now.as_ref())
    }

    pub(super) fn rows<R: Row>(&self, keys: &[Vec<Value>]) -> Vec<R> {
        keys.iter().filter_map(|key| self.row(key)).filter_map(typed).collect()
    }

    /// Returns the keys of the rows with this prefix, in order, also of removed rows.
    pub(super) fn keys(&self, prefix: &[Value]) -> Vec<Vec<Value>> {
        let stored = self.slots.range(prefix.to_vec()..).map(|(key, _)| key);
        let stored = stored.take_while(|key| key.starts_with(prefix));
        let mut keys: Vec<Vec<Value>> = stored.cloned().collect();
        for pending in &self.pending {
            if let Pending::Put(key, _) = pending
                && key.starts_with(prefix)
                && let Err(place) = keys.binary_search(key)
            {
                keys.insert(place, key.clone());
            }
        }
        keys
    }

    fn merge(&mut self, pending: Pending) {
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
                self.appended.retain(|row| !row.all_values().starts_with(&prefix));
                self.unreadable.retain(|key, _| !key.starts_with(&prefix));
                self.prefixes.insert(prefix.clone());
                self.deleted.push(prefix);
            }
            Pending::Append(row) => self.appended.push(row),
        }
    }

    pub(super) fn absorb(
        &mut self,
        schema: &Schema,
        read: Reader,
        which: &Which,
        found: Vec<Vec<Value>>,
    ) -> crate::Result<()> {
        let mut keys = Vec::new();
        let mut unreadable = Vec::new();
        for values in found {
            let key: Vec<Value> = values.iter().take(schema.key).cloned().collect();
            // The store still has the rows that this batch deletes.
            if self.deleted.iter().any(|prefix| key.starts_with(prefix)) {
                continue;
            }
            let whole = matches!(which, Which::Due(_)).then(|| values.clone());
            let row = match (read(values), which) {
                (Ok(row), _) => row,
                // One unreadable row must not stop the search for expired rows permanently.
                (Err(_), Which::Due(_)) => {
                    unreadable.extend(whole);
                    continue;
                }
                // It fails the decisions that need it, and no others of the batch.
                (Err(error), Which::Prefix(_)) => {
                    self.unreadable.insert(key, error);
                    continue;
                }
                (Err(error), _) => return Err(error),
            };
            keys.push(key.clone());
            // One that is here already may have been changed.
            self.slots
                .entry(key)
                .or_insert_with(|| Slot { stored: Some(Rc::clone(&row)), now: Some(row) });
        }
        match which {
            Which::Prefix(prefix) => drop(self.prefixes.insert(prefix.clone())),
            Which::Due(due) => drop(self.due.insert(due.clone(), (keys, unreadable))),
            Which::Page(page) => drop(self.pages.insert(page.clone(), keys)),
            Which::After(key, most) => drop(self.walks.insert((key.clone(), *most), keys)),
        }
        Ok(())
    }

    /// Keeps the changes of the decision.
    pub(super) fn keep(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            self.merge(pending);
        }
    }

    pub(super) fn is_changed(&self) -> bool {
        !self.deleted.is_empty()
            || !self.appended.is_empty()
            || self.slots.values().any(Slot::is_changed)
    }

    pub(super) fn changes(&self, table: usize, changes: &mut Vec<Change>) {
        let mut change = |kind, values| changes.push(Change { table, kind, values });
        for prefix in &self.deleted {
            change(ChangeKind::DeleteAll, prefix.clone());
        }
        for (key, slot) in self.slots.iter().filter(|(_, slot)| slot.is_changed()) {
            match (&slot.stored, &slot.now) {
                (None, Some(row)) => change(ChangeKind::Insert, row.all_values()),
                (Some(_), Some(row)) => change(ChangeKind::Update, row.all_values()),
                (Some(_), None) => change(ChangeKind::Delete, key.clone()),
                (None, None) => {}
            }
        }
        for row in &self.appended {
            change(ChangeKind::Insert, row.all_values());
        }
    }
}

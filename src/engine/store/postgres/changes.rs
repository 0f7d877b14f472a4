//! Writes the changes of a transaction.

use super::buckets::{Guard, LIST, Scope};
use super::rows::{Transaction, Trouble, Values, with_bucket};
use super::statements::{COMMON, STATEMENTS, columns};
use super::values::{arrays, blobs};
use crate::engine::store::change::{Change, ChangeKind};
use crate::engine::store::sealed::not_sealed;
use crate::engine::store::table::{Column, Row as _, Value};
use crate::engine::store::tables::{Statistics, TABLES};
use crate::postgres::{Param, Problem};
use std::collections::{BTreeMap, BTreeSet};

impl Transaction<'_> {
    /// Adds the statements for these changes to the pipeline that ends with the commit.
    pub(super) fn write(&mut self, changes: Vec<Change>) -> Result<(), Trouble> {
        if changes.is_empty() {
            return Ok(());
        }
        let changes_list =
            changes.iter().any(|change| STATEMENTS[change.table].scope == Scope::Listed);
        if changes_list && !self.locked.contains(&Guard::Fence(LIST)) {
            self.guards.insert(Guard::Fence(LIST));
            return Err(Trouble::Unlocked);
        }
        let is_secret = |value: &Value| matches!(value, Value::Secret(_));
        if changes.iter().any(|change| change.values.iter().any(is_secret)) {
            return Err(Trouble::Damaged(not_sealed()));
        }
        self.begin()?;
        let mut parts = Vec::new();
        self.lock(Self::guards_to_change(&changes), &mut parts)?;
        self.unread += parts.len();
        if !self.wrote {
            self.wrote = true;
            self.quietly(&COMMON.begin_batch, &[blobs(&[self.mark])])?;
            if !self.forget.is_empty() {
                self.quietly(&COMMON.forget_batches, &[blobs(self.forget)])?;
            }
        }
        let mut groups: BTreeMap<(usize, u8, usize), (ChangeKind, Values)> = BTreeMap::new();
        for Change { table, kind, values } in changes {
            let length = values.len();
            let mut row = with_bucket(&STATEMENTS[table], values);
            if kind == ChangeKind::Add && table == Statistics::TABLE {
                self.set_shard(&mut row);
            }
            let place = (table, order(kind), length);
            groups.entry(place).or_insert_with(|| (kind, Vec::new())).1.push(row);
        }
        for ((table, _, length), (kind, rows)) in groups {
            self.change(table, kind, length, &rows)?;
        }
        Ok(())
    }

    /// Returns the locks of rows that are changed but were not read, such as new ones.
    fn guards_to_change(changes: &[Change]) -> BTreeSet<Guard> {
        let mut guards = BTreeSet::new();
        for Change { table, values, .. } in changes {
            guards.extend(values.first().and_then(|first| STATEMENTS[*table].scope.guard(first)));
        }
        guards
    }

    /// Several nodes count in different rows, so that none waits for another's transaction.
    fn set_shard(&self, row: &mut [Value]) {
        let columns = Statistics::SCHEMA.columns;
        if let Some(place) = columns.iter().position(|column| column.name == "shard") {
            row[place] = Value::Int(self.shard);
        }
    }

    fn change(
        &mut self,
        table: usize,
        kind: ChangeKind,
        length: usize,
        rows: &[Vec<Value>],
    ) -> Result<(), Problem> {
        let statements = &STATEMENTS[table];
        let columns = columns(TABLES[table]);
        let of = |columns: &[Column]| arrays(columns, rows);
        match kind {
            ChangeKind::DeleteAll | ChangeKind::Delete if length == 0 => {
                self.quietly(&statements.delete[0], &[])
            }
            ChangeKind::DeleteAll | ChangeKind::Delete => {
                let key = &columns[..length + statements.scope.extra()];
                self.quietly(&statements.delete[length], &of(key))
            }
            ChangeKind::Insert => self.quietly(&statements.insert, &of(&columns)),
            ChangeKind::Add => match &statements.add {
                Some(add) => self.quietly(add, &of(&columns)),
                None => Ok(()),
            },
            ChangeKind::Update => {
                let Some(update) = &statements.update else { return Ok(()) };
                let mut params = of(&columns);
                params.push(Param::int(i64::try_from(rows.len()).unwrap_or(i64::MAX)));
                self.quietly(update, &params)
            }
        }
    }
}

/// Deletions first, because a row may take the place of a deleted one.
fn order(kind: ChangeKind) -> u8 {
    match kind {
        ChangeKind::DeleteAll => 0,
        ChangeKind::Delete => 1,
        ChangeKind::Update => 2,
        ChangeKind::Insert => 3,
        ChangeKind::Add => 4,
    }
}

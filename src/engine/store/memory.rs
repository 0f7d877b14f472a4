//! Store in memory, for sandboxes and as the reference for tests of the other stores.

use super::backend::{Backend, Fault, Rows};
use super::change::{Change, ChangeKind};
use super::sqlite::Using;
use super::table::{Value, sort};
use super::tables::TABLES;
use super::which::{Due, Key, Which};
use crate::engine::model::clock::Time;
use crate::{Error, Result};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// The rows of a table, by their keys.
type Table = BTreeMap<Vec<Value>, Vec<Value>>;

pub(in crate::engine) struct Memory {
    tables: Mutex<Vec<Table>>,
    process: u32,
}

impl Memory {
    pub(in crate::engine) fn new() -> Memory {
        let tables = TABLES.iter().map(|_| Table::new()).collect();
        Memory { tables: Mutex::new(tables), process: std::process::id() }
    }

    fn tables(&self) -> Result<MutexGuard<'_, Vec<Table>>, Fault> {
        self.tables.lock().map_err(|_| Fault::OfStore(super::batch::broken()))
    }
}

impl Backend for Memory {
    /// A forked child has copies of the rows, and a thread of the parent may have been changing them.
    fn begin(&self) -> Result<Box<dyn Any>> {
        match std::process::id() == self.process {
            true => Ok(Box::new(Using::begin()?)),
            false => Err(Error::storage(
                "the sandbox was opened before this process was forked: open it after the fork, or \
                 reopen it there, empty",
            )),
        }
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        work(&mut Transaction(&mut *self.tables()?))
    }

    fn is_restored(&self) -> bool {
        false
    }

    fn copy_to(&self, _: &Path, _: &mut dyn FnMut(u64, u64)) -> Result<()> {
        Err(Error::storage("a sandbox has no backup: it is in memory only"))
    }

    /// Rows in memory were not restored.
    fn spend(&self, _: Time) -> Result<()> {
        Ok(())
    }

    fn read(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        self.write(work)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // In a forked child, a thread of the parent may have been changing them.
        if std::process::id() != self.process {
            std::mem::forget(std::mem::take(&mut self.tables));
        }
    }
}

/// All rows, which no other transaction sees or changes meanwhile.
struct Transaction<'a>(&'a mut Vec<Table>);

impl Rows for Transaction<'_> {
    fn load(&mut self, keys: &[Key]) -> Result<Vec<Vec<Vec<Value>>>, Fault> {
        Ok(keys.iter().map(|key| find(&self.0[key.table], key)).collect())
    }

    fn apply(&mut self, changes: Vec<Change>) -> Result<(), Fault> {
        let mut before = Vec::new();
        for change in changes {
            if let Err(fault) = apply(self.0, change, &mut before) {
                for (table, key, row) in before.into_iter().rev() {
                    match row {
                        Some(row) => self.0[table].insert(key, row),
                        None => self.0[table].remove(&key),
                    };
                }
                return Err(fault);
            }
        }
        Ok(())
    }
}

fn find(table: &Table, key: &Key) -> Vec<Vec<Value>> {
    match &key.rows {
        Which::Prefix(prefix) => below(table, prefix).map(|(_, row)| row.clone()).collect(),
        Which::After(key, most) => {
            let after = table.range((Bound::Excluded(key.clone()), Bound::Unbounded));
            after.take(*most as usize).map(|(_, row)| row.clone()).collect()
        }
        Which::Page(page) => {
            let order = page.order(TABLES[key.table]);
            let place = |row: &[Value]| order.iter().map(|at| row[*at].clone()).collect::<Vec<_>>();
            let before = |row: &[Value]| place(row)[..page.before.len()] < page.before[..];
            let equal = page.equal(TABLES[key.table]);
            let fits =
                |row: &[Value]| equal.iter().zip(&page.prefix).all(|(at, of)| row[*at] == *of);
            let mut rows: Vec<_> =
                table.values().filter(|row| fits(row) && before(row)).cloned().collect();
            sort(&mut rows, &|a, b| place(b).cmp(&place(a)));
            rows.truncate(page.most as usize);
            rows
        }
        Which::Due(Due { of, until, most }) => {
            let schema = TABLES[key.table];
            let Some(column) = schema.place(schema.due) else { return Vec::new() };
            let apart = schema.place(schema.due_of);
            let fits = |row: &&Vec<Value>| apart.map(|apart| &row[apart]) == of.as_ref();
            let mut due: Vec<_> = table
                .values()
                .filter(|row| matches!(row[column], Value::Int(at) if at <= *until))
                .filter(fits)
                .cloned()
                .collect();
            sort(&mut due, &|a, b| a[column].cmp(&b[column]));
            due.truncate(*most as usize);
            due
        }
    }
}

fn below<'a>(
    table: &'a Table,
    prefix: &'a [Value],
) -> impl Iterator<Item = (&'a Vec<Value>, &'a Vec<Value>)> {
    table.range(prefix.to_vec()..).take_while(move |(key, _)| key.starts_with(prefix))
}

/// The row that was there before a change.
type Before = (usize, Vec<Value>, Option<Vec<Value>>);

fn apply(tables: &mut [Table], change: Change, before: &mut Vec<Before>) -> Result<(), Fault> {
    let Change { table: place, kind, values } = change;
    let (table, length) = (&mut tables[place], TABLES[place].key);
    let key = values[..length.min(values.len())].to_vec();
    match kind {
        ChangeKind::DeleteAll | ChangeKind::Delete => {
            let keys: Vec<_> = below(table, &key).map(|(key, _)| key.clone()).collect();
            for key in keys {
                let old = table.remove(&key);
                before.push((place, key, old));
            }
        }
        ChangeKind::Insert if table.contains_key(&key) => {
            return Err(Fault::OfRow(Error::storage("a row with the key of another")));
        }
        ChangeKind::Insert | ChangeKind::Update => {
            let old = table.insert(key.clone(), values);
            before.push((place, key, old));
        }
        ChangeKind::Add => {
            let mut sum = values;
            for (value, old) in
                sum.iter_mut().zip(table.get(&key).into_iter().flatten()).skip(length)
            {
                if let (Value::Int(value), Value::Int(old)) = (value, old) {
                    *value += old;
                }
            }
            let old = table.insert(key.clone(), sum);
            before.push((place, key, old));
        }
    }
    Ok(())
}

//! Walks through the sealed values of a database in steps, each short enough not to delay calls.

use super::backend::{Fault, Rows};
use super::change::{Change, ChangeKind};
use super::table::{Row, Value};
use super::tables::{SealingKey, TABLES};
use super::which::{Key, Which};
use super::{Store, sealing};
use crate::keyring::{KeyId, Ring};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// The number of rows that a step looks at.
const STEP: u32 = 128;

/// The result of [`Store::reseal`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Resealed {
    pub(in crate::engine) values: u64,
    pub(in crate::engine) unreadable: u64,
}

impl Store {
    /// # Errors
    /// [`Error::InvalidArgument`] for a store in memory.
    pub(in crate::engine) fn ring(&self) -> Result<&Ring> {
        self.ring.as_deref().ok_or_else(|| {
            Error::invalid_argument("url", "names a sandbox, which is in memory and has no keyring")
        })
    }

    /// Returns the number of values sealed with each key. Keys that the database lists without any
    /// values are included.
    pub(in crate::engine) fn sealed_values(&self) -> Result<BTreeMap<KeyId, u64>> {
        self.ring()?;
        let using = self.backend.begin()?;
        let listed = sealing::listed(&*self.backend)?;
        drop(using);
        let mut counts: BTreeMap<KeyId, u64> = listed.into_iter().map(|id| (id, 0)).collect();
        for table in sealed_tables() {
            walk(table, |key| {
                // For each step alone, because forks wait for it.
                let _using = self.backend.begin()?;
                let mut page = Vec::new();
                let read = self.backend.read(&mut |rows| {
                    page = load(rows, &key)?;
                    Ok(())
                });
                read.map_err(sealing::error_of)?;
                for id in page.iter().flatten().filter_map(sealed_with) {
                    *counts.entry(id).or_default() += 1;
                }
                Ok(page)
            })?;
        }
        Ok(counts)
    }

    /// Seals every value with the current key that was sealed with another one.
    pub(in crate::engine) fn reseal(&self) -> Result<Resealed> {
        self.ring()?;
        let mut done = Resealed::default();
        for table in sealed_tables() {
            walk(table, |key| {
                let _using = self.backend.begin()?;
                let mut outcome = (Vec::new(), Resealed::default());
                let written = self.backend.write(&mut |rows| {
                    let page = load(rows, &key)?;
                    // The key of this transaction: the ring may have got another one meanwhile.
                    let Some(current) = rows.sealed_with() else { return Ok(()) };
                    let (changes, resealed) = renewed(current, table, &page);
                    outcome = (page, resealed);
                    if changes.is_empty() { Ok(()) } else { rows.apply(changes) }
                });
                written.map_err(sealing::error_of)?;
                done.values += outcome.1.values;
                done.unreadable += outcome.1.unreadable;
                Ok(outcome.0)
            })?;
        }
        Ok(done)
    }

    /// Removes a key from the list of keys that the database needs.
    ///
    /// # Errors
    /// [`Error::Storage`] if values were sealed with it.
    pub(in crate::engine) fn unlist(&self, id: KeyId) -> Result<()> {
        let used = self.sealed_values()?.remove(&id).unwrap_or(0);
        if used > 0 {
            return Err(Error::storage(format!(
                "{used} values in the database were sealed with the key {id}: seal them anew with \
                 `seconder keyring reseal` first"
            )));
        }
        let _using = self.backend.begin()?;
        let change = || Change {
            table: SealingKey::TABLE,
            kind: ChangeKind::DeleteAll,
            values: vec![Value::Text(id.to_string())],
        };
        self.backend.write(&mut |rows| rows.apply(vec![change()])).map_err(sealing::error_of)
    }
}

fn sealed_tables() -> impl Iterator<Item = usize> {
    let sealed = |table: &usize| TABLES[*table].columns.iter().any(|column| column.sealed);
    (0..TABLES.len()).filter(sealed)
}

/// Takes steps through a table, until one has found no more rows.
fn walk(table: usize, mut step: impl FnMut(Key) -> Result<Vec<Vec<Value>>>) -> Result<()> {
    let mut after = Vec::new();
    loop {
        let page = step(Key { table, rows: Which::After(after, STEP) })?;
        let Some(mut last) = page.into_iter().last() else { return Ok(()) };
        last.truncate(TABLES[table].key);
        after = last;
    }
}

fn load(rows: &mut dyn Rows, key: &Key) -> Result<Vec<Vec<Value>>, Fault> {
    Ok(rows.load(std::slice::from_ref(key))?.into_iter().flatten().collect())
}

fn sealed_with(value: &Value) -> Option<KeyId> {
    match value {
        Value::Secret(secret) => secret.stored.as_deref().and_then(KeyId::of_value),
        _ => None,
    }
}

/// Returns the changes that seal again every value that was not sealed with the current key.
fn renewed(current: KeyId, table: usize, page: &[Vec<Value>]) -> (Vec<Change>, Resealed) {
    let mut done = Resealed::default();
    let mut changes = Vec::new();
    for row in page {
        let mut values = row.clone();
        let before = done.values;
        for value in &mut values {
            let old = sealed_with(value) != Some(current);
            if let (Value::Secret(secret), true) = (value, old) {
                match secret.plain {
                    Ok(_) => {
                        secret.stored = None;
                        done.values += 1;
                    }
                    Err(_) => done.unreadable += 1,
                }
            }
        }
        if done.values > before {
            changes.push(Change { table, kind: ChangeKind::Update, values });
        }
    }
    (changes, done)
}

#[cfg(test)]
mod tests {
    use super::super::backend::Backend;
    use super::super::sealing::Sealing;
    use super::super::{Memory, Store, View};
    use super::*;
    use crate::engine::model::clock::{System, Time};
    use crate::engine::store::SentCode;
    use crate::keyring::Keyring;
    use std::any::Any;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// A store in which the ring gets another current key just before the work of a transaction.
    struct Rotating {
        inner: Memory,
        ring: Arc<Ring>,
        /// The number of writes after which the key changes.
        after: Arc<AtomicUsize>,
    }

    impl Backend for Rotating {
        fn begin(&self) -> Result<Box<dyn Any>> {
            self.inner.begin()
        }

        fn write(
            &self,
            work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>,
        ) -> Result<(), Fault> {
            if self.after.fetch_sub(1, SeqCst) == 0 {
                self.ring.file().unwrap().rotate().unwrap();
                self.ring.keys();
            }
            self.inner.write(work)
        }

        fn read(
            &self,
            work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>,
        ) -> Result<(), Fault> {
            self.inner.read(work)
        }

        fn is_restored(&self) -> bool {
            false
        }

        fn spend(&self, now: Time) -> Result<()> {
            self.inner.spend(now)
        }

        fn copy_to(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
            self.inner.copy_to(to, progress)
        }
    }

    #[test]
    fn only_what_was_sealed_anew_is_counted_when_keys_change_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let file = Keyring::at(folder.path().join("ring"));
        file.create().unwrap();
        let ring = Arc::new(Ring::open(file).unwrap());
        let after = Arc::new(AtomicUsize::new(usize::MAX));
        let rotating =
            Rotating { inner: Memory::new(), ring: Arc::clone(&ring), after: Arc::clone(&after) };
        let sealing = Sealing::new(rotating, Arc::clone(&ring), Arc::new(System)).unwrap();
        let store = Store::of(Box::new(sealing), Some(Arc::clone(&ring)));
        let code = SentCode {
            subject: "user:1".to_owned(),
            action: String::new(),
            code: "1234567".into(),
            expires_at: Time(1),
            sends: 0,
            wrong_tries: 0,
            spent: false,
            sms_at: Time(0),
            call_at: Time(0),
            route: None,
        };
        let add = move |view: &mut View| {
            view.append(code.clone());
            Ok(())
        };
        store.run(add).unwrap();
        // In the step that finds the code.
        let before = sealed_tables().position(|table| table == SentCode::TABLE).unwrap();
        after.store(before, SeqCst);
        assert_eq!(store.reseal().unwrap(), Resealed { values: 0, unreadable: 0 });
        assert_eq!(store.reseal().unwrap(), Resealed { values: 1, unreadable: 0 });
        let current = ring.keys().current().unwrap().id;
        assert_eq!(store.sealed_values().unwrap()[&current], 1);
    }
}

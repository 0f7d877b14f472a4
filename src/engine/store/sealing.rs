//! Seals and opens the values of sealed columns, between the decisions and the store: a store never
//! sees a secret, and a decision never sees anything else.
//!
//! A value is sealed for its place, which is its table, its column and the key of its row, so that
//! it cannot be moved to another row. This does not prevent that an older value of the same place
//! is put back.

use super::backend::{Backend, Fault, Rows, Upkept};
use super::change::{Change, ChangeKind};
use super::secret::Secret;
use super::table::{Row, Schema, Value};
use super::tables::{SealingKey, TABLES};
use super::which::{Key, Which};
use crate::engine::model::clock::{Clock, Time};
use crate::keyring::{Cipher, Key as RingKey, KeyId, Keys, Ring};
use crate::{Error, Result};
use std::any::Any;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A store whose sealed columns are encrypted.
pub(in crate::engine) struct Sealing<B> {
    inner: B,
    ring: Arc<Ring>,
    clock: Arc<dyn Clock>,
    /// The keys that the database is known to list.
    listed: Mutex<BTreeSet<KeyId>>,
}

impl<B: Backend> Sealing<B> {
    /// Returns a database that must have no ring, or this one, in which its current key is then
    /// listed.
    ///
    /// # Errors
    /// [`Error::Storage`] if it is the database of another ring, and nothing is changed.
    pub(in crate::engine) fn new(
        inner: B,
        ring: Arc<Ring>,
        clock: Arc<dyn Clock>,
    ) -> Result<Sealing<B>> {
        let _using = inner.begin()?;
        let listed = listed(&inner)?;
        let keys = ring.keys();
        let missing: Vec<_> = listed.iter().filter(|id| keys.get(**id).is_none()).collect();
        if !missing.is_empty() {
            return Err(wrong_ring(&ring, &missing));
        }
        let sealing = Sealing { inner, ring, clock, listed: Mutex::new(listed) };
        sealing.list_current(&keys).map_err(error_of)?;
        Ok(sealing)
    }

    /// Lists the current key in the database before anything is sealed with it.
    fn list_current(&self, keys: &Keys) -> Result<(), Fault> {
        let Some(current) = keys.current().map(|key| key.id) else { return Ok(()) };
        if self.lock().contains(&current) {
            return Ok(());
        }
        let row = SealingKey { key_id: current.to_string(), added_at: Time::of(&*self.clock) };
        self.inner.write(&mut |rows| {
            let before = listed_in(rows)?;
            // Another process may have made its ring the database's meanwhile, or the file may have been
            // replaced by another ring. A key that was added since is in the file before it is listed.
            if before.iter().any(|id| keys.get(*id).is_none()) {
                let newer = self.ring.keys();
                let missing = before.iter().filter(|id| newer.get(**id).is_none());
                let missing: Vec<_> = missing.collect();
                if !missing.is_empty() {
                    return Err(Fault::OfStore(wrong_ring(&self.ring, &missing)));
                }
            }
            if before.contains(&current) {
                return Ok(());
            }
            rows.apply(vec![Change {
                table: SealingKey::TABLE,
                kind: ChangeKind::Insert,
                values: row.values(),
            }])
        })?;
        self.lock().insert(current);
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<KeyId>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn error_of(fault: Fault) -> Error {
    match fault {
        Fault::OfRow(error) | Fault::OfStore(error) => error,
    }
}

/// Returns the keys that a database lists; empty if nothing has been sealed in it.
pub(in crate::engine) fn listed(backend: &dyn Backend) -> Result<BTreeSet<KeyId>> {
    let mut listed = BTreeSet::new();
    let read = backend.read(&mut |rows| {
        listed = listed_in(rows)?;
        Ok(())
    });
    read.map(|()| listed).map_err(error_of)
}

/// Returns the keys that are listed in these rows.
pub(super) fn listed_in(rows: &mut dyn Rows) -> Result<BTreeSet<KeyId>, Fault> {
    let all = Key { table: SealingKey::TABLE, rows: Which::Prefix(Vec::new()) };
    let mut listed = BTreeSet::new();
    for row in rows.load(&[all])?.into_iter().flatten() {
        let row = SealingKey::of(row).map_err(Fault::OfRow)?;
        let id = row.key_id.parse();
        listed
            .insert(id.map_err(|_| Fault::OfRow(super::table::damaged("sealing_keys", "key_id")))?);
    }
    Ok(listed)
}

pub(in crate::engine) fn wrong_ring(ring: &Ring, missing: &[&KeyId]) -> Error {
    let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
    let shown = ring
        .file()
        .map_or_else(|| "of this process".to_owned(), |file| file.path().display().to_string());
    Error::storage(format!(
        "the keyring {shown} is not that of the database, or an old copy of it: it lacks the key {}. \
         Restore the keyring that belongs to the database; nothing was changed",
        missing.join(" and the key ")
    ))
}

impl<B: Backend> Backend for Sealing<B> {
    fn begin(&self) -> Result<Box<dyn Any>> {
        self.inner.begin()
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        let keys = self.ring.keys();
        self.list_current(&keys)?;
        self.inner.write(&mut |rows| work(&mut SealedRows::new(rows, &keys, &self.ring)))
    }

    fn read(&self, work: &mut dyn FnMut(&mut dyn Rows) -> Result<(), Fault>) -> Result<(), Fault> {
        let keys = self.ring.last_keys();
        self.inner.read(&mut |rows| work(&mut SealedRows::new(rows, &keys, &self.ring)))
    }

    fn is_restored(&self) -> bool {
        self.inner.is_restored()
    }

    fn spend(&self, now: Time) -> Result<()> {
        self.inner.spend(now)
    }

    fn copy_to(&self, to: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        self.inner.copy_to(to, progress)
    }

    fn look_after(&self, full: bool) -> Result<Upkept> {
        self.inner.look_after(full)
    }

    fn check(&self) -> Result<()> {
        self.inner.check()
    }

    fn tidy_up(&self) {
        self.inner.tidy_up();
    }
}

/// The rows of a transaction, with their secrets.
struct SealedRows<'a> {
    rows: &'a mut dyn Rows,
    /// The database lists their current one.
    sealing: &'a Keys,
    /// The known keys, including those found since.
    keys: Arc<Keys>,
    ring: &'a Ring,
    /// The keys that were used so far: to expand one takes about as long as to seal a value.
    ciphers: Vec<Cipher>,
}

impl Rows for SealedRows<'_> {
    fn load(&mut self, keys: &[Key]) -> Result<Vec<Vec<Vec<Value>>>, Fault> {
        let mut found = self.rows.load(keys)?;
        for (key, rows) in keys.iter().zip(&mut found) {
            let table = TABLES[key.table];
            if table.columns.iter().any(|column| column.sealed) {
                rows.iter_mut().for_each(|row| self.open(table, row));
            }
        }
        Ok(found)
    }

    fn apply(&mut self, mut changes: Vec<Change>) -> Result<(), Fault> {
        for change in &mut changes {
            self.seal(TABLES[change.table], &mut change.values).map_err(Fault::OfRow)?;
        }
        self.rows.apply(changes)
    }

    fn sealed_with(&self) -> Option<KeyId> {
        self.sealing.current().map(|key| key.id)
    }
}

impl<'a> SealedRows<'a> {
    fn new(rows: &'a mut dyn Rows, keys: &'a Arc<Keys>, ring: &'a Ring) -> SealedRows<'a> {
        SealedRows { rows, sealing: keys, keys: Arc::clone(keys), ring, ciphers: Vec::new() }
    }

    fn seal(&mut self, table: &Schema, values: &mut [Value]) -> Result<()> {
        for place in 0..values.len() {
            let Value::Secret(secret) = &values[place] else { continue };
            let sealed = match (&secret.stored, &secret.plain) {
                // It is unchanged. To seal it again would take time, and a nonce.
                (Some(stored), _) => stored.to_vec(),
                (None, Ok(plain)) => {
                    let key = self.sealing.current().ok_or_else(super::sealed::not_sealed)?;
                    cipher(&mut self.ciphers, key).seal(&describe(table, place, values), plain)?
                }
                (None, Err(error)) => return Err(error.clone()),
            };
            values[place] = Value::Blob(sealed);
        }
        Ok(())
    }

    /// Opens the sealed values of a row; one that cannot be opened fails only the decisions that
    /// need it.
    fn open(&mut self, table: &Schema, values: &mut [Value]) {
        for place in 0..values.len() {
            if !table.columns[place].sealed {
                continue;
            }
            let Value::Blob(sealed) = &values[place] else { continue };
            let plain = self.plain(table, place, values, sealed);
            let stored = Some(Arc::from(sealed.as_slice()));
            values[place] = Value::Secret(Secret { plain, stored });
        }
    }

    fn plain(
        &mut self,
        table: &Schema,
        place: usize,
        values: &[Value],
        sealed: &[u8],
    ) -> Result<zeroize::Zeroizing<Vec<u8>>> {
        let damaged = || super::table::damaged(table.name, table.columns[place].name);
        let id = KeyId::of_value(sealed).ok_or_else(damaged)?;
        if self.keys.get(id).is_none() {
            // Another process may have added it.
            self.keys = self.ring.keys();
        }
        let key = self.keys.get(id).ok_or_else(|| lacks(table, place, id))?;
        let cipher = cipher(&mut self.ciphers, key);
        cipher.open(&describe(table, place, values), sealed).ok_or_else(damaged)
    }
}

/// Returns the cipher of a key, which is made if it is not one of these.
fn cipher<'a>(ciphers: &'a mut Vec<Cipher>, key: &RingKey) -> &'a Cipher {
    let found = ciphers.iter().position(|cipher| cipher.id == key.id);
    let place = found.unwrap_or_else(|| {
        ciphers.push(key.cipher());
        ciphers.len() - 1
    });
    &ciphers[place]
}

fn lacks(table: &Schema, place: usize, id: KeyId) -> Error {
    let (table, column) = (table.name, table.columns[place].name);
    Error::storage(format!(
        "a row of {table} has a {column} that was sealed with the key {id}, which the keyring lacks, \
         or that is damaged: restore the keyring with this key"
    ))
}

/// Returns the place of a value: no two places have one description.
fn describe(table: &Schema, place: usize, values: &[Value]) -> Vec<u8> {
    let mut described = Vec::with_capacity(96);
    let mut add = |kind: u8, bytes: &[u8]| {
        described.push(kind);
        described.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        described.extend_from_slice(bytes);
    };
    add(b'n', table.name.as_bytes());
    add(b'n', table.columns[place].name.as_bytes());
    for value in values.iter().take(table.key) {
        match value {
            Value::Int(number) => add(b'i', &number.to_be_bytes()),
            Value::Text(text) => add(b't', text.as_bytes()),
            Value::Blob(bytes) => add(b'b', bytes),
            // No key has one.
            Value::Null | Value::Secret(_) => add(b'0', b""),
        }
    }
    described
}

#[cfg(test)]
mod tests;

//! Operations on the keys that seal the secrets of the database. Each change is in the audit, with the
//! id of the key.

use super::declaration::{Nothing, Operation, operation};
use crate::engine::core::Engine;
use crate::engine::operations::audit::AuditVerdict;
use crate::keyring::{KeyId, KeyInfo};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

operation! {
    /// Returns the keys of the keyring, the oldest first, without what they are made of.
    #[derive(Default)]
    ListKeys = "keyring.list" -> SealingKeys {
        /// Also counts the values that were sealed with each, which reads all that are sealed. Default: no.
        #[serde(default)]
        values: bool,
    }
}

/// The keys of a keyring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SealingKeys {
    /// The keys.
    pub keys: Vec<KeyEntry>,
}

/// A key of a keyring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KeyEntry {
    /// Its id.
    pub key: String,
    /// The time at which it was made, in Unix seconds.
    pub created: u64,
    /// True if new values are sealed with it.
    pub current: bool,
    /// The number of values that were sealed with it; `None` if that was not asked for.
    pub values: Option<u64>,
}

impl From<&KeyInfo> for KeyEntry {
    fn from(key: &KeyInfo) -> KeyEntry {
        let (created, current) = (key.created_at.as_secs(), key.is_current);
        KeyEntry { key: key.id.to_string(), created, current, values: None }
    }
}

impl ListKeys {
    fn run(&self, engine: &Engine) -> Result<SealingKeys> {
        let found = engine.keyring()?.keys()?;
        let mut keys: Vec<KeyEntry> = found.iter().map(KeyEntry::from).collect();
        if self.values {
            let counts = engine.sealed_values()?;
            for (key, found) in keys.iter_mut().zip(&found) {
                key.values = Some(counts.get(&found.id).copied().unwrap_or_default());
            }
        }
        Ok(SealingKeys { keys })
    }
}

/// A key that was added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AddedKey {
    /// Its id.
    pub key: String,
}

/// Notes a change of a key in the audit.
fn noted(engine: &Engine, call: &'static str, key: KeyId) -> Result<()> {
    engine.note_of_database(call, AuditVerdict::Configured, Some(key.to_string())).map_err(
        |error| {
            // An operator who repeats the operation would make another key, and would not know of the
            // first one.
            Error::storage(format!(
                "the key {key} was changed by {call}, but not noted in the audit: {error}"
            ))
        },
    )
}

operation! {
    /// Adds a key to the keyring, and seals new values with it from now on. Services that run notice it at their
    /// next write, except those that were given a copy of the keyring. It has to be backed up again.
    RotateKey = "keyring.rotate" -> AddedKey {}
}

impl RotateKey {
    fn run(&self, engine: &Engine) -> Result<AddedKey> {
        let key = engine.keyring()?.rotate()?;
        noted(engine, RotateKey::NAME, key)?;
        Ok(AddedKey { key: key.to_string() })
    }
}

operation! {
    /// Adds a key to the keyring without using it, for keyrings of which several machines have copies.
    AddKey = "keyring.add" -> AddedKey {}
}

impl AddKey {
    fn run(&self, engine: &Engine) -> Result<AddedKey> {
        let key = engine.keyring()?.add()?;
        noted(engine, AddKey::NAME, key)?;
        Ok(AddedKey { key: key.to_string() })
    }
}

operation! {
    /// Seals new values with this key of the keyring from now on.
    UseKey = "keyring.use" -> Nothing {
        /// The id of the key.
        key: String,
    }
}

impl UseKey {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        let key = self.key.parse()?;
        engine.keyring()?.make_current(key)?;
        noted(engine, UseKey::NAME, key)?;
        Ok(Nothing {})
    }
}

operation! {
    /// Seals with the current key what was sealed with others, while calls go on, as [`Engine::reseal`] does. If it
    /// is interrupted, it can be carried out again.
    Reseal = "keyring.reseal" -> ResealedValues {}
}

/// The result of [`Reseal`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResealedValues {
    /// The number of values that were sealed with another key, and are sealed with the current one
    /// now.
    pub sealed: u64,
    /// The number of values that could not be opened, and were left as they are.
    pub unreadable: u64,
}

impl Reseal {
    fn run(&self, engine: &Engine) -> Result<ResealedValues> {
        let done = engine.reseal()?;
        engine.note_of_database(Reseal::NAME, AuditVerdict::Done, None)?;
        Ok(ResealedValues { sealed: done.values, unreadable: done.unreadable })
    }
}

operation! {
    /// Removes a key with which nothing in the database is sealed, at the earliest an hour after the keyring was
    /// changed, as [`Engine::remove_sealing_key`] does.
    RemoveKey = "keyring.remove" -> Nothing {
        /// The id of the key.
        key: String,
    }
}

impl RemoveKey {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        let key = self.key.parse()?;
        engine.remove_sealing_key(key)?;
        noted(engine, RemoveKey::NAME, key)?;
        Ok(Nothing {})
    }
}

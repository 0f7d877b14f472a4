//! The commands for keyrings.

use crate::admin::database::Database;
use crate::admin::input::COMMON;
use crate::admin::output::print;
use crate::admin::output::table::{Json, print_json, table, utc};
use crate::invalid;
use clap::Subcommand;
use seconder::Result;
use seconder::engine::operator::{KeyEntry, ListKeys, RemoveKey, Reseal};
use seconder::keyring::{KeyId, Keyring};
use serde_json::json;
use std::path::PathBuf;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Create a keyring with one key, readable by its owner only.
    ///
    /// A database file gets one of its own when it is created, so this is for keyrings in other places.
    Create {
        /// File to create, in a folder that exists. A file that exists is left unchanged.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        json: Json,
    },
    /// Add a key to a keyring, seal with it from now on, and print its id.
    ///
    /// Processes that use the keyring notice it at their next write, except those that were given a copy of it,
    /// such as a credential of systemd: restart those. Back up the keyring again.
    Rotate {
        #[command(flatten)]
        database: Database,
        /// Add the key without using it yet. Where machines have copies of the keyring, give the new one to all of
        /// them, and then run this on each with --to.
        #[arg(long)]
        unused: bool,
        /// Add no key, but use this one, as `seconder keyring list` prints it.
        #[arg(long, value_name = "ID", conflicts_with = "unused")]
        to: Option<KeyId>,
        #[command(flatten)]
        json: Json,
    },
    /// Print the keys of a keyring, oldest first.
    ///
    /// Each has its id, when it was made, and `current` if new values are sealed with it, or `old`.
    List {
        #[command(flatten)]
        database: Database,
        /// Print how many values of the database were sealed with each key too. This reads all of
        /// them, which takes a while in a large database.
        #[arg(long)]
        values: bool,
        /// Print each key as a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Seal with the current key what was sealed with others.
    ///
    /// The service goes on meanwhile. It prints how many values it has sealed anew and how many it could not
    /// read, and can be interrupted.
    Reseal {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        json: Json,
    },
    /// Remove a key with which nothing in the database is sealed.
    ///
    /// This is possible an hour after the keyring was changed, at the earliest. Copies of the database that were
    /// made before may need it: keep a copy of the keyring with them.
    Remove {
        #[command(flatten)]
        database: Database,
        /// Id of the key, as `seconder keyring list` prints it.
        #[arg(long, value_name = "ID")]
        key: KeyId,
        #[command(flatten)]
        json: Json,
    },
}

pub(crate) fn run(command: Command) -> Result<()> {
    let named = |key: KeyId| json!({ "key": key.to_string() });
    match command {
        Command::Create { file, json } => {
            Keyring::at(&file).create()?;
            let text = format!("keyring {} is created", file.display());
            json.print(&json!({ "file": file.to_string_lossy() }), &text)
        }
        Command::Rotate { database, unused, to, json } => {
            let ring = ring(&database)?;
            let key = match to {
                Some(key) => ring.make_current(key).map(|()| key)?,
                None if unused => ring.add()?,
                None => ring.rotate()?,
            };
            json.print(&named(key), &key.to_string())
        }
        Command::List { database, values, json } => list(&database, values, json),
        Command::Reseal { database, json } => {
            let done = database.existing()?.operate(&Reseal {})?;
            json.print(&done, &format!("sealed {}, unreadable {}", done.sealed, done.unreadable))
        }
        Command::Remove { database, key, json } => {
            database.existing()?.operate(&RemoveKey { key: key.to_string() })?;
            json.print(&named(key), &format!("key {key} is removed"))
        }
    }
}

/// Returns the keyring that the options name, without a look at the database.
fn ring(database: &Database) -> Result<Keyring> {
    database.require_machine()?;
    #[cfg(unix)]
    crate::admin::database::owner::become_owner_of_keyring(
        database.path(),
        database.ring_file().as_deref(),
    )?;
    match (database.ring_file(), database.path()) {
        (Some(file), _) => Ok(Keyring::at(file)),
        // It is next to the file itself, and not to a link.
        (None, Some(path)) => {
            Ok(Keyring::beside(&path.canonicalize().unwrap_or_else(|_| path.to_owned())))
        }
        (None, None) => Err(invalid("keyring", "is required for this database".to_owned())),
    }
}

fn list(database: &Database, values: bool, json: bool) -> Result<()> {
    let keys = match values || database.service.is_some() {
        true => database.existing()?.operate(&ListKeys { values })?.keys,
        false => ring(database)?.keys()?.iter().map(KeyEntry::from).collect(),
    };
    if json {
        return keys.iter().try_for_each(|key| print_json(serde_json::to_string(key)));
    }
    let row = |key: KeyEntry| {
        let state = if key.current { "current" } else { "old" }.to_owned();
        let cells = [key.key, utc(key.created), state].into_iter();
        cells.chain(key.values.map(|values| values.to_string())).collect()
    };
    let rows: Vec<Vec<String>> = keys.into_iter().map(row).collect();
    let headings = ["KEY", "CREATED", "STATE", "VALUES"];
    print(&table(if values { &headings } else { &headings[..3] }, &rows))
}

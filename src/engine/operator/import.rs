//! Import of users from another service.

use super::declaration::operation;
use crate::engine::core::Engine;
use crate::engine::model::records::Imported;
use crate::engine::model::records::Problem;
use crate::wire::wipe;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// The most users of one request: a login waits for no longer than their transaction takes.
const MOST: usize = 500;

operation! {
    /// Imports users of another service, as `seconder import` does. Users who are here already do not change.
    ImportUsers = "user.import" -> ImportedUsers {
        /// At most 500 users: objects with the fields of a line of `seconder import`.
        users: Vec<UserFields>,
        /// Whether all users of the import have ids, or none does. Default: as the first user of this request.
        with_ids: Option<bool>,
        /// Checks the users, also against the database, and imports none. Default: no.
        #[serde(default)]
        dry_run: bool,
    }
}

/// The fields of a user. They may have secrets, so they are not shown.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserFields(pub Map<String, Value>);

impl Drop for UserFields {
    fn drop(&mut self) {
        self.0.values_mut().for_each(wipe);
    }
}

impl fmt::Debug for UserFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserFields(..)")
    }
}

/// The outcomes of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImportedUsers {
    /// One for each user, in the same order.
    pub outcomes: Vec<ImportedUser>,
}

/// The outcome for a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ImportedUser {
    /// What was done, or with `dry_run` what would be.
    pub outcome: ImportOutcome,
    /// The fields that are wrong, or that differ from those of users who are here.
    pub problems: Vec<Problem>,
}

/// An outcome of the import of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ImportOutcome {
    /// The user was not here, and is now.
    Created,
    /// The user was here already, and has not changed.
    Unchanged,
    /// A user with this id is here and differs, or another one has the number, login name or a device. Nothing was
    /// imported.
    Conflicting,
    /// Fields are wrong. Nothing was imported.
    Bad,
}

impl ImportUsers {
    fn run(&self, engine: &Engine) -> Result<ImportedUsers> {
        if self.users.len() > MOST {
            return Err(Error::invalid_argument("users", "must be 500 at most"));
        }
        let mut with_ids = self.with_ids;
        let read = self.users.iter().map(|user| engine.read_record(user.0.clone(), &mut with_ids));
        let read: Vec<_> = read.collect();
        let users = read.iter().filter_map(|user| user.as_ref().ok().cloned()).collect();
        let mut imported = engine.import_users(users, self.dry_run)?.into_iter();
        let lacks = || Error::Internal { message: "the import of a user has no outcome".into() };
        let outcomes = read.into_iter().map(|user| match user {
            Ok(_) => imported.next().map(ImportedUser::of).ok_or_else(lacks),
            Err(problems) => Ok(ImportedUser::bad(problems)),
        });
        Ok(ImportedUsers { outcomes: outcomes.collect::<Result<_>>()? })
    }
}

impl ImportedUser {
    fn of(imported: Imported) -> ImportedUser {
        let (outcome, problems) = match imported {
            Imported::Created => (ImportOutcome::Created, Vec::new()),
            Imported::Unchanged => (ImportOutcome::Unchanged, Vec::new()),
            Imported::Conflict(problem) => (ImportOutcome::Conflicting, vec![problem]),
        };
        ImportedUser { outcome, problems }
    }

    fn bad(problems: Vec<Problem>) -> ImportedUser {
        ImportedUser { outcome: ImportOutcome::Bad, problems }
    }
}

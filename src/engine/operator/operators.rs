//! Operations on the operators of a service, each with a token.

use super::declaration::{Nothing, Operation, operation};
use super::role::Role;
use crate::engine::core::Engine;
use crate::engine::model::clock::{self, Time};
use crate::engine::model::limits::{LONGEST_TOKEN_LIFE, MOST_OPERATORS};
use crate::engine::operations::operators as stored;
use crate::engine::operations::operators::Refused;
use crate::engine::store;
use crate::model::Secret;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::time::Duration;

/// The prefix of every token, so that scanners for secrets in files and commits recognise one.
pub(super) const PREFIX: &str = "sop_";
/// The most applications that a token can be limited to.
const MOST_APPS: usize = 100;
/// The maximum length of an operator's name.
const LONGEST_NAME: usize = 64;

operation! {
    /// Returns the operators who have a token, in the order of their names. None of the tokens is stored.
    ListOperators = "operator.list" -> Operators {}
}

/// The operators of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Operators {
    /// The operators.
    pub operators: Vec<OperatorEntry>,
}

/// An operator, without the token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OperatorEntry {
    /// The name in the audit.
    pub name: String,
    /// The permissions of the operator.
    pub role: Role,
    /// The ids of the applications that the token is for; `None` for all of them, and for operations on the whole
    /// service.
    pub apps: Option<Vec<i64>>,
    /// The time at which the operator was added, in Unix seconds.
    pub created: u64,
    /// The time at which the token was last used, to a minute, in Unix seconds; `None` if it never
    /// was.
    pub used: Option<u64>,
    /// The time at which the token expires, in Unix seconds; `None` for never.
    pub expires: Option<u64>,
    /// True if it has expired.
    pub expired: bool,
}

impl ListOperators {
    fn run(&self, engine: &Engine) -> Result<Operators> {
        let now = engine.now();
        let entry = |row: store::Operator| {
            Ok(OperatorEntry {
                role: row.role.parse()?,
                apps: apps_of(&row)?,
                name: row.name,
                created: row.created_at.seconds(),
                used: row.used_at.map(Time::seconds),
                expires: row.expires_at.map(|end| now.shown(end).seconds()),
                expired: row.expires_at.is_some_and(|end| end <= now.steady),
            })
        };
        let operators: Result<_> = engine.look(stored::all)?.into_iter().map(entry).collect();
        Ok(Operators { operators: operators? })
    }
}

/// The token of an operator, which cannot be shown again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OperatorToken {
    /// The name in the audit.
    pub name: String,
    /// The permissions of the operator.
    pub role: Role,
    /// The token.
    pub token: Secret,
    /// The time at which it expires, in Unix seconds; `None` for never.
    pub expires: Option<u64>,
}

operation! {
    /// Adds an operator, and returns a token, by which the operator is known to a service that accepts
    /// operators. It is stored as a hash, and shown only now.
    AddOperator = "operator.add" -> OperatorToken {
        /// The name in the audit: 1 to 64 letters, digits and `.`, `_`, `-`, `@`.
        name: String,
        /// What the operator may do.
        role: Role,
        /// The ids of the applications that the token is for, 1 to 100 of them. The operations on the whole service,
        /// such as those on operators, keys and routes, are then not permitted. Default: all applications, and the
        /// service.
        apps: Option<Vec<i64>>,
        /// After how many seconds the token expires, 60 to 315360000 (ten years). Default: never.
        expires_in: Option<u64>,
    }
}

impl AddOperator {
    fn run(&self, engine: &Engine) -> Result<OperatorToken> {
        check_name(&self.name)?;
        let (apps, life) = (self.check_apps(engine)?, life(self.expires_in)?);
        let (name, role, token) = (self.name.clone(), self.role, new_token(engine)?);
        let trail = engine.trail_of_database(AddOperator::NAME)?;
        let now = trail.now;
        let expires_at = life.map(|life| now.steady.plus(life));
        let row = store::Operator {
            name: name.clone(),
            role: role.name().to_owned(),
            apps,
            token_hash: hash(&token),
            created_at: now.clock,
            expires_at,
            used_at: None,
        };
        let refused = |why| match why {
            Refused::Exists => {
                let reason = "is that of an operator who has a token: operator.rotate_token \
                              replaces it";
                Error::invalid_argument("name", reason)
            }
            Refused::TooMany => {
                let reason = format!(
                    "is one too many: a database has at most {MOST_OPERATORS} \
                                      operators"
                );
                Error::invalid_argument("name", reason)
            }
        };
        engine.run(move |view| stored::add(view, &row, &trail))?.map_err(refused)?;
        let expires = expires_at.map(|end| now.shown(end).seconds());
        Ok(OperatorToken { name, role, token, expires })
    }
}

impl AddOperator {
    /// Returns the applications as they are stored.
    fn check_apps(&self, engine: &Engine) -> Result<Option<String>> {
        let Some(apps) = &self.apps else { return Ok(None) };
        if !(1..=MOST_APPS).contains(&apps.len()) {
            return Err(Error::invalid_argument("apps", "must be 1 to 100 ids of applications"));
        }
        for id in apps {
            if engine.application(*id)?.is_none() {
                let reason =
                    format!("has {id}, which is not that of an application: app.list has them");
                return Err(Error::invalid_argument("apps", reason));
            }
        }
        let ids: BTreeSet<_> = apps.iter().collect();
        let texts: Vec<_> = ids.into_iter().map(i64::to_string).collect();
        Ok(Some(texts.join(",")))
    }
}

/// Returns the applications that a stored operator's token is for.
pub(super) fn apps_of(row: &store::Operator) -> Result<Option<Vec<i64>>> {
    let Some(apps) = &row.apps else { return Ok(None) };
    let ids: Result<_, _> = apps.split(',').map(str::parse).collect();
    // A token whose limits cannot be read permits nothing.
    ids.map(Some).map_err(|_| {
        Error::storage(format!("the applications of operator {} are damaged", row.name))
    })
}

operation! {
    /// Gives an operator a new token, and returns it. The one before it ends at once.
    RotateOperatorToken = "operator.rotate_token" -> OperatorToken {
        /// The name of the operator.
        name: String,
        /// After how many seconds the new token expires, 60 to 315360000 (ten years). Default: never.
        expires_in: Option<u64>,
    }
}

impl RotateOperatorToken {
    fn run(&self, engine: &Engine) -> Result<OperatorToken> {
        let (life, token) = (life(self.expires_in)?, new_token(engine)?);
        let trail = engine.trail_of_database(RotateOperatorToken::NAME)?;
        let now = trail.now;
        let expires_at = life.map(|life| now.steady.plus(life));
        let (name, hash) = (self.name.clone(), hash(&token));
        let rotated =
            engine.run(move |view| stored::rotate(view, &name, (&hash, expires_at), &trail))?;
        let row = rotated.ok_or_else(no_such_operator)?;
        let expires = expires_at.map(|end| now.shown(end).seconds());
        Ok(OperatorToken { role: row.role.parse()?, name: row.name, token, expires })
    }
}

operation! {
    /// Removes an operator, whose token is of no use any more.
    RemoveOperator = "operator.remove" -> Nothing {
        /// The name of the operator.
        name: String,
    }
}

impl RemoveOperator {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        let trail = engine.trail_of_database(RemoveOperator::NAME)?;
        let name = self.name.clone();
        match engine.run(move |view| stored::remove(view, &name, &trail))? {
            true => Ok(Nothing {}),
            false => Err(no_such_operator()),
        }
    }
}

fn no_such_operator() -> Error {
    Error::invalid_argument("name", "is not that of an operator: operator.list has them")
}

fn check_name(name: &str) -> Result<()> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    match (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_allowed) {
        true => Ok(()),
        false => {
            let reason = "must be 1 to 64 letters (a to z), digits and ., _, -, @";
            Err(Error::invalid_argument("name", reason))
        }
    }
}

fn life(expires_in: Option<u64>) -> Result<Option<Duration>> {
    let Some(seconds) = expires_in else { return Ok(None) };
    match (60..=LONGEST_TOKEN_LIFE.as_secs()).contains(&seconds) {
        true => Ok(Some(Duration::from_secs(seconds))),
        false => Err(Error::invalid_argument("expires_in", "must be 60 to 315360000")),
    }
}

fn new_token(engine: &Engine) -> Result<Secret> {
    let random = clock::secret(engine.random())?;
    Ok(Secret::new(format!("{PREFIX}{}", random.expose())))
}

/// Returns the hash of a token, which has 256 random bits and so cannot be found by its hash.
pub(super) fn hash(token: &Secret) -> Vec<u8> {
    Sha256::digest(token.expose()).to_vec()
}

//! Operators with a token: identification by the token, and the check of permissions.

use super::declaration::{APP, Operation};
use super::numbers::SetUserNumber;
use super::operators::{PREFIX, apps_of, hash};
use super::registry::Named;
use super::role::Role;
use crate::engine::core::Engine;
use crate::engine::operations::audit::Author;
use crate::engine::operations::operators as stored;
use crate::engine::store;
use crate::model::Secret;
use crate::wire::scalar;
use crate::{Error, Result};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use subtle::ConstantTimeEq;

/// The time after a use of a token until the next one is stored, so that a program that uses it all the
/// time does not write all the time.
const USE_APART: Duration = Duration::from_secs(60);

/// Returns whether a parameter is true, in the ways in which parameters can be written.
fn is_set(parameters: &Map<String, Value>, name: &str) -> bool {
    let given = parameters.get(name).filter(|value| !value.is_null());
    given.is_some_and(|value| scalar(value).is_none_or(|text| text != "false"))
}

/// An operator whose token was right a moment ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    name: String,
    role: Role,
    apps: Option<Vec<i64>>,
}

impl Operator {
    /// Returns the name in the audit.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the permissions of the operator.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the ids of the applications on which the operator may carry out operations; `None` for all of them, and
    /// for operations on the whole service.
    pub fn apps(&self) -> Option<&[i64]> {
        self.apps.as_deref()
    }

    /// Checks that the role of the operator includes another one, which something needs.
    ///
    /// # Errors
    /// [`Error::Rejected`] with status 403 if it does not.
    pub(crate) fn require(&self, role: Role, name: &str) -> Result<()> {
        match self.role >= role {
            true => Ok(()),
            false => {
                let own = self.role;
                Err(Error::rejected(
                    403,
                    None,
                    format!("The role {own} does not include {name}, which needs {role}."),
                ))
            }
        }
    }
}

impl Engine {
    /// Returns the operator with this token. It is looked up each time, so a replaced or removed token is invalid at
    /// once.
    ///
    /// # Errors
    /// [`Error::Rejected`] with status 401 if no operator has it, or if it has expired; [`Error::Storage`].
    pub fn operator(&self, token: &Secret) -> Result<Operator> {
        let unknown =
            || Error::rejected(401, None, "No operator has this token, or it has expired.");
        if !token.expose().starts_with(PREFIX) {
            // A guess without the form of a token costs no look-up.
            return Err(unknown());
        }
        let (sought, now) = (hash(token), self.now());
        let is_valid = |row: &store::Operator| {
            bool::from(row.token_hash.ct_eq(&sought))
                && row.expires_at.is_none_or(|end| end > now.steady)
        };
        let found = self.look(stored::all)?.into_iter().find(is_valid);
        let row = found.ok_or_else(unknown)?;
        let operator =
            Operator { name: row.name.clone(), role: row.role.parse()?, apps: apps_of(&row)? };
        if row.used_at.is_none_or(|at| at.plus(USE_APART) <= now.clock || at > now.clock) {
            self.run(move |view| stored::used(view, &row, now.clock))?;
        }
        Ok(operator)
    }

    /// Carries out an operation for an operator with a token, if the role includes it, on the application that the
    /// parameter `app_id` names. Without that parameter, it is the one with this id; without either, the only one that
    /// the token is for, or else the engine's own. The audit has the name of the operator.
    ///
    /// # Errors
    /// [`Error::Rejected`] with status 403 if the role does not include it, or the token is for other applications;
    /// [`Error::InvalidArgument`] if there is no such operation, application or parameter; otherwise the errors of the
    /// operation.
    pub fn operate_as(
        &self,
        operator: &Operator,
        app_id: Option<i64>,
        name: &str,
        mut parameters: Map<String, Value>,
    ) -> Result<Value> {
        let operation = Named::find(name)?;
        let app = operation.app(&mut parameters)?;
        let engine = self.for_operator(operator, app.or(app_id))?;
        operation.permit(operator)?;
        // On the operator's word alone, the codes of an account would go to any number.
        if operation.name == SetUserNumber::NAME && is_set(&parameters, "unverified") {
            operator.require(Role::Admin, "user.set_number without a code")?;
        }
        // An operation with a parameter of its own for the application is not carried out by that one, which could not
        // remove itself.
        let by = match app.filter(|_| operation.parameters.contains(&APP)) {
            Some(_) => Engine { author: engine.author, ..self.clone() },
            None => engine,
        };
        operation.carry_out(&by, parameters)
    }

    /// Returns the engine by which an operator acts on the application with this id: by default on the only one that
    /// the token is for, or else on the engine's own. The audit has the name of the operator.
    ///
    /// # Errors
    /// [`Error::Rejected`] with status 403 if the token is for others; [`Error::InvalidArgument`] if there is no such
    /// application.
    pub(crate) fn for_operator(&self, operator: &Operator, app_id: Option<i64>) -> Result<Engine> {
        let id = self.app_of(operator, app_id);
        match operator.apps() {
            Some(apps) if !apps.contains(&id) => Err(Error::rejected(
                403,
                None,
                format!("The token is for {} only, not for {id}.", named(apps)),
            )),
            _ => {
                let name = Some(Arc::from(operator.name.as_str()));
                let author = Author { operator: name, ..self.author.clone() };
                Ok(Engine { author, ..self.on(id)? })
            }
        }
    }

    /// Returns the id of the application on which an operator acts who names this one.
    pub(crate) fn app_of(&self, operator: &Operator, app_id: Option<i64>) -> i64 {
        let only = match operator.apps() {
            Some([only]) => Some(*only),
            _ => None,
        };
        app_id.or(only).unwrap_or(self.app.app_id)
    }

    /// Returns the engine of the application with this id.
    pub(super) fn on(&self, id: i64) -> Result<Engine> {
        let app = self.application(id)?;
        let none =
            || Error::invalid_argument(APP, "is not that of an application: app.list has them");
        Ok(self.of(app.ok_or_else(none)?))
    }
}

/// Returns these applications as errors name them.
pub(super) fn named(apps: &[i64]) -> String {
    let ids: Vec<_> = apps.iter().map(i64::to_string).collect();
    let one = if ids.len() == 1 { "application" } else { "applications" };
    format!("{one} {}", ids.join(", "))
}

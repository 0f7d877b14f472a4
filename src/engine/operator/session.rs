//! Operators with a token: identification by the token, and the check of permissions.

use super::operators::hash;
use super::{Named, Role, rejected};
use crate::engine::Engine;
use crate::engine::operations::operators as stored;
use crate::engine::store;
use crate::model::Secret;
use crate::{Error, Result};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use subtle::ConstantTimeEq;

/// The time after a use of a token until the next one is stored, so that a program that uses it all the
/// time does not write all the time.
const USE_APART: Duration = Duration::from_secs(60);

/// An operator whose token was right a moment ago.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    name: String,
    role: Role,
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
}

impl Engine {
    /// Returns the operator with this token. It is looked up each time, so a replaced or removed token is invalid at
    /// once.
    ///
    /// # Errors
    /// [`Error::Rejected`] with status 401 if no operator has it, or if it has expired; [`Error::Storage`].
    pub fn operator(&self, token: &Secret) -> Result<Operator> {
        let (sought, now) = (hash(token), self.now());
        let is_valid = |row: &store::Operator| {
            bool::from(row.token_hash.ct_eq(&sought))
                && row.expires_at.is_none_or(|end| end > now.steady)
        };
        let found = self.look(stored::all)?.into_iter().find(is_valid);
        let row = found.ok_or_else(|| {
            rejected(401, "No operator has this token, or it has expired.".to_owned())
        })?;
        let operator = Operator { name: row.name.clone(), role: row.role.parse()? };
        if row.used_at.is_none_or(|at| at.plus(USE_APART) <= now.clock || at > now.clock) {
            self.run(move |view| stored::used(view, &row, now.clock))?;
        }
        Ok(operator)
    }

    /// Carries out an operation for an operator with a token, if the role includes it, on the application
    /// with this id, or on the engine's own. The audit has the name of the operator.
    ///
    /// # Errors
    /// [`Error::Rejected`] with status 403 if the role does not include it; [`Error::InvalidArgument`] if
    /// there is no such operation, application or parameter; otherwise the errors of the operation.
    pub fn operate_as(
        &self,
        operator: &Operator,
        app_id: Option<i64>,
        name: &str,
        parameters: Map<String, Value>,
    ) -> Result<Value> {
        let operation = Named::find(name)?;
        operation.permit(operator.role)?;
        let app = self.application(app_id.unwrap_or(self.app.app_id))?;
        let app = app.ok_or_else(|| {
            Error::invalid_argument("app", "is not that of an application: app.list has them")
        })?;
        let engine = Engine { operator: Some(Arc::from(operator.name.as_str())), ..self.of(app) };
        operation.carry_out(&engine, parameters)
    }
}

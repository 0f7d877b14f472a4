//! All operations by their names, and the role that each requires.

use super::approvals::{CancelApproval, ListApprovals, ShowEvidence};
use super::apps::{
    CreateApp, DeleteApp, EndOverlap, ListApps, RotateAppKey, SetApp, ShowApp, ShowAppKey,
};
use super::audit::ListAudit;
use super::declaration::{APP, Operation};
use super::doctor::CheckService;
use super::export::ExportUser;
use super::forward::{ForwardStatus, ReturnUser, TakeUser};
use super::import::ImportUsers;
use super::jobs::{CancelJob, CountJobs, ListJobs, ReplayJob, RunJobs, ShowJob};
use super::keyring::{AddKey, ListKeys, RemoveKey, Reseal, RotateKey, UseKey};
use super::limits::{SetLimits, ShowLimits};
use super::locking::{LockUser, UnlockUser};
use super::lookup::{RemoveLookup, SetLookup, ShowLookup};
use super::maintain::{Backup, Maintain};
use super::numbers::SetUserNumber;
use super::operators::{AddOperator, ListOperators, RemoveOperator, RotateOperatorToken};
use super::role::Role::{self, Admin, Read, Support};
use super::routes::{ListRoutes, RemoveRoute, SetRoute};
use super::session::{self, Operator};
use super::users::{DeleteUser, FindUsers, ListActivities, ListDevices, ListUsers, ShowUser};
use crate::engine::core::Engine;
use crate::wire::{loose, scalar, wipe};
use crate::{Error, Result};
use serde_json::{Map, Value};

/// An operation as it is carried out by its name.
pub(crate) struct Named {
    /// Its name.
    pub(crate) name: &'static str,
    /// The role that an operator with a token needs to carry it out.
    role: Role,
    /// Set if it is about the whole service, so that a token for some applications does not permit it.
    of_service: bool,
    pub(super) parameters: &'static [&'static str],
    carry_out: fn(&Engine, Map<String, Value>) -> Result<Value>,
}

/// An operation on an application.
const fn of_app<O: Operation>(role: Role) -> Named {
    let (name, parameters) = (O::NAME, O::PARAMETERS);
    Named { name, role, of_service: false, parameters, carry_out: read_and_carry_out::<O> }
}

/// An operation on the whole service.
const fn of_service<O: Operation>(role: Role) -> Named {
    Named { of_service: true, ..of_app::<O>(role) }
}

/// All operations, each with the least role that may carry it out. An operation that shows a credential
/// requires the role that can change it.
const ALL: &[Named] = &[
    of_service::<ListApps>(Read),
    of_app::<ShowApp>(Read),
    of_service::<CreateApp>(Admin),
    of_app::<SetApp>(Admin),
    of_app::<ShowAppKey>(Admin),
    of_app::<RotateAppKey>(Admin),
    of_app::<EndOverlap>(Admin),
    of_service::<DeleteApp>(Admin),
    of_app::<ListApprovals>(Read),
    of_app::<CancelApproval>(Support),
    of_app::<ShowEvidence>(Read),
    of_app::<ListAudit>(Read),
    of_service::<Backup>(Admin),
    of_service::<Maintain>(Admin),
    of_service::<CheckService>(Read),
    of_app::<ForwardStatus>(Read),
    of_app::<ReturnUser>(Admin),
    of_app::<TakeUser>(Admin),
    of_service::<ListJobs>(Read),
    of_service::<ShowJob>(Read),
    of_service::<CountJobs>(Read),
    of_service::<ReplayJob>(Support),
    of_service::<CancelJob>(Support),
    of_service::<RunJobs>(Support),
    of_service::<ListKeys>(Read),
    of_service::<RotateKey>(Admin),
    of_service::<AddKey>(Admin),
    of_service::<UseKey>(Admin),
    of_service::<Reseal>(Admin),
    of_service::<RemoveKey>(Admin),
    of_app::<ShowLimits>(Read),
    of_app::<SetLimits>(Admin),
    of_service::<ShowLookup>(Admin),
    of_service::<SetLookup>(Admin),
    of_service::<RemoveLookup>(Admin),
    of_service::<ListOperators>(Read),
    of_service::<AddOperator>(Admin),
    of_service::<RotateOperatorToken>(Admin),
    of_service::<RemoveOperator>(Admin),
    of_service::<ListRoutes>(Admin),
    of_service::<SetRoute>(Admin),
    of_service::<RemoveRoute>(Admin),
    of_app::<ListUsers>(Read),
    of_app::<FindUsers>(Read),
    of_app::<ShowUser>(Read),
    // The ids of imported users and devices decide those of all applications.
    of_service::<ImportUsers>(Admin),
    of_app::<ListDevices>(Read),
    of_app::<ListActivities>(Read),
    // It shows the whole number.
    of_app::<ExportUser>(Admin),
    of_app::<LockUser>(Support),
    of_app::<UnlockUser>(Support),
    of_app::<SetUserNumber>(Support),
    of_app::<DeleteUser>(Support),
];

/// The description of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationInfo {
    /// Its name in all languages.
    pub name: &'static str,
    /// The names of its parameters.
    pub parameters: &'static [&'static str],
    /// The least role of an operator who may carry it out with a token.
    pub role: Role,
}

/// Returns all operations.
pub fn operations() -> impl Iterator<Item = OperationInfo> {
    ALL.iter().map(|&Named { name, parameters, role, .. }| OperationInfo { name, parameters, role })
}

impl Named {
    /// Returns the operation with this name.
    pub(crate) fn find(name: &str) -> Result<&'static Named> {
        ALL.iter().find(|named| named.name == name).ok_or_else(|| {
            let all: Vec<_> = ALL.iter().map(|named| named.name).collect();
            let reason = format!("must be that of an operation: {}", all.join(", "));
            Error::invalid_argument("operation", reason)
        })
    }

    /// Checks that an operator may carry it out.
    ///
    /// # Errors
    /// That they may not.
    pub(super) fn permit(&self, operator: &Operator) -> Result<()> {
        operator.require(self.role, self.name)?;
        match operator.apps() {
            Some(apps) if self.of_service => {
                let message = format!(
                    "The token is for {} only: {} is about the whole service.",
                    session::named(apps),
                    self.name
                );
                Err(Error::rejected(403, None, message))
            }
            _ => Ok(()),
        }
    }

    /// Returns the application that the parameters name, and leaves those that the operation has.
    pub(super) fn app(&self, parameters: &mut Map<String, Value>) -> Result<Option<i64>> {
        let named = match self.parameters.contains(&APP) {
            true => parameters.get(APP).cloned(),
            false => parameters.shift_remove(APP),
        };
        let read = |id: Value| {
            let id = scalar(&id).and_then(|id| id.parse().ok());
            id.ok_or_else(|| Error::invalid_argument(APP, "must be the id of an application"))
        };
        named.filter(|id| !id.is_null()).map(read).transpose()
    }

    /// Carries it out with these parameters, on the application that `app_id` names, or else that of the engine. A
    /// parameter that is null counts as absent.
    pub(crate) fn carry_out_on(
        &self,
        engine: &Engine,
        mut parameters: Map<String, Value>,
    ) -> Result<Value> {
        match self.app(&mut parameters)? {
            Some(id) if !self.parameters.contains(&APP) => {
                self.carry_out(&engine.on(id)?, parameters)
            }
            _ => self.carry_out(engine, parameters),
        }
    }

    /// Carries it out with these parameters. One that is null counts as absent.
    pub(super) fn carry_out(
        &self,
        engine: &Engine,
        mut parameters: Map<String, Value>,
    ) -> Result<Value> {
        parameters.retain(|_, value| !value.is_null());
        let unknown = parameters.keys().find(|key| !self.parameters.contains(&key.as_str()));
        let unknown = unknown.map(|key| {
            let reason = match self.parameters {
                [] => format!("is no parameter of {}, which has none", self.name),
                some => format!("is no parameter of {}: it has {}", self.name, some.join(", ")),
            };
            Error::invalid_argument(key.clone(), reason)
        });
        match unknown {
            Some(error) => {
                parameters.values_mut().for_each(wipe);
                Err(error)
            }
            None => (self.carry_out)(engine, parameters),
        }
    }
}

fn read_and_carry_out<O: Operation>(
    engine: &Engine,
    parameters: Map<String, Value>,
) -> Result<Value> {
    let operation: O = loose::read(parameters)?;
    let reply = operation.carry_out(engine)?;
    serde_json::to_value(&reply).map_err(|error| Error::Internal { message: error.to_string() })
}

#[cfg(test)]
mod tests;

//! Operations of operators on a service in this process. Each operation is declared once, as a struct
//! whose fields are its parameters, and has a name, by which every language carries it out with JSON:
//! [`Service::operate`](crate::Service::operate) and
//! [`Service::operate_json`](crate::Service::operate_json).

mod approvals;
mod apps;
mod audit;
mod doctor;
mod export;
mod forward;
mod import;
mod jobs;
mod keyring;
mod limits;
mod locking;
mod lookup;
mod maintain;
mod numbers;
mod operators;
mod role;
mod routes;
mod session;
mod users;

pub use approvals::{
    ApprovalEntry, Approvals, CancelApproval, Evidence, ListApprovals, ShowEvidence,
};
pub use apps::{
    AppKey, AppRecord, AppSettings, Apps, CreateApp, DeleteApp, EndOverlap, ListApps, RotateAppKey,
    SetApp, ShowApp, ShowAppKey,
};
pub use audit::ListAudit;
pub use doctor::{CheckService, Finding, Findings, Health};
pub use export::{ExportUser, ExportedUser};
pub use forward::{ForwardStatus, Forwarded, ReturnUser, TakeUser};
pub use import::{ImportOutcome, ImportUsers, ImportedUser, ImportedUsers, UserFields};
pub use jobs::{CancelJob, CountJobs, JobCounts, ListJobs, ReplayJob, RunJobs, ShowJob};
pub use keyring::{
    AddKey, AddedKey, KeyEntry, ListKeys, RemoveKey, Reseal, ResealedValues, RotateKey,
    SealingKeys, UseKey,
};
pub use limits::{SetLimits, ShowLimits};
pub use locking::{LockUser, UnlockUser};
pub use lookup::{LookupSettings, RemoveLookup, SetLookup, ShowLookup};
pub use maintain::{BackedUp, Backup, Maintain, Maintained};
pub use numbers::SetUserNumber;
pub use operators::{
    AddOperator, ListOperators, OperatorEntry, OperatorToken, Operators, RemoveOperator,
    RotateOperatorToken,
};
pub use role::Role;
pub use routes::{ListRoutes, RemoveRoute, Routes, SetRoute};
pub use session::Operator;
pub use users::{
    Activities, ActivityEntry, DeleteUser, DeviceEntry, FindUsers, FoundUsers, ListActivities,
    ListDevices, ListUsers, ShowUser, UserDetails, UserDevices, UserEntry, Users, WrongCodes,
};

use super::Engine;
use crate::wire::{loose, scalar, wipe};
use crate::{Error, Result};
use Role::{Admin, Read, Support};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An operation. Its fields are the parameters.
pub trait Operation: Serialize + DeserializeOwned {
    /// Its name in all languages, such as `jobs.list`.
    const NAME: &'static str;
    /// The names of its parameters.
    const PARAMETERS: &'static [&'static str];
    /// The type of the reply.
    type Reply: Serialize + DeserializeOwned;

    /// Carries it out.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] names the parameter that is invalid; otherwise see [`Error`].
    fn carry_out(&self, engine: &Engine) -> Result<Self::Reply>;
}

/// The reply to an operation that returns nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Nothing {}

/// Declares an operation. Its method `run` carries it out.
macro_rules! operation {
    (
        $(#[$doc:meta])*
        $operation:ident = $name:literal -> $reply:ty {
            $($(#[$of_field:meta])* $field:ident: $kind:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $operation {
            $($(#[$of_field])* pub $field: $kind,)*
        }

        impl crate::engine::operator::Operation for $operation {
            const NAME: &'static str = $name;
            const PARAMETERS: &'static [&'static str] = &[$(stringify!($field)),*];
            type Reply = $reply;

            fn carry_out(&self, engine: &crate::engine::core::Engine) -> crate::Result<$reply> {
                self.run(engine)
            }
        }
    };
}
use operation;

/// An operation as it is carried out by its name.
pub(crate) struct Named {
    /// Its name.
    pub(crate) name: &'static str,
    /// The role that an operator with a token needs to carry it out.
    role: Role,
    /// Set if it is about the whole service, so that a token for some applications does not permit it.
    of_service: bool,
    parameters: &'static [&'static str],
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
    fn permit(&self, operator: &Operator) -> Result<()> {
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
    fn app(&self, parameters: &mut Map<String, Value>) -> Result<Option<i64>> {
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
    fn carry_out(&self, engine: &Engine, mut parameters: Map<String, Value>) -> Result<Value> {
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

/// The parameter of every operation that names the application that it is about.
pub(crate) const APP: &str = "app_id";
/// The default maximum number of entries in a page.
const MOST: u32 = 100;

#[cfg(test)]
mod tests;

//! What operators do with a service that is in this process. Each operation is declared once, as a struct
//! whose fields are its parameters, and has a name, by which every language carries it out with JSON:
//! [`Service::operate`](crate::Service::operate) and
//! [`Service::operate_json`](crate::Service::operate_json).

mod approvals;
mod apps;
mod audit;
mod forward;
mod jobs;
mod limits;
mod lookup;
mod routes;
mod users;

pub use approvals::{ApprovalEntry, Approvals, CancelApproval, ListApprovals};
pub use apps::{
    AppKey, AppRecord, AppSettings, Apps, CreateApp, DeleteApp, EndOverlap, ListApps, RotateAppKey,
    SetApp, ShowApp, ShowAppKey,
};
pub use audit::ListAudit;
pub use forward::{ForwardStatus, Forwarded, ReturnUser, TakeUser};
pub use jobs::{CancelJob, CountJobs, JobCounts, ListJobs, ReplayJob, ShowJob};
pub use limits::{SetLimits, ShowLimits};
pub use lookup::{LookupSettings, RemoveLookup, SetLookup, ShowLookup};
pub use routes::{ListRoutes, RemoveRoute, Routes, SetRoute};
pub use users::{Activities, ActivityEntry, ListActivities, ListUsers, UserEntry, Users};

use super::Engine;
use crate::wire::{loose, wipe};
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An operation. Its fields are the parameters.
pub trait Operation: Serialize + DeserializeOwned {
    /// Its name in all languages, such as `jobs.list`.
    const NAME: &'static str;
    /// The names of its parameters.
    const PARAMETERS: &'static [&'static str];
    /// What it returns.
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

            fn carry_out(&self, engine: &crate::engine::Engine) -> crate::Result<$reply> {
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
    parameters: &'static [&'static str],
    carry_out: fn(&Engine, Map<String, Value>) -> Result<Value>,
}

const fn named<O: Operation>() -> Named {
    Named { name: O::NAME, parameters: O::PARAMETERS, carry_out: read_and_carry_out::<O> }
}

const ALL: &[Named] = &[
    named::<ListApps>(),
    named::<ShowApp>(),
    named::<CreateApp>(),
    named::<SetApp>(),
    named::<ShowAppKey>(),
    named::<RotateAppKey>(),
    named::<EndOverlap>(),
    named::<DeleteApp>(),
    named::<ListApprovals>(),
    named::<CancelApproval>(),
    named::<ListAudit>(),
    named::<ForwardStatus>(),
    named::<ReturnUser>(),
    named::<TakeUser>(),
    named::<ListJobs>(),
    named::<ShowJob>(),
    named::<CountJobs>(),
    named::<ReplayJob>(),
    named::<CancelJob>(),
    named::<ShowLimits>(),
    named::<SetLimits>(),
    named::<ShowLookup>(),
    named::<SetLookup>(),
    named::<RemoveLookup>(),
    named::<ListRoutes>(),
    named::<SetRoute>(),
    named::<RemoveRoute>(),
    named::<ListUsers>(),
    named::<ListActivities>(),
];

/// The names of all operations, each with those of its parameters.
pub fn operations() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    ALL.iter().map(|named| (named.name, named.parameters))
}

impl Named {
    /// The operation with this name.
    pub(crate) fn find(name: &str) -> Result<&'static Named> {
        ALL.iter().find(|named| named.name == name).ok_or_else(|| {
            let all: Vec<_> = ALL.iter().map(|named| named.name).collect();
            let reason = format!("must be that of an operation: {}", all.join(", "));
            Error::invalid_argument("operation", reason)
        })
    }

    /// Carries it out with these parameters. One that is null counts as absent.
    pub(crate) fn carry_out(
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

/// How many a page has at most, unless the parameters say so.
const MOST: u32 = 100;

#[cfg(test)]
mod tests;

//! Carries out operations of operators with an engine in this process.

use super::Service;
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::engine::operator::{Named, Operation};
use serde_json::{Map, Value};

impl Service {
    /// Carries out an operation of an operator, with an engine in this process.
    ///
    /// ```
    /// # fn main() -> seconder::Result<()> {
    /// use seconder::engine::operator::{SetLimits, ShowLimits};
    /// let service = seconder::open("sandbox:")?;
    /// service.operate(&SetLimits { limits: "number_day=10".into() })?;
    /// assert_eq!(service.operate(&ShowLimits {})?.number_day, 10);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] names the parameter that is invalid, or says that this is a remote
    /// service; otherwise see [`Error`].
    pub fn operate<O: Operation>(&self, operation: &O) -> Result<O::Reply> {
        self.with_engine(O::NAME, None, |engine| operation.carry_out(engine))
    }

    /// Carries out the operation with this name, such as `jobs.list`, as [`Service::operate`] does.
    /// The parameters are named like the fields of its struct, and the reply is an object whose
    /// members are the fields of its reply.
    ///
    /// # Errors
    /// As [`Service::operate`], and [`Error::InvalidArgument`] for a name that no operation and no
    /// parameter of it has.
    pub fn operate_json(&self, name: &str, parameters: Map<String, Value>) -> Result<Value> {
        self.require_engine()?;
        let operation = Named::find(name)?;
        self.with_engine(operation.name, None, |engine| operation.carry_out(engine, parameters))
    }
}

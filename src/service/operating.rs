//! Carries out operations of operators: with an engine in this process, or on a remote service with the token of an
//! operator.

#[cfg(feature = "https")]
use super::Backend;
use super::Service;
#[cfg(feature = "https")]
use crate::Error;
use crate::Result;
use crate::engine::operator::{Named, Operation};
#[cfg(feature = "https")]
use crate::wire::{self, loose};
use serde_json::{Map, Value};

impl Service {
    /// Carries out an operation of an operator: with an engine in this process, or on a remote service that was opened
    /// with [`Settings::operator_token`](crate::Settings::operator_token).
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
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) names the parameter that is invalid, or says that this
    /// is a remote service that was opened without a token; [`Error::Rejected`](crate::Error::Rejected) with status 401
    /// if the token is not accepted, and 403 if it does not permit the operation; otherwise see
    /// [`Error`](crate::Error).
    pub fn operate<O: Operation>(&self, operation: &O) -> Result<O::Reply> {
        #[cfg(feature = "https")]
        if let Backend::Remote(remote) = &self.backend {
            let parameters = wire::object(operation);
            let reply = self.carry_out(O::NAME, None, || remote.operate(O::NAME, parameters))?;
            let Value::Object(fields) = reply else {
                return Err(Error::invalid_response(format!("{} has no object", O::NAME)));
            };
            // Its errors repeat no value of a reply, which may hold a key.
            return loose::read(fields)
                .map_err(|mismatch| Error::invalid_response(mismatch.to_string()));
        }
        self.with_engine(O::NAME, None, |engine| operation.carry_out(engine))
    }

    /// Carries out the operation with this name, such as `jobs.list`, as [`Service::operate`] does.
    /// The parameters are named like the fields of its struct, and the reply is an object whose
    /// members are the fields of its reply. Every operation has the parameter `app_id` too: the application that it is
    /// about, if that is not the one of this service.
    ///
    /// # Errors
    /// As [`Service::operate`], and [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a name that no
    /// operation and no parameter of it has.
    pub fn operate_json(&self, name: &str, parameters: Map<String, Value>) -> Result<Value> {
        #[cfg(feature = "https")]
        if let Backend::Remote(remote) = &self.backend {
            // A service of a later version may have operations that this one does not know.
            let known = Named::find(name).map_or("operation", |operation| operation.name);
            return self.carry_out(known, None, || remote.operate(name, parameters));
        }
        self.require_engine()?;
        let operation = Named::find(name)?;
        self.with_engine(operation.name, None, |engine| operation.carry_out_on(engine, parameters))
    }
}

//! Requests of tests for operations on a sandbox.

use super::operations::{self, Search};
use super::params::{Params, invalid};
use super::{Sandbox, World};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::http::{SANDBOX_OPERATIONS, SandboxOperation};
use serde_json::{Map, Value};
use std::time::Duration;

/// A request for one of the operations of a sandbox, whose parameters are known ones.
pub struct TestRequest {
    operation: &'static SandboxOperation,
    pub(super) params: Params,
    pub(super) search: Option<Search>,
}

impl TestRequest {
    /// Reads the query, and a body that is a JSON object or a form.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] names the parameter that is unknown or invalid.
    pub fn read(
        operation: &'static SandboxOperation,
        query: &str,
        body: &[u8],
    ) -> Result<TestRequest> {
        TestRequest::of(operation, Params::read(query, body, operation.params)?)
    }

    /// Reads the parameters of the operation with this name.
    pub(super) fn named(name: &str, params: Map<String, Value>) -> Result<TestRequest> {
        let operation = operation(name)?;
        TestRequest::of(operation, Params::known(params, operation.params)?)
    }

    fn of(operation: &'static SandboxOperation, params: Params) -> Result<TestRequest> {
        let search = match operation.name {
            "messages" => Some(Search::of_messages(&params)?),
            "code" => Some(Search::of_code(&params)?),
            _ => None,
        };
        Ok(TestRequest { operation, params, search })
    }

    /// Returns for how long it waits for a message that is not there yet.
    pub fn wait(&self) -> Duration {
        self.search.as_ref().map(|search| search.wait).unwrap_or_default()
    }

    /// Blocks until there is a message that it is looking for, for the time that it may wait.
    pub(super) fn wait_in(&self, world: &World) {
        if let Some(search) = &self.search {
            let is_waiting = |_| search.run(&world.records).is_empty();
            world.records.sent.wait_while(search.wait, is_waiting);
        }
    }
}

pub(super) fn operation(name: &str) -> Result<&'static SandboxOperation> {
    let found = SANDBOX_OPERATIONS.iter().find(|operation| operation.name == name);
    found.ok_or_else(|| {
        let names: Vec<_> = SANDBOX_OPERATIONS.iter().map(|operation| operation.name).collect();
        invalid("name", format!("must be one of {}", names.join(", ")))
    })
}

impl Sandbox {
    /// Ends once there is a message that the request is looking for.
    pub async fn found(&self, request: &TestRequest) {
        let world = self.world();
        let Some(search) = &request.search else { return };
        loop {
            let seen = world.records.sent.count();
            if !search.run(&world.records).is_empty() {
                return;
            }
            world.records.sent.raised(seen).await;
        }
    }

    /// Carries out the operation of [`SANDBOX_OPERATIONS`] with this name, and returns the reply of its path: see
    /// docs/sandbox.md for the parameters.
    ///
    /// # Errors
    /// As for a request: [`Error::InvalidArgument`] if the name or a parameter is invalid, [`Error::Rejected`] with
    /// status 404 if nothing fits, and the errors of the engine.
    pub fn operate(&self, name: &str, params: Map<String, Value>) -> Result<Value> {
        let request = TestRequest::named(name, params)?;
        request.wait_in(&self.world());
        self.carry_out(&request)
    }

    /// Carries out a request, without its wait. It may block, while the application receives a callback.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if a parameter is invalid, [`Error::Rejected`] with status 404 if nothing fits the
    /// request, and the errors of the engine.
    pub fn carry_out(&self, request: &TestRequest) -> Result<Value> {
        match request.operation.name {
            "reset" => self.reset(&request.params),
            name => operations::run(&self.world(), name, request.search.as_ref(), &request.params),
        }
    }
}

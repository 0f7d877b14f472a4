//! In place of services by their Unix socket, on systems other than Linux: their kernels do not say
//! in the same way which user listens on a socket.

use super::connect::Connection;
use super::deadline::Deadline;
use crate::{Error, Result};
use std::convert::Infallible;

/// This platform has no local sockets, so this type has no value.
pub(super) struct Local(Infallible);

impl Local {
    pub(super) fn parse(_: &str, _: Option<u32>) -> Result<Local> {
        Err(Error::invalid_argument(
            "url",
            "must not begin with unix: on this system: it needs Linux",
        ))
    }

    pub(super) fn path(&self) -> &str {
        match self.0 {}
    }

    pub(super) fn connect(&self, _: Deadline) -> Result<Connection> {
        match self.0 {}
    }
}

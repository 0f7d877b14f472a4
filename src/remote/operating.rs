//! Operations of operators on a remote service.

use super::{Client, Credential, Exchange, Remote, Wiped};
use crate::calls::error_of;
use crate::error::Rejection;
use crate::http::{OPERATOR_PATH, STORAGE};
use crate::wire::{Generation, Reply, Request, json};
use crate::{Error, Result};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

impl Remote {
    /// Carries out an operation with the token of an operator.
    ///
    /// # Errors
    /// Those of the operation, and [`Error::InvalidArgument`] if the service was opened without a token.
    pub(crate) fn operate(&self, name: &str, mut params: Map<String, Value>) -> Result<Value> {
        self.client.require_operator()?;
        let is_word = |byte: u8| byte.is_ascii_lowercase() || b"._".contains(&byte);
        if !name.bytes().all(is_word) {
            return Err(Error::invalid_argument(
                "operation",
                "must be the name of an operation, such as user.list",
            ));
        }
        params.retain(|_, value| !value.is_null());
        let path = format!("{OPERATOR_PATH}{name}");
        let request =
            Wiped(Request { method: "POST", path, params, generation: Generation::Current });
        let body = Zeroizing::new(json::write_object(&request.0.params));
        let exchange = Exchange {
            body: Some(("application/json", body)),
            key_in_header: true,
            request: &request.0,
        };
        let mut result = None;
        self.exchange(&exchange, false, &mut |reply| {
            result = Some(read(reply)?);
            Ok(())
        })?;
        result.ok_or_else(|| Error::Internal { message: "a reply was not read".into() })
    }
}

impl Client {
    fn require_operator(&self) -> Result<()> {
        match self.credential {
            Credential::Operator(..) => Ok(()),
            _ => Err(Error::invalid_argument(
                "url",
                "names a remote service: operations need operator_token, or a sqlite:, postgres: or sandbox: URL",
            )),
        }
    }
}

/// Returns the reply of an operation, or the error as an engine in this process returns it.
fn read(reply: Reply) -> Result<Value> {
    if reply.status == 200 {
        return Ok(reply.body);
    }
    let is_of_storage = reply.body.get(STORAGE).is_some_and(|is| *is == Value::Bool(true));
    Err(match error_of(reply) {
        Error::Rejected(mut no) if no.status == 400 => {
            no.fields.remove("message");
            let mut fields = no.fields.iter();
            match (fields.next(), fields.next()) {
                (Some((parameter, reason)), None)
                    if no.message == format!("{parameter} {reason}") =>
                {
                    Error::invalid_argument(parameter.clone(), reason.clone())
                }
                _ => Error::Rejected(no),
            }
        }
        Error::Unavailable { message, .. } if is_of_storage => Error::Storage { message },
        // The token was not accepted, and no API key.
        Error::Unauthorized { message, .. } => {
            Error::Rejected(Box::new(Rejection { status: 401, message, ..Rejection::default() }))
        }
        other => other,
    })
}

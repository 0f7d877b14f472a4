//! Converts parameters to the calls of the library, and replies to values. A user's id is `user_id`
//! in every call of Python, but `svc_id` on the wire in some, and `id` in one reply; the difference
//! is confined to this file.

use crate::failure::Failure;
use crate::values::Params;
use seconder::calls::USER_ID_ON_THE_WIRE;
use seconder::wire::loose;
use seconder::{Call, Error};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) const USER_ID: &str = "user_id";

/// Reads a call. Its user is `user_id` in Python, no matter how the wire names it.
pub(crate) fn read_call<C: Call>(mut params: Params) -> Result<C, Failure> {
    let on_the_wire = !C::ROUTE.path.contains(&format!("{{{USER_ID}}}"));
    if on_the_wire && let Some(id) = params.remove(USER_ID) {
        params.insert(USER_ID_ON_THE_WIRE.into(), id);
    }
    loose::read(params).map_err(|mut mismatch| {
        if mismatch.field == USER_ID_ON_THE_WIRE {
            mismatch.field = USER_ID.into();
        }
        Error::from(mismatch).into()
    })
}

/// Renames the user's id in a reply to `user_id`.
pub(crate) fn with_user_id(reply: Value) -> Value {
    renamed(reply, USER_ID_ON_THE_WIRE)
}

/// Renames the user's id as [`with_user_id`] does, for the reply that calls it `id`.
pub(crate) fn with_new_user_id(reply: Value) -> Value {
    renamed(reply, "id")
}

fn renamed(mut reply: Value, on_the_wire: &str) -> Value {
    if let Value::Object(fields) = &mut reply
        && let Some(id) = fields.remove(on_the_wire)
    {
        fields.insert(USER_ID.into(), id);
    }
    reply
}

pub(crate) fn read<T: DeserializeOwned>(params: Params) -> Result<T, Failure> {
    loose::read(params).map_err(|mismatch| Error::from(mismatch).into())
}

pub(crate) fn write(reply: &impl serde::Serialize) -> Result<Value, Failure> {
    serde_json::to_value(reply).map_err(|error| internal(error.to_string()))
}

pub(crate) fn internal(message: String) -> Failure {
    Error::Internal { message }.into()
}

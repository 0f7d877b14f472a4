//! Values that cannot be wrong. Text from outside becomes one of these or is refused, so nothing
//! inside checks it again, and nothing that ends in a path can hold a `/`.

use crate::{Error, Result};
use serde::{Deserialize, Deserializer, de};
use std::str::FromStr;
use zeroize::Zeroizing;

mod application;
mod identity;
mod phone;
mod text;

pub use application::{ApiKey, CallbackUrl};
pub use identity::{ApprovalId, DeviceId, UserId};
pub use phone::{CountryCode, PhoneNumber};
pub use text::{Action, DisplayText, Email, Secret, Token, VerificationCode};

/// Reads a value out of its text; what is wrong with it is told without the parameter's name,
/// which the reader of the whole call knows better.
fn from_text<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: FromStr<Err = Error>,
    D: Deserializer<'de>,
{
    // The text may be a token; the type keeps a copy that it wipes itself.
    Zeroizing::new(String::deserialize(from)?).parse().map_err(reason)
}

/// Reads a value out of its number, as [`from_text`] does out of its text.
fn from_number<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: TryFrom<u64, Error = Error>,
    D: Deserializer<'de>,
{
    T::try_from(u64::deserialize(from)?).map_err(reason)
}

fn reason<E: de::Error>(error: Error) -> E {
    match error {
        Error::InvalidArgument { reason, .. } => E::custom(reason),
        other => E::custom(other),
    }
}

/// Gives each type its one way in and its one way out through serde.
macro_rules! serde_by {
    ($read:ident, $write:ident($get:ident): $($name:ident)*) => {$(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                crate::model::$read(from)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.$write(self.$get().into())
            }
        }
    )*};
}

use serde_by;

//! Validated values. Input is parsed into one of these types or rejected, so that the rest of the
//! library need not check it again, and no value that becomes part of a path can contain a `/`.

use crate::{Error, Result};
use serde::{Deserialize, Deserializer, de};
use std::str::FromStr;
use zeroize::Zeroizing;

mod application;
mod browser;
mod domain;
mod identity;
mod phone;
mod text;

pub use application::{ApiKey, CallbackMethod, CallbackUrl, InstallLink, LogoUrl};
pub use browser::BrowserToken;
pub use domain::OtpDomain;
pub use identity::{ApprovalId, AuthenticatorId, DeviceId, LoginName, UserId};
pub use phone::{CountryCode, PhoneNumber};
pub use text::{Action, DisplayText, Email, Secret, Token, VerificationCode};

/// Parses a value from its text. Errors omit the parameter's name, because the reader of the whole
/// call knows under which name it was given.
pub(crate) fn from_text<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: FromStr<Err = Error>,
    D: Deserializer<'de>,
{
    // The text may be a token; the type keeps a copy that it wipes itself.
    Zeroizing::new(String::deserialize(from)?).parse().map_err(reason)
}

/// Parses a value from its number, as [`from_text`] does from its text.
fn from_number<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: TryFrom<u64, Error = Error>,
    D: Deserializer<'de>,
{
    T::try_from(u64::deserialize(from)?).map_err(reason)
}

fn reason<E: de::Error>(error: Error) -> E {
    match error {
        Error::InvalidArgument { reason, .. } | Error::TokenMalformed { reason, .. } => {
            E::custom(reason)
        }
        other => E::custom(other),
    }
}

/// Implements serde for each type by its parser and its accessor, so that no unchecked value can be
/// deserialised.
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

pub(crate) use serde_by;

//! The declaration of an operation: a struct whose fields are its parameters.

use crate::Result;
use crate::engine::core::Engine;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The parameter of every operation that names the application that it is about.
pub(crate) const APP: &str = "app_id";
/// The default maximum number of entries in a page.
pub(super) const MOST: u32 = 100;

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

        impl crate::engine::operator::declaration::Operation for $operation {
            const NAME: &'static str = $name;
            const PARAMETERS: &'static [&'static str] = &[$(stringify!($field)),*];
            type Reply = $reply;

            fn carry_out(&self, engine: &crate::engine::core::Engine) -> crate::Result<$reply> {
                self.run(engine)
            }
        }
    };
}
pub(super) use operation;

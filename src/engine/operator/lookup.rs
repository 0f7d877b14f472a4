//! Operations on the provider with which a server looks numbers up.

use super::declaration::{Nothing, operation};
use super::routes::check_object;
use crate::engine::core::Engine;
use crate::model::Secret;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

operation! {
    /// Returns the settings of the provider, which may hold credentials.
    ShowLookup = "lookup.show" -> LookupSettings {}
}

/// The settings of the provider of look-ups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LookupSettings {
    /// A JSON object as text; `None` if there is no provider.
    pub settings: Option<Secret>,
}

impl ShowLookup {
    fn run(&self, engine: &Engine) -> Result<LookupSettings> {
        Ok(LookupSettings { settings: engine.lookup_settings()? })
    }
}

operation! {
    /// Sets the provider. Running servers notice within seconds. They read the settings: this stores what
    /// it is given.
    SetLookup = "lookup.set" -> Nothing {
        /// Its settings, a JSON object as text.
        settings: Secret,
    }
}

impl SetLookup {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        check_object(&self.settings)?;
        engine.set_lookup(&self.settings)?;
        Ok(Nothing {})
    }
}

operation! {
    /// Removes the provider: numbers are no longer looked up.
    RemoveLookup = "lookup.remove" -> Nothing {}
}

impl RemoveLookup {
    fn run(&self, engine: &Engine) -> Result<Nothing> {
        match engine.remove_lookup()? {
            true => Ok(Nothing {}),
            false => Err(Error::invalid_argument(
                "operation",
                "has nothing to remove: no provider is set",
            )),
        }
    }
}

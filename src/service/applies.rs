//! The settings that apply to each kind of URL. A setting that would have no effect is rejected:
//! with `sqlite:`, an operator who sets `ca_file` would rely on a check that is not made.

use super::{Scheme, Settings};
use crate::app_settings::APP_SETTINGS;
use crate::open_options::{OPEN_OPTIONS, Scope};
use crate::{Error, Result};

impl Scope {
    fn has(self, scheme: Scheme) -> bool {
        match self {
            Scope::All => true,
            Scope::Key => scheme != Scheme::Unix,
            Scope::Client => !scheme.is_engine(),
            Scope::Network => scheme == Scheme::Https,
            // Without HTTPS, an engine sends nothing itself.
            Scope::Outgoing => {
                scheme == Scheme::Https || (cfg!(feature = "https") && scheme.is_engine())
            }
            Scope::Socket => scheme == Scheme::Unix,
            Scope::Engine => scheme.is_engine(),
            Scope::Database => scheme.is_database(),
        }
    }

    fn described(self) -> &'static str {
        match self {
            Scope::All => "every URL",
            Scope::Key => {
                "https:, sqlite:, postgres: and sandbox: (a service on this machine recognises the user \
                 of the process, and needs no key)"
            }
            Scope::Client => "a remote service (https: and unix:)",
            Scope::Network => "a service on the network (https:)",
            Scope::Outgoing => "https:, sqlite:, postgres: and sandbox:",
            Scope::Socket => "a service on this machine (unix:)",
            Scope::Engine => "an engine in this process (sqlite:, postgres: and sandbox:)",
            Scope::Database => "a database (sqlite: and postgres:)",
        }
    }
}

impl Settings {
    /// Notes that a setting was given.
    #[cfg_attr(not(any(feature = "engine", feature = "remote")), allow(dead_code))]
    pub(crate) fn note(mut self, name: &'static str) -> Settings {
        self.given.push(name);
        self
    }

    /// Names the argument of another language in an error that names a setting: Python and C have `pins` for
    /// [`Settings::pin`], and C has `timeout_ms`.
    pub fn by_argument(error: Error, in_c: bool) -> Error {
        let Error::InvalidArgument { parameter, reason } = error else { return error };
        let parameter = match OPEN_OPTIONS.iter().find(|known| known.name == parameter) {
            Some(known) if in_c => known.in_c().into(),
            Some(known) => known.argument.into(),
            None => parameter,
        };
        Error::InvalidArgument { parameter, reason }
    }

    /// Rejects a setting that has no effect with the scheme of the URL.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the setting's name.
    pub(super) fn check_uses(&self) -> Result<()> {
        // An unknown scheme is reported as such.
        let Some(scheme) = Scheme::of(&self.url) else { return Ok(()) };
        for name in &self.given {
            let found = OPEN_OPTIONS.iter().find(|known| known.name == *name);
            let is_of_app = APP_SETTINGS.iter().any(|setting| setting.name == *name);
            let scope = found.map(|known| known.scope).or(is_of_app.then_some(Scope::Engine));
            if let Some(scope) = scope.filter(|scope| !scope.has(scheme)) {
                let written = self.url.split(':').next().unwrap_or_default();
                let reason =
                    format!("has no effect with {written}:, it is for {}", scope.described());
                return Err(Error::invalid_argument(*name, reason));
            }
        }
        Ok(())
    }
}

//! The settings that apply to each kind of URL. A setting that would have no effect is rejected:
//! with `sqlite:`, an operator who sets `ca_file` would rely on a check that is not made.

use super::{Scheme, Settings};
use crate::app_settings::APP_SETTINGS;
use crate::{Error, Result};

/// The part of this library that uses a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// An API key: every URL but `unix:`, where the service recognises the user of this process.
    Key,
    /// The client of a remote service: `https:`, `http:` to this machine, and `unix:`.
    Client,
    /// The client of a service on the network: `https:`, and `http:` to this machine.
    Network,
    /// The client of a service on this machine: `unix:`.
    Socket,
    /// An engine in this process: `sqlite:`, `postgres:` and `sandbox:`.
    Engine,
    /// An engine with a database that stays: `sqlite:` and `postgres:`.
    Database,
}

/// A setting that does not apply to every URL.
struct OpenSetting {
    name: &'static str,
    used: Use,
    /// The name of the argument in Python and C, where all values of a setting are given at once.
    argument: &'static str,
    /// The name of the option in C, which has the unit of a number.
    in_c: &'static str,
}

const fn of(name: &'static str, used: Use) -> OpenSetting {
    OpenSetting { name, used, argument: name, in_c: name }
}

impl OpenSetting {
    const fn listed(self, argument: &'static str) -> OpenSetting {
        OpenSetting { argument, in_c: argument, ..self }
    }

    const fn in_c(self, in_c: &'static str) -> OpenSetting {
        OpenSetting { in_c, ..self }
    }
}

/// Every setting that does not apply to every URL, except the settings of an application, which are
/// for engines.
const SETTINGS: &[OpenSetting] = &[
    of("api_key", Use::Key),
    of("timeout", Use::Client).in_c("timeout_ms"),
    of("repeats", Use::Client),
    of("ca_file", Use::Network),
    of("pin", Use::Network).listed("pins"),
    of("client_certificate", Use::Network),
    of("proxy", Use::Network),
    of("name_server", Use::Network).listed("name_servers"),
    of("allow_loopback_http", Use::Network),
    of("service_uid", Use::Socket),
    of("format", Use::Client),
    of("generation", Use::Client),
    of("nested_as_json", Use::Client),
    of("must_exist", Use::Database),
    of("keyring", Use::Database),
    of("deliver", Use::Engine),
    of("post", Use::Engine),
    of("push", Use::Engine),
    of("push_hosts", Use::Engine),
    of("lookup", Use::Engine),
    of("clock", Use::Engine),
    of("random", Use::Engine),
];

impl Use {
    fn applies_to(self, scheme: Scheme) -> bool {
        match self {
            Use::Key => scheme != Scheme::Unix,
            Use::Client => !scheme.is_engine(),
            Use::Network => scheme == Scheme::Https,
            Use::Socket => scheme == Scheme::Unix,
            Use::Engine => scheme.is_engine(),
            Use::Database => scheme.is_database(),
        }
    }

    fn purpose(self) -> &'static str {
        match self {
            Use::Key => {
                "https:, sqlite:, postgres: and sandbox: (a service on this machine recognises the user \
                 of the process, and needs no key)"
            }
            Use::Client => "a remote service (https: and unix:)",
            Use::Network => "a service on the network (https:)",
            Use::Socket => "a service on this machine (unix:)",
            Use::Engine => "an engine in this process (sqlite:, postgres: and sandbox:)",
            Use::Database => "a database (sqlite: and postgres:)",
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
        let parameter = match SETTINGS.iter().find(|known| known.name == parameter) {
            Some(known) if in_c => known.in_c.into(),
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
            let found = SETTINGS.iter().find(|known| known.name == *name).map(|known| known.used);
            let is_of_app = APP_SETTINGS.iter().any(|setting| setting.name == *name);
            let used = found.or(is_of_app.then_some(Use::Engine));
            if let Some(used) = used.filter(|used| !used.applies_to(scheme)) {
                let written = self.url.split(':').next().unwrap_or_default();
                let reason = format!("has no effect with {written}:, it is for {}", used.purpose());
                return Err(Error::invalid_argument(*name, reason));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A setter notes its name, and every noted name is in the table, once.
    #[test]
    fn every_setting_of_one_kind_is_listed() {
        let setters = |source: &str| -> Vec<String> {
            let functions = source.split("\n    pub fn ").skip(1);
            let names = functions.filter_map(|function| {
                let (name, parameters) = function.split_once('(')?;
                parameters.trim_start().starts_with("mut self").then(|| name.to_owned())
            });
            names.collect()
        };
        let mut client = setters(include_str!("remote_settings.rs"));
        client.extend(setters(include_str!("https_settings.rs")));
        let mut engine = setters(include_str!("engine_settings.rs"));
        // It notes the names of the settings that it is given.
        engine.retain(|name| name != "app_settings");
        let listed = |of_client: bool| -> Vec<String> {
            let clients = [Use::Client, Use::Network, Use::Socket];
            let of = SETTINGS.iter().filter(|known| known.used != Use::Key);
            let of = of.filter(|known| clients.contains(&known.used) == of_client);
            of.map(|known| known.name.to_owned()).collect()
        };
        for (mut declared, mut listed) in [(client, listed(true)), (engine, listed(false))] {
            declared.sort();
            listed.sort();
            assert_eq!(declared, listed);
        }
        for OpenSetting { name, .. } in SETTINGS {
            let noted = format!(".note(\"{name}\")");
            let sources = [
                include_str!("../service.rs"),
                include_str!("remote_settings.rs"),
                include_str!("https_settings.rs"),
                include_str!("engine_settings.rs"),
            ];
            assert!(sources.iter().any(|source| source.contains(&noted)), "{noted}");
            // The C interface calls its setter. The API key is an argument of its own, and the other three
            // are for Rust alone.
            let set = format!("settings.{name}(");
            let in_c = include_str!("../capi/settings.rs").contains(&set);
            assert!(in_c || ["api_key", "clock", "push", "random"].contains(name), "{set}");
        }
    }
}

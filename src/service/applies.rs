//! Which settings apply to which URL. A setting that would have no effect is rejected: whoever sets
//! `ca_file` with `sqlite:` believes in a check that nobody makes.

use super::Settings;
use crate::{Error, Result};

/// What uses a setting.
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

/// Every setting that does not apply to every URL.
const USES: &[(&str, Use)] = &[
    ("api_key", Use::Key),
    ("timeout", Use::Client),
    ("repeats", Use::Client),
    ("ca_file", Use::Network),
    ("pin", Use::Network),
    ("client_certificate", Use::Network),
    ("proxy", Use::Network),
    ("name_server", Use::Network),
    ("allow_loopback_http", Use::Network),
    ("service_uid", Use::Socket),
    ("format", Use::Client),
    ("generation", Use::Client),
    ("nested_as_json", Use::Client),
    ("must_exist", Use::Database),
    ("keyring", Use::Database),
    ("application_name", Use::Engine),
    ("callback_url", Use::Engine),
    ("callback_method", Use::Engine),
    ("callback_ca_file", Use::Engine),
    ("callback_private", Use::Engine),
    ("install_link", Use::Engine),
    ("offline_days", Use::Engine),
    ("limits", Use::Engine),
    ("texts", Use::Engine),
    ("otp_domain", Use::Engine),
    ("replies", Use::Engine),
    ("token_length", Use::Engine),
    ("plan", Use::Engine),
    ("white_label", Use::Engine),
    ("sms_enabled", Use::Engine),
    ("force_codes", Use::Engine),
    ("logo", Use::Engine),
    ("authenticator_digits", Use::Engine),
    ("authenticator_period", Use::Engine),
    ("deliver", Use::Engine),
    ("post", Use::Engine),
    ("push", Use::Engine),
    ("push_hosts", Use::Engine),
    ("lookup", Use::Engine),
    ("clock", Use::Engine),
    ("random", Use::Engine),
];

impl Use {
    fn applies_to(self, scheme: &str) -> bool {
        let schemes: &[&str] = match self {
            Use::Key => &["https", "http", "sqlite", "postgres", "postgresql", "sandbox"],
            Use::Client => &["https", "http", "unix"],
            Use::Network => &["https", "http"],
            Use::Socket => &["unix"],
            Use::Engine => &["sqlite", "postgres", "postgresql", "sandbox"],
            Use::Database => &["sqlite", "postgres", "postgresql"],
        };
        schemes.contains(&scheme)
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

    /// Rejects a setting that has no effect with the scheme of the URL.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the setting's name.
    pub(super) fn check_uses(&self) -> Result<()> {
        let scheme = self.url.split_once(':').map_or("", |(scheme, _)| scheme);
        // An unknown scheme is reported as such.
        if !USES.iter().any(|(_, used)| used.applies_to(scheme)) {
            return Ok(());
        }
        for name in &self.given {
            let found = USES.iter().find(|(known, _)| known == name);
            if let Some((_, used)) = found.filter(|(_, used)| !used.applies_to(scheme)) {
                let reason = format!("has no effect with {scheme}:, it is for {}", used.purpose());
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
        let engine = setters(include_str!("engine_settings.rs"));
        let listed = |of_client: bool| -> Vec<String> {
            let clients = [Use::Client, Use::Network, Use::Socket];
            let of = USES.iter().filter(|(_, used)| *used != Use::Key);
            let of = of.filter(|(_, used)| clients.contains(used) == of_client);
            of.map(|(name, _)| (*name).to_owned()).collect()
        };
        for (mut declared, mut listed) in [(client, listed(true)), (engine, listed(false))] {
            declared.sort();
            listed.sort();
            assert_eq!(declared, listed);
        }
        for (name, _) in USES {
            let noted = format!(".note(\"{name}\")");
            let sources = [
                include_str!("../service.rs"),
                include_str!("remote_settings.rs"),
                include_str!("https_settings.rs"),
                include_str!("engine_settings.rs"),
            ];
            assert!(sources.iter().any(|source| source.contains(&noted)), "{noted}");
            // The C interface notes it by name in a build that has no setter for it. The API key is
            // a setting of every build, and the other three are for Rust alone.
            let listed = format!("(\"{name}\", ");
            let in_c = include_str!("../capi/settings.rs").contains(&listed);
            assert!(in_c || ["api_key", "clock", "push", "random"].contains(name), "{listed}");
        }
    }
}

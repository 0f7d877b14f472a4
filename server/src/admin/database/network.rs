//! The options of commands for connections to other machines.

use crate::admin::input::COMMON;
use crate::admin::input::secret::group_secret;
use crate::invalid;
use clap::Args;
use seconder::{Result, Settings};
use std::path::{Path, PathBuf};

/// The URL of an engine for which settings are checked; any will do.
const IN_MEMORY: &str = "sandbox:";

/// How the process connects to other machines.
#[derive(Args)]
pub(crate) struct Network {
    /// Name server to resolve names with, in place of those of resolv.conf, as 192.0.2.1 or 192.0.2.1:5353;
    /// repeat it for more. The word system alone has the system's resolver used, with every source in
    /// nsswitch.conf.
    #[arg(long, value_name = "ADDRESS", help_heading = COMMON)]
    name_server: Vec<String>,
    /// Proxy for connections with TLS to other machines, but for the database, as http://host:port. A URL with
    /// a password is read from --proxy-file only, because every user can see the options of a process.
    #[arg(long, value_name = "URL", conflicts_with = "proxy_file", help_heading = COMMON)]
    proxy: Option<String>,
    /// File with the URL of the proxy, which others must have no access to either.
    #[arg(long, value_name = "FILE", help_heading = COMMON)]
    proxy_file: Option<PathBuf>,
}

impl Network {
    /// Adds the options to the settings of a service.
    pub(crate) fn apply(&self, settings: Settings) -> Result<Settings> {
        let servers = self.name_server.iter();
        let settings = servers.fold(settings, |settings, server| settings.name_server(server));
        Ok(match (&self.proxy, &self.proxy_file) {
            (Some(url), _) => {
                reject_password(url)?;
                settings.proxy(url)
            }
            (None, Some(file)) => settings.proxy(group_secret("proxy-file", file)?.expose()),
            (None, None) => settings,
        })
    }
}

/// Checks the address of a name server.
pub(crate) fn check_name_server(address: &str) -> Result<()> {
    Settings::new(IN_MEMORY).name_server(address).check()
}

/// Checks the URL of a proxy.
pub(crate) fn check_proxy(url: &str) -> Result<()> {
    reject_password(url)?;
    Settings::new(IN_MEMORY).proxy(url).check()
}

/// Checks a file with the URL of a proxy.
pub(crate) fn check_proxy_file(file: &Path) -> Result<()> {
    Settings::new(IN_MEMORY).proxy(group_secret("proxy-file", file)?.expose()).check()
}

fn reject_password(url: &str) -> Result<()> {
    match url.contains('@') {
        true => {
            let reason = "must not hold a password, which every user of this machine could see: \
                          write the URL to a file, and use --proxy-file";
            Err(invalid("proxy", reason.to_owned()))
        }
        false => Ok(()),
    }
}

//! The options of commands for connections to other machines.

use super::{invalid, secret};
use crate::admin::arguments::Network;
use seconder::model::Secret;
use seconder::{Result, Settings};
use std::fs::{File, Metadata};
use std::path::Path;

/// The URL of an engine for which settings are checked; any will do.
const IN_MEMORY: &str = "sandbox:";

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

/// Reads a secret from a file that only root, this user and a group can read. Root may have given it to a group, such
/// as the group of the user `seconder`, but never to everybody.
pub(super) fn group_secret(parameter: &'static str, file: &Path) -> Result<Secret> {
    let cannot = |error| invalid(parameter, format!("{} cannot be read: {error}", file.display()));
    let opened = File::open(file).map_err(cannot)?;
    match problem(&opened.metadata().map_err(cannot)?) {
        Some(problem) => Err(invalid(parameter, format!("{} {problem}", file.display()))),
        None => secret(parameter, opened),
    }
}

#[cfg(unix)]
fn problem(found: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    let is_trusted = [0, nix::unistd::Uid::effective().as_raw()].contains(&found.uid());
    match found {
        found if !found.is_file() => Some("is not a file"),
        found if found.mode() & 0o027 != 0 => Some(
            "must not be open to others, nor writable for its group: chmod 600, or 640 for a group",
        ),
        _ if !is_trusted => Some("must belong to root or to the user of this process"),
        _ => None,
    }
}

#[cfg(not(unix))]
fn problem(found: &Metadata) -> Option<&'static str> {
    (!found.is_file()).then_some("is not a file")
}

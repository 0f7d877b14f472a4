//! Secrets in files and on standard input.

use super::open;
use crate::invalid;
use seconder::model::Secret;
use seconder::{Error, Result};
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most bytes that are read of a file with a secret, more than any secret has.
const LONGEST_SECRET: u64 = 4096;

/// Reads a secret from a file, or without one from standard input, which keeps it out of process listings.
pub(crate) fn secret_from(file: Option<&Path>, parameter: &'static str) -> Result<Secret> {
    match file {
        Some(file) => secret_file(parameter, file),
        None => secret("standard input", std::io::stdin().lock()),
    }
}

/// Reads a secret from a file; - is standard input.
pub(crate) fn secret_at(parameter: &'static str, file: &Path) -> Result<Secret> {
    secret(parameter, open(file).map_err(unreadable(parameter, file))?)
}

pub(crate) fn secret_file(parameter: &'static str, file: &Path) -> Result<Secret> {
    secret(parameter, File::open(file).map_err(unreadable(parameter, file))?)
}

/// Reads a secret from a file that only its owner can read.
pub(crate) fn private_file(parameter: &'static str, file: &Path) -> Result<Secret> {
    let opened = File::open(file).map_err(unreadable(parameter, file))?;
    let found = opened.metadata().map_err(unreadable(parameter, file))?;
    check_private(parameter, file, &found)?;
    secret(parameter, opened)
}

/// Reads a secret from a file that only root, this user and a group can read. Root may have given it to a group, such
/// as the group of the user `seconder`, but never to everybody.
pub(crate) fn group_secret(parameter: &'static str, file: &Path) -> Result<Secret> {
    let opened = File::open(file).map_err(unreadable(parameter, file))?;
    let found = opened.metadata().map_err(unreadable(parameter, file))?;
    match problem(&found) {
        Some(problem) => Err(invalid(parameter, format!("{} {problem}", file.display()))),
        None => secret(parameter, opened),
    }
}

/// Reads a secret from the first line. The rest is ignored, so the file may end with a newline.
fn secret(parameter: &'static str, from: impl Read) -> Result<Secret> {
    let mut text = String::new();
    from.take(LONGEST_SECRET)
        .read_to_string(&mut text)
        .map_err(|error| invalid(parameter, format!("cannot be read: {error}")))?;
    match text.lines().next().map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => Ok(Secret::new(line)),
        None => Err(invalid(parameter, "holds no secret: the first line is empty".into())),
    }
}

/// Returns the error of a file that cannot be read.
fn unreadable(parameter: &'static str, file: &Path) -> impl Fn(std::io::Error) -> Error {
    move |error| invalid(parameter, format!("{} cannot be read: {error}", file.display()))
}

/// Rejects a file with a secret that other users of this machine can read or write.
#[cfg(unix)]
pub(crate) fn check_private(
    parameter: &'static str,
    file: &Path,
    found: &std::fs::Metadata,
) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let file = file.display();
    if !found.is_file() || found.mode() & 0o077 != 0 {
        let reason = format!(
            "{file} must be a file that nobody else can read: `chmod 600 {file}`. If others may have read it, \
             replace what it holds"
        );
        return Err(invalid(parameter, reason));
    }
    if ![0, rustix::process::geteuid().as_raw()].contains(&found.uid()) {
        let reason = format!("{file} must belong to the user who runs this, or to root");
        return Err(invalid(parameter, reason));
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_private(_: &'static str, _: &Path, _: &std::fs::Metadata) -> Result<()> {
    Ok(())
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

/// Returns a credential of a service of systemd, if there is one of this name.
#[allow(clippy::disallowed_methods, reason = "systemd passes the folder by this variable alone")]
pub(crate) fn credential(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CREDENTIALS_DIRECTORY").filter(|folder| !folder.is_empty())?;
    Some(Path::new(&folder).join(name)).filter(|file| file.exists())
}

//! The configuration files that commands read without `--config`: of a user who manages a service on another machine,
//! and of the service of this machine.

use super::options::OPTION;
use super::problems::Problem;
use super::settings::Setting;
use crate::admin::database::DEFAULT_DATABASE;
use crate::admin::input::secret::check_private;
use crate::invalid;
use seconder::Result;
use std::fs;
use std::path::{Path, PathBuf, absolute};

/// The setting that names the service.
pub(super) const SERVICE: &str = "service";
/// The commands that do not read it: those that need the machine of the service, which a test compares with these, and
/// `enrol`, which a user runs for the account on this machine.
const HERE: [&str; 11] = [
    "serve",
    "backup",
    "restore",
    "spend-codes",
    "export",
    "enrol",
    "keyring rotate",
    "route test",
    "lookup test",
    "user register-device",
    "approval respond",
];

/// The file of the service of this machine.
const SYSTEM: &str = "/etc/seconder/seconder.conf";

/// Returns whether a command reads the file of the service of this machine, by its words.
///
/// A second service by mistake would serve the same database, and `enrol` is for the account of its user.
pub(super) fn is_of_service(words: &[String]) -> bool {
    !["serve", "enrol"].contains(&words.join(" ").as_str())
}

/// Returns the file of the service of this machine, if there is one.
///
/// # Errors
/// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the current folder has a database too, which a
/// command without the file would open.
pub(super) fn of_system() -> Result<Option<PathBuf>> {
    let (file, here) = (PathBuf::from(SYSTEM), DEFAULT_DATABASE.trim_start_matches("sqlite:"));
    match (file.is_file(), Path::new(here).exists()) {
        (true, true) => Err(invalid(
            "database",
            format!(
                "is not given, and there are two: {here} here, and the one of {SYSTEM}. Name it"
            ),
        )),
        (there, _) => Ok(there.then_some(file)),
    }
}

/// Returns whether a command reads the file of its user, by its words.
pub(super) fn is_for(words: &[String]) -> bool {
    !HERE.contains(&words.join(" ").as_str())
}

/// Returns whether settings name a service on another machine.
pub(super) fn is_remote(settings: &[Setting]) -> bool {
    settings.iter().any(|setting| setting.is_given && setting.name == SERVICE)
}

/// Returns the error that the file lacks its service.
pub(super) fn lacks_service(settings: &[Setting]) -> Option<Problem> {
    let lacks = || {
        let reason = "the file lacks service, the address of a service on another machine";
        Problem::of_file(reason.to_owned())
    };
    (!is_remote(settings)).then(lacks)
}

/// Returns the file of the user who runs this, if there is one.
///
/// # Errors
/// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if others can read or replace it.
pub(super) fn file() -> Result<Option<PathBuf>> {
    let Some(file) = path() else { return Ok(None) };
    // Nor is there one in a folder that the user must not enter, such as the home of another.
    let Ok(found) = fs::metadata(&file) else { return Ok(None) };
    check_private(OPTION, &file, &found)?;
    Ok(Some(file))
}

/// Returns whether this is the file of the user who runs this.
pub(super) fn is(given: &Path) -> bool {
    path().is_some_and(|own| absolute(given).is_ok_and(|given| given == own))
}

/// Checks who can read a file, if it is the own file of the user who runs this.
pub(super) fn check(given: &Path) -> Result<()> {
    if is(given) { file().map(drop) } else { Ok(()) }
}

/// Returns where the file would be. A process without a home, such as one of a service, has none.
#[allow(clippy::disallowed_methods, reason = "only the environment says where files of users are")]
fn path() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || Some(folder("HOME")?.join(".config"));
    Some(folder("XDG_CONFIG_HOME").or_else(home)?.join("seconder/seconder.conf"))
}

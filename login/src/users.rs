//! Maps login names to users of the service.

use crate::config::{Config, Place, Problem, Users, lines};
use crate::outcome::{Trouble, outcome_of};
use crate::trusted_file::{self, Readers};
use crate::{Backend, Login, Outcome};
use seconder::model::{LoginName, UserId};
use std::collections::BTreeMap;
use std::path::Path;

/// The error for a process that starts no others.
const STARTS_NOTHING: &str = "users=command: is not for logins by the library, which starts no programs: use file: or \
                              directory";

/// Returns whether a text is a login name that may go into a path, the arguments of a program, a log or the
/// service's directory.
pub(crate) fn is_login_name(name: &str) -> bool {
    name.parse::<LoginName>().is_ok()
}

/// Returns the service's user of a login name; `None` if no user has it.
///
/// # Errors
/// The outcome of the login, and the errors that the operator has to mend, line by line.
pub(crate) fn find(
    config: &Config,
    backend: &dyn Backend,
    login: &Login<'_>,
) -> Result<Option<UserId>, (Outcome, Vec<String>)> {
    let misconfigured = |problems| (Outcome::Trouble(Trouble::Configuration), problems);
    match &config.users {
        Users::File(path) => {
            let shown = |problems: Vec<Problem>| problems.iter().map(ToString::to_string).collect();
            let mut map = read_map(path).map_err(|problems| misconfigured(shown(problems)))?;
            Ok(map.remove(login.user))
        }
        Users::Directory => backend.find_user(login.user).map_err(|error| {
            (outcome_of(&error), vec![format!("{} cannot be looked up: {error}", login.user)])
        }),
        Users::Command(path) => {
            let Some(run) = login.run_command else {
                return Err(misconfigured(vec![STARTS_NOTHING.to_owned()]));
            };
            let found = run(path, login.user, config.command_timeout);
            found.map_err(|reason| misconfigured(vec![format!("{} {reason}", path.display())]))
        }
    }
}

/// Reads a map of login names to the service's users. See seconder-pam.conf(5).
///
/// # Errors
/// All errors.
fn read_map(path: &Path) -> Result<BTreeMap<String, UserId>, Vec<Problem>> {
    let text = trusted_file::read(path, Readers::All)
        .map_err(|reason| vec![Place::file(path).problem(reason)])?;
    read_users(text.expose(), path)
}

impl Config {
    /// Checks the map of users, if it is a file: [`Config::read`] does not, because it is read for each
    /// login.
    ///
    /// # Errors
    /// All errors.
    pub fn check_users(&self) -> Result<(), Vec<Problem>> {
        match &self.users {
            Users::File(path) => read_map(path).map(|_| ()),
            Users::Directory | Users::Command(_) => Ok(()),
        }
    }
}

/// Parses the map of login names to the service's users that a text describes, as if it were in
/// this file.
///
/// # Errors
/// All errors.
pub fn read_users(text: &str, path: &Path) -> Result<BTreeMap<String, UserId>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut map = BTreeMap::new();
    for (login, id, place) in lines(text, path, &mut problems) {
        let id = id.parse::<UserId>();
        match (is_login_name(login), id) {
            (false, _) => problems.push(place.problem(
                "must begin with a login name: at most 64 letters, digits and _.@+-",
            )),
            (_, Err(_)) => problems.push(place.problem(
                "must be `login = id` with the id of a user of the service, a positive whole number",
            )),
            (true, Ok(id)) => {
                if map.insert(login.to_owned(), id).is_some() {
                    problems.push(place.problem(format!("{login} is in the file twice")));
                }
            }
        }
    }
    match problems.is_empty() {
        true => Ok(map),
        false => Err(problems),
    }
}

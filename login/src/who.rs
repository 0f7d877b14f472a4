//! Accounts that need a second factor: the keys `only` and `except`.

use crate::config::{Config, Who};
use crate::conversation::Journal;
use crate::users::is_login_name;
use nix::unistd::{Gid, Group, User, getgrouplist};
use std::ffi::CString;

/// The account of a login name.
pub(crate) enum Account {
    /// A user of this machine.
    Known(User),
    /// A user who is unknown to this machine, or could not be looked up.
    Unknown,
}

/// Looks a login name up.
pub(crate) fn account(login: &str, journal: &mut dyn Journal) -> Account {
    if !is_login_name(login) {
        return Account::Unknown;
    }
    match User::from_name(login) {
        Ok(Some(user)) => Account::Known(user),
        Ok(None) => Account::Unknown,
        Err(errno) => {
            journal.error(&format!("{login} was not looked up: {errno}"));
            Account::Unknown
        }
    }
}

impl Account {
    /// Returns the name by which everything is decided: the account's own. The typed name may differ from it where
    /// directories ignore case or have aliases, and would mean another user in a list of users.
    pub(crate) fn name<'a>(&'a self, typed: &'a str) -> &'a str {
        match self {
            Account::Known(user) => &user.name,
            Account::Unknown => typed,
        }
    }
}

/// Returns the reason why a user is not asked; `None` if the user is asked. That is also so if the reason cannot be
/// found out, and for users who have no account here.
pub(crate) fn excepted(
    config: &Config,
    account: &Account,
    journal: &mut dyn Journal,
) -> Option<&'static str> {
    let Account::Known(user) = account else { return None };
    let mut listed = |key: &str, list: &[Who]| {
        let listed = is_listed(list, user);
        if let Err(reason) = &listed {
            journal.error(&format!("{key}: {reason}, so {} is asked", user.name));
        }
        listed
    };
    if !config.only.is_empty() && listed("only", &config.only) == Ok(false) {
        return Some("only");
    }
    if listed("except", &config.except) == Ok(true) {
        return Some("except");
    }
    None
}

fn is_listed(list: &[Who], user: &User) -> Result<bool, String> {
    if list.iter().any(|who| matches!(who, Who::User(name) if *name == user.name)) {
        return Ok(true);
    }
    let mut groups = list
        .iter()
        .filter_map(|who| match who {
            Who::Group(name) => Some(name),
            Who::User(_) => None,
        })
        .peekable();
    if groups.peek().is_none() {
        return Ok(false);
    }
    let members = groups_of(user)?;
    let mut missing = None;
    for name in groups {
        match Group::from_name(name) {
            Ok(Some(group)) if members.contains(&group.gid) => return Ok(true),
            Ok(Some(_)) => {}
            Ok(None) => missing = Some(format!("there is no group {name}")),
            Err(errno) => missing = Some(format!("the group {name} was not looked up: {errno}")),
        }
    }
    missing.map_or(Ok(false), Err)
}

fn groups_of(user: &User) -> Result<Vec<Gid>, String> {
    let name = CString::new(user.name.as_str()).map_err(|_| "not a valid login name".to_owned())?;
    getgrouplist(&name, user.gid).map_err(|errno| format!("the groups were not looked up: {errno}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]
mod tests {
    use super::*;

    /// A directory that ignores case finds root for ROOT, and lists have to mean the same user.
    #[test]
    fn the_name_of_the_account_counts_and_not_the_one_that_was_typed() {
        let account = Account::Known(User::from_name("root").unwrap().unwrap());
        assert_eq!(account.name("ROOT"), "root");
        assert_eq!(Account::Unknown.name("ROOT"), "ROOT");
        let Account::Known(user) = &account else { return };
        assert_eq!(is_listed(&[Who::User("root".to_owned())], user), Ok(true));
        assert_eq!(is_listed(&[Who::User("ROOT".to_owned())], user), Ok(false));
    }
}

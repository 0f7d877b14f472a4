//! Who is asked for a second factor at all: the keys `only` and `except`.

use crate::config::{Config, Who};
use crate::conversation::Journal;
use nix::unistd::{Gid, Group, User, getgrouplist};
use std::ffi::CString;

/// Why a user is not asked; `None` if they are. Where that cannot be found out, they are.
pub(crate) fn excepted(
    config: &Config,
    login: &str,
    journal: &mut dyn Journal,
) -> Option<&'static str> {
    let mut listed = |key: &str, list: &[Who]| {
        let listed = is_listed(list, login);
        if let Err(reason) = &listed {
            journal.error(&format!("{key}: {reason}, so {login} is asked"));
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

fn is_listed(list: &[Who], login: &str) -> Result<bool, String> {
    if list.iter().any(|who| matches!(who, Who::User(name) if name == login)) {
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
    let members = groups_of(login)?;
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

fn groups_of(login: &str) -> Result<Vec<Gid>, String> {
    let user =
        User::from_name(login).map_err(|errno| format!("{login} was not looked up: {errno}"))?;
    let user = user.ok_or_else(|| format!("this machine has no user {login}"))?;
    let name = CString::new(login).map_err(|_| "not a valid login name".to_owned())?;
    getgrouplist(&name, user.gid).map_err(|errno| format!("the groups were not looked up: {errno}"))
}

//! The login names of users.

use super::{AppId, LoginSet, SetLoginName, UserRow, recovery, users};
use crate::model::{LoginName, UserId};
use rusqlite::{Connection, OptionalExtension, Result, params};

/// The user with this name, and how many recovery codes the user has left.
pub(super) fn find(
    db: &Connection,
    app: AppId,
    login: &LoginName,
) -> Result<Option<(UserRow, u64)>> {
    let Some(user_id) = user_with(db, app, login)? else { return Ok(None) };
    let left = recovery::left(db, user_id)?;
    Ok(users::find(db, app, user_id)?.map(|user| (user, left)))
}

fn user_with(db: &Connection, app: AppId, login: &LoginName) -> Result<Option<UserId>> {
    db.prepare_cached("SELECT user_id FROM users WHERE app_id = $1 AND login = $2")?
        .query_row(params![app, login.as_str()], |row| users::user_id(row.get(0)?))
        .optional()
}

/// Gives a user a name. Neither does a name move to another user in one step, nor does a user get
/// another name: a mistake would let that user's codes in as somebody else, or end the logins by the
/// earlier name, such as of two people who were enrolled with one phone number.
pub(super) fn set(db: &Connection, change: &SetLoginName) -> Result<LoginSet> {
    let SetLoginName { app, user_id, login } = change;
    if user_with(db, *app, login)?.is_some_and(|owner| owner != *user_id) {
        let exists = users::find(db, *app, *user_id)?.is_some();
        return Ok(if exists { LoginSet::Taken } else { LoginSet::NoUser });
    }
    let before = db
        .prepare_cached("SELECT login FROM users WHERE user_id = $1 AND app_id = $2")?
        .query_row(params![user_id.get() as i64, app], |row| row.get::<_, Option<String>>(0))
        .optional()?;
    match before {
        None => return Ok(LoginSet::NoUser),
        Some(Some(other)) if other != login.as_str() => return Ok(LoginSet::HasAnother(other)),
        Some(_) => {}
    }
    db.prepare_cached("UPDATE users SET login = $1 WHERE user_id = $2 AND app_id = $3")?
        .execute(params![login.as_str(), user_id.get() as i64, app])?;
    Ok(LoginSet::Done)
}

pub(super) fn remove(db: &Connection, app: AppId, login: &LoginName) -> Result<bool> {
    let changed = db
        .prepare_cached("UPDATE users SET login = NULL WHERE app_id = $1 AND login = $2")?
        .execute(params![app, login.as_str()])?;
    Ok(changed > 0)
}

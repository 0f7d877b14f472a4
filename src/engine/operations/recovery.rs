//! The recovery codes of users, as hashes.

use super::{AppId, user};
use crate::engine::model::clock::Time;
use crate::engine::operations::verify::{Factor, WrongAnswers};
use crate::engine::store::{Authenticator, Decided, RecoveryCode, User, View};
use crate::model::UserId;

/// Replaces the recovery codes of a user. Returns whether there is such a user.
pub(in crate::engine) fn replace(
    view: &mut View,
    app: AppId,
    user_id: UserId,
    salt: &[u8],
    hashes: &[Vec<u8>],
) -> Decided<bool> {
    if user(view, app, user_id)?.is_none() {
        return Ok(false);
    }
    view.delete_all::<RecoveryCode>((user_id.get(),));
    for hash in hashes {
        let (hash, salt) = (hash.clone(), salt.to_vec().into());
        view.put(RecoveryCode { user_id: user_id.get(), hash, salt, spent: false });
    }
    Ok(true)
}

/// Returns the recovery codes of a user, and the wrong ones in a row.
pub(in crate::engine) fn codes(
    view: &mut View,
    user_id: UserId,
) -> Decided<(Vec<RecoveryCode>, WrongAnswers)> {
    let rows = view.all::<RecoveryCode>((user_id.get(),))?;
    let user = view.get::<User>((user_id.get(),))?;
    Ok((rows, user.map(|user| user.wrong(Factor::Recovery)).unwrap_or_default()))
}

/// Returns the number of recovery codes that a user has left.
pub(super) fn left(view: &mut View, user_id: UserId) -> Decided<u64> {
    let rows = view.all::<RecoveryCode>((user_id.get(),))?;
    Ok(rows.iter().filter(|row| !row.spent).count() as u64)
}

/// Returns the time at which a code of the user's authenticator apps was last accepted.
pub(in crate::engine) fn authenticator_used_at(
    view: &mut View,
    user_id: UserId,
) -> Decided<Option<Time>> {
    let apps = view.all::<Authenticator>((user_id.get(),))?;
    Ok(apps.into_iter().filter_map(|app| app.used_at).max())
}

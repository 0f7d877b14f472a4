//! The recovery codes of users, as hashes.

use super::{AppId, user};
use crate::engine::model::clock::Time;
use crate::engine::store::{Authenticator, Decided, RecoveryCode, View};
use crate::model::UserId;
use subtle::ConstantTimeEq;

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

/// Finds the code of a user's set that has this hash.
pub(super) fn find<'a>(hash: &[u8], rows: &'a [RecoveryCode]) -> Option<&'a RecoveryCode> {
    // Each is compared, so that the time taken does not depend on which one it is.
    let mut found = None;
    for row in rows {
        if bool::from(row.hash.ct_eq(hash)) {
            found = Some(row);
        }
    }
    found
}

/// Returns the number of recovery codes that a user has left.
pub(in crate::engine) fn left(view: &mut View, user_id: UserId) -> Decided<u64> {
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

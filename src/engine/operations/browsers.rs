//! Remembered browsers, by the hashes of the ids in their tokens.

use super::{AppId, user};
use crate::engine::model::clock::{Now, Time};
use crate::engine::model::limits::CLOCK_SLACK;
use crate::engine::store::{Browser, Decided, View};
use crate::in_order::in_order;
use crate::model::UserId;

/// The key of a remembered browser.
#[derive(Clone)]
pub(in crate::engine) struct BrowserKey {
    pub(in crate::engine) app: AppId,
    pub(in crate::engine) user_id: UserId,
    /// The hash of the id in its token.
    pub(in crate::engine) id_hash: [u8; 32],
}

#[derive(Clone)]
pub(in crate::engine) struct NewBrowser {
    pub(in crate::engine) key: BrowserKey,
    pub(in crate::engine) expires_at: Time,
    /// With more browsers of the user than this, the one that was remembered first is forgotten.
    pub(in crate::engine) most: u32,
    pub(in crate::engine) now: Now,
}

/// Remembers a browser. Returns whether there is such a user.
pub(in crate::engine) fn add(view: &mut View, new: &NewBrowser) -> Decided<bool> {
    let BrowserKey { app, user_id, id_hash } = &new.key;
    if user(view, *app, *user_id)?.is_none() {
        return Ok(false);
    }
    // By their numbers, because several may have one time, and the clock may have been set back.
    let known = in_order(view.all::<Browser>((user_id.get(),))?, |browser| browser.number);
    let number = known.last().map_or(1, |last| last.number + 1);
    let surplus = (known.len() + 1).saturating_sub(new.most as usize);
    known.iter().take(surplus).for_each(|browser| view.delete(browser));
    view.put(Browser {
        user_id: user_id.get(),
        id_hash: id_hash.to_vec(),
        number,
        created_at: new.now.steady,
        expires_at: new.expires_at,
    });
    Ok(true)
}

/// Returns whether a browser is remembered. An expired one is forgotten permanently. None counts while an operator has
/// locked the user.
pub(in crate::engine) fn is_remembered(
    view: &mut View,
    key: &BrowserKey,
    now: Now,
) -> Decided<bool> {
    let Some(browser) = find(view, key)? else { return Ok(false) };
    // One from the future is of a node whose clock was wrong.
    let lives =
        browser.expires_at > now.steady && browser.created_at <= now.steady.plus(CLOCK_SLACK);
    if !lives {
        view.delete(&browser);
    }
    let user = user(view, key.app, key.user_id)?;
    Ok(lives && user.is_some_and(|user| user.locked_at.is_none()))
}

fn find(view: &mut View, key: &BrowserKey) -> Decided<Option<Browser>> {
    if user(view, key.app, key.user_id)?.is_none() {
        return Ok(None);
    }
    view.get::<Browser>((key.user_id.get(), key.id_hash))
}

/// Forgets a browser. Returns whether it was remembered.
pub(in crate::engine) fn forget(view: &mut View, key: &BrowserKey) -> Decided<bool> {
    let found = find(view, key)?;
    if let Some(browser) = &found {
        view.delete(browser);
    }
    Ok(found.is_some())
}

/// Forgets all browsers of a user. Returns whether there is such a user.
pub(in crate::engine) fn forget_all(view: &mut View, app: AppId, user_id: UserId) -> Decided<bool> {
    if user(view, app, user_id)?.is_none() {
        return Ok(false);
    }
    forget_those_of(view, user_id);
    Ok(true)
}

/// Forgets all browsers of a user whose account is in danger, or is protected in another way now.
pub(super) fn forget_those_of(view: &mut View, user_id: UserId) {
    view.delete_all::<Browser>((user_id.get(),));
}

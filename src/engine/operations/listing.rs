//! Pages of rows for operators, the latest first.

use super::lookups::Kind;
use super::user_id;
use super::{AppId, finding, user};
use crate::engine::model::clock::Time;
use crate::engine::store::{
    Activity, Approval, Authenticator, Decided, Lookup, OpenApproval, Page, User, View,
};
use crate::model::UserId;

/// Returns the users of an application before this one.
pub(in crate::engine) fn users(
    view: &mut View,
    app: AppId,
    before: u64,
    most: u32,
) -> Decided<Vec<User>> {
    view.page(Page::by_due((app,), most).before((before,)))
}

/// Returns the users of an application before this one whom an operator has locked.
pub(in crate::engine) fn locked_users(
    view: &mut View,
    app: AppId,
    before: u64,
    most: u32,
) -> Decided<Vec<User>> {
    let page = Page::below((Kind::Locked.name(), app), most);
    let rows = view.page::<Lookup>(page.before((finding::digits(before),)))?;
    for row in &rows {
        view.ask::<User>((row.id,));
    }
    let mut users = Vec::new();
    for row in rows {
        users.extend(user(view, app, user_id(row.id)?)?);
    }
    Ok(users)
}

/// Returns the authenticator apps after this one of a user, of all applications, in the order of the store.
pub(in crate::engine) fn authenticators(
    view: &mut View,
    after: Option<(u64, i64)>,
    most: u32,
) -> Decided<Vec<Authenticator>> {
    match after {
        Some(after) => view.after(after, most),
        None => view.after((), most),
    }
}

/// Returns the applications of users, in their order; `None` for one who was deleted meanwhile.
pub(in crate::engine) fn applications_of(
    view: &mut View,
    users: &[u64],
) -> Decided<Vec<Option<AppId>>> {
    for user_id in users {
        view.ask::<User>((*user_id,));
    }
    let app = |user_id: &u64| Ok(view.get::<User>((*user_id,))?.map(|user| user.app_id));
    users.iter().map(app).collect()
}

/// Returns the activities of a user before a time and a nonce; `None` if there is no such user.
pub(in crate::engine) fn activities(
    view: &mut View,
    app: AppId,
    user_id: UserId,
    before: Option<(i64, i64)>,
    most: u32,
) -> Decided<Option<Vec<Activity>>> {
    if user(view, app, user_id)?.is_none() {
        return Ok(None);
    }
    let page = Page::below((user_id.get(),), most);
    let page = match before {
        Some((at, nonce)) => page.before((Time(at), nonce)),
        None => page.before((Time(i64::MAX),)),
    };
    view.page(page).map(Some)
}

/// Returns the requests that were open, of one user or of all of an application, before the request of a user with this
/// number, each with its place; and whether more may follow.
#[allow(clippy::type_complexity, reason = "the two belong together only here")]
pub(in crate::engine) fn open_approvals(
    view: &mut View,
    app: AppId,
    user_id: Option<u64>,
    before: Option<(u64, u64)>,
    most: u32,
) -> Decided<(Vec<((u64, u64), Option<Approval>)>, bool)> {
    let page = match (user_id, before) {
        (Some(user), Some((_, number))) => Page::below((user,), most).before((number,)),
        (Some(user), None) => Page::below((user,), most).before((u64::MAX,)),
        (None, Some(place)) => Page::by_due((app,), most).before(place),
        (None, None) => Page::by_due((app,), most).before((u64::MAX,)),
    };
    let open = view.page::<OpenApproval>(page)?;
    let may_follow = open.len() == most as usize;
    for entry in &open {
        view.ask::<Approval>((entry.user_id, entry.uuid.clone()));
    }
    let mut rows = Vec::new();
    for entry in open {
        let place = (entry.user_id, entry.number);
        rows.push((place, view.get::<Approval>((entry.user_id, entry.uuid))?));
    }
    Ok((rows, may_follow))
}

//! Owners of names.

use super::AppId;
use crate::engine::store::{Decided, Lookup, View};
use std::collections::BTreeSet;

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Kind {
    /// The hash of an API key: the application that has it. The application of the look-up is 0.
    ApiKey,
    /// A number in E.164: its user.
    Phone,
    /// An e-mail address: the user without a number who has it. The addresses of other users are no
    /// names.
    Email,
    /// A name on machines: its user.
    Login,
    /// The id of a device: its user.
    Device,
    /// The id of an approval request: its user.
    Approval,
    /// The id of a number's verification: the digits of the number, as a number.
    Verification,
    /// The terms by which operators find users, with the user's id in the name, as several users may have it: see
    /// `operations/finding.rs`.
    FindLogin,
    FindEmail,
    FindNumber,
    /// The id of a user whom an operator has locked.
    Locked,
}

impl Kind {
    /// The kinds of names that belong to users and numbers, and not to applications.
    pub(in crate::engine::operations) const OF_USERS: [Kind; 10] = [
        Kind::Phone,
        Kind::Email,
        Kind::Login,
        Kind::Device,
        Kind::Approval,
        Kind::Verification,
        Kind::FindLogin,
        Kind::FindEmail,
        Kind::FindNumber,
        Kind::Locked,
    ];

    pub(super) fn name(self) -> String {
        let name = match self {
            Kind::ApiKey => "api_key",
            Kind::Phone => "phone",
            Kind::Email => "email",
            Kind::Login => "login",
            Kind::Device => "device",
            Kind::Approval => "approval",
            Kind::Verification => "verification",
            Kind::FindLogin => "find_login",
            Kind::FindEmail => "find_email",
            Kind::FindNumber => "find_number",
            Kind::Locked => "locked",
        };
        name.to_owned()
    }
}

pub(super) fn find(view: &mut View, kind: Kind, app: AppId, name: &str) -> Decided<Option<i64>> {
    let found = view.get::<Lookup>((kind.name(), app, name.to_owned()))?;
    Ok(found.map(|lookup| lookup.id))
}

/// Returns all names of a kind.
pub(super) fn names(view: &mut View, kind: Kind, app: AppId) -> Decided<BTreeSet<String>> {
    Ok(view.all::<Lookup>((kind.name(), app))?.into_iter().map(|lookup| lookup.name).collect())
}

pub(super) fn set(view: &mut View, kind: Kind, app_id: AppId, name: &str, id: i64) {
    view.put(Lookup { kind: kind.name(), app_id, name: name.to_owned(), id });
}

pub(super) fn remove(view: &mut View, kind: Kind, app: AppId, name: &str) {
    view.delete_all::<Lookup>((kind.name(), app, name.to_owned()));
}

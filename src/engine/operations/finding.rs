//! Finding users by what operators know of them. Each user has *terms* in the table of names: the login name and
//! the e-mail addresses in lower case, and the digits of the number backwards, so that its last digits are the
//! beginning of a term. All users whose term begins with a text are then next to each other in the primary key,
//! with any characters in the text.
//!
//! Only letters of ASCII become lower case, because the databases of the first version got their terms by SQL, whose
//! `lower` does no more on every store.

use super::lookups::{self, Kind};
use super::{AppId, user};
use crate::Error;
use crate::engine::store::{Decided, Email, Lookup, User, View};
use crate::model::UserId;
use std::collections::BTreeSet;

/// The kinds of terms, in the order in which users are found by them.
const KINDS: [Kind; 3] = [Kind::FindLogin, Kind::FindEmail, Kind::FindNumber];

/// A number of this length may begin with a 0 that is dialled only within the country.
const DIALLED: usize = 7;

/// Names in the table, with their kinds.
type Terms = BTreeSet<(Kind, String)>;

/// Returns an id in as many digits as any, so that names are in the order of ids.
pub(super) fn digits(user_id: u64) -> String {
    format!("{user_id:020}")
}

/// Returns the name of a term, which is the user's alone by the id at its end.
fn named(term: &str, user_id: u64) -> String {
    format!("{term} {}", digits(user_id))
}

fn terms<'a>(user: &'a User, earlier: impl Iterator<Item = &'a Email>) -> Terms {
    let term = |kind, text: &str| (kind, named(&text.to_ascii_lowercase(), user.user_id));
    let mut terms = Terms::new();
    terms.extend(user.login.iter().map(|login| term(Kind::FindLogin, login)));
    terms.extend(user.locked_at.map(|_| (Kind::Locked, digits(user.user_id))));
    let emails = earlier.map(|earlier| &earlier.email).chain([&user.email]);
    let emails = emails.filter(|email| !email.is_empty());
    terms.extend(emails.map(|email| term(Kind::FindEmail, email)));
    terms.extend(user.phone().map(|phone| {
        let number = phone.e164();
        term(Kind::FindNumber, &number.trim_start_matches('+').chars().rev().collect::<String>())
    }));
    terms
}

fn stored_terms(view: &mut View, user: &User) -> Decided<Terms> {
    let earlier = view.all::<Email>((user.user_id,))?;
    Ok(terms(user, earlier.iter()))
}

/// Adds the terms of a new user.
pub(super) fn add(view: &mut View, user: &User, earlier: &[Email]) {
    for (kind, name) in terms(user, earlier.iter()) {
        lookups::set(view, kind, user.app_id, &name, number(user.user_id));
    }
}

/// Removes the terms of a user.
pub(super) fn forget(view: &mut View, user: &User) -> Decided<()> {
    for (kind, name) in stored_terms(view, user)? {
        lookups::remove(view, kind, user.app_id, &name);
    }
    Ok(())
}

/// Changes a user, and the terms with it.
pub(super) fn change(view: &mut View, user: User, change: impl FnOnce(&mut User)) -> Decided<()> {
    let before = stored_terms(view, &user)?;
    let mut user = user;
    change(&mut user);
    let after = stored_terms(view, &user)?;
    for (kind, name) in before.symmetric_difference(&after) {
        lookups::remove(view, *kind, user.app_id, name);
    }
    for (kind, name) in after.difference(&before) {
        lookups::set(view, *kind, user.app_id, name, number(user.user_id));
    }
    view.put(user);
    Ok(())
}

/// Ids are 63 bits.
fn number(user_id: u64) -> i64 {
    i64::try_from(user_id).unwrap_or(i64::MAX)
}

/// The text that users are found by.
#[derive(Clone)]
pub(in crate::engine) struct Query {
    id: Option<UserId>,
    text: String,
    /// The last digits backwards. All of them, and a space, if the text is a whole number.
    number: Option<String>,
}

impl Query {
    pub(in crate::engine) fn new(text: &str) -> Query {
        let text = text.trim();
        let is_number = text.chars().all(|c| c.is_ascii_digit() || " +-().".contains(c));
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        let digits = match digits.len() {
            DIALLED.. => digits.trim_start_matches('0'),
            _ => &digits,
        };
        let end = if text.starts_with('+') { " " } else { "" };
        let backwards = digits.chars().rev().chain(end.chars()).collect();
        Query {
            id: text.parse().ok(),
            text: text.to_ascii_lowercase(),
            number: (is_number && !digits.is_empty()).then_some(backwards),
        }
    }

    fn begins(&self, kind: Kind) -> Option<&str> {
        match kind {
            Kind::FindLogin | Kind::FindEmail => Some(&self.text),
            Kind::FindNumber => self.number.as_deref(),
            _ => None,
        }
    }

    /// Returns the terms that begin so, in the order of the table.
    fn matching(&self, terms: Terms) -> Vec<(Kind, String)> {
        let fits = |(kind, name): &(Kind, String)| {
            self.begins(*kind).is_some_and(|begins| name.starts_with(begins))
        };
        terms.into_iter().filter(fits).collect()
    }
}

/// The end of a page: the place of a kind in `KINDS`, and the user who was read last by it, with the place among those
/// of the user's terms that match. It holds no term, because a whole number is one.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Place {
    pub(in crate::engine) kind: usize,
    pub(in crate::engine) of: Option<(u64, usize)>,
}

/// Returns the users of an application who are found, each once, and the place of the page after them. It reads as many
/// rows as the page may have users, for each kind of term.
pub(in crate::engine) fn find(
    view: &mut View,
    app: AppId,
    query: &Query,
    after: Option<Place>,
    most: usize,
) -> Decided<(Vec<User>, Option<Place>)> {
    let mut users = Vec::new();
    if let (None, Some(id)) = (after, query.id) {
        users.extend(user(view, app, id)?);
    }
    let begin = after.unwrap_or(Place { kind: 0, of: None });
    let mut of = begin.of;
    for (place, kind) in KINDS.iter().enumerate().skip(begin.kind) {
        let Some(begins) = query.begins(*kind) else { continue };
        let from = match of.take() {
            Some(of) => last_read(view, app, query, of)?,
            None => begins.to_owned(),
        };
        let left = most - users.len();
        if left == 0 {
            return Ok((users, Some(Place { kind: place, of: None })));
        }
        let rows =
            view.after::<Lookup>((kind.name(), app, from), u32::try_from(left).unwrap_or(0))?;
        let fits = |row: &Lookup| {
            row.kind == kind.name() && row.app_id == app && row.name.starts_with(begins)
        };
        let rows: Vec<_> = rows.into_iter().take_while(fits).collect();
        for row in &rows {
            view.ask::<User>((row.id,));
            view.ask::<Email>((row.id,));
        }
        let is_full = rows.len() == left;
        let mut last = None;
        for row in rows {
            let id = super::user_id(row.id)?;
            let Some(found) = user(view, app, id)? else { continue };
            let terms = query.matching(stored_terms(view, &found)?);
            let read = terms.iter().position(|(of, name)| of == kind && *name == row.name);
            last = read.map(|read| Place { kind: place, of: Some((id.get(), read)) }).or(last);
            if read == Some(0) && query.id != Some(id) {
                users.push(found);
            }
        }
        if is_full && last.is_some() {
            return Ok((users, last));
        }
    }
    Ok((users, None))
}

/// Returns the name of the term that was read last.
fn last_read(
    view: &mut View,
    app: AppId,
    query: &Query,
    (id, read): (u64, usize),
) -> Decided<String> {
    let gone = || {
        let reason =
            "is a place that is gone: its user was changed or deleted. Begin again without it";
        Error::invalid_argument("after", reason)
    };
    let id = UserId::try_from(id).map_err(|_| gone())?;
    let found = user(view, app, id)?.ok_or_else(gone)?;
    let terms = query.matching(stored_terms(view, &found)?);
    Ok(terms.into_iter().nth(read).ok_or_else(gone)?.1)
}

//! The commands that list users and their activities.

use super::who::{Who, status_of};
use crate::admin::database::Database;
use crate::admin::output::print;
use crate::admin::output::table::{print_json, table, utc};
use seconder::engine::operator::{
    ActivityEntry, ExportUser, FindUsers, ListActivities, ListUsers, ShowUser, UserEntry,
};
use seconder::model::UserId;
use seconder::{Result, Service};

pub(super) fn users(database: &Database, limit: usize, locked: bool, json: bool) -> Result<()> {
    let service = database.existing()?;
    let mut total = 0;
    let found = pages(limit, |after, most| {
        let page = service.operate(&ListUsers { after, most, locked })?;
        total = page.total;
        Ok((page.users, page.next))
    })?;
    let end = format!("{} of {}", grouped(found.len() as u64), grouped(total));
    shown(found, json, &end)
}

pub(super) fn find(database: &Database, text: &str, limit: usize, json: bool) -> Result<()> {
    let service = database.existing()?;
    let mut more = false;
    let found = pages(limit, |after, most| {
        let text = text.to_owned();
        let page = service.operate(&FindUsers { text, after, most })?;
        more = page.next.is_some();
        Ok((page.users, page.next))
    })?;
    let end = match (found.len(), more) {
        (0, _) => "no user was found".to_owned(),
        (count, false) => format!("{} found", grouped(count as u64)),
        (count, true) => format!("the first {}: more follow", grouped(count as u64)),
    };
    shown(found, json, &end)
}

/// Reads pages until there are so many entries, or no more.
fn pages<Entry, Place>(
    limit: usize,
    mut page: impl FnMut(Option<Place>, Option<u32>) -> Result<(Vec<Entry>, Option<Place>)>,
) -> Result<Vec<Entry>> {
    let (mut found, mut after) = (Vec::new(), None);
    while found.len() < limit {
        let (entries, next) = page(after, Some(most(limit - found.len())))?;
        found.extend(entries);
        after = next;
        if after.is_none() {
            break;
        }
    }
    Ok(found)
}

/// Prints users, and a last line for people.
fn shown(found: Vec<UserEntry>, json: bool, end: &str) -> Result<()> {
    if json {
        return found.iter().try_for_each(|user| print_json(serde_json::to_string(user)));
    }
    let row = |user: UserEntry| {
        let confirmed = if user.confirmed { "yes" } else { "no" }.to_owned();
        let (id, created) = (user.user_id.to_string(), utc(user.created));
        vec![id, user.email, user.number, confirmed, created, user.login.unwrap_or_default()]
    };
    let rows: Vec<_> = found.into_iter().map(row).collect();
    let users = table(&["ID", "E-MAIL", "NUMBER", "CONFIRMED", "CREATED", "LOGIN"], &rows);
    print(&format!("{users}\n{end}"))
}

/// Formats a number with a comma between each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns the number of entries to ask for at once.
fn most(left: usize) -> u32 {
    u32::try_from(left).unwrap_or(u32::MAX).min(1000)
}

pub(super) fn activities(database: &Database, who: &Who, limit: usize, json: bool) -> Result<()> {
    let service = database.existing()?;
    let (user_id, _) = who.find(&service)?;
    let found = pages(limit, |after, most| {
        let page = service.operate(&ListActivities { user_id, after, most })?;
        Ok((page.activities, page.next))
    })?;
    if json {
        return found.iter().try_for_each(|entry| print_json(serde_json::to_string(entry)));
    }
    let row = |entry: ActivityEntry| {
        let time = utc(u64::try_from(entry.time / 1000).unwrap_or(0));
        vec![time, entry.kind, entry.user_ip.unwrap_or_default(), entry.data.to_string()]
    };
    let rows: Vec<_> = found.into_iter().map(row).collect();
    print(&table(&["TIME", "KIND", "ADDRESS", "DATA"], &rows))
}

/// Describes a user who is about to be deleted.
pub(super) fn described(service: &Service, user_id: UserId) -> Result<String> {
    // A service without operators has the calls of applications alone, which show less.
    let who = match service.operate(&ShowUser { user_id }) {
        Ok(found) => {
            let login = found.user.login.map(|login| format!("login name {login}"));
            let texts = [Some(found.user.email), Some(found.user.number), login];
            let known: Vec<_> =
                texts.into_iter().flatten().filter(|text| !text.is_empty()).collect();
            format!("User {user_id} is {}, since {}", known.join(", "), utc(found.user.created))
        }
        Err(_) => {
            let status = status_of(service, user_id)?;
            format!("User {user_id} has the number {}", status.phone_number.unwrap_or_default())
        }
    };
    Ok(format!("{who}. The user, and all that protects the account, will be deleted."))
}

pub(super) fn export(database: &Database, who: &Who) -> Result<()> {
    let service = database.existing()?;
    let (user_id, _) = who.find(&service)?;
    print_json(serde_json::to_string_pretty(&service.operate(&ExportUser { user_id })?))
}

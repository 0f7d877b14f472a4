//! The commands that list users, their devices and their activities.

use super::{Who, device_type, status_of};
use crate::arguments::Database;
use crate::commands::print;
use crate::table::{print_json, table, utc};
use crate::target::Target;
use seconder::calls::Devices;
use seconder::engine::operator::{ActivityEntry, ListActivities, ListUsers, ShowUser, UserEntry};
use seconder::model::UserId;
use seconder::{Handle, Result, Service};

pub(super) fn users(database: &Database, limit: usize, json: bool) -> Result<()> {
    let service = database.existing()?;
    let mut found: Vec<UserEntry> = Vec::new();
    let mut after = None;
    while found.len() < limit {
        let page = service.operate(&ListUsers { after, most: Some(most(limit - found.len())) })?;
        found.extend(page.users);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if json {
        return found.iter().try_for_each(|user| print_json(serde_json::to_string(user)));
    }
    let row = |user: UserEntry| {
        let confirmed = if user.confirmed { "yes" } else { "no" }.to_owned();
        let (id, created) = (user.user_id.to_string(), utc(user.created));
        vec![id, user.email, user.number, confirmed, created, user.login.unwrap_or_default()]
    };
    let rows: Vec<_> = found.into_iter().map(row).collect();
    print(&table(&["ID", "E-MAIL", "NUMBER", "CONFIRMED", "CREATED", "LOGIN"], &rows))
}

/// Returns the number of entries to ask for at once.
fn most(left: usize) -> u32 {
    u32::try_from(left).unwrap_or(u32::MAX).min(1000)
}

pub(super) fn devices(target: &Target, who: &Who, json: bool) -> Result<()> {
    let (service, user_id) = who.of(target)?;
    let mut devices = service.handle(&Devices::new(user_id))?.devices;
    for name in devices.iter_mut().filter_map(|device| device.r#type.as_mut()) {
        *name = device_type(&service, name);
    }
    if json {
        return devices.iter().try_for_each(|device| print_json(serde_json::to_string(device)));
    }
    let created = |at: Option<i64>| at.and_then(|at| u64::try_from(at).ok()).map(utc);
    let row = |device: &seconder::calls::RegisteredDevice| {
        let kind = device.r#type.clone().unwrap_or_default();
        vec![device.id.to_string(), kind, created(device.created_at).unwrap_or_default()]
    };
    let rows: Vec<_> = devices.iter().map(row).collect();
    print(&table(&["ID", "TYPE", "REGISTERED"], &rows))
}

pub(super) fn activities(database: &Database, who: &Who, limit: usize, json: bool) -> Result<()> {
    let service = database.existing()?;
    let (user_id, _) = who.find(&service)?;
    let mut found: Vec<ActivityEntry> = Vec::new();
    let mut after = None;
    while found.len() < limit {
        let most = Some(most(limit - found.len()));
        let page = service.operate(&ListActivities { user_id, after, most })?;
        found.extend(page.activities);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
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

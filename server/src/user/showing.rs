//! The command that shows a user.

use super::{Who, device_type, status_of};
use crate::table::{Json, utc};
use crate::target::Target;
use seconder::Result;
use seconder::calls::{FoundUser, UserStatusReply};
use seconder::engine::operator::{DeviceEntry, ShowUser, UserDetails, WrongCodes};
use serde_json::{Value, json};

/// Prints the status of a user; with what only operators see, if the service is not asked as an application.
pub(super) fn show(target: &Target, who: &Who, json: Json) -> Result<()> {
    let service = target.open()?;
    let (user_id, found) = who.find(&service)?;
    let (status, found) = (status_of(&service, user_id)?, found.as_ref());
    let details = target.is_operated().then(|| service.operate(&ShowUser { user_id }));
    let mut details = details.transpose()?;
    for device in details.iter_mut().flat_map(|details| &mut details.devices) {
        if let Some(name) = device.device.r#type.as_mut() {
            *name = device_type(&service, name);
        }
    }
    let details = details.as_ref();
    json.print(&object(&status, found, details), &shown(&status, found, details))
}

fn object(
    status: &UserStatusReply,
    found: Option<&FoundUser>,
    details: Option<&UserDetails>,
) -> Value {
    let login = details.and_then(|details| details.user.login.as_deref());
    let mut object = json!({
        "user_id": status.user_id,
        "login": login.or(found.map(|found| found.login.as_str())),
        "confirmed": status.confirmed,
        "registered": status.registered,
        "country_code": status.country_code,
        "phone_number": status.phone_number,
        "devices": status.devices,
        "factors": status.factors,
    });
    if let (Some(details), Some(object)) = (details, object.as_object_mut()) {
        object.insert("email".to_owned(), json!(details.user.email));
        object.insert("created".to_owned(), json!(details.user.created));
        object.insert("locked".to_owned(), json!(details.user.locked));
        object.insert("wrong".to_owned(), json!(details.wrong));
        object.insert("number_changed".to_owned(), json!(details.number_changed));
        object.insert("phones".to_owned(), json!(details.devices));
    }
    object
}

fn shown(
    status: &UserStatusReply,
    found: Option<&FoundUser>,
    details: Option<&UserDetails>,
) -> String {
    let mut lines = vec![format!("user_id {}", status.user_id)];
    let login = details.and_then(|details| details.user.login.as_deref());
    lines.extend(
        login.or(found.map(|found| found.login.as_str())).map(|name| format!("login {name}")),
    );
    if let Some(details) = details {
        lines.push(format!("email {}", details.user.email).trim_end().to_owned());
    }
    lines.push(format!("confirmed {}", status.confirmed));
    lines.push(format!("registered {}", status.registered));
    if let (Some(country), Some(number)) = (status.country_code, &status.phone_number) {
        lines.push(format!("phone +{country} {number}"));
    }
    let changed = details.and_then(|details| details.number_changed);
    lines.extend(changed.map(|at| format!("number changed {}", utc(at))));
    lines.push(format!("devices {}", status.devices.join(" ")).trim_end().to_owned());
    lines.extend(details.iter().flat_map(|details| &details.devices).map(device));
    let locked = details.and_then(|details| details.user.locked);
    lines.extend(locked.map(|at| format!("locked since {}", utc(at))));
    lines.extend(details.iter().flat_map(|details| &details.wrong).map(wrong));
    if let Some(found) = found {
        lines.push(format!("authenticator {}", found.authenticator));
        lines.push(format!("recovery_codes_left {}", found.recovery_codes_left));
    }
    lines.join("\n")
}

/// Formats a device. The name is quoted, because a device may have any.
fn device(device: &DeviceEntry) -> String {
    let kind = device.device.r#type.as_deref().unwrap_or("unknown");
    let name = device.name.as_ref().map_or(String::new(), |name| format!(" name={name:?}"));
    let used = device.used.map_or("never".to_owned(), utc);
    format!("device id={} {kind:?}{name} used={used:?}", device.device.id)
}

/// Formats the wrong codes of a factor: `codes: wait until 2023-11-14 05:29 UTC, 9 wrong`.
fn wrong(wrong: &WrongCodes) -> String {
    let wait = match (wrong.locked, wrong.until) {
        (true, _) => "locked, ".to_owned(),
        (false, Some(until)) => format!("wait until {}, ", utc(until)),
        (false, None) => String::new(),
    };
    format!("{}: {wait}{} wrong", wrong.of, wrong.wrong)
}

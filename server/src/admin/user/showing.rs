//! The command that shows a user.

use super::who::{Who, device_type, status_of};
use crate::admin::database::target::Target;
use crate::admin::output::table::{Json, utc};
use seconder::Result;
use seconder::calls::{Factors, FoundUser, UserStatusReply};
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
    let locked = details.and_then(|details| details.user.locked);
    lines.extend(locked.map(|at| format!("locked since {}", utc(at))));
    match &status.factors {
        Some(factors) => lines.extend(factor_lines(factors, details)),
        // A service of another make names devices alone.
        None => lines.push(format!("devices {}", status.devices.join(" ")).trim_end().to_owned()),
    }
    lines.join("\n")
}

/// Formats what protects an account, one factor in each line.
fn factor_lines(factors: &Factors, details: Option<&UserDetails>) -> Vec<String> {
    let mut lines = vec![format!("sms {}", factors.sms)];
    for app in &factors.authenticators {
        let state = if app.confirmed { "confirmed" } else { "pending" };
        // Quoted, because an application may allow any text.
        let label = app.label.as_ref().map_or(String::new(), |label| format!(" label={label:?}"));
        lines.push(format!(
            "authenticator id={} {state}{}{label}",
            app.id,
            created(app.created_at)
        ));
    }
    for device in &factors.devices {
        let kind = device.r#type.as_deref().unwrap_or("unknown");
        let known = details.iter().flat_map(|details| &details.devices);
        let known = known.filter(|entry| entry.device.id == device.id).map(used).next();
        let (at, used) = (created(device.created_at), known.unwrap_or_default());
        lines.push(format!("device id={} {kind:?}{at}{used}", device.id));
    }
    lines.push(format!("recovery_codes {}", factors.recovery_codes));
    match details {
        Some(details) => lines.extend(details.wrong.iter().map(wrong)),
        None => {
            let locked = [
                ("codes", factors.codes_locked),
                ("authenticators", factors.authenticators_locked),
                ("recovery_codes", factors.recovery_codes_locked),
            ];
            let locked = locked.into_iter().filter(|(_, is)| *is);
            lines.extend(locked.map(|(name, _)| format!("{name}: locked")));
        }
    }
    lines
}

fn created(at: Option<i64>) -> String {
    at.map_or(String::new(), |at| format!(" created_at={at}"))
}

/// Formats what operators alone see of a device. The name is quoted, because a device may have any.
fn used(device: &DeviceEntry) -> String {
    let name = device.name.as_ref().map_or(String::new(), |name| format!(" name={name:?}"));
    let used = device.used.map_or("never".to_owned(), utc);
    format!("{name} used={used:?}")
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

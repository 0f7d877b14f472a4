//! Writes a user in the format that [`UserRecord::read`] reads.

use seconder::engine::{AuthenticatorRecord, DeviceRecord, UserRecord};
use seconder::model::UserId;
use seconder::otp::encode_secret;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

/// Returns the fields of a user that are not empty, in order. Without secrets, fields that are of no use without them
/// are left out too.
pub(super) fn fields(user: &UserRecord, with_secrets: bool) -> Map<String, Value> {
    let locked = [
        (user.locked.codes, "codes"),
        (user.locked.authenticators, "authenticators"),
        (user.locked.recovery_codes, "recovery_codes"),
        (user.locked.account, "account"),
    ];
    let locked = locked.iter().filter(|(locked, _)| *locked).map(|(_, name)| Value::from(*name));
    let earlier = user.earlier_emails.iter().map(|email| Value::from(email.as_str()));
    let authenticators = user.authenticators.iter().filter(|_| with_secrets).map(authenticator);
    let devices = user.devices.iter().filter(|_| with_secrets).map(device);
    let values = [
        json!(user.user_id.map(UserId::get)),
        json!(user.email.as_ref().map(|email| email.as_str())),
        earlier.collect(),
        json!(user.phone()),
        json!(user.login.as_ref().map(|login| login.as_str())),
        json!(user.confirmed),
        json!(user.sms_used),
        locked.collect(),
        json!(user.created.map(time)),
        authenticators.collect(),
        devices.collect(),
    ];
    present(UserRecord::FIELDS.into_iter().zip(values))
}

fn authenticator(app: &AuthenticatorRecord) -> Value {
    let fields = [
        ("secret", json!(encode_secret(app.secret()).expose())),
        ("digits", json!(app.digits())),
        ("period", json!(app.period())),
        ("algorithm", json!(app.algorithm.name())),
        ("label", json!(app.label.as_ref().map(|label| label.as_str()))),
        ("pending", if app.pending { json!(true) } else { Value::Null }),
        ("last_step", json!(app.last_step)),
        ("created", json!(app.created.map(time))),
    ];
    Value::Object(present(fields))
}

fn device(device: &DeviceRecord) -> Value {
    let fields = [
        ("id", json!(device.device_id.get())),
        ("type", json!(device.kind.name())),
        ("secret_hash", json!(hex(device.secret_hash()))),
        ("registered", json!(device.registered.map(time))),
    ];
    Value::Object(present(fields))
}

fn present<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Map<String, Value> {
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let fields = fields.into_iter().filter(|(_, value)| !is_empty(value));
    fields.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The characters at which programs divide a file of CSV: a comma in some countries, and a semicolon in others.
const SEPARATORS: [char; 5] = [',', ';', '\t', '\r', '\n'];

/// Returns a value as a column of CSV: anything but plain text is JSON. A formula gets an apostrophe, by which a
/// spreadsheet takes it for text, also after any character that the spreadsheet may take for a separator, even in
/// quotes: users choose their addresses, and others open the file.
pub(super) fn column(value: Option<&Value>) -> String {
    let text = match value {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let cells = text.split_inclusive(SEPARATORS);
    cells.flat_map(|cell| [if is_formula(cell) { "'" } else { "" }, cell]).collect()
}

/// Returns the text of a column, without the apostrophes that [`column`] has added.
pub(super) fn of_column(text: &str) -> String {
    let bare = |cell| str::strip_prefix(cell, '\'').filter(|_| is_formula(cell)).unwrap_or(cell);
    text.split_inclusive(SEPARATORS).map(bare).collect()
}

/// Returns true if a spreadsheet takes a cell for a formula, now or once apostrophes were removed; some take characters
/// of full width for the others. A number with its calling code is only a number, and other programs read it.
fn is_formula(cell: &str) -> bool {
    let bare = cell.trim_start_matches('\'');
    let is_digits = |text: &str| {
        let text = text.trim_end_matches(SEPARATORS);
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
    };
    bare.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'])
        && !bare.strip_prefix('+').is_some_and(is_digits)
}

/// Formats a time of milliseconds since the Unix epoch.
fn time(milliseconds: i64) -> String {
    let seconds = milliseconds.div_euclid(1000);
    let date = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month, day) = date.to_calendar_date();
    let (hour, minute, second) = date.to_hms();
    let month = u8::from(month);
    let fraction = milliseconds.rem_euclid(1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! Reads a user from the fields of a line. All errors are found at once, and no message repeats a value, which may be a
//! secret or the number of a user.

use super::{AuthenticatorRecord, DeviceRecord, LockedFactors, UserRecord};
use crate::engine::Engine;
use crate::engine::devices::DeviceType;
use crate::model::{CountryCode, DeviceId, Email, PhoneNumber, UserId};
use crate::otp::{Algorithm, decode_secret};
use crate::wire::Names;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::str::FromStr;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use zeroize::Zeroizing;

/// The fields of a user, in the order in which they are written.
pub const USER_FIELDS: [&str; 11] = [
    "id",
    "email",
    "earlier_emails",
    "phone",
    "login",
    "confirmed",
    "sms_used",
    "locked",
    "created",
    "authenticators",
    "devices",
];

/// The fields that others may write instead: the number of a country, and the one authenticator app of a user.
pub const OTHER_USER_FIELDS: [&str; 8] =
    ["country_code", "secret", "secret_hex", "digits", "period", "algorithm", "last_step", "label"];

/// An error in a field of a user to import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// The name of the field; empty for the user as a whole.
    pub field: String,
    /// The error, and the accepted values.
    pub problem: String,
}

impl Problem {
    /// Returns a problem of this field.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Problem {
        Problem { field: field.into(), problem: problem.into() }
    }

    /// Returns a problem of this field, which the error describes.
    fn of(error: &Error, field: &str) -> Problem {
        match error {
            Error::InvalidArgument { reason, .. } => Problem::new(field, reason.to_string()),
            other => Problem::new(field, other.to_string()),
        }
    }
}

impl Engine {
    /// Reads a user from the fields of `seconder import`, and checks their values against each other. The first user
    /// decides for `with_ids` whether all have ids: otherwise a user without one could get the id that a later one has.
    ///
    /// # Errors
    /// Everything that is wrong with the fields.
    pub fn read_record(
        &self,
        fields: Map<String, Value>,
        with_ids: &mut Option<bool>,
    ) -> Result<UserRecord, Vec<Problem>> {
        let mut problems = Vec::new();
        let user = read(&mut Fields::new(fields, String::new(), &mut problems), self.names());
        let user = user.filter(|_| problems.is_empty()).ok_or(problems)?;
        if *with_ids.get_or_insert(user.user_id.is_some()) != user.user_id.is_some() {
            return Err(vec![Problem::new("id", "must be in all lines or in none")]);
        }
        match self.check_record(&user) {
            Ok(()) => Ok(user),
            Err(Error::InvalidArgument { parameter, reason }) => {
                Err(vec![Problem::new(parameter, reason)])
            }
            Err(error) => Err(vec![Problem::of(&error, "")]),
        }
    }
}

/// Reads a user; `None` if what identifies the user is missing or wrong.
fn read(fields: &mut Fields<'_>, names: &Names) -> Option<UserRecord> {
    // An id that is empty in one line of many is a mistake, after which the user would get another one.
    if fields.left.contains_key("id") && !fields.has("id") {
        fields.problem("id", "is missing here: leave the field out for users who get new ids");
    }
    let id = fields.parsed::<UserId>("id");
    let email = fields.parsed::<Email>("email");
    let phone = phone(fields);
    let earlier = fields.list("earlier_emails", str::parse::<Email>);
    let login = fields.parsed("login");
    let (confirmed, sms_used) = (fields.flag("confirmed"), fields.flag("sms_used"));
    let locked = fields.locked();
    let created = fields.time("created");
    let mut authenticators = fields.objects("authenticators", authenticator);
    if let Some(one) = only_authenticator(fields) {
        match authenticators.is_empty() {
            true => authenticators.push(one),
            false => fields
                .problem("secret", "must not be there beside authenticators: give one of both"),
        }
    }
    let devices = fields.objects("devices", |fields| device(fields, names));
    fields.end(&[&USER_FIELDS[..], &OTHER_USER_FIELDS].concat());
    let made = match phone? {
        Some((country, number)) => UserRecord::new(id, country, &number, email),
        None => Ok(UserRecord::without_phone(id, email)),
    };
    match made {
        Ok(mut user) => {
            (user.earlier_emails, user.login) = (earlier, login);
            (user.confirmed, user.sms_used, user.locked) = (confirmed, sms_used, locked);
            (user.created, user.authenticators, user.devices) = (created, authenticators, devices);
            Some(user)
        }
        Err(error) => {
            fields.problems.push(Problem::of(&error, "phone"));
            None
        }
    }
}

/// Reads a number with its calling code, or one of a country. `Some(None)` for a user without a number; `None` if the
/// number is wrong.
fn phone(fields: &mut Fields<'_>) -> Option<Option<(Option<CountryCode>, PhoneNumber)>> {
    if !fields.has("phone") {
        drop(fields.left.remove("phone"));
        // A table of people may have the calling code of their country all the same.
        drop(fields.left.remove("country_code"));
        return Some(None);
    }
    let country = fields.parsed::<CountryCode>("country_code");
    let text = fields.text("phone")?;
    let (country, number) = match (text.strip_prefix('+'), country) {
        (Some(number), None) => (None, number),
        (Some(_), Some(_)) => {
            fields.problem("country_code", "must not be there beside a phone that begins with +");
            return None;
        }
        (None, Some(country)) => (Some(country), &*text),
        (None, None) => {
            let reason = "must be a number in E.164, such as +15550100123, or have a country_code";
            fields.problem("phone", reason);
            return None;
        }
    };
    match number.parse() {
        Ok(number) => Some(Some((country, number))),
        Err(error) => {
            fields.problems.push(Problem::of(&error, "phone"));
            None
        }
    }
}

/// Reads the app whose fields are fields of the line itself.
fn only_authenticator(fields: &mut Fields<'_>) -> Option<AuthenticatorRecord> {
    let others = ["digits", "period", "algorithm", "last_step", "label"];
    if fields.has("secret") || fields.has("secret_hex") {
        return app(fields);
    }
    // An empty column of a user who has no app.
    drop(fields.left.remove("secret_hex"));
    for other in others {
        if fields.take(other).is_some() {
            fields.problem(other, "must not be there without secret, which is missing");
        }
    }
    None
}

fn authenticator(fields: &mut Fields<'_>) -> Option<AuthenticatorRecord> {
    let (pending, created) = (fields.flag("pending"), fields.time("created"));
    let app = app(fields);
    let known = [&OTHER_USER_FIELDS[1..], &["pending", "created"]].concat();
    fields.end(&known);
    let mut app = app?;
    if pending && app.last_step.is_some() {
        fields.problem("last_step", "must not be there for an app that is pending");
    }
    (app.pending, app.created) = (pending, created);
    Some(app)
}

fn app(fields: &mut Fields<'_>) -> Option<AuthenticatorRecord> {
    let secret = secret(fields);
    let (digits, period) = (fields.number("digits"), fields.number("period"));
    let (last_step, label) = (fields.number("last_step"), fields.parsed("label"));
    let algorithm = fields.word("algorithm");
    if algorithm.is_some_and(|name| name.parse().ok() != Some(Algorithm::Sha1)) {
        fields.problem("algorithm", "must be SHA1: the user has to enrol the app again otherwise");
    }
    let secret = secret?;
    let (digits, period) = (digits.unwrap_or(6), period.unwrap_or(30));
    match AuthenticatorRecord::new(secret, u8::try_from(digits).unwrap_or(u8::MAX), period) {
        Ok(mut app) => {
            (app.last_step, app.label) = (last_step, label);
            Some(app)
        }
        Err(Error::InvalidArgument { parameter, reason }) => {
            fields.problem(&parameter, &reason);
            None
        }
        Err(other) => {
            fields.problem("secret", &other.to_string());
            None
        }
    }
}

/// Reads a secret in Base32, or in the hexadecimal digits in which some libraries store it.
fn secret(fields: &mut Fields<'_>) -> Option<Zeroizing<Vec<u8>>> {
    if !fields.has("secret_hex") {
        let text = Zeroizing::new(fields.text("secret")?);
        let secret = decode_secret(&text);
        if secret.is_none() {
            fields.problem("secret", "must be Base32: letters A to Z and digits 2 to 7");
        }
        return secret;
    }
    if fields.has("secret") {
        fields.problem("secret", "must not be there beside secret_hex: give one of both");
        return None;
    }
    let text = Zeroizing::new(fields.text("secret_hex")?);
    let secret = bytes_of_hex(&text);
    if secret.is_none() {
        fields.problem("secret_hex", "must be hexadecimal digits, two for each byte");
    }
    secret
}

fn device(fields: &mut Fields<'_>, names: &Names) -> Option<DeviceRecord> {
    let (id, kind) = (fields.required::<DeviceId>("id"), device_type(fields, names));
    let registered = fields.time("registered");
    let hash = match (fields.word("secret"), fields.word("secret_hash")) {
        (Some(secret), None) => Some(DeviceRecord::hash_of(&secret)),
        (None, Some(hash)) => {
            let hash = bytes_of_hex(&hash).and_then(|bytes| bytes.as_slice().try_into().ok());
            if hash.is_none() {
                fields
                    .problem("secret_hash", "must be the 64 hexadecimal digits of a SHA-256 hash");
            }
            hash
        }
        (None, None) => {
            let reason = "is missing: without it a device cannot respond to approval requests, and keeps \
                          codes from being sent. Leave the device out, and register it again";
            fields.problem("secret", reason);
            None
        }
        _ => {
            fields.problem("secret", "must not be there beside secret_hash: give one of both");
            None
        }
    };
    fields.end(&["id", "type", "secret", "secret_hash", "registered"]);
    let mut device = DeviceRecord::new(id?, kind?, hash?);
    device.registered = registered;
    Some(device)
}

/// Reads a type by its name in the interface, or the one that the application has for it.
fn device_type(fields: &mut Fields<'_>, names: &Names) -> Option<DeviceType> {
    let name = fields.text("type")?;
    match DeviceType::named(&name, names) {
        Ok(kind) => Some(kind),
        Err(error) => {
            let field = format!("{}type", fields.place);
            fields.problems.push(Problem::of(&error, &field));
            None
        }
    }
}

/// Parses bytes in hexadecimal digits.
fn bytes_of_hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok());
    pairs.collect::<Option<Vec<u8>>>().map(Zeroizing::new)
}

/// The fields that are left of a line, or of an object in it.
struct Fields<'a> {
    left: Map<String, Value>,
    /// The prefix of the names of these fields.
    place: String,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Fields<'a> {
    fn new(left: Map<String, Value>, place: String, problems: &'a mut Vec<Problem>) -> Fields<'a> {
        Fields { left, place, problems }
    }

    fn problem(&mut self, name: &str, reason: &str) {
        self.problems.push(Problem::new(format!("{}{name}", self.place), reason));
    }

    fn has(&self, name: &str) -> bool {
        let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
        self.left.get(name).is_some_and(|value| !is_empty(value))
    }

    /// Takes a value. An empty column of CSV counts as absent.
    fn take(&mut self, name: &str) -> Option<Value> {
        let has = self.has(name);
        self.left.remove(name).filter(|_| has)
    }

    /// Reports the fields that are left: a name that was mistyped must not be overlooked.
    fn end(&mut self, known: &[&str]) {
        let left: Vec<String> = self.left.keys().cloned().collect();
        let unknown = left.iter().filter(|name| !known.contains(&name.as_str()));
        for name in unknown {
            self.problem(name, &format!("is unknown: the fields are {}", known.join(", ")));
        }
    }

    /// Reads a text or a number, as text; `None` if it is absent.
    fn word(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            _ => {
                self.problem(name, "must be text");
                None
            }
        }
    }

    fn text(&mut self, name: &str) -> Option<String> {
        if !self.has(name) {
            self.problem(name, "is missing");
        }
        self.word(name)
    }

    fn parsed<T: FromStr<Err = Error>>(&mut self, name: &str) -> Option<T> {
        let text = self.word(name)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                let field = format!("{}{name}", self.place);
                self.problems.push(Problem::of(&error, &field));
                None
            }
        }
    }

    fn required<T: FromStr<Err = Error>>(&mut self, name: &str) -> Option<T> {
        if !self.has(name) {
            self.problem(name, "is missing");
        }
        self.parsed(name)
    }

    fn number(&mut self, name: &str) -> Option<u64> {
        let text = self.word(name)?;
        let number = text.parse().ok();
        if number.is_none() {
            self.problem(name, "must be a whole number");
        }
        number
    }

    /// Reads a flag in the forms of JSON, and of databases and spreadsheets.
    fn flag(&mut self, name: &str) -> bool {
        let text = match self.take(name) {
            None => return false,
            Some(Value::Bool(flag)) => return flag,
            Some(Value::String(text)) => text.to_ascii_lowercase(),
            Some(other) => other.to_string(),
        };
        match &*text {
            "true" | "t" | "yes" | "y" | "1" => true,
            "false" | "f" | "no" | "n" | "0" => false,
            _ => {
                self.problem(name, "must be true or false");
                false
            }
        }
    }

    /// Reads a time in milliseconds.
    fn time(&mut self, name: &str) -> Option<i64> {
        let text = self.word(name)?;
        if let Ok(seconds) = text.parse::<i64>() {
            return Some(seconds.saturating_mul(1000));
        }
        let parsed = OffsetDateTime::parse(&text.replacen(' ', "T", 1), &Rfc3339).ok();
        let time =
            parsed.and_then(|time| i64::try_from(time.unix_timestamp_nanos() / 1_000_000).ok());
        if time.is_none() {
            self.problem(name, "must be a time such as 2024-05-01T12:30:00Z, or Unix seconds");
        }
        time
    }

    /// Reads a list, also as text in a column of CSV: as JSON, or with spaces in between.
    fn values(&mut self, name: &str) -> Vec<Value> {
        match self.take(name) {
            None => Vec::new(),
            Some(Value::Array(values)) => values,
            Some(Value::String(text)) if text.trim_start().starts_with('[') => {
                serde_json::from_str(&text).unwrap_or_else(|_| {
                    self.problem(name, "must be a list in JSON");
                    Vec::new()
                })
            }
            Some(Value::String(text)) => text.split_whitespace().map(Value::from).collect(),
            Some(_) => {
                self.problem(name, "must be a list");
                Vec::new()
            }
        }
    }

    fn list<T>(&mut self, name: &str, read: impl Fn(&str) -> Result<T>) -> Vec<T> {
        let mut all = Vec::new();
        for (place, value) in self.values(name).into_iter().enumerate() {
            let field = format!("{}{name}[{place}]", self.place);
            match value.as_str().map(&read) {
                Some(Ok(value)) => all.push(value),
                Some(Err(error)) => self.problems.push(Problem::of(&error, &field)),
                None => self.problems.push(Problem::new(field, "must be text")),
            }
        }
        all
    }

    fn locked(&mut self) -> LockedFactors {
        let mut locked = LockedFactors::default();
        let reason = "must be codes, authenticators or recovery_codes";
        let names = ["codes", "authenticators", "recovery_codes"];
        let known = self.list("locked", |name| {
            let place = names.iter().position(|known| *known == name);
            place.ok_or_else(|| Error::invalid_argument("locked", reason))
        });
        for place in known {
            *[&mut locked.codes, &mut locked.authenticators, &mut locked.recovery_codes][place] =
                true;
        }
        locked
    }

    /// Reads a list of objects, each with this function.
    fn objects<T>(&mut self, name: &str, read: impl Fn(&mut Fields<'_>) -> Option<T>) -> Vec<T> {
        let mut all = Vec::new();
        for (at, value) in self.values(name).into_iter().enumerate() {
            let place = format!("{}{name}[{at}]", self.place);
            match value {
                Value::Object(fields) => {
                    all.extend(read(&mut Fields::new(fields, format!("{place}."), self.problems)));
                }
                _ => self.problems.push(Problem::new(place, "must be an object")),
            }
        }
        all
    }
}

//! Reads a user from the fields of a line. All errors are found at once, and no message repeats a value, which may be a
//! secret or the number of a user.

use super::reader::Fields;
use super::source::app::HOTP;
use super::source::uris;
use crate::engine::core::Engine;
use crate::engine::model::devices::DeviceType;
use crate::engine::model::records::Problem;
use crate::engine::model::records::{AuthenticatorRecord, DeviceRecord, UserRecord};
use crate::model::{CountryCode, DeviceId, Email, PhoneNumber, UserId};
use crate::otp::{Algorithm, Totp, decode_secret};
use crate::wire::Names;
use crate::{Error, Result};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// The fields that have a secret.
const SECRETS: [&str; 3] = ["secret", "secret_hex", "otpauth"];

impl UserRecord {
    /// The fields of a user, in the order in which they are written.
    pub const FIELDS: [&str; 11] = [
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
    pub const OTHER_FIELDS: [&str; 9] = [
        "country_code",
        "secret",
        "secret_hex",
        "otpauth",
        "digits",
        "period",
        "algorithm",
        "last_step",
        "label",
    ];

    /// Reads a user from the fields of `seconder import`. Devices may have the types that `names` gives them. The first
    /// user decides for `with_ids` whether all have ids: otherwise a user without one could get the id that a later one
    /// has.
    ///
    /// # Errors
    /// Everything that is wrong with the fields.
    pub fn read(
        fields: Map<String, Value>,
        names: &Names,
        with_ids: &mut Option<bool>,
    ) -> Result<UserRecord, Vec<Problem>> {
        let mut problems = Vec::new();
        let user = read(&mut Fields::new(fields, String::new(), &mut problems), names);
        let user = user.filter(|_| problems.is_empty()).ok_or(problems)?;
        match *with_ids.get_or_insert(user.user_id.is_some()) == user.user_id.is_some() {
            true => Ok(user),
            false => Err(vec![Problem::new("id", "must be in all lines or in none")]),
        }
    }
}

impl Engine {
    /// Reads a user as [`UserRecord::read`] does, and checks the values against each other.
    ///
    /// # Errors
    /// Everything that is wrong with the fields.
    pub fn read_record(
        &self,
        fields: Map<String, Value>,
        with_ids: &mut Option<bool>,
    ) -> Result<UserRecord, Vec<Problem>> {
        let user = UserRecord::read(fields, self.names(), with_ids)?;
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
    fields.end(&[&UserRecord::FIELDS[..], &UserRecord::OTHER_FIELDS].concat());
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
            fields.add(Problem::of(&error, "phone"));
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
            fields.add(Problem::of(&error, "phone"));
            None
        }
    }
}

/// Reads the app whose fields are fields of the line itself.
fn only_authenticator(fields: &mut Fields<'_>) -> Option<AuthenticatorRecord> {
    let others = ["digits", "period", "algorithm", "last_step", "label"];
    if SECRETS.iter().any(|name| fields.has(name)) {
        return app(fields);
    }
    // Empty columns of a user who has no app.
    SECRETS.iter().for_each(|name| drop(fields.left.remove(*name)));
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
    let known = [&UserRecord::OTHER_FIELDS[1..], &["pending", "created"]].concat();
    fields.end(&known);
    let mut app = app?;
    if pending && app.last_step.is_some() {
        fields.problem("last_step", "must not be there for an app that is pending");
    }
    (app.pending, app.created) = (pending, created);
    Some(app)
}

/// Reads an app from an `otpauth:` URI, which has all but the last step.
fn of_uri(fields: &mut Fields<'_>) -> Option<AuthenticatorRecord> {
    let uri = Zeroizing::new(fields.text("otpauth")?);
    for other in ["secret", "secret_hex", "digits", "period", "algorithm"] {
        if fields.take(other).is_some() {
            fields.problem(other, "must not be there beside otpauth, which has it");
        }
    }
    let (last_step, label) = (fields.number("last_step"), fields.parsed("label"));
    match Totp::from_uri(&uri) {
        Ok(totp) => {
            let secret = totp.secret().to_vec().into();
            let mut app = AuthenticatorRecord::new(secret, totp.digits(), totp.period()).ok()?;
            let account = || uris::account(&uri).parse().ok();
            (app.algorithm, app.last_step) = (totp.algorithm(), last_step);
            app.label = label.or_else(account);
            Some(app)
        }
        Err(error) => {
            let field = format!("{}otpauth", fields.place);
            fields.add(match uris::is_hotp(&uri) {
                true => Problem::new(field, HOTP),
                false => Problem::of(&error, &field),
            });
            None
        }
    }
}

fn app(fields: &mut Fields<'_>) -> Option<AuthenticatorRecord> {
    if fields.has("otpauth") {
        return of_uri(fields);
    }
    drop(fields.left.remove("otpauth"));
    let secret = secret(fields);
    let (digits, period) = (fields.number("digits"), fields.number("period"));
    let (last_step, label) = (fields.number("last_step"), fields.parsed("label"));
    let algorithm = fields.parsed::<Algorithm>("algorithm");
    let secret = secret?;
    let (digits, period) = (digits.unwrap_or(6), period.unwrap_or(30));
    match AuthenticatorRecord::new(secret, u8::try_from(digits).unwrap_or(u8::MAX), period) {
        Ok(mut app) => {
            (app.last_step, app.label) = (last_step, label);
            app.algorithm = algorithm.unwrap_or_default();
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
            fields.add(Problem::of(&error, &field));
            None
        }
    }
}

/// Parses bytes in hexadecimal digits.
pub(super) fn bytes_of_hex(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok());
    pairs.collect::<Option<Vec<u8>>>().map(Zeroizing::new)
}

//! Lenient parsing of request parameters. The typed clients of this library reject many forms that
//! the engine accepts, because it also serves programs written for services that accept them.

use super::phones::{OTHER_COUNTRY, Phone};
use super::rejections;
use crate::calls::USER_ID_ON_THE_WIRE;
use crate::model::{CountryCode, Email, PhoneNumber, Token, UserId};
use crate::wire::{loose, scalar};
use crate::{Error, Result};
use rlibphonenumber::{PHONE_NUMBER_UTIL, Region};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The longest number that is read, in bytes. 15 digits with a separator after each are shorter.
const LONGEST: usize = 32;
/// The field of a user that says that there is no number. Without it, a missing number is a mistake.
const WITHOUT_PHONE: &str = "without_phone";
/// The fields with a user's number.
const NUMBER: [&str; 2] = ["cellphone", "country_code"];
const NO_NUMBER: &str = "must be a valid phone number: 4 to 15 digits";

/// Rewrites `phone_number` and `country_code` in the forms that the calls' types accept. If one is
/// missing, reading the call reports that.
///
/// # Errors
/// [`Error::InvalidArgument`] with the parameter.
pub(in crate::engine) fn rewrite_phone(params: &mut Map<String, Value>) -> Result<()> {
    let text = |name: &str| params.get(name).and_then(scalar);
    let (Some(number), Some(country)) = (text("phone_number"), text("country_code")) else {
        return Ok(());
    };
    let country = read_country(&country).map_err(|r| Error::invalid_argument("country_code", r))?;
    let phone =
        read_number(country, &number).map_err(|r| Error::invalid_argument("phone_number", r))?;
    params.insert("phone_number".into(), phone.national.into());
    params.insert("country_code".into(), phone.country_code.into());
    Ok(())
}

/// Rewrites the number and the country of a new user, which a user without a phone lacks, and reports
/// every field that is invalid, in the words of interface 4.1.
///
/// # Errors
/// [`Error::Rejected`] with the reason for each field.
pub(in crate::engine) fn rewrite_user(params: &mut Map<String, Value>) -> Result<()> {
    let mut problems = BTreeMap::new();
    // The clients in PHP and Ruby have it among the fields of the user.
    let install_link = "send_install_link_via_sms";
    let inside = params.get_mut("user").and_then(Value::as_object_mut);
    if let Some(wanted) = inside.and_then(|user| user.remove(install_link)) {
        params.entry(install_link).or_insert(wanted);
    }
    for name in [install_link, "new_only"] {
        if let Err(reason) = read_flag(params.get(name).cloned()) {
            problems.insert(name.to_owned(), reason);
        }
    }
    let user = params.entry("user").or_insert(Value::Null);
    if user.is_null() {
        *user = Map::new().into();
    }
    // Reading the call reports a user that is not an object.
    let Value::Object(user) = user else { return Ok(()) };
    let without_phone = take_without_phone(user, &mut problems);
    let mut given = |name: &str| match user.get(name).and_then(scalar) {
        Some(text) if !text.is_empty() => Some(text),
        _ if without_phone && name != "email" => None,
        _ => {
            problems.insert(name.to_owned(), "is required".to_owned());
            None
        }
    };
    let (email, number, country) = (given("email"), given("cellphone"), given("country_code"));
    if email.is_some_and(|email| email.parse::<Email>().is_err()) {
        problems.insert("email".into(), "is invalid".into());
    }
    let country = country.map(|country| read_country(&country));
    if let Some(Err(reason)) = &country {
        problems.insert("country_code".into(), (*reason).into());
    }
    let phone = number.map(|number| match country {
        Some(Ok(country)) => read_number(country, &number).map(Some),
        // Without a country, only the syntax can be checked.
        _ => digits(&number).and_then(|(_, digits)| plain_number(&digits)).map(|_| None),
    });
    match phone {
        None | Some(Ok(None)) => {}
        Some(Err(_)) => {
            problems.insert("cellphone".into(), "must be a valid cellphone number.".into());
        }
        Some(Ok(Some(phone))) => {
            user.insert("cellphone".into(), phone.national.into());
            user.insert("country_code".into(), phone.country_code.into());
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(rejections::user_not_valid(problems)),
    }
}

/// Reports a new user whose number is missing, unless the request says that there is none. A relay checks this: what it
/// passes on is made from the call, which has no such flag.
///
/// # Errors
/// [`Error::Rejected`] with the reason for each field.
pub(crate) fn check_number_is_meant(params: &mut Map<String, Value>) -> Result<()> {
    // Reading the call reports a user that is not there, or not an object.
    let Some(Value::Object(user)) = params.get_mut("user") else { return Ok(()) };
    let mut problems = BTreeMap::new();
    if !take_without_phone(user, &mut problems) {
        for name in NUMBER {
            if !user.get(name).is_some_and(is_given) {
                problems.insert(name.to_owned(), "is required".to_owned());
            }
        }
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(rejections::user_not_valid(problems)),
    }
}

/// Returns whether the fields of a user say that there is no number, and removes what says so.
fn take_without_phone(
    user: &mut Map<String, Value>,
    problems: &mut BTreeMap<String, String>,
) -> bool {
    let given = user.remove(WITHOUT_PHONE).filter(is_given);
    let without_phone = read_flag(given).unwrap_or_else(|reason| {
        problems.insert(WITHOUT_PHONE.to_owned(), reason);
        None
    });
    if without_phone != Some(true) {
        return false;
    }
    for name in NUMBER {
        if user.remove(name).is_some_and(|value| is_given(&value)) {
            let reason = "must not be true with a phone number";
            problems.insert(WITHOUT_PHONE.to_owned(), reason.to_owned());
        }
    }
    true
}

fn is_given(value: &Value) -> bool {
    !value.is_null() && value.as_str() != Some("")
}

/// Reads a flag in the spellings that calls accept; `None` if it is not given.
fn read_flag(given: Option<Value>) -> Result<Option<bool>, String> {
    #[derive(Deserialize)]
    struct Given {
        flag: Option<bool>,
    }
    let fields = given.map(|value| ("flag".to_owned(), value)).into_iter().collect();
    let read = loose::read::<Given>(fields);
    read.map(|given| given.flag).map_err(|_| "must be true or false".to_owned())
}

/// Reads a calling code, such as `1` or `+1`, or the two letters of a country, such as `US`.
fn read_country(text: &str) -> Result<CountryCode, &'static str> {
    let text = text.trim();
    let of_region = |text: &str| {
        let region: Region = text.to_ascii_uppercase().parse().ok()?;
        u64::try_from(PHONE_NUMBER_UTIL.get_country_code_for_region(region)?).ok()
    };
    let code = match text.len() {
        2 if text.bytes().all(|byte| byte.is_ascii_alphabetic()) => of_region(text),
        _ => text
            .strip_prefix('+')
            .unwrap_or(text)
            .parse::<CountryCode>()
            .ok()
            .map(|c| c.get().into()),
    };
    let code = code.and_then(|code| CountryCode::try_from(code).ok());
    code.ok_or("must be a calling code, such as 1, or a country, such as US")
}

/// Reads a number as people write it: `(317) 338-9302`, `+1 317 338 9302`, `011 1 317 338 9302`,
/// `0171/234567`.
fn read_number(country: CountryCode, text: &str) -> Result<Phone, &'static str> {
    let (international, digits) = digits(text)?;
    let phone = match (international, digits.strip_prefix(&country.to_string())) {
        (true, Some(_)) => Phone::parse_international(&digits)?,
        (true, None) => return Err(OTHER_COUNTRY),
        (false, _) => Phone::parse_dialled(country, &digits)?,
    };
    // Numbers of other lengths exist, but no call takes them.
    plain_number(&phone.national).map(|_| phone)
}

fn plain_number(digits: &str) -> Result<PhoneNumber, &'static str> {
    digits.parse().map_err(|_| NO_NUMBER)
}

/// Reads the digits of a number, and whether it begins with its calling code.
fn digits(text: &str) -> Result<(bool, String), &'static str> {
    let text = text.trim();
    let plain = |byte: u8| byte.is_ascii_digit() || b" -./()".contains(&byte);
    let (international, rest) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
    match text.len() <= LONGEST && rest.bytes().all(plain) {
        true => Ok((international, digits)),
        false => Err(NO_NUMBER),
    }
}

/// The parameters of a verification other than its token.
#[derive(Deserialize)]
struct Verified {
    #[serde(rename = "svc_id")]
    user_id: UserId,
    #[serde(default)]
    force: bool,
}

/// Reads the parameters of a verification whose token has an impossible form: the user, and whether
/// the check is forced. `None` for a token that must be checked.
///
/// # Errors
/// [`Error::InvalidArgument`] if another parameter is invalid.
pub(in crate::engine) fn without_token(
    params: &Map<String, Value>,
) -> Result<Option<(UserId, bool)>> {
    // Always text, as it is part of the path.
    let token = params.get("token").and_then(Value::as_str).unwrap_or_default();
    if token.parse::<Token>().is_ok() {
        return Ok(None);
    }
    let others = [USER_ID_ON_THE_WIRE, "force"].into_iter();
    let others = others.filter_map(|name| Some((name.to_owned(), params.get(name)?.clone())));
    let Verified { user_id, force } = loose::read(others.collect())?;
    Ok(Some((user_id, force)))
}

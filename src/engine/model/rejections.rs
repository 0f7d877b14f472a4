//! The engine's rejections, with the messages and codes that services of the interface use.

pub(in crate::engine) use crate::calls::{
    approval_not_found, authenticator_not_found, device_not_found, login_not_found,
    no_pending_authenticator, user_not_found, verification_code_wrong,
};

use super::clock::Now;
use crate::engine::model::factors::Barred;
use crate::engine::model::lines::LineType;
use crate::error::Rejection;
use crate::{Error, Result, codes};
use std::collections::BTreeMap;
use std::time::Duration;

const WRONG_CODES: &str = "wrong_codes";

pub(in crate::engine) fn sms_not_enabled(has_calls: bool) -> Error {
    let message = match has_calls {
        true => "SMS is not enabled for this application. Voice calls are.",
        false => "SMS is not enabled for this application.",
    };
    reject(503, codes::SMS_NOT_ENABLED, message)
}

pub(in crate::engine) fn phone_information_failed(reason: &str) -> Error {
    reject(400, codes::PHONE_UNKNOWN, &format!("The phone number {reason}."))
}

pub(in crate::engine) fn no_pending_verification() -> Error {
    reject(
        404,
        codes::VERIFICATION_NOT_FOUND,
        "No pending verification for this phone number was found.",
    )
}

pub(in crate::engine) fn landline() -> Error {
    reject(403, codes::LANDLINE, "The number is a landline's, which receives no SMS. Use via=call.")
}

/// A number of a type that the application does not accept.
pub(in crate::engine) fn line_not_accepted(kind: LineType) -> Error {
    let message = format!("The phone number is {}.", not_accepted(kind));
    reject(400, codes::INVALID_PHONE_NUMBER, &message)
}

/// The same, for the number of a user who is to be enrolled.
pub(in crate::engine) fn cellphone_not_accepted(kind: LineType) -> Error {
    user_not_valid([("cellphone".to_owned(), format!("is {}", not_accepted(kind)))].into())
}

fn not_accepted(kind: LineType) -> String {
    let what = match kind {
        LineType::Mobile => "a mobile phone's",
        LineType::Landline => "a landline's",
        LineType::Voip => "a VoIP number",
        LineType::Disposable => "a disposable number",
    };
    format!("{what}, which the application does not accept")
}

pub(in crate::engine) fn country_not_allowed() -> Error {
    let message = "The application sends no messages to the country of the number.";
    reject(403, codes::COUNTRY_NOT_ALLOWED, message)
}

/// A number to which the provider of the last route delivers nothing. The caller has to correct it, and no operator
/// can.
pub(in crate::engine) fn number_refused() -> Error {
    let message = "The provider refuses the phone number: it does not exist, or cannot be reached. Ask the user \
                   for another number.";
    reject(400, codes::NUMBER_REFUSED, message)
}

pub(in crate::engine) fn approval_not_pending() -> Error {
    reject(400, codes::APPROVAL_NOT_PENDING, "The approval request is no longer pending.")
}

/// A response with a wrong number; whether it can be typed once more.
pub(in crate::engine) fn wrong_number(again: bool) -> Error {
    let message = match again {
        true => "The number is wrong. It can be typed once more.",
        false => "The number was wrong twice, so the approval request was denied.",
    };
    reject(400, codes::INVALID_PARAMETER, message)
}

/// Nothing that leads to the service can be made.
pub(in crate::engine) fn no_public_url() -> Error {
    let message = "The service has no public URL, at which devices reach it: set one, as \
                   `seconder serve --public-url https://login.example` does.";
    reject(503, codes::NO_PUBLIC_URL, message)
}

pub(in crate::engine) fn login_taken() -> Error {
    let message = "The login name belongs to another user. Remove it from that user first.";
    reject(409, codes::INVALID_REQUEST, message)
}

pub(in crate::engine) fn has_login(login: &str) -> Error {
    reject(
        409,
        codes::INVALID_REQUEST,
        &format!("The user has the login name {login}: remove it first."),
    )
}

pub(in crate::engine) fn only_name() -> Error {
    let message = "The user has neither a phone number nor an e-mail address, so nothing else identifies \
                   them: delete the user instead.";
    reject(409, codes::INVALID_REQUEST, message)
}

pub(in crate::engine) fn number_changed() -> Error {
    Error::rejected(
        409,
        None,
        "The user's phone number was changed just now: request the code again.",
    )
}

pub(in crate::engine) fn no_phone() -> Error {
    let message = "The user has no phone number, so no code can be sent: check a code of an authenticator \
                   app, or a recovery code.";
    reject(400, codes::INVALID_PHONE_NUMBER, message)
}

pub(in crate::engine) fn is_protected() -> Error {
    let message = "The account is protected already, by SMS, a device, an authenticator app or \
                   recovery codes. Only an administrator can enrol an authenticator app for it.";
    reject(403, codes::INVALID_REQUEST, message)
}

pub(in crate::engine) fn not_for_own_account() -> Error {
    reject(
        403,
        codes::INVALID_REQUEST,
        "Only an administrator can change what protects an account.",
    )
}

pub(in crate::engine) fn no_own_recovery_codes() -> Error {
    let message = "Users can create recovery codes for themselves only while they have none left, \
                   and soon after a code of their authenticator app. An administrator can always.";
    reject(403, codes::INVALID_REQUEST, message)
}

pub(in crate::engine) fn offline_not_allowed() -> Error {
    reject(403, codes::OFFLINE_NOT_ALLOWED, "Logins without the service are not allowed.")
}

pub(in crate::engine) fn no_code_accepted() -> Error {
    let message = "The code is not that of the user's authenticator app that was accepted just \
                   now, or has prepared logins already.";
    reject(403, codes::NO_CODE_ACCEPTED, message)
}

pub(in crate::engine) fn offline_not_prepared() -> Error {
    let message = "No machine was given the codes of these logins, or their time has not come.";
    reject(403, codes::OFFLINE_NOT_PREPARED, message)
}

/// Returns the rejection after too many wrong codes.
pub(in crate::engine) fn barred<T>(barred: Barred, now: Now) -> Result<T> {
    match barred {
        Barred::Until(next) => {
            wait("Too many wrong codes", Some(WRONG_CODES), next.after(now.steady))
        }
        Barred::Address(next) => {
            let message = "Too many wrong codes were sent from this address";
            wait(message, Some("address_wrong_hour"), next.after(now.steady))
        }
        Barred::Account => Err(Error::RateLimited {
            message: "The account is locked until an operator unlocks the user".into(),
            retry_after: None,
            code: Some(codes::FACTOR_LOCKED.to_owned()),
            limit: None,
        }),
        Barred::Locked => Err(Error::RateLimited {
            message: "Too many wrong codes: locked until an administrator unlocks the user".into(),
            retry_after: None,
            code: Some(codes::FACTOR_LOCKED.to_owned()),
            limit: Some(WRONG_CODES.to_owned()),
        }),
    }
}

/// The caller must wait because of a limit, and can then retry the same call.
pub(in crate::engine) fn wait<T>(
    message: &str,
    limit: Option<&str>,
    retry_after: Option<Duration>,
) -> Result<T> {
    let (code, limit) = (Some(codes::TOO_MANY_REQUESTS.to_owned()), limit.map(str::to_owned));
    Err(Error::RateLimited { message: message.into(), retry_after, code, limit })
}

fn reject(status: u16, code: &str, message: &str) -> Error {
    Error::rejected(status, Some(code), message)
}

/// Returns the rejection of fields of a user (interface 4.1); there may be several.
pub(in crate::engine) fn user_not_valid(fields: BTreeMap<String, String>) -> Error {
    reject_user(400, fields)
}

/// The user is at the service to which calls are forwarded.
pub(in crate::engine) fn user_returned() -> Error {
    let message = "The user is at the service to which calls are forwarded, so the number cannot be changed here.";
    reject(404, codes::USER_NOT_FOUND, message)
}

/// Returns the rejection of a known user, for a call that wants a new one, by the field that identifies
/// the user. It does not say who that is. The status distinguishes it from the rejection of an invalid
/// value.
pub(in crate::engine) fn user_taken(field: &str) -> Error {
    let reason = "belongs to a user who is enrolled already";
    reject_user(409, [(field.to_owned(), reason.to_owned())].into())
}

fn reject_user(status: u16, mut fields: BTreeMap<String, String>) -> Error {
    let message = "User was not valid".to_owned();
    fields.insert("message".to_owned(), message.clone());
    let code = Some(codes::INVALID_USER.to_owned());
    Error::Rejected(Box::new(Rejection { status, code, message, fields }))
}

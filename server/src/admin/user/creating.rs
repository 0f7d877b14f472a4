//! Creating a user from the values of options.

use crate::invalid;
use seconder::calls::{CreateUser, FindUser, FoundUser};
use seconder::model::{LoginName, PhoneNumber, UserId};
use seconder::{Error, Handle, Result, Service};

/// Returns the user with a login name; `None` if no user has it.
pub(crate) fn find(service: &Service, login: &LoginName) -> Result<Option<FoundUser>> {
    FindUser::found(service.find_user(login))
}

/// Creates a user with a phone number and its calling code, or without a number. A login name of
/// another user is reported before anything is created. A number that a user has already is an error,
/// because that user's codes would let in the person who gets the login name; so is the e-mail address
/// of a user without a number. `use_known` states that this user is meant.
pub(crate) fn create(
    service: &Service,
    email: &str,
    number: Option<(&str, &str)>,
    login: Option<&LoginName>,
    use_known: bool,
) -> Result<UserId> {
    let owner = match login {
        Some(login) => find(service, login)?.map(|found| found.user_id),
        None => None,
    };
    if let (Some(login), Some(owner)) = (login, owner) {
        let reason = format!("is {login}, which user {owner} has: remove it first");
        return Err(invalid("login", reason));
    }
    let email = email.parse()?;
    let call = match number {
        Some((cellphone, country_code)) => {
            let cellphone = cellphone.parse::<PhoneNumber>().map_err(|error| match error {
                Error::InvalidArgument { reason, .. } => invalid("cellphone", reason.into_owned()),
                other => other,
            })?;
            CreateUser::new(email, cellphone, country_code.parse()?)
        }
        None => CreateUser::without_phone(email),
    };
    let call = CreateUser { new_only: !use_known, ..call };
    let user_id = service.handle(&call).map_err(of_unwanted_user)?.user_id;
    if let Some(login) = login {
        let is_by_number = number.is_some();
        service
            .set_login(user_id, login)
            .map_err(|error| of_known_user(error, user_id, is_by_number))?;
    }
    Ok(user_id)
}

/// Returns the error for a number or an address that a user has already, where a new user is wanted.
fn of_unwanted_user(error: Error) -> Error {
    match error {
        Error::Rejected(rejection) if rejection.status == 409 => {
            let reason = "belongs to a user who is enrolled already: --use-known says that this \
                          user is meant";
            let is_email = rejection.fields.contains_key("email");
            invalid(if is_email { "email" } else { "cellphone" }, reason.to_owned())
        }
        other => other,
    }
}

/// Returns the error for a number or an address whose user has another login name.
fn of_known_user(error: Error, user_id: UserId, is_by_number: bool) -> Error {
    match error {
        Error::Rejected(rejection) if rejection.status == 409 => {
            let what = if is_by_number { "phone number" } else { "e-mail address" };
            let reason = format!("cannot be given to user {user_id}, who has that {what} already");
            invalid("login", format!("{reason}: {}", rejection.message))
        }
        other => other,
    }
}

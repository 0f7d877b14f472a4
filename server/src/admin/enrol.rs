//! Enrolling an authenticator app at a terminal.

use crate::admin::database::target::LocalTarget;
use crate::admin::input::{COMMON, prompt};
use crate::admin::output::qr::Screen;
use crate::admin::output::{print_needed as print, qr};
use crate::admin::user;
use crate::invalid;
use clap::Args;
use nix::unistd::{Uid, User, getuid};
use seconder::calls::FoundUser;
use seconder::model::{LoginName, Secret, Token, UserId};
use seconder::otp::Totp;
use seconder::wire::form;
use seconder::{Error, Result, Service, Verdict};
use serde_json::{Value, json};

/// The number of codes that may be typed.
const TRIES: u32 = 3;
/// The error of an enrolment that ends without a right code. The service keeps the new key until
/// the next enrolment, and a code of it would still enrol the app.
const NOT_ENROLLED: &str = "no app was enrolled by this, and one that was enrolled before stays \
                            valid. The key that was shown is valid until the next enrolment: run \
                            this command again if somebody else may have seen it";

#[derive(Args)]
pub(crate) struct Enrol {
    #[command(flatten)]
    target: LocalTarget,
    /// Login name of the user; over a socket, only root can give another user's. By default that of
    /// the user who runs the command.
    #[arg(long, value_name = "NAME")]
    login: Option<LoginName>,
    /// Id of the user, in place of the login name; over a socket, only for root.
    #[arg(long, value_name = "ID", conflicts_with_all = ["login", "email", "cellphone", "use_known"])]
    user: Option<UserId>,
    /// E-mail address of a user whom the service does not know yet; without it, the command asks.
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// Phone number of such a user, without the calling code. A user without one is sent no codes:
    /// leave it empty when the command asks, and for programs leave both options out.
    #[arg(long, value_name = "NUMBER", requires = "country_code")]
    cellphone: Option<String>,
    /// Calling code of the number, such as 1 or 44.
    #[arg(long, value_name = "CODE")]
    country_code: Option<String>,
    /// If a user has that phone number already, enrol the app for that user, and give them the login
    /// name; the same without a number, by the e-mail address. Without this, such a number or address is
    /// an error. Make sure that it is the person whom you mean.
    #[arg(long)]
    use_known: bool,
    /// Exchange dark and light in the QR code, for a reader that does not find it.
    #[arg(long)]
    invert: bool,
    /// For programs, which need no terminal: print an object with the key, read codes from standard
    /// input, one in each line, print an object for each wrong one, and at last one that says that
    /// the app is `enrolled`, with the `recovery_codes`, or with null and the `reason` if there are
    /// none.
    #[arg(long, help_heading = COMMON)]
    json: bool,
}

pub(crate) fn run(options: &Enrol) -> Result<()> {
    if !prompt::is_possible() && !options.json {
        let reason = "is not a terminal, where a user could see the key and type a code: programs \
                      use --json";
        return Err(invalid("standard input or output", reason.to_owned()));
    }
    // A user who can write the database, or has the API key, can change every account anyway.
    let for_any = getuid().is_root() || !options.target.is_socket();
    if let Some(user_id) = options.user {
        if !for_any {
            return Err(invalid("user", "is for root alone, or with --database".to_owned()));
        }
        let service = options.target.open_to_call()?;
        enrol(options, &service, &Account::of_id(&service, user_id)?)?;
        return recovery_codes(options, &service, user_id);
    }
    let login = login_name(options.login.as_ref(), getuid(), for_any)?;
    let service = options.target.open_to_call()?;
    let known = user::find(&service, &login)?;
    let found = match known {
        Some(found) => found,
        None if for_any => new_user(options, &service, &login)?,
        None => {
            let reason = format!(
                "{login} is unknown to the service: ask the administrator to create the user, by \
                 `seconder user create` with `--login {login}`"
            );
            return Err(invalid("login", reason));
        }
    };
    // A person who finds the terminal unlocked must not add to the factors of the account, nor replace them.
    if is_protected(&found) && !for_any {
        let by = if found.authenticator { "an authenticator app" } else { "a second factor" };
        let reason =
            format!("{login} has {by} already, which only the administrator can replace or add to");
        return Err(invalid("login", reason));
    }
    let user_id = found.user_id;
    enrol(options, &service, &Account::of(&found))?;
    recovery_codes(options, &service, user_id)
}

/// The account that an app is enrolled for.
struct Account {
    user_id: UserId,
    login: Option<LoginName>,
    /// Whether it has an app already.
    authenticator: bool,
}

impl Account {
    fn of(found: &FoundUser) -> Account {
        let login = Some(found.login.clone());
        Account { user_id: found.user_id, login, authenticator: found.authenticator }
    }

    fn of_id(service: &Service, user_id: UserId) -> Result<Account> {
        let factors = service.user_status(user_id)?.factors.unwrap_or_default();
        let authenticator = factors.authenticators.iter().any(|app| app.confirmed);
        Ok(Account { user_id, login: None, authenticator })
    }
}

/// Returns whether anything protects the account of a user.
fn is_protected(user: &FoundUser) -> bool {
    user.confirmed || user.authenticator || !user.devices.is_empty() || user.recovery_codes_left > 0
}

/// Returns the name that was given, or the name of the user who runs the command.
fn login_name(given: Option<&LoginName>, uid: Uid, for_any: bool) -> Result<LoginName> {
    let own = User::from_uid(uid).ok().flatten().map(|user| user.name);
    match given {
        Some(login) if for_any || own.as_deref() == Some(login.as_str()) => Ok(login.clone()),
        Some(_) => {
            let reason = "can be another user's for root alone, or with --database";
            Err(invalid("login", reason.to_owned()))
        }
        None => {
            let own = own.ok_or_else(|| invalid("login", format!("is missing for user {uid}")))?;
            own.parse()
        }
    }
}

/// Enrols a user whom the service does not know, from the options or by asking.
fn new_user(options: &Enrol, service: &Service, login: &LoginName) -> Result<FoundUser> {
    if !options.json {
        print(&format!("The service does not know {login} yet."))?;
    }
    let email = given_or_asked(options, &options.email, "email", "E-mail address: ")?;
    let number = number(options)?;
    let plain =
        number.as_ref().map(|(number, code)| (number.as_str(), code.trim_start_matches('+')));
    let user_id = user::create(service, &email, plain, Some(login), options.use_known)?;
    let found = service.find_user(login)?;
    if is_protected(&found) && !options.json {
        let what = if number.is_some() { "phone number" } else { "e-mail address" };
        print(&format!(
            "The {what} is that of user {user_id}, who has a second factor already: an app that \
             is enrolled now is added, or takes the place of the one before."
        ))?;
    }
    Ok(found)
}

/// Returns the number of a new user with its calling code; `None` for a user without one.
fn number(options: &Enrol) -> Result<Option<(String, String)>> {
    if options.json && options.country_code.is_none() {
        return Ok(None);
    }
    let country_code = given_or_asked(
        options,
        &options.country_code,
        "country-code",
        "Calling code of the phone number, such as 44; empty for none: ",
    )?;
    if country_code.is_empty() {
        // An option that is empty, such as a variable that is not set, must not make a user without a number.
        return match options.country_code.is_some() || options.cellphone.is_some() {
            true => {
                Err(invalid("country-code", "must not be empty with a phone number".to_owned()))
            }
            false => Ok(None),
        };
    }
    let cellphone = given_or_asked(
        options,
        &options.cellphone,
        "cellphone",
        "Phone number without the calling code: ",
    )?;
    Ok(Some((cellphone, country_code)))
}

fn given_or_asked(
    options: &Enrol,
    given: &Option<String>,
    name: &'static str,
    prompt: &str,
) -> Result<String> {
    match given {
        Some(given) => Ok(given.clone()),
        None if options.json => Err(invalid(name, "is missing for a new user".to_owned())),
        None => match ask(prompt)? {
            Some(typed) => Ok(typed.expose().trim().to_owned()),
            None => Err(ended("nobody was enrolled")),
        },
    }
}

/// Shows a new key until a code of it was accepted. Until then, an earlier app stays valid.
fn enrol(options: &Enrol, service: &Service, user: &Account) -> Result<()> {
    let uri = service.enrol_authenticator(user.user_id)?.uri;
    let app = Totp::from_uri(uri.expose())?;
    if options.json {
        let (user_id, login) = (user.user_id.get(), user.login.as_ref().map(LoginName::as_str));
        object(json!({ "user_id": user_id, "login": login, "uri": uri.expose() }))?;
    } else if user.authenticator {
        print("The user's present app stays valid until a code of the new key was accepted.")?;
    }
    for _ in 0..TRIES {
        let typed = match options.json {
            true => line()?,
            false => {
                show(options, &uri)?;
                ask(&format!("Code of {} digits that the app shows now: ", app.digits()))?
            }
        };
        let typed = typed.ok_or_else(|| ended(NOT_ENROLLED))?;
        let wrong = match check(service, user.user_id, typed.expose().trim())? {
            None => return Ok(()),
            Some(wrong) => wrong,
        };
        match options.json {
            true => object(json!({ "wrong": wrong }))?,
            false => print(&format!("\n{wrong}\n"))?,
        }
    }
    Err(invalid("code", format!("was wrong {TRIES} times: {NOT_ENROLLED}")))
}

/// Checks a code that was typed. Returns the error, unless it is right.
fn check(service: &Service, user_id: UserId, typed: &str) -> Result<Option<&'static str>> {
    let Ok(code) = typed.parse::<Token>() else {
        return Ok(Some("A code has digits only."));
    };
    Ok(match service.confirm_authenticator(user_id, &code)? {
        Verdict::Right => None,
        Verdict::Wrong | Verdict::NotChecked => {
            Some("That is not a code of this key. Is the clock of the phone right?")
        }
    })
}

fn recovery_codes(options: &Enrol, service: &Service, user_id: UserId) -> Result<()> {
    let created = match service.create_recovery_codes(user_id) {
        Ok(created) => created,
        // A user who has some keeps them, and a relay does not create any for users.
        Err(Error::Rejected(rejection)) if rejection.status == 403 && options.json => {
            let reason = &rejection.message;
            return object(json!({ "enrolled": true, "recovery_codes": null, "reason": reason }));
        }
        Err(Error::Rejected(rejection)) if rejection.status == 403 => {
            let message = format!(
                "\nThe app is enrolled. No recovery codes were created, and those that you may have \
                 stay valid: {}",
                rejection.message
            );
            return print(&message);
        }
        Err(error) => return Err(error),
    };
    if options.json {
        let codes: Vec<&str> = created.codes.iter().map(Token::as_str).collect();
        return object(json!({ "enrolled": true, "recovery_codes": codes }));
    }
    print(&format!(
        "\nThe app is enrolled. These are your recovery codes, for the day when the phone is lost: \
         each lets you in once,\ntyped without the spaces. They are shown only now.\n\n{}\n",
        user::lines(&created)
    ))?;
    ask("Press Enter when you have stored them. ").map(drop)
}

/// Shows the key as a QR code, if the screen can, and as text.
fn show(options: &Enrol, uri: &Secret) -> Result<()> {
    let (_, query) = uri.expose().split_once('?').unwrap_or_default();
    let parameters = form::read(query)?;
    let value = |name: &str, default: &str| match parameters.get(name).and_then(Value::as_str) {
        Some(value) => value.to_owned(),
        None => default.to_owned(),
    };
    let mut text = String::new();
    match qr::draw(uri.expose(), Screen::of_output(), options.invert) {
        Some(code) => {
            text += "\nScan this with an authenticator app:\n\n";
            text += &code;
            text += "\nor type the key into it:\n";
        }
        None => {
            text += "\nThis terminal is too narrow for a QR code, or does not have UTF-8. Type the key \
                     into an authenticator app:\n";
        }
    }
    text += &format!("\n  key        {}\n", user::groups(&value("secret", ""), 4));
    text += &format!("  issuer     {}\n", value("issuer", ""));
    text += &format!(
        "  type       time-based, {}, {} digits, {} seconds\n",
        value("algorithm", "SHA1"),
        value("digits", "6"),
        value("period", "30")
    );
    print(&text)
}

/// Asks for a line at the terminal; `None` at its end.
fn ask(prompt: &str) -> Result<Option<Secret>> {
    Ok(prompt::ask(prompt)?.map(Secret::new))
}

/// Returns the error for an input that has ended too early.
fn ended(so: &str) -> Error {
    invalid("standard input", format!("has ended: {so}"))
}

/// Reads a line; `None` at the end of the input.
fn line() -> Result<Option<Secret>> {
    Ok(prompt::line()?.map(Secret::new))
}

/// Prints an object on a line of its own.
fn object(value: Value) -> Result<()> {
    print(&value.to_string())
}

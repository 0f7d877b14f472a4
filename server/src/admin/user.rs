//! The commands for users: enrolment, login names, the factors of their accounts, and remembered
//! browsers.

mod creating;
mod devices;
mod lists;
mod number;
mod showing;
mod who;

pub(crate) use creating::{create, find};

use crate::admin::database::Database;
use crate::admin::database::target::Target;
use crate::admin::input::COMMON;
use crate::admin::input::prompt::Sure;
use crate::admin::output::table::Json;
use clap::Subcommand;
use seconder::Result;
use seconder::calls::RecoveryCodes;
use seconder::engine::operator::{LockUser, UnlockUser};
use seconder::model::{CountryCode, LoginName, PhoneNumber, UserId};
use serde_json::json;
use who::Who;

#[derive(Subcommand)]
pub(crate) enum User {
    /// Create a user, and print the id.
    ///
    /// A phone number that a user has already is an error, unless that user is meant: see `--use-known`. Without
    /// a number, so is an e-mail address that a user without a number has.
    Create {
        #[command(flatten)]
        target: Target,
        /// E-mail address of the user.
        #[arg(long, value_name = "ADDRESS")]
        email: String,
        /// Phone number of the user, without the calling code. A user without one is sent no codes,
        /// and has an authenticator app or a phone with the approver.
        #[arg(long, value_name = "NUMBER", requires = "country_code")]
        cellphone: Option<String>,
        /// Calling code of the number, such as 1 or 44.
        #[arg(long, value_name = "CODE", requires = "cellphone")]
        country_code: Option<String>,
        /// Login name to give to the user: see `seconder user set-login`.
        #[arg(long, value_name = "NAME")]
        login: Option<LoginName>,
        /// If a user has the phone number already, print that user's id, and give the e-mail address
        /// and the login name to that user; the same without a number, by the e-mail address. Make sure that it is the person whom you mean.
        #[arg(long)]
        use_known: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Give a user a login name on machines.
    ///
    /// A name of another user, and another name of this one, must be removed first. A name is 1 to 64 letters,
    /// digits and the characters _ . @ + - of ASCII, beginning with a letter, a digit or _; a $ may be at the
    /// end.
    SetLogin {
        #[command(flatten)]
        target: Target,
        /// Id of the user.
        #[arg(long, value_name = "ID")]
        user: UserId,
        /// Login name of the user.
        #[arg(long, value_name = "NAME")]
        login: LoginName,
        #[command(flatten)]
        json: Json,
    },
    /// Take a login name from the user who has it.
    ///
    /// Logins by that name are denied from then on.
    RemoveLogin {
        #[command(flatten)]
        target: Target,
        /// Login name to remove.
        #[arg(long, value_name = "NAME")]
        login: LoginName,
        #[command(flatten)]
        json: Json,
    },
    /// Print what is known of a user, and what protects the account.
    ///
    /// Each line is a value: whether codes can be sent by SMS, each authenticator app and each device with its id,
    /// how many recovery codes are left, and which codes are locked or have to wait after wrong ones. An app is
    /// pending until a code of it was accepted. Numbers without a date are Unix seconds.
    Show {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        who: Who,
        #[command(flatten)]
        json: Json,
    },
    /// Print the users of the application, those who were added last first.
    List {
        #[command(flatten)]
        database: Database,
        /// The most users to print.
        #[arg(long, value_name = "COUNT", default_value = "100")]
        limit: usize,
        /// Print only the users whom an operator has locked.
        #[arg(long)]
        locked: bool,
        /// Print each user as a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Print the users with this e-mail address, number, login name or id.
    ///
    /// An e-mail address or a login name has to begin with the text, and a number to end with it; an id is the
    /// whole of it. A + before the digits is for a whole number. The case of letters does not matter.
    Find {
        #[command(flatten)]
        database: Database,
        /// E-mail address, digits, login name or id.
        #[arg(value_name = "TEXT")]
        text: String,
        /// The most users to print.
        #[arg(long, value_name = "COUNT", default_value = "100")]
        limit: usize,
        /// Print each user as a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Print the activities of a user, the latest first.
    ///
    /// They are what an application has reported of the user, and what the service has noted.
    Activities {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        who: Who,
        /// The most activities to print.
        #[arg(long, value_name = "COUNT", default_value = "100")]
        limit: usize,
        /// Print each activity as a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Print all data of a user as a JSON object.
    ///
    /// It has the whole number, and no secrets. Decisions are in the audit: see `seconder audit`.
    Export {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        who: Who,
    },
    /// Delete a user, and all that protects the account.
    ///
    /// The audit keeps what was decided.
    Delete {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        who: Who,
        #[command(flatten)]
        sure: Sure,
        #[command(flatten)]
        json: Json,
    },
    /// Remove an authenticator app or a device of a user.
    ///
    /// The codes of an app are wrong from then on, except on machines that have prepared logins without the
    /// service, and the remembered browsers of the user are forgotten. A user without an app and a device gets
    /// codes by SMS again. A device can no longer respond to approval requests, which stay open for the user's
    /// other devices.
    RemoveFactor {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        who: Who,
        #[command(flatten)]
        which: devices::Which,
        #[command(flatten)]
        json: Json,
    },
    /// Invite a user to register a phone, and print the link.
    ///
    /// At a terminal it prints a QR code of the link, and in any case the code in it, which can be typed too. The
    /// invitation is valid for ten minutes, and can be used once. `seconder serve` has to have been started with
    /// --public-url.
    InviteDevice {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        who: Who,
        /// Exchange dark and light in the QR code, for a reader that does not find it.
        #[arg(long)]
        invert: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Register a device of a program, and print its id and its secret.
    ///
    /// The secret authenticates the device, for which `seconder approval respond` responds, and is shown only once.
    RegisterDevice {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        who: Who,
        /// Type of the device: android, android_tablet, ios or svc_chrome, which has another name where --names
        /// says so.
        #[arg(long = "type", value_name = "TYPE")]
        kind: String,
        #[command(flatten)]
        json: Json,
    },
    /// Create recovery codes for a user, and print them.
    ///
    /// They take the place of any that the user has. Each lets the user in once. They are shown only once.
    RecoveryCodes {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        who: Who,
        #[command(flatten)]
        json: Json,
    },
    /// Lock a user until `seconder user unlock`.
    ///
    /// Nothing is accepted of a locked user, and nothing is sent. Open approval requests expire.
    Lock {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        who: Who,
        #[command(flatten)]
        json: Json,
    },
    /// Let a user log in again after a lock or too many wrong codes.
    ///
    /// It lifts the lock of `seconder user lock`. After 100 wrong codes in a row, no code of that factor is
    /// looked at until then: see `seconder user show`. With --url, the lock of `seconder user lock` stays,
    /// because an application may not take it away.
    Unlock {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        who: Who,
        /// Also accept codes of the user's authenticator apps again after the clock was ahead: those of a
        /// minute from now on. Set the clock right first. See `seconder doctor`.
        #[arg(long, conflicts_with = "service")]
        clock: bool,
        /// With --clock, do so although the clock is behind the newest decision: it is right now, and was
        /// ahead before. While a clock is behind, codes that were used would be accepted again.
        #[arg(long, requires = "clock")]
        clock_is_right: bool,
        #[command(flatten)]
        json: Json,
    },
    /// Change the phone number of a user.
    ///
    /// The user keeps the id, the apps and the devices. Codes on the way to the former number are wrong from then
    /// on, and the user's devices are notified.
    SetNumber {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        who: Who,
        /// New phone number, without the calling code.
        #[arg(long, value_name = "NUMBER")]
        number: PhoneNumber,
        /// Calling code of the number, such as 1 or 44.
        #[arg(long, value_name = "CODE")]
        country_code: CountryCode,
        #[command(flatten)]
        proof: number::Proof,
        #[command(flatten)]
        json: Json,
    },
    /// Forget the remembered browsers of a user.
    ///
    /// Each login needs the second factor again.
    ForgetBrowsers {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        who: Who,
        #[command(flatten)]
        json: Json,
    },
}

pub(crate) fn run(command: User) -> Result<()> {
    match command {
        User::Create { target, email, cellphone, country_code, login, use_known, json } => {
            let service = target.open_to_call()?;
            let number = cellphone.as_deref().zip(country_code.as_deref());
            let user_id = create(&service, &email, number, login.as_ref(), use_known)?;
            json.print(&json!({ "user_id": user_id.get() }), &format!("user_id {user_id}"))
        }
        User::SetLogin { target, user, login, json } => {
            target.open()?.set_login(user, &login)?;
            let object = json!({ "user_id": user.get(), "login": login.as_str() });
            json.print(&object, &format!("user {user} has the login name {login}"))
        }
        User::RemoveLogin { target, login, json } => {
            target.open()?.remove_login(&login)?;
            let object = json!({ "login": login.as_str() });
            json.print(&object, &format!("the login name {login} is removed"))
        }
        User::Show { target, who, json } => showing::show(&target, &who, json),
        User::List { database, limit, locked, json } => {
            lists::users(&database, limit, locked, json)
        }
        User::Find { database, text, limit, json } => lists::find(&database, &text, limit, json),
        User::Activities { database, who, limit, json } => {
            lists::activities(&database, &who, limit, json)
        }
        User::Export { database, who } => lists::export(&database, &who),
        User::Delete { target, who, sure, json } => delete(&target, &who, sure, json),
        User::RemoveFactor { target, who, which, json } => {
            let (service, user_id) = who.of(&target)?;
            which.remove(&service, user_id, json)
        }
        User::InviteDevice { target, who, invert, json } => {
            let (service, user_id) = who.of(&target)?;
            devices::invite(&service, user_id, invert, json)
        }
        User::RegisterDevice { database, who, kind, json } => {
            devices::register(&database, &who, &kind, json)
        }
        User::RecoveryCodes { target, who, json } => {
            let (service, user_id) = who.of(&target)?;
            let codes = service.create_recovery_codes(user_id)?;
            json.print(&codes, &lines(&codes))
        }
        User::Lock { database, who, json } => lock(&database, &who, json),
        User::Unlock { target, who, clock, clock_is_right, json } => {
            let (service, user_id) = who.of(&target)?;
            if target.is_operated() {
                service.operate(&UnlockUser { user_id, clock, clock_is_right })?;
            } else {
                let _ = service.unlock_user(user_id)?;
            }
            json.print(&json!({ "user_id": user_id.get() }), &format!("user {user_id} is unlocked"))
        }
        User::SetNumber { target, who, number, country_code, proof, json } => {
            number::set(&target, &who, (number, country_code), proof, json)
        }
        User::ForgetBrowsers { target, who, json } => {
            let (service, user_id) = who.of(&target)?;
            service.forget(user_id, None)?;
            let text = format!("the remembered browsers of user {user_id} are forgotten");
            json.print(&json!({ "user_id": user_id.get() }), &text)
        }
    }
}

fn lock(database: &Database, who: &Who, json: Json) -> Result<()> {
    let service = database.existing()?;
    let (user_id, _) = who.find(&service)?;
    service.operate(&LockUser { user_id })?;
    json.print(&json!({ "user_id": user_id.get() }), &format!("user {user_id} is locked"))
}

/// Formats recovery codes in groups, which are easier to copy from paper; they are typed without the spaces.
pub(crate) fn lines(codes: &RecoveryCodes) -> String {
    let grouped = |code: &str| groups(code, 4);
    codes.codes.iter().map(|code| grouped(code.as_str())).collect::<Vec<_>>().join("\n")
}

/// Splits a text of ASCII into groups of this length.
pub(crate) fn groups(text: &str, length: usize) -> String {
    let mut out = String::new();
    for (at, character) in text.chars().enumerate() {
        if at > 0 && at % length == 0 {
            out.push(' ');
        }
        out.push(character);
    }
    out
}

/// Deletes a user, once the operator is sure.
fn delete(target: &Target, who: &Who, sure: Sure, json: Json) -> Result<()> {
    let (service, user_id) = who.of(target)?;
    sure.ask(|| lists::described(&service, user_id))?;
    service.delete_user(user_id)?;
    json.print(&json!({ "user_id": user_id.get() }), &format!("user {user_id} is deleted"))
}

//! The settings of an application, each declared once.
//!
//! `app_settings!` passes the list to another macro, which makes one thing of all of them: the structs that hold
//! them and what is stored (`engine/app_settings.rs`), the setters of `Settings` (`service/engine_settings.rs`),
//! and what generates the options of C and C++ and the parameters of Python. The program, the C interface, Python,
//! and the check that a setting is for the URL go by the table [`APP_SETTINGS`]. The columns stay in
//! `engine/store/tables.rs`: their order is part of the database's version.

/// A setting of an application.
#[derive(Debug)]
#[non_exhaustive]
pub struct AppSetting {
    /// Its name as a setting: of `Settings`, in C and Python, in a configuration file, in the audit.
    pub name: &'static str,
    /// Its description: its first sentence, and the rest.
    pub doc: &'static [&'static str],
    /// The kind of values that it takes.
    pub kind: SettingKind,
    /// The name of the type of its value in Rust: for a choice, also the name of the enum in Python.
    pub type_name: &'static str,
    /// A word for its value in help texts, such as `URL`.
    pub value: &'static str,
    /// Its title where a server logs the settings in effect. Empty for one that shares the line of others.
    pub label: &'static str,
}

/// The values that a setting takes.
#[derive(Debug)]
#[non_exhaustive]
pub enum SettingKind {
    /// A text. An empty one removes what is stored.
    Text,
    /// 1 to 64 bytes of text, without these characters.
    Name(&'static [char]),
    /// The path of a file. An empty one removes what is stored.
    File,
    /// Yes or no.
    YesNo,
    /// A whole number from the first to the second one.
    Number(u64, u64),
    /// One of these names. The constants of C have their places, counted from 1.
    Choice(&'static [&'static str]),
    /// Limits to change, as `name=value`, separated by spaces or commas.
    Limits,
    /// Texts of messages, as JSON. An empty text removes what is stored.
    Texts,
    /// A time in seconds, which may have a fraction.
    Time,
    /// Texts without spaces, separated by spaces.
    List,
    /// The word of [`Names::new`](crate::wire::Names::new).
    Names,
    /// A function, which no text stands for.
    Function,
}

/// Passes the settings to the macro that is named.
///
/// The first line of a description is a sentence of its own, which the fields of structs have. A setting has one
/// type where it is given (as in `app set`), one where it is kept, and one where it is shown (`app show`).
macro_rules! app_settings {
    ($then:ident) => {
        $then! {
            /// The name in messages and authenticator apps.
            /// It has 1 to 64 bytes without colons and line feeds. Default: the name stored in the database;
            /// `Seconder` in a new one.
            application_name as name {
                given: String, kept: String, shown: String, default: "Seconder".to_owned(),
                kind: Name(&[':', '\n', '\t']), value: "NAME", label: "application",
            }
            /// The URL to which callbacks with the responses to approval requests are posted (interface 6).
            /// It is an https: URL, or an http: URL of this machine. An empty text removes the stored one. Default:
            /// the URL stored in the database; none in a new one.
            callback_url as callback_url {
                given: String, kept: Option<CallbackUrl>, shown: Option<String>, default: None,
                kind: Text, value: "URL", label: "callback URL",
            }
            /// The method of callbacks: post, with a JSON body, or get, with the parameters as the query of the URL.
            /// Default: the method stored in the database; post in a new one.
            callback_method as callback_method {
                given: CallbackMethod, kept: CallbackMethod, shown: CallbackMethod, default: CallbackMethod::Post,
                kind: Choice(&["post", "get"]), value: "METHOD", label: "callback method",
            }
            /// Allows callbacks to addresses that are not of the public Internet: yes or no.
            /// These are addresses of private networks, and of this machine by a name other than localhost.
            /// Otherwise no callback is sent to such an address, whatever the name in the URL resolves to. A URL with
            /// localhost or a loopback address leads to this machine in any case, and nowhere else. A function of
            /// the program that posts callbacks decides itself. Default: what is stored in the database; no in a
            /// new one.
            callback_private as callback_private {
                given: bool, kept: bool, shown: bool, default: false,
                kind: YesNo, value: "YES", label: "callbacks to private addresses",
            }
            /// The PEM file with the authorities to trust when callbacks are posted, instead of the system's.
            /// It may also be the application's own certificate. Every process that uses the database reads the
            /// file when it posts a callback. A function of the program that posts callbacks decides itself whom
            /// to trust. An empty path removes the stored one. Default: the file stored in the database; none in
            /// a new one.
            callback_ca_file as callback_ca_file {
                given: PathBuf, kept: Option<PathBuf>, shown: Option<String>, default: None,
                kind: File, value: "FILE", label: "callback CA file",
            }
            /// The generation of the bodies that a server replies with: current, or older for clients of 2012.
            /// It does not depend on the generation of the requests (interface 9): older clients read `success` as
            /// text. Default: the one stored in the database; the current one in a new one.
            replies as replies {
                given: Generation, kept: Generation, shown: Generation, default: Generation::Current,
                kind: Choice(&["current", "older"]), value: "GENERATION", label: "replies",
            }
            /// The link to the app that a new user receives by SMS (interface 4.1).
            /// It is an https: URL of at most 2048 characters. An empty text removes the stored one. Default: the
            /// link stored in the database. A new one has none, and then no message is sent.
            install_link as install_link {
                given: String, kept: Option<InstallLink>, shown: Option<String>, default: None,
                kind: Text, value: "URL", label: "install link",
            }
            /// The number of days, 1 to 7, for which login machines may check the codes of authenticator apps offline.
            /// They do so while they cannot reach the service; 0 forbids it. Default: the number stored in the
            /// database; 0 in a new one.
            offline_days as offline_days {
                given: u8, kept: u8, shown: u8, default: 0,
                kind: Number(0, calls::MOST_OFFLINE_DAYS), value: "DAYS", label: "offline days",
            }
            /// The limits to change, as NAME=VALUE, such as number_day=10 or countries=1+44.
            /// They are separated by spaces or commas. Default: those stored in the database, also for names that are
            /// not given.
            limits as limits {
                given: String, kept: Limits, shown: String, default: Limits::default(),
                kind: Limits, value: "NAME=VALUE", label: "limits",
            }
            /// The application's own texts of messages, by language and kind, as JSON.
            /// They replace those that are stored, and an empty text removes them. Default: those stored in the
            /// database; where there is none, the text that is built in.
            texts as texts {
                given: String, kept: Texts, shown: Option<String>, default: Texts::default(),
                kind: Texts, value: "FILE", label: "texts",
            }
            /// The domain of the page on which users enter codes, such as example.com.
            /// Each SMS with a code then ends with a line such as `@example.com #123456`, by which browsers offer
            /// the code on pages of this domain, and on no others. An empty text removes the stored one. Default:
            /// the domain stored in the database; none in a new one.
            otp_domain as otp_domain {
                given: String, kept: Option<OtpDomain>, shown: Option<String>, default: None,
                kind: Text, value: "DOMAIN", label: "domain for codes in browsers",
            }
            /// The product that was booked, for the details of the application: 1 to 64 bytes.
            /// Default: the text stored in the database; `embedded` in a new one.
            plan as plan {
                given: String, kept: String, shown: String, default: "embedded".to_owned(),
                kind: Name(&['\n', '\t']), value: "TEXT", label: "plan",
            }
            /// Makes the details of the application say that it has an app of its own: yes or no.
            /// Default: what is stored in the database; no in a new one.
            white_label as white_label {
                given: bool, kept: bool, shown: bool, default: false,
                kind: YesNo, value: "YES", label: "white label",
            }
            /// Allows SMS: yes or no.
            /// Without them, codes can be spoken in calls. Default: what is stored in the database; yes in a new
            /// one.
            sms_enabled as sms_enabled {
                given: bool, kept: bool, shown: bool, default: true,
                kind: YesNo, value: "YES", label: "SMS",
            }
            /// Sends codes by SMS and calls also to users who have an app, unless a call sets `force`: yes or no.
            /// See interface 4.2. Default: what is stored in the database; no in a new one.
            force_codes as force_codes {
                given: bool, kept: bool, shown: bool, default: false,
                kind: YesNo, value: "YES", label: "codes to users who have an app",
            }
            /// The picture that approval requests show which have none of their own (interface 4.12).
            /// It is an https: URL of at most 2048 characters. An empty text removes the stored one. Default: the
            /// URL stored in the database; none in a new one.
            logo as logo {
                given: String, kept: Option<LogoUrl>, shown: Option<String>, default: None,
                kind: Text, value: "URL", label: "logo of approval requests",
            }
            /// The number of seconds for which approval requests remain open that do not set it, 10 to 86400.
            /// See `seconds_to_expire` in interface 4.12. Default: the number stored in the database; 86400 in a new one.
            approval_seconds as approval_seconds {
                given: u64, kept: u64, shown: u64, default: limits::APPROVAL_LIFE,
                kind: Number(10, 86_400), value: "SECONDS", label: "seconds of approval requests",
            }
            /// The number of digits of codes by SMS and voice, 6 to 10.
            /// Default: the number stored in the database; 7 in a new one.
            token_length as token_length {
                given: u8, kept: u8, shown: u8, default: limits::TOKEN_LENGTH,
                kind: Number(6, 10), value: "DIGITS", label: "token length",
            }
            /// The number of digits of the codes of authenticator apps that are enrolled from now on, 6 to 8.
            /// Apps that were enrolled before keep theirs. Default: the number stored in the database; 6 in a new
            /// one, which every app supports.
            authenticator_digits as authenticator_digits {
                given: u8, kept: u8, shown: u8, default: limits::AUTHENTICATOR_DIGITS,
                kind: Number(6, 8), value: "DIGITS", label: "",
            }
            /// The number of seconds for which such an app shows a code, 1 to 3600.
            /// Default: the time stored in the database; 30 in a new one, which every app supports.
            authenticator_period as authenticator_period {
                given: u64, kept: u64, shown: u64, default: limits::AUTHENTICATOR_PERIOD,
                kind: Number(1, 3600), value: "SECONDS", label: "",
            }
        }
    };
}
#[cfg(feature = "engine")]
pub(crate) use app_settings;

macro_rules! table {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident as $field:ident {
            given: $given:ty, kept: $kept:ty, shown: $shown:ty, default: $default:expr,
            kind: $kind:expr, value: $value:literal, label: $label:literal,
        }
    )*) => {
        /// The settings of an application, in the order of their declaration.
        pub const APP_SETTINGS: &[AppSetting] = {
            use SettingKind::*;
            use crate::calls;
            &[$(AppSetting {
                name: stringify!($name),
                doc: &[$($doc),*],
                kind: $kind,
                type_name: stringify!($given),
                value: $value,
                label: $label,
            }),*]
        };
    };
}

app_settings!(table);

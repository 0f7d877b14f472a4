//! The setters of the options of opening, and the way to set one by its name.

use super::Settings;
#[cfg(not(feature = "engine"))]
use crate::app_settings::APP_SETTINGS;
use crate::app_settings::SettingKind;
#[cfg(feature = "engine")]
use crate::engine::operator::AppSettings;
#[cfg(feature = "engine")]
use crate::engine::{Clock, Deliver, Events, NumberLookup, Post, Random, SendPush, Sender};
use crate::model::Secret;
use crate::open_options::{OPEN_OPTIONS, OpenOption, open_options};
#[cfg(feature = "remote")]
use crate::remote::Repeats;
use crate::wire::{Format, Generation, Names};
use crate::{Error, Result};
use std::path::PathBuf;
#[cfg(feature = "engine")]
use std::sync::Arc;
use std::time::Duration;

/// The type of a setter's parameter: for texts and paths, every type that converts into one.
macro_rules! parameter {
    (Secret) => { impl Into<String> };
    (Text) => { impl Into<String> };
    (String) => { impl Into<String> };
    (List) => { impl Into<String> };
    (File) => { impl Into<PathBuf> };
    (PathBuf) => { impl Into<PathBuf> };
    (Certificate) => { impl Into<PathBuf> };
    (Time) => { Duration };
    (Switch) => { bool };
    (User) => { u32 };
    ($other:ident) => { $other };
}
#[cfg(feature = "engine")]
pub(super) use parameter;

/// A field that keeps the value of an option.
trait Keep<T> {
    /// Keeps the value. Returns whether it is one that a URL can reject: a switch that is off has no effect anywhere.
    fn keep(&mut self, value: T) -> bool;
}

impl<T> Keep<T> for Option<T> {
    fn keep(&mut self, value: T) -> bool {
        *self = Some(value);
        true
    }
}

impl Keep<String> for Vec<String> {
    fn keep(&mut self, value: String) -> bool {
        self.push(value);
        true
    }
}

impl Keep<String> for Option<Secret> {
    fn keep(&mut self, value: String) -> bool {
        *self = Some(Secret::new(value));
        true
    }
}

#[cfg(feature = "engine")]
impl Keep<PathBuf> for Option<crate::keyring::Keyring> {
    fn keep(&mut self, value: PathBuf) -> bool {
        *self = Some(crate::keyring::Keyring::at(value));
        true
    }
}

impl Keep<bool> for bool {
    fn keep(&mut self, value: bool) -> bool {
        *self = value;
        value
    }
}

macro_rules! keep {
    ($($kind:ty),*) => {$(
        impl Keep<$kind> for $kind {
            fn keep(&mut self, value: $kind) -> bool {
                *self = value;
                true
            }
        }
    )*};
}
keep!(Duration, Format, Generation);
#[cfg(feature = "remote")]
keep!(Repeats);

/// A value that can be read from a text.
trait FromText: Sized {
    /// The form of a text, to follow "must be".
    const FORM: &str = "text";

    fn read(text: &str) -> Option<Self>;
}

impl FromText for String {
    fn read(text: &str) -> Option<String> {
        Some(text.to_owned())
    }
}

impl FromText for PathBuf {
    fn read(text: &str) -> Option<PathBuf> {
        Some(text.into())
    }
}

impl FromText for bool {
    const FORM: &str = "yes or no";

    fn read(text: &str) -> Option<bool> {
        match text {
            "yes" | "true" => Some(true),
            "no" | "false" => Some(false),
            _ => None,
        }
    }
}

impl FromText for u32 {
    const FORM: &str = "the number of a user";

    fn read(text: &str) -> Option<u32> {
        text.parse().ok()
    }
}

impl FromText for Duration {
    const FORM: &str = "a number of seconds above 0";

    fn read(text: &str) -> Option<Duration> {
        let time = Duration::try_from_secs_f64(text.parse().ok()?).ok()?;
        (!time.is_zero()).then_some(time)
    }
}

impl FromText for Format {
    const FORM: &str = "json or xml";

    fn read(text: &str) -> Option<Format> {
        Format::named(text)
    }
}

impl FromText for Generation {
    const FORM: &str = "current or older";

    fn read(text: &str) -> Option<Generation> {
        text.parse().ok()
    }
}

#[cfg(feature = "remote")]
impl FromText for Repeats {
    const FORM: &str = "none, questions or all";

    fn read(text: &str) -> Option<Repeats> {
        text.parse().ok()
    }
}

/// Defines a setter in a build that has what it is for. `@` names the features and the place.
macro_rules! setter {
    (Key $($rest:tt)*) => { setter! { @ [any(feature = "engine", feature = "remote")] [] $($rest)* } };
    (Client $($rest:tt)*) => { setter! { @ [feature = "remote"] [remote.] $($rest)* } };
    (Network $name:ident $field:ident Certificate $($rest:tt)*) => {
        setter! { @ [feature = "client-certificates"] [remote.] $name $field Certificate $($rest)* }
    };
    (Network $($rest:tt)*) => { setter! { @ [feature = "https"] [remote.] $($rest)* } };
    (Outgoing $($rest:tt)*) => { setter! { @ [feature = "https"] [remote.] $($rest)* } };
    (Socket $($rest:tt)*) => { setter! { @ [feature = "unix"] [remote.] $($rest)* } };
    (Engine $($rest:tt)*) => { setter! { @ [feature = "engine"] [engine.] $($rest)* } };
    (Database $($rest:tt)*) => { setter! { @ [feature = "engine"] [engine.] $($rest)* } };
    (All names names Names [$first:literal $($more:literal)*]) => {
        #[doc = $first]
        #[doc = ""]
        $(#[doc = $more])*
        pub fn names(mut self, names: Names) -> Settings {
            #[cfg(feature = "engine")]
            {
                self.engine.names = Some(names.clone());
            }
            #[cfg(feature = "remote")]
            self.remote.names.clone_from(&names);
            self
        }
    };
    (@ [$feature:meta] [$($part:ident.)?] $name:ident $field:ident Function($of:ident) [$($doc:literal)*]) => {
        #[cfg($feature)]
        $(#[doc = $doc])*
        pub fn $name(mut self, function: impl $of + 'static) -> Settings {
            let shared: Arc<dyn $of> = Arc::new(function);
            self.$($part.)?$field = shared.into();
            self.note(stringify!($name))
        }
    };
    (
        @ [$feature:meta] [$($part:ident.)?] $name:ident $field:ident $kind:ident
        [$first:literal $($more:literal)*]
    ) => {
        #[cfg($feature)]
        #[doc = $first]
        #[doc = ""]
        $(#[doc = $more])*
        pub fn $name(mut self, value: parameter!($kind)) -> Settings {
            match self.$($part.)?$field.keep(value.into()) {
                true => self.note(stringify!($name)),
                false => self,
            }
        }
    };
}

/// Reads a text and calls a setter. A build that lacks it notes the option, which no URL then has.
macro_rules! set {
    (Key $($rest:tt)*) => { set! { @ [any(feature = "engine", feature = "remote")] $($rest)* } };
    (Client $($rest:tt)*) => { set! { @ [feature = "remote"] $($rest)* } };
    (Network $self:ident $text:ident $name:ident Certificate) => {
        set! { @ [feature = "client-certificates"] $self $text $name File }
    };
    (Network $($rest:tt)*) => { set! { @ [feature = "https"] $($rest)* } };
    (Outgoing $($rest:tt)*) => { set! { @ [feature = "https"] $($rest)* } };
    (Socket $($rest:tt)*) => { set! { @ [feature = "unix"] $($rest)* } };
    (Engine $($rest:tt)*) => { set! { @ [feature = "engine"] $($rest)* } };
    (Database $($rest:tt)*) => { set! { @ [feature = "engine"] $($rest)* } };
    (All $self:ident $text:ident names Names) => { $self.names(Names::new($text)?) };
    (@ [$feature:meta] $self:ident $text:ident $name:ident Function($of:ident)) => {
        return Err(Error::invalid_argument(stringify!($name), "is a function, which cannot be written as text"))
    };
    (@ [$feature:meta] $self:ident $text:ident $name:ident $kind:ident) => {{
        #[cfg($feature)]
        {
            $self.$name(read::<value!($kind)>(stringify!($name), $text)?)
        }
        #[cfg(not($feature))]
        {
            $self.note(stringify!($name))
        }
    }};
}

macro_rules! value {
    (Secret) => {
        String
    };
    (Text) => {
        String
    };
    (List) => {
        String
    };
    (File) => {
        PathBuf
    };
    (Time) => {
        Duration
    };
    (Switch) => {
        bool
    };
    (User) => {
        u32
    };
    ($other:ident) => {
        $other
    };
}

fn read<T: FromText>(name: &'static str, text: &str) -> Result<T> {
    T::read(text).ok_or_else(|| Error::invalid_argument(name, format!("must be {}", T::FORM)))
}

macro_rules! setters {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident as $field:ident: $kind:ident $(($of:ident))? => $scope:ident,
    )*) => {
        /// The options of opening.
        impl Settings {
            $(setter! { $scope $name $field $kind $(($of))? [$($doc)*] })*

            /// Sets an option to one value that is written as text, or adds it to a list.
            fn set_option(self, option: &OpenOption, text: &str) -> Result<Settings> {
                Ok(match option.name {
                    $(stringify!($name) => set! { $scope self text $name $kind $(($of))? },)*
                    _ => self,
                })
            }
        }
    };
}
open_options!(setters);

impl Settings {
    /// Sets the application that operations are about unless they name another one, by its id, with
    /// [`Settings::operator_token`]. Default: the one for which the service was started.
    #[cfg(all(feature = "engine", feature = "https"))]
    pub fn operator_app(mut self, id: i64) -> Settings {
        self.remote.operator_app = Some(id);
        // With a URL that has no operators, it would have no effect either.
        self.note("operator_token")
    }

    /// Sets an option of opening or a setting of the application by its name in Python, such as `ca_file` or
    /// `offline_days`, to a value that is written as text: `yes` or `no`, a number, a number of seconds that may
    /// have a fraction, one of the names that the description has, or values of a list with spaces between them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a name that there is not, for a function, and for a text that is no such value.
    pub fn set(self, name: &str, text: &str) -> Result<Settings> {
        match OPEN_OPTIONS.iter().find(|option| option.argument == name) {
            Some(option) if matches!(option.kind, SettingKind::List) => {
                let mut values = text.split_whitespace().peekable();
                if values.peek().is_none() {
                    return Err(Error::invalid_argument(option.name, "must not be empty"));
                }
                values.try_fold(self, |settings, value| settings.set_option(option, value))
            }
            _ => self.set_value(name, text),
        }
    }

    /// Sets one as [`Settings::set`] does, but adds the whole text to a list, in which a value with spaces is not
    /// several values.
    ///
    /// # Errors
    /// As for [`Settings::set`].
    #[doc(hidden)]
    pub fn set_value(self, name: &str, text: &str) -> Result<Settings> {
        match OPEN_OPTIONS.iter().find(|option| option.argument == name) {
            Some(option) => self.set_option(option, text),
            None => self.set_of_application(name, text),
        }
    }

    #[cfg(feature = "engine")]
    fn set_of_application(self, name: &str, text: &str) -> Result<Settings> {
        let mut given = AppSettings::default();
        given.set(name, text)?;
        Ok(self.app_settings(given))
    }

    /// Notes the setting, so that every URL that this build can open rejects it.
    #[cfg(not(feature = "engine"))]
    fn set_of_application(self, name: &str, _: &str) -> Result<Settings> {
        match APP_SETTINGS.iter().find(|setting| setting.name == name) {
            Some(setting) => Ok(self.note(setting.name)),
            None => Err(Error::invalid_argument("settings", format!("has no {name}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(url: &str, name: &str, text: &str) -> Result<()> {
        Settings::new(url).set(name, text)?.check_uses()
    }

    #[test]
    fn options_are_set_by_their_names() {
        set("https://example.com", "pins", "sha256/a  sha256/b").unwrap();
        set("https://example.com", "timeout", "2.5").unwrap();
        set("sqlite:x.db", "must_exist", "yes").unwrap();
        set("https://example.com", "must_exist", "no").unwrap();
        set("sqlite:x.db", "offline_days", "3").unwrap();
        set("unix:/s", "names", "acme").unwrap();
        let settings = Settings::new("https://x").set("timeout", "0.25").unwrap();
        assert_eq!(settings.remote.timeout, Duration::from_millis(250));
        let settings = settings.set("name_servers", "192.0.2.1 192.0.2.2").unwrap();
        assert_eq!(settings.remote.name_servers, ["192.0.2.1", "192.0.2.2"]);
    }

    #[test]
    fn options_that_are_wrong_are_errors_that_name_them() {
        for (name, text, wanted) in [
            ("pins", " ", "pin"),
            ("timeout", "0", "timeout"),
            ("timeout", "NaN", "timeout"),
            ("timeout", "-1", "timeout"),
            ("timeout", "inf", "timeout"),
            ("format", "JSON", "format"),
            ("repeats", "", "repeats"),
            ("must_exist", "1", "must_exist"),
            ("must_exist", "yes", "must_exist"),
            ("service_uid", "root", "service_uid"),
            ("deliver", "x", "deliver"),
            ("pin", "sha256/a", "settings"),
            ("Timeout", "1", "settings"),
            ("offline_days", "3", "offline_days"),
        ] {
            match set("https://example.com", name, text) {
                Err(Error::InvalidArgument { parameter, .. }) => {
                    assert_eq!(parameter, wanted, "{text}")
                }
                other => panic!("{name}={text}: {other:?}"),
            }
        }
    }

    /// The table, the types and the constants of C, which are places in the table, have the same names.
    #[test]
    fn every_choice_is_accepted_and_no_other_word() {
        let settings = || Settings::new("https://x");
        for option in OPEN_OPTIONS {
            let SettingKind::Choice(names) = option.kind else { continue };
            for name in names {
                drop(settings().set(option.argument, name).unwrap());
            }
            let error = settings().set(option.argument, "other").err().unwrap().to_string();
            assert!(names.iter().all(|name| error.contains(name)), "{error}");
        }
    }

    /// A pin with a space in it must stay one pin, which is rejected, and not become two.
    #[test]
    fn a_value_of_a_list_is_kept_whole() {
        let settings = Settings::new("https://x").set_value("pins", "sha256/a sha256/b").unwrap();
        assert_eq!(settings.set_value("pins", "").unwrap().remote.pins, ["sha256/a sha256/b", ""]);
    }
}

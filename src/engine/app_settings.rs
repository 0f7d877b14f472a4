//! The settings of an application as types: as they are given, kept, stored and shown.

mod values;

use super::model::clock::Time;
use super::model::limits;
use super::model::limits::Limits;
use super::model::texts::Texts;
use super::store::{Application, Decided, damaged};
use crate::app_settings::app_settings;
pub use crate::app_settings::{APP_SETTINGS, AppSetting, SettingKind};
use crate::model::{ApiKey, CallbackMethod, CallbackUrl, InstallLink, LogoUrl, OtpDomain};
use crate::wire::{Generation, Names};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use values::{Given, Value};
use zeroize::Zeroizing;

/// An application.
#[derive(Clone)]
pub(in crate::engine) struct App {
    pub(in crate::engine) app_id: i64,
    pub(in crate::engine) api_key: ApiKey,
    /// The key before it, as long as that is valid too.
    pub(in crate::engine) earlier: Option<EarlierKey>,
    /// Signs the tokens of remembered browsers. It never leaves the service.
    pub(in crate::engine) secret: Zeroizing<[u8; 32]>,
    pub(in crate::engine) settings: ApplicationSettings,
}

/// A key that was replaced, and until when it is valid all the same.
#[derive(Clone)]
pub(in crate::engine) struct EarlierKey {
    pub(in crate::engine) key: ApiKey,
    pub(in crate::engine) until: Time,
}

macro_rules! structs {
    ($(
        #[doc = $first:literal]
        $(#[doc = $more:literal])*
        $name:ident as $field:ident {
            given: $given:ty, kept: $kept:ty, shown: $shown:ty, default: $default:expr,
            kind: $kind:expr, value: $value:literal, label: $label:literal,
        }
    )*) => {
        /// The settings of an application, which are stored with it.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct ApplicationSettings {
            $(#[doc = $first] pub $field: $kept,)*
            /// The names used in callbacks, and by a server in front of the engine.
            pub names: Names,
        }

        /// Settings of an application that are given: those of [`Settings`](crate::Settings) with these names.
        /// `None` leaves one as it is. The empty text removes a URL, a file, a link, a domain, a logo and texts.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct AppSettings {
            $(#[doc = $first] pub $field: Option<$given>,)*
        }

        /// An application, as it is stored. It has no key.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[non_exhaustive]
        pub struct AppRecord {
            /// Its id.
            pub app_id: i64,
            /// Its users.
            pub users: u64,
            /// The end of the key before the current one, in Unix seconds.
            pub earlier_key_until: Option<u64>,
            /// The names in its callbacks.
            pub names: String,
            $(#[doc = $first] pub $field: $shown,)*
        }

        impl ApplicationSettings {
            /// The settings of a new application.
            pub(super) fn new(names: Names) -> ApplicationSettings {
                ApplicationSettings { $($field: $default,)* names }
            }

            /// Changes those that are given.
            ///
            /// # Errors
            /// [`Error::InvalidArgument`] names the first one that is invalid.
            pub(super) fn change(&mut self, given: &AppSettings) -> Result<()> {
                $(if let Some(value) = &given.$field {
                    Value::set(&mut self.$field, named(stringify!($name))?, value)?;
                })*
                Ok(())
            }

            /// The settings in a row.
            pub(super) fn stored(row: &Application, names: Names) -> Decided<ApplicationSettings> {
                Ok(ApplicationSettings {
                    $($field: Value::stored(&row.$field)
                        .ok_or_else(|| damaged("applications", stringify!($field)))?,)*
                    names,
                })
            }

            /// The settings with their titles, as a server logs them.
            pub fn described(&self) -> impl Iterator<Item = (&'static str, String)> {
                let values = [$(Value::described(&self.$field)),*];
                let labels = APP_SETTINGS.iter().map(|setting| setting.label);
                labels.zip(values).filter(|(label, _)| !label.is_empty())
            }
        }

        impl AppSettings {
            /// Sets one by its name in [`Settings`](crate::Settings), such as `application_name`, from a text:
            /// `yes` or `no` for a setting that is either.
            ///
            /// # Errors
            /// [`Error::InvalidArgument`] for a name that no setting has, and a text that is not of its type.
            /// Ranges and the like are checked where settings are stored.
            pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
                let setting = named(name)?;
                match name {
                    $(stringify!($name) => {
                        <$kept as Value>::give(&mut self.$field, Given::read(setting, text)?);
                    })*
                    _ => {}
                }
                Ok(())
            }

            /// Adds those that are given to these.
            pub(crate) fn add(&mut self, given: AppSettings) {
                $(if let Some(value) = given.$field {
                    <$kept as Value>::give(&mut self.$field, value);
                })*
            }

            /// The names of those that are given.
            pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
                let given = [$((stringify!($name), self.$field.is_some())),*];
                given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name)
            }

            /// Changes those that are given in a row. Those that are not given are not read.
            pub(super) fn apply(&self, row: &mut Application) -> Decided<()> {
                $(if let Some(given) = &self.$field {
                    let mut value = <$kept as Value>::stored(&row.$field)
                        .ok_or_else(|| damaged("applications", stringify!($field)))?;
                    Value::set(&mut value, named(stringify!($name))?, given)?;
                    row.$field = value.column();
                })*
                Ok(())
            }
        }

        impl AppRecord {
            pub(super) fn new(
                app: &App,
                users: u64,
                earlier_key_until: Option<u64>,
            ) -> AppRecord {
                let names = app.settings.names.to_string();
                AppRecord {
                    app_id: app.app_id,
                    users,
                    earlier_key_until,
                    names,
                    $($field: app.settings.$field.shown(),)*
                }
            }
        }

        /// The row of a new application.
        pub(super) fn row(app_id: i64, new: &App, created_at: Time) -> Application {
            let [header_prefix, push_path, id_field, chrome_device] =
                new.settings.names.parts().map(str::to_owned);
            Application {
                app_id,
                api_key: new.api_key.expose().into(),
                earlier_key: "".into(),
                earlier_until: None,
                secret: new.secret.clone().into(),
                header_prefix,
                push_path,
                id_field,
                chrome_device,
                created_at,
                $($field: new.settings.$field.column(),)*
            }
        }

        /// The names of the settings that differ, as the audit has them.
        pub(super) fn changed(before: &Application, after: &Application) -> String {
            let settings = [$((stringify!($name), before.$field != after.$field)),*];
            let names = settings.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name);
            names.collect::<Vec<_>>().join(" ")
        }
    };
}

app_settings!(structs);

fn named(name: &str) -> Result<&'static AppSetting> {
    APP_SETTINGS
        .iter()
        .find(|setting| setting.name == name)
        .ok_or_else(|| Error::invalid_argument("settings", format!("has no {name}")))
}

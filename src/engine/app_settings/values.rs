//! The types of settings: how their values are read, checked, stored and shown.

use crate::app_settings::{AppSetting, SettingKind};
use crate::engine::model::limits::Limits;
use crate::engine::model::texts::Texts;
use crate::model::{CallbackMethod, CallbackUrl, DisplayText, InstallLink, LogoUrl, OtpDomain};
use crate::wire::Generation;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The longest name, in bytes.
const LONGEST_NAME: usize = 64;

/// A value as it is given.
pub(super) trait Given: Sized {
    /// Reads it from a text. The range of a number is checked by [`Value::set`].
    fn read(setting: &AppSetting, text: &str) -> Result<Self>;
}

/// A value as it is kept.
pub(super) trait Value: Sized {
    type Given;
    type Column;
    type Shown;

    /// Adds what is given to what was given before.
    fn give(before: &mut Option<Self::Given>, given: Self::Given) {
        *before = Some(given);
    }

    fn set(&mut self, setting: &AppSetting, given: &Self::Given) -> Result<()>;
    fn column(&self) -> Self::Column;
    /// None if the column cannot have this value.
    fn stored(column: &Self::Column) -> Option<Self>;
    fn shown(&self) -> Self::Shown;
    /// The value in the log of a server.
    fn described(&self) -> String;
}

/// Text that the log has where there is no value.
fn or_none(value: Option<String>) -> String {
    value.unwrap_or_else(|| "none".to_owned())
}

macro_rules! plain {
    ($($of:ty, $described:expr;)*) => {$(
        impl Value for $of {
            type Given = $of;
            type Column = $of;
            type Shown = $of;

            fn set(&mut self, setting: &AppSetting, given: &$of) -> Result<()> {
                *self = *given;
                setting.check_number((*given).into())
            }

            fn column(&self) -> $of {
                *self
            }

            fn stored(column: &$of) -> Option<$of> {
                Some(*column)
            }

            fn shown(&self) -> $of {
                *self
            }

            fn described(&self) -> String {
                $described(self)
            }
        }
    )*};
}

plain! {
    bool, |is_set: &bool| if *is_set { "yes" } else { "no" }.to_owned();
    u8, ToString::to_string;
    u64, ToString::to_string;
}

/// Texts that an empty one removes.
macro_rules! links {
    ($($of:ident),*) => {$(
        impl Value for Option<$of> {
            type Given = String;
            type Column = Option<String>;
            type Shown = Option<String>;

            fn set(&mut self, _: &AppSetting, given: &String) -> Result<()> {
                *self = (!given.is_empty()).then(|| given.parse()).transpose()?;
                Ok(())
            }

            fn column(&self) -> Option<String> {
                self.as_ref().map(|value| value.as_str().to_owned())
            }

            fn stored(column: &Option<String>) -> Option<Option<$of>> {
                Some(column.clone().map($of::stored))
            }

            fn shown(&self) -> Option<String> {
                self.column()
            }

            fn described(&self) -> String {
                or_none(self.column())
            }
        }
    )*};
}

links!(CallbackUrl, InstallLink, LogoUrl, OtpDomain);

macro_rules! choices {
    ($($of:ident),*) => {$(
        impl Value for $of {
            type Given = $of;
            type Column = String;
            type Shown = $of;

            fn set(&mut self, _: &AppSetting, given: &$of) -> Result<()> {
                *self = *given;
                Ok(())
            }

            fn column(&self) -> String {
                self.name().to_owned()
            }

            fn stored(column: &String) -> Option<$of> {
                column.parse().ok()
            }

            fn shown(&self) -> $of {
                *self
            }

            fn described(&self) -> String {
                self.column()
            }
        }

        impl Given for $of {
            fn read(setting: &AppSetting, text: &str) -> Result<$of> {
                text.parse().map_err(|error: Error| error.of_parameter(setting.name))
            }
        }
    )*};
}

choices!(CallbackMethod, Generation);

/// A name, such as that of the application.
impl Value for String {
    type Given = String;
    type Column = String;
    type Shown = String;

    fn set(&mut self, setting: &AppSetting, given: &String) -> Result<()> {
        setting.check_name(given)?;
        self.clone_from(given);
        Ok(())
    }

    fn column(&self) -> String {
        self.clone()
    }

    fn stored(column: &String) -> Option<String> {
        Some(column.clone())
    }

    fn shown(&self) -> String {
        self.clone()
    }

    fn described(&self) -> String {
        self.clone()
    }
}

impl Value for Option<PathBuf> {
    type Given = PathBuf;
    type Column = Option<String>;
    type Shown = Option<String>;

    fn set(&mut self, setting: &AppSetting, given: &PathBuf) -> Result<()> {
        *self = match given.as_os_str().is_empty() {
            true => None,
            false => Some(absolute(setting, given)?),
        };
        Ok(())
    }

    fn column(&self) -> Option<String> {
        // The path was checked to be UTF-8 when it was given.
        self.as_ref().map(|path| path.to_string_lossy().into_owned())
    }

    fn stored(column: &Option<String>) -> Option<Option<PathBuf>> {
        Some(column.as_ref().map(PathBuf::from))
    }

    fn shown(&self) -> Option<String> {
        self.column()
    }

    fn described(&self) -> String {
        or_none(self.column())
    }
}

/// The path from the root, because the processes that post callbacks may run in several folders.
fn absolute(setting: &AppSetting, file: &Path) -> Result<PathBuf> {
    let bad =
        |reason| Error::invalid_argument(setting.name, format!("{} {reason}", file.display()));
    let path = std::path::absolute(file).map_err(|_| bad("is not a path"))?;
    path.to_str().ok_or_else(|| bad("must be UTF-8"))?;
    Ok(path)
}

impl Value for Limits {
    type Given = String;
    type Column = String;
    type Shown = String;

    /// A setting of one limit leaves those that were given before.
    fn give(before: &mut Option<String>, given: String) {
        let all = before.get_or_insert_default();
        all.push(' ');
        all.push_str(&given);
    }

    fn set(&mut self, _: &AppSetting, given: &String) -> Result<()> {
        Limits::set(self, given)
    }

    fn column(&self) -> String {
        Limits::stored(self)
    }

    fn stored(column: &String) -> Option<Limits> {
        let mut limits = Limits::default();
        limits.set(column).ok().map(|()| limits)
    }

    fn shown(&self) -> String {
        self.to_string()
    }

    fn described(&self) -> String {
        self.to_string()
    }
}

impl Value for Texts {
    type Given = String;
    type Column = Option<String>;
    type Shown = Option<String>;

    fn set(&mut self, _: &AppSetting, given: &String) -> Result<()> {
        *self = given.parse()?;
        Ok(())
    }

    fn column(&self) -> Option<String> {
        Texts::stored(self)
    }

    fn stored(column: &Option<String>) -> Option<Texts> {
        column.as_deref().unwrap_or_default().parse().ok()
    }

    fn shown(&self) -> Option<String> {
        self.column()
    }

    fn described(&self) -> String {
        let kinds = self.kinds().map(|(language, of)| format!("{language} ({})", of.join(", ")));
        match kinds.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "those that are built in".to_owned(),
            own => own,
        }
    }
}

impl Given for String {
    fn read(_: &AppSetting, text: &str) -> Result<String> {
        Ok(text.to_owned())
    }
}

impl Given for PathBuf {
    fn read(_: &AppSetting, text: &str) -> Result<PathBuf> {
        Ok(text.into())
    }
}

impl Given for bool {
    fn read(setting: &AppSetting, text: &str) -> Result<bool> {
        match text {
            "yes" | "true" => Ok(true),
            "no" | "false" => Ok(false),
            _ => Err(Error::invalid_argument(setting.name, "must be yes or no")),
        }
    }
}

impl Given for u8 {
    fn read(setting: &AppSetting, text: &str) -> Result<u8> {
        text.parse().map_err(|_| setting.bad_number())
    }
}

impl Given for u64 {
    fn read(setting: &AppSetting, text: &str) -> Result<u64> {
        text.parse().map_err(|_| setting.bad_number())
    }
}

impl AppSetting {
    /// Checks the range of a number. Other values are in none.
    fn check_number(&self, number: u64) -> Result<()> {
        match self.kind {
            SettingKind::Number(least, most) if !(least..=most).contains(&number) => {
                Err(self.bad_number())
            }
            _ => Ok(()),
        }
    }

    fn bad_number(&self) -> Error {
        let reason = match self.kind {
            SettingKind::Number(least, most) if most - least == 2 => {
                format!("must be {least}, {} or {most}", least + 1)
            }
            SettingKind::Number(least, most) => format!("must be {least} to {most}"),
            _ => "must be a number".to_owned(),
        };
        Error::invalid_argument(self.name, reason)
    }

    fn check_name(&self, name: &str) -> Result<()> {
        let SettingKind::Name(without) = self.kind else { return Ok(()) };
        let text = name.parse::<DisplayText>().ok().filter(|text| {
            let text = text.as_str();
            text.len() <= LONGEST_NAME && !text.contains(without)
        });
        if text.is_some() {
            return Ok(());
        }
        let colons = if without.contains(&':') { "colons, " } else { "" };
        let reason = format!("must be 1 to 64 bytes without {colons}tabs and line feeds");
        Err(Error::invalid_argument(self.name, reason))
    }
}

//! The option `--database`, which takes no password: every user of a machine can read the options of a process.

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use seconder::{Error, Settings};
use std::ffi::OsStr;

const HAS_PASSWORD: &str = "must not hold a password, which every user of this machine could see: write it to a \
                            file in the format of .pgpass, and name that in the URL by passfile=FILE, as in \
                            postgres://user@host/database?passfile=/etc/seconder/pgpass";

/// Reads a URL. Its errors do not repeat the value, unlike other parsers.
#[derive(Clone)]
pub(crate) struct DatabaseUrl;

impl TypedValueParser for DatabaseUrl {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> std::result::Result<String, clap::Error> {
        let text = value.to_str().ok_or_else(|| "must be UTF-8".to_owned());
        text.and_then(|url| check_database(url).map(|()| url.to_owned())).map_err(|reason| {
            let message = format!("--database {reason}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

/// Rejects a URL of a database that can be given neither to a command nor in a configuration file.
///
/// # Errors
/// What is wrong, to be read after the name of the option, without the URL.
pub(crate) fn check_database(url: &str) -> std::result::Result<(), String> {
    match Settings::new(url).has_password() {
        Ok(false) => Ok(()),
        Ok(true) => Err(HAS_PASSWORD.to_owned()),
        Err(Error::InvalidArgument { reason, .. }) => Err(reason.into_owned()),
        Err(error) => Err(error.to_string()),
    }
}

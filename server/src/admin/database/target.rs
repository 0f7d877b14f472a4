//! The service that a command works on: a database, or a service that runs.

use super::delivery::Calling;
use super::{Database, is_engine};
use crate::admin::input::COMMON;
use crate::admin::input::secret::secret_file;
use crate::invalid;
use clap::Args;
use clap::builder::ArgPredicate;
use nix::unistd::User;
use seconder::{Result, Scheme, Service, Settings};
use seconder_server::user_number;
use std::path::PathBuf;

/// A database by default.
#[derive(Args)]
pub(crate) struct Target {
    #[command(flatten)]
    database: Database,
    /// Service to ask instead of a database: unix:/run/seconder/seconder.sock, or https: with
    /// --api-key-file.
    #[arg(
        id = "service",
        long = "url",
        value_name = "URL",
        conflicts_with_all = ["url", "operated"],
        help_heading = COMMON
    )]
    service: Option<String>,
    /// PEM file with the authorities to trust instead of the system's, for an https: URL.
    #[arg(long, value_name = "FILE", requires = "service", help_heading = COMMON)]
    ca_file: Option<PathBuf>,
    /// User who runs the service, by name or number, for a unix: URL; root, and the user who runs the
    /// command, are trusted anyway.
    #[arg(long, value_name = "USER", requires = "service", help_heading = COMMON)]
    service_user: Option<String>,
}

/// The socket of the units for systemd, and the user who runs the service there.
const SOCKET: &str = "unix:/run/seconder/seconder.sock";
const SOCKET_USER: &str = "seconder";

/// The service on this machine by default.
#[derive(Args)]
pub(crate) struct LocalTarget {
    // Before the database: clap takes a default that it has set already for an option that was given.
    /// Service to ask: that of this machine, by its socket, or https: with --api-key-file.
    #[arg(
        id = "service",
        long = "url",
        value_name = "URL",
        default_value = SOCKET,
        default_value_ifs([
            ("url", ArgPredicate::IsPresent, None::<&str>),
            ("operated", ArgPredicate::IsPresent, None),
        ]),
        conflicts_with_all = ["url", "operated"],
        help_heading = COMMON
    )]
    service: Option<String>,
    #[command(flatten)]
    database: Database,
    /// PEM file with the authorities to trust instead of the system's, for an https: URL.
    #[arg(long, value_name = "FILE", help_heading = COMMON)]
    ca_file: Option<PathBuf>,
    /// User who runs the service, by name or number, for a unix: URL; root, and the user who runs the
    /// command, are trusted anyway. By default `seconder`, if there is that user, for the default URL.
    #[arg(long, value_name = "USER", conflicts_with = "url", help_heading = COMMON)]
    service_user: Option<String>,
}

impl Target {
    pub(crate) fn open(&self) -> Result<Service> {
        match self.of_service()? {
            Some(service) => Ok(service),
            None => self.database.existing(),
        }
    }

    /// Opens the target like `open`, for a call that may cause a message.
    pub(crate) fn open_to_call(&self) -> Result<Calling> {
        match self.of_service()? {
            Some(service) => Ok(service.into()),
            None => self.database.existing_to_call(),
        }
    }

    /// Returns whether operations can be carried out on the target: not on a service that is asked as an application.
    pub(crate) fn is_operated(&self) -> bool {
        self.service.is_none()
    }

    /// Opens the service that runs; `None` for a database.
    fn of_service(&self) -> Result<Option<Service>> {
        let Some(url) = self.service.as_deref() else { return Ok(None) };
        let (ca_file, user) = (self.ca_file.as_ref(), self.service_user.as_deref());
        open(&self.database, url, ca_file, user).map(Some)
    }
}

impl LocalTarget {
    /// Returns whether the service is asked by its socket, where it restricts users to their own accounts.
    pub(crate) fn is_socket(&self) -> bool {
        self.service.as_deref().is_some_and(|url| Scheme::of(url) == Some(Scheme::Unix))
    }

    /// Opens the target for calls that may cause a message.
    pub(crate) fn open_to_call(&self) -> Result<Calling> {
        let Some(url) = self.service.as_deref() else { return self.database.existing_to_call() };
        // Only root can have made the folder of this socket.
        let by_default = Some(SOCKET_USER)
            .filter(|user| url == SOCKET && matches!(User::from_name(user), Ok(Some(_))));
        let user = self.service_user.as_deref().or(by_default);
        open(&self.database, url, self.ca_file.as_ref(), user).map(Calling::from)
    }
}

fn open(
    database: &Database,
    url: &str,
    ca_file: Option<&PathBuf>,
    service_user: Option<&str>,
) -> Result<Service> {
    if is_engine(url) {
        return Err(invalid("url", "names a database: use --database".to_owned()));
    }
    if database.app.is_some() {
        return Err(invalid("app", "is for a database: a service knows it by the key".to_owned()));
    }
    let mut settings = Settings::new(url);
    if let Some(file) = &database.keyring {
        // A keyring has no effect here, and is rejected.
        settings = settings.keyring(file);
    }
    if let Some(names) = database.names()? {
        settings = settings.names(names);
    }
    if let Some(file) = &database.api_key_file {
        settings = settings.api_key(secret_file("api-key-file", file)?.expose());
    }
    if let Some(file) = ca_file {
        settings = settings.ca_file(file);
    }
    if let Some(user) = service_user {
        let uid = user_number(user).map_err(|reason| invalid("service-user", reason))?;
        settings = settings.service_uid(uid);
    }
    settings.open()
}

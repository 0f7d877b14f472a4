//! The service that a command works on: a database, or a service that runs.

use crate::Database;
use crate::commands::{invalid, secret_file};
use clap::Args;
use clap::builder::ArgPredicate;
use seconder::{Result, Service, Settings};
use std::path::PathBuf;

/// A database by default.
#[derive(Args)]
pub(crate) struct Target {
    #[command(flatten)]
    database: Database,
    /// Service to ask instead of a database: unix:/run/seconder/seconder.sock, or https: with
    /// --api-key-file.
    #[arg(id = "service", long = "url", value_name = "URL", conflicts_with = "url")]
    service: Option<String>,
    /// PEM file with the authorities to trust instead of the system's, for an https: URL.
    #[arg(long, value_name = "FILE", requires = "service")]
    ca_file: Option<PathBuf>,
}

/// The service on this machine by default.
#[derive(Args)]
pub(crate) struct LocalTarget {
    #[command(flatten)]
    database: Database,
    /// Service to ask: that of this machine, by its socket, or https: with --api-key-file.
    #[arg(
        id = "service",
        long = "url",
        value_name = "URL",
        default_value = "unix:/run/seconder/seconder.sock",
        default_value_if("url", ArgPredicate::IsPresent, None),
        conflicts_with = "url"
    )]
    service: Option<String>,
    /// PEM file with the authorities to trust instead of the system's, for an https: URL.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

impl Target {
    pub(crate) fn open(&self) -> Result<Service> {
        open(&self.database, self.service.as_deref(), self.ca_file.as_ref())
    }
}

impl LocalTarget {
    pub(crate) fn open(&self) -> Result<Service> {
        open(&self.database, self.service.as_deref(), self.ca_file.as_ref())
    }
}

fn open(database: &Database, url: Option<&str>, ca_file: Option<&PathBuf>) -> Result<Service> {
    let Some(url) = url else { return database.existing() };
    if ["sqlite:", "sandbox:"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(invalid("url", "names a database: use --database".to_owned()));
    }
    let mut settings = Settings::new(url);
    if let Some(names) = database.names()? {
        settings = settings.names(names);
    }
    if let Some(file) = &database.api_key_file {
        settings = settings.api_key(secret_file("api-key-file", file)?.expose());
    }
    if let Some(file) = ca_file {
        settings = settings.ca_file(file);
    }
    settings.open()
}

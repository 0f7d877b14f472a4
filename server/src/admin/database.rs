//! Opens the database that a command works on, or the service on another machine.

pub(crate) mod delivery;
pub(crate) mod names;
pub(crate) mod network;
#[cfg(unix)]
pub(crate) mod owner;
pub(crate) mod target;
pub(crate) mod url;

#[cfg(unix)]
pub(crate) use owner::user_name;

use crate::admin::input::COMMON;
use crate::admin::input::secret::{credential, private_file, secret_file};
use crate::invalid;
use clap::Args;
use names::SingleNames;
use network::Network;
use seconder::engine::operator::ShowAppKey;
use seconder::keyring::Keyring;
use seconder::model::Secret;
use seconder::remote::Dialer;
use seconder::wire::Names;
use seconder::{Error, Result, Scheme, Service, Settings};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The database that commands open without any settings.
pub(crate) const DEFAULT_DATABASE: &str = "sqlite:seconder.db";

/// The time that an operation on another machine may take.
const OPERATION: Duration = Duration::from_secs(3600);

#[derive(Args)]
pub(crate) struct Database {
    /// Configuration file: seconder.conf(5). Its settings are the options of `seconder serve`, those of the
    /// database apply to other commands too, and an option on the command line overrides the setting. Without
    /// this, --database and --service, commands other than `seconder serve` read /etc/seconder/seconder.conf, if that
    /// exists.
    #[arg(long, value_name = "FILE", help_heading = COMMON)]
    pub(crate) config: Option<PathBuf>,
    /// Database to open: sqlite:/path/file.db; postgres://user@host/database for one on a server, which
    /// several nodes share, with --keyring; or sandbox: for one in memory that accepts every code;
    /// sandbox:?clear_every=86400 is also emptied every day. A password in the URL is rejected, as other
    /// users of the machine could read it: it is in the credential `database-password` in the folder of
    /// CREDENTIALS_DIRECTORY, where systemd puts what LoadCredential=database-password:FILE names, or in a
    /// file in the format of .pgpass that passfile=FILE in the URL names.
    #[arg(
        long = "database",
        value_name = "URL",
        default_value = DEFAULT_DATABASE,
        value_parser = crate::admin::database::url::DatabaseUrl,
        help_heading = COMMON
    )]
    pub(crate) url: String,
    /// File with the keys that seal the secrets in the database: without it, a copy of the database is
    /// of no use. By default `keyring` in the folder of CREDENTIALS_DIRECTORY, where systemd puts what
    /// LoadCredential=keyring:FILE names, if it is there; otherwise, for sqlite:, the file next to the
    /// database with its name and .keys, which is created with it. With postgres: there is no other
    /// default: `seconder keyring create` makes the file.
    #[arg(long, value_name = "FILE", help_heading = COMMON)]
    pub(crate) keyring: Option<PathBuf>,
    /// Service to work on from another machine, in place of a database: https: and the address of its
    /// --operator-listen, with --operator-token-file. The user's own seconder.conf(5) can name it.
    #[arg(
        id = "operated",
        long = "service",
        value_name = "URL",
        requires = "operator_token_file",
        conflicts_with_all = ["url", "keyring", "api_key_file"],
        help_heading = COMMON
    )]
    pub(crate) service: Option<String>,
    /// File with the token of an operator of that service, which only its owner may read.
    #[arg(long, value_name = "FILE", requires = "operated", help_heading = COMMON)]
    pub(crate) operator_token_file: Option<PathBuf>,
    /// PEM file with the authorities to trust instead of the system's, for --service.
    #[arg(long, value_name = "FILE", requires = "operated", help_heading = COMMON)]
    pub(crate) service_ca_file: Option<PathBuf>,
    /// File with the API key of the application; without it, a new database gets a generated key,
    /// which `seconder key` prints.
    #[arg(long, value_name = "FILE", help_heading = COMMON)]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Application to work on, by its id: see `seconder app list`. By default the first one of the
    /// database. `seconder serve` serves every application by its API key; this one is that of the peers
    /// of a local socket.
    #[arg(long, value_name = "ID", conflicts_with = "api_key_file", help_heading = COMMON)]
    pub(crate) app: Option<i64>,
    /// Word that clients use for `svc` in the names of headers, fields and devices: with `acme`,
    /// the API key is in X-Acme-API-Key and a user's id in acme_id. A new database keeps its names;
    /// of the options for names, an existing one accepts none or all that lead to its own.
    #[arg(long, value_name = "WORD", help_heading = COMMON)]
    pub(crate) names: Option<String>,
    #[command(flatten)]
    pub(crate) single_names: SingleNames,
    #[command(flatten)]
    pub(crate) network: Network,
}

impl Database {
    pub(crate) fn settings(&self) -> Result<Settings> {
        self.require_machine()?;
        self.settings_at(&self.url)
    }

    /// Rejects a service on another machine, for a command that needs the database itself.
    pub(crate) fn require_machine(&self) -> Result<()> {
        match &self.service {
            Some(_) => {
                let reason = "has no effect here: this command needs the database and the files of the service. Run it \
                              on the machine of the service";
                Err(invalid("service", reason.to_owned()))
            }
            None => Ok(()),
        }
    }

    /// Opens the service on another machine that the options name, if they do, for the application with this id.
    pub(crate) fn operated(&self, app: Option<i64>) -> Result<Option<Service>> {
        let (Some(url), Some(file)) = (&self.service, &self.operator_token_file) else {
            return Ok(None);
        };
        let token = private_file("operator-token-file", file)?;
        let settings = self.network.apply(Settings::new(url))?;
        let mut settings = settings.operator_token(token.expose()).timeout(OPERATION);
        if let Some(file) = &self.service_ca_file {
            settings = settings.ca_file(file);
        }
        if let Some(names) = self.names()? {
            settings = settings.names(names);
        }
        if let Some(id) = app {
            settings = settings.operator_app(id);
        }
        settings.open().map(Some)
    }

    /// Returns the settings of another database than the options name.
    pub(crate) fn settings_at(&self, url: &str) -> Result<Settings> {
        let settings = self.network.apply(Settings::new(&with_password(url)?))?;
        let settings = match self.names()? {
            Some(names) => settings.names(names),
            None => settings,
        };
        let settings = match self.keyring().filter(|_| Scheme::of(url) != Some(Scheme::Sandbox)) {
            Some(keyring) => settings.loaded_keyring(keyring),
            None => settings,
        };
        Ok(match (&self.api_key_file, self.app) {
            (Some(file), _) => settings.api_key(secret_file("api-key-file", file)?.expose()),
            (None, Some(id)) => {
                let key = key_of(&settings.clone().must_exist(true).open()?, id)?;
                settings.api_key(key.expose())
            }
            (None, None) => settings,
        })
    }

    /// Returns the dialer for further connections of the command, such as the ones of gateways.
    pub(crate) fn dialer(&self) -> Result<Dialer> {
        self.network.apply(Settings::new(&self.url))?.dialer()
    }

    /// Returns the keyring that the options name, or that systemd has passed.
    pub(crate) fn ring_file(&self) -> Option<PathBuf> {
        self.keyring.clone().or_else(|| credential("keyring").filter(|_| !self.is_sandbox()))
    }

    /// Returns the keyring in that file, or what root has read of it.
    pub(crate) fn keyring(&self) -> Option<Keyring> {
        let file = self.ring_file()?;
        #[cfg(unix)]
        if let Some(keyring) = owner::keyring(&file) {
            return Some(keyring);
        }
        Some(Keyring::at(file))
    }

    /// Returns the names that the options give; `None` if there is no such option.
    pub(crate) fn names(&self) -> Result<Option<Names>> {
        self.single_names.beside(self.names.as_deref())
    }

    /// Returns the file of a database that is a file.
    pub(crate) fn path(&self) -> Option<&Path> {
        database_file(&self.url)
    }

    /// Returns whether it is a database on a server, next to which there is no folder.
    pub(crate) fn is_on_server(&self) -> bool {
        is_on_server(&self.url)
    }

    pub(crate) fn is_sandbox(&self) -> bool {
        Scheme::of(&self.url) == Some(Scheme::Sandbox)
    }

    /// Opens a database that must exist: a mistyped name would otherwise create an empty one.
    pub(crate) fn existing(&self) -> Result<Service> {
        match self.operated(self.app)? {
            Some(service) => Ok(service),
            None => self.existing_settings()?.open(),
        }
    }

    /// Opens the service like `existing`, for the application with this id.
    pub(crate) fn existing_of(&self, id: i64) -> Result<Service> {
        if let Some(service) = self.operated(Some(id))? {
            return Ok(service);
        }
        let key = key_of(&self.existing()?, id)?;
        self.existing_settings()?.api_key(key.expose()).open()
    }

    pub(crate) fn existing_settings(&self) -> Result<Settings> {
        self.require_machine()?;
        self.require_stored()?;
        #[cfg(unix)]
        owner::load_keyring(self.path(), self.ring_file().as_deref())?;

        // A file with a key may be root's own. For an application by its id, the database is opened at once.
        if self.api_key_file.is_none() {
            self.become_owner()?;
        }
        let settings = self.settings()?;
        self.become_owner()?;
        Ok(settings.must_exist(true).changed_by(&user_name()))
    }

    /// Becomes the owner of the database for good, if root runs this.
    pub(crate) fn become_owner(&self) -> Result<()> {
        #[cfg(unix)]
        owner::become_owner(self.path(), self.ring_file().as_deref())?;
        Ok(())
    }

    /// Rejects a database that outlives no process, and a URL that is not one of a database.
    pub(crate) fn require_stored(&self) -> Result<()> {
        if self.is_sandbox() {
            let reason = "sandbox: is in the memory of the process that serves it, where no other \
                          process can reach it";
            return Err(invalid("database", reason.to_owned()));
        }
        check_database_url(&self.url)
    }
}

/// Checks the URL of a database, without opening it.
pub(crate) fn check_database_url(url: &str) -> Result<()> {
    if !is_engine(url) {
        let reason = "must be sqlite:/path/file.db or postgres://user@host/database";
        return Err(invalid("database", reason.to_owned()));
    }
    Settings::new(url).check()
}

/// Returns the file of a database, by its URL.
pub(crate) fn database_file(url: &str) -> Option<&Path> {
    let (scheme, path) = Scheme::split(url)?;
    let path = Path::new(path.strip_prefix("//").unwrap_or(path));
    (scheme == Scheme::Sqlite).then_some(path)
}

/// Checks that a file can be created where it is named.
pub(crate) fn check_folder(option: &'static str, file: &Path) -> Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let there = folder.is_none_or(Path::is_dir);
    let reason = || format!("{} is in a folder that does not exist", file.display());
    there.then_some(()).ok_or_else(|| invalid(option, reason()))
}

/// Checks that a keyring can be used, or else created, unless it must exist.
pub(crate) fn check_keyring(file: &Path, must_exist: bool) -> Result<()> {
    let reason = match std::fs::metadata(file) {
        Ok(_) => match Keyring::at(file).keys() {
            Ok(_) => return Ok(()),
            Err(Error::Storage { message }) => message,
            Err(error) => error.to_string(),
        },
        Err(error) if error.kind() == ErrorKind::NotFound && !must_exist => {
            return check_folder("keyring", file);
        }
        Err(error) => format!("{} cannot be read: {error}", file.display()),
    };
    Err(invalid("keyring", reason))
}

/// Returns the API key of the application with this id.
fn key_of(service: &Service, id: i64) -> Result<Secret> {
    let shown = service.operate(&ShowAppKey { app_id: Some(id) });
    shown.map(|shown| shown.api_key).map_err(|error| match error {
        Error::InvalidArgument { .. } => invalid(
            "app",
            format!("is not that of an application: {id}; `seconder app list` has them"),
        ),
        other => other,
    })
}

/// Returns whether the URL names a database on a server.
pub(crate) fn is_on_server(url: &str) -> bool {
    Scheme::of(url) == Some(Scheme::Postgres)
}

/// Returns whether the URL opens an engine in this process, as the URL of a database does.
pub(crate) fn is_engine(url: &str) -> bool {
    Scheme::of(url).is_some_and(Scheme::is_engine)
}

/// Returns the URL of a database on a server, with the password that systemd has passed, unless it names a file with
/// it.
fn with_password(url: &str) -> Result<String> {
    let names_file = url.contains("passfile=");
    let file = credential("database-password").filter(|_| is_on_server(url) && !names_file);
    let Some(file) = file else { return Ok(url.to_owned()) };
    let password = secret_file("database-password", &file)?;
    let mark = if url.contains('?') { '&' } else { '?' };
    let encoded = password.expose().bytes().map(|byte| format!("%{byte:02x}"));
    Ok(format!("{url}{mark}password={}", encoded.collect::<String>()))
}

#[cfg(not(unix))]
pub(crate) fn user_name() -> String {
    "the user of the machine".to_owned()
}

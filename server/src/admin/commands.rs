//! The commands of the program.

mod backups;
mod delivery;
mod forwarding;
#[cfg(unix)]
mod local;
mod network;
#[cfg(unix)]
mod pid_file;
#[cfg(unix)]
mod relay;
mod reload;
mod sandbox;
mod serve;
mod supervision;

pub(crate) use backups::{backup, restore, spend_codes};
pub(crate) use delivery::Calling;
pub(crate) use forwarding::{check_forward_ca_file, check_forward_url};
pub(crate) use network::{check_name_server, check_proxy, check_proxy_file};
#[cfg(unix)]
pub(crate) use pid_file::reload;
#[cfg(unix)]
pub(crate) use relay::relay;
pub(crate) use serve::{create, serve};

use crate::admin::arguments::{Database, SingleNames};
use crate::admin::table::Json;
use crate::log_trouble;
use delivery::CallbackLog;
use seconder::engine::operator::ShowAppKey;
use seconder::engine::{ApprovalResponse, RespondToApproval};
use seconder::keyring::Keyring;
use seconder::model::{ApprovalId, DeviceId, Secret};
use seconder::remote::Dialer;
use seconder::wire::Names;
use seconder::{CallOutcome, CallRecord, Error, Result, Scheme, Service, Settings};
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time that an operation on another machine may take.
const OPERATION: Duration = Duration::from_secs(3600);
/// The most bytes that are read of a file with a secret, more than any secret has.
const LONGEST_SECRET: u64 = 4096;

pub(crate) fn key(database: &Database, json: Json) -> Result<()> {
    if database.is_sandbox() {
        let reason = "sandbox: has another key in each process that opens it. Choose the key of \
                      `seconder serve` by --api-key-file, or read the one that it prints at start; \
                      in a program, take it from the service that was opened";
        return Err(invalid("database", reason.to_owned()));
    }
    let key = database.existing()?.operate(&ShowAppKey { app_id: None })?.api_key;
    json.print(&json!({ "api_key": key.expose() }), key.expose())
}

pub(crate) fn respond_to_approval(
    database: &Database,
    device: (DeviceId, Option<&Path>),
    uuid: ApprovalId,
    response: (ApprovalResponse, Option<String>),
    json: Json,
) -> Result<()> {
    let (device_id, file) = device;
    let service = database.existing_settings()?.events(CallbackLog).open()?;
    let device_secret = secret_from(file, "device-secret-file")?;
    let (response, number) = (response.0, response.1.map(Secret::new));
    let response = RespondToApproval { uuid, device_id, device_secret, response, number };
    let approval = service.require_engine()?.respond_to_approval(&response)?;
    let status = approval.status.name();
    json.print(&json!({ "uuid": response.uuid.as_str(), "status": status }), status)
}

impl Database {
    fn settings(&self) -> Result<Settings> {
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
    fn operated(&self, app: Option<i64>) -> Result<Option<Service>> {
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
    fn settings_at(&self, url: &str) -> Result<Settings> {
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
        if let Some(keyring) = crate::admin::owner::keyring(&file) {
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

    fn existing_settings(&self) -> Result<Settings> {
        self.require_machine()?;
        self.require_stored()?;
        #[cfg(unix)]
        crate::admin::owner::load_keyring(self)?;
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
        crate::admin::owner::become_owner(self)?;
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

impl SingleNames {
    /// Returns the names with this word for `svc`, except for names that are given; `None` if neither the word nor a
    /// name is.
    fn beside(&self, word: Option<&str>) -> Result<Option<Names>> {
        let options = [&self.push_path, &self.id_field, &self.chrome_device, &self.header_prefix];
        if word.is_none() && options.iter().all(|option| option.is_none()) {
            return Ok(None);
        }
        let mut names = word.map_or(Ok(Names::default()), Names::new)?;
        if let Some(word) = &self.push_path {
            names = names.push_path(word)?;
        }
        if let Some(field) = &self.id_field {
            names = names.id_field(field)?;
        }
        if let Some(device) = &self.chrome_device {
            names = names.chrome_device(device)?;
        }
        if let Some(prefix) = &self.header_prefix {
            names = names.header_prefix(prefix)?;
        }
        Ok(Some(names))
    }
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

/// Returns the name of the user who runs the command, for the audit: by `sudo`, the one who called it.
#[cfg(unix)]
#[allow(clippy::disallowed_methods, reason = "sudo passes the name by this variable alone")]
pub(crate) fn user_name() -> String {
    use nix::unistd::{User, getuid};
    if let Some(caller) = crate::admin::owner::caller() {
        return caller;
    }
    let by_sudo = std::env::var("SUDO_USER").ok();
    // Any text can be in a variable, but not in the audit.
    let known = by_sudo.and_then(|name| User::from_name(&name).ok().flatten());
    let user = known.or_else(|| User::from_uid(getuid()).ok().flatten());
    user.map_or_else(|| format!("uid:{}", getuid()), |user| user.name)
}

#[cfg(not(unix))]
pub(crate) fn user_name() -> String {
    "the user of the machine".to_owned()
}

/// Returns a credential of a service of systemd, if there is one of this name.
#[allow(clippy::disallowed_methods, reason = "systemd passes the folder by this variable alone")]
pub(crate) fn credential(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CREDENTIALS_DIRECTORY").filter(|folder| !folder.is_empty())?;
    Some(Path::new(&folder).join(name)).filter(|file| file.exists())
}

pub(crate) fn secret_file(parameter: &'static str, file: &Path) -> Result<Secret> {
    let opened = std::fs::File::open(file).map_err(|error| {
        invalid(parameter, format!("{} cannot be read: {error}", file.display()))
    })?;
    secret(parameter, opened)
}

/// Rejects a file with a secret that other users of this machine can read or write.
#[cfg(unix)]
pub(crate) fn check_private(
    parameter: &'static str,
    file: &Path,
    found: &std::fs::Metadata,
) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let file = file.display();
    if !found.is_file() || found.mode() & 0o077 != 0 {
        let reason = format!(
            "{file} must be a file that nobody else can read: `chmod 600 {file}`. If others may have read it, \
             replace what it holds"
        );
        return Err(invalid(parameter, reason));
    }
    if ![0, rustix::process::geteuid().as_raw()].contains(&found.uid()) {
        let reason = format!("{file} must belong to the user who runs this, or to root");
        return Err(invalid(parameter, reason));
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_private(_: &'static str, _: &Path, _: &std::fs::Metadata) -> Result<()> {
    Ok(())
}

/// Reads a secret from a file that only its owner can read.
pub(crate) fn private_file(parameter: &'static str, file: &Path) -> Result<Secret> {
    let unreadable =
        |error| invalid(parameter, format!("{} cannot be read: {error}", file.display()));
    let opened = std::fs::File::open(file).map_err(unreadable)?;
    check_private(parameter, file, &opened.metadata().map_err(unreadable)?)?;
    secret(parameter, opened)
}

/// Reads a secret from a file, or without one from standard input, which keeps it out of process listings.
pub(crate) fn secret_from(file: Option<&Path>, parameter: &'static str) -> Result<Secret> {
    match file {
        Some(file) => secret_file(parameter, file),
        None => secret("standard input", std::io::stdin().lock()),
    }
}

/// Reads a secret from the first line. The rest is ignored, so the file may end with a newline.
pub(crate) fn secret(parameter: &'static str, from: impl Read) -> Result<Secret> {
    let mut text = String::new();
    from.take(LONGEST_SECRET)
        .read_to_string(&mut text)
        .map_err(|error| invalid(parameter, format!("cannot be read: {error}")))?;
    match text.lines().next().map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => Ok(Secret::new(line)),
        None => Err(invalid(parameter, "holds no secret: the first line is empty".into())),
    }
}

/// Logs calls that a service did not carry out for a reason that the operator has to mend. Clients cause no such
/// records on purpose, and a record holds no secret.
fn trouble_with(service: &'static str) -> impl Fn(&CallRecord) + Send + Sync {
    let mend = [
        CallOutcome::Unauthorized,
        CallOutcome::Unavailable,
        CallOutcome::InvalidResponse,
        CallOutcome::Internal,
    ];
    move |record| {
        if mend.contains(&record.outcome) {
            log_trouble(&format!("{service}: {record}"));
        }
    }
}

/// Prints a result. Unlike `println!`, returns an error if standard output cannot be written; but a reader that has
/// closed the pipe, such as `head`, has all that it wants.
pub(crate) fn print(text: &str) -> Result<()> {
    print_to_reader(text).map(drop)
}

/// Prints what a reader must have for the command to go on.
pub(crate) fn print_needed(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}").map_err(|error| not_printed(&error))
}

/// Prints one of many lines. Returns whether there is still a reader: `head` has enough at some point.
pub(crate) fn print_to_reader(line: &str) -> Result<bool> {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(not_printed(&error)),
        Ok(()) => Ok(true),
    }
}

fn not_printed(error: &std::io::Error) -> Error {
    invalid("standard output", format!("cannot be written: {error}"))
}

pub(crate) fn invalid(parameter: &'static str, reason: String) -> Error {
    Error::InvalidArgument { parameter: parameter.into(), reason: reason.into() }
}

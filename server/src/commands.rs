//! The commands of the program.

use crate::{Database, Serve, log};
use seconder::engine::{
    ApplicationSettings, ApprovalResponse, Deliver, DeviceType, Message, RespondToApproval, Spool,
};
use seconder::model::{ApprovalId, DeviceId, Secret, UserId};
use seconder::wire::Names;
use seconder::{Error, Result, Service, Settings};
use seconder_server::{Server, Signal, Tls};
use std::io::{Read, Write};
use std::path::Path;

/// More bytes than any secret has. Whatever file is given, no more of it is read.
const LONGEST_SECRET: u64 = 4096;

/// The spool folder, of which the operator learns when it cannot be written.
struct LoggedSpool(Spool);

impl Deliver for LoggedSpool {
    fn deliver(&self, message: &Message) -> std::result::Result<(), String> {
        self.0.deliver(message).inspect_err(|error| {
            let last_two = message.to.get(message.to.len().saturating_sub(2)..).unwrap_or_default();
            let via = message.via.name();
            log(&format!(
                "a message by {via} to the number ending in {last_two} was lost: {error}"
            ));
        })
    }

    fn housekeep(&self) {
        self.0.housekeep();
    }
}

pub(crate) fn serve(options: Serve) -> Result<()> {
    let mut settings = options.database.settings()?;
    if let Some(path) = options.database.path() {
        settings = settings.deliver(LoggedSpool(Spool::beside(path)));
    }
    if let Some(name) = options.application_name {
        settings = settings.application_name(name);
    }
    if let Some(url) = options.callback_url {
        settings = settings.callback_url(url);
    }
    if let Some(file) = options.callback_ca_file {
        settings = settings.callback_ca_file(file);
    }
    if let Some(replies) = options.replies {
        settings = settings.replies(replies);
    }
    if let Some(link) = options.install_link {
        settings = settings.install_link(link);
    }
    let tls = match (options.certificate, options.key) {
        (Some(certificate), Some(key)) => Tls::Files { certificate, key },
        _ => Tls::SelfSigned,
    };
    let service = settings.open()?;
    let engine = service.require_engine()?;
    show(&engine.application_settings());
    if options.database.is_sandbox() && options.database.api_key_file.is_none() {
        // It protects nothing: the sandbox is for tests, and is lost with this process.
        log(&format!("API key of this sandbox: {}", engine.api_key().expose()));
    }
    let header = engine.names().api_key();
    let mut server = Server::start(service, options.listen, tls)?;
    let mut signals = server.signals()?;
    if let Some(file) = &options.certificate_out {
        write_certificate(&server, file, &header)?;
    }
    log(&format!("listening on {}", server.url()));
    loop {
        match signals.wait() {
            Signal::Reload => reload(&mut server),
            Signal::Other(name) => log(&format!("{name} is ignored")),
            _ => break,
        }
    }
    log("stopping");
    server.stop();
    log("stopped");
    Ok(())
}

fn reload(server: &mut Server) {
    log(&match server.reload() {
        Ok(true) => "SIGHUP: the certificate and its key were read again".to_owned(),
        Ok(false) => {
            "SIGHUP: the certificate is self-signed, so there is no file to read".to_owned()
        }
        Err(error) => format!("SIGHUP: the certificate stays as it was: {error}"),
    });
}

/// Shows the settings that are in effect, most of which are stored in the database.
fn show(settings: &ApplicationSettings) {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    let url = settings.callback_url.as_ref().map(ToString::to_string);
    let file = settings.callback_ca_file.as_ref().map(|file| file.display().to_string());
    let link = settings.install_link.as_ref().map(ToString::to_string);
    log(&format!("application: {}", settings.name));
    log(&format!("names: {}", settings.names));
    log(&format!("replies: {}", settings.replies.name()));
    log(&format!("token length: {}", settings.token_length));
    log(&format!("callback URL: {}", or_none(url)));
    log(&format!("callback CA file: {}", or_none(file)));
    // The file may have gone since it was stored. Users can log in without callbacks, so this is no
    // reason not to start.
    if let Some(Err(error)) = settings.callback_ca_file.as_ref().map(std::fs::File::open) {
        log(&format!(
            "warning: the callback CA file cannot be read, so callbacks will fail: {error}"
        ));
    }
    log(&format!("install link: {}", or_none(link)));
}

/// Writes the self-signed certificate to a file, and shows how clients trust it.
fn write_certificate(server: &Server, file: &Path, header: &str) -> Result<()> {
    std::fs::write(file, server.certificate_pem()).map_err(|error| {
        invalid("certificate-out", format!("{} cannot be written: {error}", file.display()))
    })?;
    let (file, url, port) = (file.display(), server.url(), server.addr().port());
    log(&format!("the self-signed certificate is in {file}; to trust it, in a client:"));
    log(&format!("  Rust    Settings::new(\"{url}\").api_key(key).ca_file(\"{file}\").open()"));
    log(&format!("  Python  seconder.open(\"{url}\", api_key=key, ca_file=\"{file}\")"));
    log(&format!(
        "  curl    curl --cacert {file} -H \"{header}: $KEY\" \
         https://localhost:{port}/protected/json/app/details"
    ));
    Ok(())
}

pub(crate) fn key(database: &Database) -> Result<()> {
    if database.is_sandbox() {
        let reason = "sandbox: has another key in each process that opens it. Choose the key of \
                      `seconder serve` by --api-key-file, or read the one that it prints at start; \
                      in a program, take it from the service that was opened";
        return Err(invalid("database", reason.to_owned()));
    }
    let service = database.existing()?;
    print(service.require_engine()?.api_key().expose())
}

pub(crate) fn register_device(database: &Database, user: UserId, kind: DeviceType) -> Result<()> {
    let device = database.existing()?.require_engine()?.register_device(user, kind)?;
    print(&format!("device_id {}\nsecret {}", device.device_id, device.secret.expose()))
}

pub(crate) fn respond_to_approval(
    database: &Database,
    device: (DeviceId, Option<&Path>),
    uuid: ApprovalId,
    response: ApprovalResponse,
) -> Result<()> {
    let (device_id, file) = device;
    let service = database.existing()?;
    let device_secret = match file {
        Some(file) => secret_file("device-secret-file", file)?,
        None => secret("standard input", std::io::stdin().lock())?,
    };
    let response = RespondToApproval { uuid, device_id, device_secret, response };
    let approval = service.require_engine()?.respond_to_approval(&response)?;
    print(approval.status.name())
}

impl Database {
    fn settings(&self) -> Result<Settings> {
        let settings = match self.names()? {
            Some(names) => Settings::new(&self.url).names(names),
            None => Settings::new(&self.url),
        };
        Ok(match &self.api_key_file {
            Some(file) => settings.api_key(secret_file("api-key-file", file)?.expose()),
            None => settings,
        })
    }

    /// The names that the options give; `None` if there is no such option.
    fn names(&self) -> Result<Option<Names>> {
        let options = [
            &self.names,
            &self.push_path,
            &self.id_field,
            &self.chrome_device,
            &self.header_prefix,
        ];
        if options.iter().all(|option| option.is_none()) {
            return Ok(None);
        }
        let mut names = self.names.as_deref().map_or(Ok(Names::default()), Names::new)?;
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

    /// The file of a database that is one.
    fn path(&self) -> Option<&Path> {
        let path = self.url.strip_prefix("sqlite:")?;
        Some(Path::new(path.strip_prefix("//").unwrap_or(path)))
    }

    fn is_sandbox(&self) -> bool {
        self.url.starts_with("sandbox:")
    }

    /// Opens a database that must exist: a mistyped name would otherwise create an empty one.
    fn existing(&self) -> Result<Service> {
        if self.is_sandbox() {
            let reason = "sandbox: is in the memory of the process that serves it, where no other \
                          process can reach it";
            return Err(invalid("database", reason.to_owned()));
        }
        if !self.url.starts_with("sqlite:") {
            return Err(invalid("database", "must be sqlite:/path/file.db".to_owned()));
        }
        self.settings()?.must_exist(true).open()
    }
}

fn secret_file(parameter: &'static str, file: &Path) -> Result<Secret> {
    let opened = std::fs::File::open(file).map_err(|error| {
        invalid(parameter, format!("{} cannot be read: {error}", file.display()))
    })?;
    secret(parameter, opened)
}

/// Reads a secret from the first line. The rest is ignored, so the file may end with a newline.
fn secret(parameter: &'static str, from: impl Read) -> Result<Secret> {
    let mut text = String::new();
    from.take(LONGEST_SECRET)
        .read_to_string(&mut text)
        .map_err(|error| invalid(parameter, format!("cannot be read: {error}")))?;
    match text.lines().next().map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => Ok(Secret::new(line)),
        None => Err(invalid(parameter, "holds no secret: the first line is empty".into())),
    }
}

/// Prints a result. Unlike `println!`, returns an error if standard output cannot be written.
fn print(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| invalid("standard output", format!("cannot be written: {error}")))
}

fn invalid(parameter: &'static str, reason: String) -> Error {
    Error::InvalidArgument { parameter: parameter.into(), reason: reason.into() }
}

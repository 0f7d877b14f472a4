//! The commands of the program.

use crate::{Database, Serve, log};
use seconder::engine::{ApprovalResponse, DeviceType, RespondToApproval};
use seconder::model::{ApprovalId, DeviceId, Secret, UserId};
use seconder::wire::Names;
use seconder::{Error, Result, Service, Settings};
use seconder_server::{Server, Tls};
use std::io::{Read, Write};
use std::path::Path;

/// More bytes than any secret has. Whatever file is given, no more of it is read.
const LONGEST_SECRET: u64 = 4096;

pub(crate) fn serve(options: Serve) -> Result<()> {
    let mut settings = options.database.settings()?;
    if let Some(name) = options.application_name {
        settings = settings.application_name(name);
    }
    if let Some(url) = options.callback_url {
        settings = settings.callback_url(url);
    }
    let tls = match (options.certificate, options.key) {
        (Some(certificate), Some(key)) => Tls::Files { certificate, key },
        _ => Tls::SelfSigned,
    };
    let service = settings.open()?;
    let header = service.require_engine()?.names().api_key();
    let server = Server::start(service, options.listen, tls)?;
    if let Some(file) = &options.certificate_out {
        write_certificate(&server, file, &header)?;
    }
    log(&format!("listening on {}", server.url()));
    server.wait_for_signal()?;
    log("stopping");
    server.stop();
    log("stopped");
    Ok(())
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
    let service = database.settings()?.open()?;
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
        let mut names = Names::new(&self.names)?.push_path(&self.push_path)?;
        if let Some(field) = &self.id_field {
            names = names.id_field(field)?;
        }
        if let Some(device) = &self.chrome_device {
            names = names.chrome_device(device)?;
        }
        if let Some(prefix) = &self.header_prefix {
            names = names.header_prefix(prefix)?;
        }
        let settings = Settings::new(&self.url).names(names);
        Ok(match &self.api_key_file {
            Some(file) => settings.api_key(secret_file("api-key-file", file)?.expose()),
            None => settings,
        })
    }

    /// Opens a database that must exist: a mistyped name would otherwise create an empty one.
    fn existing(&self) -> Result<Service> {
        let path = self.url.strip_prefix("sqlite:");
        match path.map(|path| path.strip_prefix("//").unwrap_or(path)) {
            Some(path) if !Path::new(path).exists() => {
                Err(invalid("database", format!("{path} does not exist")))
            }
            _ => self.settings()?.open(),
        }
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

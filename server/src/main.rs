//! The program `seconder`: serves two-factor authentication over HTTPS, and manages its database.

mod commands;
#[cfg(test)]
mod manual;

use clap::{Args, Parser, Subcommand};
use seconder::engine::{ApprovalResponse, DeviceType};
use seconder::model::{ApprovalId, DeviceId, UserId};
use seconder::wire::Generation;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a two-factor authentication service and manage its database.
#[derive(Parser)]
#[command(name = "seconder", version, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service over HTTPS until SIGTERM, SIGQUIT or Ctrl-C, which let calls in progress finish
    /// within 10 seconds. SIGHUP reads the files of --certificate and --key again, for clients that
    /// connect after that; SIGUSR1, SIGUSR2, SIGALRM and SIGIO are logged, and have no effect.
    Serve(Serve),
    /// Print the application's API key, which clients present. The database must exist: `seconder
    /// serve` creates it.
    Key(Database),
    /// Manage the devices that respond to approval requests.
    #[command(subcommand)]
    Device(Device),
    /// Manage approval requests.
    #[command(subcommand)]
    Approval(Approval),
}

#[derive(Args)]
struct Database {
    /// Database to open: sqlite:/path/file.db, or sandbox: for one in memory that accepts every
    /// code; sandbox:?clear_every=86400 is also emptied every day.
    #[arg(long = "database", value_name = "URL", default_value = "sqlite:seconder.db")]
    url: String,
    /// File with the API key of the application; without it, a new database gets a generated key,
    /// which `seconder key` prints.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Word that clients use for `svc` in the names of headers, fields and devices: with `acme`,
    /// the API key is in X-Acme-API-Key and a user's id in acme_id. A new database keeps its names;
    /// of the options for names, an existing one accepts none or all that lead to its own.
    #[arg(long, value_name = "WORD")]
    names: Option<String>,
    /// Field that holds a user's id, such as svc_id; overrides --names.
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// Device type of the browser, such as svc_chrome; overrides --names.
    #[arg(long, value_name = "NAME")]
    chrome_device: Option<String>,
    /// Prefix of the header names, such as X-Svc-; overrides --names.
    #[arg(long, value_name = "PREFIX")]
    header_prefix: Option<String>,
    /// First part of the paths of approval requests, in place of push.
    #[arg(long, value_name = "WORD")]
    push_path: Option<String>,
}

#[derive(Args)]
struct Serve {
    #[command(flatten)]
    database: Database,
    /// Address and port to listen on; port 0 selects a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// Generate a self-signed certificate for localhost at each start, for development.
    #[arg(
        long,
        required_unless_present = "certificate",
        conflicts_with_all = ["certificate", "key"]
    )]
    self_signed: bool,
    /// File to write the self-signed certificate to, for the setting ca_file of clients; by default
    /// seconder-certificate.pem.
    #[arg(
        long,
        value_name = "FILE",
        requires = "self_signed",
        default_value_if("self_signed", "true", "seconder-certificate.pem")
    )]
    certificate_out: Option<PathBuf>,
    /// PEM file with the server's certificate, followed by the intermediate certificates that lead
    /// to a trusted authority.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// PEM file with the private key of the certificate.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Name of the application in messages and authenticator apps; by default the one stored in the
    /// database, or Seconder in a new one.
    #[arg(long, value_name = "NAME")]
    application_name: Option<String>,
    /// URL that callbacks with the responses to approval requests are posted to: https:, or http:
    /// on this machine; '' for none; by default the one stored in the database, if any.
    #[arg(long, value_name = "URL")]
    callback_url: Option<String>,
    /// PEM file with the authorities to trust when callbacks are posted, instead of the system's; ''
    /// for none; by default the one stored in the database, if any.
    #[arg(long, value_name = "FILE")]
    callback_ca_file: Option<String>,
    /// Generation of the bodies to reply with: current, or older for clients of 2012 that read
    /// `success` as text; by default the one stored in the database, or current in a new one.
    #[arg(long, value_name = "GENERATION")]
    replies: Option<Generation>,
    /// Link to the app that a new user receives by SMS, an https: URL; '' for none; by default the one
    /// stored in the database, if any.
    #[arg(long, value_name = "URL")]
    install_link: Option<String>,
}

#[derive(Subcommand)]
enum Device {
    /// Register a device for a user, and print its id and the secret that authenticates it; the
    /// secret is shown only once.
    Register {
        #[command(flatten)]
        database: Database,
        /// Id of the user.
        #[arg(long, value_name = "ID")]
        user: UserId,
        /// Type of the device: android, android_tablet, ios or svc_chrome.
        #[arg(long = "type", value_name = "TYPE")]
        kind: DeviceType,
    },
}

#[derive(Subcommand)]
enum Approval {
    /// Respond to an approval request as a device. The secret of the device is read from standard
    /// input, which keeps it out of process listings.
    Respond {
        #[command(flatten)]
        database: Database,
        /// Id of the device.
        #[arg(long, value_name = "ID")]
        device: DeviceId,
        /// UUID of the approval request.
        #[arg(long)]
        uuid: ApprovalId,
        /// Response to give: approve, deny, or report (not me), which also snoozes further requests
        /// to the user for 5 minutes.
        #[arg(long)]
        response: ApprovalResponse,
        /// File with the secret of the device, instead of standard input.
        #[arg(long, value_name = "FILE")]
        device_secret_file: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let result = match Program::parse().command {
        Command::Serve(serve) => commands::serve(serve),
        Command::Key(database) => commands::key(&database),
        Command::Device(Device::Register { database, user, kind }) => {
            commands::register_device(&database, user, kind)
        }
        Command::Approval(Approval::Respond {
            database,
            device,
            uuid,
            response,
            device_secret_file,
        }) => {
            let file = device_secret_file.as_deref();
            commands::respond_to_approval(&database, (device, file), uuid, response)
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes a line to standard error. Errors are ignored: a closed standard error is no reason to
/// stop serving.
fn log(line: &str) {
    let _ = writeln!(std::io::stderr(), "seconder: {line}");
}

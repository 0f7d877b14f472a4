//! The program `seconder`: the two-factor service behind HTTPS, and its administration.

mod commands;
#[cfg(test)]
mod manual;

use clap::{Args, Parser, Subcommand};
use seconder::engine::{ApprovalResponse, DeviceType};
use seconder::model::{ApprovalId, DeviceId, UserId};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

/// The second factor of a login: runs the service, and looks after its database.
#[derive(Parser)]
#[command(name = "seconder", version, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the service behind HTTPS until SIGTERM or Ctrl-C.
    Serve(Serve),
    /// Prints the application's API key, which clients of the service present. Makes the database
    /// if there is none.
    Key(Database),
    /// Looks after the devices that answer approval requests.
    #[command(subcommand)]
    Device(Device),
    /// Looks after approval requests.
    #[command(subcommand)]
    Approval(Approval),
}

#[derive(Args)]
struct Database {
    /// The database: sqlite:/path/file.db, or sandbox: for one that forgets and takes every code.
    #[arg(long = "database", value_name = "URL", default_value = "sqlite:seconder.db")]
    url: String,
    /// A file with the API key to give to the application of a new database. Without it a key is
    /// made, and `seconder key` prints it.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// What clients know as `svc` in the names of headers, fields and devices: with `acme`, the key
    /// is in X-Acme-API-Key and a user is an acme_id.
    #[arg(long, value_name = "WORD", default_value = "svc")]
    names: String,
    /// The field that names a user, where it does not follow from --names.
    #[arg(long, value_name = "NAME")]
    id_field: Option<String>,
    /// The browser among the devices, where it does not follow from --names.
    #[arg(long, value_name = "NAME")]
    chrome_device: Option<String>,
    /// What the headers' names begin with, where it does not follow from --names.
    #[arg(long, value_name = "PREFIX")]
    header_prefix: Option<String>,
    /// The first part of the paths of approval requests.
    #[arg(long, value_name = "WORD", default_value = "push")]
    push_path: String,
}

#[derive(Args)]
struct Serve {
    #[command(flatten)]
    database: Database,
    /// The address and port to listen on; port 0 takes any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// Makes a certificate for localhost at each start, for development.
    #[arg(long, required_unless_present = "certificate", conflicts_with_all = ["certificate", "key"])]
    self_signed: bool,
    /// Where the self-signed certificate is written, for the ca_file of clients.
    #[arg(
        long,
        value_name = "FILE",
        requires = "self_signed",
        default_value_if("self_signed", "true", "seconder-certificate.pem")
    )]
    certificate_out: Option<PathBuf>,
    /// The certificates in PEM: the server's, then those that lead to a trusted authority.
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// The application's name in messages and authenticator apps.
    #[arg(long, value_name = "NAME")]
    application_name: Option<String>,
    /// Where answers to approval requests are posted: an https: URL, or an http: one of this
    /// machine.
    #[arg(long, value_name = "URL")]
    callback_url: Option<String>,
}

#[derive(Subcommand)]
enum Device {
    /// Registers a device for a user, and prints its id and the secret it proves itself with. The
    /// secret is shown this once.
    Register {
        #[command(flatten)]
        database: Database,
        /// The user's id.
        #[arg(long, value_name = "ID")]
        user: UserId,
        /// android, android_tablet, ios or svc_chrome.
        #[arg(long = "type", value_name = "TYPE")]
        kind: DeviceType,
    },
}

#[derive(Subcommand)]
enum Approval {
    /// Answers an approval request as a device would. The device's secret is read from standard
    /// input, so that no list of processes shows it.
    Respond {
        #[command(flatten)]
        database: Database,
        /// The device's id.
        #[arg(long, value_name = "ID")]
        device: DeviceId,
        /// The approval request.
        #[arg(long)]
        uuid: ApprovalId,
        /// approve, deny or report (not me).
        #[arg(long)]
        response: ApprovalResponse,
        /// Reads the device's secret from a file instead.
        #[arg(long, value_name = "FILE")]
        device_secret_file: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let done = match Program::parse().command {
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
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Tells the operator; that nobody reads it is no reason to end.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "seconder: {line}");
}

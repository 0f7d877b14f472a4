//! The program `seconder`: serves two-factor authentication, and manages its database.

mod admin;
use admin::database::Database;
use admin::input::prompt::Sure;
use admin::output::exit::Exit;
use admin::output::table::Json;
use admin::serve::options::Serve;
#[cfg(unix)]
use admin::serve::options::{Relay, Reload};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use seconder::{Error, Result};
use seconder_server::{Entry, Level, Logger};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Run a two-factor authentication service and manage its database.
#[derive(Parser)]
#[command(name = "seconder", version, arg_required_else_help = true, max_term_width = 100)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service until a signal stops it.
    ///
    /// It serves over HTTPS or for the processes of this machine. SIGTERM, SIGQUIT and Ctrl-C stop it, and let
    /// calls in progress finish within 10 seconds. SIGHUP reads the configuration file, and the files that it
    /// names, again: `seconder reload`. The files of --certificate and --key are also read a few seconds after
    /// they have changed; SIGUSR1, SIGUSR2, SIGALRM and SIGIO are logged, and have no effect.
    Serve(Box<Serve>),
    /// Set up a service: its configuration file, database and keyring.
    ///
    /// It writes a configuration file with every setting explained, and creates the database that it names, and
    /// its keyring. At a terminal, it asks for what is not given. After an error there is no configuration file,
    /// and the same command can be run again. If the folder of the database belongs to another user, root
    /// creates the database as that user.
    #[cfg(unix)]
    Init(admin::init::Init),
    /// Have a running service read its configuration file again.
    ///
    /// It also reads the texts, the certificate and its key again, and prints what became of it: which settings
    /// have changed, and which need a restart. With a file that is not valid, nothing changes, and this fails.
    #[cfg(unix)]
    Reload(Reload),
    /// Pass calls of processes of this machine on to a remote service.
    ///
    /// The relay has the API key, which those processes need not know. Signals have the same effects as with
    /// `seconder serve`.
    #[cfg(unix)]
    Relay(Relay),
    /// Check what the service depends on, and print what to do.
    ///
    /// It checks the database, its keyring, the clock, routes and messages, limits, the disk and the
    /// certificate. It fails if a check has failed; what is only to be looked at is a warning. Services go on
    /// meanwhile.
    Doctor(admin::doctor::Doctor),
    /// Check a database file, and remove what has expired.
    ///
    /// It also gives back the space of the file's log. Services go on meanwhile. It fails if the file is
    /// damaged. Run it every week, and with --full before the oldest backup is removed. A database on a server
    /// is checked and vacuumed by the server.
    Maintain(admin::maintain::Options),
    /// Print the application's API key, which clients present.
    ///
    /// The database must exist: `seconder serve` creates it.
    Key {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        json: Json,
    },
    /// Manage the applications of a database.
    ///
    /// Each has users, settings and an API key of its own. Without --app, these commands are for the first one.
    #[command(subcommand)]
    App(admin::app::Command),
    /// Copy a database into a new file.
    ///
    /// Services go on meanwhile. The copy is readable by its owner alone, is of one moment, checked, and on disk
    /// when the command ends; after an error, there is none.
    Backup {
        #[command(flatten)]
        database: Database,
        /// File to create.
        #[arg(value_name = "FILE")]
        to: PathBuf,
        #[command(flatten)]
        json: Json,
    },
    /// Put a copy of a database in its place.
    ///
    /// Stop every process that uses the database first. The copy is checked first, and stays. Codes that may
    /// have been used since it was made are spent, as by `seconder spend-codes`.
    Restore {
        #[command(flatten)]
        database: Database,
        /// Replace a database that exists. It is lost, so make a copy of it first.
        #[arg(long)]
        replace: bool,
        /// Copy to restore.
        #[arg(value_name = "FILE")]
        copy: PathBuf,
        #[command(flatten)]
        json: Json,
    },
    /// Spend codes that may have been used since a backup.
    ///
    /// It spends what may have been used after the copy was made that a database was restored from: codes of
    /// authenticator apps up to now, codes by SMS and voice, open approval requests, and remembered browsers. A
    /// database file that was put back is recognised and needs no command; this one is for a file system or a
    /// whole machine that was set back.
    SpendCodes {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        sure: Sure,
        #[command(flatten)]
        json: Json,
    },
    /// Take over the users of another service, with their ids.
    ///
    /// The file has JSON lines or CSV, one user in each line. Users who are here already stay as they are, so an
    /// import that was interrupted is resumed by the same command. Lines that are wrong are reported and left
    /// out. The database must exist: `seconder serve` creates it. docs/migrate.md describes the fields.
    Import(admin::moving::Import),
    /// Write all users to a new file, which `seconder import` reads.
    ///
    /// Services go on meanwhile: a user who changes during the export is in it as before or after the change.
    Export(admin::moving::Export),
    /// Manage the move of an application from another service.
    ///
    /// `seconder serve --forward` passes calls on to that service for users who are not here yet.
    #[command(subcommand)]
    Forward(admin::forward::Command),
    /// Manage users, their login names on machines, and their recovery codes.
    #[command(subcommand)]
    User(admin::user::User),
    /// Enrol an authenticator app at a terminal.
    ///
    /// It shows a new key as a QR code, checks a code of the app, and prints recovery codes. A user runs it
    /// after a first login, and root for any user. Only root enrols an app for an account that anything protects
    /// already. Until a code of the new key was accepted, nothing has changed, so Ctrl-C leaves the earlier app
    /// valid.
    Enrol(admin::enrol::Enrol),
    /// Manage the keys that seal the secrets in a database.
    #[command(subcommand)]
    Keyring(admin::keyring::Command),
    /// Manage the routes of messages: the gateways of providers.
    #[command(subcommand)]
    Route(admin::route::Command),
    /// Manage the provider that looks phone numbers up.
    ///
    /// `seconder serve` asks it for the carrier of a number, its type, and whether it was ported.
    #[command(subcommand)]
    Lookup(admin::lookup::Command),
    /// Manage the messages and callbacks that are to be sent.
    ///
    /// They are those that wait for an attempt or are being attempted, those that failed, and those that
    /// providers have accepted. No code is among it, and numbers are masked.
    #[command(subcommand)]
    Jobs(admin::jobs::Command),
    /// Be a device that responds to approval requests.
    #[command(subcommand)]
    Device(admin::device::Command),
    /// Manage approval requests.
    #[command(subcommand)]
    Approval(admin::approval::Command),
    /// Print or change the limits of messages, guesses and requests.
    ///
    /// Without arguments, it prints the limits of the application, each with its default and its range. `seconder
    /// serve` applies those that are changed within seconds, other programs when they open the database again. One
    /// that `--limit` of `seconder serve` sets too is set again when that starts again.
    Limits(admin::limits::Options),
    /// Manage the operators of a service, each with a token and a role.
    #[command(subcommand)]
    Operator(admin::operator::Command),
    /// Print what the engine has decided, the latest first.
    ///
    /// Each line is a decision: which codes were right and wrong, what was sent and refused, which limit was
    /// reached, and changes of what protects accounts. No code and no secret is among it, and numbers are
    /// masked.
    Audit(admin::audit::Audit),
    /// Make a call of the interface, and print the reply as JSON.
    ///
    /// Each parameter of the call is an option with its name, and seconder-interface(7) explains them. A code is
    /// read from a file: `seconder call verify --user 7 --token-file -`. A call that checks a code, a verification
    /// or a browser exits with status 1 unless it is right. The calls that are not listed here have commands of
    /// their own, such as `seconder user create`.
    Call(Box<admin::call::Given>),
    /// Look after configuration files.
    #[command(subcommand)]
    Config(admin::config::Config),
    /// Check the configuration of pam_seconder and seconder-login.
    ///
    /// It prints everything that is wrong with it, or what is in effect, and whether the service replies. Run it
    /// as root, and with --as for a program that does not run as root: files of the user who runs it are trusted
    /// too.
    CheckPam(admin::pam::Check),
    /// Print the completions of commands and options for a shell.
    ///
    /// They are for the folder of completions of the shell, such as /usr/share/bash-completion/completions.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

fn main() -> ExitCode {
    let ended = match admin::config::command() {
        Ok(Ok(program)) => run(program.command),
        Ok(Err(usage)) => {
            // What cannot be written has no other place.
            drop(usage.print());
            Ok(if usage.use_stderr() { Exit::Misused } else { Exit::Done })
        }
        Err(error) => Err(error),
    };
    let ended = ended.unwrap_or_else(|error| {
        log(&format!("error: {}", advised(error.to_string())));
        Exit::Failed
    });
    if let Some(logger) = LOGGER.get() {
        logger.flush();
    }
    ended.into()
}

/// Returns the text of an error, with what to do if the command has become another user.
fn advised(error: String) -> String {
    #[cfg(unix)]
    let error = error.clone() + &admin::database::owner::advice(&error).unwrap_or_default();
    error
}

fn run(command: Command) -> Result<Exit> {
    let done = match command {
        Command::Call(call) => return admin::call::run(*call),
        Command::Serve(serve) => admin::serve::serve(*serve),
        #[cfg(unix)]
        Command::Init(options) => admin::init::run(&options),
        #[cfg(unix)]
        Command::Reload(reload) => admin::reload::run(&reload),
        #[cfg(unix)]
        Command::Relay(relay) => admin::relay::relay(relay),
        Command::App(command) => admin::app::run(command),
        Command::Doctor(options) => return admin::doctor::run(&options),
        Command::Maintain(options) => admin::maintain::run(&options),
        Command::Key { database, json } => admin::key::run(&database, json),
        Command::Backup { database, to, json } => admin::backups::backup(&database, &to, json),
        Command::Restore { database, replace, copy, json } => {
            admin::backups::restore(&database, replace, &copy, json)
        }
        Command::SpendCodes { database, sure, json } => {
            admin::backups::spend_codes(&database, sure, json)
        }
        Command::Import(options) => admin::moving::import(&options),
        Command::Export(options) => admin::moving::export(&options),
        Command::Forward(command) => admin::forward::run(command),
        Command::User(command) => admin::user::run(command),
        Command::Keyring(command) => admin::keyring::run(command),
        Command::Enrol(options) => admin::enrol::run(&options),
        Command::Route(command) => admin::route::run(command),
        Command::Lookup(command) => admin::lookup::run(command),
        Command::Audit(options) => admin::audit::run(&options),
        Command::Jobs(command) => admin::jobs::run(command),
        Command::Device(command) => admin::device::run(command),
        Command::Config(config) => admin::config::run(config),
        Command::CheckPam(check) => admin::pam::run(&check),
        Command::Completions { shell } => completions(shell),
        Command::Approval(command) => admin::approval::run(command),
        Command::Limits(options) => admin::limits::run(&options),
        Command::Operator(command) => admin::operator::run(command),
    };
    done.map(|()| Exit::Done)
}

fn completions(shell: Shell) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Program::command(), "seconder", &mut text);
    admin::output::print(String::from_utf8_lossy(&text).trim_end())
}

/// The log of a command that serves.
static LOGGER: OnceLock<Logger> = OnceLock::new();

/// Logs a line, which begins with `error: ` or `warning: ` if it is one: see [`Level`]. Commands that do not serve write it
/// to standard error, as text; there, errors are ignored.
fn log(line: &str) {
    match LOGGER.get() {
        Some(logger) => logger.log(Entry::reported(line, Level::Info)),
        None => {
            let line = line.strip_prefix("info: ").unwrap_or(line);
            drop(writeln!(std::io::stderr(), "seconder: {line}"));
        }
    }
}

/// Logs a line that is a warning, unless it begins with `error: ` or `info: `.
fn log_trouble(line: &str) {
    match LOGGER.get() {
        Some(logger) => logger.log(Entry::reported(line, Level::Warning)),
        None => log(line),
    }
}

fn invalid(parameter: &'static str, reason: String) -> Error {
    Error::InvalidArgument { parameter: parameter.into(), reason: reason.into() }
}

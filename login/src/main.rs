//! The program `seconder-login`: the second factor of a login, for daemons and scripts without PAM.

#[cfg(test)]
mod manual;
mod streams;
mod syslog;

use clap::Parser;
use clap::error::ErrorKind;
use seconder_login::config::{DEFAULT_FILE, Sources};
use seconder_login::terminal::{StandardError, Terminal};
use seconder_login::{
    Conversation, EXIT_STATUSES, Journal, Login, Nobody, Outcome, exit_status,
    log_in_as_configured, run_command,
};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use streams::{OneCode, Programs};
use syslog::Syslog;

/// Ask a user for the second factor of a login. The exit status is the verdict; only 0 means that the
/// user may log in.
#[derive(Parser)]
#[command(name = "seconder-login", version, after_help = statuses())]
struct Program {
    /// Login name of the user.
    name: String,
    /// Configuration to read: see seconder-pam.conf(5).
    #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
    conf: PathBuf,
    /// Key of the configuration to override, as KEY=VALUE. May be given more than once.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Address of the machine that the user comes from: for trusted_networks, the user's phone and the
    /// log.
    #[arg(long, value_name = "ADDRESS")]
    remote: Option<String>,
    /// Name of the program that the user logs in with, for the user's phone and the log.
    #[arg(long = "program", value_name = "PROGRAM", default_value = "seconder-login")]
    asked_by: String,
    /// Read the code, or a choice such as `push`, as one line from standard input, instead of asking on
    /// the terminal. The user is not asked again.
    #[arg(long, conflicts_with = "json")]
    code_from_stdin: bool,
    /// Ask on standard output and read the answers from standard input, both as one JSON object in a
    /// line: {"ask":"Code: ","echo":false} is answered by {"answer":"123456"}, or by {} for no
    /// answer; {"show":"The code is wrong.","style":"error"} is not answered; and
    /// {"outcome":"accepted","status":0} is the last.
    #[arg(long)]
    json: bool,
    /// How long to wait for each line of standard input.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    answer_timeout: u64,
    /// Write errors, and the line for each login, to syslog, facility authpriv, instead of standard
    /// error.
    #[arg(long)]
    syslog: bool,
}

/// The exit status if there was no dialogue: an option is invalid, or printed something.
const NO_VERDICT: u8 = 2;

fn main() -> ExitCode {
    let program = match Program::try_parse() {
        Ok(program) => program,
        Err(error) => return explain(&error),
    };
    let within = Duration::from_secs(program.answer_timeout);
    let mut journal: Box<dyn Journal> = match program.syslog {
        true => Box::new(Syslog::open("seconder-login")),
        false => Box::new(StandardError::new("seconder-login")),
    };
    let journal = &mut *journal;
    let outcome = match (program.json, program.code_from_stdin) {
        (true, _) => {
            let mut programs = Programs { within };
            let outcome = program.log_in(&mut programs, journal);
            programs.end(outcome);
            outcome
        }
        (false, true) => program.log_in(&mut OneCode::read(within), journal),
        (false, false) => match Terminal::open() {
            Ok(mut terminal) => program.log_in(&mut terminal, journal),
            Err(_) => program.log_in(&mut Nobody, journal),
        },
    };
    ExitCode::from(exit_status(outcome))
}

/// Prints the errors in the options, or the text that they ask for. A login name that begins with a dash may be an
/// option, such as `--help`, so this is never success.
fn explain(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // The status surprises users of other programs.
        let _ =
            writeln!(std::io::stderr(), "seconder-login: nobody was asked: status {NO_VERDICT}");
    }
    ExitCode::from(NO_VERDICT)
}

impl Program {
    fn log_in(&self, user: &mut dyn Conversation, journal: &mut dyn Journal) -> Outcome {
        let login = Login {
            user: &self.name,
            remote: self.remote.as_deref(),
            program: &self.asked_by,
            answered: self.code_from_stdin,
            run_command: Some(run_command),
            ..Login::default()
        };
        let arguments: Vec<&str> = self.set.iter().map(String::as_str).collect();
        log_in_as_configured(&Sources::new(&self.conf, &arguments), &login, user, journal)
    }
}

/// Returns the table of the exit statuses.
fn statuses() -> String {
    let rows = EXIT_STATUSES.iter().map(|(status, text)| format!("  {status:>2}  {text}\n"));
    format!("Exit status:\n{}", rows.collect::<String>())
}

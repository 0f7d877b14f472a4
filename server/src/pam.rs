//! `seconder pam check`: what pam_seconder would do, at a terminal.

use crate::log;
use clap::{Args, Subcommand};
use seconder::calls::UserStatus;
use seconder::{Error, Handle, Result, Service};
use seconder_login::config::{Config, DEFAULT_FILE, count};
use seconder_login::terminal::{StandardError, Terminal};
use seconder_login::{Login, Nobody, Outcome, log_in_with};
use std::io::Write;
use std::path::PathBuf;

#[derive(Subcommand)]
pub(crate) enum Pam {
    /// Check the configuration of pam_seconder and seconder-login: print everything that is wrong with
    /// it, or what is in effect, and whether the service replies. Run it as root: files of the user
    /// who runs it are trusted too.
    Check(Check),
}

#[derive(Args)]
pub(crate) struct Check {
    /// Configuration to check: see seconder-pam.conf(5).
    #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
    conf: PathBuf,
    /// Login name of a user to log in, on this terminal. It is a real login, except that nothing
    /// follows from it: a code is used up.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Address that the user comes from.
    #[arg(long, value_name = "ADDRESS", requires = "user")]
    remote: Option<String>,
    /// Arguments of the module, as in the files of /etc/pam.d.
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

pub(crate) fn run(pam: &Pam) -> Result<()> {
    let Pam::Check(check) = pam;
    let arguments: Vec<&str> = check.arguments.iter().map(String::as_str).collect();
    let read = Config::read(&check.conf, &arguments).and_then(|config| {
        config.check_users()?;
        Ok(config)
    });
    let config = read.map_err(|problems| {
        problems.iter().for_each(|problem| log(&problem.to_string()));
        invalid("conf", format!("has {}: nobody can log in", count(&problems)))
    })?;
    for (key, value, place) in config.effective() {
        print(&format!("{key} = {value}    # {place}"))?;
    }
    let service = config.open()?;
    reach(&service)?;
    print("The service replies.")?;
    match &check.user {
        Some(user) => log_in(&config, &service, user, check.remote.as_deref()),
        None => Ok(()),
    }
}

/// Makes a call that every login process may make. That there is no such user is a reply too.
fn reach(service: &Service) -> Result<()> {
    match service.handle(&UserStatus::new(1.try_into()?)) {
        Ok(_) | Err(Error::Rejected(_) | Error::RateLimited { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn log_in(config: &Config, service: &Service, user: &str, remote: Option<&str>) -> Result<()> {
    let login = Login { user, remote, program: "seconder-pam-check", ..Login::default() };
    let mut journal = StandardError::new("seconder");
    let outcome = match Terminal::open() {
        Ok(mut terminal) => log_in_with(config, service, &login, &mut terminal, &mut journal),
        Err(_) => log_in_with(config, service, &login, &mut Nobody, &mut journal),
    };
    match outcome {
        Outcome::Accepted => print("Accepted."),
        Outcome::Excepted | Outcome::Ignored => {
            print("Not accepted: PAM goes on as if the module were not there.")
        }
        outcome => Err(invalid("user", format!("may not log in: {}", outcome.text()))),
    }
}

fn print(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| invalid("standard output", format!("cannot be written: {error}")))
}

fn invalid(parameter: &'static str, reason: String) -> Error {
    Error::InvalidArgument { parameter: parameter.into(), reason: reason.into() }
}

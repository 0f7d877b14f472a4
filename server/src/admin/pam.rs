//! `seconder check-pam`: the dialogue of pam_seconder, at a terminal.

use crate::admin::output::print;
use crate::{invalid, log};
use clap::Args;
use nix::errno::Errno;
use nix::unistd::{User, getgrouplist, setgid, setgroups, setuid};
use seconder::calls::UserStatus;
use seconder::{Error, Handle, Result, Service};
use seconder_login::config::{Config, DEFAULT_FILE, Sources, count};
use seconder_login::terminal::{StandardError, Terminal};
use seconder_login::{Login, Nobody, Outcome, log_in_with, run_command};
use std::ffi::CString;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Check {
    /// Configuration to check: see seconder-pam.conf(5).
    #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
    conf: PathBuf,
    /// Login name of a user to log in, on this terminal. It is a real login, except that nothing
    /// follows from it: a code is used up.
    #[arg(long, value_name = "NAME")]
    login: Option<String>,
    /// Address that the user comes from.
    #[arg(long, value_name = "ADDRESS", requires = "login")]
    remote: Option<String>,
    /// User with whose rights to check: that of a program that does not run as root, such as `freerad`
    /// for FreeRADIUS. Only root can say this.
    #[arg(long = "as", value_name = "USER")]
    acting: Option<String>,
    /// Arguments of the module, as in the files of /etc/pam.d.
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

pub(crate) fn run(check: &Check) -> Result<()> {
    if let Some(user) = &check.acting {
        act_as(user)?;
    }
    let arguments: Vec<&str> = check.arguments.iter().map(String::as_str).collect();
    let read = Config::read(&Sources::new(&check.conf, &arguments)).and_then(|config| {
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
    match &check.login {
        Some(user) => log_in(&config, &service, user, check.remote.as_deref()),
        None => Ok(()),
    }
}

/// Gives up the rights of root for the rights of a user, with the groups that the user has.
fn act_as(name: &str) -> Result<()> {
    let wrong = |reason: String| invalid("as", reason);
    let user = User::from_name(name).map_err(|error| wrong(error.to_string()))?;
    let user = user.ok_or_else(|| wrong(format!("{name} is no user of this machine")))?;
    let become_user = || {
        let name = CString::new(name).map_err(|_| Errno::EINVAL)?;
        setgroups(&getgrouplist(&name, user.gid)?)?;
        setgid(user.gid)?;
        setuid(user.uid)
    };
    become_user().map_err(|error| match error {
        Errno::EPERM => wrong(format!("{name} needs the rights of root: run it as root")),
        error => wrong(format!("{name}: {error}")),
    })
}

/// Makes a call that every login process may make. The error that there is no such user is a reply too.
fn reach(service: &Service) -> Result<()> {
    match service.handle(&UserStatus::new(1.try_into()?)) {
        Ok(_) | Err(Error::Rejected(_) | Error::RateLimited { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn log_in(config: &Config, service: &Service, user: &str, remote: Option<&str>) -> Result<()> {
    let login = Login {
        user,
        remote,
        program: "seconder-pam-check",
        run_command: Some(run_command),
        ..Login::default()
    };
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
        outcome => Err(invalid("login", format!("may not log in: {}", outcome.text()))),
    }
}

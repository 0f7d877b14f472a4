//! The questions of `seconder init` at a terminal.

use crate::admin::config::Draft;
use crate::admin::input::prompt;
use crate::admin::output::print;
use crate::invalid;
use seconder::Result;
use std::path::Path;

/// The default database.
pub(super) const DATABASE: &str = "database=sqlite:seconder.db";
/// The default address of metrics: a service whose metrics cannot be read is not watched.
pub(super) const METRICS: &str = "metrics=127.0.0.1:9464";
/// The settings that decide how the service is reached. At least one is needed.
pub(super) const REACHED: [&str; 4] = ["certificate", "self_signed", "unix", "socket_activation"];

/// Asks for the settings that are not given. Each answer is checked before the next question.
pub(super) fn ask(draft: &mut Draft, file: &Path) -> Result<()> {
    print(
        "An empty answer is the one in brackets. Ctrl-C ends this, and nothing has changed then.\n",
    )?;
    if draft.values("database").is_empty() {
        print(
            "Where are users and codes stored? In a file of this machine, sqlite:/path/file.db, or on a\n\
             server that several machines share, postgres://user@host/database.",
        )?;
        setting(draft, "database", "Database", DATABASE.split_once('=').map(|(_, url)| url))?;
    }
    let is_on_server = draft.values("database").iter().any(|url| url.starts_with("postgres"));
    if is_on_server && draft.values("keyring").is_empty() {
        print("\nThe keyring seals the secrets in the database. Every machine has a copy of it.")?;
        let beside = file.with_file_name("seconder.keys");
        setting(draft, "keyring", "Keyring", beside.to_str())?;
    }
    if draft.values("application_name").is_empty() {
        print("\nHow is the application called in messages and authenticator apps?")?;
        setting(draft, "application_name", "Name", Some("Seconder"))?;
    }
    if !is_reached(draft) {
        reached(draft)?;
    }
    print("")
}

/// Returns whether the settings say how applications reach the service.
pub(super) fn is_reached(draft: &Draft) -> bool {
    REACHED.iter().any(|name| !draft.values(name).is_empty())
}

fn reached(draft: &mut Draft) -> Result<()> {
    print(
        "\nHow do applications reach the service?\n\
         1  by HTTPS, with a certificate\n\
         2  by HTTPS, with a self-signed certificate, for development\n\
         3  through a local socket, from this machine alone",
    )?;
    loop {
        match line("1, 2 or 3: ")?.as_str() {
            "1" => {
                setting(draft, "certificate", "Certificate, a PEM file", None)?;
                setting(draft, "key", "Its private key, a PEM file", None)?;
                return setting(draft, "listen", "Address and port", Some("127.0.0.1:8443"));
            }
            "2" => {
                draft.add("self_signed=true")?;
                return setting(draft, "listen", "Address and port", Some("127.0.0.1:8443"));
            }
            "3" => return setting(draft, "unix", "Socket", Some("/run/seconder/seconder.sock")),
            _ => {}
        }
    }
}

/// Asks for a setting until the answer is valid.
fn setting(draft: &mut Draft, name: &str, question: &str, default: Option<&str>) -> Result<()> {
    let shown = default.map(|default| format!(" [{default}]")).unwrap_or_default();
    loop {
        let typed = line(&format!("{question}{shown}: "))?;
        let answer = if typed.is_empty() { default.unwrap_or_default() } else { &typed };
        if answer.is_empty() {
            continue;
        }
        match draft.add(&format!("{name}={answer}")) {
            Ok(()) => return Ok(()),
            Err(error) => print(&error.to_string())?,
        }
    }
}

/// Reads the line that is typed.
fn line(question: &str) -> Result<String> {
    let typed = prompt::ask(question)?.ok_or_else(|| {
        let reason = "has ended before every question was answered, so nothing was created";
        invalid("standard input", reason.to_owned())
    })?;
    Ok(typed.trim().to_owned())
}

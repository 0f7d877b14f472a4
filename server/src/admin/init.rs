//! `seconder init`: the configuration file, the keyring and the database of a new service.

mod questions;

use crate::admin::database::owner;
use crate::admin::input::{COMMON, prompt};
use crate::admin::output::{files, print, table};
use crate::admin::serve::options::Serve;
use crate::admin::{config, serve};
use crate::invalid;
use clap::Args;
use nix::unistd::{Uid, User};
use seconder::Result;
use seconder::files::exists;
use seconder::keyring::Keyring;
use serde_json::json;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Args)]
pub(crate) struct Init {
    /// Configuration file to write. If it exists, it is used as it is, and what it names is created.
    #[arg(long, value_name = "FILE", default_value = "seconder.conf")]
    config: PathBuf,
    /// Ask nothing, on a terminal either: what is not given has its default.
    #[arg(long)]
    no_input: bool,
    /// Print an object with the files, instead of what to do next.
    #[arg(long, help_heading = COMMON)]
    json: bool,
    /// Settings of the file, by their names in seconder.conf(5), such as database=sqlite:/path/file.db
    /// or self_signed=true; repeat those that take a list. Names of files are made absolute.
    #[arg(value_name = "SETTING=VALUE")]
    settings: Vec<String>,
}

pub(crate) fn run(options: &Init) -> Result<()> {
    let file = std::path::absolute(&options.config)
        .map_err(|error| invalid("config", error.to_string()))?;
    let is_new = !exists(&file);
    if !is_new && !options.settings.is_empty() {
        let reason = format!(
            "{} exists already: edit it, or leave the settings out to use it as it is",
            file.display()
        );
        return Err(invalid("config", reason));
    }
    let (text, serve) = match is_new {
        true => drafted(options, &file)?,
        false => (String::new(), config::of(&file)?),
    };
    serve.database.require_stored()?;
    let owner = owner(&serve)?;
    match is_new {
        true => create_with(&file, &text, &serve, owner.as_ref())?,
        false => create(&file, &serve, owner.as_ref())?,
    }
    show(options, &file, &serve, owner.as_ref())
}

/// Creates the files and folders that a new file names, and then the file: after an error, or if this is killed, the
/// same command can be run again. A keyring and a database stay: something may be sealed with the one, or be in the
/// other.
fn create_with(file: &Path, text: &str, serve: &Serve, owner: Option<&User>) -> Result<()> {
    let failed = |error: std::io::Error| {
        let advice = match error.kind() {
            ErrorKind::NotFound => ": create its folder first",
            _ => "",
        };
        invalid("config", format!("{} cannot be written: {error}{advice}", file.display()))
    };
    let part = files::create(file).map_err(failed)?;
    write(part.file(), text, owner).map_err(failed)?;
    create(part.path(), serve, owner)?;
    part.publish(file).map_err(failed)
}

/// Returns the text of a new file, and the options of `seconder serve` that it sets.
fn drafted(options: &Init, file: &Path) -> Result<(String, Serve)> {
    let mut draft = config::Draft::new();
    let wrong = options.settings.iter().filter_map(|setting| draft.add(setting).err());
    let wrong: Vec<String> = wrong.map(|error| error.to_string()).collect();
    if !wrong.is_empty() {
        return Err(invalid("settings", format!("are invalid:\n  {}", wrong.join("\n  "))));
    }
    if prompt::is_possible() && !options.no_input {
        questions::ask(&mut draft, file)?;
    }
    if draft.values("database").is_empty() {
        draft.add(questions::DATABASE)?;
    }
    if draft.values("metrics").is_empty() {
        draft.add(questions::METRICS)?;
    }
    if !questions::is_reached(&draft) {
        let reason = format!(
            "lack how applications reach the service, one of {}: seconder.conf(5)",
            questions::REACHED.join(", ")
        );
        return Err(invalid("settings", reason));
    }
    let text = draft.text();
    let serve = config::of_text(&text, file)?;
    Ok((text, serve))
}

/// Returns the user who owns the folder of a database file, if that is not root, who runs this. The service runs as
/// that user, and could not open files of root.
fn owner(serve: &Serve) -> Result<Option<User>> {
    let Some(metadata) = owner::found(serve.database.path()) else { return Ok(None) };
    match User::from_uid(Uid::from_raw(metadata.uid())) {
        Ok(Some(user)) => Ok(Some(user)),
        _ => {
            let folder = serve.database.path().and_then(Path::parent).unwrap_or(Path::new("."));
            let reason = format!(
                "is in {}, which belongs to user {}, whom this machine does not know: chown it to the \
                 user that the service runs as",
                folder.display(),
                metadata.uid()
            );
            Err(invalid("database", reason))
        }
    }
}

/// Writes the file for its owner and the group of the service. It holds no secret, but says where they are.
fn write(mut file: &File, text: &str, owner: Option<&User>) -> std::io::Result<()> {
    if let Some(owner) = owner {
        std::os::unix::fs::fchown(file, None, Some(owner.gid.as_raw()))?;
        file.set_permissions(PermissionsExt::from_mode(0o640))?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Creates the keyring and the database, unless they are there.
fn create(file: &Path, serve: &Serve, owner: Option<&User>) -> Result<()> {
    if let Some(owner) = owner {
        return create_as(owner, file);
    }
    if let Some(ring) = serve.database.ring_file().filter(|ring| !ring.exists()) {
        Keyring::at(ring).create()?;
    }
    serve::create(serve)
}

/// Creates them as another user, by this program: a file that root wrote in a folder of another user could be
/// redirected by a link.
fn create_as(owner: &User, file: &Path) -> Result<()> {
    let failed =
        |reason: String| invalid("database", format!("as the user {}: {reason}", owner.name));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(program);
    command.args(["init", "--no-input", "--json", "--config"]).arg(file).current_dir("/");
    command.uid(owner.uid.as_raw()).gid(owner.gid.as_raw());
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(failed(text.trim().trim_start_matches("seconder: error: ").to_owned()))
}

fn show(options: &Init, file: &Path, serve: &Serve, owner: Option<&User>) -> Result<()> {
    let database = &serve.database;
    let beside = || database.path().map(Keyring::beside).map(|ring| ring.path().to_owned());
    let keyring = database.ring_file().or_else(beside).unwrap_or_default();
    if options.json {
        let made = json!({ "config": file, "keyring": keyring, "database": database.url });
        return print(&made.to_string());
    }
    let files = [
        ("configuration", Some(file.display().to_string())),
        ("keyring", Some(keyring.display().to_string())),
        ("database", Some(database.url.clone())),
    ];
    let user = owner.map(|owner| format!("runuser -u {} -- ", owner.name)).unwrap_or_default();
    let file = quoted(&file.display().to_string());
    let next = [
        ("serve", "", "runs the service"),
        ("doctor", "", "checks what it depends on"),
        ("key", "", "prints the API key, for the application"),
        ("user create", " --email ADDRESS --cellphone NUMBER --country-code CODE", "adds a user"),
        (
            "route set",
            " NAME --help",
            "adds a gateway; until then, messages are written to a folder",
        ),
    ];
    let next = next.map(|(command, more, what)| {
        format!("  {user}seconder {command} --config {file}{more}\n      {what}")
    });
    print(&format!(
        "{}\n\nCopy the keyring to a safe place, apart from copies of the database: without it, the \
         secrets in the database cannot be read.\n\nWhat to do next:\n{}",
        table::lines(&files),
        next.join("\n")
    ))
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

//! `seconder app`: the applications of a database.
pub(crate) mod options;

use crate::admin::database::Database;
use crate::admin::input::COMMON;
use crate::admin::input::moment::seconds;
use crate::admin::input::prompt::Sure;
use crate::admin::input::secret::secret_file;
use crate::admin::output::print;
use crate::admin::output::table::{Json, lines, print_json, table, utc};
use crate::invalid;
use clap::Subcommand;
use options::AppOptions;
use seconder::engine::operator::{
    AppRecord, AppSettings, CreateApp, DeleteApp, EndOverlap, ListApps, RotateAppKey, SetApp,
    ShowApp,
};
use seconder::{Result, Service};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Add an application, and print its id and its API key.
    ///
    /// It has users of its own. `seconder serve` knows it by its key at once.
    Create {
        #[command(flatten)]
        database: Database,
        /// Name of the application in messages and authenticator apps.
        #[arg(long, value_name = "NAME")]
        name: String,
        /// File with the API key that it is to have, such as that of an application that moves here; by
        /// default a new one.
        #[arg(long, value_name = "FILE")]
        key_file: Option<PathBuf>,
        #[command(flatten)]
        settings: AppOptions,
        /// Print a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Print the applications of the database, oldest first.
    List {
        #[command(flatten)]
        database: Database,
        /// Print each as a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Print the settings of an application.
    ///
    /// It has a key, which `seconder key` prints.
    Show {
        #[command(flatten)]
        database: Database,
        /// Print a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Change settings of an application, and print those that were changed.
    ///
    /// `seconder serve` applies them within seconds; one that its own options set too is set again when it
    /// starts again.
    Set {
        #[command(flatten)]
        database: Database,
        /// Name of the application in messages and authenticator apps.
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        settings: AppOptions,
        #[command(flatten)]
        json: Json,
    },
    /// Give an application a new API key, and print it.
    ///
    /// The one before it stays valid for a while, in which clients are given the new one; until then, callbacks
    /// are signed with the one before it, so receivers have to accept both.
    RotateKey {
        #[command(flatten)]
        database: Database,
        /// For how long the key before it stays valid, up to 30d: a number and s, m, h or d. With 0, it
        /// ends at once, as for a key that others know.
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = seconds)]
        overlap: u64,
        /// Give it no new key, but end the one before the current one, once no client uses it any more.
        #[arg(long, conflicts_with = "overlap")]
        end_overlap: bool,
        /// Print a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Remove an application that has no users, or with its users.
    Delete {
        #[command(flatten)]
        database: Database,
        /// Id of the application: see `seconder app list`.
        #[arg(value_name = "ID")]
        id: i64,
        /// Remove its users too, and all that is known of them. A backup is the only way back.
        #[arg(long)]
        users: bool,
        #[command(flatten)]
        sure: Sure,
        #[command(flatten)]
        json: Json,
    },
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Create { database, name, key_file, settings, json } => {
            let api_key = key_file.map(|file| secret_file("key-file", &file)).transpose()?;
            let settings = Some(settings.settings()?);
            let create = CreateApp { name, api_key, settings };
            let created = database.existing()?.operate(&create)?;
            match json {
                true => print_json(serde_json::to_string(&created)),
                false => print(&format!("app_id {}\n{}", created.app_id, created.api_key.expose())),
            }
        }
        Command::List { database, json } => list(&database.existing()?, json),
        Command::Show { database, json } => {
            show(&database.existing()?.operate(&ShowApp { app_id: None })?, json)
        }
        Command::Set { database, name, settings, json } => {
            let mut settings = settings.settings()?;
            settings.name = name;
            if settings == AppSettings::default() {
                return Err(invalid("settings", "are missing: give one to change".to_owned()));
            }
            let changed = changed(&settings);
            let app = database.existing()?.operate(&SetApp { app_id: None, settings })?;
            json.print(&app, &changed)
        }
        Command::RotateKey { database, end_overlap: true, json, .. } => {
            let service = database.existing()?;
            let app = service.operate(&ShowApp { app_id: None })?;
            service.operate(&EndOverlap { app_id: None })?;
            let text = format!("application {} has one key", app.app_id);
            match json {
                true => print_json(serde_json::to_string(&json!({ "app_id": app.app_id }))),
                false => print(&text),
            }
        }
        Command::RotateKey { database, overlap, json, .. } => {
            let rotate = RotateAppKey { app_id: None, overlap: Some(overlap) };
            let rotated = database.existing()?.operate(&rotate)?;
            if json {
                return print_json(serde_json::to_string(&rotated));
            }
            if let Some(until) = rotated.earlier_key_until {
                crate::log(&format!("the key before it is valid until {}", utc(until)));
            }
            print(rotated.api_key.expose())
        }
        Command::Delete { database, id, users, sure, json } => {
            let service = beside(&database, id)?;
            sure.ask(|| described(&service, id))?;
            service.operate(&DeleteApp { app_id: id, users })?;
            json.print(&json!({ "app_id": id }), &format!("application {id} is removed"))
        }
    }
}

/// Formats the settings that are given, in one line.
fn changed(settings: &AppSettings) -> String {
    let settings = serde_json::to_value(settings).unwrap_or_default();
    let given = settings.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let shown = given.map(|(name, value)| match value {
        // Texts have many lines.
        Value::String(_) if name == "texts" => name.clone(),
        Value::String(text) => format!("{name} {text}").trim_end().to_owned(),
        value => format!("{name} {value}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Describes an application that is about to be removed.
fn described(service: &Service, id: i64) -> Result<String> {
    let apps = service.operate(&ListApps {})?.apps;
    let app = apps.iter().find(|app| app.app_id == id);
    let app =
        app.ok_or_else(|| invalid("ID", format!("no application {id}: see `seconder app list`")))?;
    Ok(format!(
        "Application {id} is {:?} and has {} users. It, its API key and all that is known of its users will be deleted.",
        app.name, app.users
    ))
}

/// Opens the service of another application than the one with this id, because no application can remove itself.
fn beside(database: &Database, id: i64) -> Result<Service> {
    let service = database.existing()?;
    if service.operate(&ShowApp { app_id: None })?.app_id != id {
        return Ok(service);
    }
    let apps = service.operate(&ListApps {})?.apps;
    match apps.iter().find(|app| app.app_id != id) {
        Some(other) => database.existing_of(other.app_id),
        None => Err(invalid("ID", "is that of the only application of the database".to_owned())),
    }
}

fn list(service: &Service, json: bool) -> Result<()> {
    let apps = service.operate(&ListApps {})?.apps;
    if json {
        return apps.iter().try_for_each(|app| print_json(serde_json::to_string(app)));
    }
    let rows: Vec<Vec<String>> = apps
        .into_iter()
        .map(|app| {
            let two_keys = app.earlier_key_until.map(|until| format!("two until {}", utc(until)));
            vec![
                app.app_id.to_string(),
                app.name,
                app.users.to_string(),
                two_keys.unwrap_or_else(|| "one".to_owned()),
                app.callback_url.unwrap_or_default(),
            ]
        })
        .collect();
    print(&table(&["ID", "NAME", "USERS", "KEYS", "CALLBACKS"], &rows))
}

fn show(app: &AppRecord, json: bool) -> Result<()> {
    if json {
        return print_json(serde_json::to_string(app));
    }
    let record = serde_json::to_value(app).unwrap_or_default();
    let fields = record.as_object().into_iter().flatten();
    let rows = fields.map(|(name, value)| match value {
        Value::Null => (name.as_str(), None),
        Value::String(text) => (name.as_str(), Some(text.clone())),
        _ if name == "earlier_key_until" => (name.as_str(), app.earlier_key_until.map(utc)),
        value => (name.as_str(), Some(value.to_string())),
    });
    print(&lines(&rows.collect::<Vec<_>>()))
}

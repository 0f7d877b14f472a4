//! `seconder app`: the applications of a database.

use crate::arguments::{CallDefaults, Database, seconds};
use crate::commands::{invalid, print, secret_file};
use crate::table::{Json, lines, print_json, table, utc};
use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand};
use seconder::engine::operator::{
    AppRecord, AppSettings, CreateApp, DeleteApp, EndOverlap, ListApps, RotateAppKey, SetApp,
    ShowApp,
};
use seconder::model::CallbackMethod;
use seconder::wire::Generation;
use seconder::{Result, Service};
use serde_json::json;
use std::path::PathBuf;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Add an application to the database, with users of its own, and print its id and its API key.
    /// `seconder serve` knows it by its key at once.
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
        settings: Given,
        /// Print a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Print the applications of the database, in the order in which they were added.
    List {
        #[command(flatten)]
        database: Database,
        /// Print each as a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Print the settings of an application. It has a key, which `seconder key` prints.
    Show {
        #[command(flatten)]
        database: Database,
        /// Print a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Change settings of an application, and print them. `seconder serve` applies them within seconds;
    /// one that its own options set too is set again when it starts again.
    Set {
        #[command(flatten)]
        database: Database,
        /// Name of the application in messages and authenticator apps.
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        #[command(flatten)]
        settings: Given,
        /// Print a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Give an application a new API key, and print it. The one before it stays valid for a while, in which
    /// clients are given the new one; until then, callbacks are signed with the one before it, so receivers
    /// have to accept both.
    RotateKey {
        #[command(flatten)]
        database: Database,
        /// For how long the key before it stays valid, up to 30d: a number and s, m, h or d. With 0, it
        /// ends at once, as for a key that others know.
        #[arg(long, value_name = "TIME", default_value = "24h", value_parser = seconds)]
        overlap: u64,
        /// Print a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// End the key before the current one, once no client uses it any more.
    EndOverlap {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        json: Json,
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
        json: Json,
    },
}

/// The settings of an application.
#[derive(Args)]
pub(crate) struct Given {
    /// URL that callbacks are posted to; '' for none.
    #[arg(long, value_name = "URL")]
    callback_url: Option<String>,
    /// How callbacks are sent: post or get.
    #[arg(long, value_name = "METHOD")]
    callback_method: Option<CallbackMethod>,
    /// Whether callbacks may be sent to addresses that are not of the public Internet: yes or no.
    #[arg(long, value_name = "YES", value_parser = BoolishValueParser::new())]
    callback_private: Option<bool>,
    /// PEM file with the authorities to trust when callbacks are posted; '' for those of the system.
    #[arg(long, value_name = "FILE")]
    callback_ca_file: Option<PathBuf>,
    /// Number of digits of codes by SMS and voice, 6 to 10.
    #[arg(long, value_name = "DIGITS")]
    token_length: Option<u8>,
    /// Generation of the bodies of replies: current, or older for clients of 2012.
    #[arg(long, value_name = "GENERATION")]
    replies: Option<Generation>,
    /// Link to the app that a new user receives by SMS; '' for none.
    #[arg(long, value_name = "URL")]
    install_link: Option<String>,
    /// For how many days, 1 to 7, login machines may check codes without the service; 0 forbids it.
    #[arg(long, value_name = "DAYS")]
    offline_days: Option<u8>,
    /// Limit to change, as NAME=VALUE, such as number_day=10; repeat it for more.
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,
    /// File with its own texts of messages; '' for none.
    #[arg(long, value_name = "FILE")]
    texts: Option<String>,
    /// Domain of the page on which users enter codes; '' for none.
    #[arg(long, value_name = "DOMAIN")]
    otp_domain: Option<String>,
    #[command(flatten)]
    calls: CallDefaults,
}

impl Given {
    fn settings(&self) -> Result<AppSettings> {
        let mut settings = AppSettings::default();
        settings.callback_url.clone_from(&self.callback_url);
        settings.callback_method = self.callback_method;
        settings.callback_private = self.callback_private;
        settings.callback_ca_file.clone_from(&self.callback_ca_file);
        settings.token_length = self.token_length;
        settings.replies = self.replies;
        settings.install_link.clone_from(&self.install_link);
        settings.offline_days = self.offline_days;
        settings.limits = (!self.limits.is_empty()).then(|| self.limits.join(" "));
        settings.texts = match self.texts.as_deref() {
            None | Some("") => self.texts.clone(),
            Some(file) => Some(std::fs::read_to_string(file).map_err(|error| {
                invalid("texts", format!("cannot be read from {file}: {error}"))
            })?),
        };
        settings.otp_domain.clone_from(&self.otp_domain);
        self.calls.change(&mut settings);
        Ok(settings)
    }
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
            show(&database.existing()?.operate(&SetApp { app_id: None, settings })?, json)
        }
        Command::RotateKey { database, overlap, json } => {
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
        Command::EndOverlap { database, json } => {
            let service = database.existing()?;
            let app = service.operate(&ShowApp { app_id: None })?;
            service.operate(&EndOverlap { app_id: None })?;
            json.print(&json!({ "app_id": app.app_id }), "")
        }
        Command::Delete { database, id, users, json } => {
            let service = beside(&database, id)?;
            service.operate(&DeleteApp { app_id: id, users })?;
            json.print(&json!({ "app_id": id }), &format!("application {id} is removed"))
        }
    }
}

/// The service of another application than that with this id, because none can remove itself.
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
    let text = |value: &dyn ToString| Some(value.to_string());
    print(&lines(&[
        ("app_id", text(&app.app_id)),
        ("name", text(&app.name)),
        ("users", text(&app.users)),
        ("earlier_key_until", app.earlier_key_until.map(utc)),
        ("callback_url", app.callback_url.clone()),
        ("callback_method", text(&app.callback_method.name())),
        ("callback_private", text(&app.callback_private)),
        ("callback_ca_file", app.callback_ca_file.clone()),
        ("token_length", text(&app.token_length)),
        ("replies", text(&app.replies.name())),
        ("names", text(&app.names)),
        ("install_link", app.install_link.clone()),
        ("offline_days", text(&app.offline_days)),
        ("limits", text(&app.limits)),
        ("texts", app.texts.clone()),
        ("otp_domain", app.otp_domain.clone()),
        ("plan", text(&app.plan)),
        ("white_label", text(&app.white_label)),
        ("sms_enabled", text(&app.sms_enabled)),
        ("force_codes", text(&app.force_codes)),
        ("logo", app.logo.clone()),
        ("authenticator_digits", text(&app.authenticator_digits)),
        ("authenticator_period", text(&app.authenticator_period)),
    ]))
}

//! `seconder route`.

use crate::arguments::Database;
use crate::commands::{invalid, print};
use clap::{Subcommand, ValueEnum};
use seconder::calls::Channel;
use seconder::engine::{Outcome, StoredRoute};
use seconder::model::Secret;
use seconder::{Error, Result, Stage};
use seconder_server::gateway::{self, Outgoing};
use seconder_server::routes::{self, Routes};
use serde_json::{Map, Value};
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io::Read;
use std::sync::Arc;

/// What is shown in place of a secret.
const SEALED: &str = "(sealed)";
/// More bytes than any settings have.
const LONGEST: u64 = 256 * 1024;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Add a route, or replace all of its settings. They are checked first, and everything that is wrong
    /// with them is printed. Servers that run use the route within a few seconds. Settings that are
    /// secrets are stored sealed.
    Set {
        #[command(flatten)]
        database: Database,
        /// Name of the route: lower-case letters, digits and hyphens.
        #[arg(value_name = "NAME")]
        name: String,
        /// File with the settings as a JSON object, or - for standard input.
        #[arg(long, value_name = "FILE")]
        file: Option<String>,
        /// Settings such as gateway=twilio, which take the place of those in the file. A value is a text,
        /// or JSON; with KEY=@FILE it is the content of a file, so that a secret stays out of process
        /// listings. docs/gateways.md lists the settings.
        #[arg(value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
    /// List the routes in the order of their priorities.
    List {
        #[command(flatten)]
        database: Database,
        /// Print each route as a JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Print the settings of a route as JSON, without its secrets.
    Show {
        #[command(flatten)]
        database: Database,
        /// Name of the route.
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Remove a route. Messages that wait for it take other routes.
    Remove {
        #[command(flatten)]
        database: Database,
        /// Name of the route.
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Send a test message by a route, at once and whether or not the route is meant for the number, and
    /// print what became of it. It fails unless the provider has accepted the message.
    Test {
        #[command(flatten)]
        database: Database,
        /// Name of the route.
        #[arg(value_name = "NAME")]
        name: String,
        /// Number to send it to, with + and the country code.
        #[arg(value_name = "NUMBER")]
        number: String,
        /// Whether it is an SMS or a call.
        #[arg(long, value_enum, default_value_t = Via::Sms)]
        via: Via,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Via {
    Sms,
    Call,
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Set { database, name, file, settings } => set(&database, &name, file, &settings),
        Command::List { database, json } => list(&database, json),
        Command::Show { database, name } => show(&database, &name),
        Command::Remove { database, name } => remove(&database, &name),
        Command::Test { database, name, number, via } => test(&database, &name, &number, via),
    }
}

fn set(database: &Database, name: &str, file: Option<String>, settings: &[String]) -> Result<()> {
    let mut all = match file {
        Some(file) => object(&read("file", &file)?)?,
        None => Map::new(),
    };
    for setting in settings {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| invalid("KEY=VALUE", format!("has no =: {}", key_of(setting))))?;
        all.insert(key.to_owned(), value_of(key, value)?);
    }
    if all.is_empty() {
        let reason = "are missing: give some as KEY=VALUE, or a file by --file";
        return Err(invalid("settings", reason.to_owned()));
    }
    for secret in secret_fields(&all) {
        let inline = format!("{secret}=");
        let inline = settings.iter().filter_map(|setting| setting.strip_prefix(&*inline));
        if inline.into_iter().any(|value| !value.starts_with('@')) {
            let reason =
                format!("is a secret, which others would see here: give it as {secret}=@FILE");
            return Err(Error::InvalidArgument { parameter: secret.into(), reason: reason.into() });
        }
    }
    let settings = Secret::new(Value::Object(all).to_string());
    routes::check(settings.expose()).map_err(|problems| {
        let list: Vec<_> = problems.iter().map(ToString::to_string).collect();
        invalid("settings", format!("were not stored:\n  {}", list.join("\n  ")))
    })?;
    database.existing()?.require_engine()?.set_route(name, &settings)?;
    print(&format!("route {name} is set; to try it: seconder route test {name} +NUMBER"))
}

/// What may be shown of a setting that was not understood.
fn key_of(setting: &str) -> &str {
    setting.split(['@', ':']).next().unwrap_or_default()
}

/// The settings that are secrets.
fn secret_fields(settings: &Map<String, Value>) -> Vec<String> {
    let name = settings.get("gateway").and_then(Value::as_str).unwrap_or_default();
    let fields = gateway::fields(name).unwrap_or_default();
    fields.into_iter().filter(|field| field.sealed).map(|field| field.name.to_owned()).collect()
}

fn value_of(key: &str, value: &str) -> Result<Value> {
    let text = match value.strip_prefix('@') {
        Some(file) => return Ok(Value::String(read(key, file)?.trim_end_matches('\n').to_owned())),
        None => value,
    };
    // A number that begins with + is none in JSON, and neither is one with a leading 0.
    Ok(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())))
}

fn read(parameter: &str, file: &str) -> Result<String> {
    let cannot = |error: std::io::Error| Error::InvalidArgument {
        parameter: parameter.to_owned().into(),
        reason: format!("{file} cannot be read: {error}").into(),
    };
    let mut text = String::new();
    match file {
        "-" => std::io::stdin().lock().take(LONGEST).read_to_string(&mut text).map_err(cannot)?,
        file => {
            let open = fs::File::open(file).map_err(cannot)?;
            open.take(LONGEST).read_to_string(&mut text).map_err(cannot)?
        }
    };
    Ok(text)
}

fn object(text: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        invalid("file", format!("is not a JSON object, at line {line}, column {column}"))
    })
}

/// The settings of a route without its secrets. Of a gateway that this program does not know, only the
/// name is shown.
fn shown(route: &StoredRoute) -> Option<Map<String, Value>> {
    let settings = object(route.settings.as_ref()?.expose()).unwrap_or_default();
    let name = settings.get("gateway").and_then(Value::as_str).unwrap_or_default();
    let own = gateway::fields(name).unwrap_or_default();
    let fields: Vec<_> = own.iter().chain(routes::FIELDS).collect();
    let show = |(key, value): (&String, &Value)| {
        let is_open = key == "gateway"
            || fields.iter().any(|field| field.name == key.as_str() && !field.sealed);
        let value = match key.as_str() {
            _ if !is_open => SEALED.into(),
            // Whatever is written there may be a credential.
            "headers" | "body" => without_literals(value),
            "url" => value.as_str().map_or(Value::Null, |url| without_query(url).into()),
            _ => value.clone(),
        };
        (key.clone(), value)
    };
    Some(settings.iter().map(show).collect())
}

/// A value in which only placeholders are shown.
fn without_literals(value: &Value) -> Value {
    match value {
        Value::String(text) if is_placeholder(text) => value.clone(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), without_literals(value)));
            Value::Object(fields.collect())
        }
        Value::Array(values) => values.iter().map(without_literals).collect(),
        _ => SEALED.into(),
    }
}

fn is_placeholder(text: &str) -> bool {
    let inner = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
    inner.is_some_and(|name| !name.contains(['{', '}']))
}

/// A URL without what may be a credential.
fn without_query(url: &str) -> String {
    let (path, query) = url.split_once('?').map_or((url, ""), |(path, _)| (path, "?"));
    let sealed = if query.is_empty() { "" } else { SEALED };
    let (scheme, rest) = path.split_once("://").unwrap_or(("", path));
    let host = rest.split('/').next().unwrap_or_default();
    match host.rsplit_once('@') {
        Some((user, _)) => format!("{scheme}://{SEALED}{}{query}{sealed}", &rest[user.len()..]),
        None => format!("{path}{query}{sealed}"),
    }
}

/// What applies where a route has no setting of this name.
fn default_of(key: &str) -> &'static str {
    let field = routes::FIELDS.iter().find(|field| field.name == key);
    field.map_or("", |field| field.default)
}

fn list(database: &Database, json: bool) -> Result<()> {
    let service = database.existing()?;
    let mut routes: Vec<_> = service
        .require_engine()?
        .routes()?
        .iter()
        .filter_map(|route| Some((route.name.clone(), shown(route)?)))
        .collect();
    let priority = |settings: &Map<String, Value>| {
        let set = settings.get("priority").and_then(Value::as_u64);
        set.or_else(|| default_of("priority").parse().ok())
    };
    routes.sort_by_key(|(name, settings)| (priority(settings), name.clone()));
    if routes.is_empty() && !json {
        return print(
            "there are no routes: messages go to the spool folder. To add one: seconder route set",
        );
    }
    for (name, settings) in routes {
        let text = |key: &str| match settings.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => default_of(key).to_owned(),
        };
        print(&match json {
            true => serde_json::json!({ "name": name, "settings": settings }).to_string(),
            false => format!(
                "{name}: gateway {}, priority {}, weight {}, channels {}, countries {}",
                text("gateway"),
                text("priority"),
                text("weight"),
                text("channels"),
                text("countries"),
            ),
        })?;
    }
    Ok(())
}

fn show(database: &Database, name: &str) -> Result<()> {
    let service = database.existing()?;
    let routes = service.require_engine()?.routes()?;
    let settings = routes.iter().find(|route| route.name == name).and_then(shown);
    let settings = settings.ok_or_else(|| no_route(name))?;
    print(&serde_json::to_string_pretty(&settings).unwrap_or_default())
}

fn remove(database: &Database, name: &str) -> Result<()> {
    match database.existing()?.require_engine()?.remove_route(name)? {
        true => print(&format!("route {name} is removed")),
        false => Err(no_route(name)),
    }
}

fn no_route(name: &str) -> Error {
    invalid("NAME", format!("is not that of a route: {name}; `seconder route list` shows them"))
}

fn test(database: &Database, name: &str, number: &str, via: Via) -> Result<()> {
    let is_number = number.strip_prefix('+').is_some_and(|digits| {
        (7..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    if !is_number {
        let reason = "must be + and 7 to 15 digits: +15550100123";
        return Err(invalid("NUMBER", reason.to_owned()));
    }
    let service = database.existing()?;
    let engine = service.require_engine()?;
    let routes = Routes::new(|_: &_| Ok(()), Arc::new(crate::log));
    routes.load_only(engine, name)?;
    // A provider that has seen an id before may accept the message without sending it.
    let id = format!("{:016x}", RandomState::new().build_hasher().finish());
    let outcome = routes.send_by(
        name,
        &Outgoing {
            id: &id,
            to: number,
            text: "This is a test message of Seconder. Your code for nothing is 1234567.",
            code: "1234567",
            from: "",
            channel: match via {
                Via::Sms => Channel::Sms,
                Via::Call => Channel::Call,
            },
        },
    )?;
    let failed = |what: &str, reason: &str| {
        Err(Error::Unavailable {
            stage: Stage::Delivery,
            message: format!("the test message {what}: {reason}"),
            reads: false,
        })
    };
    match outcome {
        Outcome::Sent(Some(id)) => print(&format!("accepted by the provider, with the id {id}")),
        Outcome::Sent(None) => print("accepted by the provider"),
        Outcome::Permanent(reason) => failed("was rejected", &reason),
        Outcome::Retry { reason, .. } => failed("could not be sent, and may be later", &reason),
        Outcome::Ambiguous(reason) => failed("may have been sent", &reason),
        _ => failed("could not be sent", "for a reason that is not known"),
    }
}

//! `seconder route`.

use crate::admin::database::Database;
use crate::admin::input::COMMON;
use crate::admin::input::gateway::{Given, check_number};
use crate::admin::output::print;
use crate::admin::output::table::{Json, table};
use crate::invalid;
use clap::{Subcommand, ValueEnum};
use seconder::calls::Channel;
use seconder::engine::operator::{ListRoutes, RemoveRoute, SetRoute};
use seconder::engine::{Outcome, StoredRoute};
use seconder::model::Secret;
use seconder::{Error, Result, Service, Stage};
use seconder_gateways::{Field, Outgoing, Urls};
use seconder_server::PublicUrl;
use seconder_server::routes::{self, Routes, Spooled};
use serde_json::{Map, Value, json};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::sync::Arc;

const GIVEN: Given = Given { fields, check: routes::check };
/// The setting with the secret of a provider that reports to the route.
const RECEIPT_SECRET: &str = "receipt_secret";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Add a route, or replace all of its settings.
    ///
    /// They are checked first, and everything that is wrong with them is printed. Servers that run use the route
    /// within a few seconds. Settings that are secrets are stored sealed.
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
        #[command(flatten)]
        json: Json,
    },
    /// List the routes in the order of their priorities.
    List {
        #[command(flatten)]
        database: Database,
        /// Print each route as a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Print the settings of a route as JSON, without its secrets.
    Show {
        #[command(flatten)]
        database: Database,
        /// Name of the route.
        #[arg(value_name = "NAME")]
        name: String,
        /// Print the URL at which the provider reports what became of messages instead, for those who set it
        /// there. It has a secret: whoever knows it can report too. Where `seconder serve` has --public-url, each
        /// message has the URL, and it need not be set anywhere.
        #[arg(long)]
        receipts: bool,
        /// URL at which the provider reaches `seconder serve`, as its option of this name.
        #[arg(long, value_name = "URL", requires = "receipts")]
        public_url: Option<PublicUrl>,
        #[command(flatten)]
        json: Json,
    },
    /// Remove a route.
    ///
    /// Messages that wait for it take other routes.
    Remove {
        #[command(flatten)]
        database: Database,
        /// Name of the route.
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        json: Json,
    },
    /// Send a test message by a route, and print what became of it.
    ///
    /// It is sent at once, whether or not the route is meant for the number. It fails unless the provider has
    /// accepted the message.
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
        /// URL at which the provider reaches `seconder serve`, as its option of this name.
        #[arg(long, value_name = "URL")]
        public_url: Option<PublicUrl>,
        #[command(flatten)]
        json: Json,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Via {
    Sms,
    Call,
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Set { database, name, file, settings, json } => {
            set(&database, &name, GIVEN.read(file, &settings)?, json)
        }
        Command::List { database, json } => list(&database, json),
        Command::Show { database, name, receipts: true, public_url, json } => {
            receipts(&database, public_url, &name, json)
        }
        Command::Show { database, name, json, .. } => show(&database, &name, json),
        Command::Remove { database, name, json } => remove(&database, &name, json),
        Command::Test { database, name, number, via, public_url, json } => {
            let sent = test(&database, &name, &number, via, public_url)?;
            let with_id = sent.as_ref().map(|id| format!(", with the id {id}")).unwrap_or_default();
            json.print(
                &json!({ "provider_id": sent }),
                &format!("accepted by the provider{with_id}"),
            )
        }
    }
}

fn set(database: &Database, name: &str, mut settings: Secret, json: Json) -> Result<()> {
    let service = database.existing()?;
    if routes::takes_receipts(settings.expose()) && secret_in(&settings).is_none() {
        // The one that the provider may know already, or a new one.
        let secret = match receipt_secret(&stored(&service)?, name) {
            Some(secret) => secret,
            None => new_secret()?,
        };
        settings = with_secret(&settings, &secret);
    }
    service.operate(&SetRoute { name: name.to_owned(), settings: settings.clone() })?;
    let text = format!("route {name} is set; to try it: seconder route test {name} +NUMBER");
    json.print(&json!({ "name": name, "settings": GIVEN.shown(&settings) }), &text)
}

/// Returns the settings of a route with this gateway.
fn fields(gateway: &str) -> Option<Vec<Field>> {
    let mut fields = seconder_gateways::fields(gateway)?;
    fields.extend(routes::FIELDS);
    Some(fields)
}

/// Returns the secret of a route's receipts, if its settings have one.
fn secret_in(settings: &Secret) -> Option<Secret> {
    let settings: Map<String, Value> = serde_json::from_str(settings.expose()).ok()?;
    settings.get(RECEIPT_SECRET).and_then(Value::as_str).map(Secret::new)
}

fn with_secret(settings: &Secret, secret: &Secret) -> Secret {
    let settings = serde_json::from_str(settings.expose());
    let mut settings: Map<String, Value> = settings.unwrap_or_default();
    settings.insert(RECEIPT_SECRET.to_owned(), secret.expose().into());
    Secret::new(Value::Object(settings).to_string())
}

/// Returns a secret of 256 random bits.
fn new_secret() -> Result<Secret> {
    let bytes: [u8; 32] = ring::rand::generate(&ring::rand::SystemRandom::new())
        .map_err(|_| Error::Internal { message: "the system has no random numbers".to_owned() })?
        .expose();
    Ok(Secret::new(bytes.map(|byte| format!("{byte:02x}")).concat()))
}

fn stored(service: &Service) -> Result<Vec<StoredRoute>> {
    Ok(service.operate(&ListRoutes {})?.routes)
}

fn receipt_secret(routes: &[StoredRoute], name: &str) -> Option<Secret> {
    let route = routes.iter().find(|route| route.name == name);
    route.and_then(|route| secret_in(route.settings.as_ref()?))
}

fn receipts(
    database: &Database,
    public_url: Option<PublicUrl>,
    name: &str,
    json: Json,
) -> Result<()> {
    let service = database.existing()?;
    let routes = stored(&service)?;
    if !routes.iter().any(|route| route.name == name && route.settings.is_some()) {
        return Err(no_route(name));
    }
    let Some(secret) = receipt_secret(&routes, name) else {
        let reason = format!("{name} is a route whose provider reports nothing over HTTPS");
        return Err(invalid("NAME", reason));
    };
    let service = public_url.map_or("https://HOST".to_owned(), |url| url.to_string());
    let url = routes::receipt_url(&service, name, &secret);
    json.print(&json!({ "url": url }), &url)
}

fn shown(route: &StoredRoute) -> Option<Map<String, Value>> {
    Some(GIVEN.shown(route.settings.as_ref()?))
}

/// Returns the default of a setting of routes.
fn default_of(key: &str) -> &'static str {
    let field = routes::FIELDS.iter().find(|field| field.name == key);
    field.map_or("", |field| field.default)
}

/// The settings that a list shows.
const COLUMNS: [&str; 5] = ["gateway", "priority", "weight", "channels", "countries"];

fn list(database: &Database, json: bool) -> Result<()> {
    let service = database.existing()?;
    let stored = stored(&service)?;
    let mut routes: Vec<_> =
        stored.iter().filter_map(|route| Some((route.name.clone(), shown(route)?))).collect();
    let priority = |settings: &Map<String, Value>| {
        let set = settings.get("priority").and_then(Value::as_u64);
        set.or_else(|| default_of("priority").parse().ok())
    };
    routes.sort_by_key(|(name, settings)| (priority(settings), name.clone()));
    let unreadable =
        stored.iter().filter_map(|route| Some((&route.name, route.unreadable.as_ref()?)));
    let unreadable: Vec<_> = unreadable.collect();
    if routes.is_empty() && unreadable.is_empty() && !json {
        return print(
            "there are no routes: messages go to the spool folder. To add one: seconder route set",
        );
    }
    let mut rows = Vec::new();
    for (name, settings) in routes {
        let text = |key: &str| match settings.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => default_of(key).to_owned(),
        };
        match json {
            true => print(&json!({ "name": name, "settings": settings }).to_string())?,
            false => rows.push([&[name][..], &COLUMNS.map(text)].concat()),
        }
    }
    if !rows.is_empty() {
        let headings = COLUMNS.map(str::to_uppercase);
        let headings = ["NAME"].into_iter().chain(headings.iter().map(String::as_str));
        print(&table(&headings.collect::<Vec<_>>(), &rows))?;
    }
    for (name, why) in unreadable {
        print(&match json {
            true => json!({ "name": name, "unreadable": why }).to_string(),
            false => format!("{name}: cannot be used: {why}"),
        })?;
    }
    Ok(())
}

fn show(database: &Database, name: &str, json: Json) -> Result<()> {
    let service = database.existing()?;
    let routes = stored(&service)?;
    let route = routes.iter().find(|route| route.name == name).ok_or_else(|| no_route(name))?;
    if let Some(why) = &route.unreadable {
        return Err(invalid("NAME", format!("is that of a route that cannot be read: {why}")));
    }
    let settings = shown(route).ok_or_else(|| no_route(name))?;
    json.print(&settings, &serde_json::to_string_pretty(&settings).unwrap_or_default())
}

fn remove(database: &Database, name: &str, json: Json) -> Result<()> {
    let removed = database.existing()?.operate(&RemoveRoute { name: name.to_owned() });
    removed.map_err(|error| match error {
        Error::InvalidArgument { .. } => no_route(name),
        other => other,
    })?;
    json.print(&json!({ "name": name }), &format!("route {name} is removed"))
}

fn no_route(name: &str) -> Error {
    invalid("NAME", format!("is not that of a route: {name}; `seconder route list` shows them"))
}

/// Sends a message, and returns the id that the provider has given it, if any.
fn test(
    database: &Database,
    name: &str,
    number: &str,
    via: Via,
    public_url: Option<PublicUrl>,
) -> Result<Option<String>> {
    check_number(number)?;
    database.require_machine()?;
    let service = database.existing()?;
    let engine = service.require_engine()?;
    let unused = Spooled::beside(Path::new("seconder.db"), false);
    let routes = Routes::new(unused, Arc::new(crate::log), public_url, database.dialer()?);
    routes.load_only(engine, name)?;
    // Receipts for other messages may arrive by a session that is opened for this one.
    let _attached = routes.attach(engine);
    // A provider that has seen an id before may accept the message without sending it.
    let id = format!("{:016x}", RandomState::new().build_hasher().finish());
    let outcome = routes.send_by(
        name,
        &Outgoing {
            id: &id,
            to: number,
            text: "This is a test message of Seconder. Your code for nothing is 1234567.",
            language: "en",
            code: "1234567",
            from: "",
            channel: match via {
                Via::Sms => Channel::Sms,
                Via::Call => Channel::Call,
            },
            urls: Urls::default(),
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
        Outcome::Sent(id) => Ok(id),
        Outcome::Permanent(reason) | Outcome::NumberRefused(reason) => {
            failed("was rejected", &reason)
        }
        Outcome::Retry { reason, .. } => failed("could not be sent, and may be later", &reason),
        Outcome::NotAttempted { reason, .. } => failed("was not sent", &reason),
        Outcome::Ambiguous(reason) => failed("may have been sent", &reason),
        _ => failed("could not be sent", "for a reason that is not known"),
    }
}

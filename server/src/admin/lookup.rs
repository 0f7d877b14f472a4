//! `seconder lookup`.

use crate::admin::database::Database;
use crate::admin::input::gateway::{Given, check_number};
use crate::admin::output::table::Json;
use crate::invalid;
use clap::Subcommand;
use seconder::engine::LineType;
use seconder::engine::operator::{RemoveLookup, SetLookup, ShowLookup};
use seconder::model::Secret;
use seconder::{Error, Result, Stage};
use seconder_server::routes;
use serde_json::json;

const GIVEN: Given =
    Given { fields: seconder_gateways::lookup_settings, check: routes::check_lookup };

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Set the provider, or replace all of its settings.
    ///
    /// They are checked first, and everything that is wrong with them is printed. Servers that run use it within
    /// a few seconds. Settings that are secrets are stored sealed.
    Set {
        #[command(flatten)]
        database: Database,
        /// File with the settings as a JSON object, or - for standard input.
        #[arg(long, value_name = "FILE")]
        file: Option<String>,
        /// Settings such as gateway=twilio, which take the place of those in the file. A value is a text,
        /// or JSON; with KEY=@FILE it is the content of a file, so that a secret stays out of process
        /// listings. docs/lookups.md lists the settings.
        #[arg(value_name = "KEY=VALUE")]
        settings: Vec<String>,
        #[command(flatten)]
        json: Json,
    },
    /// Print the settings as JSON, without their secrets.
    Show {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        json: Json,
    },
    /// Remove the provider: numbers are no longer looked up.
    Remove {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        json: Json,
    },
    /// Look a number up once, and print what is known of it.
    ///
    /// It counts for no limit, and nothing of it is kept. It fails unless the provider has responded.
    Test {
        #[command(flatten)]
        database: Database,
        /// Number to look up, with + and the country code.
        #[arg(value_name = "NUMBER")]
        number: String,
        #[command(flatten)]
        json: Json,
    },
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Set { database, file, settings, json } => {
            let settings = GIVEN.read(file, &settings)?;
            database.existing()?.operate(&SetLookup { settings: settings.clone() })?;
            let text = "the look-up of numbers is set; to try it: seconder lookup test +NUMBER";
            json.print(&json!({ "settings": GIVEN.shown(&settings) }), text)
        }
        Command::Show { database, json } => {
            let shown = GIVEN.shown(&stored(&database)?);
            json.print(&shown, &serde_json::to_string_pretty(&shown).unwrap_or_default())
        }
        Command::Remove { database, json } => {
            let removed = database.existing()?.operate(&RemoveLookup {});
            removed.map_err(|error| match error {
                Error::InvalidArgument { .. } => none(),
                other => other,
            })?;
            json.print(&json!({}), "the look-up of numbers is removed")
        }
        Command::Test { database, number, json } => test(&database, &number, json),
    }
}

fn stored(database: &Database) -> Result<Secret> {
    database.existing()?.operate(&ShowLookup {})?.settings.ok_or_else(none)
}

fn none() -> Error {
    let reason = "has no provider of look-ups: set one with `seconder lookup set`";
    invalid("database", reason.to_owned())
}

fn test(database: &Database, number: &str, json: Json) -> Result<()> {
    check_number(number)?;
    database.require_machine()?;
    let line =
        routes::try_lookup(&stored(database)?, &database.dialer()?, number)?.map_err(|reason| {
            let message = format!("the number could not be looked up: {reason}");
            Error::Unavailable { stage: Stage::Delivery, message, reads: false }
        })?;
    let ported = match line.ported {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    let kind = line.kind.map(LineType::name);
    // The text of a provider must not control a terminal.
    let carrier = line.carrier.map(|name| name.chars().filter(|c| !c.is_control()).collect());
    let object = json!({ "carrier": carrier, "type": kind, "ported": line.ported });
    let carrier: String = carrier.unwrap_or_else(|| "unknown".to_owned());
    let kind = kind.unwrap_or("unknown");
    json.print(&object, &format!("carrier: {carrier}\ntype: {kind}\nported: {ported}"))
}

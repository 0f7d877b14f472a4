//! `seconder limits`: the limits of an application.

use crate::arguments::{COMMON, Database};
use crate::commands::print;
use crate::table::{Json, print_json, table};
use clap::Subcommand;
use seconder::Result;
use seconder::engine::Limits;
use seconder::engine::operator::{SetLimits, ShowLimits};
use serde_json::Value;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Print the limits of the application, each with its default and its range.
    Show {
        #[command(flatten)]
        database: Database,
        /// Print a JSON object.
        #[arg(long, help_heading = COMMON)]
        json: bool,
    },
    /// Change limits of the application, and print those that were changed.
    ///
    /// `seconder serve` applies them within seconds, other programs when they open the database again. One that
    /// `--limit` of `seconder serve` sets too is set again when that starts again.
    Set {
        #[command(flatten)]
        database: Database,
        /// Limits to change, such as number_day=10 or countries=1+44; if one is wrong, none is changed.
        #[arg(value_name = "NAME=VALUE", required = true)]
        limits: Vec<String>,
        #[command(flatten)]
        json: Json,
    },
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Show { database, json } => {
            let limits = database.existing()?.operate(&ShowLimits {})?;
            match json {
                true => print_json(serde_json::to_string(&limits)),
                false => print(&shown(&limits)),
            }
        }
        Command::Set { database, limits, json } => {
            let limits = limits.join(" ");
            let all = database.existing()?.operate(&SetLimits { limits: limits.clone() })?;
            let pairs: Vec<_> = limits.split_whitespace().collect();
            json.print(&all, &pairs.join(", ").replace('=', " "))
        }
    }
}

fn shown(limits: &Limits) -> String {
    let values = serde_json::to_value(limits).unwrap_or_default();
    let of = |name: &str| values.get(name).map(Value::to_string).unwrap_or_default();
    let number = |(name, default, least, most): (&str, u32, u32, u32)| {
        vec![name.to_owned(), of(name), default.to_string(), format!("{least} to {most}")]
    };
    let mut rows: Vec<Vec<String>> = Limits::ranges().map(number).collect();
    let lists = limits.to_string();
    for (name, default, range) in [
        ("countries", "all", "calling codes joined by +, or all"),
        ("deny", "none", "beginnings of numbers joined by +, such as 882+1876, or none"),
        ("refuse", "none", "landline, voip, disposable joined by +, or none"),
    ] {
        let value = lists.split(' ').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let value = value.unwrap_or(default);
        rows.push([name, value, default, range].map(str::to_owned).to_vec());
    }
    table(&["LIMIT", "VALUE", "DEFAULT", "RANGE"], &rows)
}

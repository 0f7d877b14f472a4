//! `seconder limits`: the limits of an application.

use crate::admin::database::Database;
use crate::admin::output::table::{Json, table};
use clap::Args;
use seconder::Result;
use seconder::engine::Limits;
use seconder::engine::operator::{SetLimits, ShowLimits};
use serde_json::Value;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    database: Database,
    /// Limits to change, such as number_day=10 or countries=1+44; if one is wrong, none is changed.
    #[arg(value_name = "NAME=VALUE")]
    limits: Vec<String>,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let service = options.database.existing()?;
    if options.limits.is_empty() {
        let limits = service.operate(&ShowLimits {})?;
        return options.json.print(&limits, &shown(&limits));
    }
    let limits = options.limits.join(" ");
    let all = service.operate(&SetLimits { limits: limits.clone() })?;
    let pairs: Vec<_> = limits.split_whitespace().collect();
    options.json.print(&all, &pairs.join(", ").replace('=', " "))
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

//! `seconder maintain`.

use crate::admin::database::Database;
use crate::admin::input::COMMON;
use crate::admin::output::{print, table};
use crate::log;
use clap::Args;
use seconder::Result;
use seconder::engine::operator::Maintain;
use std::io::IsTerminal;

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    database: Database,
    /// Also compare each index with its table, which takes several times as long.
    #[arg(long)]
    full: bool,
    /// Print a JSON object.
    #[arg(long, help_heading = COMMON)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let service = options.database.existing()?;
    if std::io::stderr().is_terminal() {
        log("checking the database, which reads all of it, and removing what has expired");
    }
    let found = service.operate(&Maintain { full: options.full })?;
    if options.json {
        return table::print_json(serde_json::to_string(&found));
    }
    let checked = match found.checked {
        true => "the database is sound",
        false => "the server checks and vacuums its database by itself",
    };
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| format!("{bytes} bytes"));
    print(&table::lines(&[
        ("checked", Some(checked.to_owned())),
        ("size", bytes(found.bytes)),
        ("unused", bytes(found.bytes_free)),
    ]))
}

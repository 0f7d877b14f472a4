//! Copies of a database.

use crate::admin::database::Database;
use crate::admin::input::prompt::Sure;
use crate::admin::output::table::Json;
use crate::{invalid, log};
use seconder::Result;
use serde_json::json;
use std::io::IsTerminal;
use std::path::Path;

pub(crate) fn backup(database: &Database, to: &Path, json: Json) -> Result<()> {
    database.require_machine()?;
    let service = database.existing()?;
    let mut shown = Progress::default();
    service.require_engine()?.backup(to, |copied, all| shown.show(copied, all))?;
    let text = format!("{} is a copy of {} bytes that was checked", to.display(), shown.all);
    json.print(&json!({ "file": to.to_string_lossy(), "bytes": shown.all }), &text)
}

pub(crate) fn restore(database: &Database, replace: bool, copy: &Path, json: Json) -> Result<()> {
    database.require_machine()?;
    let Some(path) = database.path() else {
        return Err(invalid("database", "must be sqlite:/path/file.db".to_owned()));
    };
    database.become_owner()?;
    let mut shown = Progress::default();
    let keyring = database.keyring();
    let progress = |copied, all| shown.show(copied, all);
    seconder::engine::restore(copy, path, replace, keyring.as_ref(), progress)?;
    // The audit has the name of the user who did it.
    database.existing()?.require_engine()?.spend_codes()?;
    spent(json, "restored")
}

pub(crate) fn spend_codes(database: &Database, sure: Sure, json: Json) -> Result<()> {
    database.require_machine()?;
    let service = database.existing()?;
    sure.ask(|| {
        Ok(format!(
            "This is {}. All codes that were sent or shown up to now, open approval requests, remembered browsers \
             and tokens of operators will be void.",
            database.url
        ))
    })?;
    service.require_engine()?.spend_codes()?;
    spent(json, "spent")
}

fn spent(json: Json, done: &str) -> Result<()> {
    json.print(
        &json!({ done: true }),
        "codes that may have been used are spent, open approval requests have expired, and \
         remembered browsers and tokens of operators are void. What was removed after the copy was made is there again: \
         apps, devices, and recovery codes that were used",
    )
}

/// The progress that a terminal shows, each percent once.
#[derive(Default)]
struct Progress {
    all: u64,
    percent: Option<u64>,
}

impl Progress {
    fn show(&mut self, copied: u64, all: u64) {
        self.all = all;
        let percent = copied.saturating_mul(100).checked_div(all);
        if percent != self.percent && std::io::stderr().is_terminal() {
            log(&format!("{} % of {all} bytes", percent.unwrap_or_default()));
        }
        self.percent = percent;
    }
}

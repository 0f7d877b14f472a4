//! Copies of a database.

use super::{invalid, print};
use crate::arguments::Database;
use crate::log;
use seconder::Result;
use std::io::IsTerminal;
use std::path::Path;

pub(crate) fn backup(database: &Database, to: &Path) -> Result<()> {
    let service = database.existing()?;
    let mut shown = Progress::default();
    service.require_engine()?.backup(to, |copied, all| shown.show(copied, all))?;
    print(&format!("{} is a copy of {} bytes that was checked", to.display(), shown.all))
}

pub(crate) fn restore(database: &Database, replace: bool, copy: &Path) -> Result<()> {
    let Some(path) = database.path() else {
        return Err(invalid("database", "must be sqlite:/path/file.db".to_owned()));
    };
    let mut shown = Progress::default();
    let keyring = database.ring_file();
    let progress = |copied, all| shown.show(copied, all);
    seconder::engine::restore(copy, path, replace, keyring.as_deref(), progress)?;
    spent()
}

pub(crate) fn restored(database: &Database) -> Result<()> {
    database.existing()?.require_engine()?.restored()?;
    spent()
}

fn spent() -> Result<()> {
    print(
        "codes that may have been used are spent, open approval requests have expired, and \
         remembered browsers and tokens of operators are void. What was removed after the copy was made is there again: \
         apps, devices, and recovery codes that were used",
    )
}

/// What is shown at a terminal, each percent once.
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

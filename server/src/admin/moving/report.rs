//! Reports the errors in lines: the first ones on standard error, all of them in a file.

use crate::admin::output::files;
use crate::{invalid, log};
use seconder::engine::Problem;
use seconder::{Error, Result};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::path::Path;

/// The number of errors that are shown.
const SHOWN: u64 = 20;
/// The beginning of every report.
const BEGIN: &[u8] = b"{\"line\":";

pub(super) struct Report {
    file: Option<BufWriter<File>>,
    count: u64,
}

impl Report {
    /// # Errors
    /// [`Error::InvalidArgument`] if the file cannot be written, is the one that is read, or holds anything but a
    /// report.
    pub(super) fn new(file: Option<&Path>, input: &Path) -> Result<Report> {
        let open = |file: &Path| {
            if file.canonicalize().is_ok_and(|same| input.canonicalize().is_ok_and(|i| i == same)) {
                return Err(invalid("report", "must not be the file that is imported".to_owned()));
            }
            let cannot =
                |error| invalid("report", format!("{} cannot be written: {error}", file.display()));
            if !may_be_replaced(file).map_err(cannot)? {
                let reason = format!("{} exists, and is no report of an import", file.display());
                return Err(invalid("report", reason));
            }
            files::open_to_replace(file).map(BufWriter::new).map_err(cannot)
        };
        Ok(Report { file: file.map(open).transpose()?, count: 0 })
    }

    /// Returns whether the next one is shown.
    pub(super) fn shows(&self) -> bool {
        self.count <= SHOWN
    }

    pub(super) fn add(&mut self, line: u64, problem: &Problem) -> Result<()> {
        let Problem { field, problem, .. } = problem;
        self.count += 1;
        if self.count <= SHOWN {
            let space = if field.is_empty() { "" } else { " " };
            log(&format!("line {line}: {field}{space}{problem}"));
        }
        if let Some(file) = &mut self.file {
            let problem = serde_json::json!({ "line": line, "field": field, "problem": problem });
            writeln!(file, "{problem}").map_err(cannot_write)?;
        }
        Ok(())
    }

    /// Says how many were not shown, and returns once all are in the file.
    pub(super) fn end(mut self) -> Result<()> {
        if self.count > SHOWN {
            let more = self.count - SHOWN;
            let hint = if self.file.is_some() { "" } else { ": --report FILE writes all of them" };
            log(&format!("and {more} more{hint}"));
        }
        self.file.as_mut().map_or(Ok(()), Write::flush).map_err(cannot_write)
    }
}

/// Returns whether a file can be replaced without loss: a mistyped name may be the name of the database, or of its
/// keys.
fn may_be_replaced(file: &Path) -> std::io::Result<bool> {
    let mut begin = Vec::new();
    match file.metadata() {
        Ok(found) if found.is_file() => {
            File::open(file)?.take(BEGIN.len() as u64).read_to_end(&mut begin)?;
            Ok(begin.is_empty() || begin == BEGIN)
        }
        // Nothing is lost by writing to a device or a pipe, and reading could wait indefinitely.
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

fn cannot_write(error: std::io::Error) -> Error {
    invalid("report", format!("cannot be written: {error}"))
}

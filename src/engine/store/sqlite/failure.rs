//! The messages of errors of SQLite and of the system. They have no values of rows, which may be secret.

use crate::Error;
use crate::exhausted::{self, exhausted};
use rusqlite::ErrorCode;
use std::path::Path;

/// Describes an error of the system.
pub(super) fn cause(error: &std::io::Error) -> String {
    exhausted(error).map_or_else(|| error.to_string(), str::to_owned)
}

/// Describes an error on opening the database at this path.
pub(super) fn message(path: &Path, error: &rusqlite::Error) -> String {
    let shown = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            format!("{shown} is damaged or not a database: restore it from a copy")
        }
        Some(ErrorCode::CannotOpen) if let Some(cause) = exhausted::now() => {
            format!("{shown} cannot be opened: {cause}")
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            format!("{shown} cannot be opened: check that the program may read and write it")
        }
        Some(ErrorCode::ReadOnly) => {
            format!("{shown} is read-only: grant the program write permission, unless its disk is")
        }
        Some(ErrorCode::DatabaseBusy) => {
            format!("{shown} was locked by another process for too long")
        }
        _ => format!("{shown} cannot be opened: {error}"),
    }
}

/// Returns the message of an SQLite error, without the values of any row, which may be secret.
pub(super) fn failed(error: rusqlite::Error) -> Error {
    let message = match &error {
        rusqlite::Error::SqliteFailure(code, _) => match code.code {
            rusqlite::ErrorCode::DatabaseBusy => {
                "the database is busy: another process has locked it for too long".to_owned()
            }
            rusqlite::ErrorCode::DiskFull => "the disk is full".to_owned(),
            rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase => {
                "the database is damaged: restore it from a copy".to_owned()
            }
            rusqlite::ErrorCode::CannotOpen if let Some(cause) = crate::exhausted::now() => {
                format!("the database cannot be opened: {cause}")
            }
            _ => format!(
                "{code}: check the disk, and the permissions of the database and its folder"
            ),
        },
        _ => "a row has an invalid value: the database is damaged".to_owned(),
    };
    Error::storage(message)
}

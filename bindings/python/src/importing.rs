//! Files of other programs, read as users to import.

use crate::failure::Failure;
use crate::values::{bytes, text, to_python};
use pyo3::prelude::*;
use seconder::engine::{SourceFormat, SourceOptions};
use seconder::{Error, Result};
use serde_json::Value;

/// Returns the lines of a file, each with the fields of a user, or with the text of a problem.
#[pyfunction]
#[pyo3(signature = (format, file, user, issuer, algorithm))]
pub(crate) fn read_source<'py>(
    format: &Bound<'py, PyAny>,
    file: &Bound<'py, PyAny>,
    user: Option<String>,
    issuer: Option<String>,
    algorithm: Option<String>,
) -> PyResult<Vec<(u64, Bound<'py, PyAny>)>> {
    let (py, file) = (format.py(), bytes("file", file)?);
    let format = text("format", format)?;
    let read = || -> Result<_> {
        let algorithm = algorithm.map(|name| name.parse()).transpose()?;
        let options = SourceOptions { user, issuer, algorithm };
        format.parse::<SourceFormat>()?.read(file, &options)
    };
    let lines = read().map_err(|error: Error| Failure::from(error).raise(py))?;
    let shown = |(line, fields)| {
        let value = match fields {
            Ok(fields) => Value::Object(fields),
            Err(problem) => problem_text(&problem).into(),
        };
        Ok((line, to_python(py, &value)?))
    };
    lines.into_iter().map(shown).collect()
}

fn problem_text(problem: &seconder::engine::Problem) -> String {
    format!("{} {}", problem.field, problem.problem).trim_start().to_owned()
}

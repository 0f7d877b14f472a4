//! The names that differ between services of the interface, as Python passes them.

use crate::failure::Failure;
use pyo3::prelude::*;
use seconder::wire::Names;

/// The word that replaces `svc`, and the names that do not follow from it: the first part of the
/// paths of approval requests, the prefix of the headers, the field that holds a user's id, and the
/// device type of the browser.
pub(crate) type Given = (String, Option<String>, Option<String>, Option<String>, Option<String>);

pub(crate) fn read(given: Given) -> Result<Names, Failure> {
    let (word, push_path, header_prefix, id_field, chrome_device) = given;
    let mut names = Names::new(&word)?;
    if let Some(word) = push_path {
        names = names.push_path(&word)?;
    }
    if let Some(prefix) = header_prefix {
        names = names.header_prefix(&prefix)?;
    }
    if let Some(name) = id_field {
        names = names.id_field(&name)?;
    }
    if let Some(name) = chrome_device {
        names = names.chrome_device(&name)?;
    }
    Ok(names)
}

/// The headers that carry the API key, a callback's signature and its nonce.
#[pyfunction]
pub(crate) fn headers(py: Python<'_>, names: Given) -> PyResult<(String, String, String)> {
    let names = read(names).map_err(|failure| failure.raise(py))?;
    Ok((names.api_key(), names.signature(), names.nonce()))
}

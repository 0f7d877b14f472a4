//! The settings of `open`, as Python passes them.

use crate::failure::{Failure, invalid};
use crate::names;
use crate::sending::{Deliverer, Lookup, Poster};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seconder::engine::{APP_SETTINGS, SettingKind};
use seconder::model::Secret;
use seconder::{Error, OPEN_OPTIONS, Settings};
use std::path::PathBuf;

/// Settings by name. The package passes all of them, and each is taken exactly once, so that a name
/// misspelt on either side is an error.
struct Given<'py>(Bound<'py, PyDict>);

impl<'py> Given<'py> {
    /// Takes a setting. The error includes its name but never its value, which may be a secret.
    fn take<T: for<'a> FromPyObject<'a, 'py>>(
        &self,
        name: &'static str,
        must: &str,
    ) -> PyResult<T> {
        let py = self.0.py();
        let Some(given) = self.0.get_item(name)? else { return Err(unknown(name).raise(py)) };
        self.0.del_item(name)?;
        given.extract().map_err(|_| invalid(name, must).raise(py))
    }

    fn finish(&self) -> PyResult<()> {
        match self.0.keys().iter().next() {
            Some(name) => Err(unknown(&name.to_string()).raise(self.0.py())),
            None => Ok(()),
        }
    }
}

fn unknown(name: &str) -> Failure {
    Error::Internal { message: format!("the setting {name} exists on one side only") }.into()
}

/// Converts them to the library's [`Settings`]. None and empty lists are settings that were not
/// given.
pub(crate) fn read(url: &str, given: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let given = Given(given.copy()?);
    let options = OPEN_OPTIONS.iter().map(|option| (option.argument, &option.kind));
    let of_application = APP_SETTINGS.iter().map(|setting| (setting.name, &setting.kind));
    let mut settings = Settings::new(url);
    for (name, kind) in options.chain(of_application) {
        for text in given.texts(name, kind)? {
            let set = settings
                .set_value(name, text.expose())
                .map_err(|e| Settings::by_argument(e, false));
            settings = set.map_err(|error| Failure::from(error).raise(given.0.py()))?;
        }
    }
    if let Some(names) = given.take::<Option<names::Given>>("names", "be a seconder.Names")? {
        settings =
            settings.names(names::read(names).map_err(|failure| failure.raise(given.0.py()))?);
    }
    let settings = with_functions(settings, &given)?;
    given.finish()?;
    Ok(settings)
}

impl Given<'_> {
    /// The values of a setting as text, which may be secrets; none for the default. Functions and names are no texts.
    fn texts(&self, name: &'static str, kind: &SettingKind) -> PyResult<Vec<Secret>> {
        let text = match kind {
            SettingKind::Function | SettingKind::Names => None,
            SettingKind::List => {
                let texts = self.take::<Vec<String>>(name, "be a list of strings")?;
                return Ok(texts.into_iter().map(Secret::new).collect());
            }
            SettingKind::YesNo => self
                .take::<Option<bool>>(name, "be True or False")?
                .map(|is_set| if is_set { "yes" } else { "no" }.to_owned()),
            SettingKind::Number(least, most) => self
                .take::<Option<u64>>(name, &format!("be {least} to {most}"))?
                .map(|number| number.to_string()),
            SettingKind::Time => self
                .take::<Option<f64>>(name, "be a number of seconds")?
                .map(|seconds| seconds.to_string()),
            SettingKind::File => match self.take::<Option<PathBuf>>(name, "be a path")? {
                None => None,
                Some(path) => match path.into_os_string().into_string() {
                    Ok(path) => Some(path),
                    Err(_) => return Err(invalid(name, "be a path in UTF-8").raise(self.0.py())),
                },
            },
            SettingKind::Limits | SettingKind::Texts => {
                self.take::<Option<String>>(name, "be a mapping")?
            }
            _ => self.take::<Option<String>>(name, "be text")?,
        };
        Ok(text.into_iter().map(Secret::new).collect())
    }
}

fn with_functions(mut settings: Settings, given: &Given<'_>) -> PyResult<Settings> {
    let limit = given.take::<Option<f64>>("deliver_timeout", "be a number of seconds")?;
    if let Some(function) = given.take::<Option<Py<PyAny>>>("deliver", "be a function")? {
        settings = settings.deliver(Deliverer::new(function, limit));
    }
    if let Some(function) = given.take::<Option<Py<PyAny>>>("post", "be a function")? {
        settings = settings.post(Poster(function));
    }
    if let Some(function) = given.take::<Option<Py<PyAny>>>("lookup", "be a function")? {
        settings = settings.lookup(Lookup(function));
    }
    Ok(settings)
}

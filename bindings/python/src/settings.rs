//! The settings of `open`, as Python passes them.

use crate::failure::{Failure, invalid};
use crate::sending::{Deliverer, Lookup, Poster};
use crate::{names, values};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seconder::engine::operator::AppSettings;
use seconder::engine::{APP_SETTINGS, SettingKind};
use seconder::remote::Repeats;
use seconder::wire::{Format, Generation};
use seconder::{Error, Settings};
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
    let settings = of_an_engine(Settings::new(url), &given)?;
    let settings = of_a_remote_service(settings, &given)?;
    given.finish()?;
    Ok(settings)
}

fn of_a_remote_service(mut settings: Settings, given: &Given<'_>) -> PyResult<Settings> {
    let py = given.0.py();
    if let Some(timeout) = given.take("timeout", "be a number of seconds")? {
        let timeout = values::timeout(timeout).map_err(|failure| failure.raise(py))?;
        settings = settings.timeout(timeout);
    }
    if let Some(repeated) = given.take::<Option<String>>("repeats", "be text")? {
        settings = settings.repeats(repeats(&repeated).map_err(|failure| failure.raise(py))?);
    }
    settings = settings.allow_loopback_http(given.take("allow_loopback_http", "be True or False")?);
    if let Some(key) = given.take::<Option<String>>("api_key", "be text")? {
        settings = settings.api_key(key);
    }
    if let Some(file) = given.take::<Option<PathBuf>>("ca_file", "be a path")? {
        settings = settings.ca_file(file);
    }
    for pin in given.take::<Vec<String>>("pins", "be a list of strings")? {
        settings = settings.pin(pin);
    }
    let pair = "be a pair of paths: the certificate and its key";
    if let Some((certificate, key)) =
        given.take::<Option<(PathBuf, PathBuf)>>("client_certificate", pair)?
    {
        settings = settings.client_certificate(certificate, key);
    }
    if let Some(url) = given.take::<Option<String>>("proxy", "be text")? {
        settings = settings.proxy(url);
    }
    for address in given.take::<Vec<String>>("name_servers", "be a list of strings")? {
        settings = settings.name_server(address);
    }
    if let Some(uid) = given.take::<Option<u32>>("service_uid", "be the number of a user")? {
        settings = settings.service_uid(uid);
    }
    if let Some(names) = given.take::<Option<names::Given>>("names", "be a seconder.Names")? {
        settings = settings.names(names::read(names).map_err(|failure| failure.raise(py))?);
    }
    if let Some(format) = given.take::<Option<String>>("format", "be text")? {
        let format = Format::named(&format).ok_or_else(|| invalid("format", "be json or xml"));
        settings = settings.format(format.map_err(|failure| failure.raise(py))?);
    }
    if let Some(generation) = given.take::<Option<String>>("generation", "be text")? {
        let generation = named_generation("generation", &generation);
        settings = settings.generation(generation.map_err(|failure| failure.raise(py))?);
    }
    let nested = given.take("nested_as_json", "be True or False")?;
    Ok(settings.nested_as_json(nested))
}

fn named_generation(parameter: &'static str, name: &str) -> Result<Generation, Failure> {
    name.parse().map_err(|_| invalid(parameter, "be current or older"))
}

fn of_an_engine(mut settings: Settings, given: &Given<'_>) -> PyResult<Settings> {
    settings = settings.must_exist(given.take("must_exist", "be True or False")?);
    if let Some(file) = given.take::<Option<PathBuf>>("keyring", "be a path")? {
        settings = settings.keyring(file);
    }
    if let Some(hosts) = given.take::<Option<String>>("push_hosts", "be text")? {
        settings = settings.push_hosts(hosts);
    }
    settings = of_an_application(settings, given)?;
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

/// The settings of the application of an engine.
fn of_an_application(settings: Settings, given: &Given<'_>) -> PyResult<Settings> {
    let mut own = AppSettings::default();
    for setting in APP_SETTINGS {
        let name = setting.name;
        let text = match setting.kind {
            SettingKind::YesNo => given
                .take::<Option<bool>>(name, "be True or False")?
                .map(|is_set| if is_set { "yes" } else { "no" }.to_owned()),
            SettingKind::Number(least, most) => given
                .take::<Option<u64>>(name, &format!("be {least} to {most}"))?
                .map(|number| number.to_string()),
            SettingKind::File => given
                .take::<Option<PathBuf>>(name, "be a path")?
                .map(|path| path.to_string_lossy().into_owned()),
            SettingKind::Limits | SettingKind::Texts => given.take(name, "be a mapping")?,
            _ => given.take(name, "be text")?,
        };
        if let Some(text) = text {
            own.set(name, &text).map_err(|error| Failure::from(error).raise(given.0.py()))?;
        }
    }
    Ok(settings.app_settings(own))
}

pub(crate) fn repeats(name: &str) -> Result<Repeats, Failure> {
    match name {
        "none" => Ok(Repeats::None),
        "questions" => Ok(Repeats::Questions),
        "all" => Ok(Repeats::All),
        _ => Err(invalid("repeats", "be none, questions or all")),
    }
}

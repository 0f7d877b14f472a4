//! The settings of `open`, as Python passes them.

use crate::failure::{Failure, invalid};
use crate::sending::{Deliverer, Lookup, Poster};
use crate::{names, values};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seconder::model::CallbackMethod;
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
    if let Some(name) = given.take::<Option<String>>("application_name", "be text")? {
        settings = settings.application_name(name);
    }
    if let Some(url) = given.take::<Option<String>>("callback_url", "be text")? {
        settings = settings.callback_url(url);
    }
    if let Some(method) = given.take::<Option<String>>("callback_method", "be text")? {
        let method: Result<CallbackMethod, seconder::Error> = method.parse();
        let failed = |error| Failure::from(error).raise(given.0.py());
        settings = settings.callback_method(method.map_err(failed)?);
    }
    if let Some(file) = given.take::<Option<PathBuf>>("callback_ca_file", "be a path")? {
        settings = settings.callback_ca_file(file);
    }
    if let Some(link) = given.take::<Option<String>>("install_link", "be text")? {
        settings = settings.install_link(link);
    }
    if let Some(limits) = given.take::<Option<String>>("limits", "be a mapping")? {
        settings = settings.limits(limits);
    }
    if let Some(texts) = given.take::<Option<String>>("texts", "be a mapping")? {
        settings = settings.texts(texts);
    }
    if let Some(hosts) = given.take::<Option<String>>("push_hosts", "be text")? {
        settings = settings.push_hosts(hosts);
    }
    if let Some(domain) = given.take::<Option<String>>("otp_domain", "be text")? {
        settings = settings.otp_domain(domain);
    }
    if let Some(replies) = given.take::<Option<String>>("replies", "be text")? {
        let replies = named_generation("replies", &replies);
        settings = settings.replies(replies.map_err(|failure| failure.raise(given.0.py()))?);
    }
    if let Some(digits) = given.take::<Option<u8>>("token_length", "be 6 to 10")? {
        settings = settings.token_length(digits);
    }
    if let Some(days) = given.take::<Option<u8>>("offline_days", "be 0 (none) to 7")? {
        settings = settings.offline_days(days);
    }
    if let Some(digits) = given.take::<Option<u8>>("authenticator_digits", "be 6 to 8")? {
        settings = settings.authenticator_digits(digits);
    }
    let period =
        given.take::<Option<u64>>("authenticator_period", "be a whole number of seconds")?;
    if let Some(period) = period {
        settings = settings.authenticator_period(period);
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

/// What the calls of an engine do and say by default.
fn of_an_application(mut settings: Settings, given: &Given<'_>) -> PyResult<Settings> {
    let yes_or_no = |name| given.take::<Option<bool>>(name, "be True or False");
    if let Some(allow) = yes_or_no("callback_private")? {
        settings = settings.callback_private(allow);
    }
    if let Some(own) = yes_or_no("white_label")? {
        settings = settings.white_label(own);
    }
    if let Some(enabled) = yes_or_no("sms_enabled")? {
        settings = settings.sms_enabled(enabled);
    }
    if let Some(force) = yes_or_no("force_codes")? {
        settings = settings.force_codes(force);
    }
    if let Some(plan) = given.take::<Option<String>>("plan", "be text")? {
        settings = settings.plan(plan);
    }
    if let Some(logo) = given.take::<Option<String>>("logo", "be text")? {
        settings = settings.logo(logo);
    }
    Ok(settings)
}

pub(crate) fn repeats(name: &str) -> Result<Repeats, Failure> {
    match name {
        "none" => Ok(Repeats::None),
        "questions" => Ok(Repeats::Questions),
        "all" => Ok(Repeats::All),
        _ => Err(invalid("repeats", "be none, questions or all")),
    }
}

/// Names the argument of `open` in an error that names a setting of the library.
pub(crate) fn by_argument(error: Error) -> Error {
    let Error::InvalidArgument { parameter, reason } = error else { return error };
    let argument = match &*parameter {
        "pin" => "pins".into(),
        "name_server" => "name_servers".into(),
        _ => parameter,
    };
    Error::InvalidArgument { parameter: argument, reason }
}

//! The native part of `seconder.testing`: the library's sandbox, whose messages and callbacks go through functions of
//! Python, and its HTTP edge.

use crate::failure::{detached, interrupted, take_cause, take_exception};
use crate::sending::{Deliverer, Poster};
use crate::service::Service;
use crate::{names, values};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use seconder::engine::Clock as _;
use seconder::http::{self, BodyError, Caller, RawReply, RawRequest};
use seconder::model::Secret;
use seconder::sandbox::{self, Fate, SandboxClock};
use seconder::{Error, Settings};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A clock that stands still until it is set, in Unix seconds.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct Clock(SandboxClock);

#[pymethods]
impl Clock {
    #[new]
    fn new(now: f64) -> PyResult<Clock> {
        Ok(Clock(SandboxClock::new(Some(since_the_epoch(now)?), true)))
    }

    /// The time.
    fn now(&self) -> f64 {
        self.0.now().as_secs_f64()
    }

    /// Calls a function once that time has come.
    fn plan(&self, moment: f64, action: Py<PyAny>) -> PyResult<()> {
        let act = move || {
            let called = Python::try_attach(|py| action.call0(py).map(drop).map_err(interrupted));
            called.unwrap_or(Ok(()))
        };
        self.0.plan(since_the_epoch(moment)?, act);
        Ok(())
    }

    /// Returns the first time until then for which a function is planned.
    fn planned(&self, end: f64) -> PyResult<Option<f64>> {
        Ok(self.0.planned_until(since_the_epoch(end)?).map(|time| time.as_secs_f64()))
    }

    /// Passes the time until then, unless it has come already, with all that is planned.
    fn pass_until(&self, py: Python<'_>, end: f64) -> PyResult<()> {
        let end = since_the_epoch(end)?;
        let passed = detached(py, || Ok(self.0.pass_until(end)?));
        take_exception().map_or(passed, Err)
    }
}

impl Clock {
    pub(crate) fn shared(&self) -> SandboxClock {
        self.0.clone()
    }
}

fn since_the_epoch(now: f64) -> PyResult<Duration> {
    let invalid = |_| PyValueError::new_err("a time must be a number of Unix seconds, 0 or more");
    Duration::try_from_secs_f64(now).map_err(invalid)
}

/// A sandbox in this process.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct Sandbox(sandbox::Sandbox);

#[pymethods]
impl Sandbox {
    /// Opens one. The package documents the settings.
    #[new]
    #[pyo3(signature = (*, accept, now, names, api_key, application_name, callback_url, token_length, deliver, post))]
    // All are passed by name, so that the caller cannot confuse two of the same type.
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        accept: &str,
        now: f64,
        names: names::Given,
        api_key: &str,
        application_name: &str,
        callback_url: &str,
        token_length: u8,
        deliver: Py<PyAny>,
        post: Py<PyAny>,
    ) -> PyResult<Sandbox> {
        let names = names::read(names).map_err(|failure| failure.raise(py))?;
        let params: [(&str, Value); 6] = [
            ("accept", accept.into()),
            ("now", now.into()),
            ("still", true.into()),
            ("application_name", application_name.into()),
            ("callback_url", callback_url.into()),
            ("token_length", token_length.into()),
        ];
        let params = params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let api_key = api_key.to_owned();
        let configure = move |url: &str| {
            let settings = Settings::new(url).names(names.clone()).api_key(api_key.as_str());
            let given = Python::try_attach(|py| {
                let deliver = Deliverer::new(deliver.clone_ref(py), None);
                settings.deliver(deliver).post(Poster(post.clone_ref(py)))
            });
            given.ok_or_else(|| Error::Internal { message: "Python is shutting down".to_owned() })
        };
        let opened = detached(py, || Ok(sandbox::Sandbox::open_with(configure, params)?))?;
        Ok(Sandbox(opened))
    }

    /// Its clock.
    #[getter]
    fn clock(&self) -> Clock {
        Clock(self.0.clock())
    }

    /// Returns a service of it, whose calls are not recorded.
    fn service(&self, has_real_waits: bool) -> Service {
        Service::new(self.0.unrecorded_service(has_real_waits))
    }

    /// Carries out one of the operations, and returns its reply.
    fn operate<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        params: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let params = values::params(params)?;
        let reply = detached(py, || Ok(self.0.operate(name, params)?));
        drop(take_cause());
        match take_exception() {
            Some(exception) => Err(exception),
            None => values::to_python(py, &reply?),
        }
    }

    /// Records a call that has ended. Returns the number of calls before it.
    fn record(&self, name: &str, arguments: &Bound<'_, PyDict>, outcome: &str) -> PyResult<u64> {
        Ok(self.0.record(name, values::shown(arguments)?, outcome))
    }

    /// The recorded calls: of each, its number, its name, its arguments, its outcome, and whether it was made over HTTP.
    fn calls<'py>(&self, py: Python<'py>) -> PyResult<Vec<Recorded<'py>>> {
        let calls = self.0.calls().into_iter().map(|call| {
            let arguments = values::to_python(py, &call.arguments.into())?;
            Ok((call.number, call.name, arguments, call.outcome, call.remote))
        });
        calls.collect()
    }

    /// Keeps a device that the application registered.
    fn keep_device(
        &self,
        py: Python<'_>,
        user_id: u64,
        device_id: u64,
        secret: &str,
    ) -> PyResult<()> {
        let keep = || {
            let (user_id, device_id) = (user_id.try_into()?, device_id.try_into()?);
            self.0.keep_device(user_id, device_id, Secret::new(secret));
            Ok(())
        };
        detached(py, keep)
    }

    /// Forgets the devices and authenticator apps of all users.
    fn forget_phones(&self) {
        self.0.forget_phones();
    }

    /// Finds the call of a request as it was received, or the reply to send if it has no call.
    #[pyo3(signature = (*, method, target, headers))]
    fn route<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        target: &str,
        headers: Vec<(String, Vec<u8>)>,
    ) -> (Option<RoutedRequest>, Option<Reply<'py>>) {
        let mut request = RawRequest::new(method, target);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        match http::route(&self.0, request) {
            Ok(request) => {
                let request = Mutex::new(Some(request));
                (Some(RoutedRequest { sandbox: self.0.clone(), request }), None)
            }
            Err(reply) => (None, Some(to_python(py, reply))),
        }
    }
}

type Recorded<'py> = (u64, String, Bound<'py, PyAny>, String, bool);

/// The status, the headers and the body to send.
type Reply<'py> = (u16, Vec<(&'static str, String)>, Bound<'py, PyBytes>);

/// A request whose call is known, before its body is read.
#[pyclass(frozen, module = "seconder._seconder")]
pub(crate) struct RoutedRequest {
    sandbox: sandbox::Sandbox,
    request: Mutex<Option<http::RoutedRequest>>,
}

#[pymethods]
impl RoutedRequest {
    /// Handles the request with this body, or with the reason for its absence, once. Returns the reply to send; None if
    /// there is none.
    fn respond<'py>(
        &self,
        py: Python<'py>,
        body: Option<Vec<u8>>,
        error: &str,
    ) -> PyResult<Option<Reply<'py>>> {
        let request = self.request.lock().unwrap_or_else(PoisonError::into_inner).take();
        let request = request.ok_or_else(|| PyValueError::new_err("the request was handled"))?;
        let request = match (body, error) {
            (Some(body), _) => request.body(body),
            (None, "too_large") => request.body_error(BodyError::TooLarge),
            (None, "too_slow") => request.body_error(BodyError::TooSlow),
            (None, _) => request.body_error(BodyError::Incomplete),
        };
        let replied = detached(py, || {
            let fault = self.sandbox.fault_of(&request);
            let fate = fault.map_or(Fate::Handled, |fault| {
                fault.wait();
                fault.fate(&request)
            });
            Ok(match fate {
                Fate::Handled => Some(request.respond(&self.sandbox, Caller::Network)),
                Fate::Lost => {
                    drop(request.respond(&self.sandbox, Caller::Network));
                    None
                }
                Fate::Replied(reply) => Some(*reply),
                Fate::Dropped => None,
            })
        });
        drop(take_cause());
        match take_exception() {
            Some(exception) => Err(exception),
            None => Ok(replied?.map(|reply| to_python(py, reply))),
        }
    }
}

fn to_python(py: Python<'_>, reply: RawReply) -> Reply<'_> {
    (reply.status, reply.headers, PyBytes::new(py, &reply.body))
}

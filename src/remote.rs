//! The client of a service elsewhere.

mod address;
#[cfg(feature = "engine")]
mod callback;
mod connect;
mod explain;
#[cfg(test)]
mod loopback;
mod reply;
mod trust;

#[cfg(feature = "engine")]
pub(crate) use callback::Callbacks;

use crate::calls::{self, Answer, Call};
use crate::model::Secret;
use crate::wire::{Format, Generation, Names, Reply, Request, form, json};
use crate::{Error, Result};
use address::Address;
use connect::Connections;
use serde_json::{Map, Value};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{self, HeaderValue};

const LONGEST: Duration = Duration::from_secs(3600);

/// The client of a service elsewhere.
///
/// A call runs on the caller's thread and has one deadline, from looking up the name to the last
/// byte of the reply. Nothing is repeated and no redirect is followed. No proxy is used, and no
/// variable of the environment is read.
///
/// The deadline cannot interrupt the system's look-up of a name, which has limits of its own
/// (`timeout` and `attempts` in `resolv.conf`): a look-up that outlasts the deadline fails the
/// call when it returns. A URL with an IP address looks nothing up.
///
/// A program that gives the crate `log` a logger should not log `ureq` at the level `trace`: that
/// level shows paths, and a path may hold a code.
#[derive(Clone)]
pub struct Remote(Arc<Client>);

struct Client {
    address: Address,
    api_key: HeaderValue,
    connections: Connections,
    format: Format,
    generation: Generation,
    names: Names,
}

#[derive(Clone)]
pub(crate) struct RemoteSettings {
    pub(crate) api_key: Option<Secret>,
    pub(crate) timeout: Duration,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) allow_loopback_http: bool,
    pub(crate) format: Format,
    pub(crate) generation: Generation,
    pub(crate) names: Names,
}

impl Default for RemoteSettings {
    fn default() -> RemoteSettings {
        RemoteSettings {
            api_key: None,
            timeout: Duration::from_secs(10),
            ca_file: None,
            allow_loopback_http: false,
            format: Format::default(),
            generation: Generation::default(),
            names: Names::default(),
        }
    }
}

impl Remote {
    pub(crate) fn open(url: &str, settings: RemoteSettings) -> Result<Remote> {
        let address = Address::parse(url, settings.allow_loopback_http)?;
        let api_key = key_header(settings.api_key.as_ref())?;
        if settings.timeout.is_zero() || settings.timeout > LONGEST {
            return Err(Error::invalid("timeout", "must be more than 0 and at most an hour"));
        }
        let trust = trust::roots(&address, settings.ca_file.as_deref())?;
        let connections = Connections::new(connect::config(settings.timeout, trust));
        let RemoteSettings { format, generation, names, .. } = settings;
        let client = Client { address, api_key, connections, format, generation, names };
        Ok(Remote(Arc::new(client)))
    }
}

impl<C: Call> Answer<C> for Remote {
    fn answer(&self, call: &C) -> Result<C::Reply> {
        let request = calls::request(call, self.0.format, self.0.generation);
        C::read(self.0.exchange(&request)?)
    }
}

impl Client {
    fn exchange(&self, request: &Request) -> Result<Reply> {
        let mut query = Map::new();
        if request.method == "GET" {
            query.clone_from(&request.params);
        }
        let key = self.api_key.to_str().unwrap_or_default();
        let older = request.generation == Generation::Older;
        if older {
            query.insert("api_key".into(), key.into());
        }
        let path = self.names.path_to_wire(&request.path);
        let mut ready = http::Request::builder()
            .method(request.method)
            .header(http::header::ACCEPT, self.format.media_type())
            .uri(self.address.uri(&path, &form::write(&query))?);
        if !older {
            ready = ready.header(self.names.api_key(), &self.api_key);
        }
        let agent = self.connections.agent();
        let sent = match body(request) {
            None => agent.run(ready.body(()).map_err(unsendable)?),
            Some((media_type, bytes)) => {
                let ready = ready.header(http::header::CONTENT_TYPE, media_type);
                agent.run(ready.body(bytes.as_slice()).map_err(unsendable)?)
            }
        };
        let host = self.address.host();
        let response = sent.map_err(|error| explain::error(error, host))?;
        let mut reply = reply::read(response, self.format, host)?;
        self.names.body_from_wire(&mut reply.body);
        reply.generation = request.generation;
        Ok(reply)
    }
}

/// The body of a POST and its media type. Calls below `/push/` carry hashes with values of every
/// kind (interface 4.12), which a form would flatten to text, so these go as JSON; all others go
/// as the form that every service of the interface reads.
fn body(request: &Request) -> Option<(&'static str, Vec<u8>)> {
    match (request.method, request.path.starts_with("/push/")) {
        ("POST", true) => {
            Some(("application/json", json::write(&Value::Object(request.params.clone()))))
        }
        ("POST", false) => {
            Some(("application/x-www-form-urlencoded", form::write(&request.params).into_bytes()))
        }
        _ => None,
    }
}

fn key_header(key: Option<&Secret>) -> Result<HeaderValue> {
    let key = key.map(Secret::expose).filter(|key| !key.is_empty()).ok_or_else(|| {
        Error::invalid("api_key", "is missing: a service elsewhere asks for the application's key")
    })?;
    let plain = key.bytes().all(|byte| byte.is_ascii_graphic());
    let header = HeaderValue::from_str(key).ok().filter(|_| plain);
    let mut header = header.ok_or_else(|| {
        Error::invalid(
            "api_key",
            "must be ASCII text without spaces: was a line feed read with it?",
        )
    })?;
    header.set_sensitive(true);
    Ok(header)
}

fn unsendable(_: http::Error) -> Error {
    Error::Internal { message: "a request could not be put together".into() }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("host", &self.0.address.host()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

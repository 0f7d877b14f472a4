//! The client of a remote service.

mod address;
#[cfg(feature = "https")]
mod algorithms;
#[cfg(all(feature = "engine", feature = "https"))]
mod callback;
mod connect;
mod credential;
#[cfg(feature = "postgres")]
mod database;
mod deadline;
#[cfg(feature = "https")]
mod dialer;
mod error_mapping;
mod headers;
mod http1;
#[cfg(all(feature = "engine", feature = "https"))]
mod link;
#[cfg(all(feature = "unix", target_os = "linux"))]
mod local;
#[cfg(all(feature = "unix", not(target_os = "linux")))]
#[path = "remote/nonlocal.rs"]
mod local;
#[cfg(feature = "https")]
mod lookup;
#[cfg(feature = "https")]
#[cfg(test)]
mod loopback;
#[cfg(feature = "https")]
mod network;
#[cfg(all(feature = "engine", feature = "https"))]
mod operating;
#[cfg(all(feature = "engine", feature = "https"))]
mod outside;
#[cfg(feature = "compact")]
mod p256;
#[cfg(all(feature = "engine", feature = "https"))]
mod picture;
#[cfg(feature = "https")]
mod pin;
mod process;
#[cfg(feature = "https")]
mod proxy;
#[cfg(all(feature = "engine", feature = "https"))]
mod push;
mod raw_request;
#[cfg(feature = "https")]
mod reach;
mod redact;
mod reply;
mod request_id;
#[cfg(feature = "https")]
mod secure;
mod settings;
mod socket;
mod stream;
#[cfg(feature = "https")]
mod trust;

#[cfg(all(feature = "engine", feature = "https"))]
pub(crate) use callback::check_authorities;
#[cfg(all(feature = "engine", feature = "https"))]
pub use callback::default_post;
#[cfg(feature = "postgres")]
pub(crate) use database::{Until, Verify, tls};
#[cfg(feature = "https")]
pub use dialer::Dialer;
#[cfg(all(feature = "engine", feature = "https"))]
pub use picture::fetch_picture;
#[cfg(all(feature = "engine", feature = "https"))]
pub(crate) use push::Pushes;
pub(crate) use settings::RemoteSettings;

#[cfg(feature = "https")]
#[doc(hidden)]
pub use error_mapping::certificate_problem;
#[cfg(all(feature = "engine", feature = "https"))]
#[doc(hidden)]
pub use link::{Link, Tls, client_tls};
#[cfg(feature = "https")]
#[doc(hidden)]
pub use lookup::addresses_in;
pub use reply::retry_after;

use crate::call_log;
use crate::calls::{self, Call, Handle};
use crate::interrupt;
use crate::wire::{FORWARDED, Format, Generation, Names, Reply, Request, form, is_operation, json};
use crate::{Error, Result, Stage};
use address::Address;
use connect::{Connections, Connector, KEPT};
use credential::Credential;
use deadline::Deadline;
use error_mapping::Fault;
use http1::Head;
#[cfg(feature = "unix")]
use local::Local;
#[cfg(feature = "https")]
use network::Network;
use raw_request::RawRequest;
use redact::{Redactor, Wiped};
use request_id::RequestId;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
#[cfg(feature = "https")]
use trust::Trust;
use zeroize::Zeroizing;

/// The shortest wait before a retry, even if the service asks for less. It doubles each time, so
/// that a service that always asks for less is not called in a tight loop.
const PAUSE: Duration = Duration::from_millis(100);

/// The client of a remote service.
///
/// A call runs on the caller's thread and has one deadline, from resolving the name to the last
/// byte of the response, waits and retries included. [`Repeats`] decides which calls are retried.
/// Redirects are not followed, and no environment variable is read.
///
/// The name is resolved by `/etc/hosts`, then by the name servers of `/etc/resolv.conf` (or of
/// [`Settings::name_server`](crate::Settings::name_server)), whose `search` and options `ndots`,
/// `timeout`, `attempts` and `rotate` are honoured. `localhost` is always this machine, and
/// `.invalid` never resolves. Other sources that `nsswitch.conf` may list, such as LDAP and
/// multicast DNS (`.local`), are not used, and the error lists them: for a host that only these know,
/// use its IP address in the URL, add it to `/etc/hosts`, or have the system's resolver used by the value `system` of
/// that setting. A name is resolved for each new connection only.
///
/// The API key is sent to the service only, and appears in no error, log or `Debug` text. Every
/// copy made for a request is wiped after the request, and the key itself when the client is
/// dropped. The code of a call is wiped where this client keeps it: in the request, its path and
/// its body. The pieces that these are made of are freed without being wiped, and so are replies
/// and the system's own copies.
#[derive(Clone)]
pub struct Remote {
    client: Arc<Client>,
    pub(crate) timeout: Duration,
    pub(crate) repeats: Repeats,
}

/// The calls that a client retries when it is rate limited (status 429 or 503, with `Retry-After`)
/// and the wait ends before the call's deadline.
///
/// Nothing else is ever retried: a call that failed after its first byte was sent may have taken
/// effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeats {
    /// No calls: the caller gets [`Error::RateLimited`] and decides.
    None,
    /// Calls that change nothing: `app_details`, `user_status`, `app_stats`, `phone_info`,
    /// `phone_verification_status`, `check_approval`, `find_user`, `devices` and `recognise`.
    #[default]
    Questions,
    /// All calls, including the ones that check a code, send a message or change something. These
    /// take effect twice if the service had already begun to carry them out when it asked to wait.
    All,
}

impl Repeats {
    pub(crate) fn allow<C: Call>(self) -> bool {
        match self {
            Repeats::None => false,
            Repeats::Questions => C::REPEATABLE,
            Repeats::All => true,
        }
    }
}

struct Client {
    address: Address,
    credential: Credential,
    connections: Connections,
    format: Format,
    generation: Generation,
    nested_as_json: bool,
    forwarding: bool,
    names: Names,
}

impl Remote {
    /// Opens the client of a service on the network.
    #[cfg(feature = "https")]
    pub(crate) fn open_network(url: &str, mut settings: RemoteSettings) -> Result<Remote> {
        let (address, host, tls) = Address::parse(url, settings.allow_loopback_http)?;
        let credential = Credential::of_network(&mut settings)?;
        Deadline::after(settings.timeout)?;
        let dialer = settings.dialer()?;
        let trust = match tls {
            true => Trust::new(&settings)?,
            false if settings.proxy.is_some() => {
                return Err(Error::invalid_argument("proxy", "is for https: URLs only"));
            }
            false => Trust::ThisMachine,
        };
        let network = Network::new(host, trust, dialer);
        let connector = Connector::Network(Box::new(network));
        Ok(Remote::new(address, credential, connector, settings))
    }

    /// Opens the client of a service on this machine, by the part of its URL after `unix:`. The
    /// service recognises the user of this process, so there is no API key.
    #[cfg(feature = "unix")]
    pub(crate) fn open_socket(rest: &str, settings: RemoteSettings) -> Result<Remote> {
        let local = Local::parse(rest, settings.service_uid)?;
        Deadline::after(settings.timeout)?;
        let address = Address::of_socket(local.path());
        Ok(Remote::new(address, Credential::Process, Connector::Local(local), settings))
    }

    fn new(
        address: Address,
        credential: Credential,
        connector: Connector,
        settings: RemoteSettings,
    ) -> Remote {
        let connections = Connections::new(connector, settings.max_idle, KEPT);
        let RemoteSettings { timeout, repeats, format, generation, names, .. } = settings;
        let RemoteSettings { nested_as_json, forwarding, .. } = settings;
        let client = Client {
            address,
            credential,
            connections,
            format,
            generation,
            nested_as_json,
            forwarding,
            names,
        };
        Remote { client: Arc::new(client), timeout, repeats }
    }

    /// Establishes a connection for the next call, unless there is one that can be used.
    pub(crate) fn keep_warm(&self) -> Result<()> {
        self.client.connections.keep_warm(Deadline::after(self.timeout)?)
    }
}

impl<C: Call> Handle<C> for Remote {
    fn handle(&self, call: &C) -> Result<C::Reply> {
        self.ask(call, |reply| call.read_own(reply))
    }
}

impl Remote {
    /// Makes a call, and reads its reply with `read`.
    pub(crate) fn ask<C: Call, T>(&self, call: &C, read: impl Fn(Reply) -> Result<T>) -> Result<T> {
        let request = calls::request(call, self.client.format, self.client.generation);
        let about = About {
            free_form: C::FREE_FORM,
            key_in_header: C::KEY_IN_HEADER,
            reads: C::REPEATABLE,
            repeatable: self.repeats.allow::<C>(),
        };
        let mut result = None;
        self.send(Wiped(request), about, &mut |reply| {
            result = Some(read(reply)?);
            Ok(())
        })?;
        result.ok_or_else(|| Error::Internal { message: "a reply was not read".into() })
    }

    /// Sends the request of a call. It is not generic over the call, so that it is compiled once and
    /// the library stays small.
    fn send(
        &self,
        request: Wiped,
        about: About,
        read: &mut dyn FnMut(Reply) -> Result<()>,
    ) -> Result<()> {
        let current = request.0.generation == Generation::Current;
        let exchange = Exchange {
            body: body(&request.0, about.free_form, self.client.nested_as_json)?,
            key_in_header: about.key_in_header || current,
            request: &request.0,
        };
        let exchanged = self.exchange(&exchange, about.repeatable, read);
        exchanged.map_err(|error| if about.reads { error.of_reading() } else { error })
    }

    /// Sends a request until `read` accepts the reply, within one deadline.
    fn exchange(
        &self,
        exchange: &Exchange<'_>,
        repeatable: bool,
        read: &mut dyn FnMut(Reply) -> Result<()>,
    ) -> Result<()> {
        let deadline = Deadline::after(self.timeout)?;
        let mut pause = PAUSE;
        loop {
            match self.client.ask(exchange, deadline, read) {
                Err(Error::RateLimited { retry_after: Some(wait), .. })
                    if repeatable && deadline.wait(wait.max(pause)) =>
                {
                    if interrupt::interrupted() {
                        return Err(Error::Cancelled { sent: false });
                    }
                    pause *= 2;
                }
                result => return result,
            }
        }
    }
}

impl Client {
    /// Sends one request and reads its reply. Errors are redacted.
    fn ask(
        &self,
        exchange: &Exchange<'_>,
        deadline: Deadline,
        read: &mut dyn FnMut(Reply) -> Result<()>,
    ) -> Result<()> {
        call_log::count_request();
        let (head, body) = self.fetch(exchange, deadline)?;
        let reply = self.read(exchange.request, &head, &body);
        reply
            .and_then(read)
            .map_err(|error| Redactor::new(exchange.request, &self.credential).redact_error(error))
    }

    /// Sends the request, and receives the response. The body of a redirect is not read.
    fn fetch(&self, exchange: &Exchange<'_>, deadline: Deadline) -> Result<(Head, Vec<u8>)> {
        let id = RequestId::random()?;
        let raw = self.raw(exchange, &id)?;
        let process = self.connections.process();
        let mut connection = self.connections.connection(process, deadline)?;
        let failed = |fault: Fault| fault.at(Stage::Response, self.address.shown());
        let head = connection.send(raw.bytes()).and_then(|()| connection.head_for(&id));
        let head = head.map_err(failed)?;
        if head.is_redirect() {
            return Ok((head, Vec::new()));
        }
        let body = connection.body(&head).map_err(failed)?;
        // On any other connection, a second response could be taken for that to the next request.
        if connection.names_requests() {
            self.connections.keep(process, connection);
        }
        Ok((head, body))
    }

    fn read(&self, request: &Request, head: &Head, body: &[u8]) -> Result<Reply> {
        call_log::keep_status(head.status);
        let mut reply = match reply::read(head, body, self.format) {
            // A service that does not have the call responds so with a body of any kind.
            Err(_) if matches!(head.status, 401 | 404) && calls::is_own(&request.path) => {
                Reply::new(head.status, Value::Null)
            }
            reply => reply?,
        };
        if !is_operation(&request.path) {
            self.names.body_from_wire(&mut reply.body)?;
        }
        if reply.status != 200 {
            Redactor::new(request, &self.credential).redact_value(&mut reply.body);
        }
        reply.generation = request.generation;
        Ok(reply)
    }

    fn raw(&self, exchange: &Exchange<'_>, id: &RequestId) -> Result<RawRequest> {
        let request = exchange.request;
        let target = self.target(request, exchange.key_in_header)?;
        let mut raw = RawRequest::new(request.method, self.address.host(), &target)?;
        raw = raw.header("accept", self.format.media_type())?;
        raw = raw.header(request_id::HEADER, id.text())?;
        if self.forwarding {
            raw = raw.header(FORWARDED, "1")?;
        }
        match &self.credential {
            Credential::Key(key) if exchange.key_in_header => {
                raw = raw.secret(&self.names.api_key(), key.secret())?;
            }
            #[cfg(feature = "https")]
            Credential::Operator(token, app) => raw = raw.operator(token, *app)?,
            _ => {}
        }
        raw.end(exchange.body.as_ref().map(|(kind, bytes)| (*kind, bytes.as_slice())))
    }

    /// Returns the request target: the path, the parameters of a GET, and the API key unless it is
    /// in the header.
    fn target(&self, request: &Request, key_in_header: bool) -> Result<Zeroizing<String>> {
        let path = Zeroizing::new(self.names.path_to_wire(&request.path));
        let (mut params, mut key) = (Zeroizing::default(), Zeroizing::default());
        if request.method == "GET" {
            params = Zeroizing::new(form::write(&request.params));
        }
        if let Some(own) = self.credential.key().filter(|_| !key_in_header) {
            let escaped = Zeroizing::new(form::escape(own.expose()));
            key = Zeroizing::new(["api_key=", &escaped].concat());
        }
        self.address.target(&path, &[&params, &key])
    }
}

/// A media type and a body of it.
type TypedBody = (&'static str, Zeroizing<Vec<u8>>);

/// The properties of a call that decide how it is sent.
struct About {
    free_form: &'static [&'static str],
    key_in_header: bool,
    reads: bool,
    repeatable: bool,
}

/// A request, as it is sent.
struct Exchange<'a> {
    request: &'a Request,
    body: Option<TypedBody>,
    key_in_header: bool,
}

/// Returns the body of a POST: a form, which every service of the interface reads. With
/// `nested_as_json` it is JSON where a free-form parameter holds anything but texts.
fn body(
    request: &Request,
    free_form: &[&'static str],
    nested_as_json: bool,
) -> Result<Option<TypedBody>> {
    if request.method != "POST" {
        return Ok(None);
    }
    let free = |name: &&'static str| request.params.get(*name).map(|value| (*name, value));
    let free = || free_form.iter().filter_map(free);
    let unfit = free().find_map(|(name, value)| Some((name, form::check(value).err()?)));
    let (media_type, bytes) = match unfit {
        Some((name, reason)) if !nested_as_json => {
            return Err(Error::invalid_argument(
                name,
                format!(
                    "{reason}, which a form cannot carry: the setting nested_as_json sends it as JSON"
                ),
            ));
        }
        None if !nested_as_json || free().all(|(_, value)| is_flat(value)) => {
            ("application/x-www-form-urlencoded", form::write(&request.params).into_bytes())
        }
        _ => ("application/json", json::write_object(&request.params)),
    };
    Ok(Some((media_type, Zeroizing::new(bytes))))
}

/// Returns whether an object holds texts alone, which a form carries unchanged.
fn is_flat(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.values().all(Value::is_string))
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("host", &self.client.address.shown()).finish_non_exhaustive()
    }
}

#[cfg(feature = "https")]
#[cfg(test)]
mod tests;

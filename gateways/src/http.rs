//! The gateway to providers with an interface over HTTP.

mod auth;
mod lookup;
mod placement;
mod pointer;
mod receipts;
mod response;
mod settings;
mod signed;
mod statuses;
mod template;
#[cfg(test)]
mod tests;
mod url;
mod values;

pub(super) use lookup::{Facts, fields as lookup_fields, timed};
pub use lookup::{HttpLookup, LookupError};
pub(super) use settings::FIELDS;

use super::{Gateway, Outgoing, Posted, Problem, Receipt};
use crate::client::{Client, Failure};
use receipts::Receipts;
use response::Rules;
use seconder::engine::Outcome;
use seconder::model::{ApiKey, Secret};
use seconder::remote::Dialer;
use serde_json::{Map, Value};
use std::fmt;
use template::{Place, Template};
use ureq::http::{HeaderValue, Method, Request, Uri};
use values::Values;

/// A gateway that makes one request over HTTP for each message. `Debug` shows only the host.
pub struct Http {
    method: Method,
    /// The scheme, the host and the port.
    origin: String,
    /// The path and the query.
    target: Template,
    headers: Vec<(String, Template)>,
    body: Option<(Place, Body)>,
    /// The request if nothing is to be reported, where that is a different one.
    unreported: Option<Unreported>,
    authorization: Option<Secret>,
    signing_key: Option<ApiKey>,
    id_header: Option<String>,
    rules: Rules,
    receipts: Option<Receipts>,
    /// The document that the provider fetches, in XML.
    document: Option<Template>,
    client: Client,
    /// The values of placeholders for settings.
    settings: Vec<Secret>,
    /// The texts that no reason may repeat.
    secrets: Vec<Secret>,
}

/// The target and the body of a request without the parameters that have `{{receipt_url}}`.
struct Unreported {
    target: Template,
    body: Option<(Place, Body)>,
}

/// The body of a request.
enum Body {
    Template(Template),
    /// The names and values of a form, which are encoded already. Empty values are left out.
    Form(Vec<(Template, Template)>),
}

/// Settings whose values are placeholders too.
#[derive(Default)]
pub(super) struct Constants {
    pub(super) names: Vec<&'static str>,
    pub(super) values: Vec<Secret>,
}

impl Http {
    /// Opens a gateway with these settings. The dialer makes its connections.
    ///
    /// # Errors
    /// All errors in them.
    pub fn from_settings(
        settings: &Map<String, Value>,
        dialer: &Dialer,
    ) -> Result<Http, Vec<Problem>> {
        Http::with_constants(settings, Constants::default(), dialer)
    }

    /// Opens a gateway like [`Http::from_settings`], with further placeholders.
    pub(super) fn with_constants(
        settings: &Map<String, Value>,
        constants: Constants,
        dialer: &Dialer,
    ) -> Result<Http, Vec<Problem>> {
        settings::read(settings, constants, dialer)
    }

    /// Returns the request for a message.
    ///
    /// # Errors
    /// The reason why the message cannot be sent by this gateway.
    fn request(&self, message: &Outgoing<'_>) -> Result<Request<Vec<u8>>, String> {
        let values = Values { message, settings: &self.settings };
        let unsendable = |_| "the URL cannot be made".to_owned();
        let (target, body) = match &self.unreported {
            Some(Unreported { target, body }) if message.urls.receipt.is_empty() => (target, body),
            _ => (&self.target, &self.body),
        };
        let target = target.render(Place::Url, &values).map_err(unsendable)?;
        let path = target.split('?').next().unwrap_or_default();
        if path.split('/').any(|step| matches!(step, "." | "..")) {
            return Err("a value in the path of the URL would lead to another path".to_owned());
        }
        let url = format!("{}{target}", self.origin);
        let body = body.as_ref().map(|(place, body)| body.render(*place, &values));
        let body = body.transpose()?.unwrap_or_default().into_bytes();
        let mut request = Request::builder().method(self.method.clone()).uri(&url);
        for (name, value) in &self.headers {
            let cannot = |_| format!("the header {name} cannot hold control characters");
            let value = value.render(Place::Header, &values).map_err(cannot)?;
            if !value.is_empty() {
                let value = HeaderValue::from_bytes(value.as_bytes());
                request = request.header(name, value.map_err(|_| cannot(template::Unsendable))?);
            }
        }
        if let Some(value) = &self.authorization {
            let mut value = HeaderValue::from_str(value.expose())
                .map_err(|_| "the credentials cannot be sent in a header".to_owned())?;
            value.set_sensitive(true);
            request = request.header("authorization", value);
        }
        if let Some(key) = &self.signing_key {
            for (name, value) in signed::headers(key, &url, &body)? {
                request = request.header(name, value);
            }
        }
        request.body(body).map_err(|_| "the request cannot be made".to_owned())
    }

    fn attempt(&self, message: &Outgoing<'_>) -> Outcome {
        let request = match self.request(message) {
            Ok(request) => request,
            Err(wrong) => return Outcome::Permanent(wrong),
        };
        match self.client.run(request, self.id_header.as_deref()) {
            Ok(response) => self.rules.outcome(&response),
            Err(Failure::NotSent(reason)) => Outcome::Retry { after: None, reason },
            Err(Failure::Lost(reason)) => Outcome::Ambiguous(reason),
            Err(Failure::Unsendable(reason)) => Outcome::Permanent(reason),
        }
    }
}

impl Body {
    fn render(&self, place: Place, values: &Values<'_>) -> Result<String, String> {
        let unsendable = |_| "the body cannot be made".to_owned();
        match self {
            Body::Template(template) => template.render(place, values).map_err(unsendable),
            Body::Form(pairs) => {
                let mut form = String::new();
                for (name, value) in pairs {
                    let name = name.render(place, values).map_err(unsendable)?;
                    let value = value.render(place, values).map_err(unsendable)?;
                    if !value.is_empty() {
                        let and = if form.is_empty() { "" } else { "&" };
                        form.push_str(&format!("{and}{name}={value}"));
                    }
                }
                Ok(form)
            }
        }
    }
}

impl Gateway for Http {
    fn address(&self) -> Option<(String, u16, bool)> {
        let origin: Uri = self.origin.parse().ok()?;
        let is_encrypted = origin.scheme_str() == Some("https");
        let port = origin.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
        Some((origin.host()?.trim_matches(['[', ']']).to_owned(), port, is_encrypted))
    }

    fn send(&self, message: &Outgoing<'_>) -> Outcome {
        let secrets: Vec<&str> = self.secrets.iter().map(Secret::expose).collect();
        match self.attempt(message) {
            // An id that is the code or the number would carry it into the logs.
            Outcome::Sent(id) => {
                let digits = message.to.trim_start_matches('+');
                let is_message = |id: &&str| [message.code, message.to, digits].contains(id);
                let id = id.filter(|ids| !ids.split(' ').any(|id| is_message(&id)));
                let is_own = self.receipts.as_ref().is_some_and(|receipts| receipts.own_id);
                Outcome::Sent(match is_own && !message.urls.receipt.is_empty() {
                    true => Some(message.id.to_owned()),
                    false => id,
                })
            }
            other => super::reason::redacted(other, message, &secrets),
        }
    }

    fn when_unmatched(&self) -> &'static str {
        "see whether receipt_id leads to what id_pointer leads to in responses, and whether another \
         program sends by the same account"
    }

    fn document(&self, message: &Outgoing<'_>) -> Option<Secret> {
        let values = Values { message, settings: &self.settings };
        self.document.as_ref()?.render(Place::Xml, &values).ok().map(Secret::new)
    }

    fn document_type(&self) -> Option<&'static str> {
        self.document.as_ref().map(|_| "application/xml")
    }

    fn takes_receipts(&self) -> bool {
        self.receipts.is_some()
    }

    fn receipt(&self, posted: &Posted<'_>) -> Result<Receipt, String> {
        match &self.receipts {
            Some(receipts) => receipts.read(posted),
            None => Err("the route takes none".to_owned()),
        }
    }

    fn stop(&self) {
        self.client.stop();
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("origin", &self.origin).finish_non_exhaustive()
    }
}

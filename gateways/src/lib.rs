//! Gateways, by which the program sends messages to the providers that its operator has chosen.
//!
//! The settings of a gateway are a JSON object, as an operator writes it. A caller that makes a gateway of them gets
//! all errors in them at once, and never a gateway that is half configured.

pub mod client;
mod fields;
mod http;
mod lookups;
mod presets;
mod reason;
mod receipt;
mod smpp;
mod smtp;
pub mod tls;
mod voices;

pub use fields::{Field, Fields, Problem};
pub use http::{Http, HttpLookup, LookupError};
pub use lookups::{lookup_names, lookup_settings, open_lookup};
pub use reason::reason;
pub use receipt::{Delivery, Posted, Receipt, TakeReceipt};
pub use smpp::{Smpp, receipt_in};
pub use smtp::Smtp;

use presets::Preset;
use seconder::calls::Channel;
use seconder::engine::Outcome;
use seconder::model::Secret;
use seconder::remote::Dialer;
use serde_json::{Map, Value};
use std::fmt;

/// A message that a gateway is given to send. `Debug` shows neither the number nor the text.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    /// Identifies the message, and is the same in each attempt to send it.
    pub id: &'a str,
    /// The number, in E.164 with its `+`, or the e-mail address.
    pub to: &'a str,
    /// The text for the user to read or hear.
    pub text: &'a str,
    /// Its language, as in BCP 47: `en-GB`, `ar`.
    pub language: &'a str,
    /// The code on its own. Empty if the message has no code.
    pub code: &'a str,
    /// The sender, as the route has it. Empty if it has none.
    pub from: &'a str,
    /// The channel by which it is delivered.
    pub channel: Channel,
    /// The URLs by which the provider reaches this service.
    pub urls: Urls<'a>,
}

/// The URLs by which a provider reaches this service because of a message. They are secrets.
#[derive(Clone, Copy, Default)]
pub struct Urls<'a> {
    /// The URL to which it reports the outcome of the message. Empty if it cannot.
    pub receipt: &'a str,
    /// The URL from which it fetches the document that [`Gateway::document`] has made. Empty if there is no document.
    pub document: &'a str,
}

impl fmt::Debug for Outgoing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("id", &self.id)
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}

/// Sends messages to a provider.
pub trait Gateway: Send + Sync {
    /// Tries once to send a message, and waits for the provider, but no longer than the gateway's own setting
    /// `timeout`. The reason of a failure is written for operators: it has neither the code, nor the text, nor the
    /// whole number, nor a credential, even if the response of the provider does ([`reason`]).
    fn send(&self, message: &Outgoing<'_>) -> Outcome;

    /// Returns the document that the provider fetches to send a message, if the gateway works like that.
    /// [`Urls::document`] is made for it. Default: no document.
    fn document(&self, _message: &Outgoing<'_>) -> Option<Secret> {
        None
    }

    /// Returns the media type of such a document; `None` if the gateway has no documents, which is the default.
    fn document_type(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether the provider reports the outcomes of messages by requests over HTTP. Default: no.
    fn takes_receipts(&self) -> bool {
        false
    }

    /// Reads such a report.
    ///
    /// # Errors
    /// The error, without anything that it holds.
    fn receipt(&self, _posted: &Posted<'_>) -> Result<Receipt, String> {
        Err("the gateway takes none".to_owned())
    }

    /// Returns the host and the port that it connects to, and whether by TLS from the start. Default: not known.
    fn address(&self) -> Option<(String, u16, bool)> {
        None
    }

    /// Has the receipts that arrive by the gateway's own connection given to this function, on a thread of the gateway.
    /// A receipt is acknowledged if the function returns `true`; otherwise, and if the process ends meanwhile, the
    /// provider delivers it again. Default: no receipts arrive.
    fn set_receiver(&self, _take: TakeReceipt) {}

    /// Returns the advice for an operator if receipts match none of the messages that were sent.
    fn when_unmatched(&self) -> &'static str {
        "see whether another program sends by the same account"
    }

    /// Connects, if receipts for messages of an earlier process can arrive. Default: they cannot.
    ///
    /// # Errors
    /// If no thread can be started.
    fn start(&self) -> std::io::Result<()> {
        Ok(())
    }

    /// Ends the connections that the gateway keeps. Default: it keeps no connections.
    fn stop(&self) {}
}

/// Returns the names of the gateways, which are the values of the setting `gateway`.
pub fn names() -> Vec<&'static str> {
    let presets = presets::PRESETS.iter().map(|preset| preset.name);
    std::iter::once("http").chain(presets).chain(["smpp", "smtp"]).collect()
}

/// Returns the settings of a gateway; `None` if no gateway has this name.
pub fn fields(gateway: &str) -> Option<Vec<Field>> {
    match gateway {
        "http" => Some(http::FIELDS.to_vec()),
        "smpp" => Some(Smpp::FIELDS.to_vec()),
        "smtp" => Some(Smtp::FIELDS.to_vec()),
        name => presets::PRESETS.iter().find(|preset| preset.name == name).map(Preset::fields),
    }
}

/// Makes the gateway that the setting `gateway` names. The dialer makes its connections.
///
/// # Errors
/// All errors in the settings.
pub fn open(
    settings: &Map<String, Value>,
    dialer: &Dialer,
) -> Result<Box<dyn Gateway>, Vec<Problem>> {
    let name = settings.get("gateway").and_then(Value::as_str);
    let preset = presets::PRESETS.iter().find(|preset| Some(preset.name) == name);
    match (name, preset) {
        (Some("http"), _) => Ok(Box::new(Http::from_settings(settings, dialer)?)),
        (Some("smpp"), _) => Ok(Box::new(Smpp::from_settings(settings, dialer)?)),
        (Some("smtp"), _) => Ok(Box::new(Smtp::from_settings(settings, dialer)?)),
        (_, Some(preset)) => Ok(Box::new(preset.open(settings, dialer)?)),
        (name, None) => Err(vec![Problem {
            field: "gateway".to_owned(),
            wrong: match name {
                Some(name) => format!("is {}", fields::shown(name)),
                None => "is missing, or not a text".to_owned(),
            },
            accepted: names().join(", "),
        }]),
    }
}

//! The settings of a gateway by SMPP.

use super::alphabet::Encoding;
use super::receipts::Ids;
use crate::{Field, Fields, Problem, tls};
use rustls::pki_types::ServerName;
use seconder::model::Secret;
use seconder::remote::{Dialer, Tls};
use serde_json::{Map, Value};
use std::fmt;
use std::time::Duration;

/// The settings, as the table of `docs/gateways.md` has them.
pub(super) const FIELDS: &[Field] = &[
    Field::required("host", "the name or the address of the SMSC"),
    Field::new("port", "1 to 65535", "2775, or 3550 with tls"),
    Field::new("tls", "true or false", "false"),
    Field::new("ca_file", "a file in PEM with authorities, if tls is true", "the system's"),
    Field::required("system_id", "1 to 15 characters of ASCII"),
    Field::new("password", "1 to 64 characters of ASCII", "none").secret(),
    Field::new("system_type", "1 to 12 characters of ASCII", "none"),
    Field::new("service_type", "1 to 5 characters of ASCII", "none"),
    Field::new("bind", "transceiver or transmitter", "transceiver"),
    Field::new("window", "1 to 100 messages", "10"),
    Field::new("timeout", "1 to 60 seconds", "10"),
    Field::new("enquire_link", "1 to 600 seconds", "30"),
    Field::new("from", "a number of at most 20 digits, or at most 11 characters of ASCII", "none"),
    Field::new("source_ton", "0 to 6", "by the sender"),
    Field::new("source_npi", "0 to 18", "by the sender"),
    Field::new("dest_ton", "0 to 6", "1"),
    Field::new("dest_npi", "0 to 18", "1"),
    Field::new("encoding", "auto, latin1 or ucs2", "auto"),
    Field::new("multipart", "udh, sar or payload", "udh"),
    Field::new("parts", "1 to 20", "6"),
    Field::new("validity", "60 to 172800 seconds", "the SMSC's"),
    Field::new("receipts", "true or false", "true"),
    Field::new("receipt_ids", "same, decimal or hexadecimal", "same"),
    Field::new("reference", "true or false", "true"),
];

/// The way in which a text is sent that does not fit into one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multipart {
    /// Several messages, with a header in their texts.
    Udh,
    /// Several messages, with parameters.
    Sar,
    /// One message, which the SMSC cuts.
    Payload,
}

/// The settings of a link. `Debug` does not show the password.
pub(super) struct Config {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) dialer: Dialer,
    pub(super) tls: Option<(Tls, ServerName<'static>)>,
    pub(super) system_id: String,
    pub(super) password: Option<Secret>,
    pub(super) system_type: String,
    pub(super) service_type: String,
    pub(super) transceiver: bool,
    pub(super) window: usize,
    pub(super) timeout: Duration,
    pub(super) enquire_link: Duration,
    pub(super) from: String,
    pub(super) source: (Option<u8>, Option<u8>),
    pub(super) destination: (u8, u8),
    pub(super) encoding: Encoding,
    pub(super) multipart: Multipart,
    pub(super) parts: usize,
    pub(super) validity: Option<u64>,
    pub(super) receipts: bool,
    pub(super) receipt_ids: Ids,
    pub(super) reference: bool,
}

impl Config {
    pub(super) fn read(
        settings: &Map<String, Value>,
        dialer: &Dialer,
    ) -> Result<Config, Vec<Problem>> {
        let mut fields = Fields::new(settings, FIELDS);
        let host = host(&mut fields);
        let tls = fields.flag("tls", false);
        let tls = secure(&mut fields, tls, &host);
        let default_port = if tls.is_some() { 3550 } else { 2775 };
        let system_id = fields.required_text("system_id").map(str::to_owned);
        let password = fields.secret("password");
        if password.as_ref().is_some_and(|password| !is_ascii(password.expose(), 64)) {
            fields.problem("password", "is too long, or has other characters");
        }
        let transceiver = fields.one_of("bind", &["transceiver", "transmitter"]);
        let transceiver = transceiver != Some("transmitter");
        let receipts = fields.flag("receipts", transceiver);
        if receipts && !transceiver {
            fields.problem("receipts", "is true, but a transmitter gets none: set bind");
        }
        let config = Config {
            port: small(fields.number("port", 1..=65535, default_port)),
            dialer: dialer.clone(),
            tls,
            system_id: ascii(&mut fields, "system_id", system_id, 15),
            password,
            system_type: short(&mut fields, "system_type", 12),
            service_type: short(&mut fields, "service_type", 5),
            transceiver,
            window: small(fields.number("window", 1..=100, 10)),
            timeout: Duration::from_secs(fields.number("timeout", 1..=60, 10)),
            enquire_link: Duration::from_secs(fields.number("enquire_link", 1..=600, 30)),
            from: from(&mut fields),
            source: (kind(&mut fields, "source_ton", 6), kind(&mut fields, "source_npi", 18)),
            destination: (
                kind(&mut fields, "dest_ton", 6).unwrap_or(1),
                kind(&mut fields, "dest_npi", 18).unwrap_or(1),
            ),
            encoding: match fields.one_of("encoding", &["auto", "latin1", "ucs2"]) {
                Some("latin1") => Encoding::Latin1,
                Some("ucs2") => Encoding::Ucs2,
                _ => Encoding::Auto,
            },
            multipart: match fields.one_of("multipart", &["udh", "sar", "payload"]) {
                Some("sar") => Multipart::Sar,
                Some("payload") => Multipart::Payload,
                _ => Multipart::Udh,
            },
            parts: small(fields.number("parts", 1..=20, 6)),
            validity: validity(&mut fields),
            receipts,
            receipt_ids: match fields.one_of("receipt_ids", &["same", "decimal", "hexadecimal"]) {
                Some("decimal") => Ids::Decimal,
                Some("hexadecimal") => Ids::Hexadecimal,
                _ => Ids::Same,
            },
            reference: fields.flag("reference", true),
            host,
        };
        fields.finish().map(|()| config)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("tls", &self.tls.is_some())
            .field("system_id", &self.system_id)
            .finish_non_exhaustive()
    }
}

fn host(fields: &mut Fields<'_>) -> String {
    let host = fields.required_text("host").unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let address: Result<std::net::IpAddr, _> = host.parse();
    if !host.is_empty() && address.is_err() && !host.chars().all(is_name) {
        fields.problem("host", "is neither a name nor an address");
    }
    host.to_owned()
}

fn secure(fields: &mut Fields<'_>, wanted: bool, host: &str) -> Option<(Tls, ServerName<'static>)> {
    if !wanted {
        if fields.text("ca_file").is_some() {
            fields.problem("ca_file", "has no effect without tls");
        }
        return None;
    }
    let tls = tls::trusted(fields)?;
    let name = ServerName::try_from(host.to_owned());
    // Unless it is empty, which is a problem already.
    if name.is_err() && !host.is_empty() {
        fields.problem("host", "cannot be the name in a certificate");
    }
    Some((tls, name.ok()?))
}

fn short(fields: &mut Fields<'_>, name: &str, most: usize) -> String {
    let text = fields.text(name).map(str::to_owned);
    ascii(fields, name, text, most)
}

/// Checks a text that a message of the protocol can hold.
fn ascii(fields: &mut Fields<'_>, name: &str, text: Option<String>, most: usize) -> String {
    let text = text.unwrap_or_default();
    if !is_ascii(&text, most) {
        fields.problem(name, "is too long, or has other characters");
    }
    text
}

fn is_ascii(text: &str, most: usize) -> bool {
    text.len() <= most && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

fn from(fields: &mut Fields<'_>) -> String {
    let from = fields.text("from").unwrap_or_default();
    if !is_sender(from) {
        fields.problem("from", "is too long, or has other characters");
    }
    from.to_owned()
}

/// Returns whether an address of the protocol can hold this sender: a number, a name, or none.
pub(super) fn is_sender(from: &str) -> bool {
    let digits = from.strip_prefix('+').unwrap_or(from);
    match !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => digits.len() <= 20,
        false => is_ascii(from, 11),
    }
}

/// Reads a type of number or a numbering plan.
fn kind(fields: &mut Fields<'_>, name: &str, most: u8) -> Option<u8> {
    fields.value(name)?;
    Some(small(fields.number(name, 0..=u64::from(most), 0)))
}

fn validity(fields: &mut Fields<'_>) -> Option<u64> {
    fields.value("validity")?;
    Some(fields.number("validity", 60..=172_800, 60))
}

/// Converts a number that was checked to be small enough.
fn small<T: TryFrom<u64> + Default>(number: u64) -> T {
    T::try_from(number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(settings: Value) -> Result<Config, Vec<String>> {
        Config::read(settings.as_object().unwrap(), &Dialer::default())
            .map_err(|problems| problems.iter().map(Problem::to_string).collect())
    }

    #[test]
    fn few_settings_suffice() {
        let config = read(json!({"gateway": "smpp", "host": "smsc.example.net",
            "system_id": "seconder", "password": "hunter2"}));
        let config = config.unwrap();
        assert_eq!((config.port, config.window, config.timeout.as_secs()), (2775, 10, 10));
        assert_eq!((config.transceiver, config.receipts, config.destination), (true, true, (1, 1)));
        let shown = format!("{config:?}");
        assert!(shown.contains("seconder") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn every_problem_is_reported_at_once_and_without_the_password() {
        let secret = "hunter2 is not a password, it is many words and so it is too long for SMPP";
        let problems = read(json!({"host": "smpp://x", "password": secret, "window": 0,
            "timeout": "5", "bind": "receiver", "encoding": "gsm7", "from": "Example Company Ltd",
            "ca_file": "/nowhere", "validity": 5, "dest_ton": 7, "enquirelink": 5}));
        let problems = problems.err().unwrap();
        let named = |name: &str| problems.iter().any(|problem| problem.starts_with(name));
        for name in [
            "host is neither a name nor an address",
            "ca_file has no effect",
            "system_id is missing",
            "password is too long",
            "window is 0; accepted: 1 to 100",
            "timeout is a text",
            "bind is `receiver`",
            "encoding is `gsm7`",
            "from is too long",
            "validity is 5",
            "dest_ton is 7",
            "`enquirelink` is not a setting of this gateway; accepted: enquire_link",
        ] {
            assert!(named(name), "{name} in {problems:#?}");
        }
        assert_eq!(problems.len(), 12, "{problems:#?}");
        assert!(!problems.concat().contains("hunter2"), "{problems:?}");
    }

    #[test]
    fn a_transmitter_has_no_receipts() {
        let settings = |receipts: Value| {
            read(
                json!({"host": "h", "system_id": "s", "bind": "transmitter", "receipts": receipts}),
            )
        };
        assert!(!settings(Value::Null).unwrap().receipts);
        assert!(settings(json!(true)).err().unwrap()[0].starts_with("receipts is true"));
    }

    #[test]
    fn a_sender_is_a_number_or_a_short_name() {
        for fine in ["", "+15550100123", "40404", "Example", "Ada & Co"] {
            assert!(is_sender(fine), "{fine}");
        }
        for bad in ["Exämple", "Example Company", "+155501001231555010012", "a\0b"] {
            assert!(!is_sender(bad), "{bad}");
        }
    }
}

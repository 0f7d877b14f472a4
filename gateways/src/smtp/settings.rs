//! The settings of a gateway by SMTP.

use super::email::{self, is_address};
use crate::{Field, Fields, Problem, tls};
use lettre::message::Mailbox;
use rustls::pki_types::ServerName;
use seconder::model::Secret;
use seconder::remote::{Dialer, Tls};
use serde_json::{Map, Value};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// The settings, as the table of `docs/gateways.md` has them.
pub(super) const FIELDS: &[Field] = &[
    Field::required("host", "the name or the address of the mail server"),
    Field::new("port", "1 to 65535", "587, 465 with wrapper, 25 with none"),
    Field::new("tls", "starttls, wrapper, or none for a server of this machine", "starttls"),
    Field::new("ca_file", "a file in PEM with authorities, unless tls is none", "the system's"),
    Field::new("user", "1 to 255 characters, with password", "none"),
    Field::new("password", "1 to 255 characters, with user", "none").secret(),
    Field::required("from", "an address, such as Example <login@example.com>"),
    Field::new("to", "an address, with {{to}} or {{to_digits}}", "{{to}}"),
    Field::new("subject", "1 to 200 characters, with {{code}} or {{from}}", "none"),
    Field::new("hello", "the name of this machine", "the domain of from"),
    Field::new("connections", "1 to 20", "4"),
    Field::new("timeout", "1 to 60 seconds", "30"),
];

/// The security of a connection.
#[derive(Clone)]
pub(super) enum Security {
    /// TLS by `STARTTLS`, without which nothing is sent.
    StartTls(Tls),
    /// TLS from the beginning.
    Wrapper(Tls),
    /// No TLS, because the connection does not leave this machine.
    None,
}

/// The settings of the connections. `Debug` does not show the password.
pub(super) struct Config {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) dialer: Dialer,
    pub(super) security: Security,
    pub(super) login: Option<(String, Secret)>,
    pub(super) from: Mailbox,
    pub(super) to: String,
    pub(super) subject: Option<String>,
    pub(super) hello: String,
    pub(super) connections: usize,
    pub(super) timeout: Duration,
}

impl Config {
    pub(super) fn read(
        settings: &Map<String, Value>,
        dialer: &Dialer,
    ) -> Result<Config, Vec<Problem>> {
        let mut fields = Fields::new(settings, FIELDS);
        let host = fields.required_text("host").unwrap_or_default().to_owned();
        let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        if host.parse::<IpAddr>().is_err() && !host.chars().all(is_name) {
            fields.problem("host", "is neither a name nor an address");
        }
        let security = security(&mut fields, &host);
        let default_port = match security {
            Security::StartTls(_) => 587,
            Security::Wrapper(_) => 465,
            Security::None => 25,
        };
        let port = fields.number("port", 1..=65535, default_port);
        let login = login(&mut fields);
        let from = fields.required_text("from").map(str::parse::<Mailbox>);
        let from = match from {
            Some(Ok(from)) if is_address(from.email.as_ref()) => Some(from),
            None => None,
            _ => {
                fields.problem("from", "is not an address");
                None
            }
        };
        let to = fields.text("to").unwrap_or("{{to}}").to_owned();
        if !email::is_recipient(&to) {
            fields.problem("to", "is not the template of an address");
        }
        let subject = fields.text("subject").map(str::to_owned);
        if subject.as_deref().is_some_and(|subject| !email::is_subject(subject)) {
            fields.problem("subject", "is too long, or has other placeholders or line breaks");
        }
        let hello = hello(&mut fields, from.as_ref());
        let connections = fields.number("connections", 1..=20, 4);
        let timeout = Duration::from_secs(fields.number("timeout", 1..=60, 30));
        fields.finish()?;
        let port = u16::try_from(port).unwrap_or_default();
        let connections = usize::try_from(connections).unwrap_or(1);
        // The sender is set, because there was no problem.
        let from = from.ok_or_else(Vec::new)?;
        Ok(Config {
            host,
            port,
            dialer: dialer.clone(),
            security,
            login,
            from,
            to,
            subject,
            hello,
            connections,
            timeout,
        })
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

fn security(fields: &mut Fields<'_>, host: &str) -> Security {
    let kind = fields.one_of("tls", &["starttls", "wrapper", "none"]).unwrap_or("starttls");
    if kind == "none" {
        if fields.text("ca_file").is_some() {
            fields.problem("ca_file", "has no effect without tls");
        }
        let address: Option<IpAddr> = host.parse().ok();
        if host != "localhost" && !address.is_some_and(|address| address.is_loopback()) {
            fields.problem("tls", "is none, but the server may be on another machine");
        }
        return Security::None;
    }
    let trusted = tls::trusted(fields);
    // A missing host is a problem already.
    if !host.is_empty() && ServerName::try_from(host).is_err() {
        fields.problem("host", "cannot be the name in a certificate");
    }
    match trusted {
        Some(tls) if kind == "wrapper" => Security::Wrapper(tls),
        Some(tls) => Security::StartTls(tls),
        None => Security::None,
    }
}

fn login(fields: &mut Fields<'_>) -> Option<(String, Secret)> {
    let usable = |text: &str| text.len() <= 255 && !text.contains('\0');
    let user = fields.text("user");
    let password = fields.secret("password");
    if user.is_some_and(|user| !usable(user)) {
        fields.problem("user", "is too long, or has other characters");
    }
    if password.as_ref().is_some_and(|password| !usable(password.expose())) {
        fields.problem("password", "is too long, or has other characters");
    }
    match (user, password) {
        (Some(user), Some(password)) => return Some((user.to_owned(), password)),
        (Some(_), None) => fields.problem("password", "is missing, but user is set"),
        (None, Some(_)) => fields.problem("user", "is missing, but password is set"),
        (None, None) => {}
    }
    None
}

fn hello(fields: &mut Fields<'_>, from: Option<&Mailbox>) -> String {
    let domain = from.map_or("localhost", |from| from.email.domain());
    let hello = fields.text("hello").unwrap_or(domain);
    let plain = hello.bytes().all(|byte| byte.is_ascii_graphic());
    if !plain || hello.len() > 255 {
        fields.problem("hello", "is too long, or has other characters");
    }
    hello.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(settings: Value) -> Result<Config, Vec<String>> {
        Config::read(settings.as_object().unwrap(), &Dialer::default())
            .map_err(|problems| problems.iter().map(Problem::to_string).collect())
    }

    fn wrong(settings: Value) -> Vec<String> {
        read(settings).err().unwrap()
    }

    #[test]
    fn few_settings_suffice() {
        let config =
            read(json!({"gateway": "smtp", "host": "localhost", "tls": "none", "user": "ada",
            "password": "hunter2", "from": "Example <login@example.com>"}))
            .unwrap();
        assert_eq!((config.port, config.connections, config.timeout.as_secs()), (25, 4, 30));
        assert_eq!((config.hello.as_str(), config.to.as_str()), ("example.com", "{{to}}"));
        let shown = format!("{config:?}");
        assert!(shown.contains("localhost") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn every_problem_is_reported_at_once_and_without_the_password() {
        let problems = wrong(json!({"tls": "ssl", "ca_file": "/nowhere", "password": "hunter2",
            "from": "Example", "to": "{{number}}@example.net", "subject": "a\r\nBcc: b@c.d",
            "hello": "a b", "connections": 21, "timeout": 0, "pool": 3}));
        for name in [
            "host is missing",
            "tls is `ssl`",
            "ca_file /nowhere cannot be read",
            "user is missing",
            "from is not an address",
            "to is not the template",
            "subject is too long",
            "hello is too long",
            "connections is 21",
            "timeout is 0; accepted: 1 to 60 seconds",
            "`pool` is not a setting of this gateway",
        ] {
            assert!(
                problems.iter().any(|found| found.starts_with(name)),
                "{name} in {problems:#?}"
            );
        }
        assert_eq!(problems.len(), 11, "{problems:#?}");
        assert!(!problems.concat().contains("hunter2"), "{problems:?}");
    }

    #[test]
    fn only_a_server_of_this_machine_gets_messages_without_tls() {
        let settings = |host: &str| json!({"host": host, "tls": "none", "from": "a@example.com"});
        for host in ["localhost", "127.0.0.1", "127.9.9.9", "::1"] {
            assert!(read(settings(host)).is_ok(), "{host}");
        }
        for host in ["mail.example.com", "192.0.2.7", "localhost.example.com", "0.0.0.0"] {
            assert!(wrong(settings(host))[0].starts_with("tls is none"), "{host}");
        }
    }
}

//! The URL of a database, as PostgreSQL's own clients interpret it.

mod others;

use super::password::Password;
use crate::remote::{Dialer, Verify};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

const PORT: u16 = 5432;
/// The longest time for a connection, if the URL has no `connect_timeout`.
const CONNECT: Duration = Duration::from_secs(5);
/// The folders where servers have their sockets, as they are built by default or for Debian.
const FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// The use of TLS on connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SslMode {
    Disable,
    Allow,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// The binding of a login to the connection with TLS on which it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    Disable,
    Prefer,
    Require,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// A name or an address, which certificates and passwords are for, and the address to connect to
    /// instead, if one is given.
    Network { name: String, address: Option<String>, port: u16 },
    /// A socket in a folder.
    Socket(PathBuf),
}

/// A database, and how to connect to it.
pub(crate) struct Target {
    /// The hosts, in the order in which they are tried.
    pub(super) hosts: Vec<Host>,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) password: Password,
    pub(super) ssl: SslMode,
    pub(super) binding: Binding,
    pub(super) verify: Verify,
    /// The certificate that the client presents, and its key.
    pub(super) certificate: Option<(PathBuf, PathBuf)>,
    pub(super) connect: Duration,
    pub(super) application: String,
    /// The name of the database for what stands before it, as it expects that; empty without.
    pub(super) options: String,
    /// Connects to the hosts. [`Target::parse`] sets one with the name servers of the system.
    pub(crate) dialer: Dialer,
}

/// The parameters of a URL, by name. Later ones replace earlier ones.
#[derive(Default)]
struct Given(Vec<(String, Zeroizing<String>)>);

impl Given {
    fn set(&mut self, name: &str, value: Zeroizing<String>) {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), value));
    }

    fn take(&mut self, name: &str) -> Option<Zeroizing<String>> {
        let place = self.0.iter().position(|(other, value)| other == name && !value.is_empty())?;
        Some(self.0.remove(place).1)
    }
}

fn bad(reason: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::invalid_argument("url", reason)
}

impl Target {
    /// Parses the part of a URL after `postgres:`. Nothing is read from the environment.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the reason, without the password.
    pub(crate) fn parse(rest: &str) -> Result<Target> {
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(bad("must be postgres://user@host/database"));
        };
        let mut given = read(rest)?;
        let account = super::account::current();
        let mut text = |name: &str| given.take(name).map(|value| value.to_string());
        let user = text("user").or_else(|| account.as_ref().map(|account| account.name.clone()));
        let user = user.ok_or_else(|| bad("must name a user: postgres://user@host/database"))?;
        let database = text("dbname").unwrap_or_else(|| user.clone());
        let hosts = hosts(text("host"), text("hostaddr"), text("port"))?;
        let home = account.map(|account| account.home);
        let (ssl, verify) = security(text("sslmode"), text("sslrootcert"), home.as_deref())?;
        let binding = binding(text("channel_binding"), ssl, &hosts)?;
        let certificate = match (text("sslcert"), text("sslkey")) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            _ => return Err(bad("must have sslcert and sslkey together")),
        };
        let connect = seconds(text("connect_timeout"))?;
        let application = text("application_name").unwrap_or_else(|| "seconder".to_owned());
        let options = options(text("options"))?;
        let passfile = text("passfile").map(PathBuf::from);
        let password = Password::new(given.take("password"), passfile, home);
        let mut rest = given.0.iter().filter(|(_, value)| !value.is_empty());
        rest.try_for_each(|(name, value)| others::check(name, value))?;
        if [&user, &database, &application, &options].iter().any(|text| text.contains('\0')) {
            return Err(bad("must not have a zero byte"));
        }
        Ok(Target {
            hosts,
            user,
            database,
            password,
            ssl,
            binding,
            verify,
            certificate,
            connect,
            application,
            options,
            dialer: Dialer::default(),
        })
    }
}

/// Returns whether the part of a URL after `postgres:` has a password.
///
/// # Errors
/// [`Error::InvalidArgument`] as [`Target::parse`], without the password.
pub(crate) fn has_password(rest: &str) -> Result<bool> {
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    Ok(read(rest)?.take("password").is_some())
}

/// Splits a URL. Its user, password, hosts and database may be given as parameters too.
fn read(rest: &str) -> Result<Given> {
    let mut given = Given::default();
    if rest.contains('#') {
        return Err(bad("must not have a fragment: write # as %23"));
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (account, hosts) = match authority.rsplit_once('@') {
        Some((account, hosts)) => (account, hosts),
        None => ("", authority),
    };
    let (user, password) = account.split_once(':').unwrap_or((account, ""));
    given.set("user", decoded(user)?);
    given.set("password", decoded(password)?);
    let (mut names, mut ports) = (Vec::new(), Vec::new());
    for host in hosts.split(',') {
        // An address of IP version 6 is in brackets.
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port),
            _ => (host, ""),
        };
        names.push(decoded(name)?.to_string());
        ports.push(port.to_owned());
    }
    given.set("host", Zeroizing::new(names.join(",")));
    if ports.iter().any(|port| !port.is_empty()) {
        given.set("port", Zeroizing::new(ports.join(",")));
    }
    given.set("dbname", decoded(path)?);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(bad("has a parameter without a value"));
        };
        given.set(&decoded(name)?, decoded(value)?);
    }
    Ok(given)
}

/// Decodes `%41`.
fn decoded(text: &str) -> Result<Zeroizing<String>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(match byte {
            b'%' => match (digit(rest.next()), digit(rest.next())) {
                (Some(high), Some(low)) => (high * 16 + low) as u8,
                _ => return Err(bad("has a % without two hexadecimal digits: write % as %25")),
            },
            byte => byte,
        });
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(Zeroizing::new(text.to_owned())),
        Err(_) => Err(bad("has a part that is not UTF-8")),
    }
}

fn hosts(
    names: Option<String>,
    addresses: Option<String>,
    ports: Option<String>,
) -> Result<Vec<Host>> {
    let split = |list: &Option<String>| -> Vec<String> {
        list.as_deref().unwrap_or("").split(',').map(str::to_owned).collect()
    };
    // Without a name, an address is the name too.
    let names = if names.is_none() && addresses.is_some() { &addresses } else { &names };
    let (names, ports) = (split(names), split(&ports));
    if ports.len() > 1 && ports.len() != names.len() {
        return Err(bad("must have one port for all hosts, or one for each"));
    }
    let addresses = match &addresses {
        Some(_) => split(&addresses),
        None => vec![String::new(); names.len()],
    };
    if addresses.len() != names.len() {
        return Err(bad("must have one hostaddr for each host"));
    }
    let port = |place: usize| match ports.get(place).or(ports.first()).map_or("", |port| port) {
        "" => Ok(PORT),
        port => match port.parse() {
            Ok(port @ 1..) => Ok(port),
            _ => Err(bad("has an invalid port: it must be 1 to 65535")),
        },
    };
    let each = names.iter().zip(&addresses).enumerate();
    each.map(|(place, (name, address))| host(name, address, port(place)?)).collect()
}

fn host(name: &str, address: &str, port: u16) -> Result<Host> {
    let socket = |folder: &str| Host::Socket(Path::new(folder).join(format!(".s.PGSQL.{port}")));
    let network = |name: &str, address: Option<String>| Host::Network {
        name: name.to_owned(),
        address,
        port,
    };
    if !address.is_empty() {
        if address.parse::<std::net::IpAddr>().is_err() {
            return Err(bad("has an invalid hostaddr: it must be an IP address, without brackets"));
        }
        return match name {
            folder if folder.starts_with('/') => {
                Err(bad("must not have hostaddr with the folder of a socket as the host"))
            }
            "" => Ok(network(address, Some(address.to_owned()))),
            name => Ok(network(name, Some(address.to_owned()))),
        };
    }
    Ok(match name {
        "" => {
            let sockets = FOLDERS.map(socket);
            let there = |socket: &&Host| matches!(socket, Host::Socket(path) if path.exists());
            let found = sockets.iter().find(there).cloned();
            found.unwrap_or_else(|| network("localhost", None))
        }
        folder if folder.starts_with('/') => socket(folder),
        name => network(name, None),
    })
}

/// Returns the use of TLS, and the certificates that are accepted.
fn security(
    mode: Option<String>,
    authorities: Option<String>,
    home: Option<&Path>,
) -> Result<(SslMode, Verify)> {
    let system = authorities.as_deref() == Some("system");
    let mode = match mode.as_deref() {
        None if system => SslMode::VerifyFull,
        None | Some("prefer") => SslMode::Prefer,
        Some("disable") => SslMode::Disable,
        Some("allow") => SslMode::Allow,
        Some("require") => SslMode::Require,
        Some("verify-ca") => SslMode::VerifyCa,
        Some("verify-full") => SslMode::VerifyFull,
        Some(_) => {
            return Err(bad(
                "has an invalid sslmode: it must be disable, allow, prefer, require, verify-ca or \
                 verify-full",
            ));
        }
    };
    if system && mode != SslMode::VerifyFull {
        return Err(bad("must have sslmode=verify-full with sslrootcert=system"));
    }
    let usual = home.map(|home| home.join(".postgresql/root.crt")).filter(|file| file.is_file());
    let file = authorities.filter(|_| !system).map(PathBuf::from).or(usual);
    let verify = match (mode, file) {
        (SslMode::VerifyFull, None) if system => Verify::Host(None),
        (SslMode::VerifyFull, Some(file)) => Verify::Host(Some(file)),
        // So it has been since before there was verify-ca.
        (SslMode::VerifyCa | SslMode::Require, Some(file)) => Verify::Authority(file),
        (SslMode::VerifyCa | SslMode::VerifyFull, None) => {
            return Err(bad(
                "must name the server's authority with this sslmode: sslrootcert=/path/of.crt, or \
                 sslrootcert=system with verify-full",
            ));
        }
        _ => Verify::Nothing,
    };
    Ok((mode, verify))
}

fn binding(mode: Option<String>, ssl: SslMode, hosts: &[Host]) -> Result<Binding> {
    match mode.as_deref() {
        None | Some("prefer") => Ok(Binding::Prefer),
        Some("disable") => Ok(Binding::Disable),
        Some("require") => {
            let network = hosts.iter().any(|host| matches!(host, Host::Network { .. }));
            match network && ssl != SslMode::Disable {
                true => Ok(Binding::Require),
                false => Err(bad(
                    "must have a host with TLS with channel_binding=require: name one, and \
                                  use sslmode=verify-full or require",
                )),
            }
        }
        Some(_) => {
            Err(bad("has an invalid channel_binding: it must be disable, prefer or require"))
        }
    }
}

/// Returns the parameter `options`, with which some providers choose the server. Settings of sessions are the
/// engine's own: another one could let it acknowledge what is not on disk.
fn options(text: Option<String>) -> Result<String> {
    match text {
        Some(text) if !text.starts_with("endpoint=") || text.contains(char::is_whitespace) => {
            Err(bad(
                "has options other than endpoint=NAME: set them on the server, with ALTER ROLE … SET",
            ))
        }
        text => Ok(text.unwrap_or_default()),
    }
}

fn seconds(text: Option<String>) -> Result<Duration> {
    match text.map(|text| text.parse::<u64>()) {
        None => Ok(CONNECT),
        Some(Ok(seconds @ 1..=60)) => Ok(Duration::from_secs(seconds)),
        Some(_) => Err(bad("has an invalid connect_timeout: it must be 1 to 60 seconds")),
    }
}

#[cfg(test)]
mod tests;

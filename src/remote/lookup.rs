//! Name resolution.
//!
//! The system's resolver can neither be cancelled at a deadline nor, without another thread,
//! abandoned. So names are resolved here: from `/etc/hosts`, then by DNS, on the caller's thread. The
//! system's is used only where the setting asks for it.

mod ask;
mod conf;
mod hosts;
mod message;
mod nsswitch;
mod order;
mod system;

use super::deadline::Deadline;
use super::socket::is_interrupted;
use crate::Result;
use crate::exhausted::exhausted;
use conf::Conf;
use message::{DnsReply, Kind, Question};
use std::fmt;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// Resolves names.
#[derive(Clone)]
pub(super) struct Lookup {
    hosts: PathBuf,
    resolv_conf: PathBuf,
    nsswitch_conf: PathBuf,
    /// The name servers of the settings, which replace the ones in `resolv.conf`.
    servers: Vec<SocketAddr>,
    /// Set if the system's resolver is used, in place of all of these.
    by_system: bool,
}

/// The reason why a name could not be resolved.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The name does not exist, or it has no address.
    Unknown,
    /// The name has no address here, but `nsswitch.conf` lists these other sources, which may know it.
    NotHere(String),
    /// The system's resolver found no address, for this reason.
    System(String),
    /// None of these name servers returned an answer, or none in time.
    Unanswered(Vec<SocketAddr>),
    /// All its addresses are ones that must not be connected to. This is the first of them.
    Refused(IpAddr),
    /// No descriptors or no memory is left, as the text says.
    Exhausted(&'static str),
    /// The call is to end.
    Interrupted,
}

impl Failure {
    /// Returns the failure that this error means, if no other source or name server would avoid it.
    fn of(error: &io::Error) -> Option<Failure> {
        match is_interrupted(error) {
            true => Some(Failure::Interrupted),
            false => exhausted(error).map(Failure::Exhausted),
        }
    }
}

impl Default for Lookup {
    /// Uses the files of the system.
    fn default() -> Lookup {
        Lookup {
            hosts: "/etc/hosts".into(),
            resolv_conf: "/etc/resolv.conf".into(),
            nsswitch_conf: "/etc/nsswitch.conf".into(),
            servers: Vec::new(),
            by_system: false,
        }
    }
}

impl Lookup {
    /// Uses these name servers, or the ones in `resolv.conf` if the list is empty, or the system's resolver if it has only
    /// the word for that.
    pub(super) fn new(servers: &[String]) -> Result<Lookup> {
        if servers == [system::WORD] {
            return Ok(Lookup { by_system: true, ..Lookup::default() });
        }
        let servers = servers.iter().map(|server| conf::server(server)).collect::<Result<_>>()?;
        Ok(Lookup { servers, ..Lookup::default() })
    }

    /// Uses other files than the system's.
    #[cfg(test)]
    pub(super) fn with_files(self, hosts: PathBuf, resolv_conf: PathBuf) -> Lookup {
        Lookup { hosts, resolv_conf, nsswitch_conf: "/nowhere".into(), ..self }
    }

    /// Looks up the addresses of the host of a URL, in the order in which to try them. The files
    /// are read each time, since networks change while a process lives.
    pub(super) fn addresses(&self, host: &str, deadline: Deadline) -> Result<Vec<IpAddr>, Failure> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse() {
            return Ok(vec![address]);
        }
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if !is_name(&name) || is_below(&name, "invalid") {
            return Err(Failure::Unknown);
        }
        if is_below(&name, "localhost") {
            return order::by_reach(&[Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()]);
        }
        if self.by_system {
            return order::by_reach(&system::addresses(host, deadline)?);
        }
        let listed = hosts::addresses(&self.hosts, &name, deadline)?;
        if !listed.is_empty() {
            return order::by_reach(&listed);
        }
        let mut conf = Conf::read(&self.resolv_conf)?;
        if !self.servers.is_empty() {
            conf.servers.clone_from(&self.servers);
        }
        conf.rotate();
        let names = conf.names(&name, host.ends_with('.')).into_iter();
        let mut failure = Failure::Unknown;
        for name in names.filter(|name| is_name(name)) {
            // A name server that fails for one domain may know the next; the system's resolver also
            // goes on.
            match ask::ask(&conf, &name, deadline) {
                Ok(found) if found.is_empty() => {}
                Ok(found) => return order::by_reach(&found),
                Err(unanswered @ Failure::Unanswered(_)) if !deadline.left().is_zero() => {
                    failure = unanswered;
                }
                Err(last) => return Err(last),
            }
        }
        if failure == Failure::Unknown {
            let others = nsswitch::other_sources(&self.nsswitch_conf);
            if !others.is_empty() {
                return Err(Failure::NotHere(others));
            }
        }
        Err(failure)
    }
}

/// Returns the addresses for a name in an answer of a name server, with any id. For fuzzing the
/// parser.
pub fn addresses_in(name: &str, answer: &[u8]) -> Vec<IpAddr> {
    let id = answer.first_chunk().map_or(0, |id| u16::from_be_bytes(*id));
    let kinds = [Kind::V6, Kind::V4].into_iter();
    let answers = kinds.filter_map(|kind| Question { id, name, kind }.read(answer));
    let found = answers.filter_map(|answer| match answer {
        DnsReply::Addresses(found) => Some(found),
        DnsReply::Truncated | DnsReply::Failed => None,
    });
    found.flatten().collect()
}

/// Opens a file. `None` if it cannot be opened, or is not a regular one: opening a pipe would wait
/// for its writer.
fn plain(file: &Path) -> Result<Option<File>, Failure> {
    let is_file = std::fs::metadata(file).is_ok_and(|found| found.is_file());
    match is_file.then(|| File::open(file)).transpose() {
        Ok(file) => Ok(file),
        // Then the file may hold the name.
        Err(error) => Failure::of(&error).map_or(Ok(None), Err),
    }
}

/// Returns whether a name is this domain or below it (RFC 6761).
fn is_below(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns whether this can be the name of a host. A name that ends in a number is an address in a notation
/// that is not supported.
fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(plain);
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253 && name.split('.').all(label) && !last.bytes().all(|b| b.is_ascii_digit())
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unknown => f.write_str("the name could not be resolved"),
            Failure::NotHere(others) => write!(
                f,
                "the name could not be resolved by /etc/hosts and DNS. nsswitch.conf also lists {others}, \
                 which is not used: if only that knows the name, use its address, add it to /etc/hosts, or set \
                 name_server to system (not in PAM)"
            ),
            Failure::System(reason) => {
                write!(f, "the system's resolver has not found the name: {reason}")
            }
            Failure::Unanswered(servers) => {
                let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
                let servers = servers.join(", ");
                write!(f, "no name server returned an answer (queried: {servers})")
            }
            Failure::Refused(address) => {
                write!(
                    f,
                    "its address {address} is not one of the public Internet: the setting \
                     callback_private allows others"
                )
            }
            Failure::Exhausted(what) => f.write_str(what),
            Failure::Interrupted => f.write_str("the call is to end"),
        }
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests;

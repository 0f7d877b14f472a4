//! The hosts to which requests were sent: connections that are kept for the next ones, and the authorities that
//! are trusted for them.

use super::super::connect::{Connections, Connector};
use super::super::dialer::Dialer;
use super::super::network::Network;
use super::super::reach::Reach;
use super::super::trust::Trust;
use super::To;
use crate::{Error, Result};
use http::uri::Authority;
use rustls::ClientConfig;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The maximum number of hosts, and of files of authorities, that are remembered.
const MOST: usize = 32;
/// The maximum number of idle connections to one host.
const KEPT: usize = 4;
/// The time for which a connection is kept. Most servers keep idle ones for longer.
const IDLE: Duration = Duration::from_secs(15);

#[derive(Default)]
pub(super) struct Hosts(Mutex<Known>);

/// The last ones are those that were used last.
#[derive(Default)]
struct Known {
    hosts: Vec<(Key, Arc<Connections>)>,
    files: Vec<(Authorities, Box<ClientConfig>)>,
}

/// The properties that decide whether a connection can carry a request.
#[derive(Clone, PartialEq)]
struct Key {
    https: bool,
    host: Authority,
    reach: Reach,
    authorities: Option<Authorities>,
}

/// A file of authorities, as it is now.
#[derive(Clone, PartialEq)]
struct Authorities {
    file: PathBuf,
    stamp: Stamp,
}

/// The metadata that changes when a file changes.
#[derive(Clone, PartialEq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// A file that is replaced by another one of the same age.
    #[cfg(unix)]
    replaced: (u64, u64, i64, i64),
}

impl Hosts {
    /// Returns the connections for a request.
    pub(super) fn find(&self, to: &To<'_>, dialer: &Dialer) -> Result<Arc<Connections>> {
        let To { https, host, reach, ca_file, .. } = to;
        let authorities = ca_file.filter(|_| *https).map(Authorities::now).transpose()?;
        let key = Key { https: *https, host: host.clone(), reach: *reach, authorities };
        if let Some(known) = self.known().host(&key) {
            return Ok(known);
        }
        let network = Network::new(host.clone(), self.trust(&key)?, dialer.clone());
        let connector = Connector::Network(Box::new(network.within(*reach)));
        let connections = Arc::new(Connections::new(connector, IDLE, KEPT));
        let mut known = self.known();
        // Another thread may have come first.
        if let Some(known) = known.host(&key) {
            return Ok(known);
        }
        add(&mut known.hosts, (key, Arc::clone(&connections)));
        Ok(connections)
    }

    /// Closes the connections that were idle for too long.
    pub(super) fn close_old(&self) {
        let hosts: Vec<_> =
            self.known().hosts.iter().map(|(_, connections)| Arc::clone(connections)).collect();
        hosts.iter().for_each(|connections| connections.close_old());
    }

    /// Acts as if this time had passed. Returns the number of idle connections.
    #[cfg(test)]
    pub(super) fn age(&self, by: Duration) -> usize {
        self.known().hosts.iter().map(|(_, connections)| connections.age(by)).sum()
    }

    /// Returns the trust for a host. No lock is held while a file is read, which may take long.
    fn trust(&self, key: &Key) -> Result<Trust> {
        let Some(authorities) = &key.authorities else {
            return if key.https { Trust::system() } else { Ok(Trust::ThisMachine) };
        };
        let known = self.known().config(authorities);
        if let Some(config) = known {
            return Ok(Trust::Tls(config));
        }
        let trust = Trust::authorities(&authorities.file).map_err(named)?;
        if let Trust::Tls(config) = &trust {
            let mut known = self.known();
            known.files.retain(|(other, _)| other.file != authorities.file);
            add(&mut known.files, (authorities.clone(), config.clone()));
        }
        Ok(trust)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn host(&mut self, key: &Key) -> Option<Arc<Connections>> {
        let at = self.hosts.iter().position(|(known, _)| known == key)?;
        self.hosts[at..].rotate_left(1);
        self.hosts.last().map(|(_, connections)| Arc::clone(connections))
    }

    fn config(&self, authorities: &Authorities) -> Option<Box<ClientConfig>> {
        let found = self.files.iter().find(|(known, _)| known == authorities);
        found.map(|(_, config)| config.clone())
    }
}

/// Adds one, in place of the one that was used least recently if there are too many.
fn add<T>(all: &mut Vec<T>, one: T) {
    if all.len() >= MOST {
        all.remove(0);
    }
    all.push(one);
}

impl Authorities {
    /// Returns the file as it is now. It is looked at before it is read, so one that changes meanwhile is read again
    /// with the next callback.
    fn now(file: &Path) -> Result<Authorities> {
        let found = std::fs::metadata(file).map_err(|error| {
            let reason = format!("{} cannot be read: {error}", file.display());
            Error::invalid_argument("callback_ca_file", reason)
        })?;
        Ok(Authorities { file: file.to_owned(), stamp: Stamp::of(&found) })
    }
}

impl Stamp {
    fn of(found: &Metadata) -> Stamp {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Stamp {
            length: found.len(),
            modified: found.modified().ok(),
            #[cfg(unix)]
            replaced: (found.dev(), found.ino(), found.ctime(), found.ctime_nsec()),
        }
    }
}

fn named(error: Error) -> Error {
    error.of_parameter("callback_ca_file")
}

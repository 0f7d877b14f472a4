//! Push messages for push services (RFC 8030).

use crate::{Error, Result};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

/// The push services of the makers of browsers: Google's, Mozilla's, Apple's and Microsoft's. A `*.` stands for
/// any number of labels.
const KNOWN: [&str; 6] = [
    "fcm.googleapis.com",
    "updates.push.services.mozilla.com",
    "*.push.services.mozilla.com",
    "web.push.apple.com",
    "*.push.apple.com",
    "*.notify.windows.com",
];

/// An encrypted message, to be posted to a push service. `Debug` does not show the endpoint, because anyone who has it
/// can send messages to it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PushMessage {
    /// The URL to which it is posted.
    pub endpoint: String,
    /// The header `Authorization` (RFC 8292).
    pub authorization: String,
    /// The time for which the push service keeps it for a device that it does not reach.
    pub ttl: Duration,
    /// A later message of the same topic replaces it there.
    pub topic: Option<String>,
    /// The body, with the content encoding `aes128gcm`.
    pub body: Vec<u8>,
}

impl fmt::Debug for PushMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushMessage").field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

/// The outcome of an attempt to send a push message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushOutcome {
    /// The push service has accepted it.
    Accepted,
    /// The subscription has ended.
    Gone,
    /// The push service has rejected it permanently, with this reason for the operator.
    Rejected(String),
    /// Another attempt may succeed.
    Retry {
        /// The time that the push service asks to wait.
        after: Option<Duration>,
        /// The error.
        reason: String,
    },
}

/// Sends push messages.
pub trait SendPush: Send + Sync {
    /// Sends a message, and returns the outcome.
    fn send(&self, message: &PushMessage) -> PushOutcome;

    /// Returns the maximum time that an attempt takes. Default: 30 s.
    fn longest_attempt(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// Closes connections that are kept for further messages and were not used for long. Default:
    /// does nothing.
    fn housekeep(&self) {}
}

/// The hosts of push services. A browser names the host to which its messages are posted, and so may a client that only
/// claims to be one: without a list, it could have requests sent to any host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushHosts(Vec<Host>);

/// A host in addition to the known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// A name, or with `*.` all names below it.
    Name(String),
    /// An address of this machine and a port, which must be written explicitly.
    Here(String),
}

/// Hosts that are separated by spaces or commas: `push.example`, `*.push.example`, `127.0.0.1:8080`.
impl FromStr for PushHosts {
    type Err = Error;

    fn from_str(text: &str) -> Result<PushHosts> {
        let hosts = text.split([' ', ',']).filter(|host| !host.is_empty());
        hosts.map(host).collect::<Result<_>>().map(PushHosts)
    }
}

fn host(text: &str) -> Result<Host> {
    let wrong = || {
        Error::invalid_argument(
            "push_hosts",
            "must be hosts such as push.example or *.push.example, or addresses of this machine with a \
             port such as 127.0.0.1:8080",
        )
    };
    let name = text.to_ascii_lowercase();
    if let Some((address, port)) = name.rsplit_once(':') {
        let address = address.trim_matches(['[', ']']).parse::<IpAddr>().map_err(|_| wrong())?;
        let is_here = address.is_loopback() && port.parse::<u16>().is_ok_and(|port| port > 0);
        return is_here.then_some(Host::Here(name)).ok_or_else(wrong);
    }
    let labels = name.strip_prefix("*.").unwrap_or(&name);
    let is_name = labels.contains('.')
        && labels.split('.').all(is_label)
        && labels.parse::<IpAddr>().is_err();
    is_name.then_some(Host::Name(name)).ok_or_else(wrong)
}

fn is_label(label: &str) -> bool {
    !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl PushHosts {
    /// Checks that messages may be posted to an endpoint: `https:`, port 443, without a user, on a host of the
    /// list. Whether its address is one of the public Internet is checked when connecting.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] says why not.
    pub fn check(&self, endpoint: &str) -> Result<()> {
        let wrong = |reason: &str| Err(Error::invalid_argument("endpoint", reason.to_owned()));
        let Some((scheme, rest)) = endpoint.split_once("://") else {
            return wrong("must be a URL");
        };
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\\\"<>^`{|}#".contains(&byte);
        if !rest.bytes().all(is_plain) {
            return wrong("must be a URL without a fragment and special characters");
        }
        let authority = rest.split(['/', '?']).next().unwrap_or_default().to_ascii_lowercase();
        if authority.contains('@') {
            return wrong("must have no user");
        }
        if ["http", "https"].contains(&scheme) && self.is_here(&authority) {
            return Ok(());
        }
        if scheme != "https" {
            return wrong("must begin with https://");
        }
        let host = authority.strip_suffix(":443").unwrap_or(&authority);
        if host.contains(':') {
            return wrong("must have the port 443");
        }
        match self.has(host) {
            true => Ok(()),
            false => wrong(
                "must be on a host of a known push service: the operator can add more with push_hosts",
            ),
        }
    }

    /// Returns whether an authority is one of this machine that was added.
    pub(crate) fn is_here(&self, authority: &str) -> bool {
        self.0.iter().any(|host| matches!(host, Host::Here(here) if here == authority))
    }

    fn has(&self, host: &str) -> bool {
        let added = self.0.iter().filter_map(|host| match host {
            Host::Name(name) => Some(name.as_str()),
            Host::Here(_) => None,
        });
        KNOWN.into_iter().chain(added).any(|known| match known.strip_prefix('*') {
            Some(end) => {
                host.strip_suffix(end).is_some_and(|before| before.split('.').all(is_label))
            }
            None => host == known,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_on_hosts_of_push_services_alone() {
        let hosts: PushHosts = "push.example,*.up.example 127.0.0.1:8080".parse().unwrap();
        for endpoint in [
            "https://fcm.googleapis.com/fcm/send/abc:def",
            "https://updates.push.services.mozilla.com/wpush/v2/abc",
            "https://web.push.apple.com/QG0",
            "https://wns2-par02p.notify.windows.com/w/?token=a%3d",
            "https://push.example:443/a",
            "https://PUSH.example/a",
            "https://a.b.up.example/a",
            "http://127.0.0.1:8080/push/1",
        ] {
            assert!(hosts.check(endpoint).is_ok(), "{endpoint}: {:?}", hosts.check(endpoint));
        }
        for endpoint in [
            "",
            "fcm.googleapis.com/a",
            "http://fcm.googleapis.com/a",
            "https://fcm.googleapis.com:8443/a",
            "https://fcm.googleapis.com@evil.example/a",
            "https://evil.example/?fcm.googleapis.com",
            "https://evil.example#fcm.googleapis.com",
            "https://fcm.googleapis.com.evil.example/a",
            "https://evilfcm.googleapis.com/a",
            "https://notify.windows.com/a",
            "https://up.example/a",
            "https://a%00.up.example/a",
            "https://..up.example/a",
            "https://[a.up.example/a",
            "https://a;b.up.example/a",
            "https://127.0.0.1/a",
            "https://[::1]/a",
            "http://127.0.0.1:8081/push/1",
            "http://localhost:8080/push/1",
            "https://fcm.googleapis.com/a b",
            "https://fcm.googleapis.com\\@evil.example/a",
            "ftp://127.0.0.1:8080/a",
        ] {
            assert!(hosts.check(endpoint).is_err(), "{endpoint}");
        }
        assert!(PushHosts::default().check("http://127.0.0.1:8080/push/1").is_err());
    }

    #[test]
    fn hosts_that_are_none_are_rejected() {
        for text in [
            "localhost",
            "*",
            "*.",
            "push..example",
            "https://push.example",
            "9.9.9.9",
            "9.9.9.9:80",
            "push.example:443",
            "127.0.0.1:0",
            "127.0.0.1:",
            "push_example.com/a",
        ] {
            let error = text.parse::<PushHosts>().unwrap_err().to_string();
            assert!(error.contains("push_hosts"), "{text}: {error}");
        }
        assert_eq!("".parse::<PushHosts>().unwrap(), PushHosts::default());
    }
}

//! Base URLs: `https://host[:port][/base]`, and `http:` for this machine only. URLs of sockets are
//! in `local.rs`.

use crate::{Error, Result};
#[cfg(feature = "https")]
use http::Uri;
#[cfg(feature = "https")]
use http::uri::{Authority, Scheme};
#[cfg(feature = "https")]
use std::net::IpAddr;
use zeroize::Zeroizing;

/// The longest URL that servers in use accept.
const LONGEST: usize = 64 * 1024 - 2;

/// The address of a service, from its base URL.
pub(super) struct Address {
    /// The host of requests: `host` or `host:port`.
    host: String,
    /// The path of the URL, without a slash at the end.
    base: String,
    /// The host, or the path of the socket, for messages.
    shown: String,
}

impl Address {
    /// Parses the address of a service on the network, its host, and whether it uses TLS.
    #[cfg(feature = "https")]
    pub(super) fn parse(url: &str, loopback_http: bool) -> Result<(Address, Authority, bool)> {
        if url.contains('?') {
            return Err(Error::invalid_argument("url", "must not have a query"));
        }
        let uri = check(url, loopback_http)?;
        let tls = uri.scheme() == Some(&Scheme::HTTPS);
        let base = uri.path().trim_end_matches('/').to_owned();
        let host = uri.authority().cloned();
        let host = host.ok_or_else(|| Error::invalid_argument("url", "must name a host"))?;
        let (named, shown) = (host.to_string(), host.to_string());
        Ok((Address { host: named, base, shown }, host, tls))
    }

    /// Returns the address of a service on this machine, by the path of its socket.
    #[cfg(feature = "unix")]
    pub(super) fn of_socket(path: &str) -> Address {
        Address { host: "localhost".to_owned(), base: String::new(), shown: path.to_owned() }
    }

    /// Returns the request target of a call: its path and its query, whose parts are joined by `&`.
    /// It is not a [`Uri`], so that it can be wiped: it holds the code of a call, and in the older
    /// generation the API key.
    pub(super) fn target(&self, path: &str, query: &[&str]) -> Result<Zeroizing<String>> {
        let query = query.iter().filter(|part| !part.is_empty());
        let length =
            self.base.len() + path.len() + query.clone().map(|part| 1 + part.len()).sum::<usize>();
        if length > LONGEST {
            return Err(Error::invalid_argument("parameters", "are too long for a URL"));
        }
        let mut target = Zeroizing::new(String::with_capacity(length));
        target.push_str(&self.base);
        target.push_str(path);
        for (at, part) in query.enumerate() {
            target.push(if at == 0 { '?' } else { '&' });
            target.push_str(part);
        }
        Ok(target)
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the name for messages.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }
}

/// Checks a base URL. Errors do not repeat the URL, because it may contain a secret in a part where
/// none belongs.
#[cfg(feature = "https")]
fn check(url: &str, loopback_http: bool) -> Result<Uri> {
    let bad = |reason: &'static str| Error::invalid_argument("url", reason);
    if url.contains('#') {
        return Err(bad("must not have a fragment"));
    }
    let uri: Uri =
        url.parse().map_err(|_| bad("must look like https://host or https://host/base"))?;
    let authority = uri.authority().ok_or_else(|| bad("must name a host"))?;
    if authority.as_str().contains('@') {
        return Err(bad("must not hold a user name or password"));
    }
    let host = authority.host();
    let port = authority.as_str().strip_prefix(host);
    if host.is_empty() || !port.is_some_and(is_port) {
        return Err(bad("must name a host, and a port from 1 to 65535 or none"));
    }
    if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(bad("must be ASCII: percent-encode other characters of its path"));
    }
    match uri.scheme() == Some(&Scheme::HTTPS) {
        true => Ok(uri),
        false if uri.scheme() != Some(&Scheme::HTTP) => Err(bad("must begin with https:")),
        false if !loopback_http => Err(bad(
            "must begin with https: (http: needs the setting allow_loopback_http, for tests)",
        )),
        false if !is_this_machine(host) => {
            Err(bad("must begin with https: (http: is for 127.0.0.1, ::1 and localhost only)"))
        }
        false => Ok(uri),
    }
}

/// Returns whether the part after the host is empty, or a port that can be connected to.
#[cfg(feature = "https")]
fn is_port(rest: &str) -> bool {
    let plain = |port: &&str| port.bytes().all(|byte| byte.is_ascii_digit());
    let port = rest.strip_prefix(':').filter(plain).and_then(|port| port.parse::<u16>().ok());
    rest.is_empty() || port.is_some_and(|port| port > 0)
}

/// Returns whether a host is this machine without resolving its name.
#[cfg(feature = "https")]
pub(super) fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(feature = "https")]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_base_urls() {
        for good in [
            "https://2fa.example.com",
            "https://2fa.example.com/",
            "https://2fa.example.com:8443/some/base",
            "https://[::1]:8443",
            "https://127.0.0.1",
        ] {
            let (address, host, tls) = Address::parse(good, false).unwrap();
            let target = address.target("/protected/json/app/details", &["", "user_ip=%3A%3A1"]);
            let whole = format!("https://{host}{}", target.unwrap().as_str());
            assert_eq!(
                whole,
                format!(
                    "{}/protected/json/app/details?user_ip=%3A%3A1",
                    good.trim_end_matches('/')
                )
            );
            assert!(tls && address.host() == host.as_str());
        }
    }

    #[test]
    fn other_urls_are_rejected_without_being_shown() {
        for bad in [
            "http://2fa.example.com",
            "http://127.0.0.1",
            "https://",
            "https://:8443",
            "https://host:",
            "https://host:0",
            "https://host:65536",
            "https://host:+1",
            "https://hidden:hidden@host",
            "https://hidden@host",
            "https://host?api_key=hidden",
            "https://host/#hidden",
            "https://ho st",
            "https:host",
            "ftp://host",
            "https://host\n",
            "https://host/hidd\u{e9}n",
        ] {
            let error = Address::parse(bad, false).err().unwrap();
            assert!(
                matches!(&error, Error::InvalidArgument { parameter, .. } if parameter == "url"),
                "{bad}"
            );
            assert!(!error.to_string().contains("hidden"), "{bad}");
        }
    }

    #[test]
    fn plain_http_stays_on_this_machine() {
        for good in
            ["http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:1/b", "http://127.9.9.9"]
        {
            assert!(!Address::parse(good, true).unwrap().2, "{good}");
        }
        for bad in [
            "http://10.0.0.1",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://[::2]",
        ] {
            assert!(Address::parse(bad, true).is_err(), "{bad}");
        }
    }
}

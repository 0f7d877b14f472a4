//! Tunnels connections through a proxy (RFC 9110, section 9.3.6).

use super::error_mapping::Fault;
use crate::model::Secret;
use crate::wire::form;
use crate::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::uri::Authority;
use std::io::{Read, Write};
use zeroize::Zeroizing;

/// The maximum size of a proxy's request and response.
const LONGEST: usize = 16 * 1024;

/// The address of a proxy, and the credentials for it.
pub(super) struct Proxy {
    /// `host:port`
    pub(super) address: Authority,
    pub(super) port: u16,
    credentials: Option<Zeroizing<String>>,
}

impl Proxy {
    /// Parses `http://host:port` or `http://user:password@host:port`. Errors do not include the
    /// URL, which may contain the password.
    pub(super) fn parse(url: &Secret) -> Result<Proxy> {
        let bad = || {
            let like = "must look like http://host:port or http://user:password@host:port, with \
                        other special characters written as %XX";
            Error::invalid_argument("proxy", like)
        };
        let rest = url.expose().strip_prefix("http://").ok_or_else(bad)?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, address) = match rest.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, rest),
        };
        let parsed: Authority = address.parse().map_err(|_| bad())?;
        let port = parsed.port_u16().filter(|port| *port > 0).ok_or_else(bad)?;
        if parsed.host().is_empty() || address != format!("{}:{port}", parsed.host()) {
            return Err(bad());
        }
        let credentials = user.map(|user| credentials(user).ok_or_else(bad)).transpose()?;
        Ok(Proxy { address: parsed, port, credentials })
    }

    /// Requests a connection to a `host:port` from the proxy, which `stream` is connected to, and returns the status of
    /// its response.
    pub(super) fn tunnel<S: Read + Write>(
        &self,
        stream: &mut S,
        target: &str,
    ) -> std::result::Result<u16, Fault> {
        stream.write_all(self.request(target).as_bytes())?;
        answer(stream)
    }

    fn request(&self, target: &str) -> Zeroizing<String> {
        // The capacity suffices, so the text is never moved and leaves no copy that is not wiped.
        let mut head = Zeroizing::new(String::with_capacity(LONGEST));
        head.push_str(&format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"));
        if let Some(credentials) = &self.credentials {
            head.push_str("Proxy-Authorization: Basic ");
            head.push_str(credentials);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        head
    }
}

/// Encodes user and password for `Basic` (RFC 7617). In a URL, `+` is not a space.
fn credentials(user: &str) -> Option<Zeroizing<String>> {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let plain = |text: &str| {
        let text = form::unescape(&Zeroizing::new(text.replace('+', "%2B"))).ok()?;
        let text = Zeroizing::new(text);
        (!text.chars().any(char::is_control) && text.len() <= 1024).then_some(text)
    };
    let (name, password) = (plain(name)?, plain(password)?);
    let both = Zeroizing::new(format!("{}:{}", name.as_str(), password.as_str()));
    (!name.contains(':')).then(|| Zeroizing::new(STANDARD.encode(both.as_bytes())))
}

/// Returns the status of the proxy's response. It is read byte by byte, and no further than its end: a mail server
/// speaks first, so what follows may be its greeting.
fn answer(stream: &mut impl Read) -> std::result::Result<u16, Fault> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > LONGEST {
            return Err(no_proxy());
        }
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let status = head.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
    let status = status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    status.ok_or_else(no_proxy)
}

fn no_proxy() -> Fault {
    Fault::Peer("it does not respond as an HTTP proxy".into())
}

/// Returns the fault of a proxy that did not connect.
pub(super) fn rejection(status: u16) -> Fault {
    Fault::Peer(match status {
        407 => "it requires a user name and a password, or others than those of the setting proxy"
            .into(),
        403 => "it does not allow connections to the service (status 403)".into(),
        502..=504 => format!("it cannot reach the service (status {status})"),
        _ => format!("it did not connect to the service (status {status})"),
    })
}

/// Returns whether a proxy that has responded so may reach another address of the same host.
pub(super) fn may_reach_another(status: u16) -> bool {
    (502..=504).contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<(String, Option<String>)> {
        let proxy = Proxy::parse(&Secret::new(url))?;
        let request = proxy.request("2fa.example.com:443");
        let credentials = request.split("Basic ").nth(1).and_then(|rest| rest.lines().next());
        let plain = credentials.map(|coded| STANDARD.decode(coded).unwrap());
        Ok((proxy.address.to_string(), plain.map(|bytes| String::from_utf8(bytes).unwrap())))
    }

    #[test]
    fn what_follows_the_response_is_left_to_its_reader() {
        let mut stream = &b"HTTP/1.1 200 Connected\r\nVia: x\r\n\r\n220 mail.example\r\n"[..];
        assert!(matches!(answer(&mut stream), Ok(200)));
        assert_eq!(stream, b"220 mail.example\r\n");
        for wrong in [&b"HTTP/1.1 200"[..], b"220 mail.example\r\n\r\n", &[b'x'; 20_000]] {
            assert!(answer(&mut &*wrong).is_err());
        }
    }

    #[test]
    fn addresses_and_credentials_are_parsed() {
        let known = |address: &str, who: &str| Ok((address.to_owned(), Some(who.to_owned())));
        assert_eq!(parsed("http://127.0.0.1:3128"), Ok(("127.0.0.1:3128".into(), None)));
        assert_eq!(parsed("http://[::1]:3128/"), Ok(("[::1]:3128".into(), None)));
        assert_eq!(parsed("http://user:pass@proxy:80"), known("proxy:80", "user:pass"));
        assert_eq!(parsed("http://user@proxy:80"), known("proxy:80", "user:"));
        assert!(parsed("http://u%3Aser:p@proxy:80").is_err());
        assert_eq!(parsed("http://user:p%40s+%25%2F:@proxy:80"), known("proxy:80", "user:p@s+%/:"));
    }

    #[test]
    fn other_urls_are_rejected_and_not_shown() {
        for bad in [
            "",
            "hidden",
            "proxy:3128",
            "http://hidden",
            "http://:3128",
            "http://proxy:0",
            "http://proxy:65536",
            "http://proxy:3128/hidden",
            "http://proxy:3128?hidden",
            "http://user:hid/den@",
            "http://user:hidden%@proxy:3128",
            "http://user:hidden%0a@proxy:3128",
            "https://user:hidden@proxy:3128",
            "socks5://user:hidden@proxy:1080",
        ] {
            let error = parsed(bad).unwrap_err();
            assert!(
                matches!(&error, Error::InvalidArgument { parameter, .. } if parameter == "proxy")
            );
            assert!(!error.to_string().contains("hid"), "{bad}");
        }
    }
}

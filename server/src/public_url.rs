//! The URL by which others reach this service.

use crate::invalid;
use axum::http::Uri;
use seconder::engine::approver::origin;
use seconder::{Error, Result};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The URL at which the service is reached from the Internet, such as `https://login.example`. Its host and port are as
/// browsers write them, because devices sign the form of their browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

impl FromStr for PublicUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<PublicUrl> {
        let wrong = |reason: &str| Err(invalid("public-url", reason));
        let Some(rest) = text.strip_prefix("https://") else {
            return wrong("must begin with https://");
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return wrong("must have no user and no password");
        }
        if rest.contains(['?', '#']) {
            return wrong("must have neither a query nor a fragment");
        }
        let is_plain = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}".contains(c);
        match text.parse::<Uri>() {
            Ok(uri)
                if text.chars().all(is_plain)
                    && uri.host().is_some_and(|host| !host.is_empty())
                    && has_port(&uri) =>
            {
                if !uri.host().is_some_and(is_written_the_same) {
                    return wrong(
                        "must have a host that browsers write the same: a name, or an address such as 192.0.2.1 or \
                         [2001:db8::1]",
                    );
                }
                let path = &rest[authority.len()..];
                if path.split('/').any(is_dots) {
                    return wrong("must have a path without . and .., which browsers resolve");
                }
                Ok(PublicUrl(format!("{}{}", origin(text), path.trim_end_matches('/'))))
            }
            _ => wrong("must be a URL with a host, such as https://login.example"),
        }
    }
}

fn is_dots(segment: &str) -> bool {
    matches!(&*segment.to_ascii_lowercase().replace("%2e", "."), "." | "..")
}

/// Returns whether browsers read a host as it is written, except for capitals: besides four decimal numbers, they read
/// `127.1` and `0x7f000001`, say, as addresses of IPv4.
fn is_written_the_same(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        return address.strip_suffix(']').is_some_and(|it| it.parse::<Ipv6Addr>().is_ok());
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let last = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_number = match last.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => last.bytes().all(|byte| byte.is_ascii_digit()),
    };
    match is_number {
        true => host.parse::<Ipv4Addr>().is_ok(),
        false => host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)),
    }
}

/// Returns whether the port can be one, if there is any.
fn has_port(uri: &Uri) -> bool {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let port = &authority[authority.rfind(']').unwrap_or(0)..];
    !port.contains(':') || uri.port_u16().is_some_and(|port| port > 0)
}

/// Writes the URL without a slash at its end.
impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_of_https_and_has_only_a_host_and_a_path() {
        for (text, shown) in [
            ("https://login.example", "https://login.example"),
            ("https://login.example:8443/", "https://login.example:8443"),
            ("https://login.example/seconder/", "https://login.example/seconder"),
            ("https://[2001:db8::1]", "https://[2001:db8::1]"),
            ("https://192.0.2.1:8443", "https://192.0.2.1:8443"),
            ("https://login_1.example.", "https://login_1.example."),
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().to_string(), shown);
        }
        for text in [
            "",
            "login.example",
            "http://login.example",
            "https://",
            "https:///receipts",
            "https://login.example:",
            "https://login.example:x",
            "https://user@login.example",
            "https://user:sesame@login.example",
            "https://login.example?a=b",
            "https://login.example/#a",
            "https://login example",
            "https://login.example/ä",
            "https://login.example/{{to}}",
        ] {
            let error = text.parse::<PublicUrl>().map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("public-url") && !error.contains("sesame"), "{text}: {error}");
        }
    }

    #[test]
    fn a_public_url_is_written_as_browsers_write_it_or_refused() {
        for (text, shown) in [
            ("https://LOCALHOST:00443", "https://localhost"),
            ("https://Login.Example:443/Seconder/", "https://login.example/Seconder"),
            ("https://[2001:DB8:0:0:0:0:0:1]:08443", "https://[2001:db8::1]:8443"),
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().to_string(), shown);
        }
        for text in [
            "https://127.1",
            "https://2130706433",
            "https://0x7F.0.0.1",
            "https://127.0.0.0x1",
            "https://0177.0.0.1",
            "https://192.0.2.1.",
            "https://login.example.5",
            "https://login.0x",
            "https://[fe80::1%25eth0]",
            "https://log%69n.example",
            "https://login!.example",
            "https://login.example/a/../b",
            "https://login.example/%2E",
        ] {
            let error = text.parse::<PublicUrl>().map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("public-url"), "{text}: {error}");
        }
    }
}

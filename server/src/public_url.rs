//! Where others reach this service.

use crate::invalid;
use axum::http::Uri;
use seconder::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The URL at which the service is reached from the Internet, such as `https://login.example`.
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
                Ok(PublicUrl(text.trim_end_matches('/').to_owned()))
            }
            _ => wrong("must be a URL with a host, such as https://login.example"),
        }
    }
}

/// Whether the port can be one, if there is any.
fn has_port(uri: &Uri) -> bool {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let port = &authority[authority.rfind(']').unwrap_or(0)..];
    !port.contains(':') || uri.port_u16().is_some_and(|port| port > 0)
}

/// Without a slash at its end.
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
}

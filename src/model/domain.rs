//! The domain for which browsers read codes in messages.

use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A domain, for the line of an SMS by which a browser recognises a code for its page
/// (`@example.com #123456`): at least two labels in ASCII, in small letters. A domain with other
/// letters is written as in the DNS, such as `xn--bcher-kva.example`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtpDomain(String);

impl OtpDomain {
    /// Wraps a domain that was checked before it was stored.
    #[cfg(feature = "engine")]
    pub(crate) fn stored(domain: String) -> OtpDomain {
        OtpDomain(domain)
    }

    /// Returns the domain as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for OtpDomain {
    type Err = Error;

    fn from_str(domain: &str) -> Result<OtpDomain> {
        let domain = domain.to_ascii_lowercase();
        match is_domain(&domain) {
            true => Ok(OtpDomain(domain)),
            false => Err(Error::invalid_argument(
                "otp_domain",
                "must be a domain such as example.com, without scheme, port and path (in ASCII: \
                 xn--… for other letters)",
            )),
        }
    }
}

impl fmt::Display for OtpDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_domain(domain: &str) -> bool {
    let is_label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // One whose last label is a number is an address.
    let is_name = |label: &str| label.bytes().any(|byte| byte.is_ascii_alphabetic());
    domain.len() <= 253
        && domain.split('.').all(is_label)
        && domain.rsplit_once('.').is_some_and(|(_, last)| is_name(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_those_that_pages_have() {
        let longest = format!("{}example", "a.".repeat(123));
        for good in
            ["example.com", "login.example.co.uk", "xn--bcher-kva.example", "1.a1", &longest]
        {
            assert_eq!(good.parse::<OtpDomain>().unwrap().as_str(), good);
        }
        assert_eq!("Example.COM".parse::<OtpDomain>().unwrap().to_string(), "example.com");
        for bad in [
            "",
            "localhost",
            "com",
            "example.",
            ".example.com",
            "a..b",
            "-a.example",
            "a-.example",
            "127.0.0.1",
            "[::1]",
            "https://example.com",
            "example.com:443",
            "example.com/",
            "ada@example.com",
            "@example.com",
            "example.com #1",
            "example.com\n",
            "b\u{fc}cher.example",
            "a_b.example",
            &format!("{}.example", "a".repeat(64)),
            &format!("a{longest}"),
        ] {
            let error = bad.parse::<OtpDomain>().unwrap_err();
            assert!(error.to_string().starts_with("otp_domain must be"), "{bad}: {error}");
        }
    }
}

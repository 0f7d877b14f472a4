//! Parts of an application: its API key, the URL its callbacks go to, and the link to its app.

use super::Secret;
use crate::{Error, Result};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The maximum length of an API key: longer than any that a service issues, and short enough for
/// every server's limit on headers.
const LONGEST_KEY: usize = 1024;
/// The maximum length of a URL: more than any application needs, and few enough for every HTTP
/// client.
const LONGEST_URL: usize = 2048;

/// An application's API key (interface 5.1): 1 to 1024 visible ASCII characters, so that a header
/// can hold it. `Debug` does not show it, and its memory is wiped when it is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey(Secret);

impl ApiKey {
    /// Returns the key itself, for a header or a signature.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Wraps a key that was checked before it was stored.
    #[cfg(feature = "engine")]
    pub(crate) fn stored(key: Secret) -> ApiKey {
        ApiKey(key)
    }

    /// Returns the key as a [`Secret`].
    pub fn secret(&self) -> &Secret {
        &self.0
    }
}

impl TryFrom<Secret> for ApiKey {
    type Error = Error;

    fn try_from(key: Secret) -> Result<ApiKey> {
        let text = key.expose();
        let sendable = text.bytes().all(|byte| byte.is_ascii_graphic());
        match sendable && (1..=LONGEST_KEY).contains(&text.len()) {
            true => Ok(ApiKey(key)),
            // Keys are mostly read from files, whose last line ends in a line feed.
            false => Err(Error::invalid_argument(
                "api_key",
                "must be 1 to 1024 ASCII characters without spaces or line feeds",
            )),
        }
    }
}

impl FromStr for ApiKey {
    type Err = Error;

    fn from_str(key: &str) -> Result<ApiKey> {
        ApiKey::try_from(Secret::new(key))
    }
}

/// The URL at which an application receives callbacks (interface 6): `https://host[:port][/path]`,
/// or `http:` on this machine only, because a callback carries an approval that lets a user in. It
/// has no parameters, because the signature covers the URL without them (interface 5.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallbackUrl(String);

impl CallbackUrl {
    /// Wraps a URL that was checked before it was stored.
    #[cfg(feature = "engine")]
    pub(crate) fn stored(url: String) -> CallbackUrl {
        CallbackUrl(url)
    }

    /// Returns the URL as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether callbacks are encrypted on their way.
    #[cfg(all(feature = "engine", feature = "https"))]
    pub(crate) fn is_encrypted(&self) -> bool {
        self.0.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
    }

    /// Returns whether its host is written as this machine: `localhost`, or a loopback address.
    #[cfg(all(feature = "engine", feature = "https"))]
    pub(crate) fn is_this_machine(&self) -> bool {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        let authority = rest.split('/').next().unwrap_or_default();
        host_and_port(authority).is_some_and(|(host, _)| host.is_loopback())
    }
}

impl FromStr for CallbackUrl {
    type Err = Error;

    fn from_str(url: &str) -> Result<CallbackUrl> {
        match is_callback_url(url) {
            true => Ok(CallbackUrl(url.to_owned())),
            false => Err(Error::invalid_argument(
                "callback_url",
                "must be https://host/path without parameters (http:// to this machine only)",
            )),
        }
    }
}

impl fmt::Display for CallbackUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The HTTP method by which an application receives callbacks (interface 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallbackMethod {
    /// By POST, with a JSON body.
    #[default]
    Post,
    /// By GET, with the parameters as the query of the URL. It is for applications whose server or
    /// proxy accepts nothing else: the content of a URL tends to appear in logs, and many servers
    /// limit its length, often to 8 KiB.
    Get,
}

impl CallbackMethod {
    /// Returns the method's name as a setting: `post` or `get`.
    pub const fn name(self) -> &'static str {
        match self {
            CallbackMethod::Post => "post",
            CallbackMethod::Get => "get",
        }
    }

    /// Returns the method's name in a request, which is signed: `POST` or `GET`.
    pub const fn verb(self) -> &'static str {
        match self {
            CallbackMethod::Post => "POST",
            CallbackMethod::Get => "GET",
        }
    }
}

impl FromStr for CallbackMethod {
    type Err = Error;

    fn from_str(name: &str) -> Result<CallbackMethod> {
        [CallbackMethod::Post, CallbackMethod::Get]
            .into_iter()
            .find(|method| method.name() == name)
            .ok_or_else(|| Error::invalid_argument("callback_method", "must be post or get"))
    }
}

super::serde_by!(from_text, serialize_str(name): CallbackMethod);

/// The link that a new user receives in the install message (interface 4.1): an `https:` URL of at
/// most 2048 characters, which may have parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallLink(String);

impl InstallLink {
    /// Wraps a link that was checked before it was stored.
    #[cfg(feature = "engine")]
    pub(crate) fn stored(link: String) -> InstallLink {
        InstallLink(link)
    }

    /// Returns the link as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InstallLink {
    type Err = Error;

    fn from_str(link: &str) -> Result<InstallLink> {
        match is_https_url(link) {
            true => Ok(InstallLink(link.to_owned())),
            false => Err(Error::invalid_argument(
                "install_link",
                "must be an https:// URL of at most 2048 characters",
            )),
        }
    }
}

impl fmt::Display for InstallLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The picture that approval requests show which have none of their own (interface 4.12): an `https:` URL
/// of at most 2048 characters, which may have parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoUrl(String);

impl LogoUrl {
    /// Wraps a URL that was checked before it was stored.
    #[cfg(feature = "engine")]
    pub(crate) fn stored(url: String) -> LogoUrl {
        LogoUrl(url)
    }

    /// Returns the URL as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LogoUrl {
    type Err = Error;

    fn from_str(url: &str) -> Result<LogoUrl> {
        match is_https_url(url) {
            true => Ok(LogoUrl(url.to_owned())),
            false => Err(Error::invalid_argument(
                "logo",
                "must be an https:// URL of at most 2048 characters",
            )),
        }
    }
}

impl fmt::Display for LogoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_https_url(link: &str) -> bool {
    let Some((scheme, rest)) = link.split_once("://") else { return false };
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let Some((_, port)) = host_and_port(authority) else { return false };
    scheme.eq_ignore_ascii_case("https")
        && is_port(port)
        && link.len() <= LONGEST_URL
        && rest.bytes().all(|byte| is_path_byte(byte) || b"?#@".contains(&byte))
}

fn is_callback_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let scheme = scheme.to_ascii_lowercase();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let Some((host, port)) = host_and_port(authority) else { return false };
    let allowed = scheme == "https" || (scheme == "http" && host.is_loopback());
    allowed && is_port(port) && url.len() <= LONGEST_URL && path.bytes().all(is_path_byte)
}

fn is_port(port: Option<&str>) -> bool {
    port.is_none_or(|port| port.parse().is_ok_and(|port: u16| port > 0))
}

/// The characters of a path in RFC 3986, without `@`, which some readers take for the end of a user
/// name wherever it stands.
fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte)
}

enum Host<'a> {
    Name(&'a str),
    V6(Ipv6Addr),
}

impl Host<'_> {
    fn is_loopback(&self) -> bool {
        match self {
            Host::V6(address) => address.is_loopback(),
            Host::Name(name) => {
                name.eq_ignore_ascii_case("localhost")
                    || name.parse().is_ok_and(|ip: Ipv4Addr| ip.is_loopback())
            }
        }
    }
}

fn host_and_port(authority: &str) -> Option<(Host<'_>, Option<&str>)> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (address, rest) = inner.split_once(']')?;
            (Host::V6(address.parse().ok()?), rest)
        }
        None => {
            let (name, rest) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            (!name.is_empty() && name.bytes().all(plain)).then_some((Host::Name(name), rest))?
        }
    };
    let digits = |port: &&str| port.bytes().all(|byte| byte.is_ascii_digit());
    match rest {
        "" => Some((host, None)),
        rest => Some((host, Some(rest.strip_prefix(':').filter(digits)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_keys_fit_into_a_header_and_do_not_show() {
        for good in ["k", "a-Key_09+/=", &"k".repeat(1024)] {
            assert_eq!(good.parse::<ApiKey>().unwrap().expose(), good);
        }
        for bad in ["", " ", "sesame\n", "a sesame", "sesam\u{e9}", "sesame\0", &"s".repeat(1025)] {
            let error = bad.parse::<ApiKey>().unwrap_err();
            let Error::InvalidArgument { parameter, .. } = &error else { panic!("{error}") };
            assert!(parameter == "api_key" && !error.to_string().contains("sesam"), "{error}");
        }
        assert_eq!(format!("{:?}", "key".parse::<ApiKey>()), "Ok(ApiKey(Secret([redacted])))");
    }

    #[test]
    fn callbacks_are_encrypted_or_stay_on_this_machine() {
        for good in [
            "https://app.example",
            "https://app.example/cb",
            "https://app.example:8443/a/b%20c;d=1",
            "http://127.0.0.1:80/cb",
            "http://127.9.9.9/",
            "http://localhost/",
            "http://[::1]:9/",
            "HTTPS://app.example/",
            "http://LOCALHOST/",
        ] {
            assert_eq!(good.parse::<CallbackUrl>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            "http://app.example/",
            "http://127.0.0.1.example/",
            "http://localhost@evil.example/",
            "https://user:password@app.example/",
            "https://a/?x=1",
            "https://a/#x",
            "https://",
            "ftp://a/",
            "file:///etc/passwd",
            "https://a/ b",
            "https://a/\u{e9}",
            "https://exa<mple/",
            "http://[::1]x/",
            "https://a/|",
            "http://10.0.0.1/",
            "http://192.0.2.1/",
            "https:///x",
            "https://:443/",
            "https://a:99999/",
            "https://a:+1/",
            "https://a:0/",
            "https://a:/",
            "http://[::2]/",
            &format!("https://a/{}", "a".repeat(2048)),
        ] {
            assert!(bad.parse::<CallbackUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn install_links_are_encrypted_urls() {
        let longest = format!("https://a/{}", "a".repeat(2038));
        for good in [
            "https://app.example",
            "HTTPS://app.example:8443/get?from=sms&lang=en#top",
            "https://app.example?x=a@b",
            "https://[2001:db8::1]/",
            &longest,
        ] {
            assert_eq!(good.parse::<InstallLink>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            "app.example",
            "http://app.example/",
            "http://localhost/",
            "https://",
            "https://?x",
            "https://user@app.example/",
            "https://app.example:0/",
            "https://app.example/a b",
            "https://app.example/\n",
            "https://app.example/\u{e9}",
            "https://app.example/<b>",
            "javascript:alert(1)",
            &format!("{longest}a"),
        ] {
            let error = bad.parse::<InstallLink>().unwrap_err();
            assert!(error.to_string().starts_with("install_link must be"), "{bad}: {error}");
        }
    }
}

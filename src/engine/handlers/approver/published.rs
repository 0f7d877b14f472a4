//! The address and the keys of the service, as its devices know them.

use crate::Result;
use crate::engine::core::Engine;
use crate::engine::model::clock::Now;
use crate::engine::model::rejections;
use crate::engine::operations::approver as stored;
use crate::engine::store::Approver;
use crate::model::Secret;
use crate::webpush::VapidKey;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::net::Ipv6Addr;
use zeroize::Zeroizing;

/// The path of the approver, below the public URL. No path of the interface begins so.
pub const APPROVER_PATH: &str = "/-/approver/";

impl Engine {
    /// Notes the public URL of the service, such as `https://login.example`, in the database: invitations lead
    /// there, and devices sign it.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be written.
    pub fn set_public_url(&self, url: &str) -> Result<()> {
        let mut code_key = Zeroizing::new(vec![0; 32]);
        self.random().fill(&mut code_key)?;
        let push_key = VapidKey::generate()?.to_bytes();
        let keys = stored::NewKeys { push_key, code_key };
        let url = url.trim_end_matches('/').to_owned();
        self.run(move |view| stored::set_public_url(view, &url, &keys))
    }

    /// Returns the public URL of the service; `None` if it is not set.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be read.
    pub fn public_url(&self) -> Result<Option<String>> {
        Ok(self.look(stored::find)?.and_then(|row| row.public_url))
    }

    /// Returns the data of the service for its devices.
    pub(super) fn approver(&self) -> Result<Published> {
        let row = self.look(stored::find)?;
        row.and_then(Published::of).ok_or_else(rejections::no_public_url)
    }
}

/// The data for devices of a service whose public URL is set.
#[derive(Clone)]
pub(super) struct Published {
    pub(super) url: String,
    pub(super) row: Approver,
}

impl Published {
    pub(super) fn of(row: Approver) -> Option<Published> {
        Some(Published { url: row.public_url.clone()?, row })
    }

    /// Returns the URL of the page.
    pub(super) fn page(&self) -> String {
        format!("{}{APPROVER_PATH}", self.url)
    }

    /// Returns the origin of the page, as devices sign it.
    pub(super) fn origin(&self) -> String {
        origin(&self.url)
    }

    /// Returns the public key of the messages to push services.
    pub(super) fn push_key(&self) -> Result<VapidKey> {
        VapidKey::from_bytes(self.row.push_key.get()?)
    }
}

/// Returns the origin of a public URL: its scheme, host and port, as browsers write them. Devices sign it, so that a
/// signature for one service is of no use to another.
pub fn origin(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let scheme = scheme.to_ascii_lowercase();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let after_address = authority.rfind(']').unwrap_or(0);
    let (host, port) = match authority[after_address..].find(':') {
        Some(at) => authority.split_at(after_address + at),
        None => (authority.as_str(), ""),
    };
    let default = if scheme == "http" { 80 } else { 443 };
    let port = match port.trim_start_matches(':').parse::<u16>() {
        Ok(port) if port == default => String::new(),
        Ok(port) => format!(":{port}"),
        Err(_) => port.to_owned(),
    };
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match address.and_then(|address| address.parse().ok()) {
        Some(address) => format!("{scheme}://[{}]{port}", shortened(address)),
        None => format!("{scheme}://{host}{port}"),
    }
}

/// Returns an address as browsers write it: also one that stands for an address of IPv4, in hexadecimal digits alone.
fn shortened(address: Ipv6Addr) -> String {
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] => format!("::ffff:{high:x}:{low:x}"),
        _ => address.to_string(),
    }
}

/// Returns the SHA-256 of something, in hexadecimal digits, as devices sign it.
pub fn hash_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes in Base64 with the URL alphabet.
pub(super) fn text_of(bytes: &[u8]) -> Secret {
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns whether a time that a device has signed is close enough to the clock.
pub(super) fn is_now(time: u64, now: Now) -> bool {
    now.clock.seconds().abs_diff(time) <= crate::engine::model::limits::DEVICE_CLOCK.as_secs()
}

#[cfg(test)]
mod tests {
    use super::origin;

    #[test]
    fn an_origin_is_written_as_browsers_write_it() {
        for (url, written) in [
            ("https://login.example/", "https://login.example"),
            ("HTTPS://LOGIN.example:443/a:b", "https://login.example"),
            ("https://localhost:00443", "https://localhost"),
            ("https://localhost:08443?a", "https://localhost:8443"),
            ("http://127.0.0.1:443/push", "http://127.0.0.1:443"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("https://[2001:DB8:0:0::0:1]:443", "https://[2001:db8::1]"),
            ("https://[2001:db8:0:0:1:0:0:1]:8443/", "https://[2001:db8::1:0:0:1]:8443"),
            ("https://[::ffff:192.0.2.1]", "https://[::ffff:c000:201]"),
            ("https://[0:0:0:0:0:0:0:1]", "https://[::1]"),
        ] {
            assert_eq!(origin(url), written, "{url}");
        }
    }
}

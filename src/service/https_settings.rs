//! Settings for a service on the network.

use super::Settings;
use crate::model::Secret;
#[cfg(doc)]
use crate::remote::Remote;
use std::path::PathBuf;

impl Settings {
    /// A PEM file of certificates to trust instead of the system's: certificates of authorities, or
    /// the service's own if it is self-signed. Without a file or a pin, the system's authorities
    /// are trusted.
    pub fn ca_file(mut self, file: impl Into<PathBuf>) -> Settings {
        self.remote.ca_file = Some(file.into());
        self.note("ca_file")
    }

    /// A pinned public key of the service, as `sha256/` and the SHA-256 of the key
    /// (`SubjectPublicKeyInfo`) in Base64: `sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=`.
    /// Call this once for each key; the service must present one of them. For a certificate in
    /// PEM, this prints the part after `sha256/`:
    ///
    /// ```sh
    /// openssl x509 -in certificate.pem -noout -pubkey | openssl pkey -pubin -outform der |
    ///   openssl dgst -sha256 -binary | base64
    /// ```
    ///
    /// With a pin, these are checked:
    /// - The pinned key belongs to the service's own certificate, which may be signed by anyone,
    ///   including the service itself; or to an authority that the service sends along or that is
    ///   in [`Settings::ca_file`], and that signed the chain to the service's certificate. An
    ///   authority that is sent along without having signed the chain does not count.
    /// - In both cases, the certificate is for the host of the URL and is within its dates.
    /// - With [`Settings::ca_file`], an authority of the file must have signed the certificate as
    ///   well. Without it, only the pins are trusted, and the system's authorities are ignored.
    ///
    /// Pin a reserve key too, so that the service can switch to it without interruption.
    pub fn pin(mut self, pin: impl Into<String>) -> Settings {
        self.remote.pins.push(pin.into());
        self.note("pin")
    }

    /// A PEM file with the certificate that this client presents to the service, followed by the
    /// intermediate certificates up to an authority that the service trusts; and a PEM file with
    /// its private key, which must not be encrypted with a password. Default: no client
    /// certificate.
    #[cfg(feature = "client-certificates")]
    pub fn client_certificate(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Settings {
        self.remote.client_certificate = Some((certificate.into(), key.into()));
        self.note("client_certificate")
    }

    /// A proxy for connections to the service, as `http://host:port` or
    /// `http://user:password@host:port`, with special characters written as `%XX`. Connections are
    /// tunnelled with `CONNECT`, so the proxy sees only encrypted bytes; it also resolves the
    /// service's name. Default: no proxy. The environment is never consulted.
    pub fn proxy(mut self, url: impl Into<String>) -> Settings {
        self.remote.proxy = Some(Secret::new(url));
        self.note("proxy")
    }

    /// A name server that resolves the host of the URL, or of the proxy, as an IP address with an
    /// optional port (default 53): `192.0.2.1`, `192.0.2.1:5353`, `[2001:db8::1]:53`. Call this
    /// once for each server; they are queried in this order, in place of the ones in
    /// `/etc/resolv.conf`. Default: the ones in `/etc/resolv.conf`. [`Remote`] describes how names
    /// are resolved.
    pub fn name_server(mut self, address: impl Into<String>) -> Settings {
        self.remote.name_servers.push(address.into());
        self.note("name_server")
    }

    /// Allows `http://` URLs of this machine. For tests: the key is then sent in the clear.
    pub fn allow_loopback_http(mut self, allow: bool) -> Settings {
        self.remote.allow_loopback_http = allow;
        if allow { self.note("allow_loopback_http") } else { self }
    }
}

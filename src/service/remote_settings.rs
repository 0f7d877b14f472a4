//! Settings for a remote service.

use super::{Backend, Service, Settings};
use crate::model::Secret;
use crate::remote::{Remote, Repeats};
use crate::wire::{Format, Generation};
use std::path::PathBuf;
use std::time::Duration;

impl Settings {
    /// How long a call to a remote service may take in all: name resolution, the connection, the
    /// TLS handshake, the request, the response, and all waits between retries. More than 0 and at
    /// most an hour; default 10 s. [`Service::with_timeout`] sets it for individual calls.
    pub fn timeout(mut self, timeout: Duration) -> Settings {
        self.remote.timeout = timeout;
        self.note("timeout")
    }

    /// Which calls are retried when the service asks to wait. Default: [`Repeats::Questions`].
    /// [`Service::with_repeats`] sets it for individual calls.
    pub fn repeats(mut self, repeats: Repeats) -> Settings {
        self.remote.repeats = repeats;
        self.note("repeats")
    }

    /// A PEM file of certificates to trust instead of the system's: those of authorities, or the
    /// service's own if it is self-signed. Without a file or a pin, the system's authorities are trusted.
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
    /// once for each server; they are queried in this order, in place of those of
    /// `/etc/resolv.conf`. Default: those of `/etc/resolv.conf`. [`Remote`] describes how names are
    /// resolved.
    pub fn name_server(mut self, address: impl Into<String>) -> Settings {
        self.remote.name_servers.push(address.into());
        self.note("name_server")
    }

    /// Allows `http://` URLs of this machine. For tests: the key is then sent in the clear.
    pub fn allow_loopback_http(mut self, allow: bool) -> Settings {
        self.remote.allow_loopback_http = allow;
        if allow { self.note("allow_loopback_http") } else { self }
    }

    /// The format requested from a remote service. Default JSON.
    pub fn format(mut self, format: Format) -> Settings {
        self.remote.format = format;
        self.note("format")
    }

    /// The generation of the interface used with a remote service (interface 9). Default: the
    /// current one. Replies of both generations are understood, with one exception: a verification
    /// without `success` counts as right only in the older generation, because the current one
    /// always includes it.
    pub fn generation(mut self, generation: Generation) -> Settings {
        self.remote.generation = generation;
        self.note("generation")
    }

    /// Sends `details`, `hidden_details` and the `data` of activities as they are, in a JSON body,
    /// if they hold anything but texts: numbers, flags, lists or objects. For services that are
    /// known to read JSON. Default: a form, which every service reads, and which carries them as
    /// [`RegisterActivity::data`](crate::calls::RegisterActivity::data) describes.
    pub fn nested_as_json(mut self, nested_as_json: bool) -> Settings {
        self.remote.nested_as_json = nested_as_json;
        if nested_as_json { self.note("nested_as_json") } else { self }
    }
}

impl Service {
    /// The same service, using the same connections, with another timeout for each call: see
    /// [`Settings::timeout`]. It has no effect on an engine in this process, which has no timeout.
    ///
    /// ```no_run
    /// # fn f(service: seconder::Service, user: seconder::model::UserId) -> seconder::Result<()> {
    /// let quick = service.with_timeout(std::time::Duration::from_secs(2));
    /// quick.user_status(user)?;
    /// # Ok(()) }
    /// ```
    ///
    /// A timeout of 0 or over an hour makes each call return [`crate::Error::InvalidArgument`].
    pub fn with_timeout(&self, timeout: Duration) -> Service {
        self.remote(|remote| remote.timeout = timeout)
    }

    /// The same service, using the same connections, with another choice of the calls that are
    /// retried when the service asks to wait. It has no effect on an engine in this process.
    pub fn with_repeats(&self, repeats: Repeats) -> Service {
        self.remote(|remote| remote.repeats = repeats)
    }

    pub(super) fn remote(&self, change: impl FnOnce(&mut Remote)) -> Service {
        let mut service = self.clone();
        match &mut service.backend {
            #[cfg(feature = "engine")]
            Backend::Engine(_) => {}
            Backend::Remote(remote) => change(remote),
        }
        service
    }
}

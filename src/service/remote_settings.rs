//! Settings for a remote service.

use super::{Backend, Service, Settings};
use crate::model::Secret;
use crate::remote::{Remote, Repeats};
use crate::wire::{Format, Generation};
use std::path::PathBuf;
use std::time::Duration;

impl Settings {
    /// How long a call of a remote service may take from its first step to its last: the name
    /// look-up, the connection, TLS, the request, the reply, and all waits between repeats. More
    /// than 0 and at most an hour; default 10 s. [`Service::with_timeout`]
    /// sets it for single calls.
    pub fn timeout(mut self, timeout: Duration) -> Settings {
        self.remote.timeout = timeout;
        self
    }

    /// A file of certificates in PEM to trust in place of the system's: of authorities, or the
    /// service's own. With none, and no pin, the system's authorities are trusted.
    pub fn ca_file(mut self, file: impl Into<PathBuf>) -> Settings {
        self.remote.ca_file = Some(file.into());
        self
    }

    /// A key by which the service is known, as `sha256/` and the SHA-256 of the key
    /// (`SubjectPublicKeyInfo`) in Base64: `sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=`.
    /// Call it once for each key; one of them must be shown. For a certificate in PEM, this
    /// prints what goes behind `sha256/`:
    ///
    /// ```sh
    /// openssl x509 -in certificate.pem -noout -pubkey | openssl pkey -pubin -outform der |
    ///   openssl dgst -sha256 -binary | base64
    /// ```
    ///
    /// What is checked then:
    /// - The key is that of the service's own certificate, which anybody may have signed, the
    ///   service itself included; or it is that of an authority which the service sends along or
    ///   [`Settings::ca_file`] has, and which signed what leads to the service's certificate. To
    ///   be sent along without having signed is not enough.
    /// - In both cases, the certificate is for the host of the URL, and its dates hold.
    /// - With [`Settings::ca_file`], an authority of the file must vouch for it as well. Without,
    ///   the pins are all that is trusted, and the system's authorities are not asked.
    ///
    /// With a key that is kept in reserve pinned too, the service can change to it without a break.
    pub fn pin(mut self, pin: impl Into<String>) -> Settings {
        self.remote.pins.push(pin.into());
        self
    }

    /// Files in PEM with the certificate that this client shows to the service, followed by those
    /// of the authorities that lead to one which the service trusts, and with its private key,
    /// which must not be locked with a password. Default: none is shown.
    pub fn client_certificate(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Settings {
        self.remote.client_certificate = Some((certificate.into(), key.into()));
        self
    }

    /// A proxy to go through, as `http://host:port` or `http://user:password@host:port`; what is
    /// special in a URL is written `%XX` there. The proxy is asked by `CONNECT` to pass bytes on
    /// to the service, and sees nothing of what they say; it also looks up the service's name.
    /// Default: no proxy, and none is ever taken from the environment.
    pub fn proxy(mut self, url: impl Into<String>) -> Settings {
        self.remote.proxy = Some(Secret::new(url));
        self
    }

    /// A name server to ask where the host of the URL is, or the proxy, as an IP address with a
    /// port or without (then 53): `192.0.2.1`, `192.0.2.1:5353`, `[2001:db8::1]:53`. Call it once
    /// for each; they are asked in this order, and those of `/etc/resolv.conf` are not. Default:
    /// those of the file. [`Remote`] tells how names are looked up.
    pub fn name_server(mut self, address: impl Into<String>) -> Settings {
        self.remote.name_servers.push(address.into());
        self
    }

    /// Allows `http://` to this machine itself. For tests: the key then travels in the clear.
    pub fn allow_loopback_http(mut self, allow: bool) -> Settings {
        self.remote.allow_loopback_http = allow;
        self
    }

    /// The format that a remote service is asked for. Default JSON.
    pub fn format(mut self, format: Format) -> Settings {
        self.remote.format = format;
        self
    }

    /// The generation of the interface that a remote service is spoken to in (interface 9).
    /// Default the current one. Replies of either are understood, but for one: a verification
    /// without `success` counts as right in the older generation alone, because the current one
    /// always has it.
    pub fn generation(mut self, generation: Generation) -> Settings {
        self.remote.generation = generation;
        self
    }
}

impl Service {
    /// The same service, on the same connections, with another time limit for each call: see
    /// [`Settings::timeout`]. An engine in this process waits for nobody and has none.
    ///
    /// ```no_run
    /// # fn f(service: seconder::Service, user: seconder::model::UserId) -> seconder::Result<()> {
    /// let quick = service.with_timeout(std::time::Duration::from_secs(2));
    /// quick.user_status(user)?;
    /// # Ok(()) }
    /// ```
    ///
    /// A limit of 0 or over an hour is told by each call, as [`Error::InvalidArgument`].
    pub fn with_timeout(&self, timeout: Duration) -> Service {
        self.remote(|remote| remote.timeout = timeout)
    }

    /// The same service, on the same connections, with other calls repeated when the service says
    /// "wait". An engine in this process repeats nothing.
    pub fn with_repeats(&self, repeats: Repeats) -> Service {
        self.remote(|remote| remote.repeats = repeats)
    }

    pub(super) fn remote(&self, change: impl FnOnce(&mut Remote)) -> Service {
        let mut service = self.clone();
        match &mut service.0 {
            #[cfg(feature = "engine")]
            Backend::Engine(_) => {}
            Backend::Remote(remote) => change(remote),
        }
        service
    }
}

//! Certificates that are trusted: the ones in `ca_file`, the ones with a pinned key, or by default
//! certificates of the system's authorities.

use super::pin::{Pin, Pinned};
#[cfg(feature = "engine")]
use super::secure;
use super::{RemoteSettings, algorithms};
use crate::exhausted::exhausted;
use crate::{Error, Result, Stage};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
#[cfg(feature = "client-certificates")]
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
#[cfg(feature = "tls12")]
use rustls::version::TLS12;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "engine")]
use std::sync::OnceLock;
#[cfg(feature = "client-certificates")]
use zeroize::Zeroizing;

/// The way in which a connection is authenticated.
pub(super) enum Trust {
    /// By TLS, with the certificates that this configuration accepts.
    Tls(Box<ClientConfig>),
    /// Without TLS, because it does not leave this machine.
    ThisMachine,
}

impl Trust {
    /// TLS according to the settings.
    pub(super) fn new(settings: &RemoteSettings) -> Result<Trust> {
        Trust::with_verifier(settings, None)
    }

    /// TLS according to the settings, but with this verifier if there is one.
    pub(super) fn with_verifier(
        settings: &RemoteSettings,
        given: Option<Arc<dyn ServerCertVerifier>>,
    ) -> Result<Trust> {
        let provider = Arc::new(algorithms::provider());
        let verifier = match given {
            Some(verifier) => verifier,
            None => verifier(settings, &provider)?,
        };
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[
                &TLS13,
                #[cfg(feature = "tls12")]
                &TLS12,
            ])
            .map_err(|_| Error::Internal { message: "no TLS version is available".into() })?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        #[cfg(feature = "client-certificates")]
        let config = match (&settings.client_certificate, &settings.client_key) {
            (None, None) => config.with_no_client_auth(),
            (Some(_), None) => return Err(needs("client_key", "client_certificate")),
            (None, Some(_)) => return Err(needs("client_certificate", "client_key")),
            (Some(certificate), Some(key)) => {
                let (chain, private) = client_certificate(certificate, key)?;
                config.with_client_auth_cert(chain, private).map_err(|_| {
                    let why =
                        "and its key do not belong together, or are of a type unsupported by TLS";
                    bad_client(certificate, why)
                })?
            }
        };
        #[cfg(not(feature = "client-certificates"))]
        let config = config.with_no_client_auth();
        Ok(Trust::Tls(Box::new(config)))
    }

    /// Returns the configuration of TLS for this process.
    #[cfg(feature = "engine")]
    pub(super) fn into_tls(self) -> Result<Arc<ClientConfig>> {
        match self {
            Trust::Tls(config) => Ok(secure::of_process(&config)),
            Trust::ThisMachine => Err(Error::Internal { message: "TLS was not set up".into() }),
        }
    }

    /// TLS with the system's authorities, which are read once in each process: they are many.
    #[cfg(feature = "engine")]
    pub(super) fn system() -> Result<Trust> {
        static READ: OnceLock<Box<ClientConfig>> = OnceLock::new();
        if let Some(config) = READ.get() {
            return Ok(Trust::Tls(config.clone()));
        }
        // Read before `get_or_init`: a fork during that call would leave the cell locked in the
        // child permanently.
        match Trust::new(&RemoteSettings::default())? {
            Trust::Tls(config) => Ok(Trust::Tls(READ.get_or_init(|| config).clone())),
            Trust::ThisMachine => Ok(Trust::ThisMachine),
        }
    }

    /// TLS with the authorities of a PEM file instead.
    #[cfg(feature = "engine")]
    pub(super) fn authorities(file: &Path) -> Result<Trust> {
        Trust::new(&RemoteSettings { ca_file: Some(file.to_owned()), ..RemoteSettings::default() })
    }
}

#[cfg(feature = "client-certificates")]
fn needs(missing: &'static str, given: &str) -> Error {
    Error::invalid_argument(missing, format!("must come with {given}"))
}

fn verifier(
    settings: &RemoteSettings,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>> {
    let pins = settings.pins.iter().map(|pin| pin.parse()).collect::<Result<Vec<Pin>>>()?;
    match (&settings.ca_file, pins.is_empty()) {
        (None, true) => system(provider),
        (None, false) => Ok(Arc::new(Pinned::new(pins, None, Arc::clone(provider)))),
        (Some(file), true) => by(&from_file(file)?, provider),
        (Some(file), false) => {
            let authorities = from_file(file)?;
            let verifier = by(&authorities, provider)?;
            let authorities = Some((verifier, authorities));
            Ok(Arc::new(Pinned::new(pins, authorities, Arc::clone(provider))))
        }
    }
}

fn by(
    authorities: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities.iter().cloned());
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let built =
        built.build().map_err(|_| Error::invalid_argument("ca_file", "has no usable authority"))?;
    Ok(built)
}

pub(super) fn from_file(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let bad =
        |what: String| Error::invalid_argument("ca_file", format!("{} {what}", file.display()));
    let pem = read(file, |error| bad(format!("cannot be read: {error}")))?;
    let certificates = certificates(&pem).ok_or_else(|| bad("is not well-formed PEM".into()))?;
    if certificates.is_empty() {
        return Err(bad("has no certificate: it must hold one or more in PEM".into()));
    }
    let mut store = RootCertStore::empty();
    for certificate in &certificates {
        let read = store.add(certificate.clone());
        read.map_err(|_| bad("has a certificate that cannot be parsed".into()))?;
    }
    Ok(certificates)
}

/// Reads a file. It is not the argument's fault if there are no descriptors or no memory for that:
/// the same argument is accepted once there are.
fn read(file: &Path, bad: impl FnOnce(io::Error) -> Error) -> Result<Vec<u8>> {
    std::fs::read(file).map_err(|error| match exhausted(&error) {
        Some(cause) => {
            Error::unavailable(Stage::Tls, format!("{} cannot be read: {cause}", file.display()))
        }
        None => bad(error),
    })
}

fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(pem).collect::<std::result::Result<_, _>>().ok()
}

#[cfg(feature = "client-certificates")]
fn client_certificate(
    certificate: &Path,
    key: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let unreadable = |file| move |error| bad_client(file, &format!("cannot be read: {error}"));
    let pem = read(certificate, unreadable(certificate))?;
    let chain = certificates(&pem).filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| bad_client(certificate, "holds no certificate in PEM"))?;
    let pem = Zeroizing::new(read(key, unreadable(key))?);
    let private = PrivateKeyDer::from_pem_slice(&pem);
    let private = private.map_err(|_| {
        bad_client(key, "holds no private key in PEM, or one encrypted with a password")
    })?;
    Ok((chain, private))
}

#[cfg(feature = "client-certificates")]
fn bad_client(file: &Path, what: &str) -> Error {
    Error::invalid_argument("client_certificate", format!("{} {what}", file.display()))
}

/// Returns the operating system's own verifier.
#[cfg(any(windows, target_vendor = "apple"))]
fn system(provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>> {
    let verifier = rustls_platform_verifier::Verifier::new(Arc::clone(provider));
    let verifier = verifier.map_err(|_| {
        Error::invalid_argument("ca_file", "is required: this system does not verify certificates")
    })?;
    Ok(Arc::new(verifier))
}

/// Returns a verifier with the system's bundle of certificates. The usual helper libraries allow
/// environment variables to replace it, but the environment must not decide which services a login
/// trusts.
#[cfg(not(any(windows, target_vendor = "apple")))]
fn system(provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>> {
    const BUNDLES: [&str; 7] = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
        "/usr/local/share/certs/ca-root-nss.crt",
        "/etc/openssl/certs/ca-certificates.crt",
    ];
    let none = || {
        Error::invalid_argument(
            "ca_file",
            "is required: this system has no bundle of certificates at a usual path. Install its \
             package ca-certificates, or name a file",
        )
    };
    for bundle in BUNDLES {
        match read(Path::new(bundle), |_| none()) {
            Ok(pem) => {
                if let Some(found) = certificates(&pem) {
                    return if found.is_empty() { Err(none()) } else { by(&found, provider) };
                }
            }
            Err(Error::InvalidArgument { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(pem: &str) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), pem).unwrap();
        from_file(file.path()).unwrap_err().to_string()
    }

    #[test]
    fn a_file_without_usable_certificates_is_rejected() {
        let missing = from_file(Path::new("/nowhere/ca.pem")).unwrap_err().to_string();
        assert!(missing.starts_with("ca_file /nowhere/ca.pem cannot be read"), "{missing}");
        assert!(message("").contains("has no certificate"));
        assert!(
            message("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
                .contains("has no certificate")
        );
        assert!(message("-----BEGIN CERTIFICATE-----\n").contains("not well-formed"));
        assert!(
            message("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
                .contains("cannot be parsed")
        );
    }
}

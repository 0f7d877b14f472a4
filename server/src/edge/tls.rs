//! The certificate of the server, and the TLS configuration that presents it.

use crate::{internal, invalid};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use seconder::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The time before its end at which a certificate should be renewed.
pub const CERTIFICATE_RENEWAL: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// The source of a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tls {
    /// A new certificate for `localhost`, `127.0.0.1` and `::1`. Its key is never written to a
    /// file, so it can be used only until the server stops. Clients trust it by their setting
    /// `ca_file`.
    SelfSigned,
    /// Files in PEM.
    Files {
        /// The server's certificate, followed by the intermediate certificates that lead to a
        /// trusted authority.
        certificate: PathBuf,
        /// The private key of the server's certificate.
        key: PathBuf,
    },
}

/// A certificate, and the configuration that presents it.
pub(crate) struct Identity {
    /// The certificate by which clients trust it, if it is self-signed.
    pub(crate) certificate_pem: String,
    pub(crate) config: Arc<ServerConfig>,
    /// The time at which it expires.
    pub(crate) ends: SystemTime,
}

impl Tls {
    /// Returns the time at which the certificate expires. It can be used with its key now.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if the files are invalid, or do not fit each
    /// other.
    pub fn expiry(&self) -> Result<SystemTime> {
        self.identity().map(|identity| identity.ends)
    }

    pub(crate) fn identity(&self) -> Result<Identity> {
        match self {
            Tls::SelfSigned => self_signed(),
            Tls::Files { certificate, key } => from_files(certificate, key),
        }
    }
}

/// Generates a certificate. It is marked as not being an authority, because rustls rejects the
/// certificate of an authority as a server's.
fn self_signed() -> Result<Identity> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let failed = |_| internal("a certificate could not be generated");
    let mut params = CertificateParams::new(names).map_err(failed)?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.distinguished_name.push(rcgen::DnType::CommonName, "seconder (self-signed)");
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.self_signed(&key).map_err(failed)?;
    let private = PrivateKeyDer::try_from(key.serialize_der());
    let private = private.map_err(|_| internal("a certificate could not be generated"))?;
    let unusable = || internal("the generated certificate could not be loaded");
    let ends = ends(certificate.der()).ok_or_else(unusable)?;
    let config = config(vec![certificate.der().clone()], private).map_err(|_| unusable())?;
    Ok(Identity { certificate_pem: certificate.pem(), config, ends })
}

fn from_files(certificate: &Path, key: &Path) -> Result<Identity> {
    let pem = read("certificate", certificate)?;
    let chain = CertificateDer::pem_slice_iter(&pem).collect::<std::result::Result<Vec<_>, _>>();
    let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| {
        invalid("certificate", format!("{} holds no certificate in PEM", certificate.display()))
    })?;
    let private = PrivateKeyDer::from_pem_slice(&read("key", key)?)
        .map_err(|_| invalid("key", format!("{} holds no private key in PEM", key.display())))?;
    let ends = chain.first().and_then(ends).ok_or_else(|| {
        invalid("certificate", format!("{} holds no valid certificate", certificate.display()))
    })?;
    let config = config(chain, private)
        .map_err(|error| invalid("certificate", format!("cannot be used with the key: {error}")))?;
    Ok(Identity { certificate_pem: String::new(), config, ends })
}

/// Returns the time at which a certificate expires.
fn ends(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let seconds = u64::try_from(certificate.validity().not_after.timestamp()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

fn read(parameter: &'static str, file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file)
        .map_err(|error| invalid(parameter, format!("{} cannot be read: {error}", file.display())))
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> std::result::Result<Arc<ServerConfig>, rustls::Error> {
    // Passed explicitly, so that the process needs no default provider.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    // Clients that name none speak HTTP/1.1.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_certificate_files_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let error = |certificate: &str, key: &str| {
            let (certificate, key) = (folder.path().join(certificate), folder.path().join(key));
            Tls::Files { certificate, key }.identity().err().unwrap().to_string()
        };
        let generate = || {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
            (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
        };
        let (certificate, key) = generate();
        let write = |name, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("certificate", &certificate);
        write("key", &key);
        write("other", &generate().1);
        assert!(error("nowhere", "key").contains("nowhere cannot be read"));
        assert!(error("key", "key").contains("holds no certificate"));
        assert!(error("certificate", "certificate").contains("holds no private key"));
        assert!(error("certificate", "other").contains("cannot be used with the key"));
        write(
            "both",
            &format!(
                "{}{certificate}",
                std::fs::read_to_string(folder.path().join("key")).unwrap()
            ),
        );
        let both = folder.path().join("both");
        assert!(Tls::Files { certificate: both.clone(), key: both }.identity().is_ok());
        let (certificate, key) = (folder.path().join("certificate"), folder.path().join("key"));
        assert!(Tls::Files { certificate, key }.identity().is_ok());
    }
}

//! The certificate that the service shows.

use crate::{internal, invalid};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use seconder::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a server's certificate is from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tls {
    /// A new one, for `localhost`, `127.0.0.1` and `::1`. Its key is never written anywhere, so it
    /// lives as long as the server; clients trust it by their setting `ca_file`.
    SelfSigned,
    /// Files in PEM: the server's certificate, then those of the authorities that lead to a
    /// trusted one; and its key.
    Files {
        /// The certificates.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
    },
}

/// A certificate and what serves it.
pub(crate) struct Identity {
    pub(crate) certificate_pem: String,
    pub(crate) config: Arc<ServerConfig>,
}

impl Tls {
    pub(crate) fn identity(&self) -> Result<Identity> {
        match self {
            Tls::SelfSigned => self_signed(),
            Tls::Files { certificate, key } => from_files(certificate, key),
        }
    }
}

/// The certificate says that it is no authority: rustls takes an authority's for no server's.
fn self_signed() -> Result<Identity> {
    let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let unmade = |_| internal("no certificate could be made");
    let mut params = CertificateParams::new(names).map_err(unmade)?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.distinguished_name.push(rcgen::DnType::CommonName, "seconder (self-signed)");
    let key = KeyPair::generate().map_err(unmade)?;
    let certificate = params.self_signed(&key).map_err(unmade)?;
    let private = PrivateKeyDer::try_from(key.serialize_der());
    let private = private.map_err(|_| internal("no certificate could be made"))?;
    let config = config(vec![certificate.der().clone()], private)
        .map_err(|_| internal("the certificate that was made does not work"))?;
    Ok(Identity { certificate_pem: certificate.pem(), config })
}

fn from_files(certificate: &Path, key: &Path) -> Result<Identity> {
    let pem = read("certificate", certificate)?;
    let chain = CertificateDer::pem_slice_iter(&pem).collect::<std::result::Result<Vec<_>, _>>();
    let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| {
        invalid("certificate", format!("{} holds no certificate in PEM", certificate.display()))
    })?;
    let private = PrivateKeyDer::from_pem_slice(&read("key", key)?)
        .map_err(|_| invalid("key", format!("{} holds no private key in PEM", key.display())))?;
    let config = config(chain, private).map_err(|error| {
        invalid("certificate", format!("and the key do not work together: {error}"))
    })?;
    Ok(Identity { certificate_pem: String::from_utf8_lossy(&pem).into_owned(), config })
}

fn read(parameter: &'static str, file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file)
        .map_err(|error| invalid(parameter, format!("{} cannot be read: {error}", file.display())))
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> std::result::Result<Arc<ServerConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_do_not_fit_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let told = |certificate: &str, key: &str| {
            let (certificate, key) = (folder.path().join(certificate), folder.path().join(key));
            Tls::Files { certificate, key }.identity().err().unwrap().to_string()
        };
        let made = || {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
            (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
        };
        let (certificate, key) = made();
        let write = |name, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("certificate", &certificate);
        write("key", &key);
        write("other", &made().1);
        assert!(told("nowhere", "key").contains("nowhere cannot be read"));
        assert!(told("key", "key").contains("holds no certificate"));
        assert!(told("certificate", "certificate").contains("holds no private key"));
        assert!(told("certificate", "other").contains("do not work together"));
        let (certificate, key) = (folder.path().join("certificate"), folder.path().join("key"));
        assert!(Tls::Files { certificate, key }.identity().is_ok());
    }
}

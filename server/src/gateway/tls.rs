//! TLS of the gateways that keep connections of their own, and the authorities that all of them trust.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use seconder::remote::certificate_problem;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The paths where systems keep the certificates of the authorities that they trust.
pub(super) const BUNDLES: [&str; 7] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/usr/local/share/certs/ca-root-nss.crt",
    "/etc/openssl/certs/ca-certificates.crt",
];

/// Returns a configuration of TLS 1.2 and 1.3 with the authorities of a file, or of the system.
///
/// # Errors
/// The error in the file: "cannot be read". Without a file: the error that one is missing, where the system has no
/// bundle of authorities.
pub(super) fn client_config(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let roots = match ca_file {
        Some(file) => match std::fs::read(file) {
            Ok(pem) => authorities(&pem).ok_or("has no certificate of an authority in PEM")?,
            Err(error) => return Err(format!("cannot be read: {error}")),
        },
        None => BUNDLES
            .iter()
            .find_map(|bundle| authorities(&std::fs::read(bundle).ok()?))
            .ok_or("is missing, and this system has no bundle of authorities at a usual path")?,
    };
    // Passed explicitly, so that the process needs no default provider.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// Returns the reason why a connection has no TLS.
pub(super) fn failed(error: &io::Error) -> String {
    let wrong = certificate_problem(error).unwrap_or_else(|| error.to_string());
    format!("TLS failed: {wrong}")
}

/// Returns the usable certificates of a file in PEM. A bundle may have some of kinds that are not supported.
fn authorities(pem: &[u8]) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).flatten());
    (!roots.is_empty()).then_some(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_authorities_is_not_accepted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let wrong = |file: &Path| client_config(Some(file)).err().unwrap();
        assert_eq!(wrong(file.path()), "has no certificate of an authority in PEM");
        let junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        std::fs::write(file.path(), junk).unwrap();
        assert_eq!(wrong(file.path()), "has no certificate of an authority in PEM");
        assert!(wrong(Path::new("/nowhere/ca.pem")).starts_with("cannot be read: "));
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        std::fs::write(file.path(), params.self_signed(&key).unwrap().pem()).unwrap();
        assert!(client_config(Some(file.path())).is_ok());
    }
}

//! Whose certificates are believed: those of `ca_file`, else the system's.

use super::address::Address;
use crate::{Error, Result};
use rustls::RootCertStore;
use std::path::Path;
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

/// What a connection is believed by.
pub(super) enum Trust {
    /// TLS, with certificates that these vouch for.
    Roots(RootCerts),
    /// No TLS: it does not leave this machine.
    ThisMachine,
}

/// What connections to an address are believed by.
pub(super) fn roots(address: &Address, ca_file: Option<&Path>) -> Result<Trust> {
    match (address.needs_tls(), ca_file) {
        (false, _) => Ok(Trust::ThisMachine),
        (true, Some(file)) => from_file(file).map(Trust::Roots),
        (true, None) => system().map(Trust::Roots),
    }
}

fn from_file(file: &Path) -> Result<RootCerts> {
    let bad = |what: String| Error::invalid("ca_file", format!("{} {what}", file.display()));
    let pem = std::fs::read(file).map_err(|error| bad(format!("cannot be read: {error}")))?;
    let certificates = certificates(&pem).ok_or_else(|| bad("is not well-formed PEM".into()))?;
    if certificates.is_empty() {
        return Err(bad("has no certificate: it must hold one or more in PEM".into()));
    }
    let mut store = RootCertStore::empty();
    for certificate in &certificates {
        let read = store.add(certificate.der().to_vec().into());
        read.map_err(|_| bad("has a certificate that cannot be read".into()))?;
    }
    Ok(RootCerts::new_with_certs(&certificates))
}

fn certificates(pem: &[u8]) -> Option<Vec<Certificate<'static>>> {
    let items: std::result::Result<Vec<PemItem<'static>>, _> = parse_pem(pem).collect();
    let certificate = |item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    };
    Some(items.ok()?.into_iter().filter_map(certificate).collect())
}

/// The operating system's own verifier.
#[cfg(any(windows, target_vendor = "apple"))]
pub(super) fn system() -> Result<RootCerts> {
    Ok(RootCerts::PlatformVerifier)
}

/// The system's bundle of certificates. The usual helpers for this let variables of the
/// environment replace it, and an environment must not decide whom a login believes.
#[cfg(not(any(windows, target_vendor = "apple")))]
pub(super) fn system() -> Result<RootCerts> {
    const BUNDLES: [&str; 7] = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
        "/usr/local/share/certs/ca-root-nss.crt",
        "/etc/openssl/certs/ca-certificates.crt",
    ];
    let bundle = BUNDLES.iter().find_map(|bundle| certificates(&std::fs::read(bundle).ok()?));
    match bundle.filter(|certificates| !certificates.is_empty()) {
        Some(certificates) => Ok(RootCerts::new_with_certs(&certificates)),
        None => Err(Error::invalid(
            "ca_file",
            "is needed: this system has no bundle of certificates at a usual place. Install \
             its package ca-certificates, or name a file",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pem: &str) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), pem).unwrap();
        from_file(file.path()).unwrap_err().to_string()
    }

    #[test]
    fn a_file_that_vouches_for_nobody_is_told() {
        let missing = from_file(Path::new("/nowhere/ca.pem")).unwrap_err().to_string();
        assert!(missing.starts_with("ca_file /nowhere/ca.pem cannot be read"), "{missing}");
        assert!(told("").contains("has no certificate"));
        assert!(
            told("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
                .contains("has no certificate")
        );
        assert!(told("-----BEGIN CERTIFICATE-----\n").contains("not well-formed"));
        assert!(
            told("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
                .contains("cannot be read")
        );
    }
}

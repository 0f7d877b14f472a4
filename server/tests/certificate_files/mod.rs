//! A certificate and its key in a folder.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use rcgen::{CertificateParams, IsCa, KeyPair};
use std::path::Path;

/// Writes a new certificate for localhost to `certificate.pem`, and its key to `key.pem`. Returns the
/// certificate.
pub(crate) fn write(folder: &Path) -> String {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::ExplicitNoCa;
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    std::fs::write(folder.join("certificate.pem"), &pem).unwrap();
    std::fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    pem
}

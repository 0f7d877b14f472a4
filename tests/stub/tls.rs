//! TLS for a stub, with certificates that the test chooses.

#![allow(dead_code, reason = "each test file uses a part of it")]

use crate::stub::{Peer, Stub};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, PublicKeyData};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

pub(crate) type Encrypted = StreamOwned<ServerConnection, TcpStream>;
pub(crate) type Authority = CertifiedIssuer<'static, KeyPair>;

/// A certificate with its chain, and its key.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: KeyPair,
    folder: TempDir,
}

/// The parameters of an end-entity certificate for 127.0.0.1.
pub(crate) fn params() -> CertificateParams {
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = IsCa::ExplicitNoCa;
    params
}

pub(crate) fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

impl Identity {
    pub(crate) fn self_signed(params: CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        Identity::new(vec![params.self_signed(&key).unwrap().der().clone()], key)
    }

    /// Signed by an authority, whose certificate is part of the chain.
    pub(crate) fn signed(params: CertificateParams, by: &Authority) -> Identity {
        let key = KeyPair::generate().unwrap();
        let own = params.signed_by(&key, by).unwrap();
        Identity::new(vec![own.der().clone(), by.der().clone()], key)
    }

    pub(crate) fn read(certificate: &str, key: &str) -> Identity {
        use rustls::pki_types::pem::PemObject;
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        Identity::new(vec![certificate], KeyPair::from_pem(key).unwrap())
    }

    fn new(chain: Vec<CertificateDer<'static>>, key: KeyPair) -> Identity {
        Identity { chain, key, folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn pin(&self) -> String {
        pin(&self.key)
    }

    /// The certificate and its key as files in PEM.
    pub(crate) fn files(&self) -> (PathBuf, PathBuf) {
        let (chain, key) = (self.folder.path().join("chain"), self.folder.path().join("key"));
        std::fs::write(&chain, pem(&self.chain)).unwrap();
        std::fs::write(&key, self.key.serialize_pem()).unwrap();
        (chain, key)
    }

    pub(crate) fn config(&self) -> ServerConfig {
        self.config_for(None)
    }

    /// The configuration of a server with this identity. With an authority, clients must present a
    /// certificate that it signed.
    pub(crate) fn config_for(&self, clients: Option<&Authority>) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.der().clone()).unwrap();
                let roots = Arc::new(roots);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        builder.with_single_cert(self.chain.clone(), key).unwrap()
    }
}

/// The pin of a key, computed with a different library from the client's.
pub(crate) fn pin(key: &KeyPair) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    let hash = sha2::Sha256::digest(key.subject_public_key_info());
    format!("sha256/{}", base64::engine::general_purpose::STANDARD.encode(hash))
}

pub(crate) fn pem(certificates: &[CertificateDer<'static>]) -> String {
    use base64::Engine as _;
    let one = |der: &CertificateDer<'_>| {
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        let lines: Vec<&str> =
            text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let lines = lines.join("\n");
        format!("-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n")
    };
    certificates.iter().map(one).collect()
}

/// A stub that speaks TLS. It closes the connection if the handshake fails.
pub(crate) fn start(
    config: ServerConfig,
    behave: impl Fn(Peer<Encrypted>) + Send + Sync + 'static,
) -> Stub {
    let config = Arc::new(config);
    Stub::start(move |mut peer| {
        let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        while connection.is_handshaking() {
            if connection.complete_io(&mut peer.stream).is_err() {
                // Closing with unread data would reset the connection before the client reads the
                // alert.
                return peer.stay_silent();
            }
        }
        behave(peer.through(|stream| StreamOwned::new(connection, stream)));
    })
}

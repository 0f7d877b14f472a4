//! The TLS algorithms: the ones in Rustls's provider, except ChaCha20 and except algorithms that
//! the build does not use. The provider's own function would link all of it.
//!
//! AES-GCM is what every implementation of TLS 1.3 must have. A second kind of cipher, for machines
//! without AES in hardware, would make the library larger for everyone.

use rustls::SignatureScheme;
use rustls::crypto::{
    CryptoProvider, GetRandomFailed, KeyProvider, SecureRandom, SupportedKxGroup,
    WebPkiSupportedAlgorithms, ring,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::SigningKey;
use std::sync::Arc;
use webpki::ring as verify;

pub(super) fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![
            ring::cipher_suite::TLS13_AES_256_GCM_SHA384,
            ring::cipher_suite::TLS13_AES_128_GCM_SHA256,
            #[cfg(feature = "tls12")]
            ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            #[cfg(feature = "tls12")]
            ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            #[cfg(feature = "tls12")]
            ring::cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            #[cfg(feature = "tls12")]
            ring::cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        ],
        kx_groups: key_exchanges(),
        signature_verification_algorithms: SIGNATURES,
        secure_random: &System,
        key_provider: &Keys,
    }
}

/// PostgreSQL accepts P-256 alone, unless its `ssl_ecdh_curve` says otherwise.
#[cfg(any(not(feature = "compact"), feature = "postgres"))]
fn key_exchanges() -> Vec<&'static dyn SupportedKxGroup> {
    ring::ALL_KX_GROUPS.to_vec()
}

/// Key exchanges that need no table of points: see [`super::p256`].
#[cfg(all(feature = "compact", not(feature = "postgres")))]
fn key_exchanges() -> Vec<&'static dyn SupportedKxGroup> {
    vec![ring::kx_group::X25519, ring::kx_group::SECP384R1]
}

#[cfg(feature = "compact")]
use super::p256::{P256_SHA256, P256_SHA384};
#[cfg(not(feature = "compact"))]
use verify::{ECDSA_P256_SHA256 as P256_SHA256, ECDSA_P256_SHA384 as P256_SHA384};

/// The signatures that are verified, of certificates and of handshakes.
const SIGNATURES: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[
        P256_SHA256,
        P256_SHA384,
        verify::ECDSA_P384_SHA256,
        verify::ECDSA_P384_SHA384,
        verify::ED25519,
        verify::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
        verify::RSA_PSS_2048_8192_SHA384_LEGACY_KEY,
        verify::RSA_PSS_2048_8192_SHA512_LEGACY_KEY,
        verify::RSA_PKCS1_2048_8192_SHA256,
        verify::RSA_PKCS1_2048_8192_SHA384,
        verify::RSA_PKCS1_2048_8192_SHA512,
        verify::RSA_PKCS1_2048_8192_SHA256_ABSENT_PARAMS,
        verify::RSA_PKCS1_2048_8192_SHA384_ABSENT_PARAMS,
        verify::RSA_PKCS1_2048_8192_SHA512_ABSENT_PARAMS,
    ],
    // In TLS 1.2, the curve is not fixed by the scheme.
    mapping: &[
        (SignatureScheme::ECDSA_NISTP384_SHA384, &[verify::ECDSA_P384_SHA384, P256_SHA384]),
        (SignatureScheme::ECDSA_NISTP256_SHA256, &[P256_SHA256, verify::ECDSA_P384_SHA256]),
        (SignatureScheme::ED25519, &[verify::ED25519]),
        (SignatureScheme::RSA_PSS_SHA512, &[verify::RSA_PSS_2048_8192_SHA512_LEGACY_KEY]),
        (SignatureScheme::RSA_PSS_SHA384, &[verify::RSA_PSS_2048_8192_SHA384_LEGACY_KEY]),
        (SignatureScheme::RSA_PSS_SHA256, &[verify::RSA_PSS_2048_8192_SHA256_LEGACY_KEY]),
        (SignatureScheme::RSA_PKCS1_SHA512, &[verify::RSA_PKCS1_2048_8192_SHA512]),
        (SignatureScheme::RSA_PKCS1_SHA384, &[verify::RSA_PKCS1_2048_8192_SHA384]),
        (SignatureScheme::RSA_PKCS1_SHA256, &[verify::RSA_PKCS1_2048_8192_SHA256]),
    ],
};

/// The system's random numbers.
#[derive(Debug)]
struct System;

impl SecureRandom for System {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), GetRandomFailed> {
        getrandom::fill(buffer).map_err(|_| GetRandomFailed)
    }
}

/// The private keys of client certificates, in a build that has them.
#[derive(Debug)]
struct Keys;

impl KeyProvider for Keys {
    #[cfg(feature = "client-certificates")]
    fn load_private_key(
        &self,
        key: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn SigningKey>, rustls::Error> {
        ring::sign::any_supported_type(&key)
    }

    #[cfg(not(feature = "client-certificates"))]
    fn load_private_key(
        &self,
        _: PrivateKeyDer<'static>,
    ) -> Result<Arc<dyn SigningKey>, rustls::Error> {
        Err(rustls::Error::General("this build has no client certificates".into()))
    }
}

#[cfg(all(test, feature = "tls12", not(feature = "compact")))]
mod tests {
    use super::*;

    /// Fails when Rustls learns another algorithm, so that none is missed.
    #[test]
    fn only_one_cipher_is_left_out() {
        let (own, theirs) = (provider(), ring::default_provider());
        let is_kept = |suite: &&rustls::SupportedCipherSuite| {
            !format!("{:?}", suite.suite()).contains("CHACHA20")
        };
        let kept: Vec<_> = theirs.cipher_suites.iter().filter(is_kept).collect();
        assert_eq!(own.cipher_suites.iter().collect::<Vec<_>>(), kept);
        let groups = |provider: &CryptoProvider| -> Vec<_> {
            provider.kx_groups.iter().map(|group| group.name()).collect()
        };
        assert_eq!(groups(&own), groups(&theirs));
        let (own, theirs) =
            (own.signature_verification_algorithms, theirs.signature_verification_algorithms);
        assert_eq!(format!("{:?}", own.all), format!("{:?}", theirs.all));
        assert_eq!(format!("{:?}", own.mapping), format!("{:?}", theirs.mapping));
    }
}

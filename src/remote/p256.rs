//! Verifies signatures of the curve P-256 without the table of points in Rustls's provider, which is a tenth of the
//! memory that a login process maps for a connection. Only signatures are verified here, and they contain no secret;
//! keys are exchanged on other curves.

use p256::ecdsa::signature::hazmat::PrehashVerifier;
use p256::ecdsa::{DerSignature, VerifyingKey};
use ring::digest::{self, SHA256, SHA384};
use rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id,
};

pub(super) const P256_SHA256: &dyn SignatureVerificationAlgorithm =
    &P256 { id: alg_id::ECDSA_SHA256, hash: &SHA256 };
pub(super) const P256_SHA384: &dyn SignatureVerificationAlgorithm =
    &P256 { id: alg_id::ECDSA_SHA384, hash: &SHA384 };

/// ECDSA on P-256 with a hash (FIPS 186-5, 6.4).
#[derive(Debug)]
struct P256 {
    id: AlgorithmIdentifier,
    hash: &'static digest::Algorithm,
}

impl SignatureVerificationAlgorithm for P256 {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = VerifyingKey::from_sec1_bytes(public_key).map_err(|_| InvalidSignature)?;
        let signature = DerSignature::try_from(signature).map_err(|_| InvalidSignature)?;
        let hash = digest::digest(self.hash, message);
        key.verify_prehash(hash.as_ref(), &signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_P256
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, SigningKey};

    /// Signatures of another implementation are valid, and the same signatures with one bit changed are not.
    #[test]
    fn signatures_of_another_implementation_are_verified() {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let key = pair.public_key_raw().to_vec();
        let message = b"what the service signs";
        let signature = pair.sign(message).unwrap();
        let is_right = |key: &[u8], message: &[u8], signature: &[u8]| {
            P256_SHA256.verify_signature(key, message, signature).is_ok()
        };
        assert!(is_right(&key, message, &signature));
        assert!(P256_SHA384.verify_signature(&key, message, &signature).is_err());
        for at in 0..signature.len() * 8 {
            let mut other = signature.clone();
            other[at / 8] ^= 1 << (at % 8);
            assert!(!is_right(&key, message, &other), "{at}");
        }
        for at in 0..key.len() * 8 {
            let mut other = key.clone();
            other[at / 8] ^= 1 << (at % 8);
            assert!(!is_right(&other, message, &signature), "{at}");
        }
        assert!(!is_right(&key, b"another text", &signature));
        for cut in 0..signature.len() {
            assert!(!is_right(&key, message, &signature[..cut]), "{cut}");
        }
        let longer = [signature.as_slice(), &[0]].concat();
        assert!(!is_right(&key, message, &longer) && !is_right(&[], message, &signature));
    }
}

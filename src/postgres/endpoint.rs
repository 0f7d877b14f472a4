//! Binds a login to the connection on which it is made, so that an attacker between client and server cannot pass it
//! on: by a hash of the certificate that the server presents there (`tls-server-end-point` of RFC 5929).

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// The beginning of the identifiers of signatures by RSA, those by ECDSA, and hashes.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
const HASH: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

const SEQUENCE: u8 = 0x30;
const IDENTIFIER: u8 = 0x06;
/// The first parameter of RSA-PSS.
const FIRST: u8 = 0xa0;

/// Hashes a certificate with the hash algorithm of its signature, or with SHA-256 if that algorithm is no longer safe.
/// `None` if its signature is by no such algorithm, such as Ed25519.
pub(super) fn hash(certificate: &[u8]) -> Option<Vec<u8>> {
    let (fields, _) = element(certificate, SEQUENCE)?;
    let (_, rest) = element(fields, SEQUENCE)?;
    let (algorithm, _) = element(rest, SEQUENCE)?;
    let (identifier, parameters) = element(algorithm, IDENTIFIER)?;
    let bits = match (identifier.strip_prefix(RSA), identifier.strip_prefix(ECDSA)) {
        // With MD5 and SHA-1.
        (Some([4 | 5]), _) | (_, Some([1])) => 256,
        (Some([10]), _) => bits_of_pss(parameters)?,
        (Some([11]), _) | (_, Some([3, 2])) => 256,
        (Some([12]), _) | (_, Some([3, 3])) => 384,
        (Some([13]), _) | (_, Some([3, 4])) => 512,
        (Some([14]), _) | (_, Some([3, 1])) => 224,
        _ => return None,
    };
    Some(match bits {
        224 => Sha224::digest(certificate).to_vec(),
        256 => Sha256::digest(certificate).to_vec(),
        384 => Sha384::digest(certificate).to_vec(),
        _ => Sha512::digest(certificate).to_vec(),
    })
}

fn bits_of_pss(parameters: &[u8]) -> Option<u32> {
    let (parameters, _) = element(parameters, SEQUENCE)?;
    // Without it, it is SHA-1.
    let Some((hash, _)) = element(parameters, FIRST) else { return Some(256) };
    let (identifier, _) = element(element(hash, SEQUENCE)?.0, IDENTIFIER)?;
    match identifier.strip_prefix(HASH)? {
        [1] => Some(256),
        [2] => Some(384),
        [3] => Some(512),
        [4] => Some(224),
        _ => None,
    }
}

/// Returns the content of the first element of these bytes, which must be of this kind, and the bytes after it.
fn element(bytes: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match *length {
        short @ 0..=0x7f => (usize::from(short), rest),
        long @ 0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            (digits.iter().fold(0, |number, digit| number << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    if *first == kind { rest.split_at_checked(length) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(algorithm: &'static rcgen::SignatureAlgorithm) -> Vec<u8> {
        let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
        let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn a_certificate_is_hashed_as_its_signature_is() {
        let with_256 = certificate(&rcgen::PKCS_ECDSA_P256_SHA256);
        assert_eq!(hash(&with_256), Some(Sha256::digest(&with_256).to_vec()));
        let with_384 = certificate(&rcgen::PKCS_ECDSA_P384_SHA384);
        assert_eq!(hash(&with_384), Some(Sha384::digest(&with_384).to_vec()));
        assert_eq!(hash(&certificate(&rcgen::PKCS_ED25519)), None);
    }

    #[test]
    fn what_is_no_certificate_has_no_hash() {
        let whole = certificate(&rcgen::PKCS_ECDSA_P256_SHA256);
        for length in 0..whole.len() {
            assert_eq!(hash(&whole[..length]), None, "{length}");
        }
        assert_eq!(hash(&[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}

//! Pinned keys: a service is identified by its key, no matter which authority signed its
//! certificate.

use crate::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error as TlsError, OtherError, RootCertStore,
    SignatureScheme,
};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use time::OffsetDateTime;

const KIND: &str = "sha256/";

/// The SHA-256 of a certificate's SubjectPublicKeyInfo.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Pin([u8; 32]);

impl FromStr for Pin {
    type Err = Error;

    fn from_str(text: &str) -> Result<Pin> {
        let hash = text.strip_prefix(KIND).and_then(|hash| STANDARD.decode(hash).ok());
        hash.and_then(|hash| hash.try_into().ok()).map(Pin).ok_or_else(|| {
            Error::invalid_argument(
                "pin",
                "must be sha256/ followed by the 44 characters of a hash in Base64",
            )
        })
    }
}

impl Pin {
    fn of(certificate: &ParsedCertificate<'_>) -> Pin {
        Pin(Sha256::digest(certificate.subject_public_key_info()).into())
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KIND}{}", STANDARD.encode(self.0))
    }
}

/// The error if none of the presented keys is pinned, with the service's own key.
#[derive(Debug)]
pub(super) struct NotPinned(pub(super) String);

impl fmt::Display for NotPinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not pinned", self.0)
    }
}

impl std::error::Error for NotPinned {}

/// Verifies certificates by their key, or by the key of an authority that signed them.
pub(super) struct Pinned {
    pins: Vec<Pin>,
    authorities: Option<(Arc<dyn ServerCertVerifier>, Vec<CertificateDer<'static>>)>,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    /// Pins these keys. With `authorities`, they must have signed a certificate as well.
    pub(super) fn new(
        pins: Vec<Pin>,
        authorities: Option<(Arc<dyn ServerCertVerifier>, Vec<CertificateDer<'static>>)>,
        provider: Arc<CryptoProvider>,
    ) -> Pinned {
        Pinned { pins, authorities, provider }
    }

    fn has(&self, certificate: &CertificateDer<'_>) -> bool {
        let parsed = ParsedCertificate::try_from(certificate);
        parsed.is_ok_and(|parsed| self.pins.contains(&Pin::of(&parsed)))
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, TlsError> {
        let mut authorities: &[CertificateDer<'_>] = &[];
        if let Some((verifier, certificates)) = &self.authorities {
            let (own, others) = (end_entity, intermediates);
            verifier.verify_server_cert(own, others, server_name, ocsp_response, now)?;
            authorities = certificates;
        }
        let own = ParsedCertificate::try_from(end_entity)?;
        if self.has(end_entity) {
            // Its own key is pinned, so it may be self-signed or marked as an authority.
            is_valid_at(end_entity, now)?;
        } else {
            // An authority that is merely sent along proves nothing: it must have signed the chain
            // to the service. Its dates are checked here, because the chain verification does not
            // check the dates of a trust anchor.
            let mut roots = RootCertStore::empty();
            for pinned in intermediates.iter().chain(authorities).filter(|one| self.has(one)) {
                is_valid_at(pinned, now)?;
                roots.add(pinned.clone().into_owned())?;
            }
            if roots.is_empty() {
                return Err(not_pinned(&own));
            }
            let algorithms = self.provider.signature_verification_algorithms.all;
            let (own, others) = (&own, intermediates);
            verify_server_cert_signed_by_trust_anchor(own, &roots, others, now, algorithms)?;
        }
        verify_server_name(&own, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pinned")
    }
}

fn not_pinned(own: &ParsedCertificate<'_>) -> TlsError {
    let why = NotPinned(Pin::of(own).to_string());
    TlsError::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(why))))
}

pub(super) fn is_valid_at(
    certificate: &CertificateDer<'_>,
    now: UnixTime,
) -> std::result::Result<(), TlsError> {
    let now = i64::try_from(now.as_secs()).ok();
    let now = now.and_then(|now| OffsetDateTime::from_unix_timestamp(now).ok());
    let verdict = match now.map(written).zip(validity(certificate)) {
        None => CertificateError::BadEncoding,
        Some((now, (from, _))) if now < from => CertificateError::NotValidYet,
        Some((now, (_, to))) if now > to => CertificateError::Expired,
        Some(_) => return Ok(()),
    };
    Err(TlsError::InvalidCertificate(verdict))
}

/// Returns a time in the fourteen digits of certificates, which sort as the times do.
fn written(at: OffsetDateTime) -> String {
    let (date, (hour, minute, second)) = (at.date(), at.to_hms());
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
}

/// Returns the times from which and until which a certificate is valid (RFC 5280, section 4.1).
fn validity(certificate: &[u8]) -> Option<(String, String)> {
    const SEQUENCE: u8 = 0x30;
    const VERSION: u8 = 0xa0;
    let (SEQUENCE, whole, _) = element(certificate)? else { return None };
    let (SEQUENCE, signed, _) = element(whole)? else { return None };
    let (VERSION, _, rest) = element(signed)? else { return None };
    let (_serial_number, _, rest) = element(rest)?;
    let (_algorithm, _, rest) = element(rest)?;
    let (_issuer, _, rest) = element(rest)?;
    let (SEQUENCE, times, _) = element(rest)? else { return None };
    let (from_kind, from, rest) = element(times)?;
    let (to_kind, to, _) = element(rest)?;
    Some((time(from_kind, from)?, time(to_kind, to)?))
}

fn time(kind: u8, digits: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(digits).ok()?.strip_suffix('Z')?;
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    match (kind, text.len(), plain) {
        // The year has two digits and ranges from 1950 to 2049.
        (0x17, 12, true) if text < "5" => Some(format!("20{text}")),
        (0x17, 12, true) => Some(format!("19{text}")),
        (0x18, 14, true) => Some(text.to_owned()),
        _ => None,
    }
}

/// Splits DER into the type and the content of its first element, and the rest.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&kind, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((kind, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_in_the_notation_of_openssl_are_accepted() {
        let pin = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        assert_eq!(pin.parse::<Pin>().unwrap().to_string(), pin);
        for bad in ["", "sha256/", "sha1/2jmj7l5rSw0yVb/vlWAYkK/YBwk=", &pin[7..], &pin[..50]] {
            let error = bad.parse::<Pin>().err().unwrap();
            assert!(
                matches!(error, Error::InvalidArgument { parameter, .. } if parameter == "pin")
            );
        }
    }

    #[test]
    fn times_compare_in_both_notations() {
        let read = |kind, text: &str| time(kind, text.as_bytes());
        assert_eq!(read(0x17, "491231235959Z").as_deref(), Some("20491231235959"));
        assert_eq!(read(0x17, "500101000000Z").as_deref(), Some("19500101000000"));
        assert_eq!(read(0x18, "20500101000000Z").as_deref(), Some("20500101000000"));
        assert_eq!(read(0x17, "491231235959+0100"), None);
        assert_eq!(read(0x18, "491231235959Z"), None);
        let at = OffsetDateTime::from_unix_timestamp(1_000_000_000).unwrap();
        assert_eq!(written(at), "20010909014640");
    }

    #[test]
    fn malformed_certificates_have_no_validity() {
        for bad in [&[][..], &[0x30], &[0x30, 0x84, 0, 0, 0, 0], &[0x30, 2, 0x30, 1], &[0xff; 99]] {
            assert_eq!(validity(bad), None);
        }
    }
}

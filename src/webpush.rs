//! Web Push: the encryption of messages (RFC 8291), the proof of their sender (RFC 8292), and the signatures that
//! browsers make.

use crate::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{self, ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::sync::{Mutex, PoisonError};
use zeroize::Zeroizing;

/// The length of an uncompressed point on P-256.
const POINT: usize = 65;
/// The base point of P-256: a key that no device has, for a check whose result does not matter.
#[rustfmt::skip]
pub(crate) const GENERATOR: [u8; POINT] = [
    0x04, 0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40,
    0xf2, 0x77, 0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2,
    0x96, 0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e,
    0x16, 0x2b, 0xce, 0x33, 0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51,
    0xf5,
];
/// The size of the only record of a message, as browsers expect it.
const RECORD: u32 = 4096;
/// The longest text that fits into it, with its end mark and its tag (RFC 8291, section 4).
const LONGEST: usize = 3993;
/// The lifetime of a token, in seconds. Push services accept 24 hours (RFC 8292, section 2).
const TOKEN_LIFE: u64 = 12 * 60 * 60;
/// The remaining lifetime that a token must have to be used again.
const TOKEN_LEFT: u64 = 60 * 60;
/// The maximum number of tokens: one for each of the few push services.
const MOST_TOKENS: usize = 16;

/// The keys of a subscription.
pub(crate) struct SubscriptionKeys {
    p256dh: [u8; POINT],
    auth: [u8; 16],
}

impl SubscriptionKeys {
    /// Reads the two keys. [`SubscriptionKeys::check`] and [`encrypt`] find out if the first is a point on P-256.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the first has not 65 bytes, or the second has not 16.
    pub(crate) fn new(p256dh: &[u8], auth: &[u8]) -> Result<SubscriptionKeys> {
        let auth = auth.try_into();
        let auth = auth.map_err(|_| Error::invalid_argument("auth", "must have 16 bytes"))?;
        Ok(SubscriptionKeys { p256dh: check_length(p256dh)?, auth })
    }

    /// Checks that messages can be encrypted for them. It takes as long as that, so it is done once.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the first is no point on P-256.
    pub(crate) fn check(&self) -> Result<()> {
        check_point(&self.p256dh).map(drop)
    }
}

/// Checks that these bytes are a point on P-256, uncompressed.
///
/// # Errors
/// [`Error::InvalidArgument`] if they are not.
pub(crate) fn check_point(bytes: &[u8]) -> Result<[u8; POINT]> {
    let point = check_length(bytes)?;
    // Only an agreement looks at the curve.
    agree(private_key()?, &point, |_| point)
}

/// Bytes that were checked before.
///
/// # Errors
/// [`Error::InvalidArgument`] if they cannot have been.
pub(crate) fn check_length(bytes: &[u8]) -> Result<[u8; POINT]> {
    bytes.try_into().map_err(|_| not_a_point())
}

fn not_a_point() -> Error {
    Error::invalid_argument("key", "must be an uncompressed point on P-256")
}

fn failed() -> Error {
    Error::Internal { message: "the cryptography of push messages failed".into() }
}

fn private_key() -> Result<EphemeralPrivateKey> {
    EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).map_err(|_| failed())
}

/// Passes the secret that is shared with the owner of a point to a function.
fn agree<T>(
    own: EphemeralPrivateKey,
    point: &[u8; POINT],
    with: impl FnOnce(&[u8]) -> T,
) -> Result<T> {
    let theirs = UnparsedPublicKey::new(&ECDH_P256, point);
    agreement::agree_ephemeral(own, &theirs, with).map_err(|_| not_a_point())
}

/// Encrypts a message for a subscription, as the body of the request to the push service (RFC 8291).
///
/// # Errors
/// [`Error::InvalidArgument`] if it is longer than 3993 bytes, or the key is no point on P-256.
pub(crate) fn encrypt(keys: &SubscriptionKeys, text: &[u8]) -> Result<Vec<u8>> {
    if text.len() > LONGEST {
        return Err(Error::invalid_argument("text", "must have at most 3993 bytes"));
    }
    let own = private_key()?;
    let public = own.compute_public_key().map_err(|_| failed())?;
    let public: [u8; POINT] = public.as_ref().try_into().map_err(|_| failed())?;
    let mut salt = [0; 16];
    SystemRandom::new().fill(&mut salt).map_err(|_| failed())?;
    agree(own, &keys.p256dh, |shared| encrypted(keys, (shared, &public), salt, text))?
}

/// Encrypts the message: all steps from the shared secret on.
fn encrypted(
    keys: &SubscriptionKeys,
    (shared, public): (&[u8], &[u8; POINT]),
    salt: [u8; 16],
    text: &[u8],
) -> Result<Vec<u8>> {
    let mut input = Zeroizing::new([0; 32]);
    let info: [&[u8]; 3] = [b"WebPush: info\0", &keys.p256dh, public];
    expand((&keys.auth, shared), &info, &mut *input)?;
    let (mut key, mut nonce) = (Zeroizing::new([0; 16]), [0; 12]);
    expand((&salt, &*input), &[b"Content-Encoding: aes128gcm\0"], &mut *key)?;
    expand((&salt, &*input), &[b"Content-Encoding: nonce\0"], &mut nonce)?;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &*key).map_err(|_| failed())?);
    // The mark of the last record (RFC 8188, section 2).
    let mut record = [text, &[2]].concat();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)
        .map_err(|_| failed())?;
    let mut body = Vec::with_capacity(salt.len() + 5 + POINT + record.len());
    body.extend_from_slice(&salt);
    body.extend_from_slice(&RECORD.to_be_bytes());
    body.push(POINT as u8);
    body.extend_from_slice(public);
    body.extend_from_slice(&record);
    Ok(body)
}

/// The length of a key.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF with SHA-256 (RFC 5869), of a salt and a secret.
fn expand((salt, secret): (&[u8], &[u8]), info: &[&[u8]], key: &mut [u8]) -> Result<()> {
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    let expanded = extracted.expand(info, Length(key.len())).map_err(|_| failed())?;
    expanded.fill(key).map_err(|_| failed())
}

/// The key by which push services recognise the sender of messages.
pub(crate) struct VapidKey {
    pkcs8: Zeroizing<Vec<u8>>,
    pair: EcdsaKeyPair,
}

impl VapidKey {
    /// # Errors
    /// [`Error::Internal`] if there is no randomness.
    pub(crate) fn generate() -> Result<VapidKey> {
        let made =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        VapidKey::from_bytes(made.map_err(|_| failed())?.as_ref())
    }

    /// # Errors
    /// [`Error::Storage`] if these are not the bytes of such a key.
    pub(crate) fn from_bytes(pkcs8: &[u8]) -> Result<VapidKey> {
        let random = SystemRandom::new();
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random)
            .map(|pair| VapidKey { pkcs8: Zeroizing::new(pkcs8.to_vec()), pair })
            .map_err(|_| Error::storage("the key of push messages is damaged"))
    }

    /// Returns the key as it is stored, in PKCS #8.
    pub(crate) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        self.pkcs8.clone()
    }

    /// Returns the public key that browsers get when they subscribe.
    pub(crate) fn public_point(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// Returns the value of a header `Authorization`, by which a message to a push service of this origin comes from
    /// the contact `subject` (RFC 8292).
    fn authorization(&self, audience: &str, subject: &str, until: u64) -> Result<String> {
        let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = part(&json!({ "typ": "JWT", "alg": "ES256" }));
        let claims = part(&json!({ "aud": audience, "exp": until, "sub": subject }));
        let signed = format!("{header}.{claims}");
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(signature.map_err(|_| failed())?.as_ref());
        let key = URL_SAFE_NO_PAD.encode(self.public_point());
        Ok(format!("vapid t={signed}.{signature}, k={key}"))
    }
}

/// Tokens that were signed for push services lately: a signature takes longer than the encryption of a message.
#[derive(Default)]
pub(crate) struct VapidTokens(Mutex<Vec<Token>>);

struct Token {
    /// The SHA-256 of the key that signed it.
    key: [u8; 32],
    audience: String,
    subject: String,
    until: u64,
    authorization: String,
}

impl VapidTokens {
    /// Returns the value of a header `Authorization` for a push service of this origin, signed with the key in these
    /// bytes. They are only read as a key if there is something to sign: that takes as long as the rest.
    ///
    /// # Errors
    /// [`Error::Internal`] if nothing can be signed, [`Error::Storage`] if the key is damaged.
    pub(crate) fn get(
        &self,
        pkcs8: &[u8],
        audience: &str,
        subject: &str,
        now: u64,
    ) -> Result<String> {
        let key = Sha256::digest(pkcs8).into();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A token of a time that is far ahead was made while the clock was wrong.
        kept.retain(|token| (now + TOKEN_LEFT..=now + TOKEN_LIFE).contains(&token.until));
        let is_same = |token: &&Token| {
            token.audience == audience && token.subject == subject && token.key == key
        };
        if let Some(token) = kept.iter().find(is_same) {
            return Ok(token.authorization.clone());
        }
        let until = now + TOKEN_LIFE;
        let authorization = VapidKey::from_bytes(pkcs8)?.authorization(audience, subject, until)?;
        if kept.len() >= MOST_TOKENS {
            kept.remove(0);
        }
        kept.push(Token {
            key,
            audience: audience.to_owned(),
            subject: subject.to_owned(),
            until,
            authorization: authorization.clone(),
        });
        Ok(authorization)
    }
}

/// Returns whether a signature, in the format of browsers, is valid for this key and text.
pub(crate) fn verify_p256(key: &[u8; POINT], text: &[u8], signature: &[u8]) -> bool {
    let key = signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key);
    key.verify(text, signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    /// RFC 8291, section 5 and appendix A.
    #[test]
    fn the_example_of_rfc_8291_is_encrypted_as_it_says() {
        let point = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
        let keys = SubscriptionKeys::new(&bytes(point), &bytes("BTBZMqHH6r4Tts7J_aSIgg")).unwrap();
        let public = bytes(
            "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
        );
        let public: [u8; POINT] = public.try_into().unwrap();
        let shared = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let text = b"When I grow up, I want to be a watermelon";
        let body = encrypted(&keys, (&shared, &public), salt, text).unwrap();
        let expected = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml\
                        mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT\
                        pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
        assert_eq!(URL_SAFE_NO_PAD.encode(body), expected);
    }

    #[test]
    fn only_points_of_the_curve_are_keys() {
        let point = *VapidKey::generate().unwrap().public_point().first_chunk::<POINT>().unwrap();
        assert_eq!(check_point(&point).unwrap(), point);
        assert!(check_point(&GENERATOR).is_ok());
        let mut beside = point;
        beside[64] ^= 1;
        let mut compressed = point.to_vec();
        compressed[0] = 2;
        let zeros = [[4].to_vec(), vec![0; 64]].concat();
        for wrong in [&beside[..], &compressed, &point[..33], &zeros, &[0], &[]] {
            assert!(check_point(wrong).is_err(), "{wrong:?}");
        }
        assert!(SubscriptionKeys::new(&point, &[0; 15]).is_err());
        assert!(SubscriptionKeys::new(&point[..64], &[0; 16]).is_err());
        let keys = |point: &[u8]| SubscriptionKeys::new(point, &[0; 16]).unwrap();
        assert!(keys(&point).check().is_ok() && encrypt(&keys(&point), b"text").is_ok());
        assert!(keys(&beside).check().is_err() && encrypt(&keys(&beside), b"text").is_err());
    }

    #[test]
    fn a_text_that_is_too_long_for_a_record_is_rejected() {
        let point = VapidKey::generate().unwrap().public_point().to_vec();
        let keys = SubscriptionKeys::new(&point, &[7; 16]).unwrap();
        assert_eq!(encrypt(&keys, &[0; LONGEST]).unwrap().len(), RECORD as usize);
        assert!(encrypt(&keys, &[0; LONGEST + 1]).is_err());
        assert_ne!(encrypt(&keys, b"a").unwrap(), encrypt(&keys, b"a").unwrap());
    }

    #[test]
    fn a_token_says_who_sends_to_which_service_and_is_signed_once() {
        let (key, tokens) = (VapidKey::generate().unwrap(), VapidTokens::default());
        let pkcs8 = key.to_bytes();
        let now = 1_790_000_000;
        let get = |audience: &str, now| {
            tokens.get(&pkcs8, audience, "https://login.example", now).unwrap()
        };
        let first = get("https://push.example", now);
        let (token, point_text) =
            first.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        assert_eq!(bytes(point_text), key.public_point());
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let point: [u8; POINT] = bytes(point_text).try_into().unwrap();
        assert!(verify_p256(&point, signed.as_bytes(), &bytes(signature)));
        assert!(!verify_p256(&point, b"another text", &bytes(signature)));
        let claims = bytes(signed.split_once('.').unwrap().1);
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        let expected = json!({ "aud": "https://push.example", "exp": now + 43_200, "sub": "https://login.example" });
        assert_eq!(claims, expected);
        assert_eq!(get("https://push.example", now + 39_600), first);
        assert_ne!(get("https://other.example", now), first);
        assert_ne!(get("https://push.example", now + 39_601), first);
        assert_ne!(get("https://push.example", now - 86_400), first, "the clock was ahead");
        let other = VapidKey::generate().unwrap().to_bytes();
        let of_other = tokens.get(&other, "https://push.example", "https://login.example", now);
        assert!(!of_other.unwrap().ends_with(point_text), "another key signs anew");
    }

    #[test]
    fn whatever_the_length_of_a_signature_it_is_only_wrong() {
        let point = *VapidKey::generate().unwrap().public_point().first_chunk::<POINT>().unwrap();
        for length in [0, 1, 63, 64, 65, 1 << 16] {
            assert!(!verify_p256(&point, b"text", &vec![0; length]));
        }
    }
}

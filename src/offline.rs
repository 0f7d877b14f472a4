//! The hashes by which a machine recognises a user's codes while the service is unreachable. A
//! service returns them in reply to [`crate::calls::PrepareOffline`].

use crate::model::UserId;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// The length of a hash, in bytes.
pub const HASH_LENGTH: usize = 8;
/// The length of the key of the hashes, in bytes.
pub const KEY_LENGTH: usize = 32;
/// The most hashes of one reply: seven days of steps of 30 seconds.
pub const MOST_STEPS: u64 = 7 * 2880;
/// The first bytes that the hash covers, so that it is of no use for any other purpose.
const PURPOSE: &[u8] = b"seconder offline code\0";

/// Hashes the codes of one user under the key of one reply: the first 8 bytes of HMAC-SHA-256 of
/// `seconder offline code`, a zero byte, the user's id and the step as 8 bytes each with the most
/// significant first, and the digits of the code.
///
/// It does not protect the codes from anyone who has the key: there are only as many as digits allow.
pub struct Hasher(Hmac<Sha256>);

impl Hasher {
    /// Hashes under this key, for this user.
    pub fn new(key: &[u8; KEY_LENGTH], user_id: UserId) -> Hasher {
        // HMAC pads a key to a block with zeros.
        let mut block = Zeroizing::new([0; 64]);
        block[..KEY_LENGTH].copy_from_slice(key);
        let mut mac = Hmac::<Sha256>::new((&*block).into());
        mac.update(PURPOSE);
        mac.update(&user_id.get().to_be_bytes());
        Hasher(mac)
    }

    /// Returns the hash of the code of a step.
    pub fn hash(&self, step: u64, code: &str) -> [u8; HASH_LENGTH] {
        let mut mac = self.0.clone();
        mac.update(&step.to_be_bytes());
        mac.update(code.as_bytes());
        let whole: [u8; 32] = mac.finalize().into_bytes().into();
        let mut hash = [0; HASH_LENGTH];
        hash.copy_from_slice(&whole[..HASH_LENGTH]);
        hash
    }
}

impl std::fmt::Debug for Hasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hasher([redacted])")
    }
}

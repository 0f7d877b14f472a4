//! The hashes by which a machine recognises a user's codes while the service is unreachable. A
//! service returns them in reply to [`crate::calls::PrepareOffline`].

use crate::model::{Token, UserId};
use crate::otp::Match;
use crate::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
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

    /// Returns the step of a code, if it is `current` or within so many steps of it. The first of the `hashes` is of
    /// `first_step`. The running time does not depend on which step it is.
    pub fn find(
        &self,
        hashes: &[u8],
        first_step: u64,
        code: &Token,
        current: u64,
        within: u64,
    ) -> Option<u64> {
        let mut found = None;
        for step in current.saturating_sub(within)..=current.saturating_add(within) {
            let Some(stored) = hash_of(hashes, first_step, step) else { continue };
            if bool::from(self.hash(step, code.as_str()).ct_eq(stored)) {
                found = Some(step);
            }
        }
        found
    }
}

fn hash_of(hashes: &[u8], first_step: u64, step: u64) -> Option<&[u8]> {
    let index = usize::try_from(step.checked_sub(first_step)?).ok()?;
    let start = index.checked_mul(HASH_LENGTH)?;
    hashes.get(start..start.checked_add(HASH_LENGTH)?)
}

/// The codes of a reply, to compare with. Fields are as in [`crate::calls::OfflinePrepared`].
pub struct Codes {
    hasher: Hasher,
    digits: u64,
    period: u64,
    first_step: u64,
    hashes: Zeroizing<Vec<u8>>,
}

impl Codes {
    /// The codes of a user.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the name of a field that no reply has like this.
    pub fn new(
        user_id: UserId,
        (digits, period): (u64, u64),
        first_step: u64,
        hash_key: &str,
        hashes: &str,
    ) -> Result<Codes> {
        let decoded = |name: &'static str, text: &str| {
            let wrong = |_| Error::invalid_argument(name, "must be Base64");
            STANDARD.decode(text).map(Zeroizing::new).map_err(wrong)
        };
        let wrong = |name, reason| Err(Error::invalid_argument(name, reason));
        if !(6..=8).contains(&digits) {
            return wrong("digits", "must be 6 to 8");
        }
        if !(1..=3600).contains(&period) {
            return wrong("period", "must be 1 to 3600");
        }
        if first_step.checked_add(MOST_STEPS).is_none() {
            return wrong("first_step", "is too large");
        }
        let Ok(key) = decoded("hash_key", hash_key)?.as_slice().try_into().map(Zeroizing::new)
        else {
            return wrong("hash_key", "must be 32 bytes in Base64");
        };
        let hashes = decoded("hashes", hashes)?;
        let most = MOST_STEPS * HASH_LENGTH as u64;
        if hashes.is_empty()
            || !hashes.len().is_multiple_of(HASH_LENGTH)
            || hashes.len() as u64 > most
        {
            return wrong("hashes", "must be 1 to 20160 hashes of 8 bytes in Base64");
        }
        Ok(Codes { hasher: Hasher::new(&key, user_id), digits, period, first_step, hashes })
    }

    /// Checks a code at a time, in Unix seconds. Codes of the steps immediately before and after are accepted too,
    /// because clocks differ, but none of `last_step` or before it. The caller must not use codes after their
    /// `expires_at`.
    pub fn check(&self, code: &Token, unix_seconds: u64, last_step: u64) -> Match {
        if code.as_str().len() as u64 != self.digits {
            return Match::None;
        }
        let current = unix_seconds / self.period;
        match self.hasher.find(&self.hashes, self.first_step, code, current, 1) {
            None => Match::None,
            Some(step) if step <= last_step => Match::Used,
            Some(step) => Match::Step(step),
        }
    }
}

impl std::fmt::Debug for Codes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Codes").field("first_step", &self.first_step).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Hasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hasher([redacted])")
    }
}

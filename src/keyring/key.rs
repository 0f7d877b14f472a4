//! One key, and the values that are sealed with it.

use crate::{Error, Result};
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
use hmac::{Hmac, Mac};
use memmap2::MmapMut;
use sha2::Sha256;
use std::fmt;
use std::str::FromStr;
use zeroize::{Zeroize, Zeroizing};

/// The bytes of an id, which a sealed value begins with.
pub(crate) const ID: usize = 8;
const NONCE: usize = 12;
const TAG: usize = 16;

/// The id of a key: a part of an HMAC under it, so that an id belongs to one key only and a damaged
/// key is noticed. As text, 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId([u8; ID]);

impl KeyId {
    /// Leaves copies of the key on the stack.
    #[inline(never)]
    fn of(bytes: &[u8; 32]) -> KeyId {
        // HMAC pads a key to a block with zeros.
        let mut block = Zeroizing::new([0; 64]);
        block[..bytes.len()].copy_from_slice(bytes);
        let mut mac = Hmac::<Sha256>::new((&*block).into());
        mac.update(b"seconder keyring: the id of a key");
        let whole = mac.finalize().into_bytes();
        let mut id = [0; ID];
        id.copy_from_slice(&whole[..ID]);
        KeyId(id)
    }

    /// Returns the id that a sealed value begins with.
    pub(crate) fn of_value(sealed: &[u8]) -> Option<KeyId> {
        sealed.first_chunk().copied().map(KeyId)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for KeyId {
    type Err = Error;

    fn from_str(text: &str) -> Result<KeyId> {
        let mut id = [0; ID];
        let digits = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if text.len() != 2 * ID || !digits {
            return Err(Error::invalid_argument("key", "must be 16 digits, 0 to 9 and a to f"));
        }
        for (place, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).unwrap_or_default();
        }
        Ok(KeyId(id))
    }
}

/// A key of a ring.
pub(crate) struct Key {
    pub(crate) id: KeyId,
    /// When it was made, in seconds since the Unix epoch.
    pub(crate) created_at: u64,
    bytes: Page,
}

impl Key {
    /// # Errors
    /// [`Error::Internal`] if the system has no memory for it.
    pub(crate) fn new(bytes: &[u8; 32], created_at: u64) -> Result<Key> {
        let (id, bytes) = (KeyId::of(bytes), Page::new(bytes)?);
        overwrite_stack();
        Ok(Key { id, created_at, bytes })
    }

    /// Creates a new key.
    pub(crate) fn random(created_at: u64) -> Result<Key> {
        let mut bytes = Zeroizing::new([0; 32]);
        random(&mut *bytes)?;
        Key::new(&bytes, created_at)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes.0
    }

    /// Expands the key, which takes about as long as to seal a value.
    pub(crate) fn cipher(&self) -> Cipher {
        let cipher = expand(self.bytes());
        overwrite_stack();
        Cipher { id: self.id, cipher }
    }
}

/// Memory for the bytes of a key that core dumps leave out. It is wiped when it is dropped.
struct Page(MmapMut);

impl Page {
    fn new(bytes: &[u8; 32]) -> Result<Page> {
        let mapped = MmapMut::map_anon(bytes.len());
        let mut page = mapped.map(Page).map_err(|error| Error::Internal {
            message: format!("the system has no memory for a key: {error}"),
        })?;
        // A system that cannot do it, such as one that emulates Linux, keeps the keys as it keeps all memory.
        #[cfg(target_os = "linux")]
        let _ = page.0.advise(memmap2::Advice::DontDump);
        page.0.copy_from_slice(bytes);
        Ok(page)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// An expanded key. It lives for one transaction, because a core dump would show it.
pub(crate) struct Cipher {
    pub(crate) id: KeyId,
    cipher: Box<Aes256Gcm>,
}

impl Cipher {
    /// Seals a value for the place that `place` describes: the id of the key, the nonce, the
    /// ciphertext, the tag.
    ///
    /// Nonces are random, because several processes seal with one key and cannot count together. Up
    /// to 2³² values of one key, the probability that two of them have one nonce stays below 2⁻³³.
    /// A service that sends 100 codes a second seals as many in eight months, and one that sends 10
    /// in seven years; a new key starts from zero.
    pub(crate) fn seal(&self, place: &[u8], plain: &[u8]) -> Result<Vec<u8>> {
        let mut sealed = Vec::with_capacity(ID + NONCE + plain.len() + TAG);
        let mut nonce = [0; NONCE];
        random(&mut nonce)?;
        sealed.extend_from_slice(&self.id.0);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(plain);
        let tag = self
            .cipher
            .encrypt_inout_detached(&Nonce::from(nonce), place, (&mut sealed[ID + NONCE..]).into())
            .map_err(|_| Error::Internal { message: "a value is too long to be sealed".into() })?;
        sealed.extend_from_slice(&tag);
        Ok(sealed)
    }

    /// Opens a value that was sealed with this key for this place. `None` if it was not, or is
    /// damaged.
    pub(crate) fn open(&self, place: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let rest = sealed.strip_prefix(&self.id.0)?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE>()?;
        let (text, tag) = rest.split_last_chunk::<TAG>()?;
        let mut plain = Zeroizing::new(text.to_vec());
        let opened = self.cipher.decrypt_inout_detached(
            &Nonce::from(*nonce),
            place,
            plain.as_mut_slice().into(),
            &Tag::from(*tag),
        );
        opened.ok().map(|()| plain)
    }
}

/// Expands a key, which leaves copies of it on the stack.
#[inline(never)]
fn expand(bytes: &[u8]) -> Box<Aes256Gcm> {
    let mut key = Zeroizing::new([0; 32]);
    key.copy_from_slice(bytes);
    Box::new(Aes256Gcm::new((&*key).into()))
}

/// Overwrites the data that the previously called function left on the stack.
#[inline(never)]
fn overwrite_stack() {
    // A variable: a literal would be a constant of the program, and nothing would be written.
    let mut room = [0_u8; 16 * 1024];
    std::hint::black_box(&mut room);
}

/// Fills the buffer from the system: a key or a nonce is never drawn from a source that a test has
/// replaced.
fn random(buffer: &mut [u8]) -> Result<()> {
    getrandom::fill(buffer)
        .map_err(|_| Error::Internal { message: "the system's source of randomness failed".into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key::new(&[byte; 32], 0).unwrap()
    }

    #[test]
    fn a_value_opens_in_its_place_with_its_key_only() {
        let ours = key(1).cipher();
        let sealed = ours.seal(b"here", b"secret").unwrap();
        assert_eq!(ours.open(b"here", &sealed).unwrap().as_slice(), b"secret");
        assert!(ours.open(b"there", &sealed).is_none());
        assert!(key(2).cipher().open(b"here", &sealed).is_none());
        for place in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[place] ^= 1;
            assert!(ours.open(b"here", &damaged).is_none(), "{place}");
            assert!(ours.open(b"here", &sealed[..place]).is_none(), "{place}");
        }
        assert_ne!(sealed, ours.seal(b"here", b"secret").unwrap(), "each has its own nonce");
        assert!(ours.open(b"", &ours.seal(b"", b"").unwrap()).unwrap().is_empty());
    }

    /// Each mapping of the process has a line with its addresses, and further down one with its flags.
    #[cfg(target_os = "linux")]
    #[test]
    fn core_dumps_leave_out_the_bytes_of_keys() {
        let key = key(1);
        let address = key.bytes().as_ptr() as usize;
        let mappings = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = mappings.lines().skip_while(|line| {
            let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            let bound = |text: &str| usize::from_str_radix(text, 16).ok();
            let range = range.and_then(|(from, to)| Some(bound(from)?..bound(to)?));
            !range.is_some_and(|range| range.contains(&address))
        });
        let flags = lines.find_map(|line| line.strip_prefix("VmFlags:")).unwrap();
        assert!(flags.split(' ').any(|flag| flag == "dd"), "{flags}");
    }

    #[test]
    fn an_id_is_16_digits() {
        let id = key(1).id;
        assert_eq!(id.to_string().parse::<KeyId>().unwrap(), id);
        for wrong in ["", "0", "00000000000000000", "000000000000000g", "+0000000000000000"] {
            assert!(wrong.parse::<KeyId>().is_err(), "{wrong}");
        }
        assert!("00000000000000É".parse::<KeyId>().is_err());
    }
}

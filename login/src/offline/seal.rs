//! The seal of the cache: an encryption whose key needs this machine's identity and a file that
//! stays in the folder, so that a copy of the cache alone is useless.

use super::folder::Folder;
use super::{Problem, Random, Result};
use hmac::{Hmac, Mac};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use seconder::model::UserId;
use sha2::Sha256;
use zeroize::Zeroizing;

/// The file with the random part of the key.
const KEY_FILE: &str = "key";
/// The beginning of each file; the last byte is the version.
const MAGIC: &[u8; 4] = b"sco\x01";

pub(super) struct Seal {
    /// AES-256-GCM (NIST SP 800-38D), which the client of HTTPS links too. Nonces are random: far fewer
    /// than 2^32 files are ever sealed with one key.
    cipher: LessSafeKey,
    /// The key of the names of files.
    names: Zeroizing<[u8; 32]>,
}

impl Seal {
    pub(super) fn new(
        folder: &Folder,
        service: &str,
        machine: &[u8],
        random: Random,
    ) -> Result<Seal> {
        if machine.is_empty() {
            return Err(Problem::Storage("this machine has no identity".to_owned()));
        }
        let key = key(folder, random)?;
        let mut bound = Zeroizing::new(Vec::new());
        for part in [machine, service.as_bytes()] {
            bound.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bound.extend_from_slice(part);
        }
        let derive = |purpose: &str| mac(&key, &[purpose.as_bytes(), &bound]);
        let cipher = UnboundKey::new(&AES_256_GCM, &*derive("seconder offline seal\0"));
        let cipher = cipher.map_err(|_| Problem::Storage("the cache cannot be sealed".into()))?;
        Ok(Seal { cipher: LessSafeKey::new(cipher), names: derive("seconder offline name\0") })
    }

    pub(super) fn file_of_user(&self, user: UserId) -> String {
        self.name("user", user.to_string().as_bytes())
    }

    pub(super) fn file_of_login(&self, login: &str) -> String {
        self.name("login", login.as_bytes())
    }

    /// Returns a name that does not reveal the owner of the file.
    fn name(&self, kind: &str, of: &[u8]) -> String {
        let hash = mac(&self.names, &[kind.as_bytes(), b"\0", of]);
        let hex: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{kind}-{hex}")
    }

    /// Seals a text as the contents of the file with this name.
    pub(super) fn seal(&self, name: &str, text: &[u8], random: Random) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        if !random(&mut nonce) {
            return Err(no_random());
        }
        let mut sealed = text.to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        let done = self.cipher.seal_in_place_append_tag(unique, bound(name), &mut sealed);
        done.map_err(|_| Problem::Storage("the cache cannot be sealed".into()))?;
        Ok([MAGIC, nonce.as_slice(), &sealed].concat())
    }

    /// Opens the contents of the file with this name.
    pub(super) fn unseal(&self, name: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        let (magic, rest) = sealed.split_first_chunk::<4>().ok_or(Problem::Damaged)?;
        if magic[..3] == MAGIC[..3] && magic[3] > MAGIC[3] {
            return Err(Problem::Newer);
        }
        let (nonce, rest) = rest.split_first_chunk::<NONCE_LEN>().ok_or(Problem::Damaged)?;
        if magic != MAGIC {
            return Err(Problem::Damaged);
        }
        let mut text = Zeroizing::new(rest.to_vec());
        let unique = Nonce::assume_unique_for_key(*nonce);
        let opened = self.cipher.open_in_place(unique, bound(name), &mut text);
        let length = opened.map_err(|_| Problem::Damaged)?.len();
        text.truncate(length);
        Ok(text)
    }
}

/// Returns the data that a seal also authenticates: the version and the name of the file.
fn bound(name: &str) -> Aad<Vec<u8>> {
    Aad::from([MAGIC, name.as_bytes()].concat())
}

/// Returns the random part of the key, which is created at first use.
fn key(folder: &Folder, random: Random) -> Result<Zeroizing<[u8; 32]>> {
    let read = || -> Result<Option<Zeroizing<[u8; 32]>>> {
        let Some(bytes) = folder.read(KEY_FILE)?.map(Zeroizing::new) else { return Ok(None) };
        let key = bytes.as_slice().try_into().map_err(|_| Problem::Damaged)?;
        Ok(Some(Zeroizing::new(key)))
    };
    if let Some(key) = read()? {
        return Ok(key);
    }
    let lock = folder.lock(KEY_FILE)?;
    // Another process may have created it meanwhile.
    if let Some(key) = read()? {
        return Ok(key);
    }
    let mut key = Zeroizing::new([0; 32]);
    if !random(&mut *key) {
        return Err(no_random());
    }
    folder.replace(&lock, KEY_FILE, &*key)?;
    Ok(key)
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
    // HMAC pads a key to a block with zeros.
    let mut block = Zeroizing::new([0; 64]);
    block[..32].copy_from_slice(key);
    let mut mac = <Hmac<Sha256> as hmac::KeyInit>::new((&*block).into());
    parts.iter().for_each(|part| mac.update(part));
    Zeroizing::new(mac.finalize().into_bytes().into())
}

fn no_random() -> Problem {
    Problem::Storage("the system's source of randomness failed".to_owned())
}

/// Returns the identity of this machine, from /etc/machine-id.
///
/// # Errors
/// [`Problem::Storage`] if the machine has no id: a machine that has it only after its first start,
/// or an image of several machines.
pub fn machine_id() -> Result<Vec<u8>> {
    const FILE: &str = "/etc/machine-id";
    let bad = |reason: &str| Problem::Storage(format!("{FILE} {reason}"));
    let text = std::fs::read(FILE).map_err(|error| bad(&format!("cannot be read: {error}")))?;
    let id = text.trim_ascii();
    match id.len() == 32 && id.iter().all(u8::is_ascii_hexdigit) {
        true => Ok(id.to_vec()),
        false => Err(bad("must be 32 hexadecimal digits")),
    }
}

/// Fills a buffer with randomness of the system.
pub fn system_random(buffer: &mut [u8]) -> bool {
    let mut filled = 0;
    while filled < buffer.len() {
        match rustix::rand::getrandom(&mut buffer[filled..], rustix::rand::GetRandomFlags::empty())
        {
            Ok(count) if count > 0 => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            _ => return false,
        }
    }
    true
}

//! Sealed files of users: AES-256-GCM in chunks, by the STREAM construction. The nonce of a chunk has its number and
//! whether it is the last one, so that no chunk can be left out, moved, repeated or added; the beginning of the file is
//! authenticated with each of them.

use crate::admin::input::secret::check_private;
use crate::invalid;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};
use ring::rand::{SecureRandom, SystemRandom};
use seconder::{Error, Result};
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use zeroize::Zeroizing;

/// The beginning of a file. Before its first chunk, the nonces' random part follows.
const MAGIC: &[u8; 18] = b"seconder sealed 1\n";
const PREFIX: usize = 7;
const HEADER: usize = MAGIC.len() + PREFIX;
/// The bytes of each chunk but the last, which may have fewer.
const CHUNK: usize = 64 * 1024;
const TAG: usize = 16;

pub(super) type Input = Box<dyn Read + Send>;

/// The option that names the file of a key.
const SEAL_KEY: &str = "seal-key-file";

/// A key, which is wiped from memory when it is dropped.
pub(super) struct SealKey(Box<Aes256Gcm>);

impl SealKey {
    /// Reads a key of 64 hexadecimal digits from a file that others cannot read.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the file cannot be read, may be known to others, or holds something else.
    pub(super) fn read(path: &Path) -> Result<SealKey> {
        let shown = path.display();
        let cannot = |error| bad_key(format!("{shown} cannot be read: {error}"));
        let file = File::open(path).map_err(cannot)?;
        check_private(SEAL_KEY, path, &file.metadata().map_err(cannot)?)?;
        let mut text = Zeroizing::new(String::with_capacity(256));
        file.take(256).read_to_string(&mut text).map_err(cannot)?;
        let digits = text.trim();
        let mut bytes = Zeroizing::new([0; 32]);
        let is_key = digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        for (place, byte) in bytes.iter_mut().enumerate().filter(|_| is_key) {
            let pair = digits.get(2 * place..2 * place + 2).unwrap_or_default();
            *byte = u8::from_str_radix(pair, 16).unwrap_or_default();
        }
        match is_key {
            true => Ok(SealKey(Box::new(Aes256Gcm::new((&*bytes).into())))),
            false => Err(bad_key(format!(
                "{shown} must hold 64 hexadecimal digits: to make a key, (umask 077 && openssl rand -hex 32 \
                 >NEW_FILE)"
            ))),
        }
    }
}

fn bad_key(reason: String) -> Error {
    invalid(SEAL_KEY, reason)
}

/// The chunks of a file that are still to come.
struct Chunks {
    key: SealKey,
    header: [u8; HEADER],
    next: u32,
}

impl Chunks {
    /// Returns the nonce of the next one.
    fn nonce(&mut self, is_last: bool) -> io::Result<[u8; 12]> {
        let mut nonce = [0; 12];
        let (prefix, place) = nonce.split_at_mut(PREFIX);
        prefix.copy_from_slice(&self.header[MAGIC.len()..]);
        place[..4].copy_from_slice(&self.next.to_be_bytes());
        place[4] = u8::from(is_last);
        let next = self.next.checked_add(1);
        self.next = next.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        Ok(nonce)
    }
}

/// Seals the bytes that are written to it. It is complete only once it was [finished](Sealer::finish).
pub(super) struct Sealer<W> {
    to: W,
    chunks: Chunks,
    buffer: Zeroizing<Vec<u8>>,
}

impl<W: Write> Sealer<W> {
    pub(super) fn new(key: SealKey, mut to: W) -> io::Result<Sealer<W>> {
        let mut header = [0; HEADER];
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        let failed = |_| io::Error::other("the system's source of randomness failed");
        SystemRandom::new().fill(&mut header[MAGIC.len()..]).map_err(failed)?;
        to.write_all(&header)?;
        let buffer = Zeroizing::new(Vec::with_capacity(CHUNK));
        Ok(Sealer { to, chunks: Chunks { key, header, next: 0 }, buffer })
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.seal(true)?;
        self.to.flush()
    }

    fn seal(&mut self, is_last: bool) -> io::Result<()> {
        let nonce = Nonce::from(self.chunks.nonce(is_last)?);
        let Chunks { key, header, .. } = &self.chunks;
        let sealed =
            key.0.encrypt_inout_detached(&nonce, header, self.buffer.as_mut_slice().into());
        let tag = sealed.map_err(|_| io::Error::other("a chunk cannot be sealed"))?;
        self.to.write_all(&self.buffer)?;
        self.buffer.clear();
        self.to.write_all(&tag)
    }
}

impl<W: Write> Write for Sealer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full chunk waits for further bytes, because it may be the last one.
        if self.buffer.len() == CHUNK && !bytes.is_empty() {
            self.seal(false)?;
        }
        let count = bytes.len().min(CHUNK - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the contents of a file, which is sealed if there is a key, and plain otherwise.
///
/// # Errors
/// [`Error::InvalidArgument`] if it is otherwise, was sealed with another key, or cannot be read.
pub(super) fn opened(mut from: Input, key: Option<SealKey>) -> Result<Input> {
    let failed = |error: io::Error| invalid("FILE", format!("cannot be read: {error}"));
    let mut start = Vec::new();
    from.by_ref().take(MAGIC.len() as u64).read_to_end(&mut start).map_err(failed)?;
    match (start == MAGIC, key) {
        (false, None) => Ok(Box::new(Cursor::new(start).chain(from))),
        (true, Some(key)) => Ok(Box::new(Opener::new(key, from).map_err(failed)?)),
        (true, None) => Err(bad_key("is required: the file is sealed".to_owned())),
        (false, Some(_)) => {
            let reason = "is not sealed, so it may come from anybody. Without --seal-key-file, it is read all \
                          the same";
            Err(invalid("FILE", reason.to_owned()))
        }
    }
}

struct Opener {
    from: Input,
    chunks: Chunks,
    /// The bytes that were read beyond the chunk that is open.
    ahead: Vec<u8>,
    open: Zeroizing<Vec<u8>>,
    /// The number of bytes of it that were taken.
    taken: usize,
    is_last: bool,
}

impl Opener {
    /// Opens the first chunk too, which shows whether the key is the right one.
    fn new(key: SealKey, mut from: Input) -> io::Result<Opener> {
        let mut header = [0; HEADER];
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        from.read_exact(&mut header[MAGIC.len()..]).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other("it is cut off"),
            _ => error,
        })?;
        let chunks = Chunks { key, header, next: 0 };
        let (ahead, open) = (Vec::new(), Zeroizing::new(Vec::new()));
        let mut opener = Opener { from, chunks, ahead, open, taken: 0, is_last: false };
        opener.open()?;
        Ok(opener)
    }

    fn open(&mut self) -> io::Result<()> {
        const SEALED: usize = CHUNK + TAG;
        let mut chunk = Zeroizing::new(std::mem::take(&mut self.ahead));
        // A byte more shows that another chunk follows.
        let wanted = (SEALED + 1 - chunk.len()) as u64;
        self.from.by_ref().take(wanted).read_to_end(&mut chunk)?;
        self.is_last = chunk.len() <= SEALED;
        if !self.is_last {
            self.ahead = chunk.split_off(SEALED);
        }
        let place = u64::from(self.chunks.next) * SEALED as u64;
        let nonce = Nonce::from(self.chunks.nonce(self.is_last)?);
        let Chunks { key, header, .. } = &self.chunks;
        let opened = chunk.split_last_chunk_mut::<TAG>().and_then(|(text, tag)| {
            let (length, tag) = (text.len(), Tag::from(*tag));
            key.0.decrypt_inout_detached(&nonce, header, text.into(), &tag).ok()?;
            Some(length)
        });
        let not_sealed = || io::Error::new(io::ErrorKind::InvalidData, not_sealed(place));
        chunk.truncate(opened.ok_or_else(not_sealed)?);
        (self.open, self.taken) = (chunk, 0);
        Ok(())
    }
}

/// Returns the reason why a file cannot be opened from an offset on.
fn not_sealed(place: u64) -> String {
    if place == 0 {
        return "it was sealed with another key, or was changed since".to_owned();
    }
    format!(
        "after {place} bytes, it is not what was sealed: it was cut off, changed or added to. What comes before \
         is, and stays imported. Fetch the file again, and run the same command"
    )
}

impl Read for Opener {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.open.len() && !self.is_last {
            self.open()?;
        }
        let rest = self.open.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}

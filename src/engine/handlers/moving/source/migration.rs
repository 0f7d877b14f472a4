//! The `otpauth-migration:` URIs of Google Authenticator: a message of Protocol Buffers in Base64.

use crate::otp::Algorithm;
use crate::wire::form;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use zeroize::Zeroizing;

/// The most characters of a URI. A QR code has at most 4296.
const LONGEST: usize = 16 * 1024;
const WRONG: &str = "is not what Google Authenticator exports: copy the whole text of the QR code";
/// The fields of the message, and of each account in it.
const ACCOUNT: u64 = 1;
const SECRET: u64 = 1;
const NAME: u64 = 2;
const ISSUER: u64 = 3;
const ALGORITHM: u64 = 4;
const DIGITS: u64 = 5;
const KIND: u64 = 6;

/// An account of the export. Codes change every 30 seconds.
pub(super) struct Entry {
    pub(super) secret: Zeroizing<Vec<u8>>,
    pub(super) name: String,
    pub(super) issuer: String,
    pub(super) algorithm: Option<Algorithm>,
    pub(super) digits: Option<u64>,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Unknown,
    Counter,
    Time,
}

/// Returns the accounts in a URI.
pub(super) fn read(uri: &str) -> Result<Vec<Entry>, &'static str> {
    if uri.len() > LONGEST {
        return Err(WRONG);
    }
    let data = uri.split_once('?').and_then(|(_, query)| form::read(query).ok());
    let data = data.as_ref().and_then(|params| params.get("data")?.as_str());
    // A plus that was not escaped is read as a space.
    let data = Zeroizing::new(data.ok_or(WRONG)?.replace(' ', "+"));
    let bytes = STANDARD_NO_PAD.decode(data.trim_end_matches('=')).map_err(|_| WRONG)?;
    accounts(&Zeroizing::new(bytes)).ok_or(WRONG)
}

fn accounts(bytes: &[u8]) -> Option<Vec<Entry>> {
    let (mut message, mut entries) = (Message(bytes), Vec::new());
    while let Some((field, value)) = message.next()? {
        if let (ACCOUNT, Field::Bytes(bytes)) = (field, value) {
            entries.push(account(bytes)?);
        }
    }
    (!entries.is_empty()).then_some(entries)
}

fn account(bytes: &[u8]) -> Option<Entry> {
    let mut entry = Entry {
        secret: Zeroizing::default(),
        name: String::new(),
        issuer: String::new(),
        algorithm: Some(Algorithm::Sha1),
        digits: Some(6),
        kind: Kind::Unknown,
    };
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
    let mut message = Message(bytes);
    while let Some((field, value)) = message.next()? {
        match (field, value) {
            (SECRET, Field::Bytes(bytes)) => entry.secret = bytes.to_vec().into(),
            (NAME, Field::Bytes(bytes)) => entry.name = text(bytes)?,
            (ISSUER, Field::Bytes(bytes)) => entry.issuer = text(bytes)?,
            (ALGORITHM, Field::Number(number)) => {
                entry.algorithm = match number {
                    0 | 1 => Some(Algorithm::Sha1),
                    2 => Some(Algorithm::Sha256),
                    3 => Some(Algorithm::Sha512),
                    _ => None,
                }
            }
            (DIGITS, Field::Number(number)) => {
                entry.digits = match number {
                    0 | 1 => Some(6),
                    2 => Some(8),
                    _ => None,
                }
            }
            (KIND, Field::Number(number)) => {
                entry.kind = match number {
                    1 => Kind::Counter,
                    2 => Kind::Time,
                    _ => Kind::Unknown,
                }
            }
            _ => {}
        }
    }
    Some(entry)
}

/// The rest of a message.
struct Message<'a>(&'a [u8]);

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A number of a fixed length, which no field that is read has.
    Other,
}

impl<'a> Message<'a> {
    /// Reads the next field with its number; `Some(None)` at the end, and `None` if it is malformed.
    fn next(&mut self) -> Option<Option<(u64, Field<'a>)>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let key = self.number()?;
        let value = match key & 7 {
            0 => Field::Number(self.number()?),
            1 => self.bytes(8).map(|_| Field::Other)?,
            2 => {
                let length = self.number()?;
                Field::Bytes(self.bytes(length)?)
            }
            5 => self.bytes(4).map(|_| Field::Other)?,
            _ => return None,
        };
        (key >> 3 > 0).then_some(Some((key >> 3, value)))
    }

    /// Reads a number of 64 bits, 7 in each byte, the lowest first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            // The last of ten bytes has one bit.
            if shift == 63 && *byte > 1 {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }
}

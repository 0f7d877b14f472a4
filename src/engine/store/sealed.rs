//! Values of sealed columns: decisions see the plain value, and stores see only the ciphertext from
//! `sealing.rs`.

use super::secret::Secret;
use super::table::{Cell, Kind, Value};
use crate::{Error, Result};
use serde::Serialize;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// A secret in a row. It is wiped from memory when it is dropped.
#[derive(Clone)]
pub(in crate::engine) struct Sealed<T: Plain> {
    /// The plain value, or an error if it was damaged, which only decisions that need it get.
    plain: Result<Zeroizing<T>>,
    stored: Option<Arc<[u8]>>,
}

/// Types that a secret can have.
pub(in crate::engine) trait Plain: Zeroize + Clone + PartialEq {
    fn bytes(&self) -> &[u8];
    fn of(bytes: &[u8]) -> Option<Self>;
}

impl Plain for String {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    fn of(bytes: &[u8]) -> Option<String> {
        std::str::from_utf8(bytes).ok().map(str::to_owned)
    }
}

impl Plain for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn of(bytes: &[u8]) -> Option<Vec<u8>> {
        Some(bytes.to_vec())
    }
}

impl<const N: usize> Plain for [u8; N] {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn of(bytes: &[u8]) -> Option<[u8; N]> {
        bytes.try_into().ok()
    }
}

impl<T: Plain> Sealed<T> {
    /// # Errors
    /// [`Error::Storage`] if the value is damaged, or the keyring lacks its key.
    pub(in crate::engine) fn get(&self) -> Result<&T> {
        match &self.plain {
            Ok(plain) => Ok(plain),
            Err(error) => Err(error.clone()),
        }
    }
}

impl Sealed<String> {
    /// Returns a value as JSON that leaves no other copy in memory: a string that grows would leave
    /// some.
    pub(in crate::engine) fn json(of: &impl Serialize) -> Result<Sealed<String>> {
        let failed = || Error::Internal { message: "a value cannot be written as JSON".into() };
        let mut length = Length(0);
        serde_json::to_writer(&mut length, of).map_err(|_| failed())?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(length.0));
        serde_json::to_writer(&mut *bytes, of).map_err(|_| failed())?;
        // JSON is UTF-8.
        let text = String::from_utf8(std::mem::take(&mut *bytes)).map_err(|_| failed())?;
        Ok(text.into())
    }
}

/// Counts the written bytes.
struct Length(usize);

impl std::io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<T: Plain> From<Zeroizing<T>> for Sealed<T> {
    fn from(plain: Zeroizing<T>) -> Sealed<T> {
        Sealed { plain: Ok(plain), stored: None }
    }
}

impl<T: Plain> From<T> for Sealed<T> {
    fn from(plain: T) -> Sealed<T> {
        Zeroizing::new(plain).into()
    }
}

impl From<&str> for Sealed<String> {
    fn from(plain: &str) -> Sealed<String> {
        plain.to_owned().into()
    }
}

/// Two that cannot be read are the same if the store has the same of them.
impl<T: Plain> PartialEq for Sealed<T> {
    fn eq(&self, other: &Sealed<T>) -> bool {
        match (&self.plain, &other.plain) {
            (Ok(plain), Ok(other)) => **plain == **other,
            (Err(_), Err(_)) => self.stored == other.stored,
            _ => false,
        }
    }
}

impl<T: Plain> Cell for Sealed<T> {
    /// The kind of the sealed value.
    const KIND: Kind = Kind::Blob;
    const SEALED: bool = true;

    fn value(&self) -> Value {
        let plain = self.plain.as_ref().map(|plain| Zeroizing::new(plain.bytes().to_vec()));
        Value::Secret(Secret { plain: plain.map_err(Clone::clone), stored: self.stored.clone() })
    }

    fn of(value: Value) -> Option<Sealed<T>> {
        let Value::Secret(Secret { plain, stored }) = value else { return None };
        let plain = match plain {
            Ok(plain) => Ok(Zeroizing::new(T::of(&plain)?)),
            Err(error) => Err(error),
        };
        Some(Sealed { plain, stored })
    }
}

/// Returns the error of a store that is given a secret: only sealed values may reach it.
pub(super) fn not_sealed() -> Error {
    Error::Internal { message: "a secret has not been sealed".into() }
}

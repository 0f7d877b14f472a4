//! Sealed values as another program would read them: by the description of their format, with another
//! implementation of AES-GCM.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use std::path::{Path, PathBuf};

/// A value of the key of a row.
pub(crate) enum Of<'a> {
    Int(i64),
    Text(&'a str),
}

/// The keyring beside a database.
pub(crate) fn ring_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".keys");
    name.into()
}

/// The ids and bytes of the keys of a ring; the current one first.
fn keys(ring: &Path) -> Vec<([u8; 8], Vec<u8>)> {
    let text = std::fs::read_to_string(ring).unwrap();
    let mut lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split(' ').collect())
        .filter(|l: &Vec<_>| l[0] == "key")
        .collect();
    lines.sort_by_key(|parts| parts.get(4) != Some(&"current"));
    let id = |text: &str| u64::from_str_radix(text, 16).unwrap().to_be_bytes();
    lines.iter().map(|parts| (id(parts[1]), STANDARD.decode(parts[3]).unwrap())).collect()
}

fn place(table: &str, column: &str, key: &[Of]) -> Vec<u8> {
    let mut place = Vec::new();
    let mut add = |kind: char, bytes: &[u8]| {
        place.push(kind as u8);
        place.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        place.extend_from_slice(bytes);
    };
    add('n', table.as_bytes());
    add('n', column.as_bytes());
    for value in key {
        match value {
            Of::Int(number) => add('i', &number.to_be_bytes()),
            Of::Text(text) => add('t', text.as_bytes()),
        }
    }
    place
}

fn cipher(key: &[u8]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).unwrap())
}

/// What was sealed with a key of the ring, for this column of the row with this key.
pub(crate) fn open(
    ring: &Path,
    (table, column): (&str, &str),
    key: &[Of],
    sealed: &[u8],
) -> Vec<u8> {
    let (id, rest) = sealed.split_at(8);
    let (nonce, rest) = rest.split_at(12);
    let keys = keys(ring);
    let (_, bytes) = keys.iter().find(|(known, _)| known == id).unwrap();
    let nonce = Nonce::try_assume_unique_for_key(nonce).unwrap();
    let mut value = rest.to_vec();
    let aad = Aad::from(place(table, column, key));
    cipher(bytes).open_in_place(nonce, aad, &mut value).unwrap().to_vec()
}

/// Seals a value as the library does. The nonce is not random: for tests only.
pub(crate) fn seal(
    ring: &Path,
    (table, column): (&str, &str),
    key: &[Of],
    plain: &[u8],
) -> Vec<u8> {
    let (id, bytes) = keys(ring).remove(0);
    let mut value = plain.to_vec();
    let aad = Aad::from(place(table, column, key));
    let nonce = [7; 12];
    cipher(&bytes)
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut value)
        .unwrap();
    [&id[..], &nonce, &value].concat()
}

//! The text of a keyring file. Its first line is `seconder-keyring 1`; each further one is a key:
//!
//! ```text
//! key ID CREATED KEY [current]
//! ```
//!
//! `ID` is 16 hexadecimal digits that follow from the key, `CREATED` is in seconds since the Unix
//! epoch, and `KEY` is 32 bytes in Base64. One line ends in `current`: new values are sealed with that
//! key. Lines that are empty or begin with `#` are ignored.

use super::Keys;
use super::key::{Key, KeyId};
use crate::Error;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;
use zeroize::Zeroizing;

/// The largest file that is read, and the most keys in one.
pub(super) const LARGEST: usize = 64 * 1024;
pub(super) const MOST: usize = 100;

const HEADER: &str = "seconder-keyring 1";
const COMMENT: &str = "# These keys open the secrets in a database of Seconder. Back them up apart \
                       from the database.";
/// The maximum length of a line: more than the longest line of a key.
const LINE: usize = 128;

/// The problem with a text, without any of the text.
pub(super) enum Problem {
    /// The first line names another version.
    Version,
    /// The number of a line that cannot be understood.
    At(usize),
    /// The ring has no current key, or more than one.
    Current,
    /// A key could not be kept in memory.
    Failed(Error),
}

pub(super) fn parse(text: &str) -> Result<Keys, Problem> {
    let mut lines = (1..).zip(text.lines());
    match lines.next() {
        Some((_, HEADER)) => {}
        Some((_, other)) if other.starts_with("seconder-keyring ") => return Err(Problem::Version),
        _ => return Err(Problem::At(1)),
    }
    let mut keys: Vec<Key> = Vec::new();
    let mut current = None;
    for (number, text) in lines {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let line = line(text).ok_or(Problem::At(number))?;
        if keys.len() == MOST || keys.iter().any(|other| other.id == line.id) {
            return Err(Problem::At(number));
        }
        let key = Key::new(&line.bytes, line.created_at).map_err(Problem::Failed)?;
        if key.id != line.id {
            return Err(Problem::At(number));
        }
        if line.is_current && current.replace(keys.len()).is_some() {
            return Err(Problem::Current);
        }
        keys.push(key);
    }
    // A file that was cut off in the middle of a line could end in a key that looks whole.
    if !text.ends_with('\n') {
        return Err(Problem::At(text.lines().count()));
    }
    let current = current.ok_or(Problem::Current)?;
    Ok(Keys { keys, current })
}

/// A key as its line has it.
struct KeyLine {
    id: KeyId,
    created_at: u64,
    /// Boxed, because a move would leave a copy behind.
    bytes: Box<Zeroizing<[u8; 32]>>,
    is_current: bool,
}

fn line(text: &str) -> Option<KeyLine> {
    let parts: Vec<&str> = text.split_ascii_whitespace().collect();
    let (id, created, encoded, is_current) = match parts[..] {
        ["key", id, created, encoded] => (id, created, encoded, false),
        ["key", id, created, encoded, "current"] => (id, created, encoded, true),
        _ => return None,
    };
    let mut decoded = Zeroizing::new([0; 36]);
    let length = STANDARD.decode_slice(encoded, &mut *decoded).ok()?;
    let mut bytes = Box::new(Zeroizing::new([0; 32]));
    bytes.copy_from_slice(decoded.get(..length).filter(|bytes| bytes.len() == 32)?);
    Some(KeyLine { id: id.parse().ok()?, created_at: created.parse().ok()?, bytes, is_current })
}

pub(super) fn format(keys: &Keys) -> Zeroizing<String> {
    // Long enough, so that it is not moved while it grows, which would leave copies behind.
    let length = HEADER.len() + COMMENT.len() + 2 + LINE * keys.keys.len();
    let mut text = Zeroizing::new(String::with_capacity(length));
    text.push_str(HEADER);
    text.push('\n');
    text.push_str(COMMENT);
    text.push('\n');
    for (place, key) in keys.keys.iter().enumerate() {
        let mut encoded = Zeroizing::new([0; 44]);
        // Both have the length that is needed.
        let _ = STANDARD.encode_slice(key.bytes(), &mut *encoded);
        let encoded = std::str::from_utf8(&*encoded).unwrap_or_default();
        let end = if place == keys.current { " current" } else { "" };
        // Writing to a text does not fail.
        let _ = writeln!(text, "key {} {} {encoded}{end}", key.id, key.created_at);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Keys {
        let key = |byte, at| Key::new(&[byte; 32], at).unwrap();
        Keys { keys: vec![key(1, 1_700_000_000), key(2, 1_800_000_000)], current: 1 }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = format(&two());
        let read = parse(&text).ok().unwrap();
        assert_eq!(read.current, 1);
        let of = |keys: &Keys| -> Vec<_> {
            keys.keys.iter().map(|key| (key.id, key.created_at, key.bytes().to_vec())).collect()
        };
        assert_eq!(of(&read), of(&two()));
        assert!(text.lines().all(|line| line.len() < LINE));
        let commented = text.replace('\n', "\n\n# remark\n");
        assert_eq!(of(&parse(&commented).ok().unwrap()), of(&two()));
    }

    #[test]
    fn a_damaged_text_is_no_keyring() {
        let text = format(&two()).to_string();
        for end in 0..text.len() {
            assert!(parse(&text[..end]).is_err(), "{end}");
        }
        let lines: Vec<&str> = text.lines().collect();
        let without = |place: usize| {
            let kept = lines.iter().enumerate().filter(|(other, _)| *other != place);
            kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
        };
        assert!(matches!(parse(&without(0)), Err(Problem::At(1))));
        assert!(matches!(parse(&without(3)), Err(Problem::Current)));
        let twice = format!("{text}{}\n", lines[2]);
        assert!(matches!(parse(&twice), Err(Problem::At(5))));
        let both = text.replace("=\nkey", "= current\nkey");
        assert!(matches!(parse(&both), Err(Problem::Current)));
        let newer = text.replacen("keyring 1", "keyring 2", 1);
        assert!(matches!(parse(&newer), Err(Problem::Version)));
        // One digit of a key was changed, so its id is another.
        let (before, after) = text.split_once("AQEB").unwrap();
        assert!(matches!(parse(&format!("{before}AQEA{after}")), Err(Problem::At(3))));
        for line in ["key", "key 0 0 0", "password", "key 0000000000000000 0 AAAA"] {
            assert!(matches!(parse(&format!("{text}{line}\n")), Err(Problem::At(5))), "{line}");
        }
    }
}

//! Secrets of authenticator apps as other programs write them: Base32 of RFC 4648, section 6.

use zeroize::Zeroizing;

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Without padding.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for group in bytes.chunks(5) {
        let mut padded = [0; 5];
        padded[..group.len()].copy_from_slice(group);
        let bits = padded.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        let count = (group.len() * 8).div_ceil(5);
        let letters = (0..count).map(|place| ALPHABET[(bits >> (35 - 5 * place) & 31) as usize]);
        text.extend(letters.map(char::from));
    }
    text
}

/// Spaces and dashes between letters, padding and small letters are accepted.
pub(super) fn decode(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() * 5 / 8));
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.trim_end_matches('=').bytes().filter(|letter| !b" -".contains(letter)) {
        let letter = letter.to_ascii_uppercase();
        let value = ALPHABET.iter().position(|known| *known == letter)?;
        bits = (bits << 5 | value as u32) & 0xfff;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    // A letter that adds no byte, or bits that belong to none, were not written by an encoder.
    (count < 5 && bits & ((1 << count) - 1) == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_4648_section_10() {
        let vectors = [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ];
        for (plain, text) in vectors {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(*decode(text).unwrap(), plain.as_bytes());
        }
        assert_eq!(*decode("mzxw 6ytb-OI======").unwrap(), b"foobar");
        for bad in ["M", "MZ1", "MZ!", "MZXW6YTBO", "MÄ"] {
            assert!(decode(bad).is_none(), "{bad}");
        }
    }
}

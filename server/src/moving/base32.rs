//! Secrets of authenticator apps as other programs write them: Base32 of RFC 4648, section 6.

use base32::Alphabet;
use zeroize::Zeroizing;

const ALPHABET: Alphabet = Alphabet::Rfc4648 { padding: false };

/// Without padding.
pub(super) fn encode(bytes: &[u8]) -> String {
    base32::encode(ALPHABET, bytes)
}

/// Spaces and dashes between letters, padding and small letters are accepted.
pub(super) fn decode(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let letters = text.trim_end_matches('=').chars().filter(|letter| !" -".contains(*letter));
    let letters: Zeroizing<String> =
        Zeroizing::new(letters.map(|c| c.to_ascii_uppercase()).collect());
    let bytes = Zeroizing::new(base32::decode(ALPHABET, &letters)?);
    // A letter that adds no byte, or bits that belong to none, were not written by an encoder.
    (*Zeroizing::new(encode(&bytes)) == *letters).then_some(bytes)
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

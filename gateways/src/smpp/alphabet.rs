//! Encodes a text for an SMSC, and cuts it into parts that phones join.

/// The encoding of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// The alphabet of GSM if it has every character, otherwise UCS-2.
    Auto,
    /// Latin-1 if it has every character, otherwise UCS-2.
    Latin1,
    /// UCS-2.
    Ucs2,
}

/// An encoded text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Encoded {
    /// The `data_coding` of the protocol.
    pub(super) coding: u8,
    /// The text, or its parts if it does not fit into one message.
    pub(super) parts: Vec<Vec<u8>>,
}

/// The alphabet of GSM 03.38, by the value of each character, with the page that ESC leads to.
const GSM: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u{1b}ÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?\
    ¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
const EXTENDED: [(char, u8); 10] = [
    ('\u{c}', 0x0a),
    ('^', 0x14),
    ('{', 0x28),
    ('}', 0x29),
    ('\\', 0x2f),
    ('[', 0x3c),
    ('~', 0x3d),
    (']', 0x3e),
    ('|', 0x40),
    ('€', 0x65),
];
const ESC: u8 = 0x1b;

/// The units that fit into a message: alone, and as one of several, whose header takes the rest. In GSM's alphabet
/// these are characters of 7 bits, and each takes a byte on the way to the SMSC.
const GSM_LIMITS: (usize, usize) = (160, 153);
const BYTE_LIMITS: (usize, usize) = (140, 134);

pub(super) fn encode(text: &str, encoding: Encoding) -> Encoded {
    let (coding, units, limits) = match encoding {
        Encoding::Auto => match units(text, gsm) {
            Some(units) => (0x00, units, GSM_LIMITS),
            None => (0x08, units_of_ucs2(text), BYTE_LIMITS),
        },
        Encoding::Latin1 => match units(text, latin1) {
            Some(units) => (0x03, units, BYTE_LIMITS),
            None => (0x08, units_of_ucs2(text), BYTE_LIMITS),
        },
        Encoding::Ucs2 => (0x08, units_of_ucs2(text), BYTE_LIMITS),
    };
    Encoded { coding, parts: cut(&units, limits) }
}

/// Returns the bytes of each character, if the alphabet has all of them.
fn units(text: &str, of: impl Fn(char) -> Option<Vec<u8>>) -> Option<Vec<Vec<u8>>> {
    text.chars().map(of).collect()
}

fn gsm(character: char) -> Option<Vec<u8>> {
    // ESC itself is no character.
    let basic = GSM.chars().zip(0u8..).find(|(known, _)| *known == character && *known != '\u{1b}');
    if let Some((_, value)) = basic {
        return Some(vec![value]);
    }
    let extended = EXTENDED.iter().find(|(known, _)| *known == character);
    extended.map(|(_, value)| vec![ESC, *value])
}

fn latin1(character: char) -> Option<Vec<u8>> {
    u8::try_from(character).ok().map(|value| vec![value])
}

/// Returns the units of UCS-2. The characters beyond it are pairs of UTF-16, which phones understand.
fn units_of_ucs2(text: &str) -> Vec<Vec<u8>> {
    let bytes = |character: char| {
        let mut units = [0; 2];
        character.encode_utf16(&mut units).iter().flat_map(|unit| unit.to_be_bytes()).collect()
    };
    text.chars().map(bytes).collect()
}

/// Cuts a text into parts. No part ends within a character, because each would be shown wrongly alone.
fn cut(units: &[Vec<u8>], (alone, part): (usize, usize)) -> Vec<Vec<u8>> {
    if units.iter().map(Vec::len).sum::<usize>() <= alone {
        return vec![units.concat()];
    }
    let mut parts = vec![Vec::new()];
    for unit in units {
        let full = parts.last().is_none_or(|last: &Vec<u8>| last.len() + unit.len() > part);
        if full {
            parts.push(Vec::new());
        }
        if let Some(last) = parts.last_mut() {
            last.extend_from_slice(unit);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(text: &str) -> Encoded {
        encode(text, Encoding::Auto)
    }

    #[test]
    fn the_alphabet_of_gsm_has_its_128_values() {
        assert_eq!(GSM.chars().count(), 128);
        // Values that tables often have wrong.
        for (character, value) in
            [('@', 0x00), ('Ç', 0x09), ('Δ', 0x10), ('_', 0x11), ('Ξ', 0x1a), ('É', 0x1f)]
        {
            assert_eq!(auto(&character.to_string()).parts, [[value]], "{character}");
        }
        for (character, value) in
            [(' ', 0x20), ('¤', 0x24), ('¡', 0x40), ('§', 0x5f), ('¿', 0x60), ('à', 0x7f)]
        {
            assert_eq!(auto(&character.to_string()).parts, [[value]], "{character}");
        }
        for letter in ('0'..='9').chain('A'..='Z').chain('a'..='z') {
            assert_eq!(auto(&letter.to_string()).parts, [[letter as u8]], "{letter}");
        }
        assert_eq!(auto("€").parts, [[0x1b, 0x65]]);
        assert_eq!(auto("[").parts, [[0x1b, 0x3c]]);
    }

    #[test]
    fn a_character_that_gsm_lacks_makes_the_text_ucs2() {
        assert_eq!(auto("code: 123").coding, 0);
        for text in ["ç", "Привет", "مرحبا", "`", "\u{1b}", "\t"] {
            let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            assert_eq!(auto(text), Encoded { coding: 8, parts: vec![utf16] }, "{text:?}");
        }
        assert_eq!(auto("🔑").parts, [[0xd8, 0x3d, 0xdd, 0x11]]);
    }

    #[test]
    fn latin1_falls_back_to_ucs2_too() {
        let latin1 = encode("ça va", Encoding::Latin1);
        assert_eq!((latin1.coding, latin1.parts), (3, vec![b"\xe7a va".to_vec()]));
        assert_eq!(encode("€", Encoding::Latin1).coding, 8);
        assert_eq!(encode("a", Encoding::Ucs2).parts, [[0, b'a']]);
    }

    #[test]
    fn texts_are_cut_where_the_network_cuts_them() {
        let lengths = |text: &str| auto(text).parts.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(""), [0]);
        assert_eq!(lengths(&"a".repeat(160)), [160]);
        assert_eq!(lengths(&"a".repeat(161)), [153, 8]);
        assert_eq!(lengths(&"a".repeat(307)), [153, 153, 1]);
        assert_eq!(lengths(&"Ж".repeat(70)), [140]);
        assert_eq!(lengths(&"Ж".repeat(71)), [134, 8]);
    }

    #[test]
    fn no_part_ends_within_a_character() {
        // The 153rd septet would be the escape, the 67th unit the first half of a pair.
        let gsm = auto(&format!("{}€{}", "a".repeat(152), "b".repeat(10)));
        assert_eq!(gsm.parts.iter().map(Vec::len).collect::<Vec<_>>(), [152, 12]);
        assert_eq!(gsm.parts[1][..2], [0x1b, 0x65]);
        let pairs = auto(&format!("{}🔑{}", "Ж".repeat(66), "Ж".repeat(10)));
        assert_eq!(pairs.parts.iter().map(Vec::len).collect::<Vec<_>>(), [132, 24]);
        for text in ["€".repeat(200), "🔑".repeat(200)] {
            let parts = auto(&text).parts;
            assert!(parts.len() > 1);
            assert_eq!(parts.concat(), units(&text, gsm_or_ucs2(&text)).unwrap().concat());
        }
    }

    fn gsm_or_ucs2(text: &str) -> impl Fn(char) -> Option<Vec<u8>> {
        let all = units(text, gsm).is_some();
        move |character| match all {
            true => gsm(character),
            false => Some(units_of_ucs2(&character.to_string()).concat()),
        }
    }
}

//! Delivery receipts: reports of an SMSC about a message that it has accepted.

use super::pdu::Delivered;
use crate::receipt::{Delivery, Receipt};

/// The format of a message's id in the receipts of an SMSC. Some write one number in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// The same format as in its responses.
    Same,
    /// Decimal, but hexadecimal in its responses.
    Decimal,
    /// Hexadecimal, but decimal in its responses.
    Hexadecimal,
}

impl Ids {
    /// Returns the id of a response, in the spelling that receipts are compared with.
    pub(super) fn of_response(self, id: &str) -> String {
        match self {
            Ids::Same => id.to_owned(),
            Ids::Decimal => rewritten(id, 16, |number| format!("{number:x}")),
            Ids::Hexadecimal => rewritten(id, 10, |number| number.to_string()),
        }
    }

    /// Returns the id of a receipt, in the spelling of the response.
    fn of_receipt(self, id: &str) -> String {
        match self {
            Ids::Same => id.to_owned(),
            Ids::Decimal => rewritten(id, 10, |number| format!("{number:x}")),
            Ids::Hexadecimal => rewritten(id, 16, |number| number.to_string()),
        }
    }
}

fn rewritten(id: &str, radix: u32, write: impl Fn(u128) -> String) -> String {
    u128::from_str_radix(id, radix).map_or_else(|_| id.to_owned(), write)
}

/// The longest id, as the protocol limits it.
const LONGEST_ID: usize = 64;

/// Reads a receipt; `None` if it is another message. Its id is empty if it has no id.
pub(super) fn read(delivered: &Delivered<'_>, ids: Ids) -> Option<Receipt> {
    const KIND: u8 = 0b0011_1100;
    const RECEIPT: u8 = 0b0000_0100;
    const INTERMEDIATE: u8 = 0b0010_0000;
    let kind = delivered.esm_class & KIND;
    if kind != RECEIPT && kind != INTERMEDIATE && delivered.receipted_id.is_none() {
        return None;
    }
    let text = text(delivered.text);
    let in_parameter = delivered.receipted_id.and_then(|id| std::str::from_utf8(id).ok());
    let id = in_parameter.and_then(plain).or_else(|| plain(field(&text, "id")?));
    let named = delivered.state.and_then(name).or_else(|| field(&text, "stat"));
    let state = match state(named.unwrap_or_default()) {
        // Another attempt to deliver it follows.
        Delivery::Failed(_) if kind == INTERMEDIATE => Delivery::Pending,
        Delivery::Failed(why) => Delivery::Failed(match error(delivered, &text) {
            Some(code) => format!("{why}, error {code}"),
            None => why,
        }),
        state => state,
    };
    Some(Receipt { id: id.map(|id| ids.of_receipt(id)).unwrap_or_default(), state })
}

fn plain(id: &str) -> Option<&str> {
    let id = id.trim();
    let is_plain = (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    is_plain.then_some(id)
}

/// Returns the text of a delivery. All encodings write the characters that receipts begin with alike, except UCS-2,
/// which has a zero with each of them. `data_coding` is of no use, because many SMSCs copy it from the message.
fn text(bytes: &[u8]) -> String {
    let ucs2 = |of: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| of([pair[0], pair[1]]));
        let decoded = char::decode_utf16(units.skip_while(|unit| *unit == 0xfeff));
        decoded.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0, _, ..] | [0xfe, 0xff, ..] => ucs2(u16::from_be_bytes),
        [_, 0, ..] | [0xff, 0xfe, ..] => ucs2(u16::from_le_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Returns the meaning of a word for a state. The protocol's words have seven letters, and vendors have longer ones and
/// some of their own.
fn state(word: &str) -> Delivery {
    /// Beginnings of the words for a message that will not arrive.
    const FAILED: [&str; 7] =
        ["UNDELIV", "REJECT", "EXPIRED", "DELETED", "FAIL", "SKIPPED", "CANCEL"];
    let word = word.to_ascii_uppercase();
    match word.as_str() {
        "DELIVRD" | "DELIVERED" => Delivery::Delivered,
        failed if FAILED.iter().any(|begin| failed.starts_with(begin)) => {
            // Digits could belong to the message.
            let shown = |c: &char| c.is_ascii_uppercase() || "_-".contains(*c);
            Delivery::Failed(word.chars().filter(shown).take(20).collect())
        }
        // Among them ACCEPTD and UNKNOWN, after which SMSCs report more.
        _ => Delivery::Pending,
    }
}

/// Returns the word for a state; `None` if it is not a state of the protocol.
fn name(state: u8) -> Option<&'static str> {
    Some(match state {
        0 | 1 => "ENROUTE",
        2 => "DELIVRD",
        3 => "EXPIRED",
        4 => "DELETED",
        5 => "UNDELIV",
        6 => "ACCEPTD",
        7 => "UNKNOWN",
        8 => "REJECTD",
        9 => "SKIPPED",
        _ => return None,
    })
}

/// Returns the code of an error, if there is one other than "none".
fn error(delivered: &Delivered<'_>, text: &str) -> Option<String> {
    let is_code = |code: &&str| {
        code.len() <= 8
            && code.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && code.bytes().any(|byte| byte != b'0')
    };
    let in_parameter = || delivered.error.filter(|code| *code != 0).map(|code| code.to_string());
    field(text, "err").filter(is_code).map(str::to_owned).or_else(in_parameter)
}

/// Returns the value of a field, such as `id:` in `id:7 sub:001 dlvrd:001 submit date:2611230801 … stat:DELIVRD err:000
/// text:…` (SMPP 3.4, appendix B). Some write a space before it. The text after `text:` belongs to the message, and is
/// no field.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let is_name = |found: &str, name: &str| found.eq_ignore_ascii_case(name);
    let mut words = text.split_ascii_whitespace();
    while let Some(word) = words.next() {
        match word.split_once(':') {
            Some((found, _)) if is_name(found, "text") => return None,
            Some((found, "")) if is_name(found, name) => {
                return words.next().filter(|value| !value.contains(':'));
            }
            Some((found, value)) if is_name(found, name) => return Some(value),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "id:0123abcd sub:001 dlvrd:001 submit date:2611230801 done date:2611230802 \
                        stat:DELIVRD err:000 text:Your code is id:9 stat:UNDELIV";

    fn of_bytes(text: &[u8]) -> Option<Receipt> {
        let delivered = Delivered { esm_class: 4, text, ..Delivered::default() };
        read(&delivered, Ids::Same)
    }

    fn receipt(text: &str) -> Receipt {
        of_bytes(text.as_bytes()).unwrap()
    }

    fn state(text: &str) -> Delivery {
        receipt(text).state
    }

    fn failed(why: &str) -> Delivery {
        Delivery::Failed(why.to_owned())
    }

    #[test]
    fn a_receipt_is_read_from_its_text() {
        let read = receipt(TEXT);
        assert_eq!((read.id.as_str(), &read.state), ("0123abcd", &Delivery::Delivered));
        assert_eq!(state("ID:7 STAT:undeliv ERR:069"), failed("UNDELIV, error 069"));
        assert_eq!(state("id:7 stat:EXPIRED err:000"), failed("EXPIRED"));
        assert_eq!(state("id:7 stat:ACCEPTD"), Delivery::Pending);
        assert_eq!(state("id:7"), Delivery::Pending);
        let spaced = receipt("id: 7 sub: 001 stat: REJECTD err: 5 text: stat:DELIVRD");
        assert_eq!((spaced.id.as_str(), spaced.state), ("7", failed("REJECTD, error 5")));
    }

    #[test]
    fn words_of_vendors_are_understood() {
        for word in ["UNDELIVERABLE", "REJECTED", "FAILED", "Failed", "undelivered", "SKIPPED"] {
            assert_eq!(state(&format!("id:7 stat:{word}")), failed(&word.to_ascii_uppercase()));
        }
        assert_eq!(state("id:7 stat:delivered"), Delivery::Delivered);
        for word in ["ENROUTE", "UNKNOWN", "DELIVERY_PENDING", "BUFFERED"] {
            assert_eq!(state(&format!("id:7 stat:{word}")), Delivery::Pending);
        }
    }

    #[test]
    fn a_text_in_ucs2_is_read() {
        for (mark, bytes) in [
            ("", u16::to_be_bytes as fn(u16) -> [u8; 2]),
            ("\u{feff}", u16::to_be_bytes),
            ("", u16::to_le_bytes),
        ] {
            let text: Vec<u8> =
                format!("{mark}{TEXT} Код").encode_utf16().flat_map(bytes).collect();
            assert_eq!(of_bytes(&text), Some(receipt(TEXT)));
        }
    }

    #[test]
    fn parameters_come_before_the_text() {
        let delivered = Delivered {
            esm_class: 0,
            text: TEXT.as_bytes(),
            receipted_id: Some(b"77"),
            state: Some(5),
            error: Some(69),
        };
        let found = read(&delivered, Ids::Same).unwrap();
        assert_eq!((found.id.as_str(), found.state), ("77", failed("UNDELIV, error 69")));
        // A value that is no state and no id of the protocol means nothing.
        let odd = Delivered { state: Some(200), receipted_id: Some(b""), ..delivered };
        let found = read(&odd, Ids::Same).unwrap();
        assert_eq!((found.id.as_str(), found.state), ("0123abcd", Delivery::Delivered));
    }

    #[test]
    fn an_intermediate_report_does_not_fail() {
        let delivered =
            Delivered { esm_class: 0x20, text: b"id:7 stat:UNDELIV", ..Delivered::default() };
        let found = read(&delivered, Ids::Same).unwrap();
        assert_eq!((found.id.as_str(), found.state), ("7", Delivery::Pending));
    }

    #[test]
    fn a_receipt_without_a_usable_id_has_none() {
        for text in ["", "stat:DELIVRD", "id: stat:DELIVRD", "text:id:7", "id:\u{fffd}", "id:"] {
            assert_eq!(receipt(text).id, "", "{text}");
        }
        assert_eq!(receipt(&format!("id:{}", "7".repeat(65))).id, "");
        let answer = Delivered { text: TEXT.as_bytes(), ..Delivered::default() };
        assert_eq!(read(&answer, Ids::Same), None);
    }

    #[test]
    fn ids_that_are_written_in_two_ways_are_one() {
        for (ids, response, written) in [
            (Ids::Decimal, "00FF10", "65296"),
            (Ids::Hexadecimal, "065296", "FF10"),
            (Ids::Same, "ab-7", "ab-7"),
            (Ids::Decimal, "not a number", "not a number"),
        ] {
            assert_eq!(ids.of_response(response), ids.of_receipt(written), "{ids:?}");
        }
    }
}

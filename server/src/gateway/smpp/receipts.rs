//! Delivery receipts: what an SMSC delivers about a message that it has accepted.

use super::pdu::Delivered;
use crate::gateway::receipt::{Delivery, Receipt};

/// How an SMSC writes the id of a message in its receipts. Some write one number in two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ids {
    /// As in its responses.
    Same,
    /// In decimal, but in hexadecimal in its responses.
    Decimal,
    /// In hexadecimal, but in decimal in its responses.
    Hexadecimal,
}

impl Ids {
    /// The id of a response, in the spelling that receipts are compared with.
    pub(super) fn of_response(self, id: &str) -> String {
        match self {
            Ids::Same => id.to_owned(),
            Ids::Decimal => rewritten(id, 16, |number| format!("{number:x}")),
            Ids::Hexadecimal => rewritten(id, 10, |number| number.to_string()),
        }
    }

    /// The id of a receipt, in the spelling of the response.
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

/// Reads a receipt; none if it is another message, or has no id.
pub(super) fn read(delivered: &Delivered<'_>, ids: Ids) -> Option<Receipt> {
    const KIND: u8 = 0b0011_1100;
    const RECEIPT: u8 = 0b0000_0100;
    const INTERMEDIATE: u8 = 0b0010_0000;
    let kind = delivered.esm_class & KIND;
    if kind != RECEIPT && kind != INTERMEDIATE && delivered.receipted_id.is_none() {
        return None;
    }
    let text = String::from_utf8_lossy(delivered.text);
    let id = match delivered.receipted_id {
        Some(id) => std::str::from_utf8(id).ok()?.trim(),
        None => field(&text, "id")?,
    };
    let plain = id.bytes().all(|byte| byte.is_ascii_graphic());
    if !plain || id.is_empty() || id.len() > LONGEST_ID {
        return None;
    }
    let named = delivered.state.map(name).or_else(|| field(&text, "stat"));
    let state = match named.map(str::to_ascii_uppercase).as_deref() {
        Some("DELIVRD" | "DELIVERED") => Delivery::Delivered,
        Some(failed @ ("EXPIRED" | "DELETED" | "UNDELIV" | "REJECTD")) => {
            let code = field(&text, "err").filter(|code| is_code(code));
            Delivery::Failed(match code {
                Some(code) => format!("{failed}, error {code}"),
                None => failed.to_owned(),
            })
        }
        // Among them ACCEPTD and UNKNOWN, after which SMSCs report more.
        _ => Delivery::Pending,
    };
    Some(Receipt { id: ids.of_receipt(id), state })
}

/// The name of a state in the texts of receipts.
fn name(state: u8) -> &'static str {
    match state {
        2 => "DELIVRD",
        3 => "EXPIRED",
        4 => "DELETED",
        5 => "UNDELIV",
        8 => "REJECTD",
        _ => "ENROUTE",
    }
}

/// Whether this is an error code other than "none".
fn is_code(code: &str) -> bool {
    code.len() <= 8
        && code.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && code.bytes().any(|byte| byte != b'0')
}

/// The value of `id:` in `id:7 sub:001 dlvrd:001 submit date:2611230801 … stat:DELIVRD err:000 text:…`.
/// What follows `text:` is of the message, and is no field.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let end = text.to_ascii_lowercase().find("text:").unwrap_or(text.len());
    let mut words = text.get(..end)?.split_ascii_whitespace();
    words.find_map(|word| {
        let (found, value) = word.split_once(':')?;
        (found.eq_ignore_ascii_case(name) && !value.is_empty()).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "id:0123abcd sub:001 dlvrd:001 submit date:2611230801 done date:2611230802 \
                        stat:DELIVRD err:000 text:Your code is id:9 stat:UNDELIV";

    fn receipt(text: &str) -> Option<Receipt> {
        let delivered = Delivered { esm_class: 4, text: text.as_bytes(), ..Delivered::default() };
        read(&delivered, Ids::Same)
    }

    fn state(text: &str) -> Delivery {
        receipt(text).unwrap().state
    }

    #[test]
    fn a_receipt_is_read_from_its_text() {
        let read = receipt(TEXT).unwrap();
        assert_eq!((read.id.as_str(), &read.state), ("0123abcd", &Delivery::Delivered));
        assert_eq!(
            state("ID:7 STAT:undeliv ERR:069"),
            Delivery::Failed("UNDELIV, error 069".to_owned())
        );
        assert_eq!(state("id:7 stat:EXPIRED err:000"), Delivery::Failed("EXPIRED".to_owned()));
        assert_eq!(state("id:7 stat:ACCEPTD"), Delivery::Pending);
        assert_eq!(state("id:7"), Delivery::Pending);
    }

    #[test]
    fn parameters_come_before_the_text() {
        let delivered = Delivered {
            esm_class: 0,
            text: TEXT.as_bytes(),
            receipted_id: Some(b"77"),
            state: Some(5),
        };
        let read = read(&delivered, Ids::Same).unwrap();
        assert_eq!((read.id.as_str(), read.state), ("77", Delivery::Failed("UNDELIV".to_owned())));
    }

    #[test]
    fn what_has_no_usable_id_is_no_receipt() {
        for text in ["", "stat:DELIVRD", "id: stat:DELIVRD", "text:id:7", "id:\u{fffd}"] {
            assert_eq!(receipt(text), None, "{text}");
        }
        assert_eq!(receipt(&format!("id:{}", "7".repeat(65))), None);
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

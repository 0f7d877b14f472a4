//! The fuzz target of receipts, in a file of its own because the library's tests do not depend on the program.
//! `server/tests/fuzz_corpus.rs` runs it on the stored corpus.

#![allow(clippy::unwrap_used, reason = "a target reports failures by panicking")]

use seconder_gateways::{Delivery, receipt_in};

/// The name of a target's corpus, and the target.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 1] = [("receipt", receipt)];

const DELIVER_SM: u32 = 0x05;
const DATA_SM: u32 = 0x103;
/// The states of the protocol, with words of vendors, and whether a message has arrived then, or will not.
const STATES: [(u8, &str, Option<bool>); 12] = [
    (1, "ENROUTE", None),
    (2, "DELIVRD", Some(true)),
    (2, "delivered", Some(true)),
    (3, "EXPIRED", Some(false)),
    (4, "DELETED", Some(false)),
    (5, "UNDELIV", Some(false)),
    (5, "UNDELIVERABLE", Some(false)),
    (5, "FAILED", Some(false)),
    (6, "ACCEPTD", None),
    (7, "UNKNOWN", None),
    (8, "REJECTD", Some(false)),
    (8, "Rejected", Some(false)),
];

/// The id of a receipt occurs in what was received, and a receipt says the same however it is written,
/// whatever the message that it repeats.
pub fn receipt(data: &[u8]) {
    for command in [DELIVER_SM, DATA_SM] {
        if let Some(receipt) = receipt_in(command, data) {
            let id = receipt.id.as_bytes();
            assert!(id.len() <= 64 && id.iter().all(u8::is_ascii_graphic));
            // UCS-2 has a zero with each of its characters.
            let received: Vec<u8> = data.iter().copied().filter(|byte| *byte != 0).collect();
            assert!(id.is_empty() || received.windows(id.len()).any(|part| part == id));
        }
    }
    let [layout, state, rest @ ..] = data else { return };
    let (id, message) =
        rest.split_at(rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len()));
    let id: String =
        id.iter().filter(|byte| byte.is_ascii_graphic()).map(|byte| char::from(*byte)).collect();
    if id.is_empty() || id.len() > 64 {
        return;
    }
    let (number, word, arrived) = STATES[usize::from(*state) % STATES.len()];
    let (command, body) = written(*layout, &id, (number, word), message);
    let receipt = receipt_in(command, &body).unwrap();
    assert_eq!(receipt.id, id);
    let found = match receipt.state {
        Delivery::Delivered => Some(true),
        Delivery::Failed(_) => Some(false),
        _ => None,
    };
    assert_eq!(found, arrived, "{word}");
}

/// A receipt as the bits of a layout have it.
fn written(layout: u8, id: &str, (number, word): (u8, &str), message: &[u8]) -> (u32, Vec<u8>) {
    let is = |bit: u8| layout & (1 << bit) != 0;
    let (is_data, in_parameters, is_ucs2, has_header, is_payload) =
        (is(0), is(1), is(2), is(3), is(4));
    let space = if is(5) && !id.contains(':') { " " } else { "" };
    let message = String::from_utf8_lossy(message);
    let fields = format!(
        "id:{space}{id} sub:001 dlvrd:001 submit date:2611230801 done date:2611230802 stat:{space}{word}"
    );
    let fields =
        if is(6) { fields.replace("id:", "ID:").replace("stat:", "Stat:") } else { fields };
    let text = match in_parameters {
        true => message.into_owned(),
        false => format!("{fields} err:000 text:{message}"),
    };
    let mut bytes: Vec<u8> = match is_ucs2 {
        true => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        false => text.into_bytes(),
    };
    if has_header {
        bytes.splice(0..0, [5, 0, 3, 1, 1, 1]);
    }
    let class = if has_header { 0x44 } else { 0x04 };
    let mut body = b"\0\x01\x0115550100123\0\x05\0Example\0".to_vec();
    let in_payload = is_data || is_payload || bytes.len() > 254;
    match is_data {
        // The class, the receipts that are asked for, and the encoding, which some copy from the message.
        true => body.extend([class, 0, 8]),
        false => {
            body.extend([class, 0, 0, 0, 0, 0, 0, 8, 0]);
            match in_payload {
                true => body.push(0),
                false => {
                    body.push(u8::try_from(bytes.len()).unwrap());
                    body.extend(&bytes);
                }
            }
        }
    }
    let mut parameter = |tag: u16, value: &[u8]| {
        body.extend(tag.to_be_bytes());
        body.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        body.extend(value);
    };
    if in_payload {
        parameter(0x0424, &bytes);
    }
    if in_parameters {
        parameter(0x001e, format!("{id}\0").as_bytes());
        parameter(0x0427, &[number]);
    }
    (if is_data { DATA_SM } else { DELIVER_SM }, body)
}

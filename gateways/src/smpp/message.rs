//! The messages of the protocol that a text becomes.

use super::alphabet::{Encoded, encode};
use super::pdu::{Body, tag};
use super::settings::{Config, Multipart, is_sender};
use crate::Outgoing;
use seconder::calls::Channel;

/// The flag of a part of a message whose text has a header with the number of the text, of the parts and of the part.
const HAS_HEADER: u8 = 0x40;
const HEADER: [u8; 3] = [0x05, 0x00, 0x03];

/// Returns the bodies of the messages to submit, one after the other.
///
/// # Errors
/// The reason why no attempt can succeed.
pub(super) fn bodies(config: &Config, message: &Outgoing<'_>) -> Result<Vec<Vec<u8>>, String> {
    if message.channel != Channel::Sms {
        return Err("SMPP carries text messages only".to_owned());
    }
    let digits = message.to.strip_prefix('+').unwrap_or_default();
    if !(5..=15).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("the recipient is not a number in E.164".to_owned());
    }
    let from = if message.from.is_empty() { &config.from } else { message.from };
    if !is_sender(from) {
        return Err("the sender of the route does not fit into an address of SMPP".to_owned());
    }
    let Encoded { coding, parts } = encode(message.text, config.encoding);
    if parts.len() > config.parts {
        let (needed, most) = (parts.len(), config.parts);
        return Err(format!("the text needs {needed} messages, and `parts` allows {most}"));
    }
    let submit = Submission { config, message, from, digits, coding };
    if parts.len() > 1 && config.multipart == Multipart::Payload {
        return Ok(vec![submit.body(&parts.concat(), None)]);
    }
    let total = u8::try_from(parts.len()).unwrap_or(u8::MAX);
    let part = |(number, text): (u8, &Vec<u8>)| {
        submit.body(text, (total > 1).then_some(Part { number, total }))
    };
    Ok((1..).zip(&parts).map(part).collect())
}

struct Submission<'a> {
    config: &'a Config,
    message: &'a Outgoing<'a>,
    from: &'a str,
    digits: &'a str,
    coding: u8,
}

#[derive(Clone, Copy)]
struct Part {
    number: u8,
    total: u8,
}

impl Submission<'_> {
    fn body(&self, text: &[u8], part: Option<Part>) -> Vec<u8> {
        let config = self.config;
        let reference = reference(self.message.id);
        let header = part.filter(|_| config.multipart == Multipart::Udh);
        let esm_class = if header.is_some() { HAS_HEADER } else { 0 };
        let header =
            header.map(|part| [&HEADER[..], &[reference[1], part.total, part.number]].concat());
        let short = [header.unwrap_or_default(), text.to_vec()].concat();
        let (ton, npi, from) = self.source();
        let (dest_ton, dest_npi) = config.destination;
        let body = Body::default()
            .text(&config.service_type)
            .bytes(&[ton, npi])
            .text(from)
            .bytes(&[dest_ton, dest_npi])
            .text(self.digits)
            .bytes(&[esm_class, 0, 0])
            .text("")
            .text(&config.validity.map(period).unwrap_or_default())
            .bytes(&[u8::from(config.receipts), 0, self.coding, 0]);
        let payload = part.is_none() && short.len() > 160;
        let mut body = match u8::try_from(short.len()) {
            Ok(length) if !payload => body.bytes(&[length]).bytes(&short),
            _ => body.bytes(&[0]).tagged(tag::MESSAGE_PAYLOAD, &short),
        };
        if config.reference {
            body = body.tagged(tag::USER_MESSAGE_REFERENCE, &reference);
        }
        if let Some(Part { number, total }) = part.filter(|_| config.multipart == Multipart::Sar) {
            body = body
                .tagged(tag::SAR_MSG_REF_NUM, &reference)
                .tagged(tag::SAR_TOTAL_SEGMENTS, &[total])
                .tagged(tag::SAR_SEGMENT_SEQNUM, &[number]);
        }
        body.0
    }

    /// Returns the type of number, the numbering plan and the address of the sender.
    fn source(&self) -> (u8, u8, &str) {
        const SHORTEST_NUMBER: usize = 7;
        let digits = self.from.strip_prefix('+').unwrap_or(self.from);
        let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let (ton, npi) = match (number, digits.len() >= SHORTEST_NUMBER) {
            _ if self.from.is_empty() => (0, 0),
            // International, of the network, and alphanumeric.
            (true, true) => (1, 1),
            (true, false) => (3, 0),
            (false, _) => (5, 0),
        };
        let (set_ton, set_npi) = self.config.source;
        let address = if number { digits } else { self.from };
        (set_ton.unwrap_or(ton), set_npi.unwrap_or(npi), address)
    }
}

/// Returns a number for the parts of a text. It is the same in each attempt, so that the parts of a repeated message
/// replace the ones that have arrived already.
fn reference(id: &str) -> [u8; 2] {
    let hash = id
        .bytes()
        .fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let bytes = hash.to_be_bytes();
    [bytes[0] ^ bytes[2], bytes[1] ^ bytes[3]]
}

/// Returns a time from now on, as the protocol writes it: `000000001000000R` for ten minutes.
fn period(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    format!("0000{days:02}{hours:02}{:02}{:02}000R", seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Urls;
    use serde_json::{Value, json};

    fn config(settings: Value) -> Config {
        let mut all = json!({"host": "h", "system_id": "s"});
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        Config::read(all.as_object().unwrap(), &Default::default()).unwrap()
    }

    fn message<'a>(from: &'a str, text: &'a str) -> Outgoing<'a> {
        let (id, to) = ("00112233445566aa", "+15550100123");
        let (code, channel, urls) = ("48151", Channel::Sms, Urls::default());
        Outgoing { id, to, text, language: "en", code, from, channel, urls }
    }

    fn made(settings: Value, from: &str, text: &str) -> Vec<Vec<u8>> {
        bodies(&config(settings), &message(from, text)).unwrap()
    }

    fn has(body: &[u8], part: &[u8]) -> bool {
        body.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn the_kind_of_sender_is_seen_from_its_characters() {
        for (from, expected) in [
            ("+15550100999", &b"\0\x01\x0115550100999\0\x01\x0115550100123\0"[..]),
            ("40404", b"\0\x03\x0040404\0"),
            ("Example", b"\0\x05\x00Example\0"),
            ("", b"\0\0\0\0\x01\x01"),
        ] {
            let body = &made(json!({}), from, "hello")[0];
            assert!(body.starts_with(expected), "{from}: {body:?}");
        }
        let fixed = json!({"source_ton": 2, "source_npi": 8, "from": "40404"});
        assert!(made(fixed, "", "hello")[0].starts_with(b"\0\x02\x0840404\0"));
    }

    #[test]
    fn parts_have_one_reference_and_each_asks_for_a_receipt() {
        let text = "a".repeat(400);
        let parts = made(json!({"validity": 600}), "", &text);
        assert_eq!(parts.len(), 3);
        for (number, part) in (1..).zip(&parts) {
            let header = [5, 0, 3, reference("00112233445566aa")[1], 3, number];
            assert!(has(part, &header), "{part:?}");
            let middle = b"\x00000000001000000R\0\x01\0\0\0";
            assert!(has(part, middle), "{part:?}");
        }
        assert_eq!(made(json!({}), "", &text), made(json!({}), "", &text));
        let sar = made(json!({"multipart": "sar"}), "", &text);
        assert!(has(&sar[1], &[0x02, 0x0e, 0, 1, 3, 0x02, 0x0f, 0, 1, 2]));
        let payload = made(json!({"multipart": "payload"}), "", &text);
        assert!(payload.len() == 1 && has(&payload[0], &[0x04, 0x24, 0x01, 0x90, b'a']));
    }

    #[test]
    fn what_cannot_be_sent_says_why() {
        let why =
            |message: Outgoing<'_>| bodies(&config(json!({"parts": 1})), &message).err().unwrap();
        assert_eq!(
            why(message("", &"a".repeat(161))),
            "the text needs 2 messages, and `parts` allows 1"
        );
        assert!(why(message("Example Company", "x")).contains("sender"));
        for to in ["15550100123", "ada@example.com", "+1555\0", "+", "+1234567890123456"] {
            assert!(why(Outgoing { to, ..message("", "x") }).contains("E.164"), "{to}");
        }
        let call = Outgoing { channel: Channel::Call, ..message("", "x") };
        assert_eq!(why(call), "SMPP carries text messages only");
    }

    #[test]
    fn periods_are_relative() {
        assert_eq!(period(600), "000000001000000R");
        assert_eq!(period(172_800), "000002000000000R");
        assert_eq!(period(3_661), "000000010101000R");
    }
}

//! The messages of SMPP 3.4 that a client sends and reads.
//!
//! The crate `rusmpp` has all messages of version 5, but ends a connection at the first deviation from
//! the text of the standard, which real SMSCs have many of, and shows passwords in `Debug`.

/// The bit of a command that marks a response.
const RESPONSE: u32 = 0x8000_0000;
pub(super) const GENERIC_NACK: u32 = RESPONSE;
pub(super) const BIND_TRANSMITTER: u32 = 0x02;
pub(super) const SUBMIT_SM: u32 = 0x04;
pub(super) const DELIVER_SM: u32 = 0x05;
pub(super) const UNBIND: u32 = 0x06;
pub(super) const BIND_TRANSCEIVER: u32 = 0x09;
pub(super) const ENQUIRE_LINK: u32 = 0x15;
pub(super) const ALERT_NOTIFICATION: u32 = 0x102;
pub(super) const DATA_SM: u32 = 0x103;

/// Parameters with a tag.
pub(super) mod tag {
    pub(crate) const RECEIPTED_MESSAGE_ID: u16 = 0x001e;
    pub(crate) const USER_MESSAGE_REFERENCE: u16 = 0x0204;
    pub(crate) const SAR_MSG_REF_NUM: u16 = 0x020c;
    pub(crate) const SAR_TOTAL_SEGMENTS: u16 = 0x020e;
    pub(crate) const SAR_SEGMENT_SEQNUM: u16 = 0x020f;
    pub(crate) const NETWORK_ERROR_CODE: u16 = 0x0423;
    pub(crate) const MESSAGE_PAYLOAD: u16 = 0x0424;
    pub(crate) const MESSAGE_STATE: u16 = 0x0427;
}

/// The length, the command, the status and the number of a message.
const HEADER: usize = 16;
/// The longest message. A peer that sends a longer one is not an SMSC.
const LONGEST: usize = 0x1_0000;

/// A message of either side.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pdu {
    pub(super) command: u32,
    pub(super) status: u32,
    pub(super) sequence: u32,
    pub(super) body: Vec<u8>,
}

/// The error that the received bytes are not SMPP.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Pdu {
    pub(super) fn request(command: u32, sequence: u32, body: Vec<u8>) -> Pdu {
        Pdu { command, status: 0, sequence, body }
    }

    /// Returns the response to this message.
    pub(super) fn response(&self, status: u32, body: Vec<u8>) -> Pdu {
        Pdu { command: self.command | RESPONSE, status, sequence: self.sequence, body }
    }

    /// Says that this message is not understood.
    pub(super) fn rejected(&self, status: u32) -> Pdu {
        Pdu { command: GENERIC_NACK, status, sequence: self.sequence, body: Vec::new() }
    }

    pub(super) fn is_response(&self) -> bool {
        self.command & RESPONSE != 0
    }

    pub(super) fn responds_to(&self, command: u32) -> bool {
        self.command == command | RESPONSE
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(HEADER + self.body.len()).unwrap_or(u32::MAX);
        let header = [length, self.command, self.status, self.sequence];
        let mut bytes: Vec<u8> = header.iter().flat_map(|field| field.to_be_bytes()).collect();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Takes the first message from the received bytes, if all of it is there.
    pub(super) fn take(received: &mut Vec<u8>) -> Result<Option<Pdu>, Malformed> {
        let field = |index: usize| {
            let bytes = received.get(index * 4..index * 4 + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        let Some(length) = field(0).and_then(|length| usize::try_from(length).ok()) else {
            return Ok(None);
        };
        if !(HEADER..=LONGEST).contains(&length) {
            return Err(Malformed);
        }
        if received.len() < length {
            return Ok(None);
        }
        let (Some(command), Some(status), Some(sequence)) = (field(1), field(2), field(3)) else {
            return Ok(None);
        };
        let body = received[HEADER..length].to_vec();
        received.drain(..length);
        Ok(Some(Pdu { command, status, sequence, body }))
    }
}

/// Writes the body of a message.
#[derive(Default)]
pub(super) struct Body(pub(super) Vec<u8>);

impl Body {
    /// Appends a text that a zero byte ends, so one within it is left out.
    pub(super) fn text(mut self, text: &str) -> Body {
        self.0.extend(text.bytes().filter(|byte| *byte != 0));
        self.0.push(0);
        self
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Body {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn tagged(mut self, tag: u16, value: &[u8]) -> Body {
        self.0.extend(tag.to_be_bytes());
        self.0.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        self.0.extend_from_slice(value);
        self
    }
}

/// Reads the body of a message.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        self.take(1).map(|byte| byte[0])
    }

    /// Reads a text up to its zero byte, or to the end of the message, because some leave the byte out.
    pub(super) fn text(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = &self.0[..end.unwrap_or(self.0.len())];
        self.0 = &self.0[end.map_or(self.0.len(), |end| end + 1)..];
        text
    }

    /// Reads the next parameter with a tag. The bytes after a truncated one are ignored.
    pub(super) fn tagged(&mut self) -> Option<(u16, &'a [u8])> {
        let number = |bytes: &[u8]| u16::from_be_bytes([bytes[0], bytes[1]]);
        let tag = self.take(2).ok().map(number)?;
        let length = self.take(2).ok().map(number)?;
        Some((tag, self.take(usize::from(length)).ok()?))
    }
}

/// A delivery of an SMSC: a receipt, or a message from a phone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Delivered<'a> {
    pub(super) esm_class: u8,
    pub(super) text: &'a [u8],
    pub(super) receipted_id: Option<&'a [u8]>,
    pub(super) state: Option<u8>,
    /// The error of the network, without the kind of network.
    pub(super) error: Option<u16>,
}

impl Delivered<'_> {
    /// Reads the body of a `deliver_sm` or a `data_sm`.
    pub(super) fn read(command: u32, body: &[u8]) -> Result<Delivered<'_>, Malformed> {
        /// The flag of a text with a header, which has its length in the first byte.
        const HAS_HEADER: u8 = 0x40;
        let mut fields = Fields(body);
        fields.text();
        for _ in ["source", "destination"] {
            fields.take(2)?;
            fields.text();
        }
        let esm_class = fields.byte()?;
        let mut read = Delivered { esm_class, ..Delivered::default() };
        // The encoding is of no interest: see `receipts::text`.
        fields.take(2)?;
        if command == DELIVER_SM {
            fields.text();
            fields.text();
            fields.take(4)?;
            let length = fields.byte()?;
            read.text = fields.take(usize::from(length))?;
        }
        while let Some((tag, value)) = fields.tagged() {
            match tag {
                tag::RECEIPTED_MESSAGE_ID => read.receipted_id = Some(Fields(value).text()),
                tag::MESSAGE_STATE => read.state = value.first().copied(),
                tag::NETWORK_ERROR_CODE => {
                    read.error = value.get(1..3).map(|code| u16::from_be_bytes([code[0], code[1]]));
                }
                tag::MESSAGE_PAYLOAD if read.text.is_empty() => read.text = value,
                _ => {}
            }
        }
        if esm_class & HAS_HEADER != 0 {
            let mut fields = Fields(read.text);
            if let Ok(length) = fields.byte()
                && fields.take(usize::from(length)).is_ok()
            {
                read.text = fields.0;
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered() -> Vec<u8> {
        Body::default()
            .text("")
            .bytes(&[1, 1])
            .text("15550100123")
            .bytes(&[5, 0])
            .text("Example")
            .bytes(&[4, 0, 0])
            .text("")
            .text("")
            .bytes(&[0, 0, 0, 0, 5])
            .bytes(b"id:7 ")
            .tagged(0x1400, b"of a vendor")
            .tagged(tag::RECEIPTED_MESSAGE_ID, b"7\0")
            .tagged(tag::MESSAGE_STATE, &[2])
            .0
    }

    #[test]
    fn messages_are_read_as_they_were_written_however_they_arrive() {
        let first = Pdu::request(SUBMIT_SM, 7, b"abc".to_vec());
        let second = first.response(0x0b, Vec::new());
        let bytes = [first.bytes(), second.bytes()].concat();
        let (mut received, mut taken) = (Vec::new(), Vec::new());
        for byte in bytes {
            received.push(byte);
            taken.extend(Pdu::take(&mut received).unwrap());
        }
        assert!(taken == [first, second] && received.is_empty());
        assert!(taken[1].responds_to(SUBMIT_SM) && taken[1].is_response());
    }

    #[test]
    fn a_length_that_no_message_has_is_an_error() {
        for length in [0u32, 15, 0x1_0001, u32::MAX] {
            assert_eq!(Pdu::take(&mut length.to_be_bytes().to_vec()).err(), Some(Malformed));
        }
        assert!(Pdu::take(&mut vec![0, 0, 0]).unwrap().is_none());
    }

    #[test]
    fn a_delivery_is_read_and_unknown_parameters_are_skipped() {
        let body = delivered();
        let read = Delivered::read(DELIVER_SM, &body).unwrap();
        let (receipted_id, state, error) = (Some(&b"7"[..]), Some(2), None);
        let expected = Delivered { esm_class: 4, text: b"id:7 ", receipted_id, state, error };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_receipt_may_arrive_as_data() {
        let body = Body::default().text("").bytes(&[1, 1]).text("15550100123").bytes(&[5, 0]);
        let body = body.text("Example").bytes(&[0x44, 0, 0]);
        let body = body.tagged(tag::MESSAGE_PAYLOAD, b"\x05\0\x03\x01\x01\x01id:7 ");
        let body = body.tagged(tag::NETWORK_ERROR_CODE, &[3, 0, 69]);
        let read = Delivered::read(DATA_SM, &body.0).unwrap();
        assert_eq!((read.esm_class, read.text, read.error), (0x44, &b"id:7 "[..], Some(69)));
    }

    #[test]
    fn whatever_arrives_is_read_or_refused() {
        let body = delivered();
        for end in 0..body.len() {
            let _ = Delivered::read(DELIVER_SM, &body[..end]);
            let _ = Delivered::read(DATA_SM, &body[..end]);
        }
        for place in 0..body.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = body.clone();
                changed[place] = value;
                let _ = Delivered::read(DELIVER_SM, &changed);
            }
        }
        assert_eq!(Delivered::read(DELIVER_SM, &body[..20]).err(), Some(Malformed));
    }
}

//! DNS messages: questions to a name server, and its answers (RFC 1035). Only what addresses need is
//! parsed, which is little code that everyone who logs in loads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest chain of aliases that is followed, as in name servers.
const CHAIN: usize = 16;
/// The longest name, as it is sent.
const LONGEST: usize = 255;
/// The class of the Internet.
const IN: u16 = 1;
/// The type of a record that gives the name that another one is an alias for.
const CNAME: u16 = 5;

// Bits of the header's second field.
const RESPONSE: u16 = 1 << 15;
const OPCODE: u16 = 0b1111 << 11;
const AUTHORITATIVE: u16 = 1 << 10;
const TRUNCATED: u16 = 1 << 9;
const RECURSION_DESIRED: u16 = 1 << 8;
const RECURSION_AVAILABLE: u16 = 1 << 7;
const RCODE: u16 = 0b1111;
const NO_ERROR: u16 = 0;
const NAME_ERROR: u16 = 3;

/// A question for the addresses of one kind of a name.
pub(super) struct Question<'a> {
    pub(super) id: u16,
    pub(super) name: &'a str,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    V6,
    V4,
}

/// A name server's reply to a question.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DnsReply {
    /// The addresses; empty if there is no such name, or no address of this kind.
    Addresses(Vec<IpAddr>),
    /// The answer does not fit a datagram: query again over TCP.
    Truncated,
    /// The server returned an error or knows nothing about the name.
    Failed,
}

/// A name as it is sent: each label follows its length. Case does not matter in names, so it is in
/// lower case.
type Name = Vec<u8>;

/// A record of the class of the Internet.
struct Record {
    name: Name,
    data: Data,
}

enum Data {
    Address(IpAddr),
    Alias(Name),
    Other,
}

/// A message that is read from its beginning. Every method returns `None` if the message is malformed.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Question<'_> {
    /// Serialises the question, or returns `None` if the name is too long.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let header = [self.id, RECURSION_DESIRED, 1, 0, 0, 0];
        let mut bytes: Vec<u8> = header.into_iter().flat_map(u16::to_be_bytes).collect();
        bytes.extend(wire_name(self.name)?);
        bytes.extend([self.kind.number(), IN].into_iter().flat_map(u16::to_be_bytes));
        Some(bytes)
    }

    /// Parses a reply. Returns `None` if it is not an answer to this question: someone else may
    /// then have sent it, and the real answer may still arrive.
    pub(super) fn read(&self, bytes: &[u8]) -> Option<DnsReply> {
        let mut reader = Reader { bytes, at: 0 };
        let (id, flags) = (reader.number()?, reader.number()?);
        let (questions, answers) = (reader.number()?, reader.number()?);
        let (_authorities, _additional) = (reader.number()?, reader.number()?);
        let ours = id == self.id && flags & (RESPONSE | OPCODE) == RESPONSE && questions == 1;
        let name = if ours { reader.name()? } else { return None };
        let same = name == wire_name(self.name)?.to_ascii_lowercase();
        if !same || (reader.number()?, reader.number()?) != (self.kind.number(), IN) {
            return None;
        }
        if flags & TRUNCATED != 0 {
            return Some(DnsReply::Truncated);
        }
        let records = (0..answers).map(|_| reader.record()).collect::<Option<Vec<Record>>>()?;
        // An empty answer means nothing if the name server is neither authoritative for the name nor
        // queries others.
        let helpful = !records.is_empty() || flags & (RECURSION_AVAILABLE | AUTHORITATIVE) != 0;
        Some(match flags & RCODE {
            NO_ERROR if helpful => DnsReply::Addresses(self.follow(&records, &name)),
            NAME_ERROR => DnsReply::Addresses(Vec::new()),
            _ => DnsReply::Failed,
        })
    }

    /// Returns the addresses of the name, or of the name that it is an alias for. Records of other
    /// names are ignored.
    fn follow(&self, records: &[Record], name: &Name) -> Vec<IpAddr> {
        let mut name = name;
        for _ in 0..CHAIN {
            let of = records.iter().filter(|record| record.name == *name);
            let addresses: Vec<IpAddr> =
                of.clone().filter_map(|record| self.kind.address(&record.data)).collect();
            let other = of.clone().find_map(|record| match &record.data {
                Data::Alias(other) => Some(other),
                _ => None,
            });
            match other {
                Some(other) if addresses.is_empty() => name = other,
                _ => return addresses,
            }
        }
        Vec::new()
    }
}

impl Kind {
    /// Returns the type of a record of this kind.
    fn number(self) -> u16 {
        match self {
            Kind::V4 => 1,
            Kind::V6 => 28,
        }
    }

    fn address(self, data: &Data) -> Option<IpAddr> {
        match data {
            Data::Address(address) => Some(*address).filter(|a| a.is_ipv4() == (self == Kind::V4)),
            _ => None,
        }
    }
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..)?.get(..length)?;
        self.at += length;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
    }

    /// Reads a name. It may end with a pointer to an earlier name.
    fn name(&mut self) -> Option<Name> {
        let mut name = Name::new();
        let mut end = None;
        // Pointers lead to ever earlier places, so that they do not lead in a circle.
        let mut before = self.at;
        loop {
            let length = *self.take(1)?.first()?;
            match length >> 6 {
                0 => {
                    name.push(length);
                    name.extend(self.take(length.into())?.to_ascii_lowercase());
                    if name.len() > LONGEST {
                        return None;
                    }
                    if length == 0 {
                        self.at = end.unwrap_or(self.at);
                        return Some(name);
                    }
                }
                0b11 => {
                    let low = *self.take(1)?.first()?;
                    end.get_or_insert(self.at);
                    self.at = usize::from(u16::from_be_bytes([length & 0b11_1111, low]));
                    if self.at >= before {
                        return None;
                    }
                    before = self.at;
                }
                _ => return None,
            }
        }
    }

    fn record(&mut self) -> Option<Record> {
        let name = self.name()?;
        let (kind, class) = (self.number()?, self.number()?);
        let _time_to_live = self.take(4)?;
        let length = self.number()?;
        let end = self.at + usize::from(length);
        let data = match (class, kind) {
            (IN, CNAME) => Data::Alias(self.name()?),
            (IN, kind) if kind == Kind::V4.number() => {
                Data::Address(Ipv4Addr::from(*self.take(4)?.first_chunk()?).into())
            }
            (IN, kind) if kind == Kind::V6.number() => {
                Data::Address(Ipv6Addr::from(*self.take(16)?.first_chunk::<16>()?).into())
            }
            _ => {
                self.take(length.into())?;
                Data::Other
            }
        };
        (self.at == end).then_some(Record { name, data })
    }
}

/// Returns a name as it is sent, or `None` if it or one of its labels is too long or empty.
fn wire_name(name: &str) -> Option<Name> {
    let mut bytes = Name::new();
    for label in name.split('.') {
        let length = u8::try_from(label.len()).ok().filter(|length| (1..=63).contains(length))?;
        bytes.push(length);
        bytes.extend(label.as_bytes());
    }
    bytes.push(0);
    (bytes.len() <= LONGEST).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use simple_dns::rdata::RData;
    use simple_dns::{CLASS, Packet, PacketFlag, ResourceRecord};

    const NAME: &str = "Host.example.com";

    fn question() -> Question<'static> {
        Question { id: 0x1234, name: NAME, kind: Kind::V4 }
    }

    /// Returns an answer with an alias, written by another implementation, which shortens names.
    fn answer() -> Vec<u8> {
        let question = question().bytes().unwrap();
        let mut packet = Packet::parse(&question).unwrap().into_reply();
        packet.set_flags(PacketFlag::RECURSION_AVAILABLE);
        let name = |text: &'static str| simple_dns::Name::new(text).unwrap();
        let record = |of, data| ResourceRecord::new(name(of), CLASS::IN, 60, data);
        let alias = RData::CNAME(name("other.example.com").into());
        packet.answers.push(record("hOST.EXAMPLE.com", alias));
        packet.answers.push(record("OTHER.example.com", RData::A(Ipv4Addr::LOCALHOST.into())));
        packet.build_bytes_vec_compressed().unwrap()
    }

    #[test]
    fn another_implementation_understands_the_question() {
        let bytes = question().bytes().unwrap();
        let packet = Packet::parse(&bytes).unwrap();
        assert_eq!((packet.id(), packet.questions.len()), (0x1234, 1));
        assert_eq!(packet.questions[0].qname.to_string(), NAME);
        for bad in ["", ".", "a..b", "a.", &"x".repeat(64), &["x"; 128].join(".")] {
            assert!(Question { name: bad, ..question() }.bytes().is_none(), "{bad}");
        }
        assert!(Question { name: &["x"; 127].join("."), ..question() }.bytes().is_some());
    }

    #[test]
    fn an_answer_with_pointers_is_understood() {
        let wanted = DnsReply::Addresses(vec![Ipv4Addr::LOCALHOST.into()]);
        assert_eq!(question().read(&answer()), Some(wanted));
        for end in 0..answer().len() {
            assert_eq!(question().read(&answer()[..end]), None, "{end}");
        }
    }

    #[test]
    fn pointers_lead_backwards_only() {
        let own = question().bytes().unwrap();
        let end = u8::try_from(own.len()).unwrap();
        // In a label, at the pointer itself, and behind it.
        for (target, leads) in
            [(12, true), (13, false), (end, false), (end + 1, false), (255, false)]
        {
            let mut answer = own.clone();
            answer[2..8].copy_from_slice(&[0x81, 0x80, 0, 1, 0, 1]);
            answer.extend([0xc0, target, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
            assert_eq!(question().read(&answer).is_some(), leads, "{target}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic_or_loop(
            changes in prop::collection::vec((12..90_usize, any::<u8>()), 1..6)
        ) {
            let mut bytes = answer();
            for (at, byte) in changes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            question().read(&bytes);
        }
    }
}

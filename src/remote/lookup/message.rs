//! DNS messages: questions to a name server, and its answers (RFC 1035).

use simple_dns::rdata::RData;
use simple_dns::{
    CLASS, Name, OPCODE, Packet, PacketFlag, QCLASS, QTYPE, Question as WireQuestion, RCODE,
    ResourceRecord as Record, TYPE, header_buffer,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest chain of aliases that is followed, as in name servers.
const CHAIN: usize = 16;
/// The sizes in bytes of the shortest question and of the shortest record.
const SHORTEST: (usize, usize) = (5, 11);

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

impl Question<'_> {
    /// Serialises the question, or returns `None` if the name is too long.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let mut packet = Packet::new_query(self.id);
        packet.set_flags(PacketFlag::RECURSION_DESIRED);
        let name = Name::new(self.name).ok()?;
        packet.questions.push(WireQuestion::new(name, self.kind.wire(), CLASS::IN.into(), false));
        packet.build_bytes_vec().ok()
    }

    /// Parses a reply. Returns `None` if it is not an answer to this question: someone else may
    /// then have sent it, and the real answer may still arrive.
    pub(super) fn read(&self, bytes: &[u8]) -> Option<DnsReply> {
        let packet = is_plausible(bytes).then(|| Packet::parse(bytes).ok()).flatten()?;
        let [question] = packet.questions.as_slice() else { return None };
        let ours = packet.id() == self.id
            && packet.has_flags(PacketFlag::RESPONSE)
            && packet.opcode() == OPCODE::StandardQuery
            && question.qname == Name::new(self.name).ok()?
            && question.qtype == self.kind.wire()
            && question.qclass == QCLASS::CLASS(CLASS::IN);
        ours.then(|| match packet.rcode() {
            _ if packet.has_flags(PacketFlag::TRUNCATION) => DnsReply::Truncated,
            RCODE::NoError if is_unhelpful(&packet) => DnsReply::Failed,
            RCODE::NoError => DnsReply::Addresses(self.follow(&packet, &question.qname)),
            RCODE::NameError => DnsReply::Addresses(Vec::new()),
            _ => DnsReply::Failed,
        })
    }

    /// The addresses of the name, or of the name that it is an alias for. Records of other names
    /// are ignored.
    fn follow(&self, packet: &Packet<'_>, name: &Name<'_>) -> Vec<IpAddr> {
        let mut name = name;
        for _ in 0..CHAIN {
            let is_of = |answer: &&Record<'_>| answer.name == *name && answer.class == CLASS::IN;
            let of = packet.answers.iter().filter(is_of);
            let addresses: Vec<IpAddr> =
                of.clone().filter_map(|answer| self.kind.address(&answer.rdata)).collect();
            let other = of.clone().find_map(|answer| match &answer.rdata {
                RData::CNAME(other) => Some(&other.0),
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
    fn wire(self) -> QTYPE {
        match self {
            Kind::V6 => TYPE::AAAA.into(),
            Kind::V4 => TYPE::A.into(),
        }
    }

    fn address(self, data: &RData<'_>) -> Option<IpAddr> {
        match (self, data) {
            (Kind::V6, RData::AAAA(data)) => Some(Ipv6Addr::from(data.address).into()),
            (Kind::V4, RData::A(data)) => Some(Ipv4Addr::from(data.address).into()),
            _ => None,
        }
    }
}

/// Whether an empty answer means nothing, because the name server is neither authoritative for the
/// name nor queries others.
fn is_unhelpful(packet: &Packet<'_>) -> bool {
    packet.answers.is_empty()
        && !packet.has_flags(PacketFlag::RECURSION_AVAILABLE)
        && !packet.has_flags(PacketFlag::AUTHORITATIVE_ANSWER)
}

/// Whether there are enough bytes for the number of records in the header. The parser allocates
/// memory for that number first.
fn is_plausible(bytes: &[u8]) -> bool {
    let count = |read: fn(&[u8]) -> simple_dns::Result<u16>| read(bytes).map_or(0, usize::from);
    let questions = count(header_buffer::questions);
    let records = count(header_buffer::answers)
        + count(header_buffer::name_servers)
        + count(header_buffer::additional_records);
    questions * SHORTEST.0 + records * SHORTEST.1 <= bytes.len()
}

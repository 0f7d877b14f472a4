//! Questions to a name server, and what its answers say (RFC 1035).

use simple_dns::rdata::RData;
use simple_dns::{
    CLASS, Name, OPCODE, Packet, PacketFlag, QCLASS, QTYPE, Question as WireQuestion, RCODE,
    ResourceRecord as Record, TYPE, header_buffer,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest chain of other names that is followed, as in name servers.
const CHAIN: usize = 16;
/// The bytes of the shortest question, and of the shortest record.
const SHORTEST: (usize, usize) = (5, 11);

/// The addresses of one kind of a name.
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

/// What a name server says to a question.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DnsReply {
    /// These; none when there is no such name, or none of this kind.
    Addresses(Vec<IpAddr>),
    /// More than fits: ask again over TCP.
    Truncated,
    /// It cannot tell.
    Failed,
}

impl Question<'_> {
    /// The question as it is sent; none for a name that is too long.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let mut packet = Packet::new_query(self.id);
        packet.set_flags(PacketFlag::RECURSION_DESIRED);
        let name = Name::new(self.name).ok()?;
        packet.questions.push(WireQuestion::new(name, self.kind.wire(), CLASS::IN.into(), false));
        packet.build_bytes_vec().ok()
    }

    /// What the bytes say; none when they are no answer to this question. Then somebody else may
    /// have sent them, and the answer may still come.
    pub(super) fn read(&self, bytes: &[u8]) -> Option<DnsReply> {
        let packet = is_plausible(bytes).then(|| Packet::parse(bytes).ok()).flatten()?;
        let [asked] = packet.questions.as_slice() else { return None };
        let ours = packet.id() == self.id
            && packet.has_flags(PacketFlag::RESPONSE)
            && packet.opcode() == OPCODE::StandardQuery
            && asked.qname == Name::new(self.name).ok()?
            && asked.qtype == self.kind.wire()
            && asked.qclass == QCLASS::CLASS(CLASS::IN);
        ours.then(|| match packet.rcode() {
            _ if packet.has_flags(PacketFlag::TRUNCATION) => DnsReply::Truncated,
            RCODE::NoError if knows_nobody(&packet) => DnsReply::Failed,
            RCODE::NoError => DnsReply::Addresses(self.follow(&packet, &asked.qname)),
            RCODE::NameError => DnsReply::Addresses(Vec::new()),
            _ => DnsReply::Failed,
        })
    }

    /// The addresses of the name, or of the one that it is another name for. Records of names that
    /// were not asked for do not count.
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

/// Whether a name server neither knows the name nor asks others, and so says nothing of it.
fn knows_nobody(packet: &Packet<'_>) -> bool {
    packet.answers.is_empty()
        && !packet.has_flags(PacketFlag::RECURSION_AVAILABLE)
        && !packet.has_flags(PacketFlag::AUTHORITATIVE_ANSWER)
}

/// Whether there are bytes for as many records as the head says, for which room is made first.
fn is_plausible(bytes: &[u8]) -> bool {
    let count = |read: fn(&[u8]) -> simple_dns::Result<u16>| read(bytes).map_or(0, usize::from);
    let questions = count(header_buffer::questions);
    let records = count(header_buffer::answers)
        + count(header_buffer::name_servers)
        + count(header_buffer::additional_records);
    questions * SHORTEST.0 + records * SHORTEST.1 <= bytes.len()
}

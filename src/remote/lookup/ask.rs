//! Queries name servers: over UDP, and over TCP for answers that are too long.

use super::Failure;
use super::conf::Conf;
use super::message::{DnsReply, Kind, Question};
use crate::remote::deadline::Deadline;
use crate::remote::socket::{Socket, Waiter};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// The time to wait for IPv6 addresses after the IPv4 addresses have arrived (RFC 8305, section 3).
#[cfg(not(test))]
const DELAY: Duration = Duration::from_millis(50);
/// A longer time in tests, so that a busy machine does not decide which addresses are found.
#[cfg(test)]
const DELAY: Duration = Duration::from_secs(1);
/// The size of the buffer for UDP answers, which have at most 512 bytes.
const DATAGRAM: usize = 4096;
/// The maximum size of a TCP answer, which is more than a host's addresses need.
const LONGEST: usize = 16 * 1024;

/// The open questions for a name, and the addresses found so far.
struct Queries<'a> {
    name: &'a str,
    open: Vec<Kind>,
    found: Vec<IpAddr>,
}

/// Queries the addresses of exactly this name: empty if a name server answers that it has no
/// addresses, and a failure if no name server returns an answer. The time that is left is divided
/// among the name servers still to be queried, plus one share for the steps after name resolution.
pub(super) fn ask(conf: &Conf, name: &str, deadline: Deadline) -> Result<Vec<IpAddr>, Failure> {
    let mut queries = Queries { name, open: vec![Kind::V4, Kind::V6], found: Vec::new() };
    for _ in 0..conf.attempts {
        for (at, server) in conf.servers.iter().enumerate() {
            let shares = u32::try_from(conf.servers.len() - at).unwrap_or(u32::MAX);
            let share = deadline.left() / shares.saturating_add(1);
            let asked = queries.ask(*server, Deadline::within(share.min(conf.timeout)));
            // A server that cannot be reached is treated like one that does not answer.
            if let Some(failure) = asked.err().as_ref().and_then(Failure::of) {
                return Err(failure);
            }
            if queries.is_enough() {
                return Ok(queries.found);
            }
        }
    }
    match queries.found.is_empty() {
        true => Err(Failure::Unanswered(conf.servers.clone())),
        false => Ok(queries.found),
    }
}

impl Queries<'_> {
    fn is_enough(&self) -> bool {
        self.open.is_empty() || self.has_v4()
    }

    fn has_v4(&self) -> bool {
        self.found.iter().any(IpAddr::is_ipv4)
    }

    /// Sends all open questions to one name server. A new socket has an unpredictable port, which
    /// makes forged answers harder; it is connected, so that packets of other hosts are discarded.
    fn ask(&mut self, server: SocketAddr, until: Deadline) -> io::Result<()> {
        let any: IpAddr = match server {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0))?;
        socket.set_nonblocking(true)?;
        socket.connect(server)?;
        let mut questions = Vec::new();
        for kind in &self.open {
            let id = getrandom::u32().map_err(io::Error::other)? as u16;
            let question = Question { id, name: self.name, kind: *kind };
            let bytes = question.bytes().ok_or(ErrorKind::InvalidInput)?;
            socket.send(&bytes)?;
            questions.push((question, bytes));
        }
        let (mut until, mut buffer) = (until, [0; DATAGRAM]);
        while !questions.is_empty() {
            if self.has_v4() {
                until = until.sooner(DELAY);
            }
            let length = receive(&socket, &mut buffer, until)?;
            let read = |(question, _): &(Question<'_>, _)| question.read(&buffer[..length]);
            let answer = |(at, question)| Some((at, read(question)?));
            let Some((at, answer)) = questions.iter().enumerate().find_map(answer) else {
                continue;
            };
            let (question, bytes) = questions.remove(at);
            self.take(
                question.kind,
                match answer {
                    DnsReply::Truncated => over_tcp(server, &question, &bytes, until)?,
                    answer => answer,
                },
            );
        }
        Ok(())
    }

    fn take(&mut self, kind: Kind, answer: DnsReply) {
        if let DnsReply::Addresses(found) = answer {
            self.found.extend(found);
            self.open.retain(|open| *open != kind);
        }
    }
}

/// Receives the next packet from the server.
fn receive(socket: &UdpSocket, buffer: &mut [u8], until: Deadline) -> io::Result<usize> {
    let mut waiter = Waiter::until(until);
    loop {
        waiter.readable(socket)?;
        match socket.recv(buffer) {
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            received => return received,
        }
    }
}

/// Queries over TCP, where each message is preceded by its length (RFC 1035, 4.2.2).
fn over_tcp(
    server: SocketAddr,
    question: &Question<'_>,
    bytes: &[u8],
    until: Deadline,
) -> io::Result<DnsReply> {
    let mut stream = Socket::connect(server, until)?;
    let length = u16::try_from(bytes.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), bytes].concat())?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let length = usize::from(u16::from_be_bytes(length));
    if length > LONGEST {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer)?;
    match question.read(&answer) {
        None | Some(DnsReply::Truncated) => Ok(DnsReply::Failed),
        Some(answer) => Ok(answer),
    }
}

//! The proxies in front of the service, which name the client of a request that they pass on: in the header
//! `X-Forwarded-For`, or at the beginning of a connection with the PROXY protocol, version 2. Other peers are not
//! trusted.

use axum::http::HeaderMap;
use ipnet::IpNet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The time that a proxy may take for the header of a connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// The first bytes of the header in version 2 of the PROXY protocol.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// The longest header that is read: the addresses of a Unix socket, and some room for fields that are not used here.
const LONGEST: usize = 4096;

/// The addresses of proxies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxies {
    networks: Vec<IpNet>,
    /// Set if each connection begins with a header of the PROXY protocol.
    announced: bool,
}

impl Proxies {
    pub(crate) fn new(networks: Vec<IpNet>, announced: bool) -> Proxies {
        Proxies { networks, announced }
    }

    pub(crate) fn has(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }

    /// Returns the client of a connection: the peer, or the address that the proxy gives at its beginning.
    ///
    /// # Errors
    /// The reason why the connection is closed: it should begin with a header, and does not, or is not a proxy's.
    pub(crate) async fn begin(
        &self,
        peer: IpAddr,
        stream: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<IpAddr> {
        if !self.announced {
            return Ok(peer);
        }
        if !self.has(peer) {
            return Err(io::Error::other(format!("{peer} is not a trusted proxy")));
        }
        let read = tokio::time::timeout(PATIENCE, header(stream)).await;
        Ok(read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??.unwrap_or(peer))
    }

    /// Returns the client of a request: the peer of the connection, or, if that is a proxy, the last address in
    /// `X-Forwarded-For` that is not a proxy. The addresses before that one may be forged.
    pub(crate) fn client(&self, from: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = from;
        let lines = headers.get_all("x-forwarded-for").iter().rev();
        let mut hops = lines.flat_map(|line| line.to_str().unwrap_or("").rsplit(','));
        while self.has(client) {
            let Some(hop) = hops.next().and_then(address) else { break };
            client = hop;
        }
        client
    }
}

/// Parses an address, with a port or without.
fn address(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    let bare = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']')).unwrap_or(hop);
    bare.parse().ok().or_else(|| hop.parse().ok().map(|address: SocketAddr| address.ip()))
}

/// Reads a header of the PROXY protocol. Returns the address of the client; `None` for a connection that the proxy
/// makes itself, such as to see whether the service works.
async fn header(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<IpAddr>> {
    let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message);
    let mut begin = [0; 16];
    stream.read_exact(&mut begin).await?;
    let [signature @ .., version_and_command, family, high, low] = begin;
    if signature != SIGNATURE {
        return Err(invalid("there is no header of the PROXY protocol, version 2"));
    }
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > LONGEST {
        return Err(invalid("the header of the PROXY protocol is too long"));
    }
    let mut rest = vec![0; length];
    stream.read_exact(&mut rest).await?;
    let is_own = match version_and_command {
        0x20 => true,
        0x21 => false,
        _ => return Err(invalid("the header of the PROXY protocol has an unknown command")),
    };
    let too_short = || invalid("the header of the PROXY protocol is too short");
    match (is_own, family) {
        (true, _) => Ok(None),
        (false, 0x11) => {
            let source: [u8; 4] =
                *rest.first_chunk().filter(|_| length >= 12).ok_or_else(too_short)?;
            Ok(Some(Ipv4Addr::from(source).into()))
        }
        (false, 0x21) => {
            let source: [u8; 16] =
                *rest.first_chunk().filter(|_| length >= 36).ok_or_else(too_short)?;
            Ok(Some(Ipv6Addr::from(source).into()))
        }
        (false, _) => Err(invalid("the header of the PROXY protocol has no address of TCP")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn proxies(announced: bool) -> Proxies {
        let networks = ["10.0.0.0/8", "2001:db8::/32"].map(|network| network.parse().unwrap());
        Proxies::new(networks.into(), announced)
    }

    #[test]
    fn the_client_is_the_last_hop_that_is_no_proxy() {
        for (from, lines, client) in [
            ("10.0.0.1", &["192.0.2.1"][..], "192.0.2.1"),
            ("10.0.0.1", &["198.51.100.9, 192.0.2.1"], "192.0.2.1"),
            ("10.0.0.1", &["198.51.100.9", "192.0.2.1, 10.2.3.4"], "192.0.2.1"),
            ("::ffff:10.0.0.1", &["192.0.2.1:4711"], "192.0.2.1"),
            ("2001:db8::1", &["[2001:4860::7]:443"], "2001:4860::7"),
            ("2001:db8::1", &["[2001:4860::7]"], "2001:4860::7"),
            ("203.0.113.5", &["192.0.2.1"], "203.0.113.5"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["unknown"], "10.0.0.1"),
            ("10.0.0.1", &["192.0.2.1, garbage"], "10.0.0.1"),
            ("10.0.0.1", &["10.0.0.2"], "10.0.0.2"),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", HeaderValue::from_static(line));
            }
            let found = proxies(false).client(from.parse().unwrap(), &headers);
            assert_eq!(found.to_string(), client, "{from} {lines:?}");
        }
    }

    async fn begun(peer: &str, parts: &[&[u8]]) -> Result<String, io::ErrorKind> {
        let bytes = parts.concat();
        let mut stream = &*bytes;
        let begun = proxies(true).begin(peer.parse().unwrap(), &mut stream).await;
        begun.map(|address| address.to_string()).map_err(|error| error.kind())
    }

    #[tokio::test]
    async fn a_proxy_says_whose_connection_it_is() {
        let v4 = [192, 0, 2, 1, 10, 0, 0, 1, 0x12, 0x67, 1, 187];
        let mut v6 = [0; 36];
        v6[..16].copy_from_slice(&"2001:4860::7".parse::<Ipv6Addr>().unwrap().octets());
        let with = |head: [u8; 4], rest: &[u8]| [&SIGNATURE[..], &head, rest].concat();
        let [invalid, ended] = [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof];
        for (header, expected) in [
            (with([0x21, 0x11, 0, 12], &v4), Ok("192.0.2.1")),
            (with([0x21, 0x11, 0, 15], &[&v4[..], &[4, 0, 0]].concat()), Ok("192.0.2.1")),
            (with([0x21, 0x21, 0, 36], &v6), Ok("2001:4860::7")),
            (with([0x20, 0, 0, 0], &[]), Ok("10.0.0.1")),
            (with([0x21, 0x11, 0, 4], &v4[..4]), Err(invalid)),
            (with([0x21, 0x31, 0, 0], &[]), Err(invalid)),
            (with([0x22, 0x11, 0, 12], &v4), Err(invalid)),
            (with([0x11, 0x11, 0, 12], &v4), Err(invalid)),
            (with([0x21, 0x11, 0xff, 0xff], &v4), Err(invalid)),
            (with([0x21, 0x11, 0, 12], &v4[..11]), Err(ended)),
            (b"PROXY TCP4 192.0.2.1 10.0.0.1 1 2\r\n".to_vec(), Err(invalid)),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\0\0\0\0\0".to_vec(), Err(invalid)),
            (Vec::new(), Err(ended)),
        ] {
            let begun = begun("10.0.0.1", &[&header]).await;
            assert_eq!(begun.as_deref().map_err(|kind| *kind), expected, "{header:?}");
        }
        let others = begun("192.0.2.77", &[&with([0x21, 0x11, 0, 12], &v4)]).await;
        assert_eq!(others, Err(io::ErrorKind::Other));
    }
}

//! The order in which addresses are tried.
//!
//! The time for a connection is split among the addresses, half of what is left for each, so an
//! unreachable address must not come before a reachable one (RFC 6724, sections 5 and 6, as far as
//! they concern that; RFC 8305, section 4).

use super::Failure;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// The number of addresses that are tried.
const MOST: usize = 16;

/// Alternates IPv6 and IPv4, beginning with IPv6. Public IPv6 addresses to which this machine would
/// connect from a private address come last, because a private network may not route them.
/// Addresses without any route are omitted, unless that leaves none.
pub(super) fn by_reach(addresses: &[IpAddr]) -> Result<Vec<IpAddr>, Failure> {
    // A single address need not be compared.
    if let [only] = addresses {
        return Ok(vec![*only]);
    }
    let mut failure = None;
    let source = |to| match source(to) {
        Ok(from) => Some(from),
        Err(error) => {
            failure = Failure::of(&error);
            None
        }
    };
    let sorted = sorted(addresses, source);
    failure.map_or(Ok(sorted), Err)
}

fn sorted(addresses: &[IpAddr], mut source: impl FnMut(IpAddr) -> Option<IpAddr>) -> Vec<IpAddr> {
    let mut known = Vec::new();
    for address in addresses {
        if !known.contains(address) && known.len() < MOST {
            known.push(*address);
        }
    }
    let (mut v6, mut v4, mut later) = (Vec::new(), Vec::new(), Vec::new());
    for to in &known {
        match (to, source(*to)) {
            (_, None) => {}
            (IpAddr::V4(_), Some(_)) => v4.push(*to),
            (IpAddr::V6(to), Some(IpAddr::V6(from))) if is_private(from) && !is_private(*to) => {
                later.push(IpAddr::V6(*to));
            }
            (IpAddr::V6(_), Some(_)) => v6.push(*to),
        }
    }
    let mut ordered = Vec::with_capacity(known.len());
    for at in 0..v6.len().max(v4.len()) {
        ordered.extend(v6.get(at).into_iter().chain(v4.get(at)).copied());
    }
    ordered.append(&mut later);
    if ordered.is_empty() { known } else { ordered }
}

fn is_private(address: Ipv6Addr) -> bool {
    address.is_unique_local() || address.is_unicast_link_local()
}

/// Returns the address from which this machine would connect, or an error without a route.
/// Connecting a UDP socket sends nothing.
fn source(to: IpAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match to {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((to, 443))?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    const ALL: [&str; 5] = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8::2"];

    fn with(v4: Option<&str>, v6: Option<&str>) -> Vec<IpAddr> {
        let ip = |text: &str| text.parse().unwrap();
        sorted(&ips(&ALL), |to| if to.is_ipv4() { v4.map(ip) } else { v6.map(ip) })
    }

    #[test]
    fn reachable_addresses_come_first() {
        let both = ips(&["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2"]);
        assert_eq!(with(Some("192.0.2.9"), Some("2001:db8::9")), both);
        let private = ips(&["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"]);
        assert_eq!(with(Some("192.0.2.9"), Some("fd00::9")), private);
        assert_eq!(with(Some("192.0.2.9"), None), ips(&["192.0.2.1", "192.0.2.2"]));
        assert_eq!(with(None, Some("fd00::9")), ips(&["2001:db8::1", "2001:db8::2"]));
        assert_eq!(with(None, None), ips(&ALL[..4]));
    }

    #[test]
    fn the_number_of_addresses_is_limited() {
        let many: Vec<IpAddr> =
            (0..=255).map(|last| Ipv4Addr::new(192, 0, 2, last).into()).collect();
        assert_eq!(sorted(&many, Some).len(), MOST);
    }

    #[test]
    fn loopback_is_reachable() {
        assert_eq!(by_reach(&ips(&["127.0.0.1"])), Ok(ips(&["127.0.0.1"])));
        assert_eq!(source(Ipv4Addr::LOCALHOST.into()).unwrap(), Ipv4Addr::LOCALHOST);
    }
}

//! Networks, and the addresses in them.

use std::net::{IpAddr, Ipv6Addr};

/// A network such as `192.0.2.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    /// The first address, as IPv6: an IPv4 address in its mapped form, `::ffff:192.0.2.0`.
    first: u128,
    /// The number of leading bits that count.
    bits: u32,
}

impl Network {
    /// Parses the network that a text names. One with bits beyond its prefix is mistyped, and one
    /// of all addresses would except everybody.
    pub(crate) fn parse(text: &str) -> Option<Network> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let (most, extra) = if address.is_ipv4() { (32, 96) } else { (128, 0) };
        let bits: u32 = match prefix {
            Some(prefix) if prefix.bytes().all(|byte| byte.is_ascii_digit()) => {
                prefix.parse().ok()?
            }
            Some(_) => return None,
            None => most,
        };
        let first = mapped(address);
        let network = Network { first, bits: bits + extra };
        let right = (1..=most).contains(&bits) && first & !network.mask() == 0;
        // A network around all mapped addresses would have every IPv4 address in it.
        let around = network.bits <= 96 && Network { first, bits: network.bits }.has_mapped();
        (right && !around).then_some(network)
    }

    /// Returns whether the address is in the network. An IPv4 address in its mapped form is that IPv4 address.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        mapped(address) & self.mask() == self.first
    }

    fn has_mapped(&self) -> bool {
        mapped(IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0))) & self.mask() == self.first
    }

    fn mask(&self) -> u128 {
        u128::MAX.checked_shl(128 - self.bits.min(128)).unwrap_or(0)
    }
}

fn mapped(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().into(),
        IpAddr::V6(address) => address.into(),
    }
}

/// Parses the address that a program names as the remote machine: an IP address, which may have a
/// zone (`fe80::1%eth0`).
pub(crate) fn address_of(remote: Option<&str>) -> Option<IpAddr> {
    let remote = remote?;
    let address: IpAddr = match remote.split_once('%') {
        Some((address, _zone)) => IpAddr::V6(address.parse().ok()?),
        None => remote.parse().ok()?,
    };
    Some(address.to_canonical())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_its_network_and_in_no_other() {
        let cases = [
            ("192.0.2.0/24", "192.0.2.255", true),
            ("192.0.2.0/24", "192.0.3.0", false),
            ("192.0.2.0/24", "::ffff:192.0.2.7", true),
            ("::ffff:192.0.2.0/120", "192.0.2.7", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8::/32", "2001:db8:1::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("2001:db8::/32", "32.1.13.184", false),
            ("128.0.0.0/1", "192.0.2.1", true),
            ("128.0.0.0/1", "8000::1", false),
            ("fe80::/10", "fe80::1%eth0", true),
        ];
        for (network, address, inside) in cases {
            let network = Network::parse(network).unwrap();
            let address = address_of(Some(address)).unwrap();
            assert_eq!(network.contains(address), inside, "{network:?} {address}");
        }
    }

    #[test]
    fn what_is_no_network_is_rejected() {
        for text in [
            "",
            "/",
            "192.0.2.0/",
            "192.0.2.0/33",
            "192.0.2.0/0",
            "0.0.0.0/0",
            "192.0.2.1/24",
            "192.0.2/24",
            "::/0",
            "::/64",
            "::ffff:0:0/96",
            "2001:db8::/129",
            "host",
            "192.0.2.0/+8",
            "192.0.2.0/24/8",
            "fe80::1%eth0",
        ] {
            assert_eq!(Network::parse(text), None, "{text}");
        }
        assert_eq!(address_of(Some("mail.example")), None);
        assert_eq!(address_of(Some("192.0.2.1%eth0")), None);
        assert_eq!(address_of(None), None);
    }
}

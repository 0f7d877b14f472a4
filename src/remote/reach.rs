//! Restricts the addresses that the host of a connection may have.

use std::net::IpAddr;
#[cfg(feature = "engine")]
use std::net::{Ipv4Addr, Ipv6Addr};

/// The addresses that a connection may be made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All addresses.
    Anywhere,
    /// Addresses of this machine: unencrypted requests must not leave it, no matter which addresses a name resolves to.
    ThisMachine,
    /// Addresses of the public Internet. Otherwise, an attacker who can choose a URL, or the addresses of a name, could
    /// have requests sent into the network of this machine.
    #[cfg(feature = "engine")]
    Public,
}

impl Reach {
    pub(super) fn allows(self, address: IpAddr) -> bool {
        match self {
            Reach::Anywhere => true,
            Reach::ThisMachine => address.is_loopback(),
            #[cfg(feature = "engine")]
            Reach::Public => is_public(address),
        }
    }
}

/// Returns whether an address belongs to the public Internet, and not to a range that IANA has assigned to other
/// purposes: this machine, private networks, single links, groups, documentation and tests.
#[cfg(feature = "engine")]
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

#[cfg(feature = "engine")]
fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = matches!(
        address.octets(),
        // This network; private; this machine; one link; private; the one between a provider and its
        // customers.
        [0 | 10 | 127, ..] | [169, 254, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..]
        // Protocols; documentation; relays of 6to4; tests; documentation.
        | [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..]
        | [198, 51, 100, _] | [203, 0, 113, _]
        // Multicast, reserved addresses, and broadcast on a link.
        | [224..=255, ..]
    );
    !special
}

/// Only `2000::/3` is assigned to the Internet. An address that is translated to IPv4 on its way counts as the IPv4
/// address.
#[cfg(feature = "engine")]
fn is_public_v6(address: Ipv6Addr) -> bool {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Mapped: the system connects to the IPv4 address.
        [0, 0, 0, 0, 0, 0xffff, high, low] => v4(high, low),
        // NAT64, and 6to4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => v4(high, low),
        // Protocols, among them Teredo, which has an IPv4 address too; documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(feature = "engine")]
#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// The first and the last address of each range, and those next to it.
    #[test]
    fn addresses_that_are_not_of_the_internet_are_not_public() {
        for (first, last, before, after) in [
            ("0.0.0.0", "0.255.255.255", None, Some("1.0.0.0")),
            ("10.0.0.0", "10.255.255.255", Some("9.255.255.255"), Some("11.0.0.0")),
            ("100.64.0.0", "100.127.255.255", Some("100.63.255.255"), Some("100.128.0.0")),
            ("127.0.0.0", "127.255.255.255", Some("126.255.255.255"), Some("128.0.0.0")),
            ("169.254.0.0", "169.254.255.255", Some("169.253.255.255"), Some("169.255.0.0")),
            ("172.16.0.0", "172.31.255.255", Some("172.15.255.255"), Some("172.32.0.0")),
            ("192.0.0.0", "192.0.0.255", Some("191.255.255.255"), Some("192.0.1.0")),
            ("192.0.2.0", "192.0.2.255", Some("192.0.1.255"), Some("192.0.3.0")),
            ("192.88.99.0", "192.88.99.255", Some("192.88.98.255"), Some("192.88.100.0")),
            ("192.168.0.0", "192.168.255.255", Some("192.167.255.255"), Some("192.169.0.0")),
            ("198.18.0.0", "198.19.255.255", Some("198.17.255.255"), Some("198.20.0.0")),
            ("198.51.100.0", "198.51.100.255", Some("198.51.99.255"), Some("198.51.101.0")),
            ("203.0.113.0", "203.0.113.255", Some("203.0.112.255"), Some("203.0.114.0")),
            ("224.0.0.0", "255.255.255.255", Some("223.255.255.255"), None),
            ("::", "1fff:ffff::", None, Some("2000::")),
            ("2001::", "2001:1ff:ffff::", Some("2000:ffff::"), Some("2001:200::")),
            ("2001:db8::", "2001:db8:ffff::", Some("2001:db7:ffff::"), Some("2001:db9::")),
            ("3fff::", "3fff:fff:ffff::", Some("3ffe:ffff::"), Some("3fff:1000::")),
            ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("3fff:ffff::"), None),
        ] {
            for text in [first, last] {
                assert!(!Reach::Public.allows(address(text)), "{text}");
            }
            for text in [before, after].into_iter().flatten() {
                assert!(Reach::Public.allows(address(text)), "{text}");
            }
        }
        for text in ["::1", "fe80::1", "febf::1", "fc00::1", "fd12:3456::1", "fec0::1", "ff02::1"] {
            assert!(!Reach::Public.allows(address(text)), "{text}");
        }
    }

    #[test]
    fn an_address_that_leads_to_one_of_ipv4_is_judged_by_that() {
        for (private, public) in [
            ("::ffff:127.0.0.1", "::ffff:9.9.9.9"),
            ("::ffff:10.1.2.3", "::ffff:11.1.2.3"),
            ("64:ff9b::169.254.169.254", "64:ff9b::9.9.9.9"),
            ("2002:a9fe:a9fe::1", "2002:909:909::1"),
            ("2002:c0a8:1::", "2002:c0a9:1::"),
        ] {
            assert!(!Reach::Public.allows(address(private)), "{private}");
            assert!(Reach::Public.allows(address(public)), "{public}");
        }
        // The older form of mapped addresses, NAT64 in one network, and Teredo.
        for text in ["::9.9.9.9", "64:ff9b:1::9.9.9.9", "2001:0:909:909::1"] {
            assert!(!Reach::Public.allows(address(text)), "{text}");
        }
    }

    #[test]
    fn unencrypted_connections_stay_on_this_machine() {
        for (text, allowed) in [
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("::1", true),
            ("::ffff:127.0.0.1", false),
            ("10.0.0.1", false),
            ("9.9.9.9", false),
        ] {
            assert_eq!(Reach::ThisMachine.allows(address(text)), allowed, "{text}");
            assert!(Reach::Anywhere.allows(address(text)), "{text}");
        }
    }
}

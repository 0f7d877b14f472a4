//! The limits of connections by network, in total and per address.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The limit of connections, and the open ones.
#[derive(Debug)]
pub(crate) struct Places {
    all: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    by_client: HashMap<Client, usize>,
}

/// The address or network whose connections are counted together: an address of IPv4; a /64 of IPv6, whose addresses
/// are all available to any customer of a provider; or the network around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Client {
    address: IpAddr,
    /// The number of leading bits that its addresses share.
    bits: u8,
}

/// The bits of the largest network of IPv6 that one customer usually has.
const SITE: u8 = 48;
/// The factor by which such a network may have more places than one client, so that a client of a provider which shares
/// one out among its customers cannot take the places of the others.
const OF_A_SITE: usize = 2;

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    /// `None` for a proxy: its connections come from many clients.
    client: Option<Client>,
}

/// The reason why there is no place for a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// All places are taken.
    All,
    /// This client has its share.
    Share(Client),
}

impl Full {
    /// Returns its name in the metrics.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Full::All => "places",
            Full::Share(_) => "places_of_client",
        }
    }
}

impl Places {
    pub(crate) fn new(all: usize) -> Arc<Places> {
        Arc::new(Places { all, open: Mutex::default() })
    }

    /// Takes a place for a connection from this address. An address that has as many as are left takes no more: the
    /// first has half of all, and a few together leave some for everybody else.
    ///
    /// # Errors
    /// The reason why there is no place.
    pub(crate) fn take(self: &Arc<Places>, address: IpAddr) -> Result<Place, Full> {
        self.take_of(Some(Client::of(address)))
    }

    /// Takes a place for a connection of a proxy, which may have all of them, and does not use the places of its
    /// network.
    ///
    /// # Errors
    /// [`Full::All`].
    pub(crate) fn take_any(self: &Arc<Places>) -> Result<Place, Full> {
        self.take_of(None)
    }

    fn take_of(self: &Arc<Places>, client: Option<Client>) -> Result<Place, Full> {
        let mut open = self.lock();
        let left = self.all - open.all;
        if left == 0 {
            return Err(Full::All);
        }
        for (counted, share) in counted(client, left) {
            if open.by_client.get(&counted).is_some_and(|own| *own >= share) {
                return Err(Full::Share(counted));
            }
        }
        open.all += 1;
        for (counted, _) in counted(client, left) {
            *open.by_client.entry(counted).or_default() += 1;
        }
        Ok(Place { places: Arc::clone(self), client })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.places.lock();
        open.all -= 1;
        for (counted, _) in counted(self.client, 0) {
            match open.by_client.get_mut(&counted) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(open.by_client.remove(&counted)),
            }
        }
    }
}

/// Returns the client and the network that a connection of this client is counted for, and the share of each.
fn counted(client: Option<Client>, share: usize) -> impl Iterator<Item = (Client, usize)> {
    let site = client.and_then(|client| client.within(SITE));
    let site = site.map(|site| (site, share.saturating_mul(OF_A_SITE)));
    client.map(|client| (client, share)).into_iter().chain(site)
}

impl Client {
    pub(crate) fn of(address: IpAddr) -> Client {
        match address.to_canonical() {
            IpAddr::V6(address) => Client::network(address, 64),
            address => Client { address, bits: 32 },
        }
    }

    fn network(address: Ipv6Addr, bits: u8) -> Client {
        let mask = u128::MAX << (128 - u32::from(bits));
        Client { address: Ipv6Addr::from_bits(address.to_bits() & mask).into(), bits }
    }

    /// Returns the network of IPv6 with so many bits that it is in; `None` if it has no address of IPv6.
    pub(crate) fn within(self, bits: u8) -> Option<Client> {
        match self.address {
            IpAddr::V6(address) => Some(Client::network(address, bits)),
            IpAddr::V4(_) => None,
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(network) => write!(f, "{network}/{}", self.bits),
        }
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Full::All => write!(f, "there are too many connections by network"),
            Full::Share(client) => {
                write!(
                    f,
                    "{client} has its share of the connections by network, as many as are left"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(places: &Arc<Places>, address: &str) -> Result<Place, String> {
        places.take(address.parse().unwrap()).map_err(|full| full.to_string())
    }

    #[test]
    fn an_address_takes_no_more_places_than_it_leaves() {
        let places = Places::new(8);
        let mut held: Vec<Place> = Vec::new();
        for address in ["192.0.2.7", "::ffff:192.0.2.7"].into_iter().cycle().take(4) {
            held.push(take(&places, address).unwrap());
        }
        let full = take(&places, "192.0.2.7").unwrap_err();
        assert_eq!(
            full,
            "192.0.2.7 has its share of the connections by network, as many as are left"
        );
        for address in ["2001:db8:1:2::1", "2001:db8:1:2:ffff::"] {
            held.push(take(&places, address).unwrap());
        }
        assert!(take(&places, "2001:db8:1:2::5").unwrap_err().starts_with("2001:db8:1:2::/64 has"));
        for address in ["192.0.2.8", "192.0.2.9"] {
            held.push(take(&places, address).unwrap());
        }
        let full = take(&places, "192.0.2.10").unwrap_err();
        assert_eq!(full, "there are too many connections by network");
        // Addresses with more connections have to give back more before they take others.
        held.remove(0);
        assert!(take(&places, "192.0.2.7").is_err());
        held.push(take(&places, "192.0.2.10").unwrap());
        held.clear();
        let open = places.lock();
        assert!(open.all == 0 && open.by_client.is_empty(), "{open:?}");
    }

    #[test]
    fn a_few_addresses_or_one_customer_leave_places_for_everybody_else() {
        let taken = |of: &dyn Fn(u32) -> String| {
            let places = Places::new(8192);
            let held: Vec<Place> =
                (0..10_000).filter_map(|number| take(&places, &of(number)).ok()).collect();
            (8192 - held.len(), take(&places, "203.0.113.1").is_ok())
        };
        assert_eq!(taken(&|_| "192.0.2.1".to_owned()), (4096, true));
        assert_eq!(taken(&|number| format!("192.0.2.{}", number % 2)), (2730, true));
        assert_eq!(taken(&|number| format!("192.0.2.{}", number % 8)), (910, true));
        // Of one /48, with 65,536 networks.
        assert_eq!(taken(&|number| format!("2001:db8:1:{number:x}::1")), (2730, true));
        let places = Places::new(8192);
        let held: Vec<Place> =
            (0..10_000).filter_map(|_| take(&places, "2001:db8:1::1").ok()).collect();
        assert_eq!(held.len(), 4096);
        assert!(take(&places, "2001:db8:1:2::1").is_ok(), "another customer of a shared /48");
    }

    #[test]
    fn the_connections_of_a_proxy_take_no_places_from_its_network() {
        let places = Places::new(8);
        let proxied: Vec<Place> = (0..6).filter_map(|_| places.take_any().ok()).collect();
        assert_eq!(proxied.len(), 6);
        let (neighbour, last) = (take(&places, "2001:db8:1:2::1"), places.take_any());
        assert!(neighbour.is_ok() && last.is_ok());
        assert_eq!(places.take_any().unwrap_err(), Full::All);
        drop((proxied, neighbour, last));
        let open = places.lock();
        assert!(open.all == 0 && open.by_client.is_empty(), "{open:?}");
    }

    #[test]
    fn there_is_always_a_place_for_somebody() {
        assert!(take(&Places::new(1), "192.0.2.7").is_ok());
    }
}

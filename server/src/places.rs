//! The places for connections by network, and how many of them one address may hold.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many connections there may be, and which are open.
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

/// Whose connections are counted together: those of an address of IPv4, or of a /64 of IPv6, of which
/// any customer of a provider has every address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Client(IpAddr);

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    client: Client,
}

/// Why there is no place for a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// All places are taken.
    All,
    /// This client has its share.
    Share(Client),
}

impl Places {
    pub(crate) fn new(all: usize) -> Arc<Places> {
        Arc::new(Places { all, open: Mutex::default() })
    }

    /// Takes a place for a connection from this address, which may have half of them.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn take(self: &Arc<Places>, address: IpAddr) -> Result<Place, Full> {
        // The other half is for everybody else.
        self.take_of((self.all / 2).max(1), address)
    }

    /// Takes a place for a connection from this address, which may have all of them, because it is that of
    /// many clients.
    ///
    /// # Errors
    /// That there is none.
    pub(crate) fn take_any(self: &Arc<Places>, address: IpAddr) -> Result<Place, Full> {
        self.take_of(self.all, address)
    }

    fn take_of(self: &Arc<Places>, share: usize, address: IpAddr) -> Result<Place, Full> {
        let client = Client::of(address);
        let mut open = self.lock();
        if open.all >= self.all {
            return Err(Full::All);
        }
        let own = open.by_client.get(&client).copied().unwrap_or_default();
        if own >= share {
            return Err(Full::Share(client));
        }
        open.all += 1;
        open.by_client.insert(client, own + 1);
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
        match open.by_client.get_mut(&self.client) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(open.by_client.remove(&self.client)),
        }
    }
}

impl Client {
    pub(crate) fn of(address: IpAddr) -> Client {
        Client(match address.to_canonical() {
            IpAddr::V6(address) => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
            }
            address => address,
        })
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(network) => write!(f, "{network}/64"),
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
                    "{client} has half of all connections by network, the most for one address"
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
    fn one_address_cannot_take_all_places() {
        let places = Places::new(8);
        let mut held: Vec<Place> = Vec::new();
        for address in ["192.0.2.7", "::ffff:192.0.2.7"].into_iter().cycle().take(4) {
            held.push(take(&places, address).unwrap());
        }
        let full = take(&places, "192.0.2.7").unwrap_err();
        assert_eq!(
            full,
            "192.0.2.7 has half of all connections by network, the most for one address"
        );
        for address in ["2001:db8:1:2::1", "2001:db8:1:2:ffff::", "2001:db8:1:2::3"] {
            held.push(take(&places, address).unwrap());
        }
        held.push(take(&places, "2001:db8:1:2::4").unwrap());
        let full = take(&places, "2001:db8:1:3::1").unwrap_err();
        assert_eq!(full, "there are too many connections by network");
        held.remove(0);
        assert!(take(&places, "2001:db8:1:2::5").unwrap_err().starts_with("2001:db8:1:2::/64 has"));
        held.push(take(&places, "2001:db8:1:3::1").unwrap());
        held.clear();
        let open = places.lock();
        assert!(open.all == 0 && open.by_client.is_empty(), "{open:?}");
    }

    #[test]
    fn there_is_always_a_place_for_somebody() {
        assert!(take(&Places::new(1), "192.0.2.7").is_ok());
    }
}

//! Parses `/etc/resolv.conf` (resolv.conf(5)) and the name servers of the settings.

use super::Failure;
use crate::{Error, Result};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::path::Path;
use std::time::Duration;

/// The number of bytes that are read, which is more than any such file has.
const LONGEST: u64 = 64 * 1024;
/// The number of name servers that the system's resolver uses.
const SERVERS: usize = 3;
const PORT: u16 = 53;

/// The name servers to query, the domains to search, and the timeouts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Conf {
    pub(super) servers: Vec<SocketAddr>,
    search: Vec<String>,
    ndots: usize,
    /// The timeout of each query to a name server.
    pub(super) timeout: Duration,
    /// The number of times that each name server is queried.
    pub(super) attempts: usize,
    rotate: bool,
}

impl Conf {
    /// Reads the file. One that cannot be read is treated as empty, and the name server of this
    /// machine is then used.
    pub(super) fn read(file: &Path) -> Result<Conf, Failure> {
        let mut bytes = Vec::new();
        if let Some(file) = super::plain(file)? {
            let _ = file.take(LONGEST).read_to_end(&mut bytes);
        }
        Ok(Conf::parse(&String::from_utf8_lossy(&bytes)))
    }

    fn parse(text: &str) -> Conf {
        let mut conf = Conf {
            servers: Vec::new(),
            search: Vec::new(),
            ndots: 1,
            timeout: Duration::from_secs(5),
            attempts: 2,
            rotate: false,
        };
        for line in text.lines().filter(|line| !line.starts_with(['#', ';'])) {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") if conf.servers.len() < SERVERS => {
                    conf.servers.extend(words.next().and_then(scoped));
                }
                Some("search" | "domain") => conf.search = words.filter_map(domain).collect(),
                Some("options") => words.for_each(|option| conf.set(option)),
                _ => {}
            }
        }
        if conf.servers.is_empty() {
            conf.servers.push((Ipv4Addr::LOCALHOST, PORT).into());
        }
        conf
    }

    /// Sets an option, with the same bounds as the system's resolver.
    fn set(&mut self, option: &str) {
        let (name, value) = option.split_once(':').unwrap_or((option, ""));
        match (name, value.parse::<usize>()) {
            ("ndots", Ok(count)) => self.ndots = count.min(15),
            ("timeout", Ok(time)) => self.timeout = Duration::from_secs(time.clamp(1, 30) as u64),
            ("attempts", Ok(count)) => self.attempts = count.clamp(1, 5),
            ("rotate", _) => self.rotate = true,
            _ => {}
        }
    }

    /// Begins with a random server if the file has the option `rotate`.
    pub(super) fn rotate(&mut self) {
        if self.rotate
            && let Ok(any) = getrandom::u32()
        {
            let count = self.servers.len().max(1);
            self.servers.rotate_left(any as usize % count);
        }
    }

    /// Returns the names that a name may be short for, in the order in which to query them.
    pub(super) fn names(&self, name: &str, whole: bool) -> Vec<String> {
        let mut names = vec![name.to_owned()];
        if !whole {
            let below = self.search.iter().map(|domain| format!("{name}.{domain}"));
            let dots = name.bytes().filter(|byte| *byte == b'.').count();
            let at = if dots >= self.ndots { 1 } else { 0 };
            names.splice(at..at, below);
        }
        names
    }
}

/// Parses a name server of the settings: `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or
/// `[2001:db8::1]:53`.
pub(super) fn server(text: &str) -> Result<SocketAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT));
    let address = address.or_else(|_| text.parse());
    address.ok().filter(|address| address.port() > 0).ok_or_else(|| {
        Error::invalid_argument(
            "name_server",
            "must be an IP address with an optional port: 192.0.2.1, 192.0.2.1:5353, \
             [2001:db8::1]:53; or system alone",
        )
    })
}

/// Parses a name server of the file, which may have a network interface: `fe80::1%eth0`.
fn scoped(text: &str) -> Option<SocketAddr> {
    let Some((address, interface)) = text.split_once('%') else {
        return text.parse().ok().map(|ip| SocketAddr::new(ip, PORT));
    };
    let index = interface.parse().ok().or_else(|| {
        let plain = interface.bytes().all(|b| b.is_ascii_graphic() && b != b'/');
        let file =
            (plain && interface != "..").then(|| format!("/sys/class/net/{interface}/ifindex"))?;
        std::fs::read_to_string(file).ok()?.trim().parse().ok()
    })?;
    Some(SocketAddrV6::new(address.parse().ok()?, PORT, 0, index).into())
}

/// Parses a domain to search. The root is omitted, because the name itself is queried anyway.
fn domain(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    super::is_name(text).then(|| text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(conf: &Conf) -> Vec<String> {
        conf.servers.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn options_are_parsed_as_the_manual_describes() {
        let conf = Conf::parse(
            "# nameserver 192.0.2.9\n; x\nnameserver 192.0.2.1\nnameserver\t2001:db8::1 \n\
             nameserver nonsense\nnameserver fe80::1%7\nnameserver 192.0.2.4\ndomain a.example\n\
             search B.example. . c.example\noptions ndots:2 timeout:3 attempts:4 rotate edns0\n\
             options ndots:x timeout:0\n",
        );
        assert_eq!(servers(&conf), ["192.0.2.1:53", "[2001:db8::1]:53", "[fe80::1%7]:53"]);
        assert_eq!(conf.search, ["b.example", "c.example"]);
        assert_eq!((conf.ndots, conf.timeout, conf.attempts), (2, Duration::from_secs(1), 4));
        assert!(conf.rotate);
        let conf = Conf::parse("options ndots:200 timeout:999 attempts:70000\n");
        assert_eq!((conf.ndots, conf.timeout, conf.attempts), (15, Duration::from_secs(30), 5));
        assert_eq!(servers(&conf), ["127.0.0.1:53"]);
        assert_eq!(Conf::read(Path::new("/nowhere/resolv.conf")), Ok(Conf::parse("")));
    }

    #[test]
    fn short_names_are_searched_in_the_domains_first() {
        let conf = Conf::parse("search a.example b.example\noptions ndots:2\n");
        let all = ["x.a.example", "x.b.example", "x"];
        assert_eq!(conf.names("x", false), all);
        assert_eq!(conf.names("x.y.z", false), ["x.y.z", "x.y.z.a.example", "x.y.z.b.example"]);
        assert_eq!(conf.names("x", true), ["x"]);
    }

    #[test]
    fn with_rotate_each_server_comes_first_at_times() {
        let mut first = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let mut conf =
                Conf::parse("nameserver 192.0.2.1\nnameserver 192.0.2.2\noptions rotate\n");
            conf.rotate();
            assert_eq!(conf.servers.len(), 2);
            first.insert(conf.servers[0]);
        }
        assert_eq!(first.len(), 2);
    }

    #[test]
    fn network_interfaces_are_resolved_to_their_index() {
        let lo = std::fs::read_to_string("/sys/class/net/lo/ifindex");
        let Ok(index) = lo.map(|text| text.trim().parse::<u32>().unwrap()) else { return };
        let wanted = SocketAddrV6::new("fe80::1".parse().unwrap(), 53, 0, index);
        assert_eq!(scoped("fe80::1%lo"), Some(wanted.into()));
        assert_eq!(scoped("fe80::1%nowhere"), None);
        assert_eq!(scoped("fe80::1%../lo"), None);
    }

    #[test]
    fn settings_must_be_ip_addresses() {
        for (text, wanted) in [
            ("192.0.2.1", "192.0.2.1:53"),
            ("192.0.2.1:5353", "192.0.2.1:5353"),
            ("::1", "[::1]:53"),
            ("[::1]", "[::1]:53"),
            ("[::1]:5353", "[::1]:5353"),
        ] {
            assert_eq!(server(text).unwrap().to_string(), wanted);
        }
        for bad in ["", "dns.example.com", "192.0.2.1:0", "192.0.2.1:", "192.0.2", "[::1", "1 "] {
            let Err(Error::InvalidArgument { parameter, .. }) = server(bad) else {
                panic!("{bad}");
            };
            assert_eq!(parameter, "name_server", "{bad}");
        }
    }
}

//! The schemes of URLs, each of which names a kind of service.

/// The scheme of a URL: what kind of service it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// `https:`, and `http:` to this machine: a service on the network.
    Https,
    /// `unix:`: a service on this machine.
    Unix,
    /// `sqlite:`: an engine in this process on a database file.
    Sqlite,
    /// `postgres:` or `postgresql:`: an engine in this process on a database of a server.
    Postgres,
    /// `sandbox:`: an engine in this process for tests.
    Sandbox,
}

const NAMES: [(&str, Scheme); 7] = [
    ("https", Scheme::Https),
    ("http", Scheme::Https),
    ("unix", Scheme::Unix),
    ("sqlite", Scheme::Sqlite),
    ("postgres", Scheme::Postgres),
    ("postgresql", Scheme::Postgres),
    ("sandbox", Scheme::Sandbox),
];

pub(super) const MUST_BE: &str = "must begin with https: (a remote service), unix: (the socket of a service on this machine), \
     sqlite: (a database file), postgres: (a database on a server) or sandbox: (for tests); a build \
     of the library may lack some of these";

impl Scheme {
    /// The scheme of a URL, in which capital letters do not count (RFC 3986, 3.1).
    pub fn of(url: &str) -> Option<Scheme> {
        Scheme::split(url).map(|(scheme, _)| scheme)
    }

    /// The scheme of a URL, and the text after its colon.
    pub fn split(url: &str) -> Option<(Scheme, &str)> {
        let (name, rest) = url.split_once(':')?;
        let found = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, scheme)| (*scheme, rest))
    }

    /// Returns whether it opens an engine in this process, and no client of a remote service.
    pub fn is_engine(self) -> bool {
        self.is_database() || self == Scheme::Sandbox
    }

    /// Returns whether it opens an engine with a database that stays.
    pub fn is_database(self) -> bool {
        matches!(self, Scheme::Sqlite | Scheme::Postgres)
    }
}

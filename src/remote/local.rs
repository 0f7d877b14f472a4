//! Services on this machine, by their Unix socket. Anyone who may write to the folder of the socket
//! could listen in place of the service, so its user is checked before anything is sent.

use super::connect::Connection;
use super::deadline::Deadline;
use super::error_mapping::Fault;
use super::socket::{Socket, is_interrupted};
use super::stream::Stream;
use crate::{Error, Result, Stage};
use nix::errno::Errno;
use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::geteuid;
use socket2::SockAddr;
use std::io;
use std::os::unix::fs::FileTypeExt;

/// The longest path of a socket: the system's limit, without the byte that ends it.
const LONGEST: usize = 107;
/// The user that every process trusts.
const ROOT: u32 = 0;
/// The name of the setting here, and in the file that configures logins.
const SETTING: &str = "service_uid (service_user in pam.conf)";
/// The user that represents all users of another user namespace that have no number in this one: it
/// may be anyone.
const OVERFLOW: u32 = 65534;

/// The socket of a service, and the users who may listen there.
pub(super) struct Local {
    path: String,
    address: SockAddr,
    /// A user that may run the service, besides root and the one of this process.
    service_uid: Option<u32>,
}

impl Local {
    /// Parses the part of a URL after `unix:`.
    pub(super) fn parse(rest: &str, service_uid: Option<u32>) -> Result<Local> {
        let bad = |reason: &'static str| Error::invalid_argument("url", reason);
        let path = match rest.strip_prefix("//") {
            Some(path) if path.starts_with('/') => path,
            Some(_) => return Err(bad("must not name a host: write unix:/path/of.sock")),
            None => rest,
        };
        if path.starts_with(['@', '\0']) {
            return Err(bad("must not name an abstract socket: any process could listen there"));
        }
        if path.contains(['?', '#']) {
            return Err(bad("must be unix: and a path, without a query or a fragment"));
        }
        if !path.starts_with('/') || path.starts_with("//") || path.ends_with('/') {
            return Err(bad("must have the absolute path of a socket: unix:/path/of.sock"));
        }
        if path.chars().any(char::is_control) {
            return Err(bad("must not have control characters in its path"));
        }
        if path.len() > LONGEST {
            return Err(bad("must have a path of at most 107 bytes, as every Unix socket"));
        }
        let address = SockAddr::unix(path).map_err(|_| bad("cannot be a socket's path"))?;
        Ok(Local { path: path.to_owned(), address, service_uid })
    }

    /// Returns the path of the socket, for messages.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Establishes a connection, to a service of a trusted user only.
    pub(super) fn connect(&self, deadline: Deadline) -> Result<Connection> {
        let at = |fault: Fault| fault.at(Stage::Connect, &self.path);
        let socket = Socket::connect_local(&self.address, deadline);
        let socket = socket.map_err(|error| at(self.explain(error)))?;
        self.check(&socket).map_err(at)?;
        Ok(Connection::new(Stream::Plain(socket)))
    }

    /// Checks the user who runs the service. The kernel recorded it when the service began to
    /// listen.
    fn check(&self, socket: &Socket) -> Result<(), Fault> {
        let peer = getsockopt(socket, sockopt::PeerCredentials).map_err(io::Error::from)?;
        let (user, own) = (peer.uid(), geteuid().as_raw());
        if is_trusted(user, own, self.service_uid) {
            return Ok(());
        }
        if user == OVERFLOW {
            return Err(Fault::Access(format!(
                "user {user} listens there, which stands for everybody of other user namespaces, so \
                 it is never trusted to be the service: run the service as another user, and in a \
                 namespace that has the same users"
            )));
        }
        let also = match self.service_uid {
            Some(uid) => format!("and user {uid}, by the setting {SETTING}"),
            None => format!("and the user of the setting {SETTING}"),
        };
        Err(Fault::Access(format!(
            "user {user} listens there, who is not trusted to be the service. Trusted are root, the \
             user of this process ({own}), {also}. If user {user} is meant to run the service, set \
             {SETTING} to {user}"
        )))
    }

    /// Returns the fault for a connection that failed. The system reports an existing file that is
    /// not a socket as a refused connection.
    fn explain(&self, error: io::Error) -> Fault {
        if is_interrupted(&error) {
            return Fault::Io(error);
        }
        let is_other =
            || std::fs::metadata(&self.path).is_ok_and(|found| !found.file_type().is_socket());
        let reason = match error.raw_os_error().map(Errno::from_raw) {
            // A service that ends removes its socket, and systemd the folder of it.
            Some(Errno::ENOENT) => {
                return Fault::Peer(
                    "there is no such socket: is seconder serve running, with this path as --unix?"
                        .to_owned(),
                );
            }
            Some(Errno::ECONNREFUSED) if !is_other() => {
                return Fault::Peer(
                    "nothing listens on the socket: is seconder serve running?".to_owned(),
                );
            }
            Some(Errno::ECONNREFUSED | Errno::ENOTDIR) => {
                "it is not a socket: the URL must have the path that seconder serve has as --unix"
            }
            Some(Errno::ELOOP) => "its path has too many symbolic links",
            Some(Errno::EPROTOTYPE) => "it is a socket of another kind than a service's",
            Some(Errno::EACCES | Errno::EPERM) => {
                "this process may not use the socket: its user or group must be allowed to write to \
                 it, and to enter the folders above it"
            }
            _ => return Fault::Io(error),
        };
        Fault::Access(reason.to_owned())
    }
}

/// Returns whether this user may be the service, for a process of the user `own`.
fn is_trusted(user: u32, own: u32, service_uid: Option<u32>) -> bool {
    user != OVERFLOW && ([ROOT, own].contains(&user) || service_uid == Some(user))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_that_may_be_anybody_is_never_trusted() {
        assert!(is_trusted(0, 7, None) && is_trusted(7, 7, None) && is_trusted(8, 7, Some(8)));
        assert!(!is_trusted(8, 7, None) && !is_trusted(8, 7, Some(9)));
        assert!(!is_trusted(OVERFLOW, OVERFLOW, Some(OVERFLOW)));
        assert!(is_trusted(0, OVERFLOW, None));
    }

    #[test]
    fn a_path_must_be_that_of_a_socket_which_belongs_to_someone() {
        for (good, path) in
            [("/run/a.sock", "/run/a.sock"), ("///run/a b%41.sock", "/run/a b%41.sock")]
        {
            assert_eq!(Local::parse(good, None).unwrap().path(), path);
        }
        let longest = format!("/{}", "x".repeat(LONGEST - 1));
        assert!(Local::parse(&longest, None).is_ok());
        let longer = format!("{longest}x");
        for bad in [
            "",
            "/",
            "run/a.sock",
            "./a.sock",
            "~/a.sock",
            "//localhost/run/a.sock",
            "//run",
            "////run/a.sock",
            "@abstract",
            "\0abstract",
            "/run/a.sock?mode=1",
            "/run/a.sock#a",
            "/run/a\0.sock",
            "/run/a.sock\n",
            "/run/",
            &longer,
        ] {
            let error = Local::parse(bad, None).err().unwrap();
            assert!(
                matches!(&error, Error::InvalidArgument { parameter, .. } if parameter == "url"),
                "{bad}"
            );
        }
    }
}

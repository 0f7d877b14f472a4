//! Local sockets: their files, the rights of their peers, and the limits of their connections.

mod accept;
mod file;
mod folder;
mod rules;
pub(crate) mod slots;

pub(crate) use accept::PeerAcceptor;
pub(crate) use file::SocketFile;
pub(crate) use slots::Slots;

pub use file::SocketOptions;
pub use rules::{PeerRules, user_number};

use crate::invalid;
use seconder::Result;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// A local socket that accepts connections, and the rules for its peers.
#[derive(Debug)]
pub struct LocalSocket {
    pub(crate) listener: UnixListener,
    pub(crate) file: Option<SocketFile>,
    pub(crate) rules: PeerRules,
}

impl LocalSocket {
    /// Listens on a socket at this path, with these options, for peers that these rules allow. The
    /// file is removed when the server stops.
    ///
    /// A socket without a listener is replaced. Any other file stays, and is an error.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](seconder::Error::InvalidArgument) if another process listens there, if the file is
    /// not a socket, if others can write to its folder, or if it cannot be created.
    pub fn bind(path: &Path, options: SocketOptions, rules: PeerRules) -> Result<LocalSocket> {
        let (listener, file) = SocketFile::bind(path, options)
            .map_err(|reason| invalid("unix", format!("{} {reason}", path.display())))?;
        Ok(LocalSocket { listener, file: Some(file), rules })
    }

    /// Takes a socket that another process listens on and passed on, such as systemd. That process creates and removes
    /// its file.
    pub fn passed(listener: UnixListener, rules: PeerRules) -> LocalSocket {
        LocalSocket { listener, file: None, rules }
    }
}

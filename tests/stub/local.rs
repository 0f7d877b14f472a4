//! A service on this machine, by its Unix socket, whose behaviour on each connection is a function of
//! the test.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::stub::{PATIENCE, Peer, spawn};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A listener that counts its connections and records the requests.
pub(crate) struct Local {
    folder: TempDir,
    accepted: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Local {
    /// Runs `behave` for each connection, on a separate thread.
    pub(crate) fn start(behave: impl Fn(Peer<UnixStream>) + Send + Sync + 'static) -> Local {
        let folder = tempfile::tempdir().unwrap();
        let local = Local { folder, accepted: Arc::default(), requests: Arc::default() };
        let listener = UnixListener::bind(local.path()).unwrap();
        let (accepted, requests) = (Arc::clone(&local.accepted), Arc::clone(&local.requests));
        let behave = Arc::new(behave);
        spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                accepted.fetch_add(1, Ordering::SeqCst);
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.set_write_timeout(Some(PATIENCE)).unwrap();
                let peer = Peer::of(stream, &requests);
                let behave = Arc::clone(&behave);
                spawn(move || behave(peer));
            }
        });
        local
    }

    /// Responds to every request on every connection with the same bytes.
    pub(crate) fn responding(response: impl Into<Vec<u8>>) -> Local {
        let response = response.into();
        Local::start(move |mut peer| while peer.respond(&response) {})
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("seconder.sock")
    }

    pub(crate) fn url(&self) -> String {
        url(&self.path())
    }

    pub(crate) fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// The requests received so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// The URL of a socket.
pub(crate) fn url(path: &Path) -> String {
    format!("unix:{}", path.display())
}

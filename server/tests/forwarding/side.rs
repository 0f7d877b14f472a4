//! The service to which an application moves.

use crate::common::{KEY, World};
use seconder::engine::{Engine, Message};
use seconder::model::UserId;
use seconder::{Error, Handle, Service, Settings};
use seconder_server::{Forward, Listeners, Server, Tls};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Another key than that of the old service.
const OWN_KEY: &str = "another-key-for-tests";

pub(crate) struct Side {
    pub(crate) engine: Engine,
    pub(crate) server: Server,
    folder: TempDir,
    messages: Arc<Mutex<Vec<Message>>>,
}

impl Side {
    /// One that forwards to this service.
    pub(crate) fn of(old: &World) -> Side {
        Side::to(old.settings())
    }

    /// One whose database is on a server.
    pub(crate) fn on(database: &str, old: &World) -> Side {
        Side::open(Some(database), old.settings())
    }

    /// One that forwards to the service with these settings of a client.
    pub(crate) fn to(old: Settings) -> Side {
        Side::open(None, old)
    }

    fn open(database: Option<&str>, old: Settings) -> Side {
        let folder = tempfile::tempdir().unwrap();
        let file = format!("sqlite:{}", folder.path().join("new.db").display());
        let messages: Arc<Mutex<Vec<Message>>> = Arc::default();
        let keep = Arc::clone(&messages);
        let mut settings = Settings::new(database.unwrap_or(&file)).api_key(OWN_KEY);
        if database.is_some() {
            let ring = folder.path().join("keyring");
            seconder::keyring::Keyring::at(&ring).create().unwrap();
            settings = settings.keyring(&ring);
        }
        let deliver = move |message: &Message| {
            keep.lock().unwrap().push(message.clone());
            Ok(())
        };
        let service = settings.deliver(deliver).open().unwrap();
        let engine = service.require_engine().unwrap().clone();
        Side::serve(engine, old, folder, messages)
    }

    /// A second server on the database of another one, which forwards to somebody else.
    pub(crate) fn beside(other: &Side, old: Settings) -> Side {
        let folder = tempfile::tempdir().unwrap();
        Side::serve(other.engine.clone(), old, folder, Arc::clone(&other.messages))
    }

    fn serve(
        engine: Engine,
        old: Settings,
        folder: TempDir,
        messages: Arc<Mutex<Vec<Message>>>,
    ) -> Side {
        let forward = Forward::begin(engine.clone(), old.forwarding().open().unwrap()).unwrap();
        let listeners = Listeners::new().tls(Tls::SelfSigned);
        let listeners = listeners.https(([127, 0, 0, 1], 0).into()).unwrap();
        let server = Server::forward(forward, listeners).unwrap();
        std::fs::write(folder.path().join("ca.pem"), server.certificate_pem()).unwrap();
        Side { engine, server, folder, messages }
    }

    /// A client of it, as the application has one.
    pub(crate) fn client(&self) -> Service {
        self.settings().open().unwrap()
    }

    pub(crate) fn settings(&self) -> Settings {
        let ca_file = self.folder.path().join("ca.pem");
        Settings::new(&self.server.url()).api_key(OWN_KEY).ca_file(ca_file)
    }

    /// How many messages it has sent.
    pub(crate) fn sent(&self) -> usize {
        self.messages.lock().unwrap().len()
    }

    /// The code that it sent last.
    pub(crate) fn code(&self) -> String {
        self.messages.lock().unwrap().last().unwrap().code.clone()
    }

    /// What it says itself of a user: the status, and whether the user is confirmed.
    pub(crate) fn status(&self, user: UserId) -> (u16, bool) {
        match self.engine.handle(&seconder::calls::UserStatus::new(user)) {
            Ok(status) => (200, status.confirmed),
            Err(Error::Rejected(why)) => (why.status, false),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The key of the old service, which is not to appear anywhere.
pub(crate) const OLD_KEY: &str = KEY;

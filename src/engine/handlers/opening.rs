//! Opening the engine of a database.

use super::{applications, keys, settings};
use crate::Result;
use crate::engine::core::{
    Engine, Host, KeyHashes, Known, Rates, Refusals, Sandbox, Shared, Steady, Strangers,
};
use crate::engine::delivery::{self, Deliver, Spool};
use crate::engine::handlers::settings::EngineSettings;
use crate::engine::model::clock::Time;
use crate::engine::operations::applications as stored_applications;
use crate::engine::operations::steady as stored;
use crate::engine::store::{self, Store};
use crate::webpush::VapidTokens;
use std::path::Path;
use std::sync::Arc;

impl Engine {
    /// Opens an engine on the database file at `path`.
    pub(crate) fn open_sqlite(path: &str, settings: EngineSettings) -> Result<Engine> {
        let path = settings::database_file(path)?;
        settings.check_application()?;
        let keyring = settings.keyring.as_ref();
        let check = |path: &Path, listed: &_| keys::check(listed, path, keyring);
        let database = store::Sqlite::open_checked(path, settings.must_exist, &check)?;
        let ring = keys::ring(&database, database.path().unwrap_or(path), &settings)?;
        let store = Store::sealed(database, ring, Arc::clone(&settings.clock))?;
        let spool = || -> Arc<dyn Deliver> {
            Arc::new(Spool::with_clock(path, Arc::clone(&settings.clock)))
        };
        let deliver = settings.deliver.clone().unwrap_or_else(spool);
        Engine::open(store, deliver, None, settings)
    }

    /// Opens an engine on a PostgreSQL database, whose URL continues with this after the scheme.
    #[cfg(feature = "postgres")]
    pub(crate) fn open_postgres(rest: &str, settings: EngineSettings) -> Result<Engine> {
        settings.check_application()?;
        let ring = keys::named_ring(&settings)?;
        let database = store::Postgres::open(rest, settings.must_exist, settings.dialer.clone())?;
        let store = Store::sealed(database, ring, Arc::clone(&settings.clock))?;
        let deliver = settings.deliver.clone();
        let deliver = deliver.unwrap_or_else(|| Arc::new(delivery::unset));
        Engine::open(store, deliver, None, settings)
    }

    /// Opens an engine in memory: in the interface's sandbox mode, or checking codes as usual.
    pub(crate) fn open_sandbox(options: &str, settings: EngineSettings) -> Result<Engine> {
        let sandbox = Sandbox::parse(options, Time::of(&*settings.clock))?;
        let store = Store::new(store::Memory::new());
        let deliver = settings.deliver.clone();
        let deliver = deliver.unwrap_or_else(|| Arc::new(delivery::nowhere));
        Engine::open(store, deliver, Some(sandbox), settings)
    }

    pub(in crate::engine) fn open(
        store: Store,
        deliver: Arc<dyn Deliver>,
        sandbox: Option<Sandbox>,
        settings: EngineSettings,
    ) -> Result<Engine> {
        if store.is_restored() {
            store.spend(Time::of(&*settings.clock))?;
        }
        let steady = Steady::new();
        // Before the first call: all of them are judged by it, not only the one that reads it next.
        if let Some(time) = store.look(stored::find)? {
            steady.follow(time);
        }
        let now = steady.now(&*settings.clock);
        let app = applications::select(&store, &settings, now)?;
        let hashes = store.look(stored_applications::key_hashes)?;
        let author = settings.author();
        let EngineSettings {
            clock, random, sender, events, post, push, push_hosts, lookup, ..
        } = settings;
        let (refusals, rates) = (Refusals::default(), Rates::default());
        let shared = Shared {
            store,
            steady,
            refusals,
            rates,
            strangers: Strangers::default(),
            key_hashes: KeyHashes::new(hashes, now.steady),
            known: Known::default(),
            clock,
            random,
            sender: sender.unwrap_or_else(|| Arc::new(Host(deliver))),
            events: events.unwrap_or_else(|| Arc::new(())),
            post,
            push,
            push_hosts: push_hosts.as_deref().unwrap_or_default().parse()?,
            push_tokens: VapidTokens::default(),
            lookup,
            sandbox,
        };
        Ok(Engine { shared: Arc::new(shared), app: Arc::new(app), author })
    }
}

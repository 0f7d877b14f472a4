//! The service itself, inside this process: users, codes, approvals, devices, phones and
//! applications, in a database. It handles the calls of the interface and knows no HTTP.

mod app_settings;
mod author;
mod delivery;
pub mod handlers;
mod key_hashes;
pub(crate) mod model;
mod operations;
pub mod operator;
mod store;

pub use app_settings::{APP_SETTINGS, AppSetting, ApplicationSettings, SettingKind};
pub use delivery::{
    Deliver, Delivery, Events, Message, Outcome, Post, SignedCallback, Spool, WipedMessage,
};
pub use handlers::approvals::{ApprovalRequest, ApprovalResponse, RespondToApproval};
pub use handlers::approver;
pub use handlers::audit::{AUDIT_VERDICTS, AuditEntry, AuditFilter, AuditPage};
pub use handlers::backups::restore;
pub use handlers::forwarding::{Forwarding, Learned};
pub use handlers::jobs::{
    AfterAttempt, CALLBACK_LANES, JobEntry, JobFilter, JobKind, JobPage, JobState, JobStatus,
    JobsRun, Lane, LeasedJob, Offered, Prepared, Sender,
};
pub use handlers::keys::Resealed;
pub use handlers::lines::{LookUp, NumberLookup, Reserved};
pub use handlers::moving::{Problem, SourceFormat, SourceLine, SourceOptions, UserRecordPage};
pub use handlers::push::{PushHosts, PushMessage, PushOutcome, SendPush};
pub use handlers::rate::CodesOfHour;
pub use handlers::routes::StoredRoute;
pub(crate) use handlers::settings::EngineSettings;
pub(crate) use model::clock::system_time;
pub use model::clock::{Clock, Random};
pub use model::devices::{DeviceRegistered, DeviceType};
pub use model::limits::Limits;
pub use model::lines::{LineType, PhoneLine};
pub use model::records::{AuthenticatorRecord, DeviceRecord, Imported, LockedFactors, UserRecord};
pub use model::texts::Texts;
pub use store::{after_fork, before_fork};

use crate::model::ApiKey;
use crate::webpush::VapidTokens;
use crate::wire::{Generation, Names};
use crate::{Error, Result};
use author::Author;
use handlers::jobs::Host;
use handlers::known::By;
use handlers::sandbox::Sandbox;
use model::clock::Now;
use model::steady::Steady;
use operations::applications::{self as stored_applications, App};
use operations::housekeeping::{Deleted, delete_expired};
use operations::steady as stored;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{Decided, Store, View};

/// The service itself, as one application sees it. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    app: Arc<App>,
    author: Author,
}

/// The state that the applications of one database share.
struct Shared {
    store: Store,
    steady: Steady,
    refusals: handlers::audit::Refusals,
    rates: handlers::rate::Rates,
    strangers: handlers::strangers::Strangers,
    key_hashes: key_hashes::KeyHashes,
    known: handlers::known::Known,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    sender: Arc<dyn Sender>,
    events: Arc<dyn Events>,
    post: Option<Arc<dyn Post>>,
    push: Option<Arc<dyn SendPush>>,
    /// The hosts that push subscriptions may use.
    push_hosts: PushHosts,
    push_tokens: VapidTokens,
    lookup: Option<Arc<dyn NumberLookup>>,
    /// `None` for a database file.
    sandbox: Option<Sandbox>,
}

impl Engine {
    /// Opens an engine on the database file at `path`.
    pub(crate) fn open_sqlite(path: &str, settings: EngineSettings) -> Result<Engine> {
        let path = handlers::settings::database_file(path)?;
        settings.check_application()?;
        let keyring = settings.keyring.as_ref();
        let check = |path: &Path, listed: &_| handlers::keys::check(listed, path, keyring);
        let database = store::Sqlite::open_checked(path, settings.must_exist, &check)?;
        let ring = handlers::keys::ring(&database, database.path().unwrap_or(path), &settings)?;
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
        let ring = handlers::keys::named_ring(&settings)?;
        let database = store::Postgres::open(rest, settings.must_exist, settings.dialer.clone())?;
        let store = Store::sealed(database, ring, Arc::clone(&settings.clock))?;
        let deliver = settings.deliver.clone();
        let deliver = deliver.unwrap_or_else(|| Arc::new(delivery::unset));
        Engine::open(store, deliver, None, settings)
    }

    /// Opens an engine in memory: in the interface's sandbox mode, or checking codes as usual.
    pub(crate) fn open_sandbox(options: &str, settings: EngineSettings) -> Result<Engine> {
        let sandbox = Sandbox::parse(options, model::clock::Time::of(&*settings.clock))?;
        let store = Store::new(store::Memory::new());
        let deliver = settings.deliver.clone();
        let deliver = deliver.unwrap_or_else(|| Arc::new(delivery::nowhere));
        Engine::open(store, deliver, Some(sandbox), settings)
    }

    fn open(
        store: Store,
        deliver: Arc<dyn Deliver>,
        sandbox: Option<Sandbox>,
        settings: EngineSettings,
    ) -> Result<Engine> {
        if store.is_restored() {
            store.spend(model::clock::Time::of(&*settings.clock))?;
        }
        let steady = Steady::new();
        // Before the first call: all of them are judged by it, not only the one that reads it next.
        if let Some(time) = store.look(stored::find)? {
            steady.follow(time);
        }
        let now = steady.now(&*settings.clock);
        let app = handlers::applications::select(&store, &settings, now)?;
        let hashes = store.look(stored_applications::key_hashes)?;
        let author = Author::of(&settings);
        let EngineSettings {
            clock, random, sender, events, post, push, push_hosts, lookup, ..
        } = settings;
        let (refusals, rates) =
            (handlers::audit::Refusals::default(), handlers::rate::Rates::default());
        let shared = Shared {
            store,
            steady,
            refusals,
            rates,
            strangers: handlers::strangers::Strangers::default(),
            key_hashes: key_hashes::KeyHashes::new(hashes, now.steady),
            known: handlers::known::Known::default(),
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

    /// Returns the application's API key. Clients of `seconder serve` send it, and callbacks are signed with it; while
    /// the key before it is valid too, they are signed with that one. A key that another process has replaced is
    /// returned for up to 2 s, and for as long as the database cannot be read.
    pub fn api_key(&self) -> ApiKey {
        self.current().as_ref().unwrap_or(self).app.api_key.clone()
    }

    /// Returns the names used in callbacks, and by a server in front of this engine.
    pub fn names(&self) -> &Names {
        &self.app.settings.names
    }

    /// Returns the generation of the bodies that a server in front of this engine replies with.
    pub(crate) fn replies(&self) -> Generation {
        self.app.settings.replies
    }

    /// Returns the same engine, for the application with this API key, or with this one before it. The
    /// application is looked up again after 2 s, and a key that no application has after 10 s.
    ///
    /// # Errors
    /// [`Error::Unauthorized`] if no application has the key, [`Error::Storage`] if the database cannot be read.
    pub fn authenticate(&self, api_key: &ApiKey) -> Result<Engine> {
        let Shared { store, strangers, steady, known, clock, .. } = &*self.shared;
        let (by, now) = (By::key(api_key), steady.now(&**clock).steady);
        if let Some(app) = known.find(by, now) {
            return Ok(self.of(app));
        }
        if strangers.has(api_key, now) {
            return Err(handlers::applications::unknown_key());
        }
        match handlers::applications::of_key(store, api_key, now)? {
            Some(app) => {
                let app = Arc::new(app);
                known.add(by, &app, now);
                Ok(self.of(app))
            }
            None => {
                strangers.add(api_key, now);
                Err(handlers::applications::unknown_key())
            }
        }
    }

    /// Returns whether an application had this API key when all keys were last read. An unknown key has them read again
    /// if that was 2 s ago.
    pub(crate) fn had_key(&self, api_key: &ApiKey) -> bool {
        let Shared { store, key_hashes, steady, clock, .. } = &*self.shared;
        let (hash, now) = (stored_applications::hash(api_key), steady.now(&**clock).steady);
        key_hashes.has(&hash, now, || store.look(stored_applications::key_hashes))
    }

    /// Returns whether an application has this API key, as far as the keys in memory show it. It waits for nothing.
    pub(crate) fn keeps_key(&self, api_key: &ApiKey) -> bool {
        self.shared.key_hashes.contains(&stored_applications::hash(api_key))
    }

    /// Returns the same engine, with its application as it is stored now, or was 2 s ago.
    ///
    /// # Errors
    /// [`Error::Unauthorized`] if the application was removed, [`Error::Storage`] if the database cannot be read.
    pub(crate) fn current(&self) -> Result<Engine> {
        let app = self.application(self.app.app_id)?.ok_or_else(handlers::applications::removed)?;
        Ok(self.of(app))
    }

    /// Returns the same engine, for another application.
    fn of(&self, app: Arc<App>) -> Engine {
        Engine { app, ..self.clone() }
    }

    /// Returns the application with this id, if there is one.
    fn application(&self, id: i64) -> Result<Option<Arc<App>>> {
        let Shared { known, steady, clock, .. } = &*self.shared;
        let (by, now) = (By::Id(id), steady.now(&**clock).steady);
        if let Some(app) = known.find(by, now) {
            return Ok(Some(app));
        }
        let app = self.look(move |view| stored_applications::of_id(view, id))?.map(Arc::new);
        if let Some(app) = &app {
            known.add(by, app, now);
        }
        Ok(app)
    }

    /// Deletes expired data: codes, messages, remembered browsers, verifications of numbers, counts of messages, and
    /// from the audit of each application the decisions that are older than its limit `audit_days`; and from the spool
    /// folder the messages of expired codes, or anything else that [`Sender::housekeep`] removes.
    ///
    /// After the clock has moved forward by more than a day, the audit loses nothing because of it for
    /// another day, in which it can be put right.
    ///
    /// Every few decisions delete some expired rows too, so nothing grows without this. A program that
    /// runs for long calls it every few seconds, as `seconder serve` does: then data that expired in a
    /// busy hour is deleted in an idle one.
    ///
    /// Rows go in steps of 256, each a decision of its own, so that no call waits for more than one of
    /// them. After `budget` no further step begins. Returns whether there may be more to delete.
    ///
    /// # Errors
    /// [`Error::Storage`] if the database cannot be written; and if expired rows could not be read, once
    /// they and all others are deleted.
    pub fn maintain(&self, budget: Duration) -> Result<bool> {
        const STEP: u32 = 256;
        self.shared.sender.housekeep();
        if let Some(post) = &self.shared.post {
            post.housekeep();
        }
        if let Some(push) = &self.shared.push {
            push.housekeep();
        }
        let end = self.shared.clock.now().saturating_add(budget);
        let is_over = || self.shared.clock.now() >= end;
        let mut unreadable = 0;
        let more = loop {
            let now = self.now();
            let Deleted { rows, unreadable: more } =
                self.shared.store.run(move |view| delete_expired(view, now, STEP))?;
            unreadable += more;
            if rows < STEP {
                break false;
            }
            if is_over() {
                break true;
            }
        };
        // Expired rows are deleted by now, even if this fails.
        while !is_over() && self.note_left_over(handlers::audit::APART, STEP)? {}
        match unreadable {
            0 => Ok(more),
            some => Err(Error::storage(format!(
                "{some} expired rows could not be read, and were deleted: the database was damaged. \
                 Check its disk, and compare it with a backup"
            ))),
        }
    }

    /// Counts a call, and returns the time at which it is handled.
    fn begin(&self) -> Now {
        let now = self.now();
        self.shared.store.count_call(self.app.app_id, now.clock.month());
        now
    }

    /// Returns the time at which an operation begins, for which a sandbox is emptied first if it is due.
    fn now(&self) -> Now {
        let Shared { store, steady, clock, .. } = &*self.shared;
        let mut now = steady.now(&**clock);
        // If the store fails, so does the call that begins now.
        if steady.must_read(now)
            && let Ok(Some(time)) = store.look(stored::find)
        {
            steady.follow(time);
            now = steady.now(&**clock);
        }
        self.clear_sandbox_if_due(now.clock);
        now
    }

    /// Makes a decision, and returns once its changes are on disk.
    fn run<T: Send + 'static>(
        &self,
        decide: impl FnMut(&mut View) -> Decided<T> + Send + 'static,
    ) -> Result<T> {
        self.count_decision()?;
        self.shared.run(decide)
    }

    /// Has the next batch delete expired rows, if it is its turn.
    fn count_decision(&self) -> Result<()> {
        let store = &self.shared.store;
        let Some(most) = store.count_decision() else { return Ok(()) };
        let now = self.now();
        // First, because it fails in a forked child, where the refusals may stay locked.
        store.take_along(move |view| delete_expired(view, now, most).map(drop))?;
        // The next refusal of a kind takes those before along, if it comes soon. One that cannot be
        // noted is counted again.
        let _ = self.note_left_over(2 * handlers::audit::APART, most);
        Ok(())
    }

    /// Makes a decision that rarely changes anything.
    fn look<T: Send + 'static>(
        &self,
        decide: impl FnMut(&mut View) -> Decided<T> + Send + 'static,
    ) -> Result<T> {
        self.shared.store.look(decide)
    }

    /// Fails if the program has closed descriptors of the database. In a forked child, which uses none,
    /// that is no error.
    pub(crate) fn check_database(&self) -> Result<()> {
        if self.shared.store.is_own() { self.shared.store.check() } else { Ok(()) }
    }

    /// Draws a random number that is not negative, by which a row can be found.
    fn nonce(&self) -> Result<i64> {
        let mut bytes = [0; 8];
        self.random().fill(&mut bytes)?;
        Ok(i64::from_le_bytes(bytes) & i64::MAX)
    }

    fn random(&self) -> &dyn Random {
        &*self.shared.random
    }
}

impl Shared {
    /// Has every application, and every key that none had, looked up again: this process has changed one.
    fn forget_applications(&self) {
        self.known.forget();
        self.strangers.forget();
        self.key_hashes.forget();
    }

    /// Makes a decision, and stores with it how far the time has come.
    fn run<T: Send + 'static>(
        &self,
        mut decide: impl FnMut(&mut View) -> Decided<T> + Send + 'static,
    ) -> Result<T> {
        let reached = self.steady.to_store();
        let outcome = self.store.run(move |view| {
            let outcome = decide(view)?;
            // One closure: with two, each would contain the decision.
            if let Some(reached) = reached {
                stored::raise(view, reached)?;
            }
            Ok(outcome)
        })?;
        if let Some(reached) = reached {
            self.steady.was_stored(reached);
        }
        Ok(outcome)
    }
}

impl Drop for Shared {
    /// Errors are ignored, because no caller is left to receive them.
    fn drop(&mut self) {
        if !self.store.is_own() {
            // A thread of the parent may have been changing them.
            std::mem::forget(std::mem::take(&mut self.refusals));
            std::mem::forget(std::mem::take(&mut self.rates));
        } else if self.note_all_left_over().is_err() {
            // The store would be waited for a second time.
            self.store.forget_counts();
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("app_id", &self.app.app_id).finish_non_exhaustive()
    }
}

//! A sandbox over HTTPS: an engine in memory. A test in any language controls its time, its phones, its devices and its
//! faults, by paths of its own.

mod clock;
mod faults;
mod operations;
mod params;
mod records;
mod requests;

pub(crate) use faults::Fate;

use clock::SandboxClock;
use params::{Params, invalid};
use records::{Phones, Receiver, Records};
use seconder::calls::MatchedCall;
use seconder::engine::{ApplicationSettings, Engine};
use seconder::http::{Backend, RoutedRequest};
use seconder::model::ApiKey;
use seconder::wire::{Names, Reply};
use seconder::{Result, Settings};
use serde_json::{Map, Value};
use std::sync::{Arc, PoisonError, RwLock};

/// The settings of an engine at a URL.
type Configure = Box<dyn Fn(&str) -> Result<Settings> + Send + Sync>;

/// A service in memory for the tests of applications in any language, with the operations of
/// [`SANDBOX_OPERATIONS`](seconder::http::SANDBOX_OPERATIONS) besides the calls of the interface. Nothing of it is
/// kept. Clones are the same.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    configure: Configure,
    names: Names,
    world: RwLock<Arc<World>>,
}

/// The state that a reset replaces.
pub(crate) struct World {
    pub(crate) engine: Engine,
    clock: SandboxClock,
    records: Arc<Records>,
}

impl Sandbox {
    /// Opens one, with the settings that this function gives for a `sandbox:` URL.
    ///
    /// # Errors
    /// The errors of [`Settings::open`].
    pub fn open(
        configure: impl Fn(&str) -> Result<Settings> + Send + Sync + 'static,
    ) -> Result<Sandbox> {
        let world = World::open(&configure, &Params::read("", b"", &[])?)?;
        let names = world.engine.names().clone();
        let (configure, world) = (Box::new(configure), RwLock::new(Arc::new(world)));
        Ok(Sandbox(Arc::new(Inner { configure, names, world })))
    }

    /// Returns the settings of its application.
    pub fn application_settings(&self) -> ApplicationSettings {
        self.world().engine.application_settings()
    }

    /// Returns the names in its requests and replies.
    pub fn names(&self) -> &Names {
        &self.0.names
    }

    pub(crate) fn world(&self) -> Arc<World> {
        Arc::clone(&self.0.world.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins anew.
    fn reset(&self, params: &Params) -> Result<Value> {
        let world = Arc::new(World::open(&self.0.configure, params)?);
        let mut current = self.0.world.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, Arc::clone(&world));
        drop(current);
        // Calls that wait for the end of one go on.
        before.records.faults.end_all();
        Ok(operations::shown_clock(&world))
    }

    /// Returns the fate of a call, by the faults that were injected.
    pub(crate) async fn fate(&self, routed: &RoutedRequest) -> Fate {
        let world = self.world();
        // A stranger's call must not use up the fault that a test has injected for its own.
        if routed.check_key(&world.engine).is_err() {
            return Fate::Handled;
        }
        let Some(fault) = world.records.faults.take(routed.call().route().name, false) else {
            return Fate::Handled;
        };
        let fate = fault.fate(routed, &world.engine).await;
        let reply = match &fate {
            Fate::Handled | Fate::Lost => return fate,
            Fate::Replied(reply) => Some(&**reply),
            Fate::Dropped => None,
        };
        let params = routed.params().unwrap_or_default();
        let arguments = self.arguments(routed.call(), &params);
        world.records.failed(routed.call().route(), &arguments, reply);
        fate
    }

    /// Handles a call, and notes it.
    pub(crate) fn handle_call(
        &self,
        key: Option<&ApiKey>,
        call: MatchedCall,
        params: Map<String, Value>,
    ) -> Result<Reply> {
        let world = self.world();
        let arguments = self.arguments(&call, &params);
        let route = call.route();
        Records::begin(route.name, records::user_of(&arguments));
        let reply = Backend::handle_call(&world.engine, key, call, params);
        world.records.end(route, arguments, &reply);
        reply
    }

    fn arguments(&self, call: &MatchedCall, params: &Map<String, Value>) -> Value {
        records::arguments(call, params, self.names())
    }
}

impl World {
    fn open(configure: &dyn Fn(&str) -> Result<Settings>, params: &Params) -> Result<World> {
        let accept = params.text("accept")?.unwrap_or("right".into());
        let url = match &*accept {
            "every" => "sandbox:".to_owned(),
            some if some.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                format!("sandbox:?accept={some}")
            }
            _ => return Err(invalid("accept", "must be right, every, or a token")),
        };
        let mut settings = configure(&url)?;
        if let Some(name) = params.text("application_name")? {
            settings = settings.application_name(name);
        }
        let posts = params.flag("post")?;
        if let Some(url) = params.text("callback_url")? {
            settings = settings.callback_url(url);
        }
        if let Some(digits) = params.parsed("token_length", "must be 6 to 10")? {
            settings = settings.token_length(digits);
        }
        let clock = SandboxClock::new(params.time("now")?, params.flag("still")?.unwrap_or(false));
        let records = Arc::new(Records::default());
        let application = match posts.unwrap_or(true) {
            true => Some(Box::new(seconder::remote::default_post()?) as Box<_>),
            false => None,
        };
        let settings = settings
            .clock(clock.clone())
            .deliver(Phones(Arc::clone(&records)))
            .post(Receiver { records: Arc::clone(&records), application });
        let engine = settings.open()?.require_engine()?.clone();
        Ok(World { engine, clock, records })
    }
}

//! A sandbox: an engine in memory for the tests of an application, which control its time, its phones, its devices and
//! its faults.

mod clock;
mod faults;
mod operations;
mod params;
mod records;
mod request;
mod signal;

#[doc(hidden)]
pub use faults::Fate;
#[doc(hidden)]
pub use request::TestRequest;

use crate::calls::MatchedCall;
use crate::engine::{ApplicationSettings, Engine};
use crate::http::{Backend, RoutedRequest};
use crate::model::ApiKey;
use crate::wire::{Names, Reply};
use crate::{Result, Settings};
use clock::SandboxClock;
use faults::Fault;
use params::{Params, invalid};
use records::{Phones, Receiver, Records};
use serde_json::{Map, Value};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The settings of an engine at a URL.
type Configure = Box<dyn Fn(&str) -> Result<Settings> + Send + Sync>;

/// A service in memory for the tests of applications in any language, with the operations of
/// [`SANDBOX_OPERATIONS`](crate::http::SANDBOX_OPERATIONS) besides the calls of the interface. Nothing of it is
/// kept. Clones are the same.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    configure: Configure,
    names: Names,
    world: RwLock<Arc<World>>,
}

/// The state that a reset replaces.
struct World {
    engine: Engine,
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

    /// Returns the engine, until the next reset.
    pub fn engine(&self) -> Engine {
        self.world().engine.clone()
    }

    fn world(&self) -> Arc<World> {
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

    /// Returns the fault that a call meets, which counts it.
    #[doc(hidden)]
    pub fn fault_of(&self, routed: &RoutedRequest) -> Option<MetFault> {
        let world = self.world();
        // A stranger's call must not use up the fault that a test has injected for its own.
        routed.check_key(&world.engine).ok()?;
        let fault = world.records.faults.take(routed.call().route().name, false)?;
        Some(MetFault { world, fault })
    }

    /// Handles a call, and notes it.
    #[doc(hidden)]
    pub fn handle_call(
        &self,
        key: Option<&ApiKey>,
        call: MatchedCall,
        params: Map<String, Value>,
    ) -> Result<Reply> {
        let world = self.world();
        let arguments = records::arguments(&call, &params, self.names());
        let route = call.route();
        Records::begin(route.name, records::user_of(&arguments));
        let reply = Backend::handle_call(&world.engine, key, call, params);
        world.records.end(route, arguments, &reply);
        reply
    }
}

/// A fault that a call has met.
#[doc(hidden)]
pub struct MetFault {
    world: Arc<World>,
    fault: Arc<Fault>,
}

impl MetFault {
    /// Returns how long it holds the call, unless it ends before: [`Duration::MAX`] until it ends.
    pub fn hold(&self) -> Duration {
        self.fault.hold()
    }

    /// Ends once the fault has ended.
    pub async fn ended(&self) {
        self.fault.ended().await;
    }

    /// Returns the fate of the call, after the hold.
    pub fn fate(&self, routed: &RoutedRequest) -> Fate {
        let fate = self.fault.fate(routed, &self.world.engine);
        let reply = match &fate {
            Fate::Handled | Fate::Lost => return fate,
            Fate::Replied(reply) => Some(&**reply),
            Fate::Dropped => None,
        };
        let params = routed.params().unwrap_or_default();
        let arguments = records::arguments(routed.call(), &params, self.world.engine.names());
        self.world.records.failed(routed.call().route(), &arguments, reply);
        fate
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
            true => Some(Box::new(crate::remote::default_post()?) as Box<_>),
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

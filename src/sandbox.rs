//! A sandbox: an engine in memory for the tests of an application, which control its time, its phones, its devices and
//! its faults.
//!
//! ```
//! use seconder::engine::DeviceType;
//! use seconder::http::SandboxFault;
//! use seconder::sandbox::{Injection, Sandbox};
//! use seconder::{Error, Verdict};
//! use std::time::Duration;
//!
//! # fn main() -> seconder::Result<()> {
//! let sandbox = Sandbox::new()?;
//! // The application under test takes it.
//! let service = sandbox.service();
//! let ada = service.create_user("ada@example.com", "555-010-0123", "1")?.user_id;
//! service.request_sms(ada)?;
//! // Time stands still until the test moves it on.
//! assert!(matches!(service.request_sms(ada), Err(Error::RateLimited { .. })));
//! sandbox.advance(Duration::from_secs(30))?;
//! service.request_sms(ada)?;
//! assert_eq!(sandbox.messages().len(), 2);
//! let code = sandbox.code(ada)?;
//! assert_eq!(service.verify(ada, &code)?, Verdict::Right);
//!
//! sandbox.add_device(ada, DeviceType::Ios)?;
//! let uuid = service.create_approval(ada, "Log in?")?.uuid;
//! let callback = sandbox.approve(ada)?;
//! assert!(service.check_approval(&uuid)?.approved_by(ada));
//! assert!(callback.headers.iter().any(|(name, _)| name == "X-Svc-Signature"));
//!
//! let outage = sandbox.inject(Injection::new(SandboxFault::Timeout).calls(["verify"]))?;
//! assert!(matches!(service.verify(ada, &code), Err(Error::Unavailable { .. })));
//! drop(outage);
//! assert_eq!(sandbox.calls().last().unwrap().outcome, "unavailable");
//! # Ok(())
//! # }
//! ```

mod actions;
mod binding;
mod clock;
mod faults;
mod in_process;
#[cfg(feature = "capi")]
mod opened;
mod operations;
mod params;
mod phones;
mod records;
mod request;
mod signal;

pub use actions::InjectedFault;
#[doc(hidden)]
pub use clock::SandboxClock;
#[doc(hidden)]
pub use faults::Fate;
pub use faults::Injection;
pub(crate) use in_process::InProcess;
#[cfg(feature = "capi")]
pub(crate) use opened::open;
pub use records::RecordedCall;
#[doc(hidden)]
pub use records::SECRETS;
#[doc(hidden)]
pub use request::TestRequest;

#[cfg(doc)]
use crate::Error;
use crate::calls::MatchedCall;
use crate::engine::{ApplicationSettings, Engine, JobsRun};
use crate::http::{Backend, Origin, RoutedRequest, SANDBOX_API_KEY};
use crate::model::{ApiKey, UserId};
use crate::wire::{Generation, Names, Reply};
use crate::{Result, Settings};
use faults::Fault;
use params::{Params, invalid};
use records::{Phones, Receiver, Records};
use serde_json::{Map, Value};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// The time that one run of the jobs may take.
const JOBS: Duration = Duration::from_secs(20);

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
    /// Opens one for a test in Rust. Its time begins with the current second, and stands still until
    /// [`Sandbox::advance`]. It checks codes as production does. Callbacks are signed for
    /// `https://app.example/callback`, and not posted.
    ///
    /// # Errors
    /// [`Error::Internal`] if the system has no random numbers.
    pub fn new() -> Result<Sandbox> {
        let now = crate::engine::system_time().as_secs();
        let params = [
            ("still", true.into()),
            ("post", false.into()),
            ("now", now.into()),
            ("application_name", "Sandbox".into()),
            ("callback_url", "https://app.example/callback".into()),
        ];
        let params = params.map(|(name, value): (&str, Value)| (name.to_owned(), value));
        Sandbox::open_with(
            |url| Ok(Settings::new(url).api_key(SANDBOX_API_KEY)),
            params.into_iter().collect(),
        )
    }

    /// Opens one, with the settings that this function gives for a `sandbox:` URL, and with the time of the machine.
    /// A function of [`Settings::deliver`] decides the outcome of each message, and a function of [`Settings::post`]
    /// the outcome of each callback.
    ///
    /// # Errors
    /// The errors of [`Settings::open`].
    pub fn open(
        configure: impl Fn(&str) -> Result<Settings> + Send + Sync + 'static,
    ) -> Result<Sandbox> {
        Sandbox::open_with(configure, Map::new())
    }

    /// Opens one with the parameters of the operation `reset`.
    #[doc(hidden)]
    pub fn open_with(
        configure: impl Fn(&str) -> Result<Settings> + Send + Sync + 'static,
        params: Map<String, Value>,
    ) -> Result<Sandbox> {
        let world =
            World::open(&configure, &Params::known(params, request::operation("reset")?.params)?)?;
        let names = world.engine.names().clone();
        let (configure, world) = (Box::new(configure), RwLock::new(Arc::new(world)));
        Ok(Sandbox(Arc::new(Inner { configure, names, world })))
    }

    /// Returns the settings of its application.
    pub fn application_settings(&self) -> ApplicationSettings {
        self.world().engine.application_settings()
    }

    /// Returns the engine, until the next reset.
    pub fn engine(&self) -> Engine {
        self.world().engine.clone()
    }

    fn in_process(&self) -> InProcess {
        InProcess::new(self.world())
    }

    fn world(&self) -> Arc<World> {
        Arc::clone(&self.0.world.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the engine, the clock and the records.
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
}

/// The calls of requests are recorded.
impl Backend for Sandbox {
    fn names(&self) -> &Names {
        &self.0.names
    }

    fn replies(&self) -> Generation {
        self.engine().replies()
    }

    fn user_with_login(&self, login: &str) -> Result<Option<UserId>> {
        self.engine().user_with_login(login)
    }

    fn check_own_account(&self, call: &MatchedCall, user_id: UserId) -> Result<()> {
        Backend::check_own_account(&self.engine(), call, user_id)
    }

    fn check_key(&self, key: &ApiKey) -> Result<()> {
        self.engine().check_key(key)
    }

    fn had_key(&self, key: &ApiKey) -> bool {
        self.engine().had_key(key)
    }

    fn keeps_key(&self, key: &ApiKey) -> bool {
        self.engine().keeps_key(key)
    }

    fn handle_call(
        &self,
        origin: &Origin,
        call: MatchedCall,
        params: Map<String, Value>,
    ) -> Result<Reply> {
        let world = self.world();
        let arguments = records::arguments(&call, &params, self.names());
        let route = call.route();
        Records::begin(route.name, records::user_of(&arguments));
        let reply = Backend::handle_call(&world.engine, origin, call, params);
        Records::begin("", None);
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

    /// Blocks until the call is to go on.
    pub fn wait(&self) {
        self.fault.wait();
    }

    /// Ends once the fault has ended.
    pub async fn ended(&self) {
        self.fault.ended().await;
    }

    /// Returns the fate of the call, after the hold.
    pub fn fate(&self, routed: &RoutedRequest) -> Fate {
        let fate = self.fault.fate(routed, &self.world.engine);
        let (route, records) = (routed.call().route(), &self.world.records);
        let params = routed.params().unwrap_or_default();
        let arguments = records::arguments(routed.call(), &params, self.world.engine.names());
        match &fate {
            Fate::Handled => {}
            Fate::Lost => records.lose(route, arguments),
            Fate::Replied(reply) => records.failed(route, arguments, Some(reply)),
            Fate::Dropped => records.failed(route, arguments, None),
        }
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
        World::of(settings, clock, posts.unwrap_or(true))
    }

    /// Opens the engine of these settings, whose messages and callbacks are recorded. With `posts`, callbacks are posted.
    fn of(settings: Settings, clock: SandboxClock, posts: bool) -> Result<World> {
        let records = Arc::new(Records::default());
        let (deliver, post) = (settings.deliver_function(), settings.post_function());
        let application = match posts && post.is_none() {
            true => settings.default_post()?,
            false => post,
        };
        let settings = settings
            .clock(clock.clone())
            .deliver(Phones { records: Arc::clone(&records), application: deliver })
            .post(Receiver { records: Arc::clone(&records), application });
        let engine = settings.open()?.require_engine()?.clone();
        Ok(World { engine, clock, records })
    }

    fn run_jobs(&self) -> Result<JobsRun> {
        self.engine.run_jobs(JOBS)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !self.clock.is_own() {
            // A thread of the parent may have been changing them when this process was forked.
            std::mem::forget(Arc::clone(&self.records));
        }
    }
}

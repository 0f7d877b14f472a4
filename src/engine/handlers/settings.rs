//! Settings for opening an engine.

use super::applications;
use crate::engine::app_settings::AppSettings;
use crate::engine::core::Sandbox;
use crate::engine::core::Sender;
use crate::engine::delivery::{Deliver, Events, Post, PushHosts, SendPush};
use crate::engine::model::author::Author;
use crate::engine::model::clock::{Clock, Random, System, Time};
use crate::engine::model::lines::NumberLookup;
#[cfg(feature = "postgres")]
use crate::engine::store::Postgres;
use crate::keyring::Keyring;
use crate::model::ApiKey;
#[cfg(feature = "postgres")]
use crate::postgres::Dialer;
use crate::wire::Names;
use crate::{Error, Result, Scheme};
use std::path::Path;
use std::sync::Arc;

#[derive(Clone)]
pub(crate) struct EngineSettings {
    pub(crate) api_key: Option<ApiKey>,
    pub(crate) must_exist: bool,
    pub(crate) keyring: Option<Keyring>,
    pub(crate) app: AppSettings,
    pub(crate) deliver: Option<Arc<dyn Deliver>>,
    pub(crate) sender: Option<Arc<dyn Sender>>,
    pub(crate) events: Option<Arc<dyn Events>>,
    pub(crate) post: Option<Arc<dyn Post>>,
    pub(crate) push: Option<Arc<dyn SendPush>>,
    pub(crate) push_hosts: Option<String>,
    pub(crate) lookup: Option<Arc<dyn NumberLookup>>,
    pub(crate) names: Option<Names>,
    /// The name of the person who acts, for the audit.
    pub(crate) operator: Option<Arc<str>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    /// Connects to the server of the database.
    #[cfg(feature = "postgres")]
    pub(crate) dialer: Dialer,
}

impl Default for EngineSettings {
    fn default() -> EngineSettings {
        EngineSettings {
            api_key: None,
            must_exist: false,
            keyring: None,
            app: AppSettings::default(),
            deliver: None,
            sender: None,
            events: None,
            post: None,
            push: None,
            push_hosts: None,
            lookup: None,
            names: None,
            operator: None,
            clock: Arc::new(System),
            random: Arc::new(System),
            #[cfg(feature = "postgres")]
            dialer: Dialer::default(),
        }
    }
}

impl EngineSettings {
    /// Returns the author of all that an engine with these settings decides.
    pub(super) fn author(&self) -> Author {
        Author { operator: self.operator.clone(), request_id: None }
    }

    /// Checks these, and a URL of this scheme, without opening anything.
    pub(crate) fn check(&self, scheme: Scheme, rest: &str) -> Result<()> {
        match scheme {
            Scheme::Sqlite => database_file(rest).map(drop)?,
            Scheme::Sandbox => Sandbox::parse(rest, Time::of(&*self.clock)).map(drop)?,
            #[cfg(feature = "postgres")]
            _ => Postgres::check(rest)?,
            #[cfg(not(feature = "postgres"))]
            _ => {}
        }
        self.check_application()
    }

    /// Checks the settings of the application, for any database.
    pub(in crate::engine) fn check_application(&self) -> Result<()> {
        self.push_hosts.as_deref().unwrap_or_default().parse::<PushHosts>()?;
        applications::check(&self.app)
    }
}

/// Returns the file that follows `sqlite:` in a URL.
pub(in crate::engine) fn database_file(path: &str) -> Result<&Path> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.starts_with(':') || path.contains('?') {
        let reason =
            "must name a file: sqlite:/path/file.db (for a database in memory, use sandbox:)";
        return Err(Error::invalid_argument("url", reason));
    }
    Ok(Path::new(path))
}

//! The settings with which an engine is opened.

use super::clock::{System, Time};
use super::sandbox::Sandbox;
#[cfg(feature = "postgres")]
use super::store::Postgres;
use super::{Clock, Deliver, NumberLookup, Post, Random, SendPush, applications};
use crate::model::{ApiKey, CallbackMethod};
use crate::wire::{Generation, Names};
use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) struct EngineSettings {
    pub(crate) api_key: Option<ApiKey>,
    pub(crate) must_exist: bool,
    pub(crate) keyring: Option<PathBuf>,
    pub(crate) application_name: Option<String>,
    pub(crate) callback_url: Option<String>,
    pub(crate) token_length: Option<u8>,
    pub(crate) replies: Option<Generation>,
    pub(crate) callback_method: Option<CallbackMethod>,
    pub(crate) callback_ca_file: Option<PathBuf>,
    pub(crate) callback_private: Option<bool>,
    pub(crate) install_link: Option<String>,
    pub(crate) offline_days: Option<u8>,
    pub(crate) limits: Option<String>,
    /// As JSON.
    pub(crate) texts: Option<String>,
    pub(crate) otp_domain: Option<String>,
    pub(crate) plan: Option<String>,
    pub(crate) white_label: Option<bool>,
    pub(crate) sms_enabled: Option<bool>,
    pub(crate) force_codes: Option<bool>,
    pub(crate) logo: Option<String>,
    pub(crate) authenticator_digits: Option<u8>,
    pub(crate) authenticator_period: Option<u64>,
    pub(crate) deliver: Option<Arc<dyn Deliver>>,
    pub(crate) post: Option<Arc<dyn Post>>,
    pub(crate) push: Option<Arc<dyn SendPush>>,
    pub(crate) push_hosts: Option<String>,
    pub(crate) lookup: Option<Arc<dyn NumberLookup>>,
    pub(crate) names: Option<Names>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
}

impl Default for EngineSettings {
    fn default() -> EngineSettings {
        EngineSettings {
            api_key: None,
            must_exist: false,
            keyring: None,
            application_name: None,
            callback_url: None,
            token_length: None,
            replies: None,
            callback_method: None,
            callback_ca_file: None,
            callback_private: None,
            install_link: None,
            offline_days: None,
            limits: None,
            texts: None,
            otp_domain: None,
            plan: None,
            white_label: None,
            sms_enabled: None,
            force_codes: None,
            logo: None,
            authenticator_digits: None,
            authenticator_period: None,
            deliver: None,
            post: None,
            push: None,
            push_hosts: None,
            lookup: None,
            names: None,
            clock: Arc::new(System),
            random: Arc::new(System),
        }
    }
}

impl EngineSettings {
    /// Checks these, and a URL of this scheme, without opening anything.
    pub(crate) fn check(&self, scheme: &str, rest: &str) -> Result<()> {
        match scheme {
            "sqlite" => database_file(rest).map(drop)?,
            "sandbox" => Sandbox::parse(rest, Time::of(&*self.clock)).map(drop)?,
            #[cfg(feature = "postgres")]
            _ => Postgres::check(rest)?,
            #[cfg(not(feature = "postgres"))]
            _ => {}
        }
        applications::check(self).map(drop)
    }
}

/// The file that follows `sqlite:` in a URL.
pub(super) fn database_file(path: &str) -> Result<&Path> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.starts_with(':') || path.contains('?') {
        let reason =
            "must name a file: sqlite:/path/file.db (for a database in memory, use sandbox:)";
        return Err(Error::invalid_argument("url", reason));
    }
    Ok(Path::new(path))
}

//! Settings with which a client of a remote service is opened.

use super::Repeats;
use super::connect::MAX_IDLE;
#[cfg(feature = "https")]
use super::dialer::Dialer;
use crate::model::ApiKey;
#[cfg(feature = "https")]
use crate::model::Secret;
use crate::wire::{Format, Generation, Names};
use crate::{Error, Result};
#[cfg(feature = "https")]
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

#[derive(Clone)]
pub(crate) struct RemoteSettings {
    pub(crate) api_key: Option<ApiKey>,
    pub(crate) timeout: Duration,
    pub(crate) repeats: Repeats,
    #[cfg(feature = "https")]
    pub(crate) operator_token: Option<Secret>,
    /// The application that operations are about, by its id.
    #[cfg(feature = "https")]
    pub(crate) operator_app: Option<i64>,
    #[cfg(feature = "https")]
    pub(crate) ca_file: Option<PathBuf>,
    #[cfg(feature = "https")]
    pub(crate) pins: Vec<String>,
    #[cfg(feature = "client-certificates")]
    pub(crate) client_certificate: Option<PathBuf>,
    #[cfg(feature = "client-certificates")]
    pub(crate) client_key: Option<PathBuf>,
    #[cfg(feature = "https")]
    pub(crate) proxy: Option<Secret>,
    #[cfg(feature = "https")]
    pub(crate) name_servers: Vec<String>,
    #[cfg(feature = "https")]
    pub(crate) allow_loopback_http: bool,
    /// A user who may run the service, in addition to root and the user of this process.
    #[cfg(feature = "unix")]
    pub(crate) service_uid: Option<u32>,
    pub(crate) max_idle: Duration,
    pub(crate) format: Format,
    pub(crate) generation: Generation,
    pub(crate) nested_as_json: bool,
    /// Set if requests say that they were forwarded.
    pub(crate) forwarding: bool,
    pub(crate) names: Names,
}

impl Default for RemoteSettings {
    fn default() -> RemoteSettings {
        RemoteSettings {
            api_key: None,
            timeout: Duration::from_secs(10),
            repeats: Repeats::default(),
            #[cfg(feature = "https")]
            operator_token: None,
            #[cfg(feature = "https")]
            operator_app: None,
            #[cfg(feature = "https")]
            ca_file: None,
            #[cfg(feature = "https")]
            pins: Vec::new(),
            #[cfg(feature = "client-certificates")]
            client_certificate: None,
            #[cfg(feature = "client-certificates")]
            client_key: None,
            #[cfg(feature = "https")]
            proxy: None,
            #[cfg(feature = "https")]
            name_servers: Vec::new(),
            #[cfg(feature = "https")]
            allow_loopback_http: false,
            #[cfg(feature = "unix")]
            service_uid: None,
            max_idle: MAX_IDLE,
            format: Format::default(),
            generation: Generation::default(),
            nested_as_json: false,
            forwarding: false,
            names: Names::default(),
        }
    }
}

#[cfg(feature = "https")]
impl RemoteSettings {
    /// Returns the dialer of the settings `name_server` and `proxy`.
    pub(crate) fn dialer(&self) -> Result<Dialer> {
        Dialer::new(&self.name_servers, self.proxy.as_ref())
    }
}

impl FromStr for Repeats {
    type Err = Error;

    fn from_str(name: &str) -> Result<Repeats> {
        match name {
            "none" => Ok(Repeats::None),
            "questions" => Ok(Repeats::Questions),
            "all" => Ok(Repeats::All),
            _ => Err(Error::invalid_argument("repeats", "must be none, questions or all")),
        }
    }
}

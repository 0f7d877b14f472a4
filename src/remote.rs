//! The client of a service elsewhere.

use crate::calls::{self, Answer, Call};
use crate::model::Secret;
use crate::wire::Format;
use crate::{Error, Result};
use std::path::PathBuf;
use std::time::Duration;

/// The client of a service elsewhere.
#[derive(Clone)]
pub struct Remote {
    _settings: RemoteSettings,
}

#[derive(Clone)]
pub(crate) struct RemoteSettings {
    pub(crate) api_key: Option<Secret>,
    pub(crate) timeout: Duration,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) allow_loopback_http: bool,
}

impl Default for RemoteSettings {
    fn default() -> RemoteSettings {
        RemoteSettings {
            api_key: None,
            timeout: Duration::from_secs(10),
            ca_file: None,
            allow_loopback_http: false,
        }
    }
}

impl Remote {
    pub(crate) fn open(_url: &str, settings: RemoteSettings) -> Result<Remote> {
        Ok(Remote { _settings: settings })
    }
}

impl<C: Call> Answer<C> for Remote {
    fn answer(&self, call: &C) -> Result<C::Reply> {
        let _request = calls::request(call, Format::Json);
        Err(Error::garbled("not here yet"))
    }
}

//! Settings of an application, and of an engine in this process.

use super::Settings;
use super::options::parameter;
use crate::Result;
use crate::app_settings::app_settings;
use crate::engine::operator::AppSettings;
use crate::engine::{Deliver, EngineSettings, Post};
use crate::keyring::Keyring;
use crate::model::CallbackMethod;
#[cfg(feature = "https")]
use crate::remote::Dialer;
use crate::wire::Generation;
use std::path::PathBuf;
use std::sync::Arc;

impl Settings {
    /// Returns whether the URL is one of a sandbox.
    #[cfg(feature = "capi")]
    pub(crate) fn is_sandbox(&self) -> bool {
        super::Scheme::of(&self.url) == Some(super::Scheme::Sandbox)
    }

    /// Returns the function that delivers messages, if one was set.
    pub(crate) fn deliver_function(&self) -> Option<Arc<dyn Deliver>> {
        self.engine.deliver.clone()
    }

    /// Returns the function that posts callbacks, if one was set.
    pub(crate) fn post_function(&self) -> Option<Arc<dyn Post>> {
        self.engine.post.clone()
    }

    /// Sets the name that the audit has for every change: of the person who acts through a program on the database.
    #[doc(hidden)]
    pub fn changed_by(mut self, name: &str) -> Settings {
        self.engine.operator = Some(name.into());
        self
    }

    /// Sets the keyring like [`Settings::keyring`], with keys that may have been read before.
    #[doc(hidden)]
    pub fn loaded_keyring(mut self, keyring: Keyring) -> Settings {
        self.given.push("keyring");
        self.engine.keyring = Some(keyring);
        self
    }

    /// Several settings of the application at once. Those that are `None` stay as they are.
    pub fn app_settings(mut self, given: AppSettings) -> Settings {
        self.given.extend(given.names());
        self.engine.app.add(given);
        self
    }
}

macro_rules! setters {
    ($(
        #[doc = $first:literal]
        $(#[doc = $more:literal])*
        $name:ident as $field:ident { given: $given:ident, $($rest:tt)* }
    )*) => {
        /// The settings of the application of an engine, which are stored with it.
        impl Settings {
            $(
                #[doc = $first]
                #[doc = ""]
                $(#[doc = $more])*
                pub fn $name(self, value: parameter!($given)) -> Settings {
                    let given = Some(value.into());
                    self.app_settings(AppSettings { $field: given, ..AppSettings::default() })
                }
            )*
        }
    };
}

app_settings!(setters);

impl Settings {
    /// Returns the dialer of the settings `name_server` and `proxy`, for further connections of the program: the ones
    /// of [`default_post`](crate::remote::default_post) and [`fetch_picture`](crate::remote::fetch_picture).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if one of these settings is invalid.
    #[cfg(feature = "https")]
    pub fn dialer(&self) -> Result<Dialer> {
        self.remote.dialer()
    }

    /// Takes the engine's settings, with the defaults for posting filled in.
    #[cfg(feature = "https")]
    pub(super) fn take_engine_settings(&mut self) -> Result<EngineSettings> {
        let mut settings = std::mem::take(&mut self.engine);
        let file = settings.app.callback_ca_file.as_ref();
        if let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) {
            crate::remote::check_authorities("callback_ca_file", file)?;
        }
        if settings.post.is_none() {
            settings.post = self.default_post()?;
        }
        if settings.push.is_none() {
            let hosts = settings.push_hosts.as_deref().unwrap_or_default().parse()?;
            settings.push = Some(Arc::new(crate::remote::Pushes::new(hosts, self.dialer()?)));
        }
        #[cfg(feature = "postgres")]
        {
            settings.dialer = self.dialer()?;
        }
        Ok(settings)
    }

    /// Takes the engine's settings. Without HTTPS, only the host application can post callbacks.
    #[cfg(not(feature = "https"))]
    pub(super) fn take_engine_settings(&mut self) -> Result<EngineSettings> {
        Ok(std::mem::take(&mut self.engine))
    }

    /// Returns the function that posts callbacks unless one is set.
    #[cfg(feature = "https")]
    pub(crate) fn default_post(&self) -> Result<Option<Arc<dyn Post>>> {
        Ok(Some(Arc::new(crate::remote::default_post(self.dialer()?))))
    }

    /// Returns no function: without HTTPS, only a function of the application can post callbacks.
    #[cfg(not(feature = "https"))]
    pub(crate) fn default_post(&self) -> Result<Option<Arc<dyn Post>>> {
        Ok(None)
    }
}

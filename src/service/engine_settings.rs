//! Settings of an application, and of an engine in this process.

use super::Settings;
use super::options::parameter;
use crate::Result;
use crate::app_settings::app_settings;
use crate::engine::operator::AppSettings;
use crate::engine::{Deliver, EngineSettings, Post};
use crate::model::CallbackMethod;
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

/// Returns an engine's settings, with the default for posting callbacks filled in.
#[cfg(feature = "https")]
pub(super) fn posting(mut settings: EngineSettings) -> Result<EngineSettings> {
    if let Some(file) = settings.app.callback_ca_file.as_ref().filter(|f| !f.as_os_str().is_empty())
    {
        crate::remote::check_authorities("callback_ca_file", file)?;
    }
    if settings.post.is_none() {
        settings.post = Some(Arc::new(crate::remote::Callbacks::new()?));
    }
    if settings.push.is_none() {
        let hosts = settings.push_hosts.as_deref().unwrap_or_default().parse()?;
        settings.push = Some(Arc::new(crate::remote::Pushes::new(hosts)?));
    }
    Ok(settings)
}

/// Without HTTPS, only the host application can post callbacks.
#[cfg(not(feature = "https"))]
pub(super) fn posting(settings: EngineSettings) -> Result<EngineSettings> {
    Ok(settings)
}

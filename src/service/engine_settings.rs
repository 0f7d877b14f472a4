//! Settings for an engine in this process.

use super::Settings;
use crate::Result;
use crate::app_settings::app_settings;
use crate::engine::operator::AppSettings;
use crate::engine::{Clock, Deliver, EngineSettings, NumberLookup, Post, Random, SendPush};
use crate::model::CallbackMethod;
use crate::wire::Generation;
use std::path::PathBuf;
use std::sync::Arc;

impl Settings {
    /// Delivers the SMS and voice calls of an engine. Default for `sqlite:`: to text files in a folder next to the
    /// database, which has the database's name with `.spool` in place of `.db`: a [`Spool`](crate::engine::Spool). With
    /// `postgres:` there is no default, and requesting a code fails; a sandbox delivers nothing.
    pub fn deliver(mut self, deliver: impl Deliver + 'static) -> Settings {
        self.engine.deliver = Some(Arc::new(deliver));
        self.note("deliver")
    }

    /// Sets whether an engine's database must exist: a missing or empty one is then
    /// [`Error::Storage`](crate::Error::Storage), where it would be created by default. With it, a
    /// mistyped path is an error rather than a new database without users. For `sqlite:` and
    /// `postgres:`.
    pub fn must_exist(mut self, must_exist: bool) -> Settings {
        self.engine.must_exist = must_exist;
        if must_exist { self.note("must_exist") } else { self }
    }

    /// The file with the keys that seal the secrets in an engine's database: without it, no secret, code or API key in
    /// a copied database can be used. A database that was created with one is not opened without it. Default for
    /// `sqlite:`: the file next to the database with the database's name and `.keys`, which is created with a new
    /// database, readable by its owner only. With `postgres:` it is required: `seconder keyring create` makes the file,
    /// and each machine has a copy of it. See [`Keyring`](crate::keyring::Keyring).
    pub fn keyring(mut self, file: impl Into<PathBuf>) -> Settings {
        self.engine.keyring = Some(file.into());
        self.note("keyring")
    }

    /// Posts the callbacks of an engine. Default: by HTTPS, within 15 s, trusting
    /// [`Settings::callback_ca_file`] or else the system's authorities.
    pub fn post(mut self, post: impl Post + 'static) -> Settings {
        self.engine.post = Some(Arc::new(post));
        self.note("post")
    }

    /// Further hosts of push services to which an engine posts messages for phones, in addition to the push services of
    /// browser vendors: `push.example` and `*.push.example`, separated by spaces; `127.0.0.1:8080` for one on this
    /// machine. Default: none.
    pub fn push_hosts(mut self, hosts: impl Into<String>) -> Settings {
        self.engine.push_hosts = Some(hosts.into());
        self.note("push_hosts")
    }

    /// Sends the push messages of an engine. Default: they are sent to the services of the makers of browsers,
    /// and to [`Settings::push_hosts`].
    pub fn push(mut self, push: impl SendPush + 'static) -> Settings {
        self.engine.push = Some(Arc::new(push));
        self.note("push")
    }

    /// Looks numbers up for an engine: their carrier, their type, and whether they were ported. The number of lookups
    /// is limited by `lookup_day` of [`Settings::limits`], and a result is used again for some days. Default: no
    /// lookups; only the information in numbering plans is known.
    pub fn lookup(mut self, lookup: impl NumberLookup + 'static) -> Settings {
        self.engine.lookup = Some(Arc::new(lookup));
        self.note("lookup")
    }

    /// The clock of an engine. Default: the system's.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Settings {
        self.engine.clock = Arc::new(clock);
        self.note("clock")
    }

    /// The source of randomness of an engine. Default: the system's.
    pub fn random(mut self, random: impl Random + 'static) -> Settings {
        self.engine.random = Arc::new(random);
        self.note("random")
    }

    /// Several settings of the application at once. Those that are `None` stay as they are.
    pub fn app_settings(mut self, given: AppSettings) -> Settings {
        self.given.extend(given.names());
        self.engine.app.add(given);
        self
    }
}

/// The type of a setter's parameter: for texts and paths, every type that converts into one.
macro_rules! parameter {
    (String) => { impl Into<String> };
    (PathBuf) => { impl Into<PathBuf> };
    ($other:ident) => { $other };
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

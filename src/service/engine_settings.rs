//! Settings for an engine in this process.

use super::Settings;
use crate::Result;
use crate::engine::{Clock, Deliver, EngineSettings, NumberLookup, Post, Random, SendPush};
use crate::model::CallbackMethod;
use crate::wire::Generation;
use std::path::PathBuf;
use std::sync::Arc;

impl Settings {
    /// Delivers the SMS and voice calls of an engine. Default for `sqlite:`: to text files in a folder
    /// next to the database, which has the database's name with `.spool` in place of `.db`: a
    /// [`Spool`](crate::engine::Spool). With `postgres:` there is none, and requesting a code fails; a
    /// sandbox delivers nothing.
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

    /// The file with the keys that seal the secrets in an engine's database: what a copied database
    /// needs before anybody can use a secret, a code or an API key in it. A database that was created
    /// with one is not opened without it. Default for `sqlite:`: the file next to the database with the
    /// database's name and `.keys`, which is created with a new database, readable by its owner only.
    /// With `postgres:` it is required: `seconder keyring create` makes the file, of which each machine
    /// has a copy. See [`Keyring`](crate::keyring::Keyring).
    pub fn keyring(mut self, file: impl Into<PathBuf>) -> Settings {
        self.engine.keyring = Some(file.into());
        self.note("keyring")
    }

    /// The application's name in messages and authenticator apps, for an engine. Default: the name
    /// stored in the database; `Seconder` in a new one.
    pub fn application_name(mut self, name: impl Into<String>) -> Settings {
        self.engine.application_name = Some(name.into());
        self.note("application_name")
    }

    /// Where an engine posts the responses to approval requests (interface 6): an `https:` URL, or
    /// an `http:` URL of this machine. An empty text removes the stored one. Default: the URL stored in the
    /// database; none in a new one.
    pub fn callback_url(mut self, url: impl Into<String>) -> Settings {
        self.engine.callback_url = Some(url.into());
        self.note("callback_url")
    }

    /// How an engine sends callbacks. With [`CallbackMethod::Get`], their parameters are the query of
    /// the URL. Default: the method stored in the database; [`CallbackMethod::Post`] in a new one.
    pub fn callback_method(mut self, method: CallbackMethod) -> Settings {
        self.engine.callback_method = Some(method);
        self.note("callback_method")
    }

    /// Sets whether the callback URL may lead to addresses that are not of the public Internet: those of
    /// private networks, and of this machine by a name other than `localhost`. Otherwise, no
    /// callback is sent to such an address, whatever the name in the URL resolves to. A URL with
    /// `localhost` or a loopback address leads to this machine in any case, and nowhere else. A function set by [`Settings::post`] decides itself. Default: what is stored in
    /// the database; no in a new one.
    pub fn callback_private(mut self, allow: bool) -> Settings {
        self.engine.callback_private = Some(allow);
        self.note("callback_private")
    }

    /// The number of digits of codes that an engine sends by SMS and voice, 6 to 10. Default: the
    /// number stored in the database; 7 in a new one.
    pub fn token_length(mut self, digits: u8) -> Settings {
        self.engine.token_length = Some(digits);
        self.note("token_length")
    }

    /// The number of digits of the codes of authenticator apps that an engine enrols from now on, 6 to
    /// 8. Apps that were enrolled before keep theirs. Default: the number stored in the database; 6 in a
    /// new one, which every app supports.
    pub fn authenticator_digits(mut self, digits: u8) -> Settings {
        self.engine.authenticator_digits = Some(digits);
        self.note("authenticator_digits")
    }

    /// For how many seconds such an app shows a code, 1 to 3600. Default: the time stored in the
    /// database; 30 in a new one, which every app supports.
    pub fn authenticator_period(mut self, seconds: u64) -> Settings {
        self.engine.authenticator_period = Some(seconds);
        self.note("authenticator_period")
    }

    /// What was booked with an engine, as [`AppDetails`](crate::calls::AppDetails) says it: 1 to 64
    /// bytes. Default: the text stored in the database; `embedded` in a new one.
    pub fn plan(mut self, plan: impl Into<String>) -> Settings {
        self.engine.plan = Some(plan.into());
        self.note("plan")
    }

    /// Sets whether [`AppDetails`](crate::calls::AppDetails) says that the application has an app of its own.
    /// Default: what is stored in the database; no in a new one.
    pub fn white_label(mut self, white_label: bool) -> Settings {
        self.engine.white_label = Some(white_label);
        self.note("white_label")
    }

    /// Sets whether an engine sends SMS. Without them, codes can be spoken in calls. Default: what is stored
    /// in the database; yes in a new one.
    pub fn sms_enabled(mut self, enabled: bool) -> Settings {
        self.engine.sms_enabled = Some(enabled);
        self.note("sms_enabled")
    }

    /// Sets whether users who have an app are sent codes by SMS and calls too, unless a call sets `force`
    /// (interface 4.2). Default: what is stored in the database; no in a new one.
    pub fn force_codes(mut self, force: bool) -> Settings {
        self.engine.force_codes = Some(force);
        self.note("force_codes")
    }

    /// The picture that approval requests show which have no `logos` (interface 4.12): an `https:` URL
    /// of at most 2048 characters. An empty text removes the stored one. Default: the URL stored in the
    /// database; none in a new one.
    pub fn logo(mut self, url: impl Into<String>) -> Settings {
        self.engine.logo = Some(url.into());
        self.note("logo")
    }

    /// A PEM file with the authorities to trust when callbacks are posted, or the application's own
    /// certificate, instead of the system's authorities. Every process that uses the database reads
    /// the file when it posts a callback. A function set by [`Settings::post`] decides itself whom
    /// to trust. An empty path removes the stored one. Default: the file stored in the database;
    /// none in a new one.
    pub fn callback_ca_file(mut self, file: impl Into<PathBuf>) -> Settings {
        self.engine.callback_ca_file = Some(file.into());
        self.note("callback_ca_file")
    }

    /// Posts the callbacks of an engine. Default: by HTTPS, within 15 s, trusting
    /// [`Settings::callback_ca_file`] or else the system's authorities.
    pub fn post(mut self, post: impl Post + 'static) -> Settings {
        self.engine.post = Some(Arc::new(post));
        self.note("post")
    }

    /// Further hosts of push services to which an engine posts messages for phones, beside those of the makers of
    /// browsers: `push.example` and `*.push.example`, separated by spaces; `127.0.0.1:8080` for one on this
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

    /// Looks numbers up for an engine: their carrier, their type, and whether they were ported. How often
    /// is limited by `lookup_day` of [`Settings::limits`], and what it returns is used again for some
    /// days. Default: nothing is looked up, and only what numbering plans say is known.
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

    /// The link to the app that a new user receives by SMS (interface 4.1): an `https:` URL of at
    /// most 2048 characters. An empty text removes the stored one. Default: the link stored in the database; none in a new one, and then
    /// no message is sent.
    pub fn install_link(mut self, link: impl Into<String>) -> Settings {
        self.engine.install_link = Some(link.into());
        self.note("install_link")
    }

    /// For how many days, 1 to 7, a login machine may check the codes of authenticator apps while it
    /// cannot reach the service; 0 forbids it. Default: the number stored in the database; 0 in a new
    /// one. See [`PrepareOffline`](crate::calls::PrepareOffline).
    pub fn offline_days(mut self, days: u8) -> Settings {
        self.engine.offline_days = Some(days);
        self.note("offline_days")
    }

    /// Limits of the application, as `name=value`, separated by spaces or commas, such as
    /// `number_day=10 countries=1+44`: see [`Limits`](crate::engine::Limits). It may be set several
    /// times. Default: those stored in the database, also for names that are not given; in a new one,
    /// those of `Limits::default()`.
    pub fn limits(mut self, limits: impl AsRef<str>) -> Settings {
        let given = self.engine.limits.get_or_insert_default();
        given.push(' ');
        given.push_str(limits.as_ref());
        self.note("limits")
    }

    /// The application's own texts of messages, by language and kind, as JSON: see
    /// [`Texts`](crate::engine::Texts). They replace those that are stored, and an empty text removes
    /// them. Default: those stored in the database; none in a new one, so that the texts that are built
    /// in are used.
    pub fn texts(mut self, texts: impl Into<String>) -> Settings {
        self.engine.texts = Some(texts.into());
        self.note("texts")
    }

    /// The domain of the page on which users enter codes, such as `example.com`. Each SMS with a code
    /// then ends with a line such as `@example.com #123456`, by which browsers offer the code on pages of
    /// this domain, and on no others. An empty text removes the stored one. Default: the domain stored
    /// in the database; none in a new one.
    pub fn otp_domain(mut self, domain: impl Into<String>) -> Settings {
        self.engine.otp_domain = Some(domain.into());
        self.note("otp_domain")
    }

    /// The generation of the bodies that a server in front of an engine replies with (interface 9),
    /// whichever generation the requests are of. [`Generation::Older`] is for clients of 2012 that
    /// read `success` as text. Default: the one stored in the database; the current one in a new
    /// one.
    pub fn replies(mut self, replies: Generation) -> Settings {
        self.engine.replies = Some(replies);
        self.note("replies")
    }
}

/// An engine's settings, with the default for posting callbacks filled in.
#[cfg(feature = "https")]
pub(super) fn posting(mut settings: EngineSettings) -> Result<EngineSettings> {
    if let Some(file) = settings.callback_ca_file.as_ref().filter(|f| !f.as_os_str().is_empty()) {
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

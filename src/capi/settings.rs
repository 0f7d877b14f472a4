//! The options of `seconder_open` as [`Settings`].

use super::ffi::{self, Outcome};
use super::open::seconder_open_options;
use super::status::*;
use super::{deliver, lookup, names, post};
use crate::app_settings::{APP_SETTINGS, AppSetting, SettingKind, app_settings};
#[cfg(feature = "engine")]
use crate::engine::operator::AppSettings;
use crate::remote::Repeats;
use crate::wire::{Format, Generation};
use crate::{Error, Service, Settings};
use std::ffi::c_char;
use std::time::Duration;

/// The functions of the program that an engine calls.
type Functions = (deliver::ByFunction, post::ByFunction, lookup::ByFunction);

/// The longest time limit of a call, the same as in [`Settings::timeout`].
const LONGEST_MS: u32 = 3_600_000;

const REPEATS: [(i32, Repeats); 3] = [
    (SECONDER_REPEATS_NONE, Repeats::None),
    (SECONDER_REPEATS_QUESTIONS, Repeats::Questions),
    (SECONDER_REPEATS_ALL, Repeats::All),
];

const FORMATS: [(i32, Format); 2] =
    [(SECONDER_FORMAT_JSON, Format::Json), (SECONDER_FORMAT_XML, Format::Xml)];

const GENERATIONS: [(i32, Generation); 2] = [
    (SECONDER_GENERATION_CURRENT, Generation::Current),
    (SECONDER_GENERATION_OLDER, Generation::Older),
];

/// # Safety
/// Every pointer is NULL or as the header requires.
pub(super) unsafe fn open(
    url: *const c_char,
    api_key: *const c_char,
    options: &seconder_open_options,
    functions: Functions,
) -> Outcome<Service> {
    // SAFETY: promised by the caller.
    unsafe {
        let mut settings = Settings::new(ffi::text("url", url)?);
        if let Some(key) = ffi::text_if("api_key", api_key)? {
            settings = settings.api_key(key);
        }
        if let Some(names) = names::given(options.names, options.names_size)? {
            settings = settings.names(names);
        }
        settings = of_client(settings, options)?;
        settings = of_network(settings, options)?;
        settings = of_application(settings, options)?;
        settings = of_engine(settings, options, functions)?;
        Ok(settings.open().map_err(|error| Settings::by_argument(error, true))?)
    }
}

/// The service with another time limit or another choice of retries; 0 keeps the present one.
pub(super) fn with(service: &Service, timeout_ms: u32, repeats: i32) -> Outcome<Service> {
    let repeats = chosen("repeats", repeats, &REPEATS)?;
    if timeout_ms > LONGEST_MS {
        return Err(Error::invalid_argument("timeout_ms", "must be at most an hour").into());
    }
    let mut service = service.clone();
    if timeout_ms > 0 {
        service = service.with_timeout(Duration::from_millis(timeout_ms.into()));
    }
    Ok(match repeats {
        Some(repeats) => service.with_repeats(repeats),
        None => service,
    })
}

/// The settings of the client of a remote service.
fn of_client(mut settings: Settings, options: &seconder_open_options) -> Outcome<Settings> {
    if options.timeout_ms > 0 {
        settings = settings.timeout(Duration::from_millis(options.timeout_ms.into()));
    }
    if let Some(repeats) = chosen("repeats", options.repeats, &REPEATS)? {
        settings = settings.repeats(repeats);
    }
    if let Some(format) = chosen("format", options.format, &FORMATS)? {
        settings = settings.format(format);
    }
    if let Some(generation) = chosen("generation", options.generation, &GENERATIONS)? {
        settings = settings.generation(generation);
    }
    if options.nested_as_json.is_set() {
        settings = settings.nested_as_json(true);
    }
    // Root, user 0, is always trusted.
    if options.service_uid > 0 {
        settings = settings.service_uid(options.service_uid);
    }
    Ok(settings)
}

/// The settings of the connection to a service on the network.
///
/// # Safety
/// Every pointer is NULL or as the header requires.
unsafe fn of_network(mut settings: Settings, options: &seconder_open_options) -> Outcome<Settings> {
    if options.allow_loopback_http.is_set() {
        settings = settings.allow_loopback_http(true);
    }
    // SAFETY: promised by the caller.
    unsafe {
        if let Some(file) = ffi::text_if("ca_file", options.ca_file)? {
            settings = settings.ca_file(file);
        }
        for pin in ffi::texts(["pins", "pins_count"], options.pins, options.pins_count)? {
            settings = settings.pin(pin);
        }
        if let Some(proxy) = ffi::text_if("proxy", options.proxy)? {
            settings = settings.proxy(proxy);
        }
        let names = ["name_servers", "name_servers_count"];
        for server in ffi::texts(names, options.name_servers, options.name_servers_count)? {
            settings = settings.name_server(server);
        }
        let certificate = ffi::text_if("client_certificate", options.client_certificate)?;
        let key = ffi::text_if("client_key", options.client_key)?;
        match (certificate, key) {
            (None, None) => {}
            (Some(certificate), Some(key)) => {
                settings = settings.client_certificate(certificate, key);
            }
            (Some(_), None) => {
                let reason = "must come with client_certificate";
                return Err(Error::invalid_argument("client_key", reason).into());
            }
            (None, Some(_)) => {
                let reason = "must come with client_key";
                return Err(Error::invalid_argument("client_certificate", reason).into());
            }
        }
    }
    Ok(settings)
}

/// A field that is a setting of the application.
trait Field {
    /// The value as text; `None` for the default.
    ///
    /// # Safety
    /// A pointer is NULL or as the header requires.
    unsafe fn text(&self, setting: &AppSetting) -> Outcome<Option<String>>;
}

impl Field for *const c_char {
    unsafe fn text(&self, setting: &AppSetting) -> Outcome<Option<String>> {
        // SAFETY: promised by the caller.
        unsafe { Ok(ffi::text_if(setting.name, *self)?.map(str::to_owned)) }
    }
}

impl Field for u32 {
    unsafe fn text(&self, _: &AppSetting) -> Outcome<Option<String>> {
        Ok((*self > 0).then(|| self.to_string()))
    }
}

/// A constant, or a number with -1 in place of 0, which is the default.
impl Field for i32 {
    unsafe fn text(&self, setting: &AppSetting) -> Outcome<Option<String>> {
        let names = match setting.kind {
            SettingKind::Number(..) if *self == -1 => return Ok(Some("0".to_owned())),
            SettingKind::Number(..) => return Ok((*self != 0).then(|| self.to_string())),
            SettingKind::Choice(names) => names,
            _ => &["yes", "no"],
        };
        let choices: Vec<(i32, &str)> = (1..).zip(names.iter().copied()).collect();
        Ok(chosen(setting.name, *self, &choices)?.map(str::to_owned))
    }
}

/// The settings of the application. A build without an engine rejects them, as every build does with a URL for
/// which they have no effect.
///
/// # Safety
/// Every pointer is NULL or as the header requires.
unsafe fn of_application(settings: Settings, options: &seconder_open_options) -> Outcome<Settings> {
    macro_rules! fields {
        ($($(#[$doc:meta])* $name:ident as $field:ident { $($rest:tt)* })*) => {
            [$(&options.$name as &dyn Field),*]
        };
    }
    let fields = app_settings!(fields);
    let mut given = Vec::new();
    for (setting, field) in APP_SETTINGS.iter().zip(fields) {
        // SAFETY: promised by the caller.
        if let Some(text) = unsafe { field.text(setting)? } {
            given.push((setting.name, text));
        }
    }
    Ok(applied(settings, &given)?)
}

#[cfg(feature = "engine")]
fn applied(settings: Settings, given: &[(&'static str, String)]) -> crate::Result<Settings> {
    let mut application = AppSettings::default();
    given.iter().try_for_each(|(name, text)| application.set(name, text))?;
    Ok(settings.app_settings(application))
}

#[cfg(not(feature = "engine"))]
fn applied(settings: Settings, given: &[(&'static str, String)]) -> crate::Result<Settings> {
    Ok(given.iter().fold(settings, |settings, (name, _)| settings.note(name)))
}

/// Calls a setter of an engine. A build without one notes the setting, so that it is rejected as one without
/// an effect, as every build does with a URL for which it has none.
macro_rules! set {
    ($settings:ident.$name:ident($value:expr)) => {
        #[cfg(feature = "engine")]
        {
            $settings = $settings.$name($value);
        }
        #[cfg(not(feature = "engine"))]
        {
            let _ = $value;
            $settings = $settings.note(stringify!($name));
        }
    };
}

/// Reads the settings of an engine in this process itself, without the settings of its application.
/// A build without an engine frees the userdata of its functions at once.
///
/// # Safety
/// Every pointer is NULL or as the header requires.
unsafe fn of_engine(
    mut settings: Settings,
    options: &seconder_open_options,
    (deliver, post, lookup): Functions,
) -> Outcome<Settings> {
    // SAFETY: promised by the caller.
    unsafe {
        if let Some(hosts) = ffi::text_if("push_hosts", options.push_hosts)? {
            set!(settings.push_hosts(hosts));
        }
        if let Some(file) = ffi::text_if("keyring", options.keyring)? {
            set!(settings.keyring(file));
        }
    }
    if options.must_exist.is_set() {
        set!(settings.must_exist(true));
    }
    if let Some(deliver) = deliver.given() {
        set!(settings.deliver(deliver));
    }
    if let Some(post) = post.given() {
        set!(settings.post(post));
    }
    if let Some(lookup) = lookup.given() {
        set!(settings.lookup(lookup));
    }
    Ok(settings)
}

//! The options of `seconder_open` as [`Settings`].

use super::ffi::{self, Outcome};
use super::open::seconder_open_options;
use super::status::*;
use super::{deliver, lookup, names, post};
use crate::app_settings::{APP_SETTINGS, AppSetting, SettingKind, app_settings};
#[cfg(feature = "engine")]
use crate::engine::operator::AppSettings;
#[cfg(feature = "remote")]
use crate::remote::Repeats;
use crate::wire::{Format, Generation};
use crate::{Error, Service, Settings};
use std::ffi::c_char;
use std::time::Duration;

/// The functions of the program that an engine calls.
type Functions = (deliver::ByFunction, post::ByFunction, lookup::ByFunction);

/// The longest time limit of a call, the same as in [`Settings::timeout`].
const LONGEST_MS: u32 = 3_600_000;

/// The choices of `repeats`. They are checked without the client too, so that every build rejects
/// an invalid number.
#[cfg(feature = "remote")]
const REPEATS: [(i32, Repeats); 3] = [
    (SECONDER_REPEATS_NONE, Repeats::None),
    (SECONDER_REPEATS_QUESTIONS, Repeats::Questions),
    (SECONDER_REPEATS_ALL, Repeats::All),
];
#[cfg(not(feature = "remote"))]
const REPEATS: [(i32, ()); 3] =
    [(SECONDER_REPEATS_NONE, ()), (SECONDER_REPEATS_QUESTIONS, ()), (SECONDER_REPEATS_ALL, ())];

const FORMATS: &[(i32, Format)] = &[
    (SECONDER_FORMAT_JSON, Format::Json),
    #[cfg(feature = "xml")]
    (SECONDER_FORMAT_XML, Format::Xml),
];

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
    Ok(repeating(&limited(service, timeout_ms), repeats))
}

#[cfg(feature = "remote")]
fn limited(service: &Service, timeout_ms: u32) -> Service {
    match timeout_ms {
        0 => service.clone(),
        _ => service.with_timeout(Duration::from_millis(timeout_ms.into())),
    }
}

#[cfg(feature = "remote")]
fn repeating(service: &Service, repeats: Option<Repeats>) -> Service {
    repeats.map_or_else(|| service.clone(), |repeats| service.with_repeats(repeats))
}

#[cfg(not(feature = "remote"))]
fn limited(service: &Service, _: u32) -> Service {
    service.clone()
}

#[cfg(not(feature = "remote"))]
fn repeating(service: &Service, _: Option<()>) -> Service {
    service.clone()
}

/// Calls a setter. A build without the feature has none: it notes the setting, so that it is rejected as one
/// without an effect, as every build does with a URL for which it has none.
macro_rules! set {
    ($settings:ident.$name:ident($($value:expr),*) with $feature:tt) => {
        #[cfg(feature = $feature)]
        {
            $settings = $settings.$name($($value),*);
        }
        #[cfg(not(feature = $feature))]
        {
            $(let _ = $value;)*
            $settings = $settings.note(stringify!($name));
        }
    };
}

/// The settings of the client of a remote service.
fn of_client(mut settings: Settings, options: &seconder_open_options) -> Outcome<Settings> {
    if options.timeout_ms > 0 {
        set!(settings.timeout(Duration::from_millis(options.timeout_ms.into())) with "remote");
    }
    if let Some(repeats) = chosen("repeats", options.repeats, &REPEATS)? {
        set!(settings.repeats(repeats) with "remote");
    }
    if let Some(format) = chosen("format", options.format, FORMATS)? {
        set!(settings.format(format) with "remote");
    }
    if let Some(generation) = chosen("generation", options.generation, &GENERATIONS)? {
        set!(settings.generation(generation) with "remote");
    }
    if options.nested_as_json.is_set() {
        set!(settings.nested_as_json(true) with "remote");
    }
    // Root, user 0, is always trusted.
    if options.service_uid > 0 {
        set!(settings.service_uid(options.service_uid) with "unix");
    }
    Ok(settings)
}

/// The settings of the connection to a service on the network.
///
/// # Safety
/// Every pointer is NULL or as the header requires.
unsafe fn of_network(mut settings: Settings, options: &seconder_open_options) -> Outcome<Settings> {
    if options.allow_loopback_http.is_set() {
        set!(settings.allow_loopback_http(true) with "https");
    }
    // SAFETY: promised by the caller.
    unsafe {
        if let Some(file) = ffi::text_if("ca_file", options.ca_file)? {
            set!(settings.ca_file(file) with "https");
        }
        for pin in ffi::texts(["pins", "pins_count"], options.pins, options.pins_count)? {
            set!(settings.pin(pin) with "https");
        }
        if let Some(proxy) = ffi::text_if("proxy", options.proxy)? {
            set!(settings.proxy(proxy) with "https");
        }
        let names = ["name_servers", "name_servers_count"];
        for server in ffi::texts(names, options.name_servers, options.name_servers_count)? {
            set!(settings.name_server(server) with "https");
        }
        let certificate = ffi::text_if("client_certificate", options.client_certificate)?;
        let key = ffi::text_if("client_key", options.client_key)?;
        match (certificate, key) {
            (None, None) => {}
            _ if cfg!(all(feature = "https", not(feature = "client-certificates"))) => {
                let reason = "cannot be used: this build of the library has no client certificates";
                return Err(Error::invalid_argument("client_certificate", reason).into());
            }
            (Some(certificate), Some(key)) => {
                set!(settings.client_certificate(certificate, key) with "client-certificates");
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
    #[cfg(feature = "engine")]
    let mut given = AppSettings::default();
    #[cfg(not(feature = "engine"))]
    let mut settings = settings;
    for (setting, field) in APP_SETTINGS.iter().zip(fields) {
        // SAFETY: promised by the caller.
        let Some(text) = (unsafe { field.text(setting)? }) else { continue };
        #[cfg(feature = "engine")]
        given.set(setting.name, &text)?;
        #[cfg(not(feature = "engine"))]
        {
            let _ = text;
            settings = settings.note(setting.name);
        }
    }
    #[cfg(feature = "engine")]
    let settings = settings.app_settings(given);
    Ok(settings)
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
            set!(settings.push_hosts(hosts) with "engine");
        }
        if let Some(file) = ffi::text_if("keyring", options.keyring)? {
            set!(settings.keyring(file) with "engine");
        }
    }
    if options.must_exist.is_set() {
        set!(settings.must_exist(true) with "engine");
    }
    if let Some(deliver) = deliver.given() {
        set!(settings.deliver(deliver) with "engine");
    }
    if let Some(post) = post.given() {
        set!(settings.post(post) with "engine");
    }
    if let Some(lookup) = lookup.given() {
        set!(settings.lookup(lookup) with "engine");
    }
    Ok(settings)
}

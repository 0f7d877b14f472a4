//! The options of `seconder_open` as [`Settings`].

#[cfg(feature = "engine")]
use super::ffi::number_if;
use super::ffi::{self, Outcome};
use super::open::seconder_open_options;
use super::status::*;
use super::{deliver, lookup, names, post};
#[cfg(feature = "engine")]
use crate::model::CallbackMethod;
#[cfg(feature = "remote")]
use crate::remote::Repeats;
#[cfg(feature = "remote")]
use crate::wire::Format;
#[cfg(any(feature = "engine", feature = "remote"))]
use crate::wire::Generation;
use crate::{Error, Service, Settings};
use std::ffi::c_char;
#[cfg(feature = "remote")]
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

#[cfg(any(feature = "engine", feature = "remote"))]
const GENERATIONS: [(i32, Generation); 2] = [
    (SECONDER_GENERATION_CURRENT, Generation::Current),
    (SECONDER_GENERATION_OLDER, Generation::Older),
];

#[cfg(feature = "engine")]
const CALLBACK_METHODS: [(i32, CallbackMethod); 2] = [
    (SECONDER_CALLBACK_METHOD_POST, CallbackMethod::Post),
    (SECONDER_CALLBACK_METHOD_GET, CallbackMethod::Get),
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
        settings = trust(of_network(remote_settings(settings, options)?, options)?, options)?;
        settings = of_socket(settings, options);
        settings = of_engine(settings, options, functions)?;
        Ok(settings.open().map_err(by_option)?)
    }
}

/// Replaces the name of a setting in an error by that of the C option.
fn by_option(error: Error) -> Error {
    let Error::InvalidArgument { parameter, reason } = error else { return error };
    let option = match &*parameter {
        "pin" => "pins".into(),
        "name_server" => "name_servers".into(),
        "timeout" => "timeout_ms".into(),
        _ => parameter,
    };
    Error::InvalidArgument { parameter: option, reason }
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

/// The settings of the protocol.
#[cfg(feature = "remote")]
fn remote_settings(mut settings: Settings, options: &seconder_open_options) -> Outcome<Settings> {
    const FORMATS: &[(i32, Format)] = &[
        (SECONDER_FORMAT_JSON, Format::Json),
        #[cfg(feature = "xml")]
        (SECONDER_FORMAT_XML, Format::Xml),
    ];
    settings = settings.nested_as_json(options.nested_as_json.is_set());
    if options.timeout_ms > 0 {
        settings = settings.timeout(Duration::from_millis(options.timeout_ms.into()));
    }
    if let Some(repeats) = chosen("repeats", options.repeats, &REPEATS)? {
        settings = settings.repeats(repeats);
    }
    if let Some(format) = chosen("format", options.format, FORMATS)? {
        settings = settings.format(format);
    }
    if let Some(generation) = chosen("generation", options.generation, &GENERATIONS)? {
        settings = settings.generation(generation);
    }
    Ok(settings)
}

/// The settings of the connection to a service on the network.
///
/// # Safety
/// Every pointer is NULL or as the header requires.
#[cfg(feature = "https")]
unsafe fn of_network(mut settings: Settings, options: &seconder_open_options) -> Outcome<Settings> {
    settings = settings.allow_loopback_http(options.allow_loopback_http.is_set());
    // SAFETY: promised by the caller.
    unsafe {
        if let Some(proxy) = ffi::text_if("proxy", options.proxy)? {
            settings = settings.proxy(proxy);
        }
        let count = options.name_servers_count;
        let names = ["name_servers", "name_servers_count"];
        for server in ffi::texts(names, options.name_servers, count)? {
            settings = settings.name_server(server);
        }
    }
    Ok(settings)
}

/// The settings of trust, in the service and in this client.
///
/// # Safety
/// Every pointer is NULL or as the header requires.
#[cfg(feature = "https")]
unsafe fn trust(mut settings: Settings, options: &seconder_open_options) -> Outcome<Settings> {
    // SAFETY: promised by the caller.
    unsafe {
        if let Some(file) = ffi::text_if("ca_file", options.ca_file)? {
            settings = settings.ca_file(file);
        }
        for pin in ffi::texts(["pins", "pins_count"], options.pins, options.pins_count)? {
            settings = settings.pin(pin);
        }
        client_certificate(settings, options)
    }
}

/// The certificate of this client.
///
/// # Safety
/// Every pointer is NULL or as the header requires.
#[cfg(feature = "client-certificates")]
unsafe fn client_certificate(
    settings: Settings,
    options: &seconder_open_options,
) -> Outcome<Settings> {
    // SAFETY: promised by the caller.
    unsafe {
        let certificate = ffi::text_if("client_certificate", options.client_certificate)?;
        let key = ffi::text_if("client_key", options.client_key)?;
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(settings.client_certificate(certificate, key)),
            (None, None) => Ok(settings),
            (Some(_), None) => Err(alone("client_key", "must come with client_certificate")),
            (None, Some(_)) => Err(alone("client_certificate", "must come with client_key")),
        }
    }
}

/// A build without client certificates rejects them, whatever the URL.
#[cfg(all(feature = "https", not(feature = "client-certificates")))]
unsafe fn client_certificate(
    settings: Settings,
    options: &seconder_open_options,
) -> Outcome<Settings> {
    match options.client_certificate.is_null() && options.client_key.is_null() {
        true => Ok(settings),
        false => {
            let reason = "cannot be used: this build of the library has no client certificates";
            Err(alone("client_certificate", reason))
        }
    }
}

#[cfg(feature = "https")]
fn alone(name: &'static str, reason: &'static str) -> Box<super::error::seconder_error> {
    Error::invalid_argument(name, reason).into()
}

/// The settings of the connection to a service on this machine. Root, user 0, is always trusted.
#[cfg(feature = "unix")]
fn of_socket(settings: Settings, options: &seconder_open_options) -> Settings {
    match options.service_uid {
        0 => settings,
        uid => settings.service_uid(uid),
    }
}

/// A build without a client of remote services has no use for its options, and rejects those that
/// have no effect, as every build does.
#[cfg(not(feature = "remote"))]
fn remote_settings(settings: Settings, options: &seconder_open_options) -> Outcome<Settings> {
    chosen("repeats", options.repeats, &REPEATS)?;
    let given = [
        ("timeout", options.timeout_ms > 0),
        ("repeats", options.repeats != SECONDER_DEFAULT),
        ("format", options.format != SECONDER_DEFAULT),
        ("generation", options.generation != SECONDER_DEFAULT),
        ("nested_as_json", options.nested_as_json.is_set()),
    ];
    Ok(noted(settings, &given))
}

/// As for [`remote_settings`].
#[cfg(not(feature = "https"))]
unsafe fn of_network(settings: Settings, options: &seconder_open_options) -> Outcome<Settings> {
    let given = [
        ("ca_file", !options.ca_file.is_null()),
        ("pin", options.pins_count > 0),
        ("client_certificate", !options.client_certificate.is_null()),
        ("proxy", !options.proxy.is_null()),
        ("name_server", options.name_servers_count > 0),
        ("allow_loopback_http", options.allow_loopback_http.is_set()),
    ];
    Ok(noted(settings, &given))
}

/// As for [`remote_settings`].
#[cfg(not(feature = "unix"))]
fn of_socket(settings: Settings, options: &seconder_open_options) -> Settings {
    noted(settings, &[("service_uid", options.service_uid > 0)])
}

/// Notes the options that are set.
#[cfg(not(all(feature = "engine", feature = "https", feature = "unix")))]
fn noted(settings: Settings, given: &[(&'static str, bool)]) -> Settings {
    let set = given.iter().filter(|(_, set)| *set);
    set.fold(settings, |settings, (name, _)| settings.note(name))
}

/// As for [`remote_settings`].
#[cfg(not(feature = "https"))]
unsafe fn trust(settings: Settings, _: &seconder_open_options) -> Outcome<Settings> {
    Ok(settings)
}

/// The settings of an engine that are texts of their own.
///
/// # Safety
/// Every pointer is NULL or as the header requires.
#[cfg(feature = "engine")]
unsafe fn texts_of_engine(
    mut settings: Settings,
    options: &seconder_open_options,
) -> Outcome<Settings> {
    // SAFETY: promised by the caller.
    unsafe {
        if let Some(link) = ffi::text_if("install_link", options.install_link)? {
            settings = settings.install_link(link);
        }
        if let Some(limits) = ffi::text_if("limits", options.limits)? {
            settings = settings.limits(limits);
        }
        if let Some(texts) = ffi::text_if("texts", options.texts)? {
            settings = settings.texts(texts);
        }
        if let Some(domain) = ffi::text_if("otp_domain", options.otp_domain)? {
            settings = settings.otp_domain(domain);
        }
        if let Some(hosts) = ffi::text_if("push_hosts", options.push_hosts)? {
            settings = settings.push_hosts(hosts);
        }
        if let Some(plan) = ffi::text_if("plan", options.plan)? {
            settings = settings.plan(plan);
        }
        if let Some(logo) = ffi::text_if("logo", options.logo)? {
            settings = settings.logo(logo);
        }
    }
    Ok(settings)
}

/// The choices and numbers of an engine in this process.
#[cfg(feature = "engine")]
fn choices_of_engine(mut settings: Settings, options: &seconder_open_options) -> Outcome<Settings> {
    if let Some(allow) = yes_or_no("callback_private", options.callback_private)? {
        settings = settings.callback_private(allow);
    }
    if let Some(own) = yes_or_no("white_label", options.white_label)? {
        settings = settings.white_label(own);
    }
    if let Some(enabled) = yes_or_no("sms_enabled", options.sms_enabled)? {
        settings = settings.sms_enabled(enabled);
    }
    if let Some(force) = yes_or_no("force_codes", options.force_codes)? {
        settings = settings.force_codes(force);
    }
    if options.token_length > 0 {
        settings = settings.token_length(small(options.token_length));
    }
    if let Some(days) = offline_days(options.offline_days) {
        settings = settings.offline_days(days);
    }
    if options.authenticator_digits > 0 {
        settings = settings.authenticator_digits(small(options.authenticator_digits));
    }
    if let Some(period) = number_if(options.authenticator_period.into()) {
        settings = settings.authenticator_period(period);
    }
    Ok(settings)
}

/// The settings of an engine in this process.
///
/// # Safety
/// Every pointer is NULL or as the header requires.
#[cfg(feature = "engine")]
unsafe fn of_engine(
    mut settings: Settings,
    options: &seconder_open_options,
    functions: Functions,
) -> Outcome<Settings> {
    // SAFETY: promised by the caller.
    unsafe {
        if let Some(name) = ffi::text_if("application_name", options.application_name)? {
            settings = settings.application_name(name);
        }
        if let Some(url) = ffi::text_if("callback_url", options.callback_url)? {
            settings = settings.callback_url(url);
        }
        if let Some(file) = ffi::text_if("callback_ca_file", options.callback_ca_file)? {
            settings = settings.callback_ca_file(file);
        }
        settings = texts_of_engine(settings, options)?;
        if let Some(file) = ffi::text_if("keyring", options.keyring)? {
            settings = settings.keyring(file);
        }
    }
    settings = settings.must_exist(options.must_exist.is_set());
    if let Some(replies) = chosen("replies", options.replies, &GENERATIONS)? {
        settings = settings.replies(replies);
    }
    if let Some(method) = chosen("callback_method", options.callback_method, &CALLBACK_METHODS)? {
        settings = settings.callback_method(method);
    }
    settings = choices_of_engine(settings, options)?;
    let (deliver, post, lookup) = functions;
    if let Some(deliver) = deliver.given() {
        settings = settings.deliver(deliver);
    }
    if let Some(post) = post.given() {
        settings = settings.post(post);
    }
    if let Some(lookup) = lookup.given() {
        settings = settings.lookup(lookup);
    }
    Ok(settings)
}

/// In C, 0 days means the stored number. A number out of range stays out of range.
#[cfg(feature = "engine")]
fn offline_days(days: i32) -> Option<u8> {
    match days {
        0 => None,
        -1 => Some(0),
        days => Some(u8::try_from(days).unwrap_or(u8::MAX)),
    }
}

/// A number of digits. One that is too large saturates, so that it is rejected later instead of
/// wrapping into the valid range.
#[cfg(feature = "engine")]
fn small(number: u32) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// A build without an engine has no use for its options, and rejects those that have no effect, as
/// every build does. The userdata of its functions is freed at once.
#[cfg(not(feature = "engine"))]
unsafe fn of_engine(
    settings: Settings,
    options: &seconder_open_options,
    functions: Functions,
) -> Outcome<Settings> {
    let (deliver, post, lookup) = functions;
    let given = [
        ("application_name", !options.application_name.is_null()),
        ("callback_url", !options.callback_url.is_null()),
        ("callback_ca_file", !options.callback_ca_file.is_null()),
        ("install_link", !options.install_link.is_null()),
        ("limits", !options.limits.is_null()),
        ("texts", !options.texts.is_null()),
        ("otp_domain", !options.otp_domain.is_null()),
        ("plan", !options.plan.is_null()),
        ("logo", !options.logo.is_null()),
        ("white_label", options.white_label != SECONDER_DEFAULT),
        ("sms_enabled", options.sms_enabled != SECONDER_DEFAULT),
        ("force_codes", options.force_codes != SECONDER_DEFAULT),
        ("push_hosts", !options.push_hosts.is_null()),
        ("replies", options.replies != SECONDER_DEFAULT),
        ("callback_method", options.callback_method != SECONDER_DEFAULT),
        ("callback_private", options.callback_private != SECONDER_DEFAULT),
        ("token_length", options.token_length > 0),
        ("authenticator_digits", options.authenticator_digits > 0),
        ("authenticator_period", options.authenticator_period > 0),
        ("offline_days", options.offline_days != 0),
        ("deliver", deliver.given().is_some()),
        ("post", post.given().is_some()),
        ("lookup", lookup.given().is_some()),
        ("must_exist", options.must_exist.is_set()),
        ("keyring", !options.keyring.is_null()),
    ];
    Ok(noted(settings, &given))
}

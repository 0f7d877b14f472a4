//! The options of `seconder_open` as [`Settings`].

use super::deliver::seconder_deliver;
use super::ffi::{self, Flag, Outcome};
use super::generated::open_options::seconder_open_options;
use super::lookup::seconder_lookup;
use super::names;
use super::post::seconder_post;
use super::status::*;
use super::userdata::ByFunction;
use crate::app_settings::{APP_SETTINGS, SettingKind};
use crate::open_options::OPEN_OPTIONS;
use crate::{Error, Service, Settings};
use std::borrow::Cow;
use std::ffi::c_char;
use std::time::Duration;

/// The functions of the program that an engine calls.
type Functions =
    (ByFunction<seconder_deliver>, ByFunction<seconder_post>, ByFunction<seconder_lookup>);

/// The longest time limit of a call, the same as in [`Settings::timeout`].
const LONGEST_MS: u32 = 3_600_000;

/// The value of a field of the options, which is NULL or 0 for the default.
pub(super) enum Field {
    Text(*const c_char),
    /// The name of the count, the texts, and the count.
    Texts(&'static str, *const *const c_char, usize),
    Milliseconds(u32),
    Number(u32),
    /// A number with -1 in place of 0.
    NumberOrZero(i32),
    /// A constant: the place of a name in the list of all, counted from 1.
    Choice(i32),
    Switch(Flag),
}

impl Field {
    /// The values as text, which is empty for the default.
    ///
    /// # Safety
    /// Every pointer is NULL or as the header requires.
    unsafe fn texts<'a>(&self, name: &'static str) -> Outcome<Vec<Cow<'a, str>>> {
        // SAFETY: promised by the caller.
        let text = unsafe {
            match *self {
                Field::Text(text) => {
                    return Ok(ffi::text_if(name, text)?.map(Cow::Borrowed).into_iter().collect());
                }
                Field::Texts(count_name, texts, count) => {
                    let texts = ffi::texts([name, count_name], texts, count)?;
                    return Ok(texts.into_iter().map(Cow::Borrowed).collect());
                }
                Field::Milliseconds(time) => {
                    (time > 0).then(|| format!("{}.{:03}", time / 1000, time % 1000))
                }
                Field::Number(number) => (number > 0).then(|| number.to_string()),
                Field::NumberOrZero(-1) => Some("0".to_owned()),
                Field::NumberOrZero(number) => (number != 0).then(|| number.to_string()),
                Field::Choice(number) => constant(name, number)?.map(str::to_owned),
                Field::Switch(flag) => flag.is_set().then(|| "yes".to_owned()),
            }
        };
        Ok(text.map(Cow::Owned).into_iter().collect())
    }
}

/// The name that a constant stands for: the constants of an option are the places of the names, counted from 1. `None`
/// for the default.
fn constant(option: &'static str, number: i32) -> crate::Result<Option<&'static str>> {
    let options = OPEN_OPTIONS.iter().map(|option| (option.argument, &option.kind));
    let settings = APP_SETTINGS.iter().map(|setting| (setting.name, &setting.kind));
    let names = match options.chain(settings).find(|(known, _)| *known == option) {
        Some((_, SettingKind::Choice(names))) => names,
        _ => ["yes", "no"].as_slice(),
    };
    let choices: Vec<(i32, &str)> = (1..).zip(names.iter().copied()).collect();
    chosen(option, number, &choices)
}

/// # Safety
/// Every pointer is NULL or as the header requires.
pub(super) unsafe fn open(
    url: *const c_char,
    api_key: *const c_char,
    options: &seconder_open_options,
    functions: Functions,
) -> Outcome<Service> {
    let in_c = |error| Settings::by_argument(error, true);
    // SAFETY: promised by the caller.
    unsafe {
        let mut settings = Settings::new(ffi::text("url", url)?);
        if let Some(key) = ffi::text_if("api_key", api_key)? {
            settings = settings.api_key(key);
        }
        if let Some(names) = names::given(options.names, options.names_size)? {
            settings = settings.names(names);
        }
        for (name, field) in options.fields() {
            for text in field.texts(name)? {
                settings = settings.set_value(name, &text).map_err(in_c)?;
            }
        }
        Ok(opened(with_functions(settings, functions)).map_err(in_c)?)
    }
}

/// Returns whether a text can have an option. The API key is an argument of its own.
fn is_option(name: &str) -> bool {
    let mut options = OPEN_OPTIONS.iter().map(|option| option.argument);
    name != "api_key"
        && (options.any(|known| known == name)
            || APP_SETTINGS.iter().any(|known| known.name == name))
}

/// Opens a service with a line for each option.
///
/// # Safety
/// Every pointer is NULL or as the header requires.
pub(super) unsafe fn open_text(
    url: *const c_char,
    api_key: *const c_char,
    options: *const c_char,
) -> Outcome<Service> {
    // SAFETY: promised by the caller.
    let (url, api_key, options) = unsafe {
        (
            ffi::text("url", url)?,
            ffi::text_if("api_key", api_key)?,
            ffi::text_if("options", options)?,
        )
    };
    let by_argument = |error| Settings::by_argument(error, false);
    let mut settings = Settings::new(url);
    if let Some(key) = api_key {
        settings = settings.api_key(key);
    }
    let mut seen = Vec::new();
    for (line, number) in options.unwrap_or_default().lines().zip(1..) {
        if line.is_empty() {
            continue;
        }
        // Nothing of the line is repeated: it may be a secret that stands in the wrong place.
        let wrong =
            |reason| Error::invalid_argument("options", format!("{reason} in line {number}"));
        let (name, value) = line.split_once('=').ok_or_else(|| wrong("must have name=value"))?;
        if !is_option(name) {
            return Err(wrong("must have the name of an option").into());
        }
        if seen.contains(&name) {
            return Err(wrong("must not have an option again").into());
        }
        seen.push(name);
        settings = settings.set(name, value).map_err(by_argument)?;
    }
    Ok(opened(settings).map_err(by_argument)?)
}

/// Opens the service. The functions of tests take one of a sandbox.
#[cfg(feature = "engine")]
fn opened(settings: Settings) -> crate::Result<Service> {
    crate::sandbox::open(settings)
}

#[cfg(not(feature = "engine"))]
fn opened(settings: Settings) -> crate::Result<Service> {
    settings.open()
}

/// The service with another time limit or another choice of retries; 0 keeps the present one.
pub(super) fn with(service: &Service, timeout_ms: u32, repeats: i32) -> Outcome<Service> {
    let repeats = constant("repeats", repeats)?.map(str::parse).transpose()?;
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

#[cfg(feature = "engine")]
fn with_functions(mut settings: Settings, (deliver, post, lookup): Functions) -> Settings {
    if let Some(deliver) = deliver.given() {
        settings = settings.deliver(deliver);
    }
    if let Some(post) = post.given() {
        settings = settings.post(post);
    }
    if let Some(lookup) = lookup.given() {
        settings = settings.lookup(lookup);
    }
    settings
}

/// Notes the functions, so that every URL that a build without an engine can open rejects them. Their userdata is freed
/// at once.
#[cfg(not(feature = "engine"))]
fn with_functions(settings: Settings, (deliver, post, lookup): Functions) -> Settings {
    let functions = [
        ("deliver", deliver.given().is_some()),
        ("post", post.given().is_some()),
        ("lookup", lookup.given().is_some()),
    ];
    let given = functions.into_iter().filter(|(_, is_given)| *is_given);
    given.fold(settings, |settings, (name, _)| settings.note(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_places_of_names() {
        for (option, number, name) in [
            ("repeats", SECONDER_REPEATS_NONE, "none"),
            ("repeats", SECONDER_REPEATS_QUESTIONS, "questions"),
            ("repeats", SECONDER_REPEATS_ALL, "all"),
            ("format", SECONDER_FORMAT_JSON, "json"),
            ("format", SECONDER_FORMAT_XML, "xml"),
            ("generation", SECONDER_GENERATION_CURRENT, "current"),
            ("replies", SECONDER_GENERATION_OLDER, "older"),
            ("callback_method", SECONDER_CALLBACK_METHOD_POST, "post"),
            ("callback_method", SECONDER_CALLBACK_METHOD_GET, "get"),
            ("sms_enabled", SECONDER_YES, "yes"),
            ("sms_enabled", SECONDER_NO, "no"),
        ] {
            assert_eq!(constant(option, number).unwrap(), Some(name));
        }
        assert_eq!(constant("repeats", SECONDER_DEFAULT).unwrap(), None);
        assert!(constant("format", 3).is_err() && constant("format", -1).is_err());
    }
}

//! The options of `seconder_open` as [`Settings`].

use super::ffi::{self, Flag, Outcome};
use super::generated::open_options::seconder_open_options;
use super::status::*;
use super::{deliver, lookup, names, post};
use crate::app_settings::{APP_SETTINGS, SettingKind};
use crate::open_options::OPEN_OPTIONS;
use crate::remote::Repeats;
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

/// The value of a field of the options, which is NULL or 0 for the default.
pub(super) enum Given {
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

impl Given {
    /// The values as text, which is empty for the default.
    ///
    /// # Safety
    /// Every pointer is NULL or as the header requires.
    unsafe fn texts(&self, name: &'static str) -> Outcome<Vec<String>> {
        // SAFETY: promised by the caller.
        let text = unsafe {
            match *self {
                Given::Text(text) => ffi::text_if(name, text)?.map(str::to_owned),
                Given::Texts(count_name, texts, count) => {
                    let texts = ffi::texts([name, count_name], texts, count)?;
                    return Ok(texts.into_iter().map(str::to_owned).collect());
                }
                Given::Milliseconds(time) => {
                    (time > 0).then(|| format!("{}.{:03}", time / 1000, time % 1000))
                }
                Given::Number(number) => (number > 0).then(|| number.to_string()),
                Given::NumberOrZero(-1) => Some("0".to_owned()),
                Given::NumberOrZero(number) => (number != 0).then(|| number.to_string()),
                Given::Choice(number) => {
                    let choices: Vec<(i32, &str)> =
                        (1..).zip(choices(name).iter().copied()).collect();
                    chosen(name, number, &choices)?.map(str::to_owned)
                }
                Given::Switch(flag) => flag.is_set().then(|| "yes".to_owned()),
            }
        };
        Ok(Vec::from_iter(text))
    }
}

/// The names of the values that an option can have.
fn choices(name: &str) -> &'static [&'static str] {
    let options = OPEN_OPTIONS.iter().map(|option| (option.argument, &option.kind));
    let settings = APP_SETTINGS.iter().map(|setting| (setting.name, &setting.kind));
    match options.chain(settings).find(|(known, _)| *known == name) {
        Some((_, SettingKind::Choice(names))) => names,
        _ => &["yes", "no"],
    }
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
        for (name, given) in options.given() {
            for text in given.texts(name)? {
                settings = settings.set_value(name, &text).map_err(in_c)?;
            }
        }
        Ok(with_functions(settings, functions).open().map_err(in_c)?)
    }
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
    for line in options.unwrap_or_default().lines().filter(|line| !line.is_empty()) {
        // The line is not repeated: it may hold a password.
        let wrong = |reason: &str| Error::invalid_argument("options", reason.to_owned());
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| wrong("must have a line name=value for each option"))?;
        if seen.contains(&name) {
            return Err(wrong("must have each option once").into());
        }
        seen.push(name);
        settings = match name {
            "api_key" => return Err(wrong("must not have api_key, which is an argument").into()),
            _ => settings.set(name, value).map_err(by_argument)?,
        };
    }
    Ok(settings.open().map_err(by_argument)?)
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

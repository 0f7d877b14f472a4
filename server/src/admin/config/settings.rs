//! The settings of a configuration file, each checked by the option that it is.

use super::options::{key, option, options};
use super::problems::{Place, Places, Problem};
use crate::admin::app::options::of_option;
use crate::admin::database::check_database_url;
use crate::admin::database::network::{check_name_server, check_proxy};
use crate::admin::database::url::check_database;
use crate::admin::serve::forwarding::check_forward_url;
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Command};
use seconder::Settings;
use seconder::engine::operator::AppSettings;
use seconder::engine::{AppSetting, PushHosts, SettingKind};
use seconder::wire::Names;
#[cfg(unix)]
use seconder_server::{PeerRules, SocketOptions};
use std::collections::BTreeSet;
use std::error::Error;
use std::ffi::OsString;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The URL of an engine for which settings are checked; any will do.
pub(super) const IN_MEMORY: &str = "sandbox:";

/// A setting, as options have it.
pub(super) struct Setting {
    /// The option, without its hyphens.
    pub(super) name: String,
    /// The position of its name.
    pub(super) place: Place,
    /// Set if it has a value, valid or not: an empty list has none, nor has an option that is off.
    pub(super) is_given: bool,
    /// The values that are valid.
    pub(super) values: Vec<Value>,
}

pub(super) struct Value {
    /// The text; `None` for an option without a value.
    pub(super) text: Option<String>,
    pub(super) place: Place,
}

impl Setting {
    pub(super) fn key(&self) -> String {
        self.name.replace('-', "_")
    }

    pub(super) fn arguments(&self) -> impl Iterator<Item = OsString> {
        self.values.iter().map(|value| {
            OsString::from(match &value.text {
                Some(value) => format!("--{}={value}", self.name),
                None => format!("--{}", self.name),
            })
        })
    }
}

/// Reads the settings of a text. Also returns the errors in each of them, and whether these are all: text that is not
/// TOML may be a setting too.
pub(super) fn read(text: &str, serve: &Command) -> (Vec<Setting>, Vec<Problem>, bool) {
    let places = &Places::of(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut wrong: Vec<Problem> = errors
        .iter()
        .map(|error| places.problem(&error.span().unwrap_or_default(), error.message()))
        .collect();
    let mut settings = Vec::new();
    for (name, value) in table.get_ref() {
        let arg = option(serve, &name.get_ref().replace('_', "-"));
        let arg = arg.filter(|arg| options(serve).any(|other| other.get_id() == arg.get_id()));
        match arg.filter(|arg| key(arg) == **name.get_ref()) {
            Some(arg) => {
                let place = places.place(&name.span());
                settings.push(setting(arg, (place, value), places, &mut wrong));
            }
            None => wrong.push(places.problem(&name.span(), unknown(name.get_ref(), serve))),
        }
    }
    // A key that is there twice is not missing.
    let is_whole = errors.iter().all(|error| error.message() == "duplicate key");
    (settings, wrong, is_whole)
}

fn unknown(name: &str, serve: &Command) -> String {
    let known = options(serve).map(key);
    let near = known
        .map(|known| (strsim::jaro_winkler(name, &known), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    match near {
        Some((_, known)) => format!("{name} is no setting; there is {known}"),
        None => {
            format!("{name} is no setting; `seconder config example` prints all that there are")
        }
    }
}

fn setting(
    arg: &Arg,
    (place, value): (Place, &Spanned<DeValue<'_>>),
    places: &Places<'_>,
    wrong: &mut Vec<Problem>,
) -> Setting {
    let before = wrong.len();
    let mut values = Vec::new();
    let list: Vec<(Option<&str>, &Spanned<DeValue<'_>>)> = match (value.get_ref(), kind(arg)) {
        (DeValue::Array(list), Kind::List | Kind::Pairs) => {
            list.iter().map(|value| (None, value)).collect()
        }
        (DeValue::Table(table), Kind::Pairs) => {
            table.iter().map(|(name, value)| (Some(&**name.get_ref()), value)).collect()
        }
        _ => vec![(None, value)],
    };
    for (name, value) in list {
        let read = match kind(arg) {
            Kind::Flag => flag(value.get_ref()).map(|given| given.then_some(None)),
            _ => text(arg, value.get_ref()).and_then(|text| {
                let text = name.map_or(text.clone(), |name| format!("{name}={text}"));
                check(arg, &text).map(|()| Some(Some(text)))
            }),
        };
        match read {
            Ok(text) => {
                let place = places.place(&value.span());
                if let Some(limit) =
                    repeated(arg, &values, text.as_ref().and_then(Option::as_deref))
                {
                    let reason = format!("{} has {limit} twice", key(arg));
                    wrong.push(Problem::at(place, reason));
                }
                values.extend(text.map(|text| Value { text, place }));
            }
            Err(reason) => {
                let reason = format!("{} {reason}", key(arg));
                wrong.push(places.problem(&value.span(), reason));
            }
        }
    }
    let name = arg.get_long().unwrap_or_default().to_owned();
    Setting { name, place, is_given: !values.is_empty() || wrong.len() > before, values }
}

/// The kind of value that an option takes.
enum Kind {
    Flag,
    One,
    List,
    /// A list of NAME=VALUE, which a table is too.
    Pairs,
}

fn kind(arg: &Arg) -> Kind {
    let names = arg.get_value_names().unwrap_or_default();
    match arg.get_action() {
        ArgAction::SetTrue => Kind::Flag,
        ArgAction::Append if names.iter().any(|name| name.contains('=')) => Kind::Pairs,
        ArgAction::Append => Kind::List,
        _ => Kind::One,
    }
}

/// Returns a limit that a list has twice, which a table cannot have. The command line may override one of the file.
fn repeated<'a>(arg: &Arg, earlier: &[Value], text: Option<&'a str>) -> Option<&'a str> {
    let text = text.filter(|_| arg.get_long() == Some("limit"))?;
    let earlier = earlier.iter().filter_map(|value| value.text.as_deref());
    let mut known: BTreeSet<_> = earlier.flat_map(limit_names).collect();
    limit_names(text).find(|name| !known.insert(name))
}

/// Returns the names in a list of limits, such as `sends=3,tries=4`.
fn limit_names(text: &str) -> impl Iterator<Item = &str> {
    let pairs = text.split(|c: char| c == ',' || c.is_whitespace());
    pairs.filter_map(|pair| Some(pair.split_once('=')?.0))
}

/// Returns whether the option is to be given.
fn flag(value: &DeValue<'_>) -> Result<bool, String> {
    match value {
        DeValue::Boolean(value) => Ok(*value),
        _ => Err("must be true or false".to_owned()),
    }
}

/// Returns a value in the form of the option.
fn text(arg: &Arg, value: &DeValue<'_>) -> Result<String, String> {
    let takes_yes = arg.get_value_parser().type_id() == ValueParser::bool().type_id();
    let is_pairs = matches!(kind(arg), Kind::Pairs);
    Ok(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Boolean(value) if takes_yes => value.to_string(),
        // As in countries = [1, 44].
        DeValue::Array(list) if is_pairs && !list.is_empty() => {
            let parts = list.iter().map(|part| text(arg, part.get_ref()));
            parts.collect::<Result<Vec<_>, _>>()?.join("+")
        }
        DeValue::Array(_) if is_pairs => return Err("has an empty list".to_owned()),
        DeValue::Array(_) => return Err("takes one value, and no list".to_owned()),
        _ if takes_yes => return Err("must be true or false".to_owned()),
        _ => return Err("must be a text or a number".to_owned()),
    })
}

/// Rejects a value that the option does not accept, and says why.
fn check(arg: &Arg, value: &str) -> Result<(), String> {
    // The rejected value may be a password.
    match arg.get_long() {
        Some("database") => {
            return check_database(value).and_then(|()| valid("database", value));
        }
        Some("proxy") => return check_proxy(value).map_err(reason),
        _ => {}
    }
    accepted(arg, value)
        .and_then(|()| valid(arg.get_long().unwrap_or_default(), value))
        .map_err(|reason| format!("has the invalid value {value:?}: {reason}"))
}

/// Rejects an invalid value that the option takes as it is, because it is read later.
fn valid(option: &str, value: &str) -> Result<(), String> {
    if let Some(setting) = of_option(option) {
        return of_application(setting, value).map_err(reason);
    }
    let checked = match option {
        "database" => check_database_url(value),
        "push-host" => value.parse::<PushHosts>().map(drop),
        "forward" => check_forward_url(value),
        "name-server" => check_name_server(value),
        "names" => Names::new(value).map(drop),
        "id-field" => Names::default().id_field(value).map(drop),
        "header-prefix" => Names::default().header_prefix(value).map(drop),
        "chrome-device" => Names::default().chrome_device(value).map(drop),
        "push-path" => Names::default().push_path(value).map(drop),
        #[cfg(unix)]
        "unix-mode" => return socket(SocketOptions::parse(None, None, Some(value))),
        #[cfg(unix)]
        "unix-owner" => return socket(SocketOptions::parse(Some(value), None, None)),
        #[cfg(unix)]
        "unix-group" => return socket(SocketOptions::parse(None, Some(value), None)),
        #[cfg(unix)]
        "allow" => {
            return PeerRules::parse(&[value]).map(drop).map_err(|problems| problems.join("; "));
        }
        _ => Ok(()),
    };
    checked.map_err(reason)
}

/// Checks a setting of the application. The option itself has checked yes and no, and texts are in a file.
fn of_application(setting: &AppSetting, value: &str) -> seconder::Result<()> {
    if matches!(setting.kind, SettingKind::YesNo | SettingKind::Texts) {
        return Ok(());
    }
    let mut given = AppSettings::default();
    given.set(setting.name, value)?;
    Settings::new(IN_MEMORY).app_settings(given).check()
}

/// Returns the text of an error, without the name of a parameter.
pub(super) fn reason(error: seconder::Error) -> String {
    match error {
        seconder::Error::InvalidArgument { reason, .. } => reason.into_owned(),
        other => other.to_string(),
    }
}

/// Checks the options of a socket's file. The problems begin with the option.
#[cfg(unix)]
fn socket(options: Result<SocketOptions, Vec<String>>) -> Result<(), String> {
    let without_option = |problem: String| match problem.split_once(' ') {
        Some((option, reason)) if option.starts_with("--") => reason.to_owned(),
        _ => problem,
    };
    options
        .map(drop)
        .map_err(|problems| problems.into_iter().map(without_option).collect::<Vec<_>>().join("; "))
}

fn accepted(arg: &Arg, value: &str) -> Result<(), String> {
    let parser: ValueParser = arg.get_value_parser().clone();
    let alone = Arg::new("value").required(true).allow_hyphen_values(true).value_parser(parser);
    let parsed = Command::new("").no_binary_name(true).arg(alone).try_get_matches_from([value]);
    let Err(error) = parsed else { return Ok(()) };
    Err(match error.source() {
        Some(source) => source.to_string(),
        None => Problem::of_all(&error).wrong,
    })
}

/// Returns the value of a setting for the example: its default, or its kind.
pub(super) fn shown(arg: &Arg) -> String {
    let default = arg.get_default_values().first().map(|value| value.to_string_lossy());
    let names = arg.get_value_names().unwrap_or_default();
    let name = names.first().map_or("", |name| name.as_str());
    match (kind(arg), default) {
        (Kind::Flag, _) => "true".to_owned(),
        (Kind::One, Some(default)) => format!("{:?}", &*default),
        (Kind::One, None) => format!("{name:?}"),
        (Kind::List | Kind::Pairs, _) => format!("[{name:?}]"),
    }
}

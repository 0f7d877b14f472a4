//! Reading the values of keys.

use super::entries::{Entries, Entry};
use super::keys::{KEYS, Needs};
use super::{Config, FirstPass, Method, Offer, Offline, Opened, Place, Problem, Users, Who, open};
use crate::networks::Network;
use crate::trusted_file::{self, Readers};
use crate::users::is_login_name;
use seconder::model::Secret;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest question of an approval request, before names are put into it.
const LONGEST_MESSAGE: usize = 200;

/// The keys that were given, and the errors in them.
pub(super) struct Values<'a> {
    entries: Entries,
    opened: Option<Opened<'a>>,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Values<'a> {
    pub(super) fn new(
        entries: Entries,
        opened: Option<Opened<'a>>,
        problems: &'a mut Vec<Problem>,
    ) -> Values<'a> {
        Values { entries, opened, problems }
    }

    /// Reads the configuration. It must not be used if there are problems, to which every error in it is added.
    pub(super) fn config(&mut self) -> Config {
        let url = match self.opened {
            Some(opened) => Some(opened.remote_url.unwrap_or_default().to_owned()),
            None => self.value("url", url),
        };
        let (https, unix) = match &url {
            Some(url) => (url.starts_with("https:"), url.starts_with("unix:")),
            // Other errors cannot be found then.
            None => (true, true),
        };
        let users = self.value("users", users);
        let first_pass = self.first_pass();
        let offline = self.offline();
        let command = matches!(users, None | Some(Users::Command(_)));
        let with_code = matches!(first_pass, None | Some(FirstPass::WithCode(_)));
        self.check_effects(|needs| match needs {
            Needs::Nothing => true,
            Needs::Https => https,
            Needs::Unix => unix,
            Needs::Command => command,
            Needs::WithCode => with_code,
            Needs::Offline => offline.is_some(),
        });
        let config = Config {
            service_user: self.service_user(),
            api_key: self.api_key(https && !unix && self.opened.is_none()),
            ca_file: self.trusted("ca_file"),
            pins: self.given("pin", words).unwrap_or_default(),
            proxy: self.given("proxy", |text| Some(Secret::new(text))),
            name_servers: self.given("name_server", addresses).unwrap_or_default(),
            names: self.given("names", |text| seconder::wire::Names::new(text).ok()),
            timeout: self.seconds("timeout", 300),
            approval_timeout: self.seconds("approval_timeout", 600),
            tries: self.number("tries", 1, 10),
            method: self.value("method", method).unwrap_or(Method::Code),
            offer: self.value("offer", offer).unwrap_or_default(),
            command_timeout: self.seconds("command_timeout", 60),
            ignore_unenrolled: self.value("unenrolled", deny_or_ignore).unwrap_or_default(),
            ignore_trouble: self.value("on_trouble", deny_or_ignore).unwrap_or_default(),
            only: self.given("only", who).unwrap_or_default(),
            except: self.given("except", who).unwrap_or_default(),
            trusted_networks: self.given("trusted_networks", networks).unwrap_or_default(),
            approval_message: self.value("approval_message", message).unwrap_or_default(),
            number_digits: self.value("number_digits", number_digits).flatten(),
            url: url.unwrap_or_default(),
            users: self.checked(users),
            first_pass: first_pass.unwrap_or(FirstPass::No),
            offline: offline.flatten(),
            effective: self.effective(https, unix),
        };
        if self.problems.is_empty() && self.opened.is_none() {
            let places =
                |name: &str| self.entries.get(name).map(|entry: &Entry| entry.place.clone());
            self.problems.extend(open::check(&config, &places));
        }
        config
    }

    /// Reads the value of a key, or its default. A value that cannot be read is a problem.
    fn value<T>(&mut self, name: &'static str, read: fn(&str) -> Option<T>) -> Option<T> {
        if self.entries.contains_key(name) {
            return self.given(name, read);
        }
        let key = KEYS.iter().find(|key| key.name == name)?;
        read(key.default)
    }

    /// Reads the value of a key that was given.
    fn given<T>(&mut self, name: &str, read: fn(&str) -> Option<T>) -> Option<T> {
        let entry = self.entries.get(name)?;
        let value = read(&entry.value);
        if value.is_none() {
            let text = format!("{name} must be {}", entry.key.values);
            self.problems.push(entry.place.problem(text));
        }
        value
    }

    fn number(&mut self, name: &'static str, least: u32, most: u32) -> u32 {
        let value = self.value(name, number).unwrap_or(least);
        if !(least..=most).contains(&value) {
            self.problem(name, |entry| format!("{name} must be {}", entry.key.values));
            return least;
        }
        value
    }

    fn seconds(&mut self, name: &'static str, most: u32) -> Duration {
        Duration::from_secs(self.number(name, 1, most).into())
    }

    fn problem(&mut self, name: &str, text: impl FnOnce(&Entry) -> String) {
        if let Some(entry) = self.entries.get(name) {
            self.problems.push(entry.place.problem(text(entry)));
        }
    }

    fn check_effects(&mut self, holds: impl Fn(Needs) -> bool) {
        for entry in self.entries.values() {
            let (name, needs) = (entry.key.name, entry.key.needs);
            let reason = match self.opened {
                Some(_) if entry.key.connects() => {
                    "the program has opened the service itself".into()
                }
                Some(Opened { remote_url: None, .. })
                    if name == "offline" && entry.value == "yes" =>
                {
                    "the service is in this process, and always reached".into()
                }
                _ if holds(needs) => continue,
                _ => format!("it is for {}", needs.text()),
            };
            self.problems
                .push(entry.place.problem(format!("{name} has no effect: {reason}. Remove it")));
        }
    }

    fn first_pass(&mut self) -> Option<FirstPass> {
        let digits = self.number("code_length", 6, 12);
        let read = |text: &str| match text {
            "no" => Some(FirstPass::No),
            "try" => Some(FirstPass::Try),
            "use" => Some(FirstPass::Use),
            "with_code" => Some(FirstPass::WithCode(0)),
            _ => None,
        };
        self.value("first_pass", read).map(|found| match found {
            FirstPass::WithCode(_) => FirstPass::WithCode(digits as usize),
            other => other,
        })
    }

    /// Reads the settings of offline logins: `None` if `offline=no`; `Some(None)` if they cannot be read.
    fn offline(&mut self) -> Option<Option<Offline>> {
        let yes = self.value("offline", |text| match text {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        });
        let (days, logins) =
            (self.number("offline_days", 1, 7), self.number("offline_logins", 1, 100));
        let cache = self.value("offline_cache", absolute);
        match yes {
            Some(false) => None,
            Some(true) => Some(cache.map(|cache| Offline { cache, days, logins })),
            None => Some(None),
        }
    }

    fn service_user(&mut self) -> Option<u32> {
        let entry = self.entries.get("service_user")?;
        if let Some(uid) = number(&entry.value) {
            return Some(uid);
        }
        match nix::unistd::User::from_name(&entry.value) {
            Ok(Some(user)) => Some(user.uid.as_raw()),
            _ => {
                self.problem("service_user", |_| {
                    "service_user: this machine has no such user".into()
                });
                None
            }
        }
    }

    fn api_key(&mut self, required: bool) -> Option<Secret> {
        let Some(path) = self.given("api_key_file", absolute) else {
            if required && !self.entries.contains_key("api_key_file") {
                let place = self.place("url");
                self.problems.push(place.problem(
                    "an https: url needs api_key_file, the absolute path of a file with the API key",
                ));
            }
            return None;
        };
        let read = trusted_file::read(&path, Readers::Few);
        let line =
            |text: &Secret| text.expose().lines().next().unwrap_or_default().trim().to_owned();
        match read.map(|text| line(&text)) {
            Ok(line) if line.is_empty() => {
                let text = format!("{} holds no API key in its first line", path.display());
                self.problem("api_key_file", |_| text);
                None
            }
            Ok(line) => Some(Secret::new(line)),
            Err(reason) => {
                self.problem("api_key_file", |_| format!("{} {reason}", path.display()));
                None
            }
        }
    }

    /// Reads and checks the path of a file that decides whom to trust. Other code reads the file.
    fn trusted(&mut self, name: &str) -> Option<PathBuf> {
        let path = self.given(name, absolute)?;
        if let Err(reason) = trusted_file::open_trusted(&path) {
            self.problem(name, |_| format!("{} {reason}", path.display()));
        }
        Some(path)
    }

    /// Checks the program of `users=command:`; a file is checked when it is read.
    fn checked(&mut self, users: Option<Users>) -> Users {
        let users = users.unwrap_or(Users::Directory);
        if let Users::Command(path) = &users
            && let Err(reason) = trusted_file::check_program(path)
        {
            self.problem("users", |_| format!("{} {reason}", path.display()));
        }
        users
    }

    fn place(&self, name: &str) -> Place {
        self.entries.get(name).map_or_else(Place::arguments, |entry| entry.place.clone())
    }

    /// Returns the settings in effect, and the place where each was set.
    fn effective(&self, https: bool, unix: bool) -> Vec<(&'static str, String, String)> {
        let shown = |entry: &Entry| match entry.key.name {
            "proxy" if entry.value.contains('@') => "(with a password)".to_owned(),
            _ => crate::clean::clean(&entry.value),
        };
        let applies = |needs| match needs {
            Needs::Nothing => true,
            Needs::Https => https,
            Needs::Unix => unix,
            _ => false,
        };
        let keys = KEYS.iter().filter(|key| self.opened.is_none() || !key.connects());
        let effective = keys.filter_map(|key| match self.entries.get(key.name) {
            Some(entry) => Some((key.name, shown(entry), entry.place.to_string())),
            None if key.default.is_empty() || !applies(key.needs) => None,
            None => Some((key.name, key.default.to_owned(), "default".to_owned())),
        });
        effective.collect()
    }
}

/// Parses digits alone: `parse` accepts a sign.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

fn words(text: &str) -> Option<Vec<String>> {
    Some(text.split_whitespace().map(str::to_owned).collect())
}

fn absolute(text: &str) -> Option<PathBuf> {
    Path::new(text).is_absolute().then(|| PathBuf::from(text))
}

fn url(text: &str) -> Option<String> {
    let right = text
        .strip_prefix("unix:")
        .map_or(text.starts_with("https://"), |path| path.starts_with('/') && !path.contains('\0'));
    right.then(|| text.to_owned())
}

fn users(text: &str) -> Option<Users> {
    match text.split_once(':') {
        None if text == "directory" => Some(Users::Directory),
        Some(("file", path)) => absolute(path).map(Users::File),
        Some(("command", path)) => absolute(path).map(Users::Command),
        _ => None,
    }
}

fn method(text: &str) -> Option<Method> {
    Some(match text {
        "ask" => Method::Ask,
        "code" => Method::Code,
        "sms" => Method::Sms,
        "call" => Method::Call,
        "push" => Method::Push,
        _ => return None,
    })
}

fn offer(text: &str) -> Option<Offer> {
    let mut offer = Offer::default();
    if text == "none" {
        return Some(offer);
    }
    for word in text.split_whitespace() {
        let flag = match word {
            "push" => &mut offer.push,
            "sms" => &mut offer.sms,
            "call" => &mut offer.call,
            _ => return None,
        };
        if std::mem::replace(flag, true) {
            return None;
        }
    }
    Some(offer)
}

fn deny_or_ignore(text: &str) -> Option<bool> {
    match text {
        "deny" => Some(false),
        "ignore" => Some(true),
        _ => None,
    }
}

fn who(text: &str) -> Option<Vec<Who>> {
    let one = |word: &str| match word.strip_prefix('@') {
        Some(group) => is_login_name(group).then(|| Who::Group(group.to_owned())),
        None => is_login_name(word).then(|| Who::User(word.to_owned())),
    };
    text.split_whitespace().map(one).collect()
}

fn networks(text: &str) -> Option<Vec<Network>> {
    text.split_whitespace().map(Network::parse).collect()
}

/// Checks a template: it has only the three names in braces, and can be sent to a phone.
fn message(text: &str) -> Option<String> {
    let plain = ["{user}", "{host}", "{service}"]
        .iter()
        .fold(text.to_owned(), |text, name| text.replace(name, ""));
    let right = text.len() <= LONGEST_MESSAGE && !plain.contains(['{', '}']);
    right.then(|| text.to_owned())
}

/// Reads addresses, each with a port or without. The word for the system's resolver is rejected: that would start threads in
/// the program that asks, and load what `nsswitch.conf` names.
fn addresses(text: &str) -> Option<Vec<String>> {
    words(text).filter(|words| words.iter().all(|word| word != "system"))
}

/// Reads a number of digits that the engine and phones know, or the word for the application's own.
fn number_digits(text: &str) -> Option<Option<u64>> {
    match text {
        "service" => Some(None),
        "0" | "2" | "3" | "6" => Some(text.parse().ok()),
        _ => None,
    }
}

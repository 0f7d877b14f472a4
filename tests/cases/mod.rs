//! Runs the cases of `tests/vectors/calls/*.txt` against anything that handles calls.
//! `tests/vectors/calls/README.md` describes their format.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::fresh::ManualClock;
use seconder::calls::{self, HandleAll, ROUTES};
use seconder::engine::{Clock, Deliver, Engine, Message, Outcome, RespondToApproval};
use seconder::model::{DeviceId, Secret};
use seconder::otp::Totp;
use seconder::wire::{Format, Generation, Reply, form};
use seconder::{Service, Settings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

pub(crate) mod raw;

use raw::{DIALECTS, Dialect, Raw, Response};

/// Sends a request, to the engine or to a server in front of it.
type Sender = dyn Fn(&Engine, Raw) -> Response;

/// An engine whose clock and messages the test controls.
pub(crate) struct World {
    pub(crate) engine: Engine,
    clock: ManualClock,
    sent: Arc<Mutex<Vec<Message>>>,
    variables: BTreeMap<String, String>,
    /// The authenticator apps whose codes were asked for.
    apps: Vec<Totp>,
    /// How `>>` lines are written, and what sends them.
    pub(crate) dialect: Dialect,
    pub(crate) send_raw: Box<Sender>,
}

/// Keeps the messages that are sent. While it is busy, each has to wait for another attempt.
struct Phones {
    sent: Arc<Mutex<Vec<Message>>>,
    busy: bool,
}

impl Deliver for Phones {
    fn deliver(&self, message: &Message) -> Result<(), String> {
        self.sent.lock().unwrap().push(message.clone());
        Ok(())
    }

    fn attempt(&self, message: &Message, _route: &str) -> Outcome {
        match self.busy {
            true => Outcome::Retry { after: None, reason: "the phones are busy".into() },
            false => {
                self.deliver(message).map_or_else(Outcome::Permanent, |()| Outcome::Sent(None))
            }
        }
    }
}

impl World {
    /// A new engine with these settings, those that the cases ask for and those of its own, and the
    /// service on it.
    pub(crate) fn new(
        folder: &Path,
        cases: &str,
        configure: impl FnOnce(Settings) -> Settings,
    ) -> (World, Service) {
        let clock = ManualClock::at(1_786_924_800);
        let sent: Arc<Mutex<Vec<Message>>> = Arc::default();
        let keep = Arc::clone(&sent);
        let url = format!("sqlite:{}", folder.join("test.db").display());
        let settings = with(Settings::new(&url), cases);
        let service = configure(settings)
            .api_key("key-for-tests")
            .application_name("Test")
            .clock(clock.clone())
            .deliver(Phones {
                sent: keep,
                busy: cases.lines().any(|line| line == "with busy-phones"),
            })
            .open()
            .unwrap();
        let engine = service.engine().unwrap().clone();
        let (variables, dialect) = (BTreeMap::new(), DIALECTS[0]);
        let send_raw = Box::new(raw::in_process);
        let apps = Vec::new();
        (World { engine, clock, sent, variables, apps, dialect, send_raw }, service)
    }

    /// Runs one file of cases. Calls go to `service`, which is the engine itself or a client of it.
    pub(crate) fn run(&mut self, service: &impl HandleAll, name: &str, text: &str) {
        let mut reply = None;
        let older = self.engine.application_settings().replies == Generation::Older;
        let mut unchecked = false;
        for (number, line) in text.lines().enumerate() {
            let place = format!("{name}:{}: {line}", number + 1);
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "" | "#" | "with" => {}
                ">" => reply = Some(self.send(service, rest, &place)),
                ">>" => reply = Some(self.send_unchecked(rest, &place)),
                "<" if unchecked && older => {
                    let words = rest.split_whitespace().filter(|word| !is_worded(word));
                    let words: Vec<&str> = words.collect();
                    self.expect(reply.as_ref().expect(&place), &words.join(" "), &place);
                }
                "<" => self.expect(reply.as_ref().expect(&place), rest, &place),
                "<<" if older => self.expect(reply.as_ref().expect(&place), rest, &place),
                "<<" => {}
                _ => self.act(word, rest, &place),
            }
            unchecked = if word.starts_with('>') { word == ">>" } else { unchecked };
        }
    }

    fn send(&self, service: &impl HandleAll, line: &str, place: &str) -> Reply {
        let (call, params) = line.split_once(' ').unwrap_or((line, ""));
        let route = ROUTES.iter().find(|route| route.name == call).expect(place);
        let params = form::read(&self.replace(params)).expect(place);
        let request = route.request(Format::Json, Generation::Current, params);
        calls::dispatch(service, request, Generation::Current).expect(place).1
    }

    fn send_unchecked(&self, line: &str, place: &str) -> Reply {
        let (call, params) = line.split_once(' ').unwrap_or((line, ""));
        let route = ROUTES.iter().find(|route| route.name == call).expect(place);
        let params = form::read(&self.replace(params)).expect(place);
        let request = self.dialect.request(route, params, &self.engine);
        self.dialect.read(&self.engine, (self.send_raw)(&self.engine, request))
    }

    fn expect(&mut self, reply: &Reply, line: &str, place: &str) {
        let mut words = line.split_whitespace();
        let context = format!("{place}\ngot {} {}", reply.status, reply.body);
        assert_eq!(reply.status.to_string(), words.next().unwrap(), "{context}");
        for word in words {
            let (path, wanted) = word.split_once('=').expect(place);
            let got = match path {
                "retry_after" => reply.retry_after.map(|time| time.as_secs().into()),
                _ => path.split('.').try_fold(&reply.body, step).cloned(),
            };
            let text =
                got.as_ref().map(|value| value.as_str().map_or(value.to_string(), Into::into));
            match wanted.strip_prefix('$') {
                Some(name) if !self.variables.contains_key(name) => {
                    self.variables.insert(name.into(), text.expect(&context));
                }
                Some(name) => {
                    assert_eq!(text.as_ref(), self.variables.get(name), "{path}: {context}")
                }
                None if wanted == "-" => assert_eq!(got, None, "{path}: {context}"),
                None if wanted == "*" => assert!(got.is_some(), "{path}: {context}"),
                None if wanted.starts_with('~') => {
                    let part = wanted[1..].replace('_', " ");
                    assert!(text.expect(&context).contains(&part), "{path}: {context}");
                }
                None => {
                    // A `_` stands for a space, or for itself where the text has one.
                    let wanted: Value = serde_json::from_str(&wanted.replace('_', " "))
                        .or_else(|_| serde_json::from_str(wanted))
                        .expect(place);
                    let plain = serde_json::from_str(&word[path.len() + 1..]).ok();
                    assert!(got == Some(wanted) || got == plain, "{path}: {context}");
                }
            }
        }
    }

    fn act(&mut self, word: &str, rest: &str, place: &str) {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let value = |index: usize| self.replace(words[index]);
        let (name, value) = match word {
            "wait" => {
                self.clock.set(self.clock.now().as_secs() + words[0].parse::<u64>().unwrap());
                return;
            }
            "sent" => (words[1], self.sent(words[0], place)),
            "no-more" => {
                assert!(self.sent.lock().unwrap().is_empty(), "{place}");
                return;
            }
            "other" => (words[1], self.other(&value(0))),
            "totp" => {
                let uri = form::unescape(&value(0)).unwrap();
                let totp = Totp::from_uri(&uri).unwrap();
                let code = totp.code(self.clock.now().as_secs()).expose().to_owned();
                self.apps.push(totp);
                (words[1], code)
            }
            "device" => {
                let user = value(0).parse().unwrap();
                let device = self.engine.register_device(user, words[1].parse().unwrap()).unwrap();
                (words[2], format!("{}:{}", device.device_id, device.secret.expose()))
            }
            "respond" => {
                let status = self.respond(&value(0), words[1], &value(2));
                assert_eq!(status, words[3], "{place}");
                return;
            }
            _ => panic!("{place}: unknown command"),
        };
        self.variables.insert(name.trim_start_matches('$').into(), value);
    }

    /// A different code of the same length, which no app shows within an hour.
    fn other(&self, code: &str) -> String {
        let now = self.clock.now().as_secs();
        let times = (now - 3600..=now + 3600).step_by(30);
        let shown = self.apps.iter().flat_map(|app| times.clone().map(|at| app.code(at)));
        let shown: Vec<Secret> = shown.collect();
        let (start, last) = code.split_at(code.len() - 1);
        let last: u8 = last.parse().unwrap();
        let mut others = (1..10).map(|more| format!("{start}{}", (last + more) % 10));
        others.find(|other| shown.iter().all(|code| code.expose() != other)).unwrap()
    }

    /// Removes the oldest message, and returns this part of it.
    fn sent(&self, part: &str, place: &str) -> String {
        let mut sent = self.sent.lock().unwrap();
        assert!(!sent.is_empty(), "{place}: nothing was sent");
        let message = sent.remove(0);
        assert!(message.text.contains(&message.code), "{place}: {}", message.text);
        match part {
            "code" => message.code,
            "to" => message.to,
            "via" => message.via.name().into(),
            "text" => message.text,
            _ => panic!("{place}: unknown part of a message"),
        }
    }

    fn respond(&self, uuid: &str, response: &str, device: &str) -> String {
        let device = form::unescape(device).unwrap();
        let (id, secret) = device.split_once(':').unwrap();
        let device_id: DeviceId = id.parse().unwrap();
        let result = self.engine.respond_to_approval(&RespondToApproval {
            uuid: uuid.parse().unwrap(),
            device_id,
            device_secret: Secret::new(secret),
            response: response.parse().unwrap(),
            number: None,
        });
        match result {
            Ok(approval) => approval.status.name().into(),
            Err(seconder::Error::Rejected(rejection)) => rejection.code.unwrap(),
            Err(other) => other.to_string(),
        }
    }

    /// Replaces variables with their values, escaped for a form.
    fn replace(&self, text: &str) -> String {
        let mut parts = text.split('$');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            let value = self.variables.get(name).unwrap_or_else(|| panic!("no variable ${name}"));
            out += &form::escape(value);
            out += rest;
        }
        out
    }
}

/// The settings that the cases ask for.
fn with(mut settings: Settings, cases: &str) -> Settings {
    for given in cases.lines().filter_map(|line| line.strip_prefix("with ")) {
        let (what, value) = given.split_once(' ').unwrap_or((given, ""));
        settings = match what {
            "busy-phones" => settings,
            name => settings.set(name, value).unwrap(),
        };
    }
    settings
}

/// Whether a `<` line expects a field that the older generation words in another way, which a `<<`
/// line shows.
fn is_worded(word: &str) -> bool {
    let worded = ["success=", "message=", "ignored=", "install_message="];
    worded.iter().any(|start| word.starts_with(start))
}

fn step<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => value.get(key),
    }
}

/// Every file of cases, by name.
pub(crate) fn cases() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The tests of `server/` include this file too, one folder below the cases.
    let folder = [folder.join("tests"), folder.join("../tests")].into_iter();
    let folder = folder.map(|folder| folder.join("vectors/calls")).find(|f| f.is_dir()).unwrap();
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    cases.sort();
    assert!(!cases.is_empty());
    cases
}

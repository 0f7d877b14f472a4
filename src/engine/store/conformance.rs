//! Conformance tests: every store makes the same decisions. The same calls, at the same times and
//! with the same random numbers, have the same outcomes and leave the same rows in all of them. The
//! other stores are compared with the store in memory.

#[cfg(unix)]
mod crash;
mod faults;
mod jobs;
mod linear;
mod receipts;
mod threads;

use super::backend::Backend;
use super::sqlite::Sqlite;
use super::table::{Row, Value};
use super::tables::{Authenticator, SealingKey, TABLES};
use super::which::{Key, Which};
use super::{Memory, Store};
use crate::calls::*;
use crate::engine::core::Engine;
use crate::engine::delivery::Message;
use crate::engine::handlers::approvals::{ApprovalResponse, RespondToApproval};
use crate::engine::handlers::settings::EngineSettings;
use crate::engine::model::clock::{Clock, Random};
use crate::engine::model::devices::{DeviceRegistered, DeviceType};
use crate::engine::operator::AppSettings;
use crate::keyring::Ring;
use crate::model::{ApprovalId, BrowserToken, Token, UserId};
use crate::{Handle, Result};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A time that only the test changes.
#[derive(Clone)]
struct Given(Arc<AtomicU64>);

impl Clock for Given {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Numbers that are the same in every world.
struct Seeded(AtomicU64);

impl Random for Seeded {
    fn fill(&self, buffer: &mut [u8]) -> Result<()> {
        for byte in buffer {
            // SplitMix64; its highest byte is as good as any.
            let mut number = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            *byte = (number >> 56) as u8;
        }
        Ok(())
    }
}

/// One step of a history. The numbers choose among few users, actions and tokens, so that calls meet the effects of
/// earlier ones.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Seconds pass, or the clock is set back.
    Pass(i32),
    Enrol(u8, u8, bool),
    Delete(u8),
    Status(u8),
    Activity(u8, bool),
    SendCode(u8, u8, bool),
    Verify(u8, u8, Guess),
    EnrolApp(u8),
    ConfirmApp(u8, Guess),
    RemoveApp(u8, u8),
    CreateRecoveryCodes(u8),
    Remember(u8),
    Recognise(u8),
    Forget(u8, bool),
    SetLogin(u8, u8),
    RemoveLogin(u8),
    FindUser(u8),
    RegisterDevice(u8),
    RemoveDevice(u8),
    Ask(u8, bool),
    CheckApproval,
    Respond(ApprovalResponse),
    StartNumber(u8, bool),
    CheckNumber(u8, bool),
    NumberStatus(u8),
    Statistics,
}

/// The token that is presented.
#[derive(Clone, Copy, Debug)]
enum Guess {
    /// The code that was sent last.
    Sent,
    /// The code that an app shows.
    Shown,
    Recovery(u8),
    Wrong,
}

fn guess() -> impl Strategy<Value = Guess> {
    prop_oneof![
        3 => Just(Guess::Sent),
        3 => Just(Guess::Shown),
        1 => (0..10_u8).prop_map(Guess::Recovery),
        2 => Just(Guess::Wrong),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let user = || 0..3_u8;
    let response = prop_oneof![
        Just(ApprovalResponse::Approve),
        Just(ApprovalResponse::Deny),
        Just(ApprovalResponse::Report),
    ];
    let users = prop_oneof![
        8 => (-100..700_i32).prop_map(Event::Pass),
        4 => (user(), 0..3_u8, any::<bool>()).prop_map(|(u, e, n)| Event::Enrol(u, e, n)),
        1 => user().prop_map(Event::Delete),
        2 => user().prop_map(Event::Status),
        1 => (user(), any::<bool>()).prop_map(|(u, banned)| Event::Activity(u, banned)),
        2 => (user(), 0..2_u8).prop_map(|(u, name)| Event::SetLogin(u, name)),
        1 => (0..2_u8).prop_map(Event::RemoveLogin),
        1 => (0..2_u8).prop_map(Event::FindUser),
        1 => Just(Event::Statistics),
    ];
    let codes = prop_oneof![
        6 => (user(), 0..2_u8, any::<bool>()).prop_map(|(u, a, v)| Event::SendCode(u, a, v)),
        9 => (user(), 0..2_u8, guess()).prop_map(|(u, a, g)| Event::Verify(u, a, g)),
        3 => user().prop_map(Event::EnrolApp),
        3 => (user(), guess()).prop_map(|(u, g)| Event::ConfirmApp(u, g)),
        1 => (user(), 1..3_u8).prop_map(|(u, app)| Event::RemoveApp(u, app)),
        // Hashing them takes time.
        1 => user().prop_map(Event::CreateRecoveryCodes),
        2 => (0..2_u8, any::<bool>()).prop_map(|(n, v)| Event::StartNumber(n, v)),
        3 => (0..2_u8, any::<bool>()).prop_map(|(n, right)| Event::CheckNumber(n, right)),
        1 => (0..2_u8).prop_map(Event::NumberStatus),
    ];
    let others = prop_oneof![
        3 => user().prop_map(Event::Remember),
        3 => user().prop_map(Event::Recognise),
        1 => (user(), any::<bool>()).prop_map(|(u, all)| Event::Forget(u, all)),
        3 => user().prop_map(Event::RegisterDevice),
        1 => user().prop_map(Event::RemoveDevice),
        5 => (user(), any::<bool>()).prop_map(|(u, ends)| Event::Ask(u, ends)),
        2 => Just(Event::CheckApproval),
        4 => response.prop_map(Event::Respond),
    ];
    prop_oneof![3 => users, 5 => codes, 3 => others]
}

/// An engine, and the data that its users have.
struct World {
    engine: Engine,
    clock: Given,
    sent: Arc<Mutex<BTreeMap<String, String>>>,
    users: [Option<UserId>; 3],
    recovery_codes: Vec<Token>,
    browser: Option<BrowserToken>,
    device: Option<(UserId, DeviceRegistered)>,
    approval: Option<ApprovalId>,
}

fn number(of: u8) -> String {
    format!("202555010{of}")
}

fn shown<T: Debug>(reply: Result<T>) -> String {
    format!("{reply:?}")
}

impl World {
    fn new(store: Store) -> World {
        let clock = Given(Arc::new(AtomicU64::new(1_700_000_000_000)));
        let sent: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
        let keep = Arc::clone(&sent);
        let deliver = move |message: &Message| {
            keep.lock().unwrap().insert(message.to.clone(), message.code.clone());
            // Now and then one is not delivered.
            if message.code.ends_with('7') { Err("down".to_owned()) } else { Ok(()) }
        };
        let settings = EngineSettings {
            clock: Arc::new(clock.clone()),
            random: Arc::new(Seeded(AtomicU64::new(7))),
            app: AppSettings {
                callback_url: Some("https://app.example/callback".into()),
                ..AppSettings::default()
            },
            ..EngineSettings::default()
        };
        let engine = Engine::open(store, Arc::new(deliver), None, settings).unwrap();
        let (users, recovery_codes) = ([None; 3], Vec::new());
        World {
            engine,
            clock,
            sent,
            users,
            recovery_codes,
            browser: None,
            device: None,
            approval: None,
        }
    }

    /// Returns the user, or an id that no user has.
    fn user(&self, of: u8) -> UserId {
        self.users[usize::from(of)].unwrap_or_else(|| 999.try_into().unwrap())
    }

    fn sent(&self, of: u8) -> Token {
        let sent = self.sent.lock().unwrap();
        let code = sent.get(&format!("+1{}", number(of))).filter(|code| !code.is_empty());
        code.map_or("1234567", String::as_str).parse().unwrap()
    }

    fn token(&self, of: u8, guess: Guess) -> Token {
        match guess {
            Guess::Sent => self.sent(of),
            Guess::Recovery(place) => {
                let code = self.recovery_codes.get(usize::from(place)).cloned();
                code.unwrap_or_else(|| "123456789012".parse().unwrap())
            }
            Guess::Wrong => "1".repeat(6).parse().unwrap(),
            Guess::Shown => {
                let key = (self.user(of).get(),);
                let apps = self.engine.look(move |view| view.all::<Authenticator>(key)).unwrap();
                let Some(app) = apps.last() else { return "123456".parse().unwrap() };
                let totp = app.totp().unwrap().unwrap();
                totp.code(self.clock.now().as_secs()).expose().parse().unwrap()
            }
        }
    }

    /// Carries out an event, and returns what the caller sees.
    fn happens(&mut self, event: Event) -> String {
        match event {
            Event::Pass(seconds) => {
                let time = self.clock.now().as_millis() as i64 + i64::from(seconds) * 1000;
                self.clock.0.store(time.max(0) as u64, Ordering::Relaxed);
                String::new()
            }
            Event::Enrol(of, email, new_only) => {
                let address = format!("{email}@example.com").parse().unwrap();
                let number = number(of).parse().unwrap();
                let call = match email {
                    2 => CreateUser::without_phone(address),
                    _ => CreateUser::new(address, number, "1".parse().unwrap()),
                };
                let reply = self.engine.handle(&CreateUser { new_only, ..call });
                if let Ok(created) = &reply {
                    self.users[usize::from(of)] = Some(created.user_id);
                }
                shown(reply)
            }
            Event::Delete(of) => shown(self.engine.handle(&DeleteUser::new(self.user(of)))),
            Event::Status(of) => shown(self.engine.handle(&UserStatus::new(self.user(of)))),
            Event::Activity(of, banned) => {
                let kind = if banned { ActivityType::Banned } else { ActivityType::CookieLogin };
                shown(self.engine.handle(&RegisterActivity::new(self.user(of), kind)))
            }
            Event::SetLogin(of, name) => {
                let login = format!("name{name}").parse().unwrap();
                shown(self.engine.handle(&SetLogin::new(self.user(of), login)))
            }
            Event::RemoveLogin(name) => {
                let login = format!("name{name}").parse().unwrap();
                shown(self.engine.handle(&RemoveLogin::new(login)))
            }
            Event::FindUser(name) => {
                let login = format!("name{name}").parse().unwrap();
                shown(self.engine.handle(&FindUser::new(login)))
            }
            Event::Statistics => shown(self.engine.handle(&AppStats::default())),
            event => self.codes(event),
        }
    }

    fn codes(&mut self, event: Event) -> String {
        let action = |action: u8| (action > 0).then(|| "pay".parse().unwrap());
        match event {
            Event::SendCode(of, wanted, false) => {
                let call = RequestSms { force: Some(true), ..RequestSms::new(self.user(of)) };
                shown(self.engine.handle(&RequestSms { action: action(wanted), ..call }))
            }
            Event::SendCode(of, wanted, true) => {
                let call = RequestCall { force: Some(true), ..RequestCall::new(self.user(of)) };
                shown(self.engine.handle(&RequestCall { action: action(wanted), ..call }))
            }
            Event::Verify(of, wanted, guess) => {
                let call = Verify::new(self.user(of), self.token(of, guess));
                shown(self.engine.handle(&Verify { action: action(wanted), ..call }))
            }
            Event::EnrolApp(of) => {
                shown(self.engine.handle(&EnrolAuthenticator::new(self.user(of))))
            }
            Event::ConfirmApp(of, guess) => {
                let call = ConfirmAuthenticator::new(self.user(of), self.token(of, guess));
                shown(self.engine.handle(&call))
            }
            Event::RemoveApp(of, app) => {
                let app = app.to_string().parse().unwrap();
                shown(self.engine.handle(&RemoveAuthenticator::new(self.user(of), app)))
            }
            Event::CreateRecoveryCodes(of) => {
                let reply = self.engine.handle(&CreateRecoveryCodes::new(self.user(of)));
                if let Ok(created) = &reply {
                    self.recovery_codes.clone_from(&created.codes);
                }
                shown(reply)
            }
            Event::StartNumber(of, by_voice) => {
                let channel = if by_voice { Channel::Call } else { Channel::Sms };
                let (number, country) = (number(of).parse().unwrap(), "1".parse().unwrap());
                shown(self.engine.handle(&StartPhoneVerification::new(channel, number, country)))
            }
            Event::CheckNumber(of, right) => {
                let code = if right { self.sent(of).as_str().to_owned() } else { "0000".into() };
                let (number, country) = (number(of).parse().unwrap(), "1".parse().unwrap());
                let call = CheckPhoneVerification::new(number, country, code.parse().unwrap());
                shown(self.engine.handle(&call))
            }
            Event::NumberStatus(of) => {
                let (number, country) = (number(of).parse().unwrap(), "1".parse().unwrap());
                shown(self.engine.handle(&PhoneVerificationStatus::of_number(number, country)))
            }
            event => self.others(event),
        }
    }

    fn others(&mut self, event: Event) -> String {
        match event {
            Event::Remember(of) => {
                let reply = self.engine.handle(&Remember::new(self.user(of)));
                if let Ok(remembered) = &reply {
                    self.browser = Some(remembered.token.clone());
                }
                shown(reply)
            }
            Event::Recognise(of) => {
                let token = self.browser.clone().unwrap_or_else(|| "none".into());
                shown(self.engine.handle(&Recognise::new(self.user(of), token)))
            }
            Event::Forget(of, all) => {
                let token = self.browser.clone().filter(|_| !all);
                shown(self.engine.handle(&Forget { token, ..Forget::all(self.user(of)) }))
            }
            Event::RegisterDevice(of) => {
                let user = self.user(of);
                let reply = self.engine.register_device(user, DeviceType::Ios);
                if let Ok(device) = &reply {
                    self.device = Some((user, device.clone()));
                }
                shown(reply)
            }
            Event::RemoveDevice(of) => {
                let device = self.device.as_ref().map(|(_, device)| device.device_id);
                let device = device.unwrap_or_else(|| 999.try_into().unwrap());
                shown(self.engine.handle(&RemoveDevice::new(self.user(of), device)))
            }
            Event::Ask(of, ends) => {
                let call = CreateApproval::new(self.user(of), "Log in?".parse().unwrap());
                let seconds_to_expire = ends.then_some(300);
                let reply = self.engine.handle(&CreateApproval { seconds_to_expire, ..call });
                if let Ok(created) = &reply {
                    self.approval = Some(created.uuid.clone());
                }
                shown(reply)
            }
            Event::CheckApproval => match self.approval.clone() {
                Some(uuid) => shown(self.engine.handle(&CheckApproval::new(uuid))),
                None => String::new(),
            },
            Event::Respond(response) => match (&self.device, self.approval.clone()) {
                (Some((_, device)), Some(uuid)) => {
                    let (device_id, device_secret) = (device.device_id, device.secret.clone());
                    let open = self.engine.open_approvals(device_id, &device_secret);
                    let call = RespondToApproval {
                        uuid,
                        device_id,
                        device_secret,
                        response,
                        number: None,
                    };
                    format!("{open:?} {:?}", self.engine.respond_to_approval(&call))
                }
                _ => String::new(),
            },
            event => panic!("{event:?} is handled before"),
        }
    }

    /// Every row of every table.
    fn rows(&self) -> Vec<Vec<Vec<Value>>> {
        let tables = 0..TABLES.len();
        let keys: Vec<Key> =
            tables.map(|table| Key { table, rows: Which::Prefix(Vec::new()) }).collect();
        let mut found = Vec::new();
        let read = self.engine.shared.store.backend.read(&mut |rows| {
            found = rows.load(&keys)?;
            Ok(())
        });
        assert!(read.is_ok());
        found
    }
}

/// Runs the same events in two worlds, and expects that no difference is visible.
fn compare(worlds: [World; 2], events: &[Event]) {
    let [mut ours, mut theirs] = worlds;
    for (place, event) in events.iter().enumerate() {
        assert_eq!(ours.happens(*event), theirs.happens(*event), "{place}: {event:?}");
        assert!(*ours.sent.lock().unwrap() == *theirs.sent.lock().unwrap(), "{place}: {event:?}");
    }
    for ((ours, theirs), table) in ours.rows().iter().zip(theirs.rows()).zip(TABLES) {
        // Each store has keys of its own, or none.
        if table.name == SealingKey::SCHEMA.name {
            continue;
        }
        assert!(*ours == theirs, "the rows of {} differ", table.name);
    }
}

/// Returns the store that the others are compared with. It has secrets as they are.
fn memory() -> Store {
    Store::new(Memory::new())
}

/// Returns a store whose secrets are sealed: the comparison is of the values that decisions see.
fn sealed(backend: impl Backend + 'static) -> Store {
    let clock = Given(Arc::new(AtomicU64::new(0)));
    Store::sealed(backend, Ring::in_memory().unwrap(), Arc::new(clock)).unwrap()
}

fn sqlite() -> Store {
    sealed(Sqlite::in_memory().unwrap())
}

#[test]
fn sqlite_decides_like_the_store_in_memory() {
    let config = Config { cases: 96, failure_persistence: None, ..Config::default() };
    let history = vec(event(), 1..120);
    let result = TestRunner::new(config).run(&history, |events| {
        compare([World::new(memory()), World::new(sqlite())], &events);
        Ok(())
    });
    result.unwrap();
}

#[cfg(feature = "postgres")]
pub(super) mod postgres;

//! How SQLite carries out every statement of the store: none may read a whole table that grows.

use super::process::Using;
use super::{Match, Sqlite, Subject, open};
use crate::calls::{
    ActivityType, AppDetails, AppStats, ApprovalStatus, Channel, CheckApproval,
    CheckPhoneVerification, CreateApproval, CreateRecoveryCodes, CreateUser, DeleteUser,
    EnrolAuthenticator, FindUser, Forget, OfflineLogin, PhoneVerificationStatus, Recognise,
    Recognition, RegisterActivity, Remember, RemoveAuthenticator, RemoveDevice, RemoveLogin,
    ReportOffline, RequestCall, RequestSms, RouteMatch, SetLogin, StartPhoneVerification,
    UserStatus, match_route,
};
use crate::engine::store::{Attempt, Committed, OfflinePreparation};
use crate::engine::{ApprovalResponse, Clock, DeviceType, Engine, Message, RespondToApproval};
use crate::engine::{EngineSettings, SignedCallback};
use crate::model::{ApiKey, LoginName, PhoneNumber, Secret, UserId};
use crate::{Error, Handle, Verdict, Verify};
use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use syn::visit::{self, Visit};

#[derive(Clone, Default)]
struct Set(Arc<Mutex<BTreeSet<String>>>);

#[derive(Clone)]
struct Time(Arc<AtomicU64>);

impl Clock for Time {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// An engine, its clock, whether deliveries and callbacks fail, and the statements it executed.
struct World {
    engine: Engine,
    clock: Time,
    failing: Arc<AtomicBool>,
    codes: Arc<Mutex<Vec<String>>>,
    statements: Set,
}

impl World {
    fn new() -> World {
        let statements = Set::default();
        let mut connection = open::memory().unwrap();
        let keep = statements.clone();
        let trace = move |event: TraceEvent<'_>| {
            if let TraceEvent::Stmt(_, sql) = event {
                keep.0.lock().unwrap().insert(sql.to_owned());
            }
        };
        connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(trace)).unwrap();
        let clock = Time(Arc::new(AtomicU64::new(1_000_000)));
        let failing = Arc::new(AtomicBool::new(false));
        let codes: Arc<Mutex<Vec<String>>> = Arc::default();
        let (fails, sent) = (Arc::clone(&failing), Arc::clone(&codes));
        let deliver = move |message: &Message| {
            sent.lock().unwrap().push(message.code.clone());
            if fails.load(Ordering::Relaxed) { Err("down".to_owned()) } else { Ok(()) }
        };
        let settings = EngineSettings {
            application_name: Some("Test".into()),
            callback_url: Some("https://app.example/callback".into()),
            install_link: Some("https://app.example/".into()),
            post: Some(Arc::new(Poster(Arc::clone(&failing)))),
            clock: Arc::new(clock.clone()),
            ..EngineSettings::default()
        };
        let store = Box::new(Sqlite::new(&Using::begin().unwrap(), connection, None));
        let engine = Engine::open(store, Arc::new(deliver), None, settings).unwrap();
        World { engine, clock, failing, codes, statements }
    }

    fn wait(&self, seconds: u64) {
        self.clock.0.fetch_add(seconds, Ordering::Relaxed);
    }

    fn user(&self, phone: &str) -> UserId {
        let phone = phone.parse().unwrap();
        let call = CreateUser::new("ada@example.com".parse().unwrap(), phone, "1".parse().unwrap());
        self.engine.handle(&call).unwrap().id
    }

    fn code(&self) -> String {
        self.codes.lock().unwrap().pop().unwrap()
    }

    fn check(&self, token: &str, user: UserId) -> Verdict {
        let check = Verify { force: true, ..Verify::new(token.parse().unwrap(), user) };
        self.engine.handle(&check).unwrap().verdict
    }
}

struct Poster(Arc<AtomicBool>);

impl crate::engine::Post for Poster {
    fn post(&self, _: &SignedCallback) -> Result<(), String> {
        if self.0.load(Ordering::Relaxed) { Err("down".to_owned()) } else { Ok(()) }
    }
}

/// Codes of a user: wrong, right, and not delivered.
fn use_codes(world: &World, user: UserId) {
    let engine = &world.engine;
    engine.handle(&RequestSms::new(user)).unwrap();
    let code = world.code();
    let wrong = if code == "0000000" { "0000001" } else { "0000000" };
    assert_eq!(world.check(wrong, user), Verdict::Wrong);
    assert_eq!(world.check(&code, user), Verdict::Right);
    world.failing.store(true, Ordering::Relaxed);
    assert!(matches!(engine.handle(&RequestSms::new(user)), Err(Error::Unavailable { .. })));
    assert!(matches!(engine.handle(&RequestCall::new(user)), Err(Error::Unavailable { .. })));
    world.failing.store(false, Ordering::Relaxed);
    engine.handle(&RequestCall::new(user)).unwrap();
}

/// An authenticator app, and a right code of it.
fn use_an_app(world: &World, user: UserId) {
    world.engine.handle(&EnrolAuthenticator::new(user)).unwrap();
    let attempt = Attempt {
        app: 1,
        subject: Subject::User(1, user),
        found: Match::Step { authenticator_id: 1, step: 1 },
        tries: 5,
        delay: |_| Duration::ZERO,
        now: super::Time(1_000_000_000),
    };
    assert_eq!(world.engine.store().commit_verify(attempt).unwrap(), Committed::Done);
    let preparation = OfflinePreparation {
        user_id: user,
        authenticator_id: 1,
        step: 1,
        period: 30,
        first_step: 2,
        end_step: 3,
        machine: "door".to_owned(),
        kind: "offline_prepared",
        data: "{}".to_owned(),
        now: super::Time(1_000_000_000),
    };
    assert!(world.engine.store().prepare_offline(preparation).unwrap());
    let login = OfflineLogin { step: 2, time: 60 };
    world.engine.handle(&ReportOffline::new(user, 1, vec![login])).unwrap();
}

/// A login name, and recovery codes.
fn use_a_login(world: &World, user: UserId) {
    let (engine, login) = (&world.engine, "ada".parse::<LoginName>().unwrap());
    engine.handle(&SetLogin::new(user, login.clone())).unwrap();
    engine.handle(&FindUser::new(login.clone())).unwrap();
    engine.handle(&RemoveLogin::new(login)).unwrap();
    let codes = engine.handle(&CreateRecoveryCodes::new(user)).unwrap().codes;
    assert_eq!(world.check(codes[0].as_str(), user), Verdict::Right);
    let path = format!("/-/json/users/{user}/recovery_codes");
    let RouteMatch::Call(call) = match_route("POST", &path) else { panic!("{path}") };
    engine.check_own_account(&call, user).unwrap_err();
}

/// Browsers that are remembered, until they expire or are forgotten.
fn use_browsers(world: &World, user: UserId) {
    let engine = &world.engine;
    let remember = Remember { days: Some(1), ..Remember::new(user) };
    let token = engine.handle(&remember).unwrap().token;
    let recognise = || engine.handle(&Recognise::new(user, token.clone())).unwrap().recognition;
    assert_eq!(recognise(), Recognition::Recognised);
    world.wait(86_400);
    assert_eq!(recognise(), Recognition::NotRecognised);
    engine.handle(&Forget::all(user)).unwrap();
}

fn use_a_number(world: &World) {
    let (engine, country) = (&world.engine, "1".parse().unwrap());
    let number: PhoneNumber = "202-555-0123".parse().unwrap();
    let start = StartPhoneVerification::new(Channel::Sms, number.clone(), country);
    let uuid = engine.handle(&start).unwrap().uuid.unwrap();
    engine.handle(&PhoneVerificationStatus::new(uuid)).unwrap();
    engine.handle(&PhoneVerificationStatus::of_number(number.clone(), country)).unwrap();
    let code = world.code().parse().unwrap();
    engine.handle(&CheckPhoneVerification::new(number, country, code)).unwrap();
}

/// Approval requests that are reported, denied without a callback, and too late.
fn use_approvals(world: &World, user: UserId) {
    let engine = &world.engine;
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let ask = || {
        let call = CreateApproval::new(user, "Log in?".parse().unwrap());
        engine.handle(&CreateApproval { seconds_to_expire: Some(60), ..call }).unwrap().uuid
    };
    let respond = |response| {
        let (device_id, device_secret) = (device.device_id, device.secret.clone());
        let call = RespondToApproval { uuid: ask(), device_id, device_secret, response };
        let _ = engine.respond_to_approval(&call).unwrap();
    };
    respond(ApprovalResponse::Approve);
    world.failing.store(true, Ordering::Relaxed);
    respond(ApprovalResponse::Report);
    world.failing.store(false, Ordering::Relaxed);
    world.wait(600);
    let late = ask();
    world.wait(60);
    assert!(engine.open_approvals(device.device_id, &device.secret).unwrap().is_empty());
    let checked = engine.handle(&CheckApproval::new(late)).unwrap();
    assert_eq!(checked.status, ApprovalStatus::Expired);
    engine.handle(&RemoveDevice::new(user, device.device_id)).unwrap();
}

/// Everything that the store can do.
fn use_all(world: &World) {
    let engine = &world.engine;
    let user = world.user("555-010-0123");
    assert_eq!(user, world.user("555-010-0123"));
    use_codes(world, user);
    use_an_app(world, user);
    use_a_login(world, user);
    use_browsers(world, user);
    use_a_number(world);
    use_approvals(world, user);
    let factors = engine.handle(&UserStatus::new(user)).unwrap().factors.unwrap();
    let app = factors.authenticators[0].id.clone();
    engine.handle(&RemoveAuthenticator::new(user, app)).unwrap();
    engine.handle(&RegisterActivity::new(user, ActivityType::Banned)).unwrap();
    engine.handle(&AppDetails::default()).unwrap();
    engine.handle(&AppStats::default()).unwrap();
    let other = ApiKey::try_from(Secret::new("another")).unwrap();
    assert!(engine.authenticate(&other).is_err());
    engine.store().confirm_user(1, user, super::Time(0)).unwrap();
    engine.handle(&DeleteUser::new(user)).unwrap();
}

/// The statements in the sources of the store, outside tests.
struct Written(BTreeSet<String>);

impl Written {
    fn add(&mut self, tokens: proc_macro2::TokenStream) {
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Group(group) => self.add(group.stream()),
                proc_macro2::TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                        self.text(&text.value());
                    }
                }
                _ => {}
            }
        }
    }

    fn text(&mut self, text: &str) {
        const VERBS: [&str; 4] = ["SELECT ", "INSERT ", "UPDATE ", "DELETE "];
        if VERBS.iter().any(|verb| text.starts_with(verb)) {
            self.0.insert(text.to_owned());
        }
    }
}

impl<'ast> Visit<'ast> for Written {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.ident != "tests" {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.text(&text.value());
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add(call.tokens.clone());
    }
}

/// Whether a statement was executed that has all parts of this text, between which names may be.
fn was_executed(text: &str, statements: &BTreeSet<String>) -> bool {
    let parts: Vec<&str> =
        text.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest)).collect();
    statements.iter().any(|sql| {
        let mut rest = sql.as_str();
        parts.iter().all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    })
}

/// The steps of a statement that read a whole table, or all rows of an application.
fn scans(db: &Connection, sql: &str) -> Vec<String> {
    let mut explained = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = explained.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let step: String = row.get(3).unwrap();
        // There are as many applications as someone has set up.
        let scans = step.starts_with("SCAN ")
            && !["SCAN CONSTANT ROW", "SCAN applications"].iter().any(|few| step.starts_with(few));
        if scans || step.contains("(app_id=?)") {
            found.push(step);
        }
    }
    found
}

#[test]
fn no_statement_reads_a_whole_table() {
    let world = World::new();
    use_all(&world);
    let statements = world.statements.0.lock().unwrap().clone();
    let db = open::memory().unwrap();
    // The first application is added once.
    let skipped = ["INSERT INTO applications"];
    let control = ["BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK", "PRAGMA", "--", "CREATE"];
    let mut complaints = Vec::new();
    for sql in statements
        .iter()
        .filter(|sql| !control.iter().chain(&skipped).any(|word| sql.starts_with(word)))
    {
        let found = scans(&db, sql);
        complaints.extend(found.into_iter().map(|step| format!("{step}, for {sql}")));
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/engine/store/sqlite");
    let mut written = Written(BTreeSet::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        // open.rs reads the schema once, and emptying a sandbox deletes everything on purpose.
        let skipped = ["open.rs", "plans.rs", "schema.sql"];
        if !skipped.iter().any(|name| path.ends_with(name)) {
            let text = std::fs::read_to_string(path).unwrap();
            written.visit_file(&syn::parse_file(&text).unwrap());
        }
    }
    assert!(written.0.len() > 40, "{:?}", written.0);
    let unseen = written.0.iter().filter(|text| !text.contains("DELETE FROM users; "));
    let unseen = unseen.filter(|text| !was_executed(text, &statements));
    complaints.extend(unseen.map(|text| format!("this test does not execute: {text}")));
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn a_guess_at_the_token_of_a_browser_reads_nothing() {
    let world = World::new();
    let user = world.user("555-010-0123");
    let token = world.engine.handle(&Remember::new(user)).unwrap().token;
    let other = world.user("555-010-0124");
    let executed = || std::mem::take(&mut *world.statements.0.lock().unwrap());
    executed();
    let last = if token.as_str().ends_with('A') { 'B' } else { 'A' };
    let altered = format!("{}{last}", &token.as_str()[..75]);
    for (user, guess) in
        [(other, token.as_str()), (user, altered.as_str()), (user, "x"), (user, "")]
    {
        let call = Recognise::new(user, guess.into());
        assert_eq!(world.engine.handle(&call).unwrap().recognition, Recognition::NotRecognised);
        world.engine.handle(&Forget::new(user, guess.into())).unwrap();
    }
    assert_eq!(executed(), BTreeSet::new());
    let call = Recognise::new(user, token);
    assert_eq!(world.engine.handle(&call).unwrap().recognition, Recognition::Recognised);
    assert!(!executed().is_empty());
}

/// Deleting a user deletes the rows of the user in other tables, which EXPLAIN does not show.
#[test]
fn what_refers_to_users_has_an_index() {
    let db = open::memory().unwrap();
    let query = |sql: &str| -> Vec<String> {
        let mut found = db.prepare(sql).unwrap();
        found.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables = query(
        "SELECT m.name FROM sqlite_schema m, pragma_foreign_key_list(m.name) f \
                        WHERE m.type = 'table' AND f.\"table\" = 'users'",
    );
    assert!(tables.len() >= 5, "{tables:?}");
    for table in tables {
        let found = scans(&db, &format!("DELETE FROM {table} WHERE user_id = 1"));
        assert!(found.is_empty(), "{found:?}");
    }
}

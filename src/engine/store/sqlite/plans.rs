//! Tests of the query plans of SQLite: no statement that the engine's calls execute may read a
//! whole table that grows.

mod lists;
mod wrong;

use super::process::Using;
use super::{Connections, Sqlite, open};
use crate::calls::{
    ActivityType, AppDetails, AppStats, ApprovalStatus, Channel, CheckApproval,
    CheckPhoneVerification, CreateApproval, CreateRecoveryCodes, CreateUser, DeleteUser,
    EnrolAuthenticator, FindUser, Forget, InviteDevice, OfflineLogin, PhoneInfo,
    PhoneVerificationStatus, Recognise, Recognition, RegisterActivity, Remember,
    RemoveAuthenticator, RemoveDevice, RemoveLogin, ReportOffline, RequestCall, RequestSms,
    RouteMatch, SetLogin, SetNumber, StartPhoneVerification, UserStatus, match_route,
};
use crate::engine::core::Engine;
use crate::engine::delivery::{Delivery, Message, SignedCallback};
use crate::engine::handlers::approvals::{ApprovalResponse, RespondToApproval};
use crate::engine::handlers::approver::SignedRequest;
use crate::engine::handlers::forwarding::{Forwarding, Learned};
use crate::engine::handlers::jobs::JobFilter;
use crate::engine::handlers::settings::EngineSettings;
use crate::engine::model::clock::Clock;
use crate::engine::model::devices::DeviceType;
use crate::engine::model::jobs::JobState;
use crate::engine::operations::offline::{self, Preparation};
use crate::engine::operations::users;
use crate::engine::operator::{AddOperator, AppSettings, Operation, RemoveOperator, Role};
use crate::engine::store::table::Kind;
use crate::engine::store::tables::TABLES;
use crate::engine::store::{Authenticator, Store};
use crate::keyring::Ring;
use crate::model::{ApiKey, LoginName, PhoneNumber, Secret, UserId};
use crate::{Error, Handle, Verdict, Verify};
use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

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
            app: AppSettings {
                name: Some("Test".into()),
                callback_url: Some("https://app.example/callback".into()),
                install_link: Some("https://app.example/".into()),
                ..AppSettings::default()
            },
            lookup: Some(Arc::new(|_: &str| None)),
            post: Some(Arc::new(Poster(Arc::clone(&failing)))),
            clock: Arc::new(clock.clone()),
            ..EngineSettings::default()
        };
        let connections = Connections { writer: connection, readers: Vec::new() };
        let database = Sqlite::new(&Using::begin().unwrap(), connections, None);
        let ring = Ring::in_memory().unwrap();
        let store = Store::sealed(database, ring, Arc::new(clock.clone())).unwrap();
        let engine = Engine::open(store, Arc::new(deliver), None, settings).unwrap();
        World { engine, clock, failing, codes, statements }
    }

    fn wait(&self, seconds: u64) {
        self.clock.0.fetch_add(seconds, Ordering::Relaxed);
    }

    fn user(&self, phone: &str) -> UserId {
        let phone = phone.parse().unwrap();
        let call = CreateUser::new("ada@example.com".parse().unwrap(), phone, "1".parse().unwrap());
        self.engine.handle(&call).unwrap().user_id
    }

    fn code(&self) -> String {
        self.codes.lock().unwrap().pop().unwrap()
    }

    fn check(&self, token: &str, user: UserId) -> Verdict {
        let check = Verify::new(user, token.parse().unwrap());
        self.engine.handle(&check).unwrap().verdict
    }
}

struct Poster(Arc<AtomicBool>);

impl crate::engine::delivery::Post for Poster {
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
    let key = (user.get(), 1_i64);
    let app = world.engine.look(move |view| view.get::<Authenticator>(key)).unwrap().unwrap();
    let totp = app.totp().unwrap().unwrap();
    let now = world.clock.now().as_secs();
    assert_eq!(world.check(totp.code(now).expose(), user), Verdict::Right);
    let step = now / 30;
    let preparation = Preparation {
        user_id: user,
        authenticator_id: 1,
        step,
        period: 30,
        first_step: step + 1,
        end_step: step + 2,
        machine: "door".to_owned(),
        data: "{}".to_owned(),
        nonce: 1,
        now: world.engine.now(),
    };
    assert!(world.engine.run(move |view| offline::prepare(view, &preparation)).unwrap());
    let login = OfflineLogin { step: step + 1, time: now };
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
    engine.handle(&PhoneInfo::new(number.clone(), country)).unwrap();
    let start = StartPhoneVerification::new(Channel::Sms, number.clone(), country);
    let uuid = engine.handle(&start).unwrap().uuid.unwrap();
    engine.handle(&PhoneVerificationStatus::new(uuid)).unwrap();
    engine.handle(&PhoneVerificationStatus::of_number(number.clone(), country)).unwrap();
    let code = world.code().parse().unwrap();
    engine.handle(&CheckPhoneVerification::new(number.clone(), country, code)).unwrap();
    engine.handle(&start).unwrap();
    let code = world.code().parse().unwrap();
    let bob = CreateUser::new(
        "bob@example.com".parse().unwrap(),
        "202-555-0177".parse().unwrap(),
        country,
    );
    let bob = engine.handle(&bob).unwrap().user_id;
    engine.handle(&SetNumber::new(bob, number, country, code)).unwrap();
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
        let call =
            RespondToApproval { uuid: ask(), device_id, device_secret, response, number: None };
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

/// A device that is registered by an invitation, a code without an invitation, and a picture.
fn use_approver(world: &World, user: UserId) {
    let engine = &world.engine;
    engine.set_public_url("https://login.example").unwrap();
    engine.handle(&InviteDevice::new(user)).unwrap();
    engine.keep_logo("https://app.example/logo.png", None).unwrap();
    assert_eq!(engine.kept_logo("https://app.example/logo.png").unwrap(), Some(None));
    let signed = SignedRequest {
        device: "1.1",
        time: 0,
        signature: b"",
        method: "GET",
        path: "api/requests",
        body: b"",
    };
    assert!(engine.device_that_signed(&signed).is_err());
}

/// Failed and waiting jobs: they are listed, replayed and cancelled.
fn use_jobs(world: &World) {
    let engine = &world.engine;
    let listed = || engine.jobs(&JobFilter::default(), None, 1000).unwrap().entries;
    let states: Vec<_> = listed().iter().map(|job| job.state).collect();
    assert!(
        states.contains(&JobState::Failed) && states.contains(&JobState::Waiting),
        "{states:?}"
    );
    assert!(!engine.job_status().unwrap().is_empty());
    for job in listed() {
        match job.state {
            JobState::Waiting => assert_eq!(engine.cancel_job(&job.id).unwrap().id, job.id),
            _ => assert!(engine.replay_job(&job.id).is_err(), "its code has expired"),
        }
    }
    assert!(engine.job(&listed()[0].id).unwrap().is_some());
}

fn use_receipts(world: &World) {
    let engine = &world.engine;
    engine.receipt("first", "unknown", &Delivery::Delivered).unwrap();
    let token = engine.keep_document("first", None, Secret::new("<Response/>")).unwrap();
    assert!(engine.take_document("first", token.expose()).unwrap().is_some());
    assert!(engine.take_document("first", token.expose()).unwrap().is_none());
}

/// Everything that the store can do.
fn use_all(world: &World) {
    let engine = &world.engine;
    let moving = Forwarding::begin(engine).unwrap();
    let user = world.user("555-010-0123");
    assert!(!moving.user_is_there(user).unwrap());
    let there = 7.try_into().unwrap();
    assert!(!moving.seen(there, Learned::Sent { forced: false }).unwrap());
    let phone = "555-010-0123".parse().unwrap();
    let other = CreateUser::new("eve@example.com".parse().unwrap(), phone, "1".parse().unwrap());
    assert_eq!(user, engine.handle(&other).unwrap().user_id);
    use_codes(world, user);
    use_an_app(world, user);
    use_a_login(world, user);
    use_browsers(world, user);
    use_a_number(world);
    use_approvals(world, user);
    use_approver(world, user);
    use_jobs(world);
    use_receipts(world);
    let factors = engine.handle(&UserStatus::new(user)).unwrap().factors.unwrap();
    let app = factors.authenticators[0].id.clone();
    engine.handle(&RemoveAuthenticator::new(user, app)).unwrap();
    engine.handle(&RegisterActivity::new(user, ActivityType::Banned)).unwrap();
    engine.handle(&AppDetails::default()).unwrap();
    engine.handle(&AppStats::default()).unwrap();
    let other = ApiKey::try_from(Secret::new("another")).unwrap();
    assert!(engine.authenticate(&other).is_err());
    let now = engine.now();
    engine.run(move |view| users::confirm(view, 1, user, now)).unwrap();
    world.wait(48 * 60 * 60);
    assert!(!engine.maintain(Duration::from_secs(60)).unwrap());
    engine.set_route("one", &Secret::new("{}")).unwrap();
    assert!(engine.remove_route("one").unwrap());
    let add = AddOperator { name: "ada".into(), role: Role::Read, apps: None, expires_in: None };
    let token = add.carry_out(engine).unwrap().token;
    assert_eq!(engine.operator(&token).unwrap().name(), "ada");
    RemoveOperator { name: "ada".into() }.carry_out(engine).unwrap();
    engine.run_jobs(Duration::from_secs(60)).unwrap();
    lists::use_lists(world, user);
    engine.handle(&DeleteUser::new(user)).unwrap();
}

/// Returns the statements that everything the store can do executes.
pub(in crate::engine::store) fn executed() -> BTreeSet<String> {
    let world = World::new();
    use_all(&world);
    world.statements.0.lock().unwrap().clone()
}

/// Returns the steps of a statement that read a whole table, or all rows of an application.
fn scans(db: &Connection, sql: &str) -> Vec<String> {
    let mut explained = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = explained.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let step: String = row.get(3).unwrap();
        // There are as many applications, operators, routes and keys as someone has set up, and as many
        // counts as months.
        let few = [
            "SCAN CONSTANT ROW",
            "SCAN applications",
            "SCAN operators",
            "SCAN routes",
            "SCAN sealing_keys",
            "SEARCH statistics",
            // The keys of all applications. Other names are looked up one by one: `lookups::names` has one caller.
            "SEARCH lookups USING PRIMARY KEY (kind=? AND app_id=?)",
        ];
        let scans =
            step.starts_with("SCAN ") || step.contains("(kind=?)") || step.contains("app_id=?)");
        if scans && !few.iter().any(|few| step.starts_with(few)) {
            found.push(step);
        }
    }
    found
}

#[test]
fn no_statement_reads_a_whole_table() {
    let statements = executed();
    let db = open::memory().unwrap();
    let control = ["BEGIN", "COMMIT", "ROLLBACK", "PRAGMA", "--", "CREATE"];
    let mut complaints = Vec::new();
    for sql in statements.iter().filter(|sql| !control.iter().any(|word| sql.starts_with(word))) {
        let found = scans(&db, sql);
        complaints.extend(found.into_iter().map(|step| format!("{step}, for {sql}")));
    }
    for table in TABLES {
        for verb in ["INSERT INTO", "FROM"] {
            let words = format!("{verb} {} ", table.name);
            let seen = statements.iter().any(|sql| sql.contains(&words));
            if !seen {
                complaints.push(format!("this test does not execute: {words}"));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn the_schema_has_the_columns_that_are_declared() {
    let db = open::memory().unwrap();
    for table in TABLES {
        let sql =
            format!("SELECT name, type, \"notnull\", pk FROM pragma_table_info('{}')", table.name);
        let mut found = db.prepare(&sql).unwrap();
        let columns = found.query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, i64>(3)? as usize))
        });
        let found: Vec<(String, String, bool, usize)> =
            columns.unwrap().map(Result::unwrap).collect();
        // A key of one number is the row's id, which SQLite does not call NOT NULL.
        let is_id = |key: usize| table.key == 1 && key == 1;
        let declared = table.columns.iter().enumerate().map(|(place, column)| {
            let kind = match column.kind {
                Kind::Int => "INTEGER",
                Kind::Text => "TEXT",
                Kind::Blob => "BLOB",
            };
            let key = if place < table.key { place + 1 } else { 0 };
            (column.name.to_owned(), kind.to_owned(), !column.optional || is_id(key), key)
        });
        let found = found
            .into_iter()
            .map(|(name, kind, not_null, key)| (name, kind, not_null || is_id(key), key));
        let found: Vec<_> = found.collect();
        assert_eq!(found, declared.collect::<Vec<_>>(), "{}", table.name);
    }
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

#[test]
fn a_wrong_api_key_is_looked_up_once_in_ten_seconds() {
    let world = World::new();
    let executed = || std::mem::take(&mut *world.statements.0.lock().unwrap());
    let wrong = ApiKey::try_from(Secret::new("a-wrong-key")).unwrap();
    let look_ups = |_: u32| {
        executed();
        world.engine.authenticate(&wrong).unwrap_err();
        !executed().is_empty()
    };
    assert_eq!([1, 2, 3].map(look_ups), [true, false, false]);
    world.wait(10);
    assert_eq!([1, 2].map(look_ups), [true, false]);
}

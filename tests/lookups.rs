//! Look-ups of numbers: what callers learn of them, how often a provider is asked, and which numbers an
//! application does not accept.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, url};
use seconder::calls::{Channel, CreateUser, PhoneInfo, PhoneType, StartPhoneVerification};
use seconder::engine::{AuditEntry, AuditFilter, LineType, NumberLookup, PhoneLine, Reserved};
use seconder::{Error, Handle, Service, Settings};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The beginning of a day of UTC.
const NOW: u64 = 1_700_006_400;
const A_DAY: u64 = 86_400;

/// A service, and the numbers that its provider was asked for.
struct World {
    service: Service,
    asked: Arc<Mutex<Vec<String>>>,
    clock: ManualClock,
}

fn line(carrier: &str, kind: Option<LineType>, ported: Option<bool>) -> PhoneLine {
    let carrier = (!carrier.is_empty()).then(|| carrier.to_owned());
    PhoneLine { carrier, kind, ported }
}

/// What the provider knows, by the last digit.
fn known(number: &str) -> Option<PhoneLine> {
    match number.chars().last().unwrap() {
        '0' => None,
        '1' => Some(PhoneLine::default()),
        '2' => Some(line("A\u{1b}[31mcme\n Mobile ", Some(LineType::Mobile), Some(true))),
        '3' => Some(line("Acme", Some(LineType::Landline), Some(false))),
        '4' => Some(line("Acme", Some(LineType::Voip), None)),
        '5' => Some(line("", Some(LineType::Disposable), None)),
        _ => Some(line("Acme", Some(LineType::Mobile), Some(false))),
    }
}

fn world_at(url: &str, limits: &str) -> World {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let keep = Arc::clone(&asked);
    let lookup = move |number: &str| {
        keep.lock().unwrap().push(number.to_owned());
        known(number)
    };
    let clock = ManualClock::at(NOW);
    let settings = Settings::new(url).clock(clock.clone()).deliver(|_: &_| Ok(()));
    let service = settings.limits(limits).lookup(lookup).open().unwrap();
    World { service, asked, clock }
}

fn in_folder(limits: &str) -> (World, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let world = world_at(&url(&folder.path().join("test.db")), limits);
    (world, folder)
}

impl World {
    fn info(&self, number: &str) -> (PhoneType, String, bool) {
        let call = PhoneInfo::new(number.parse().unwrap(), "1".parse().unwrap());
        let info = self.service.handle(&call).unwrap();
        (info.phone_type, info.provider.unwrap(), info.ported.unwrap())
    }

    fn start(
        &self,
        via: Channel,
        country: &str,
        number: &str,
    ) -> Result<(String, bool, bool), Error> {
        let call =
            StartPhoneVerification::new(via, number.parse().unwrap(), country.parse().unwrap());
        let started = self.service.handle(&call)?;
        let flags = (started.is_ported.unwrap(), started.is_cellphone.unwrap());
        Ok((started.carrier.unwrap(), flags.0, flags.1))
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn audit(&self, verdict: &str) -> Vec<AuditEntry> {
        let filter = AuditFilter { verdict: Some(verdict.to_owned()), ..AuditFilter::default() };
        self.service.engine().unwrap().audit(&filter, None, 100).unwrap().entries
    }
}

fn code(error: &Error) -> (u16, &str) {
    match error {
        Error::Rejected(rejection) => (rejection.status, rejection.code.as_deref().unwrap()),
        other => panic!("{other}"),
    }
}

#[test]
fn the_information_about_a_number_is_what_the_provider_says() {
    let (world, _folder) = in_folder("");
    let unknown = || "Unknown".to_owned();
    assert_eq!(world.info("2025550120"), (PhoneType::Unknown, unknown(), false));
    assert_eq!(world.info("2025550121"), (PhoneType::Unknown, unknown(), false));
    assert_eq!(world.info("2025550122"), (PhoneType::Cellphone, "A[31mcme Mobile".into(), true));
    assert_eq!(world.info("2025550123"), (PhoneType::Landline, "Acme".into(), false));
    assert_eq!(world.info("2025550124"), (PhoneType::Voip, "Acme".into(), false));
    assert_eq!(world.info("2025550125"), (PhoneType::Unknown, unknown(), false));
    assert_eq!(world.asked.lock().unwrap()[0], "+12025550120");
}

#[test]
fn an_answer_is_used_again_until_it_is_too_old() {
    let (world, _folder) = in_folder("carrier_days=3");
    for (number, life) in [("2025550120", 60), ("2025550121", A_DAY), ("2025550122", 3 * A_DAY)] {
        world.clock.set(NOW);
        let before = world.asked();
        let first = world.info(number);
        world.clock.set(NOW + life - 1);
        assert_eq!(world.info(number), first);
        assert_eq!(world.asked(), before + 1, "{number}");
        world.clock.set(NOW + life);
        assert_eq!(world.info(number), first);
        assert_eq!(world.asked(), before + 2, "{number}");
    }
}

#[test]
fn a_number_is_kept_as_a_hash_and_its_row_goes_when_it_is_too_old() {
    let (world, folder) = in_folder("");
    world.info("2025550122");
    let path = folder.path().join("test.db");
    let rows = |path: &Path| -> i64 {
        let database = rusqlite::Connection::open(path).unwrap();
        let count = "SELECT count(*) FROM phone_lines WHERE length(number_hash) = 32";
        database.query_row(count, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(rows(&path), 1);
    for name in ["test.db", "test.db-wal"] {
        let bytes = std::fs::read(folder.path().join(name)).unwrap_or_default();
        assert!(!bytes.windows(10).any(|window| window == b"2025550122"), "{name}");
    }
    world.clock.set(NOW + 30 * A_DAY);
    world.service.engine().unwrap().maintain(Duration::from_secs(5)).unwrap();
    assert_eq!(rows(&path), 0);
}

#[test]
fn a_verification_looks_a_number_up_only_for_a_rule() {
    let (world, _folder) = in_folder("");
    world.start(Channel::Sms, "1", "2025550124").unwrap();
    let user = world.service.create_user("ada@example.com", "2025550124", "1").unwrap();
    world.service.request_sms(user.user_id).unwrap();
    assert_eq!(world.asked(), 0);
}

#[test]
fn numbers_of_types_that_are_refused_are_neither_enrolled_nor_sent_codes() {
    let (world, _folder) = in_folder("refuse=voip+disposable+landline");
    assert_eq!(
        world.start(Channel::Sms, "1", "2025550122").unwrap(),
        ("A[31mcme Mobile".to_owned(), true, true)
    );
    for (number, sms) in [
        ("2025550123", (403, "60082")),
        ("2025550124", (400, "60033")),
        ("2025550125", (400, "60033")),
    ] {
        let error = world.start(Channel::Sms, "1", number).unwrap_err();
        assert_eq!(code(&error), sms, "{number}");
        let error = world.service.create_user("ada@example.com", number, "1").unwrap_err();
        assert_eq!(code(&error), (400, "60027"), "{number}");
        assert!(error.to_string().contains("cellphone"), "{error}");
        let call = world.start(Channel::Call, "1", number);
        assert_eq!(call.is_ok(), number.ends_with('3'), "a landline receives calls: {number}");
    }
    let rows = world.audit("refused");
    let mut reasons: Vec<_> = rows.iter().map(|row| row.reason.as_deref().unwrap()).collect();
    reasons.sort_unstable();
    let each = ["disposable", "disposable", "landline", "landline", "voip", "voip"];
    assert_eq!(reasons, each, "those by SMS and by call share a row");
    assert!(rows.iter().all(|row| row.over_limit.as_deref() == Some("refuse")));
    assert!(rows.iter().all(|row| row.number.as_ref().unwrap().starts_with("+1-XXX-XXX-XX2")));
    assert_eq!(world.asked(), 4, "each number once");
}

#[test]
fn a_user_whose_number_is_refused_since_gets_no_codes() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(&folder.path().join("test.db"));
    let before = world_at(&url, "");
    let user = before.service.create_user("ada@example.com", "2025550123", "1").unwrap();
    let world = world_at(&url, "refuse=landline");
    let error = world.service.request_sms(user.user_id).unwrap_err();
    assert_eq!(code(&error), (403, "60082"));
    world.service.request_call(user.user_id).unwrap();
}

#[test]
fn what_the_numbering_plan_says_needs_no_provider() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new(&url(&folder.path().join("test.db"))).limits("refuse=landline");
    let service = settings.deliver(|_: &_| Ok(())).open().unwrap();
    let create = |number: &str| service.create_user("ada@example.com", number, "44").map(drop);
    assert_eq!(code(&create("2079460000").unwrap_err()), (400, "60027"));
    create("7400123456").unwrap();
    // The numbering plan of North America does not say, and nobody can be asked.
    service.create_user("ada@example.com", "2025550123", "1").unwrap();

    let (world, _folder) = in_folder("refuse=landline");
    world.start(Channel::Sms, "44", "2079460003").unwrap_err();
    world.start(Channel::Sms, "44", "7400123453").unwrap();
    assert_eq!(world.asked(), 0);
}

#[test]
fn a_number_that_nothing_is_known_of_is_accepted() {
    let (world, _folder) = in_folder("refuse=landline+voip+disposable");
    for number in ["2025550120", "2025550121"] {
        world.start(Channel::Sms, "1", number).unwrap();
    }
    let rows = world.audit("not_looked_up");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].reason.as_deref(), Some("lookup_failed"));
}

#[test]
fn a_message_that_is_over_a_limit_costs_no_look_up() {
    let (world, _folder) = in_folder("refuse=voip countries=44 application_day=1");
    assert_eq!(
        code(&world.start(Channel::Sms, "1", "2025550126").unwrap_err()),
        (403, "country_not_allowed")
    );
    world.start(Channel::Sms, "44", "7400123456").unwrap();
    let error = world.start(Channel::Sms, "44", "7400123457").unwrap_err();
    assert!(matches!(error, Error::RateLimited { .. }), "{error}");
    assert_eq!(world.asked(), 1);
}

#[test]
fn look_ups_of_a_day_are_counted_and_beyond_them_nothing_is_known() {
    let (world, _folder) = in_folder("lookup_day=2");
    let known = |number| world.info(number).0 == PhoneType::Cellphone;
    assert!(known("2025550126") && known("2025550127") && !known("2025550128"));
    assert!(known("2025550126"), "it was looked up before");
    let rows = world.audit("not_looked_up");
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].over_limit.as_deref(), rows[0].call.as_str()),
        (Some("lookup_day"), "phone_info")
    );
    world.clock.set(NOW + A_DAY);
    assert!(known("2025550128"));

    let (world, _folder) = in_folder("lookup_day=0");
    assert_eq!(world.info("2025550126").0, PhoneType::Unknown);
    assert_eq!(world.asked(), 0);
}

#[test]
fn the_budget_is_exact_however_many_threads_there_are() {
    let (world, _folder) = in_folder("lookup_day=20");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let world = &world;
            scope.spawn(move || {
                for number in 0..10 {
                    world.info(&format!("20255{thread}{number}126"));
                }
            });
        }
    });
    assert_eq!(world.asked(), 20);
}

/// Whoever is enrolled was accepted before, and is only given another e-mail.
#[test]
fn a_number_that_is_enrolled_already_is_neither_refused_nor_looked_up() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(&folder.path().join("test.db"));
    let before = world_at(&url, "");
    let user = before.service.create_user("ada@example.com", "2025550124", "1").unwrap();
    let world = world_at(&url, "refuse=voip");
    let again = world.service.create_user("ada@example.org", "2025550124", "1").unwrap();
    assert_eq!(again.user_id, user.user_id);
    assert_eq!(world.asked(), 0);
}

#[test]
fn a_landline_by_its_numbering_plan_is_rejected_without_a_look_up() {
    let (world, _folder) = in_folder("refuse=voip");
    let error = world.start(Channel::Sms, "44", "2079460006").unwrap_err();
    assert_eq!(code(&error), (403, "60082"));
    assert_eq!(world.asked(), 0);
    world.start(Channel::Call, "44", "2079460006").unwrap();
    assert_eq!(world.asked(), 1);
}

/// A provider that counts the reservations that are not used.
#[derive(Clone, Default)]
struct Reserving {
    paused: Arc<AtomicBool>,
    given_back: Arc<AtomicUsize>,
}

struct GivenBack(Arc<AtomicUsize>);

impl Drop for GivenBack {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl NumberLookup for Reserving {
    fn look_up(&self, number: &str) -> Option<PhoneLine> {
        known(number)
    }

    fn reserve(&self) -> Reserved<'_> {
        if self.paused.load(Ordering::SeqCst) {
            return Reserved::NotNow;
        }
        let unused = GivenBack(Arc::clone(&self.given_back));
        Reserved::LookUp(Box::new(move |number| {
            std::mem::forget(unused);
            self.look_up(number)
        }))
    }
}

#[test]
fn only_look_ups_that_are_made_are_counted_and_others_are_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let provider = Reserving::default();
    let settings = Settings::new(&url(&folder.path().join("test.db"))).limits("lookup_day=1");
    let service = settings.lookup(provider.clone()).deliver(|_: &_| Ok(())).open().unwrap();
    let world = World { service, asked: Arc::default(), clock: ManualClock::at(NOW) };
    provider.paused.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(world.info("2025550126").0, PhoneType::Unknown);
    }
    assert_eq!(world.audit("not_looked_up")[0].reason.as_deref(), Some("lookup_paused"));
    provider.paused.store(false, Ordering::SeqCst);
    assert_eq!(world.info("2025550126").0, PhoneType::Cellphone, "nothing was counted or kept");
    assert_eq!(provider.given_back.load(Ordering::SeqCst), 0);
    assert_eq!(world.info("2025550127").0, PhoneType::Unknown, "over the limit");
    assert_eq!(provider.given_back.load(Ordering::SeqCst), 1);
}

#[test]
fn new_only_and_the_rules_of_enrolment_go_together() {
    let (world, _folder) = in_folder("refuse=voip");
    let user = |number: &str| {
        let call = CreateUser::new(
            "ada@example.com".parse().unwrap(),
            number.parse().unwrap(),
            "1".parse().unwrap(),
        );
        world.service.handle(&CreateUser { new_only: true, ..call })
    };
    user("2025550126").unwrap();
    assert_eq!(code(&user("2025550126").unwrap_err()).0, 409);
    assert_eq!(code(&user("2025550124").unwrap_err()).0, 400);
}

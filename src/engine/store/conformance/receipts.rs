//! Conformance of delivery receipts and documents: every store keeps the same, for as long.

use super::*;
use crate::engine::delivery::{Delivery, Outcome};
use crate::engine::handlers::audit::AuditFilter;
use crate::engine::handlers::jobs::JobFilter;
use crate::engine::store::{Document, Receipt};
use crate::model::Secret;
use std::sync::OnceLock;
use std::sync::mpsc::Sender;

/// A gateway that accepts each message with the id `p-` and the last two digits of its number, or with the ids of two
/// parts for those from 50 on (one part is always the same from 80 on), and keeps a document for it before.
#[derive(Default)]
pub(super) struct Accepts {
    /// The engine that keeps the documents.
    engine: Arc<OnceLock<Engine>>,
    tokens: Arc<Mutex<Vec<Secret>>>,
    /// Learns of each id before the engine does.
    ids: Option<Mutex<Sender<String>>>,
}

impl crate::engine::delivery::Deliver for Accepts {
    fn deliver(&self, _: &Message) -> std::result::Result<(), String> {
        Ok(())
    }

    fn attempt(&self, message: &Message, _: &str) -> Outcome {
        if let Some(engine) = self.engine.get() {
            let text = Secret::new(format!("<Say>{}</Say>", message.code));
            let token = engine.keep_document("main", Some(message), text).unwrap();
            self.tokens.lock().unwrap().push(token);
        }
        let id = match &message.to[message.to.len() - 2..] {
            of if of < "50" => format!("p-{of}"),
            of if of >= "80" => format!("c{of} shared"),
            of => format!("00A{of} b{of}"),
        };
        if let Some(ids) = &self.ids {
            ids.lock().unwrap().send(id.clone()).unwrap();
        }
        Outcome::Sent(Some(id))
    }

    fn routes(&self, _: &str, _: Channel) -> Vec<String> {
        vec!["main".to_owned()]
    }
}

impl Accepts {
    pub(super) fn reporting(ids: Sender<String>) -> Accepts {
        Accepts { ids: Some(Mutex::new(ids)), ..Accepts::default() }
    }
}

pub(super) fn engine(store: Store, accepts: Accepts) -> (Engine, Given) {
    let clock = Given(Arc::new(AtomicU64::new(1_700_000_000_000)));
    let settings = EngineSettings {
        clock: Arc::new(clock.clone()),
        random: Arc::new(Seeded(AtomicU64::new(7))),
        ..EngineSettings::default()
    };
    (Engine::open(store, Arc::new(accepts), None, settings).unwrap(), clock)
}

/// Sends a code to a user with a number of these last digits.
pub(super) fn send(engine: &Engine, of: u8) -> UserId {
    let phone = format!("20255501{of:02}").parse().unwrap();
    let call = CreateUser::new("a@example.com".parse().unwrap(), phone, "1".parse().unwrap());
    let user = engine.handle(&call).unwrap().user_id;
    engine.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
    user
}

/// Returns what new numbers of two countries get while codes to one of them are not used, and what an operator sees.
pub(super) fn pumped(store: Store) -> Vec<String> {
    let (engine, _) = engine(store, Accepts::default());
    crate::engine::operator::Operation::carry_out(
        &crate::engine::operator::SetLimits {
            limits: "completion_min=10 completion_after=10".to_owned(),
        },
        &engine,
    )
    .unwrap();
    let engine = engine.current().unwrap();
    let start = |country: &str, of: u8| {
        let number = format!("20255502{of:02}").parse().unwrap();
        let call = StartPhoneVerification::new(Channel::Sms, number, country.parse().unwrap());
        engine.handle(&call).map(drop).map_err(|error| error.limit().unwrap().to_owned())
    };
    let mut seen: Vec<_> = (0..12).map(|of| format!("{:?}", start("1", of))).collect();
    assert_eq!(seen[9..], ["Ok(())", "Err(\"completion_min\")", "Err(\"completion_min\")"]);
    assert_eq!(start("44", 20), Ok(()));
    seen.push(format!("{:?}", engine.codes_of_hour().unwrap()));
    let paused = AuditFilter { verdict: Some("paused".to_owned()), ..Default::default() };
    let audit = engine.audit(&paused, None, 9).unwrap().entries;
    assert_eq!(audit.len(), 1, "{audit:?}");
    seen.push(format!("{:?}", audit[0].reason));
    seen
}

/// Returns what an operator sees of messages whose provider reports early, twice, too late, or
/// about nothing.
pub(super) fn reported(store: Store) -> Vec<String> {
    let accepts = Accepts::default();
    let (for_documents, tokens) = (Arc::clone(&accepts.engine), Arc::clone(&accepts.tokens));
    let (engine, clock) = engine(store, accepts);
    let failed = || Delivery::Failed("UNDELIV, error 069".to_owned());
    let report = |id: &str, delivery: &Delivery| engine.receipt("main", id, delivery).unwrap();
    report("p-02", &failed());
    report("p-03", &Delivery::Pending);
    clock.0.fetch_add(1000, Ordering::Relaxed);
    for of in 0..5 {
        send(&engine, of);
    }
    clock.0.fetch_add(1000, Ordering::Relaxed);
    report("p-00", &Delivery::Pending);
    for delivery in [Delivery::Delivered, failed(), Delivery::Pending, Delivery::Delivered] {
        clock.0.fetch_add(1000, Ordering::Relaxed);
        assert!(report("p-00", &delivery) && !report("p-09", &delivery));
    }
    report("p-01", &failed());
    report("p-01", &failed());
    report("p-03", &Delivery::Delivered);
    engine.receipt("other", "p-04", &Delivery::Delivered).unwrap();
    let mut jobs = engine.jobs(&JobFilter::default(), None, 1000).unwrap().entries;
    jobs.sort_by_key(|job| job.provider_id.clone());
    let receipts: Vec<_> = jobs
        .iter()
        .map(|job| (job.receipt.clone(), job.receipt_at.map(|at| at - 1_700_000_000_000)))
        .collect();
    let failed = Some("failed: UNDELIV, error 069".to_owned());
    let delivered = Some("delivered".to_owned());
    assert_eq!(
        receipts,
        [
            (delivered.clone(), Some(3000)),
            (failed.clone(), Some(6000)),
            (failed, Some(0)),
            (delivered, Some(6000)),
            (None, None)
        ]
    );
    let undelivered =
        AuditFilter { verdict: Some("not_delivered".to_owned()), ..Default::default() };
    let audit = engine.audit(&undelivered, None, 100).unwrap().entries;
    assert_eq!(audit.len(), 2);
    assert!(audit.iter().all(|row| row.reason.as_deref() == Some("undeliverable")), "{audit:?}");
    let mut seen = vec![format!("{jobs:?} {audit:?}")];
    assert!(for_documents.set(engine.clone()).is_ok());
    let users = documents(&engine, &clock, &tokens, &mut seen);
    let left = |engine: &Engine| {
        let receipts = engine.look(|view| view.all::<Receipt>(())).unwrap().len();
        (receipts, engine.look(|view| view.all::<Document>(())).unwrap().len())
    };
    seen.push(format!("{:?}", left(&engine)));
    let (receipts, _) = left(&engine);
    engine.handle(&DeleteUser::new(users[0])).unwrap();
    assert_eq!(left(&engine).0, receipts - 1);
    // An hour for unknown messages, and three days for messages that were sent.
    for (hours, expected) in [(1, 8), (72, 0)] {
        clock.0.fetch_add(hours * 3_600_000 + 1, Ordering::Relaxed);
        engine.maintain(Duration::from_secs(60)).unwrap();
        assert_eq!(left(&engine), (expected, 0));
    }
    assert!(engine.jobs(&JobFilter::default(), None, 1000).unwrap().entries.is_empty());
    for id in ["", &"x".repeat(129)] {
        assert!(engine.receipt("main", id, &Delivery::Delivered).is_err());
    }
    seen
}

/// A document is fetched once, from its own route, and only as long as its code can be used.
fn documents(
    engine: &Engine,
    clock: &Given,
    tokens: &Mutex<Vec<Secret>>,
    seen: &mut Vec<String>,
) -> Vec<UserId> {
    let take = |route: &str, token: &Secret| {
        let taken = engine.take_document(route, token.expose()).unwrap();
        taken.map(|text| text.expose().to_owned())
    };
    let users: Vec<UserId> = (5..9).map(|of| send(engine, of)).collect();
    let tokens = tokens.lock().unwrap().clone();
    assert_eq!(take("other", &tokens[0]), None);
    for guess in ["", "a", &"a".repeat(43)] {
        assert_eq!(take("main", &Secret::new(guess)), None);
    }
    let first = take("main", &tokens[0]);
    assert!(first.as_ref().is_some_and(|text| text.starts_with("<Say>")), "{first:?}");
    assert_eq!(take("main", &tokens[0]), None);
    seen.push(format!("{first:?}"));
    // The code was used, or is dead after too many wrong ones.
    let code = take("main", &tokens[3]).unwrap();
    let code: Token = code[5..code.len() - 6].parse().unwrap();
    let verify = |user, token: Token| engine.handle(&Verify::new(user, token));
    let again = engine.handle(&RequestSms { force: Some(true), ..RequestSms::new(users[3]) });
    seen.push(shown(again.map(|_| ())));
    let right = verify(users[3], code).unwrap();
    seen.push(format!("{right:?}"));
    for _ in 0..12 {
        let _ = verify(users[1], "0000000".parse().unwrap());
        clock.0.fetch_add(20_000, Ordering::Relaxed);
    }
    assert_eq!(take("main", &tokens[1]), None);
    clock.0.fetch_add(600_000, Ordering::Relaxed);
    assert_eq!(take("main", &tokens[2]), None);
    let test = engine.keep_document("main", None, Secret::new("a test")).unwrap();
    assert_eq!(take("main", &test).as_deref(), Some("a test"));
    users
}

#[test]
fn a_message_of_several_parts_is_delivered_when_all_of_them_are() {
    for store in [sqlite(), memory()] {
        let (engine, _) = engine(store, Accepts::default());
        let failed = || Delivery::Failed("UNDELIV".to_owned());
        let report = |id: &str, delivery: Delivery| engine.receipt("main", id, &delivery).unwrap();
        let shown = |of: u8| {
            let jobs = engine.jobs(&JobFilter::default(), None, 1000).unwrap().entries;
            let ids = format!("00A{of} b{of}");
            jobs.into_iter().find(|job| job.provider_id.as_ref() == Some(&ids)).unwrap().receipt
        };
        // A report may arrive before the attempt has ended.
        assert!(!report("a52", Delivery::Delivered) && !report("B53", failed()));
        let users: Vec<UserId> = (50..54).map(|of| send(&engine, of)).collect();
        // Ids are compared without leading zeros and in either case.
        assert_eq!(shown(50), None);
        assert!(report("A50", Delivery::Delivered));
        assert_eq!(shown(50).as_deref(), Some("pending"));
        assert!(report("000B50", Delivery::Delivered) && report("b50", failed()));
        assert_eq!(shown(50).as_deref(), Some("delivered"));
        assert!(report("b51", failed()) && report("0a51", Delivery::Delivered));
        assert_eq!(shown(51).as_deref(), Some("failed: UNDELIV"));
        assert!(report("b51", Delivery::Delivered));
        assert_eq!(shown(51).as_deref(), Some("delivered"));
        assert_eq!(shown(52).as_deref(), Some("pending"));
        assert!(report("b52", Delivery::Pending) && report("b52", Delivery::Delivered));
        assert_eq!(shown(52).as_deref(), Some("delivered"));
        assert_eq!(shown(53).as_deref(), Some("failed: UNDELIV"));
        let filter =
            AuditFilter { verdict: Some("not_delivered".to_owned()), ..Default::default() };
        assert_eq!(engine.audit(&filter, None, 100).unwrap().entries.len(), 2);
        let left = || engine.look(|view| view.all::<Receipt>(())).unwrap().len();
        assert_eq!(left(), 8);
        engine.handle(&DeleteUser::new(users[0])).unwrap();
        assert_eq!(left(), 6);
    }
}

/// A provider may give an id again.
#[test]
fn a_message_shows_no_reports_of_another_with_the_same_id() {
    for store in [sqlite(), memory()] {
        let (engine, _) = engine(store, Accepts::default());
        let users = [send(&engine, 80), send(&engine, 81)];
        for id in ["c80", "shared"] {
            assert!(engine.receipt("main", id, &Delivery::Delivered).unwrap());
        }
        let shown = |of: u8| {
            let jobs = engine.jobs(&JobFilter::default(), None, 1000).unwrap().entries;
            let ids = format!("c{of} shared");
            jobs.into_iter().find(|job| job.provider_id.as_ref() == Some(&ids)).unwrap().receipt
        };
        assert_eq!(shown(80).as_deref(), Some("pending"), "the other part is of the later one");
        assert_eq!(shown(81).as_deref(), Some("pending"));
        engine.handle(&DeleteUser::new(users[0])).unwrap();
        assert!(engine.receipt("main", "shared", &Delivery::Pending).unwrap());
        assert!(engine.receipt("main", "c81", &Delivery::Delivered).unwrap());
        assert_eq!(shown(81).as_deref(), Some("delivered"));
    }
}

#[test]
fn sqlite_notes_receipts_and_keeps_documents_as_the_store_in_memory_does() {
    assert_eq!(reported(sqlite()), reported(memory()));
}

#[test]
fn sqlite_pauses_a_country_as_the_store_in_memory_does() {
    assert_eq!(pumped(sqlite()), pumped(memory()));
}

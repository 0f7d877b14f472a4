//! Users who get another phone number.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh;
use crate::listing::find;
#[cfg(unix)]
use crate::phone::Phone;
#[cfg(unix)]
use crate::phone::world::{NOW, World};
use seconder::calls::{Channel, CreateUser, Recognition, Verify};
#[cfg(unix)]
use seconder::engine::approver::Refused;
use seconder::engine::operator::{
    ListAudit, LockUser, RunJobs, SetUserNumber, ShowUser, UnlockUser,
};
use seconder::engine::{AuditEntry, AuditFilter, Message};
use seconder::model::UserId;
use seconder::{Error, Handle, Service, Settings, Verdict};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

fn status(error: &Error) -> u16 {
    let Error::Rejected(rejection) = error else { panic!("{error}") };
    rejection.status
}

fn by_operator(user_id: UserId, number: &str, code: Option<&str>) -> SetUserNumber {
    SetUserNumber {
        user_id,
        phone_number: number.parse().unwrap(),
        country_code: "1".parse().unwrap(),
        verification_code: code.map(|code| code.parse().unwrap()),
        unverified: code.is_none(),
    }
}

/// Returns what the audit says of the calls of one name, sorted: entries of the same millisecond have no order.
fn entries<T: Ord>(
    service: &Service,
    user_id: UserId,
    call: &str,
    of: impl Fn(&AuditEntry) -> T,
) -> Vec<T> {
    let filter = AuditFilter { user_id: Some(user_id), ..AuditFilter::default() };
    let page = service.operate(&ListAudit::of(&filter, None, 100)).unwrap();
    let mut of: Vec<_> = page.entries.iter().filter(|entry| entry.call == call).map(of).collect();
    of.sort();
    of
}

/// Changes numbers of users of a service that has none yet. The function returns the code that was sent last to a
/// number.
pub(crate) fn a_number_is_changed(service: &Service, code: &dyn Fn(&str) -> String) {
    let user = |email: &str, number: &str| {
        let call =
            CreateUser::new(email.parse().unwrap(), number.parse().unwrap(), 1.try_into().unwrap());
        service.handle(&CreateUser { new_only: true, ..call }).map(|created| created.user_id)
    };
    let ada = user("ada@example.com", "202-555-0123").unwrap();
    let bob = user("bob@example.com", "202-555-0124").unwrap();
    let verify = |code: &str| service.verify(ada, &code.parse().unwrap()).unwrap();
    let forced = |code: &str| {
        let call = Verify { force: true, ..Verify::new(ada, code.parse().unwrap()) };
        service.handle(&call).unwrap().verdict
    };
    service.request_sms(ada).unwrap();
    assert_eq!(forced(&code("+12025550123")), Verdict::Right);
    let browser = service.remember(ada).unwrap().token;
    let recovery = service.create_recovery_codes(ada).unwrap().codes;
    service.request_sms(ada).unwrap();
    let former = code("+12025550123");
    service.start_phone_verification(Channel::Sms, "202-555-0199", "1").unwrap();
    let new = code("+12025550199");
    let set =
        |number: &str, code: &str| service.set_number(ada, number, "1", &code.parse().unwrap());
    let wrong = if new.starts_with('0') { "1111111" } else { "0000000" };
    assert!(matches!(set("202-555-0199", wrong), Err(Error::TokenWrong { .. })));
    assert_eq!(status(&set("202-555-0124", &new).unwrap_err()), 409);
    // Neither took the right code away.
    assert_eq!(find(service, "2025550199", 9), Vec::<u64>::new());
    service.operate(&LockUser { user_id: ada }).unwrap();
    assert!(matches!(set("202-555-0199", &new), Err(Error::RateLimited { .. })));
    service.operate(&UnlockUser { user_id: ada, clock: false, clock_is_right: false }).unwrap();
    assert_eq!(service.operate(&ShowUser { user_id: ada }).unwrap().number_changed, None);
    set("202-555-0199", &new).unwrap();
    assert_eq!(status(&set("202-555-0199", &new).unwrap_err()), 404, "it is used up");

    assert_eq!(verify(&former), Verdict::Wrong);
    assert_eq!(service.recognise(ada, &browser).unwrap(), Recognition::NotRecognised);
    assert_eq!(find(service, "2025550123", 9), Vec::<u64>::new());
    assert_eq!(find(service, "+12025550199", 9), [ada.get()]);
    let shown = service.operate(&ShowUser { user_id: ada }).unwrap();
    assert!(shown.user.confirmed && shown.number_changed.is_some(), "{shown:?}");
    assert_eq!(shown.factors.recovery_codes, recovery.len() as u64);
    service.request_sms(ada).unwrap();
    assert_eq!(verify(&code("+12025550199")), Verdict::Right);
    // The former number is free for another person, and a number that is taken is not.
    assert_eq!(status(&user("cy@example.com", "202-555-0199").unwrap_err()), 409);
    let cy = user("cy@example.com", "202-555-0123").unwrap();
    assert!(cy != ada && cy != bob);

    let noted = entries(service, ada, "set_number", |entry| {
        let number = (entry.verdict == "done").then(|| entry.number.clone().unwrap());
        (entry.verdict.clone(), number, entry.reason.clone())
    });
    let row = |verdict: &str, number: Option<&str>, reason: Option<&str>| {
        (verdict.to_owned(), number.map(str::to_owned), reason.map(str::to_owned))
    };
    let expected = [
        row("done", Some("+1-XXX-XXX-XX99"), None),
        row("locked", None, None),
        row("none_pending", None, None),
        row("refused", None, Some("taken")),
        row("wrong", None, None),
    ];
    assert_eq!(noted, expected);
    an_operator_changes_it(service, ada, code);
}

fn an_operator_changes_it(service: &Service, ada: UserId, code: &dyn Fn(&str) -> String) {
    let number = || service.user_status(ada).unwrap().phone_number.unwrap();
    let open = SetUserNumber { unverified: false, ..by_operator(ada, "202-555-0177", None) };
    let error = service.operate(&open).unwrap_err().to_string();
    assert!(error.contains("verification_code must be given, or else unverified"), "{error}");
    let both =
        SetUserNumber { unverified: true, ..by_operator(ada, "202-555-0177", Some("1234567")) };
    assert!(matches!(service.operate(&both), Err(Error::InvalidArgument { .. })));
    assert_eq!(status(&service.operate(&by_operator(ada, "202-555-0124", None)).unwrap_err()), 409);
    assert_eq!(number(), "XXX-XXX-0199");
    service.start_phone_verification(Channel::Sms, "202-555-0177", "1").unwrap();
    let typed = code("+12025550177");
    service.operate(&by_operator(ada, "202-555-0177", Some(&typed))).unwrap();
    assert_eq!(number(), "XXX-XXX-0177");
    // A user whose phone is lost may be locked. What changes nothing is not in the audit.
    service.operate(&LockUser { user_id: ada }).unwrap();
    service.operate(&by_operator(ada, "202-555-0166", None)).unwrap();
    service.operate(&by_operator(ada, "202-555-0166", None)).unwrap();
    assert_eq!(number(), "XXX-XXX-0166");
    assert!(service.user_status(ada).unwrap().account_disabled);
    let reasons = entries(service, ada, "user.set_number", |entry| entry.reason.clone());
    assert_eq!(reasons, [None, Some("taken".to_owned()), Some("unverified".to_owned())]);
    assert!(!service.user_status(ada).unwrap().devices.contains(&"sms".to_owned()));
}

#[test]
fn a_user_keeps_everything_but_the_former_number() {
    let folder = tempfile::tempdir().unwrap();
    let (service, sent) = fresh::open(&folder.path().join("seconder.db"));
    let code = |to: &str| {
        let sent = sent.lock().unwrap();
        sent.iter().rev().find(|message| message.to == to).unwrap().code.clone()
    };
    a_number_is_changed(&service, &code);
}

#[test]
fn a_number_that_the_application_sends_nothing_to_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let url = fresh::url(&folder.path().join("seconder.db"));
    let service = Settings::new(&url).limits("deny=1202").open().unwrap();
    let ada = fresh::ada(&service);
    let error = service.operate(&by_operator(ada, "202-555-0199", None)).unwrap_err();
    assert_eq!(status(&error), 403);
    service.operate(&by_operator(ada, "555-010-0199", None)).unwrap();
}

/// A user who is found by the address has a number as the name from then on.
#[test]
fn a_user_without_a_number_gets_one() {
    let folder = tempfile::tempdir().unwrap();
    let service = fresh::open(&folder.path().join("seconder.db")).0;
    let eve = CreateUser::without_phone("eve@example.com".parse().unwrap());
    let user_id = service.handle(&eve).unwrap().user_id;
    service.operate(&by_operator(user_id, "555-010-0199", None)).unwrap();
    let again = service.create_user("eve@example.com", "555-010-0199", "1").unwrap();
    assert_eq!((again.user_id, again.created), (user_id, Some(false)));
    assert_ne!(service.handle(&eve).unwrap().user_id, user_id);
}

#[test]
fn a_message_to_the_former_number_is_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let (is_down, sent) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU32::new(0)));
    let (down, count) = (Arc::clone(&is_down), Arc::clone(&sent));
    let deliver = move |_: &Message| match down.load(Relaxed) {
        true => Err("down".to_owned()),
        false => {
            count.fetch_add(1, Relaxed);
            Ok(())
        }
    };
    let url = fresh::url(&folder.path().join("seconder.db"));
    let settings = Settings::new(&url).install_link("https://app.example/get").deliver(deliver);
    let service = settings.open().unwrap();
    let users = ["555-010-0123", "555-010-0124"]
        .map(|number| service.create_user("ada@example.com", number, "1").unwrap().user_id);
    is_down.store(false, Relaxed);
    service.operate(&by_operator(users[0], "555-010-0199", None)).unwrap();
    let engine = service.engine().unwrap();
    let jobs = engine.jobs(&seconder::engine::JobFilter::default(), None, 9).unwrap().entries;
    let replayed: Vec<_> = jobs.iter().map(|job| engine.replay_job(&job.id).is_ok()).collect();
    assert_eq!(replayed.iter().filter(|replayed| **replayed).count(), 1, "{jobs:?}");
    service.operate(&RunJobs { budget: Some(60) }).unwrap();
    assert_eq!(sent.load(Relaxed), 1);
}

/// The person who has the former number now could register a device.
#[cfg(unix)]
#[test]
fn an_invitation_that_was_sent_to_the_former_number_is_of_no_use() {
    let world = World::new();
    let invite = |number: &str| {
        let user_id = world.service.create_user("bo@example.com", number, "1").unwrap().user_id;
        let text = world.messages.lock().unwrap().last().unwrap().text.clone();
        (user_id, text[text.find('#').unwrap() + 1..][..11].to_owned())
    };
    let (bo, former) = invite("555-010-0198");
    let (_, other) = invite("555-010-0197");
    world.service.operate(&by_operator(bo, "555-010-0199", None)).unwrap();
    let refused = Phone::register(world.engine(), &former, NOW).err().unwrap();
    assert_eq!(refused, Refused::InvitationUnknown);
    assert!(Phone::register(world.engine(), &other, NOW).is_ok());
    let shown = world.service.invite_device(bo).unwrap().code;
    assert!(Phone::register(world.engine(), shown.expose(), NOW).is_ok());
}

/// Changes the number of a user while a provider is asked about the former one.
#[derive(Clone, Default)]
struct Moving(Arc<Mutex<Option<(Service, UserId)>>>);

impl Moving {
    fn look_up(&self) {
        // Once, as the change looks up the new number.
        let user = self.0.lock().unwrap().take();
        if let Some((service, user_id)) = user {
            service.operate(&by_operator(user_id, "202-555-0199", None)).unwrap();
        }
    }
}

#[test]
fn no_code_goes_to_a_number_that_is_a_former_one_by_then() {
    let folder = tempfile::tempdir().unwrap();
    let url = fresh::url(&folder.path().join("seconder.db"));
    // Enrolled before numbers are looked up, as what was found is kept.
    let ada = fresh::ada(&Settings::new(&url).deliver(|_: &Message| Ok(())).open().unwrap());
    let moving = Moving::default();
    let asked = moving.clone();
    let sent = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&sent);
    let settings = Settings::new(&url).limits("refuse=voip").lookup(move |_: &str| {
        asked.look_up();
        None
    });
    let deliver = move |_: &Message| {
        count.fetch_add(1, Relaxed);
        Ok(())
    };
    let service = settings.deliver(deliver).open().unwrap();
    *moving.0.lock().unwrap() = Some((service.clone(), ada));
    let error = service.request_sms(ada).unwrap_err();
    assert_eq!((status(&error), sent.load(Relaxed)), (409, 0), "{error}");
    let verdicts = entries(&service, ada, "request_sms", |entry| entry.verdict.clone());
    assert_eq!(verdicts, ["refused"]);
    service.request_sms(ada).unwrap();
    assert_eq!(sent.load(Relaxed), 1);
}

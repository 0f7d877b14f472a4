//! Users that come from another service, by calls of the engine.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ManualClock, open_at};
use crate::phone::world::World;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use seconder::calls::{CreateUser, EnrolAuthenticator};
use seconder::engine::{AuditFilter, AuthenticatorRecord, Engine, Imported, UserRecord};
use seconder::model::UserId;
use seconder::otp::{Algorithm, Totp};
use seconder::{Error, Handle, Service, Verdict, Verify};

const NOW: u64 = 1_700_006_400;
const SECRET: [u8; 20] = [7; 20];

fn user(id: u64, number: &str) -> UserRecord {
    let email = format!("user{id}@example.com").parse().unwrap();
    let (id, number) = (UserId::try_from(id).unwrap(), number.parse().unwrap());
    UserRecord::new(Some(id), None, &number, Some(email)).unwrap()
}

fn with_app(id: u64, number: &str) -> UserRecord {
    let mut user = user(id, number);
    user.confirmed = true;
    user.authenticators.push(AuthenticatorRecord::new(SECRET.to_vec().into(), 8, 60).unwrap());
    user
}

fn open(folder: &tempfile::TempDir) -> (Service, ManualClock) {
    let clock = ManualClock::at(NOW);
    (open_at(&folder.path().join("seconder.db"), &clock).0, clock)
}

fn imported(engine: &Engine, user: UserRecord) -> Imported {
    engine.import_users(vec![user], false).unwrap().remove(0)
}

#[test]
fn an_app_of_another_service_accepts_no_code_from_before_the_import() {
    let folder = tempfile::tempdir().unwrap();
    let (service, clock) = open(&folder);
    let engine = service.engine().unwrap();
    assert_eq!(imported(engine, with_app(7, "15550100123")), Imported::Created);
    let totp = Totp::new(&SECRET, Algorithm::Sha1, 8, 60).unwrap();
    let seven = UserId::try_from(7).unwrap();
    let handle =
        |at: u64| service.handle(&Verify::new(seven, totp.code(at).expose().parse().unwrap()));
    let verify = |at: u64| handle(at).map(|done| (done.verdict, done.reused)).unwrap();
    assert_eq!(verify(NOW), (Verdict::Wrong, true));
    clock.set(NOW + 60);
    assert_eq!(verify(NOW + 60), (Verdict::Right, false));
    // The same user again, who has logged in since.
    assert_eq!(imported(engine, with_app(7, "15550100123")), Imported::Unchanged);
    assert_eq!(verify(NOW + 60), (Verdict::Wrong, true), "an import makes no code valid again");
    let mut known = with_app(8, "15550100124");
    known.authenticators[0].last_step = Some(NOW / 60);
    assert_eq!(imported(engine, known), Imported::Created);
    let filter = AuditFilter { user_id: Some(seven), ..AuditFilter::default() };
    let audit = engine.audit(&filter, None, 100).unwrap().entries;
    let imports: Vec<_> = audit.iter().filter(|entry| entry.call == "import_users").collect();
    let [import] = imports[..] else { panic!("{audit:?}") };
    let noted = (&*import.verdict, import.number.as_deref());
    assert_eq!(noted, ("created", Some("+1-XXX-XXX-XX23")));
    // A new app takes the place of the one that came along.
    service.handle(&EnrolAuthenticator::new(seven)).unwrap();
}

#[test]
fn an_app_that_is_pending_takes_the_place_of_the_other_wherever_it_stands_in_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let (service, clock) = open(&folder);
    let mut both = with_app(7, "15550100123");
    let mut pending = AuthenticatorRecord::new(vec![8; 20].into(), 6, 30).unwrap();
    pending.pending = true;
    both.authenticators.insert(0, pending);
    assert_eq!(imported(service.engine().unwrap(), both), Imported::Created);
    let seven = UserId::try_from(7).unwrap();
    clock.set(NOW + 60);
    let code = |totp: &Totp| totp.code(NOW + 60).expose().parse().unwrap();
    let new = code(&Totp::new(&[8; 20], Algorithm::Sha1, 6, 30).unwrap());
    let old = code(&Totp::new(&SECRET, Algorithm::Sha1, 8, 60).unwrap());
    assert_eq!(service.confirm_authenticator(seven, &new).unwrap(), Verdict::Right);
    let replaced = service.handle(&Verify::new(seven, old)).unwrap();
    assert_eq!(replaced.verdict, Verdict::Wrong, "the other one was replaced");
}

#[test]
fn new_users_have_ids_above_all_that_were_imported() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = open(&folder);
    let engine = service.engine().unwrap();
    let first = service.create_user("ada@example.com", "555-010-0100", "1").unwrap().user_id;
    assert_eq!(first.get(), 1);
    let outcomes =
        engine.import_users(vec![user(900, "15550100101"), user(20, "15550100102")], false);
    assert_eq!(outcomes.unwrap(), [Imported::Created, Imported::Created]);
    let next = service.create_user("bob@example.com", "555-010-0103", "1").unwrap().user_id;
    assert_eq!(next.get(), 901);
    assert_eq!(imported(engine, user(21, "15550100104")), Imported::Created, "below the others");
    let next = service.create_user("cy@example.com", "555-010-0105", "1").unwrap().user_id;
    assert_eq!(next.get(), 902);
    let highest = engine.import_users(vec![user((1 << 62) + 1, "15550100106")], false);
    assert!(matches!(highest, Err(Error::InvalidArgument { .. })), "none would be left");
    let number = service.create_user("eve@example.com", "555-010-0104", "1").unwrap();
    assert_eq!((number.user_id.get(), number.created), (21, Some(false)));
}

#[test]
fn a_dry_run_has_the_outcomes_of_an_import_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = open(&folder);
    let engine = service.engine().unwrap();
    imported(engine, user(1, "15550100101"));
    let users = || {
        let other_number = user(1, "15550100102");
        let twice = [user(2, "15550100103"), user(2, "15550100103"), user(2, "15550100104")];
        let taken = [user(3, "15550100101"), user(4, "15550100103")];
        [vec![user(1, "15550100101"), other_number], twice.to_vec(), taken.to_vec()].concat()
    };
    let shown = |outcome: &Imported| match outcome {
        Imported::Created => "created".to_owned(),
        Imported::Unchanged => "unchanged".to_owned(),
        Imported::Conflict(at) => format!("{} {}", at.field, at.problem),
        _ => unreachable!("there are no others"),
    };
    let dry: Vec<_> = engine.import_users(users(), true).unwrap().iter().map(shown).collect();
    let expected = [
        "unchanged",
        "phone is another one than that of the user with this id here",
        "created",
        "unchanged",
        "phone is another one than that of the user with this id here",
        "phone belongs to user 1 here",
        "phone belongs to user 2, who comes earlier",
    ];
    assert_eq!(dry, expected);
    assert_eq!(engine.export_users(None, 10, true).unwrap().users.len(), 1);
    let done: Vec<_> = engine.import_users(users(), false).unwrap().iter().map(shown).collect();
    assert_eq!(done, expected);
    assert_eq!(engine.export_users(None, 10, true).unwrap().users.len(), 2);
}

#[test]
fn every_user_is_on_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = open(&folder);
    let engine = service.engine().unwrap();
    let all = (1..=25).map(|id| user(id * 3, &format!("155501001{id:02}")));
    engine.import_users(all.collect(), false).unwrap();
    let (mut ids, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = engine.export_users(after, 10, true).unwrap();
        ids.extend(page.users.iter().map(|user| user.user_id.unwrap().get()));
        (after, pages) = (page.next, pages + 1);
        if after.is_none() {
            break;
        }
    }
    assert_eq!((ids, pages), ((1..=25).map(|id| id * 3).collect::<Vec<_>>(), 3));
}

#[test]
fn a_line_again_is_judged_alike_in_one_transaction_and_in_two() {
    let (again, less) = (with_app(1, "15550100101"), user(1, "15550100101"));
    let mut other = with_app(1, "15550100101");
    other.email = Some("other@example.com".parse().unwrap());
    let users = [again.clone(), again, less, other];
    let shown = |outcomes: Vec<Imported>| {
        let unchanged = |outcome: &Imported| *outcome == Imported::Unchanged;
        outcomes.iter().map(unchanged).collect::<Vec<_>>()
    };
    let outcomes = |each: usize| {
        let folder = tempfile::tempdir().unwrap();
        let (service, _) = open(&folder);
        let engine = service.engine().unwrap();
        let batches = users.chunks(each);
        let outcomes =
            batches.map(|batch| shown(engine.import_users(batch.to_vec(), false).unwrap()));
        outcomes.collect::<Vec<_>>().concat()
    };
    assert_eq!(outcomes(4), [false, true, true, false]);
    assert_eq!(outcomes(1), outcomes(4));
}

#[test]
fn a_damaged_secret_stops_no_export_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = open(&folder);
    let engine = service.engine().unwrap();
    imported(engine, with_app(1, "15550100101"));
    let file = folder.path().join("seconder.db");
    let damage = "UPDATE authenticators SET secret = x'00'";
    rusqlite::Connection::open(file).unwrap().execute_batch(damage).unwrap();
    let page = engine.export_users(None, 10, false).unwrap();
    assert_eq!((page.users.len(), page.apps_left_out, page.devices_left_out), (1, 1, 0));
    assert!(matches!(engine.export_users(None, 10, true), Err(Error::Storage { .. })));
}

#[test]
fn phones_stay_when_users_leave_and_all_else_of_them_is_exported() {
    let world = World::new();
    let phone = world.phone();
    let page = world.engine().export_users(None, 10, true).unwrap();
    assert_eq!((page.users.len(), page.devices_left_out), (1, 1));
    assert_eq!(page.users[0].user_id, Some(world.ada));
    assert!(page.users[0].devices.is_empty() && page.users[0].authenticators.is_empty());
    let without = world.engine().export_users(None, 10, false).unwrap();
    assert_eq!(without.apps_left_out, page.apps_left_out);
    assert_eq!(page.apps_left_out, 1, "the codes that the phone shows");
    // She is the same user for who comes with what was exported, and not with the secret of the phone as an app.
    let mut ada = page.users[0].clone();
    let outcomes = world.engine().import_users(vec![ada.clone()], false).unwrap();
    assert_eq!(outcomes, [Imported::Unchanged]);
    let secret = URL_SAFE_NO_PAD.decode(phone.codes.secret.expose()).unwrap();
    ada.authenticators.push(
        AuthenticatorRecord::new(secret.into(), phone.codes.digits, phone.codes.period).unwrap(),
    );
    let outcomes = world.engine().import_users(vec![ada], false).unwrap();
    assert!(matches!(&outcomes[0], Imported::Conflict(at) if at.field == "authenticators"));
}

/// A user without a number, by the address or the login name.
fn without_phone(id: Option<u64>, email: &str, login: &str) -> UserRecord {
    let email = (!email.is_empty()).then(|| email.parse().unwrap());
    let mut user = UserRecord::without_phone(id.map(|id| UserId::try_from(id).unwrap()), email);
    user.login = (!login.is_empty()).then(|| login.parse().unwrap());
    user.authenticators.push(AuthenticatorRecord::new(SECRET.to_vec().into(), 6, 30).unwrap());
    user
}

#[test]
fn users_without_a_number_come_by_their_address_or_login_name() {
    let folder = tempfile::tempdir().unwrap();
    let (service, clock) = open(&folder);
    let engine = service.engine().unwrap();
    let users = || {
        vec![
            without_phone(Some(7), "ada@example.com", ""),
            without_phone(None, "bob@example.com", "bob"),
            without_phone(None, "", "cy"),
            without_phone(None, "bob@example.com", "bob"),
            without_phone(None, "ada@example.com", "other"),
            without_phone(Some(8), "ada@example.com", ""),
            without_phone(Some(9), "", "cy"),
        ]
    };
    let shown = |outcome: &Imported| match outcome {
        Imported::Created => "created".to_owned(),
        Imported::Unchanged => "unchanged".to_owned(),
        Imported::Conflict(at) => format!("{} {}", at.field, at.problem),
        _ => unreachable!("there are no others"),
    };
    let expected = [
        "created",
        "created",
        "created",
        "unchanged",
        "login is another one than that of the user with this id here",
        "email belongs to user 7, who comes earlier",
        "login belongs to a user without an id, who comes earlier",
    ];
    for dry_run in [true, false] {
        let outcomes = engine.import_users(users(), dry_run).unwrap();
        assert_eq!(outcomes.iter().map(shown).collect::<Vec<_>>(), expected, "{dry_run}");
    }
    let again = engine.import_users(users()[..4].to_vec(), false).unwrap();
    assert!(again.iter().all(|outcome| *outcome == Imported::Unchanged), "{again:?}");
    // The application finds them by the same names, and they log in with their apps.
    let call = CreateUser::without_phone("bob@example.com".parse().unwrap());
    let bob = service.handle(&call).unwrap();
    assert_eq!((bob.user_id.get(), bob.created), (8, Some(false)));
    let cy = service.find_user(&"cy".parse().unwrap()).unwrap().user_id;
    assert_eq!(cy.get(), 9);
    clock.set(NOW + 60);
    let totp = Totp::new(&SECRET, Algorithm::Sha1, 6, 30).unwrap();
    let code: seconder::model::Token = totp.code(NOW + 60).expose().parse().unwrap();
    for user in [7, 8, 9].map(|id| UserId::try_from(id).unwrap()) {
        let checked = service.handle(&Verify { force: true, ..Verify::new(user, code.clone()) });
        assert_eq!(checked.unwrap().verdict, Verdict::Right, "{user}");
    }
    // A new app of a user without an address has the login name as its label.
    let label = service.handle(&EnrolAuthenticator::new(cy)).unwrap().label;
    assert_eq!(label.as_deref(), Some("cy"));
    let only = service.remove_login(&"cy".parse().unwrap());
    assert!(matches!(only, Err(Error::Rejected(why)) if why.status == 409));
    // What is exported is imported to the same users in another database.
    let page = engine.export_users(None, 10, true).unwrap();
    let another = tempfile::tempdir().unwrap();
    let other = open(&another).0;
    let moved = other.engine().unwrap().import_users(page.users, false).unwrap();
    assert_eq!(moved, [Imported::Created, Imported::Created, Imported::Created]);
    assert_eq!(other.find_user(&"cy".parse().unwrap()).unwrap().user_id, cy);
    service.delete_user(cy).unwrap();
    assert!(service.find_user(&"cy".parse().unwrap()).is_err());
}

#[test]
fn a_user_whom_nothing_identifies_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = open(&folder);
    let engine = service.engine().unwrap();
    let rejected = engine.import_users(vec![without_phone(Some(7), "", "")], false);
    assert!(rejected.unwrap_err().to_string().contains("email is missing"));
}

/// A user with three apps.
fn with_apps(algorithms: [Algorithm; 3]) -> UserRecord {
    let mut user = user(7, "15550100123");
    user.confirmed = true;
    user.authenticators = (1..)
        .zip(algorithms)
        .map(|(byte, algorithm)| {
            let mut app = AuthenticatorRecord::new(vec![byte; 20].into(), 6, 30).unwrap();
            app.algorithm = algorithm;
            app
        })
        .collect();
    user
}

#[test]
fn each_app_of_a_user_accepts_its_codes_once() {
    let folder = tempfile::tempdir().unwrap();
    let (service, clock) = open(&folder);
    let engine = service.engine().unwrap();
    let all = [Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];
    assert_eq!(imported(engine, with_apps(all)), Imported::Created);
    assert_eq!(imported(engine, with_apps(all)), Imported::Unchanged);
    let other = imported(engine, with_apps([Algorithm::Sha1; 3]));
    assert!(matches!(other, Imported::Conflict(at) if at.field == "authenticators"));
    let seven = UserId::try_from(7).unwrap();
    let totp = |byte: u8, algorithm| Totp::new(&[byte; 20], algorithm, 6, 30).unwrap();
    let verify = |code: &str| {
        let checked = service.handle(&Verify::new(seven, code.parse().unwrap())).unwrap();
        (checked.verdict, checked.reused)
    };
    clock.set(NOW + 60);
    // A wrong code counts once whichever app it is compared with: after three, the user does not wait.
    for wrong in ["000000", "000001", "000002"] {
        assert_eq!(verify(wrong), (Verdict::Wrong, false));
    }
    for (byte, algorithm) in (1..).zip(all) {
        let code = totp(byte, algorithm).code(NOW + 60);
        assert_eq!(verify(code.expose()), (Verdict::Right, false), "{algorithm:?}");
        assert_eq!(verify(code.expose()), (Verdict::Wrong, true), "{algorithm:?}");
    }
    // The apps go on side by side, and come along in an export.
    let page = engine.export_users(None, 10, true).unwrap();
    let apps = &page.users[0].authenticators;
    assert_eq!(apps.iter().map(|app| app.algorithm).collect::<Vec<_>>(), all);
    assert!(apps.iter().all(|app| app.last_step == Some((NOW + 60) / 30)));
    clock.set(NOW + 120);
    let first = totp(1, Algorithm::Sha1).code(NOW + 120);
    assert_eq!(verify(first.expose()), (Verdict::Right, false));
    // A new app takes the place of all of them, with its first code.
    let uri = service.enrol_authenticator(seven).unwrap().uri;
    let new = Totp::from_uri(uri.expose()).unwrap();
    let second = totp(2, Algorithm::Sha256).code(NOW + 120);
    assert_eq!(verify(second.expose()), (Verdict::Right, false));
    let code = new.code(NOW + 120).expose().parse().unwrap();
    assert_eq!(service.confirm_authenticator(seven, &code).unwrap(), Verdict::Right);
    let third = totp(3, Algorithm::Sha512).code(NOW + 120);
    assert_eq!(verify(third.expose()), (Verdict::Wrong, false));
}

#[test]
fn users_have_at_most_five_apps_with_a_secret_each() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = open(&folder);
    let engine = service.engine().unwrap();
    let of = |secrets: &[u8]| {
        let mut user = user(7, "15550100123");
        let app = |byte| AuthenticatorRecord::new(vec![byte; 20].into(), 6, 30).unwrap();
        user.authenticators = secrets.iter().copied().map(app).collect();
        engine.import_users(vec![user], true).map(|outcomes| outcomes[0].clone())
    };
    assert_eq!(of(&[1, 2, 3, 4, 5]).unwrap(), Imported::Created);
    assert!(of(&[1, 2, 3, 4, 5, 6]).unwrap_err().to_string().contains("at most 5"));
    // A code of both would be accepted twice.
    assert!(of(&[1, 2, 1]).unwrap_err().to_string().contains("must have a secret each"));
}

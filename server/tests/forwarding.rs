//! An application that moves from one service to another, while both run: `seconder serve --forward`.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "the program has the clock of the system")]

mod faults;
mod guide;
pub(crate) mod side;

use crate::common::World;
use crate::postgres_server;
use seconder::calls::{
    ActivityType, ApprovalStatus, Channel, CheckPhoneVerification, CreateApproval, CreateUser,
    DeleteUser, EnrolAuthenticator, Recognise, RegisterActivity, RequestCall, RouteMatch,
    StartPhoneVerification, UserStatus, match_route,
};
use seconder::engine::operator::{
    AppSettings, ForwardStatus, Forwarded, LockUser, Operation, ReturnUser, SetApp, SetLimits,
    SetUserNumber, TakeUser,
};
use seconder::engine::{
    ApprovalResponse, AuditEntry, AuditFilter, DeviceType, RespondToApproval, UserRecord,
};
use seconder::http::Backend;
use seconder::model::UserId;
use seconder::otp::Totp;
use seconder::remote::Repeats;
use seconder::{Error, Handle, Result, Service, Verdict, Verify};
use seconder_server::Forward;
use side::Side;

const NUMBER: &str = "555-010-0123";

fn check(service: &Service, code: &str, user: UserId) -> Result<Verdict> {
    let call = Verify::new(user, code.parse().unwrap());
    service.handle(&call).map(|found| found.verdict)
}

fn status(side: &Side) -> Forwarded {
    ForwardStatus {}.carry_out(&side.engine).unwrap()
}

fn operate<O: Operation>(side: &Side, operation: &O) -> Result<()> {
    operation.carry_out(&side.engine).map(drop)
}

/// A user of the old service who has used a code there.
fn confirmed(old: &World, number: &str) -> UserId {
    let client = old.client();
    let user = client.create_user("ada@example.com", number, "1").unwrap().user_id;
    client.request_sms(user).unwrap();
    assert_eq!(check(&client, &old.code(), user).unwrap(), Verdict::Right);
    user
}

fn users_come_with_the_first_right_code(new: &Side, old: World) {
    let (app, user) = (new.client(), confirmed(&old, NUMBER));
    // Nothing is known of her number, so her code changes nothing.
    assert_eq!(check(&app, "1234567", user).unwrap(), Verdict::Wrong);
    assert_eq!(app.create_user("ada@new.example", NUMBER, "1").unwrap().user_id, user);
    assert_eq!(new.sent(), 0);
    assert_eq!(new.status(user).0, 404);
    let there = status(new);
    assert_eq!((there.users_there, there.users_taken), (1, 0));
    assert!(app.user_status(user).unwrap().confirmed);
    app.handle(&RequestCall::new(user)).unwrap();
    let code = old.code();
    assert_eq!(check(&app, "7654321", user).unwrap(), Verdict::Wrong);
    assert_eq!(check(&app, &code, user).unwrap(), Verdict::Right);
    let taken = status(new);
    assert_eq!((taken.users_there, taken.users_taken, taken.failed), (0, 1, 0));
    // A code is accepted once, also by both together.
    assert_ne!(check(&app, &code, user).unwrap(), Verdict::Right);
    drop(old);
    app.request_sms(user).unwrap();
    assert_eq!(check(&app, &new.code(), user).unwrap(), Verdict::Right);
    assert_eq!(status(new).calls, taken.calls);
    let rows = new.engine.audit(&AuditFilter::default(), None, 100).unwrap().entries;
    let noted = |verdict: &str, reason: Option<&str>| {
        let fits = |row: &&AuditEntry| row.verdict == verdict && row.reason.as_deref() == reason;
        rows.iter().filter(fits).count()
    };
    assert_eq!((noted("right", Some("forwarded")), noted("wrong", Some("forwarded"))), (1, 2));
    // The application was created too.
    assert_eq!((noted("right", None), noted("created", None)), (1, 2));
}

#[test]
fn a_user_comes_with_the_first_right_code_that_was_sent_there() {
    let old = World::start();
    let new = Side::of(&old);
    users_come_with_the_first_right_code(&new, old);
}

#[test]
fn a_user_comes_to_a_database_on_a_server_too() {
    let (old, server) = (World::start(), postgres_server::Server::start());
    let new = Side::on(&server.database("moves"), &old);
    users_come_with_the_first_right_code(&new, old);
}

#[test]
fn who_is_new_is_created_there_and_comes_at_once() {
    let old = World::start();
    for number in ["555-010-0101", "555-010-0102"] {
        confirmed(&old, number);
    }
    let new = Side::of(&old);
    let app = new.client();
    let bob = app.create_user("bob@example.com", NUMBER, "1").unwrap();
    assert_eq!((bob.user_id.get(), bob.created), (3, Some(true)));
    assert_eq!(status(&new).users_taken, 1);
    // Somebody whom others create there meanwhile does not get the id of somebody here.
    let eve = old.client().create_user("eve@example.com", "555-010-0199", "1").unwrap();
    assert_eq!(eve.user_id.get(), 4);
    drop(old);
    app.request_sms(bob.user_id).unwrap();
    assert_eq!(check(&app, &new.code(), bob.user_id).unwrap(), Verdict::Right);
    // Once nothing is forwarded any more, users are created here.
    let (email, number) = ("cy@example.com".parse().unwrap(), "555-010-0150".parse().unwrap());
    let later = new.engine.handle(&CreateUser::new(email, number, "1".parse().unwrap()));
    assert!(later.unwrap().user_id.get() > 1_000_000);
}

#[test]
fn who_has_an_app_there_stays_until_a_new_one_is_enrolled_here() {
    let old = World::start();
    let user = confirmed(&old, NUMBER);
    let enrolled = old.client().enrol_authenticator(user).unwrap();
    let theirs = Totp::from_uri(enrolled.uri.expose()).unwrap();
    let new = Side::of(&old);
    let app = new.client();
    app.create_user("ada@example.com", NUMBER, "1").unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let code = theirs.code(now.as_secs());
    assert_eq!(check(&app, code.expose(), user).unwrap(), Verdict::Right);
    assert!(app.request_sms(user).unwrap().ignored);
    assert_eq!(status(&new).users_taken, 0);
    assert_eq!(new.status(user).0, 404);
    let own = app.handle(&EnrolAuthenticator::new(user)).unwrap();
    assert_eq!(status(&new).users_taken, 1);
    let ours = Totp::from_uri(own.uri.expose()).unwrap();
    assert_eq!(check(&app, ours.code(now.as_secs()).expose(), user).unwrap(), Verdict::Right);
    assert_ne!(check(&app, code.expose(), user).unwrap(), Verdict::Right);
}

#[test]
fn who_is_confirmed_there_is_confirmed_here_too() {
    let old = World::start();
    let user = confirmed(&old, NUMBER);
    drop(old.client().enrol_authenticator(user).unwrap());
    let new = Side::of(&old);
    let app = new.client();
    app.create_user("ada@example.com", NUMBER, "1").unwrap();
    drop(app.handle(&EnrolAuthenticator::new(user)).unwrap());
    assert!(new.engine.handle(&UserStatus::new(user)).unwrap().confirmed);
    assert_eq!(check(&app, "1234567", user).unwrap(), Verdict::Wrong, "the code is looked at");
}

/// A user who was taken over by a code of an authenticator app, and returned. The text is the app's next code.
fn returned(old: &World) -> (Side, UserId, String) {
    let user = confirmed(old, NUMBER);
    let new = Side::of(old);
    let app = new.client();
    app.create_user("ada@example.com", NUMBER, "1").unwrap();
    let own =
        Totp::from_uri(app.handle(&EnrolAuthenticator::new(user)).unwrap().uri.expose()).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let code = |step: u64| own.code(now.as_secs() + 30 * step).expose().to_owned();
    assert_eq!(check(&app, &code(0), user).unwrap(), Verdict::Right);
    operate(&new, &ReturnUser { user_id: user }).unwrap();
    (new, user, code(1))
}

#[test]
fn a_code_that_the_other_service_may_have_accepted_is_spent() {
    let old = World::start();
    let (new, user, next) = returned(&old);
    let app = new.client();
    // A new app at the other service does not bring back who was returned; an operator does.
    drop(app.handle(&EnrolAuthenticator::new(user)).unwrap());
    assert_eq!((status(&new).users_taken, status(&new).users_returned), (0, 1));
    operate(&new, &TakeUser { user_id: user }).unwrap();
    assert_eq!(status(&new).users_taken, 1);
    assert_eq!(check(&app, &next, user).unwrap(), Verdict::Wrong);
}

#[test]
fn a_user_who_was_returned_and_locked_here_is_not_asked_for_there() {
    let old = World::start();
    let (new, user, _) = returned(&old);
    let app = new.client();
    assert!(check(&app, "1234567", user).is_ok());
    operate(&new, &LockUser { user_id: user }).unwrap();
    let error = check(&app, "1234567", user).unwrap_err().to_string();
    assert!(error.contains("until an operator unlocks"), "{error}");
}

/// The other service would go on returning the id of the user for the former number.
#[test]
fn numbers_are_not_changed_while_calls_are_forwarded() {
    let old = World::start();
    let (new, user_id, _) = returned(&old);
    let code = "1234567".parse().unwrap();
    let error = new.client().set_number(user_id, "2025550199", "1", &code).unwrap_err();
    assert!(error.to_string().contains("while calls are forwarded"), "{error}");
    let set = SetUserNumber {
        user_id,
        phone_number: "2025550199".parse().unwrap(),
        country_code: "1".parse().unwrap(),
        verification_code: None,
        unverified: true,
    };
    let error = operate(&new, &set).unwrap_err().to_string();
    assert!(error.contains("is at the service to which calls are forwarded"), "{error}");
}

/// The application's own default counts, and not that of the old service.
#[test]
fn codes_are_requested_there_with_the_default_of_here() {
    let old = World::start();
    let user = confirmed(&old, NUMBER);
    drop(old.client().enrol_authenticator(user).unwrap());
    let code = |app: &Service| {
        let enrolled = app.enrol_authenticator(user).unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Totp::from_uri(enrolled.uri.expose()).unwrap().code(now.as_secs())
    };
    assert_eq!(check(&old.client(), code(&old.client()).expose(), user).unwrap(), Verdict::Right);
    let new = Side::of(&old);
    let app = new.client();
    assert!(app.request_sms(user).unwrap().ignored);
    let set = |force_codes, sms_enabled| {
        let settings = AppSettings { force_codes, sms_enabled, ..AppSettings::default() };
        operate(&new, &SetApp { settings, ..SetApp::default() }).unwrap();
        new.engine.read_settings_again();
    };
    set(Some(true), None);
    assert!(!app.request_sms(user).unwrap().ignored);
    let unforced = RequestCall { force: Some(false), ..RequestCall::new(user) };
    assert!(app.handle(&unforced).unwrap().ignored);
    assert!(!app.handle(&RequestCall::new(user)).unwrap().ignored);
    // A code that was forced proves nothing about an app.
    assert_eq!(check(&app, &old.code(), user).unwrap(), Verdict::Right);
    assert_eq!(status(&new).users_taken, 0);
    set(None, Some(false));
    let asked = status(&new).calls;
    let refused = app.request_sms(user).unwrap_err();
    assert!(refused.to_string().contains("SMS is not enabled"), "{refused}");
    assert_eq!(status(&new).calls, asked);
}

/// Users who are here and users who are there count together.
#[test]
fn an_address_with_too_many_wrong_codes_tries_none_at_the_other_service() {
    let old = World::start();
    let new = Side::of(&old);
    operate(&new, &SetLimits { limits: "address_wrong_hour=3".to_owned() }).unwrap();
    let app = new.client().with_repeats(Repeats::None);
    let users = [confirmed(&old, NUMBER), confirmed(&old, "555-010-0124")];
    let own = app.create_user("bob@new.example", "555-010-0125", "1").unwrap().user_id;
    // Otherwise there is nothing that a wrong code is compared with, and it is not counted.
    app.request_sms(own).unwrap();
    let from = |address: &str, code: &str, user| {
        let user_ip = Some(address.parse().unwrap());
        let call = Verify { user_ip, ..Verify::new(user, code.parse().unwrap()) };
        app.handle(&call).map(|found| found.verdict)
    };
    for user in [users[0], users[1], own] {
        assert_eq!(from("192.0.2.1", "1234567", user).unwrap(), Verdict::Wrong);
    }
    old.client().request_sms(users[0]).unwrap();
    let (asked, code) = (status(&new).calls, old.code());
    for user in [users[0], own] {
        let refused = from("192.0.2.1", &code, user).unwrap_err();
        assert_eq!(refused.limit(), Some("address_wrong_hour"), "{refused:?}");
    }
    assert_eq!(status(&new).calls, asked);
    assert_eq!(from("192.0.2.2", &code, users[0]).unwrap(), Verdict::Right);
}

#[test]
fn nobody_is_created_there_who_must_be_new() {
    let old = World::start();
    let new = Side::of(&old);
    let (email, number) = ("ada@example.com".parse().unwrap(), NUMBER.parse().unwrap());
    let call = CreateUser::new(email, number, "1".parse().unwrap());
    let error = new.client().handle(&CreateUser { new_only: true, ..call }).unwrap_err();
    assert!(error.to_string().contains("new_only"), "{error}");
    assert_eq!(status(&new).calls, 0);
}

/// The other service has none, and only it gives ids to new users.
#[test]
fn a_user_without_a_number_can_only_be_here() {
    let old = World::start();
    let new = Side::of(&old);
    let call = CreateUser::without_phone("ada@example.com".parse().unwrap());
    let error = new.client().handle(&call).unwrap_err();
    assert!(error.to_string().contains("is required for a new user while calls"), "{error}");
    let id = UserId::try_from(7).unwrap();
    let ada = UserRecord::without_phone(Some(id), Some(call.user.email.clone()));
    new.engine.import_users(vec![ada], false).unwrap();
    let found = new.client().handle(&call).unwrap();
    assert_eq!((found.user_id, found.created), (id, Some(false)));
    assert_eq!(status(&new).calls, 0);
}

#[test]
fn an_approval_that_was_created_there_is_asked_there() {
    let old = World::start();
    let user = confirmed(&old, NUMBER);
    let device = old.engine.register_device(user, DeviceType::Ios).unwrap();
    let new = Side::of(&old);
    let app = new.client();
    let asked = app.handle(&CreateApproval::new(user, "Log in?".parse().unwrap())).unwrap();
    assert_eq!(app.check_approval(&asked.uuid).unwrap().status, ApprovalStatus::Pending);
    let response = RespondToApproval {
        uuid: asked.uuid.clone(),
        device_id: device.device_id,
        device_secret: device.secret,
        response: ApprovalResponse::Approve,
        number: None,
    };
    drop(old.engine.respond_to_approval(&response).unwrap());
    assert!(app.check_approval(&asked.uuid).unwrap().approved_by(user));
    let unknown = "00000000-0000-4000-8000-000000000000".parse().unwrap();
    assert!(matches!(app.check_approval(&unknown), Err(Error::Rejected(why)) if why.status == 404));
    drop(old);
    assert!(matches!(app.check_approval(&asked.uuid), Err(Error::Unavailable { .. })));
}

#[test]
fn a_number_whose_verification_began_there_is_checked_there() {
    let old = World::start();
    let start = |number: &str| {
        StartPhoneVerification::new(Channel::Sms, number.parse().unwrap(), "1".parse().unwrap())
    };
    let check = |number: &str, code: &str| {
        let (number, country) = (number.parse().unwrap(), "1".parse().unwrap());
        CheckPhoneVerification::new(number, country, code.parse().unwrap())
    };
    old.client().handle(&start(NUMBER)).unwrap();
    let new = Side::of(&old);
    let app = new.client();
    let wrong = app.handle(&check(NUMBER, "0000")).unwrap_err();
    assert!(matches!(wrong, Error::TokenWrong { .. }), "{wrong}");
    assert_eq!((status(&new).calls, status(&new).failed), (1, 0));
    app.handle(&check(NUMBER, &old.code())).unwrap();
    app.handle(&start("555-010-0177")).unwrap();
    app.handle(&check("555-010-0177", &new.code())).unwrap();
    assert_eq!(status(&new).calls, 2);
}

#[test]
fn a_user_who_is_returned_is_forwarded_again_until_taken() {
    let old = World::start();
    let new = Side::of(&old);
    let app = new.client();
    let user = app.create_user("ada@example.com", NUMBER, "1").unwrap().user_id;
    app.request_sms(user).unwrap();
    let code = new.code();
    operate(&new, &ReturnUser { user_id: user }).unwrap();
    assert_eq!((status(&new).users_taken, status(&new).users_returned), (0, 1));
    assert_eq!(check(&app, &code, user).unwrap(), Verdict::Wrong);
    assert_eq!(app.create_user("ada@new.example", NUMBER, "1").unwrap().user_id, user);
    app.request_sms(user).unwrap();
    assert_eq!(check(&app, &old.code(), user).unwrap(), Verdict::Right);
    // She does not come back by herself, and what only this project's service has is not to be had.
    assert_eq!(status(&new).users_returned, 1);
    let browser = Recognise::new(user, "a-token".parse().unwrap());
    assert!(matches!(app.handle(&browser), Err(Error::Rejected(why)) if why.status == 404));
    operate(&new, &TakeUser { user_id: user }).unwrap();
    assert_eq!((status(&new).users_taken, status(&new).users_returned), (1, 0));
    assert_eq!(check(&app, &code, user).unwrap(), Verdict::Right);
    let nobody = operate(&new, &TakeUser { user_id: 99.try_into().unwrap() }).unwrap_err();
    assert!(nobody.to_string().contains("import the user"), "{nobody}");
    assert!(operate(&new, &ReturnUser { user_id: 99.try_into().unwrap() }).is_err());
}

#[test]
fn who_is_deleted_is_deleted_in_both_and_comes_back_from_neither() {
    let old = World::start();
    let new = Side::of(&old);
    let app = new.client();
    let here = app.create_user("ada@example.com", NUMBER, "1").unwrap().user_id;
    let there = confirmed(&old, "555-010-0177");
    assert!(app.user_status(there).is_ok());
    for user in [here, there] {
        app.delete_user(user).unwrap();
        assert!(matches!(app.user_status(user), Err(Error::Rejected(why)) if why.status == 404));
        assert!(old.client().user_status(user).is_err());
        assert!(app.delete_user(user).is_err());
    }
    // Who is deleted here alone, by an operator, is not let in by the other service.
    let again = app.create_user("ada@example.com", NUMBER, "1").unwrap().user_id;
    new.engine.handle(&DeleteUser::new(again)).unwrap();
    old.client().request_sms(again).unwrap();
    assert!(check(&app, &old.code(), again).is_err());
    let kept = app.create_user("ada@example.com", NUMBER, "1").unwrap().user_id;
    drop(old);
    assert!(app.delete_user(kept).is_err());
    assert!(new.engine.handle(&UserStatus::new(kept)).is_ok());
}

#[test]
fn ids_of_users_who_were_created_here_are_not_mixed_with_those_of_there() {
    let (old, own) = (World::start(), World::start());
    own.client().create_user("ada@example.com", NUMBER, "1").unwrap();
    let refused = Forward::begin(own.engine.clone(), old.client());
    let refused = refused.err().unwrap().to_string();
    assert!(refused.starts_with("forward") && refused.contains("one by one"), "{refused}");

    let imported = World::start();
    let ada = UserRecord::without_phone(None, Some("ada@example.com".parse().unwrap()));
    imported.engine.import_users(vec![ada], false).unwrap();
    assert!(Forward::begin(imported.engine.clone(), old.client()).is_err());
}

#[test]
fn other_calls_for_users_who_are_there_are_forwarded() {
    let old = World::start();
    let user = confirmed(&old, NUMBER);
    let new = Side::of(&old);
    let app = new.client();
    let banned = RegisterActivity::new(user, ActivityType::Banned);
    app.handle(&banned).unwrap();
    assert_eq!(status(&new).calls, 1);
    app.app_details().unwrap();
    assert_eq!(status(&new).calls, 1);
}

#[test]
fn nobody_changes_what_protects_their_own_account_at_the_other_service() {
    let old = World::start();
    let new = Side::of(&old);
    let user = new.client().create_user("ada@example.com", NUMBER, "1").unwrap().user_id;
    let forward = Forward::begin(new.engine.clone(), old.client()).unwrap();
    let path = format!("/protected/json/users/{user}/secret");
    let check = || {
        let RouteMatch::Call(call) = match_route("POST", &path) else { panic!("{path}") };
        forward.check_own_account(&call, user)
    };
    check().unwrap();
    operate(&new, &ReturnUser { user_id: user }).unwrap();
    assert!(matches!(check(), Err(Error::Rejected(why)) if why.status == 403));
}

//! Phones with the approver: how they are registered, what their signatures decide, the numbers that users type,
//! and the codes that they show.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{self, ada, url};
use crate::phone::world::{NOW, World};
use crate::phone::{Phone, SERVICE, new_key, presented};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use seconder::calls::{
    ApprovalStatus, CreateApproval, CreateUser, InstallMessage, RequestSms, UserStatus,
    Verification,
};
use seconder::engine::approver::{Refused, ShownRequest};
use seconder::engine::{ApprovalResponse, DeviceType, RespondToApproval};
use seconder::model::Secret;
use seconder::{Error, Handle, Settings, Verdict};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn a_phone_is_registered_by_an_invitation_and_approves() {
    let world = World::new();
    let invited = world.service.invite_device(world.ada).unwrap();
    let (link, code) = (invited.link.expose(), invited.code.expose());
    assert_eq!(*link, format!("{SERVICE}/-/approver/#{code}"));
    assert!(code.len() == 11 && &code[5..6] == "-" && invited.expires_in == 600, "{code}");
    assert!(invited.qr_code.expose().starts_with("data:image/svg+xml;base64,"));
    let typed = code.to_ascii_lowercase().replace('-', " ");
    let phone = Phone::register(world.engine(), &typed.replace(' ', "-"), NOW).unwrap();
    let mut call = CreateApproval::new(world.ada, "Log in?".parse().unwrap());
    call.details = json!({ "Location": "Bern", "Attempt": 2 }).as_object().unwrap().clone();
    call.hidden_details = json!({ "secret": "hidden" }).as_object().unwrap().clone();
    let created = world.service.handle(&call).unwrap();
    assert_eq!(created.number, None);
    let device = phone.signed(world.engine(), NOW).unwrap();
    let [request] = <[_; 1]>::try_from(device.requests().unwrap()).unwrap();
    let shown: Value = serde_json::from_str(&request.shown).unwrap();
    assert_eq!(
        shown,
        json!({
            "application": "Seconder",
            "account": "a***@example.com",
            "message": "Log in?",
            "details": [["Location", "Bern"], ["Attempt", "2"]],
            "created": NOW,
            "logo": false,
        })
    );
    assert_eq!((request.expires, request.number_digits), (Some(NOW + 86_400), 0));
    let response = phone.response(&request, ApprovalResponse::Approve, None, NOW);
    assert_eq!(world.engine().respond_signed(&response).unwrap(), ApprovalStatus::Approved);
    assert!(world.service.check_approval(&created.uuid).unwrap().approved_by(world.ada));
    let callback = world.callbacks.lock().unwrap()[0].clone();
    assert_eq!(callback["status"], "approved");
    assert_eq!(callback["signature"].as_str().unwrap().len(), 86, "{callback}");
    let replayed = world.engine().respond_signed(&response).unwrap_err();
    assert_eq!(replayed, Refused::NotPending(ApprovalStatus::Approved));
    assert_eq!(world.callbacks.lock().unwrap().len(), 1);
    let later = device.request(&created.uuid).unwrap();
    assert_eq!((later.status, later.by_this_device), (ApprovalStatus::Approved, true));
}

#[test]
fn an_invitation_is_of_use_once_and_for_ten_minutes() {
    let world = World::new();
    let code = world.code();
    let key = new_key();
    // What is wrong about a device uses nothing up.
    let mut wrong = presented(&key, &code, NOW);
    wrong.signature[0] ^= 1;
    let refused = |presented| world.engine().register_by_invitation(&presented).unwrap_err();
    assert_eq!(refused(wrong), Refused::Signature);
    assert_eq!(refused(presented(&key, &code, NOW - 61)), Refused::Clock);
    let beside = |at: usize| {
        let mut wrong = presented(&key, &code, NOW);
        wrong.key[at] ^= 1;
        wrong
    };
    assert!(matches!(refused(beside(64)), Refused::Failed(Error::InvalidArgument { .. })));
    let mut long = presented(&key, &code, NOW);
    long.name = "x".repeat(1 << 20);
    assert!(matches!(refused(long), Refused::Failed(Error::InvalidArgument { .. })));
    assert!(Phone::register(world.engine(), &code, NOW).is_ok());
    let again = Phone::register(world.engine(), &code, NOW).err().unwrap();
    assert_eq!(again, Refused::InvitationSpent);
    for unknown in ["00000-00000", "", "00000-0000", "00000-000000", "ÄÖÜ"] {
        let refused = Phone::register(world.engine(), unknown, NOW).err().unwrap();
        assert_eq!(refused, Refused::InvitationUnknown, "{unknown}");
    }
    let late = world.code();
    world.clock.set(NOW + 600);
    let refused = Phone::register(world.engine(), &late, NOW + 600).err().unwrap();
    assert_eq!(refused, Refused::InvitationExpired);
    // Nobody learns later that there was one.
    world.clock.set(NOW + 600 + 86_400);
    world.engine().maintain(Duration::from_secs(10)).unwrap();
    let refused = Phone::register(world.engine(), &late, NOW + 600 + 86_400).err().unwrap();
    assert_eq!(refused, Refused::InvitationUnknown);
}

#[test]
fn a_phone_that_missed_the_reply_is_registered_once_and_shows_the_same_codes() {
    let world = World::new();
    let (code, key) = (world.code(), new_key());
    let register =
        |key: &_, time| world.engine().register_by_invitation(&presented(key, &code, time));
    let first = register(&key, NOW).unwrap();
    let again = register(&key, NOW + 5).unwrap();
    assert_eq!(again.device, first.device);
    assert_eq!(again.codes.secret.expose(), first.codes.secret.expose());
    assert_eq!(world.service.devices(world.ada).unwrap().devices.len(), 1);
    let other = new_key();
    assert_eq!(register(&other, NOW).unwrap_err(), Refused::InvitationSpent);
    // No longer than the invitation lives, and not after the device was removed.
    world.clock.set(NOW + 600);
    assert_eq!(register(&key, NOW + 600).unwrap_err(), Refused::InvitationSpent);
    world.clock.set(NOW + 5);
    let id = first.device.strip_prefix("1.").unwrap().parse().unwrap();
    world.service.remove_device(world.ada, id).unwrap();
    assert_eq!(register(&key, NOW + 5).unwrap_err(), Refused::InvitationSpent);
}

#[test]
fn one_of_many_phones_that_present_a_code_at_once_is_registered() {
    let world = World::new();
    let code = world.code();
    let registered = fresh::at_once([&world.service, &world.service], |service, _| {
        Phone::register(service.engine().unwrap(), &code, NOW).map(drop)
    });
    let spent = registered.iter().filter(|result| **result == Err(Refused::InvitationSpent));
    assert_eq!(spent.count(), 31);
    assert_eq!(world.service.devices(world.ada).unwrap().devices.len(), 1);
}

#[test]
fn a_user_has_at_most_five_phones_and_an_invitation_outlives_the_sixth() {
    let world = World::new();
    let phones: Vec<_> = (0..5).map(|_| world.phone()).collect();
    let code = world.code();
    let refused = Phone::register(world.engine(), &code, NOW).err().unwrap();
    assert_eq!(refused, Refused::TooManyDevices);
    phones[0].signed(world.engine(), NOW).unwrap().remove().unwrap();
    assert!(Phone::register(world.engine(), &code, NOW).is_ok());
}

#[test]
fn without_a_public_url_nothing_leads_to_the_service_and_the_error_says_why() {
    let world = World::unreachable();
    let error = world.service.invite_device(world.ada).unwrap_err();
    assert!(error.to_string().contains("--public-url"), "{error}");
    let Error::Rejected(rejection) = error else { panic!("{error}") };
    assert_eq!(rejection.code.as_deref(), Some("no_public_url"));
    let refused = Phone::register(world.engine(), "00000-00000", NOW).err().unwrap();
    assert!(matches!(refused, Refused::Failed(_)), "{refused:?}");
    let user =
        |number: &str| json!({ "email": "bo@example.com", "cellphone": number, "country_code": 1 });
    let call: CreateUser = serde_json::from_value(
        json!({ "user": user("555-010-0199"), "send_install_link_via_sms": true }),
    )
    .unwrap();
    let said = world.service.handle(&call).unwrap().install_message;
    assert_eq!(said, Some(InstallMessage::NotConfigured));
    // With one, the message invites.
    world.engine().set_public_url(SERVICE).unwrap();
    let call: CreateUser = serde_json::from_value(
        json!({ "user": user("555-010-0198"), "send_install_link_via_sms": true }),
    )
    .unwrap();
    let bo = world.service.handle(&call).unwrap().user_id;
    let text = world.messages.lock().unwrap().last().unwrap().text.clone();
    let code = &text[text.find('#').unwrap() + 1..][..11];
    world.clock.set(NOW + 3_599);
    assert!(Phone::register(world.engine(), code, NOW + 3_599).is_ok(), "{text}");
    assert_eq!(world.service.devices(bo).unwrap().devices.len(), 1);
}

#[test]
fn only_the_signature_of_the_device_over_what_it_has_shown_decides() {
    let world = World::new();
    let (phone, other) = (world.phone(), world.phone());
    let (request, _) = world.ask(&phone, 0);
    let right = || phone.response(&request, ApprovalResponse::Approve, None, NOW);
    let refused = |change: &dyn Fn(&mut seconder::engine::approver::SignedResponse)| {
        let mut response = right();
        change(&mut response);
        world.engine().respond_signed(&response).unwrap_err()
    };
    assert_eq!(refused(&|r| r.response = ApprovalResponse::Deny), Refused::Unauthorized);
    assert_eq!(refused(&|r| r.number = Some(Secret::new("1"))), Refused::Unauthorized);
    assert_eq!(refused(&|r| r.device.clone_from(&other.device)), Refused::Unauthorized);
    assert_eq!(refused(&|r| r.device = "1.999".to_owned()), Refused::Unauthorized);
    assert_eq!(refused(&|r| r.device = "01.1".to_owned()), Refused::Unauthorized);
    assert_eq!(refused(&|r| r.device = "2.1".to_owned()), Refused::Unauthorized);
    assert_eq!(refused(&|r| r.shown = "0".repeat(64)), Refused::Unauthorized);
    assert_eq!(refused(&|r| r.time += 1), Refused::Unauthorized);
    assert_eq!(refused(&|r| r.signature.truncate(63)), Refused::Unauthorized);
    assert_eq!(refused(&|r| r.signature.clear()), Refused::Unauthorized);
    let respond = |request: &ShownRequest, time| {
        phone.respond(world.engine(), request, ApprovalResponse::Approve, None, time)
    };
    for time in [NOW - 61, NOW + 61, 0, u64::MAX] {
        assert_eq!(respond(&request, time), Err(Refused::Clock), "{time}");
    }
    let mut altered = request.clone();
    altered.shown = altered.shown.replace("Log in?", "Log out?");
    assert_eq!(respond(&altered, NOW), Err(Refused::Changed));
    assert_eq!(world.status(&request.uuid), ApprovalStatus::Pending);
    assert!(world.callbacks.lock().unwrap().is_empty());
    assert_eq!(respond(&request, NOW + 60), Ok(ApprovalStatus::Approved));
}

#[test]
fn a_signed_response_is_printed_without_its_number_and_signature() {
    let world = World::new();
    let phone = world.phone();
    let (request, _) = world.ask(&phone, 0);
    let mut response = phone.response(&request, ApprovalResponse::Approve, Some("4711"), NOW);
    response.signature = vec![77; 64];
    let printed = format!("{response:?}");
    assert!(
        printed.contains(&request.uuid.to_string()) && printed.contains(&phone.device),
        "{printed}"
    );
    assert!(!printed.contains("4711") && !printed.contains("77, 77"), "{printed}");
}

#[test]
fn a_phone_reaches_the_requests_of_its_own_user_alone() {
    let world = World::new();
    let phone = world.phone();
    let bo = world.service.create_user("bo@example.com", "555-010-0199", "1").unwrap().user_id;
    let uuid = world.service.create_approval(bo, "Log in?").unwrap().uuid;
    let device = phone.signed(world.engine(), NOW).unwrap();
    assert!(device.requests().unwrap().is_empty());
    assert_eq!(device.request(&uuid), Err(Refused::NotFound));
    assert_eq!(device.logo(&uuid), Err(Refused::NotFound));
    let (mut request, _) = world.ask(&phone, 0);
    request.uuid = uuid.clone();
    let respond = phone.respond(world.engine(), &request, ApprovalResponse::Approve, None, NOW);
    assert_eq!(respond, Err(Refused::NotFound));
    assert_eq!(world.status(&uuid), ApprovalStatus::Pending);
}

#[test]
fn of_two_phones_one_decides_and_there_is_one_callback() {
    let world = World::new();
    let phones = [world.phone(), world.phone()];
    let (request, _) = world.ask(&phones[0], 0);
    let decided = fresh::at_once([&world.service, &world.service], |service, number| {
        let response = match number % 2 {
            0 => ApprovalResponse::Approve,
            _ => ApprovalResponse::Deny,
        };
        phones[number % 2].respond(service.engine().unwrap(), &request, response, None, NOW)
    });
    assert_eq!(decided.iter().filter(|decided| decided.is_ok()).count(), 1);
    let status = world.status(&request.uuid);
    assert!(decided.contains(&Ok(status)));
    let late = Err(Refused::NotPending(status));
    assert_eq!(decided.iter().filter(|decided| **decided == late).count(), 31);
    assert_eq!(world.callbacks.lock().unwrap().len(), 1);
}

#[test]
fn a_wrong_number_can_be_typed_once_more_and_then_the_request_is_denied_and_flagged() {
    let world = World::new();
    let phone = world.phone();
    let respond = |request: &ShownRequest, response, number: Option<&str>, time| {
        phone.respond(world.engine(), request, response, number, time)
    };
    let approve = |request: &ShownRequest, number: Option<&str>, time| {
        respond(request, ApprovalResponse::Approve, number, time)
    };
    let is_invalid = |responded: Result<ApprovalStatus, Refused>| matches!(responded, Err(Refused::Failed(Error::InvalidArgument { parameter, .. })) if parameter == "number");
    for digits in [2, 3, 6] {
        let (request, number) = world.ask(&phone, digits);
        let number = number.unwrap();
        assert_eq!([request.number_digits as u64, number.len() as u64], [digits; 2]);
        // The digits of the time may be those of the number.
        let shown = request.shown.replace(&NOW.to_string(), "");
        assert!(!shown.contains(&number), "{shown}");
        // What cannot be the number is no guess, and is not kept as evidence.
        let odd = [None, Some(""), Some("1"), Some("-\n-"), Some("１２"), Some("1234567")];
        for odd in odd {
            assert!(is_invalid(approve(&request, odd, NOW)), "{odd:?}");
        }
        let denied = respond(&request, ApprovalResponse::Deny, Some(&number), NOW);
        assert!(is_invalid(denied));
        assert_eq!(approve(&request, Some(&number), NOW), Ok(ApprovalStatus::Approved));
    }
    let (request, number) = world.ask(&phone, 2);
    let wrong = if number.as_deref() == Some("00") { "01" } else { "00" };
    // Whoever sends the same response again types nothing.
    let again = phone.response(&request, ApprovalResponse::Approve, Some(wrong), NOW);
    for _ in 0..3 {
        assert_eq!(world.engine().respond_signed(&again), Err(Refused::WrongNumber));
    }
    assert_eq!(world.status(&request.uuid), ApprovalStatus::Pending);
    assert_eq!(approve(&request, Some(wrong), NOW + 1), Err(Refused::WrongNumberDenied));
    assert_eq!(world.status(&request.uuid), ApprovalStatus::Denied);
    let right = approve(&request, number.as_deref(), NOW + 2);
    assert_eq!(right, Err(Refused::NotPending(ApprovalStatus::Denied)));
    let uuid = json!({ "uuid": request.uuid }).as_object().unwrap().clone();
    let evidence = world.service.operate_json("approval.evidence", uuid).unwrap();
    assert_eq!(evidence["wrong_number"], true, "it reads approve: {evidence}");
    let callback = world.callbacks.lock().unwrap().last().unwrap().clone();
    assert_eq!(callback["status"], "denied");
    assert_eq!(callback["approval_request"]["transaction"]["flagged"], true);
    // Nobody needs a number to deny.
    let (request, _) = world.ask(&phone, 6);
    assert_eq!(respond(&request, ApprovalResponse::Deny, None, NOW), Ok(ApprovalStatus::Denied));
    // A request without one takes none.
    let (request, _) = world.ask(&phone, 0);
    assert!(is_invalid(approve(&request, Some("12"), NOW)));
}

#[test]
fn a_device_with_a_secret_needs_the_number_too() {
    let world = World::new();
    let device = world.engine().register_device(world.ada, DeviceType::Ios).unwrap();
    let call = CreateApproval::new(world.ada, "Log in?".parse().unwrap());
    let created = world.service.handle(&CreateApproval { number_digits: Some(3), ..call }).unwrap();
    let [open] = &world.engine().open_approvals(device.device_id, &device.secret).unwrap()[..]
    else {
        panic!("one request is open");
    };
    assert_eq!(open.number_digits, 3);
    let respond = |number: Option<Secret>| {
        world.engine().respond_to_approval(&RespondToApproval {
            uuid: created.uuid.clone(),
            device_id: device.device_id,
            device_secret: device.secret.clone(),
            response: ApprovalResponse::Approve,
            number,
        })
    };
    // One that does not know of numbers does no harm.
    for _ in 0..3 {
        assert!(matches!(respond(None), Err(Error::InvalidArgument { .. })));
    }
    let wrong =
        if created.number.as_ref().is_some_and(|it| it.expose() == "000") { "001" } else { "000" };
    assert!(matches!(respond(Some(Secret::new(wrong))), Err(Error::Rejected(_))));
    assert_eq!(respond(created.number.clone()).unwrap().status, ApprovalStatus::Approved);
}

#[test]
fn the_application_decides_how_many_digits_a_number_has_unless_the_call_does() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new(&url(&folder.path().join("a.db")));
    let service = settings.limits("number_digits=2").open().unwrap();
    let ada = ada(&service);
    let number = service.create_approval(ada, "Log in?").unwrap().number.unwrap();
    assert_eq!(number.expose().len(), 2);
    for digits in [1, 4, 5, 7, 200] {
        let call = CreateApproval::new(world.ada, "Log in?".parse().unwrap());
        let call = CreateApproval { number_digits: Some(digits), ..call };
        assert!(matches!(world.service.handle(&call), Err(Error::InvalidArgument { .. })));
        let limits = format!("number_digits={digits}");
        assert!(Settings::new("sandbox:").limits(limits).open().is_err());
    }
}

#[test]
fn a_phone_shows_codes_which_the_verification_names() {
    let world = World::new();
    let first = world.phone();
    let status = world.service.handle(&UserStatus::new(world.ada)).unwrap();
    assert!(status.registered && status.factors.unwrap().authenticators.is_empty());
    // Whoever has an app with codes needs no SMS.
    assert!(world.service.handle(&RequestSms::new(world.ada)).unwrap().ignored);
    let verify = |phone: &Phone, time: u64| -> Verification {
        world.clock.set(time);
        let code = phone.code(time).parse().unwrap();
        world.service.handle(&seconder::Verify::new(world.ada, code)).unwrap()
    };
    let right = verify(&first, NOW);
    assert_eq!(right.verdict, Verdict::Right);
    let device = right.device.unwrap();
    assert_eq!(device.os_type.as_deref(), Some("android"));
    assert_eq!(format!("1.{}", device.id.unwrap()), first.device);
    assert!(verify(&first, NOW).reused);
    // A second phone takes nothing from the first, nor does an authenticator app.
    let second = Phone::register(world.engine(), &world.code(), NOW).unwrap();
    assert_eq!(verify(&second, NOW + 30).verdict, Verdict::Right);
    assert_eq!(verify(&first, NOW + 60).verdict, Verdict::Right);
    let uri = world.service.enrol_authenticator(world.ada).unwrap().uri;
    let app = seconder::otp::Totp::from_uri(uri.expose()).unwrap();
    let code = app.code(NOW + 60).expose().parse().unwrap();
    assert_eq!(world.service.confirm_authenticator(world.ada, &code).unwrap(), Verdict::Right);
    assert_eq!(verify(&first, NOW + 90).verdict, Verdict::Right);
    // With the phone goes its secret.
    let id = first.device.strip_prefix("1.").unwrap().parse().unwrap();
    world.service.remove_device(world.ada, id).unwrap();
    assert_eq!(verify(&first, NOW + 120).verdict, Verdict::Wrong);
    assert!(matches!(first.signed(world.engine(), NOW + 120), Err(Refused::Unauthorized)));
    assert_eq!(verify(&second, NOW + 120).verdict, Verdict::Right);
}

#[test]
fn a_device_that_shows_no_codes_leaves_the_user_the_codes_by_sms() {
    let world = World::new();
    world.engine().register_device(world.ada, DeviceType::Ios).unwrap();
    let reply = world.service.handle(&RequestSms::new(world.ada)).unwrap();
    assert!(!reply.ignored);
    assert_eq!(world.messages.lock().unwrap().len(), 1);
}

#[test]
fn a_signature_is_for_one_service_and_is_kept_with_the_request() {
    let world = World::new();
    let phone = world.phone();
    let (request, _) = world.ask(&phone, 0);
    world.engine().set_public_url("https://other.example").unwrap();
    let respond = || phone.respond(world.engine(), &request, ApprovalResponse::Approve, None, NOW);
    assert_eq!(respond(), Err(Refused::Unauthorized));
    world.engine().set_public_url(SERVICE).unwrap();
    assert_eq!(respond(), Ok(ApprovalStatus::Approved));
    let shown = json!({ "uuid": request.uuid });
    let evidence = world
        .service
        .operate_json("approval.evidence", shown.as_object().unwrap().clone())
        .unwrap();
    assert_eq!(
        (&evidence["shown"], &evidence["wrong_number"]),
        (&json!(request.shown), &json!(false))
    );
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(evidence[name].as_str().unwrap()).unwrap();
    let key = ring::signature::UnparsedPublicKey::new(
        &ring::signature::ECDSA_P256_SHA256_FIXED,
        bytes("key"),
    );
    let text = evidence["signed"].as_str().unwrap();
    key.verify(text.as_bytes(), &bytes("signature")).unwrap();
    assert!(text.starts_with(&format!("seconder-response-v1\n{SERVICE}\n{}\n", phone.device)));
}

#[test]
fn after_a_restore_no_invitation_is_of_use_and_phones_go_on_with_new_codes() {
    let world = World::new();
    let (phone, code) = (world.phone(), world.code());
    world.engine().spend_codes().unwrap();
    let refused = Phone::register(world.engine(), &code, NOW).err().unwrap();
    assert_eq!(refused, Refused::InvitationSpent);
    // A code may have been used since the copy was made.
    let verdict = |time: u64| {
        world.clock.set(time);
        let code = phone.code(time).parse().unwrap();
        world.service.verify(world.ada, &code).unwrap()
    };
    assert_eq!(verdict(NOW), Verdict::Wrong);
    assert_eq!(verdict(NOW + 60), Verdict::Right);
    assert!(phone.signed(world.engine(), NOW + 60).is_ok());
}

//! The messages that reach phones with the approver by push services, and what a phone changes of itself.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::phone::SERVICE;
use crate::phone::world::{NOW, World};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use seconder::Error;
use seconder::calls::ApprovalStatus;
use seconder::engine::approver::{DeviceSettings, Refused};
use seconder::engine::operator::SetUserNumber;
use seconder::engine::{ApprovalResponse, PushOutcome};
use serde_json::{Value, json};
use std::time::Duration;

fn is_invalid(refused: &Refused) -> bool {
    matches!(refused, Refused::Failed(Error::InvalidArgument { .. }))
}

const ENDPOINT: &str = "https://fcm.googleapis.com/fcm/send/ada";

#[test]
fn a_request_is_pushed_to_the_phones_that_have_subscribed_and_is_then_notified() {
    let world = World::new();
    let (phone, _silent) = (world.phone(), world.phone());
    world.subscribe(&phone, ENDPOINT).unwrap();
    let (request, _) = world.ask(&phone, 0);
    let notified = || world.service.check_approval(&request.uuid).unwrap().notified;
    assert_eq!((world.pushes.lock().unwrap().len(), notified()), (0, Some(false)));
    // Nobody waits for a push service, so whoever runs the jobs sends it.
    assert_eq!(world.engine().run_jobs(Duration::from_secs(10)).unwrap().sent, 1);
    assert_eq!(notified(), Some(true));
    let push = world.pushes.lock().unwrap()[0].clone();
    assert_eq!((push.endpoint.as_str(), push.ttl), (ENDPOINT, Duration::from_secs(86_400)));
    assert_eq!(push.topic.unwrap(), request.uuid.as_str().replace('-', ""));
    assert!(push.authorization.starts_with("vapid t=") && push.body.len() > 86);
    let claims = push.authorization.split('.').nth(1).unwrap();
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    assert_eq!(claims["aud"], "https://fcm.googleapis.com");
    assert_eq!(
        (claims["sub"].as_str(), claims["exp"].as_u64()),
        (Some(SERVICE), Some(NOW + 43_200))
    );
    // A new phone is announced to the others.
    world.phone();
    assert_eq!(world.engine().run_jobs(Duration::from_secs(10)).unwrap().sent, 1);
    assert_eq!(world.pushes.lock().unwrap()[1].topic, None);
}

#[test]
fn a_change_of_the_number_is_pushed_to_the_phones_of_the_user() {
    let world = World::new();
    let phone = world.phone();
    world.subscribe(&phone, ENDPOINT).unwrap();
    let (phone_number, country_code) = ("555-010-0199".parse().unwrap(), "1".parse().unwrap());
    let set = SetUserNumber {
        user_id: world.ada,
        phone_number,
        country_code,
        verification_code: None,
        unverified: true,
    };
    let rejected = PushOutcome::Rejected("status 403".to_owned());
    *world.responses.lock().unwrap() = vec![rejected];
    world.service.operate(&set).unwrap();
    world.service.operate(&set).unwrap();
    assert_eq!(world.engine().run_jobs(Duration::from_secs(10)).unwrap().failed, 1);
    let push = world.pushes.lock().unwrap()[0].clone();
    assert_eq!((push.endpoint.as_str(), push.topic), (ENDPOINT, None));
    let read = json!({ "verdict": "not_delivered" }).as_object().unwrap().clone();
    let audit = world.service.operate_json("audit.list", read).unwrap();
    assert_eq!(audit["entries"][0]["call"], "set_number");
    assert_eq!(phone.signed(world.engine(), NOW).unwrap().requests().unwrap(), []);
}

#[test]
fn a_push_is_repeated_while_the_request_is_open_and_not_after_it() {
    let world = World::new();
    let phone = world.phone();
    world.subscribe(&phone, ENDPOINT).unwrap();
    let wait = Some(Duration::from_secs(7));
    *world.responses.lock().unwrap() =
        vec![PushOutcome::Retry { after: wait, reason: "busy".to_owned() }, PushOutcome::Accepted];
    let run = |time| {
        world.clock.set(time);
        world.engine().run_jobs(Duration::from_secs(10)).unwrap()
    };
    let (first, _) = world.ask(&phone, 0);
    assert_eq!(run(NOW).waiting, 1);
    assert_eq!(run(NOW + 6).sent, 0);
    assert_eq!(run(NOW + 8).sent, 1);
    assert_eq!(world.service.check_approval(&first.uuid).unwrap().notified, Some(true));
    world.clock.set(NOW);
    let (second, _) = world.ask(&phone, 0);
    let denied = phone.respond(world.engine(), &second, ApprovalResponse::Deny, None, NOW);
    assert_eq!(denied, Ok(ApprovalStatus::Denied));
    let ran = run(NOW + 60);
    assert_eq!((ran.sent, ran.waiting), (0, 0));
    assert_eq!(world.pushes.lock().unwrap().len(), 2);
}

#[test]
fn a_subscription_that_has_ended_is_forgotten_and_a_rejection_is_not_repeated() {
    let world = World::new();
    let phone = world.phone();
    world.subscribe(&phone, ENDPOINT).unwrap();
    let has_push =
        || phone.signed(world.engine(), NOW).unwrap().overview().unwrap().devices[0].push;
    let rejected = PushOutcome::Rejected("status 403: BadJwtToken".to_owned());
    *world.responses.lock().unwrap() = vec![rejected, PushOutcome::Gone];
    world.ask(&phone, 0);
    assert_eq!(world.engine().run_jobs(Duration::from_secs(10)).unwrap().failed, 1);
    assert!(has_push());
    world.ask(&phone, 0);
    assert_eq!(world.engine().run_jobs(Duration::from_secs(10)).unwrap().failed, 1);
    assert!(!has_push());
    let (request, _) = world.ask(&phone, 0);
    assert_eq!(world.engine().run_jobs(Duration::from_secs(10)).unwrap().sent, 0);
    assert_eq!(world.service.check_approval(&request.uuid).unwrap().notified, Some(false));
    assert_eq!(world.pushes.lock().unwrap().len(), 2);
}

#[test]
fn the_audit_says_what_a_push_that_failed_was_about() {
    let world = World::new();
    let phone = world.phone();
    world.subscribe(&phone, ENDPOINT).unwrap();
    *world.responses.lock().unwrap() = vec![PushOutcome::Rejected("status 403".to_owned())];
    world.phone();
    world.ask(&phone, 0);
    assert_eq!(world.engine().run_jobs(Duration::from_secs(10)).unwrap().failed, 2);
    let read = json!({ "verdict": "not_delivered" }).as_object().unwrap().clone();
    let audit = world.service.operate_json("audit.list", read).unwrap();
    let entries = audit["entries"].as_array().unwrap().iter();
    let mut calls: Vec<_> = entries.map(|entry| entry["call"].as_str().unwrap()).collect();
    calls.sort_unstable();
    assert_eq!(calls, ["create_approval", "register_device"]);
}

#[test]
fn a_user_gets_at_most_five_pushes_in_five_minutes() {
    let world = World::new();
    let phone = world.phone();
    world.subscribe(&phone, ENDPOINT).unwrap();
    for _ in 0..7 {
        world.service.create_approval(world.ada, "Log in?").unwrap();
        world.engine().run_jobs(Duration::from_secs(10)).unwrap();
    }
    assert_eq!(world.pushes.lock().unwrap().len(), 5);
    world.clock.set(NOW + 300);
    world.service.create_approval(world.ada, "Log in?").unwrap();
    world.engine().run_jobs(Duration::from_secs(10)).unwrap();
    assert_eq!(world.pushes.lock().unwrap().len(), 6);
}

#[test]
fn subscriptions_that_lead_anywhere_else_are_rejected_and_change_nothing() {
    let world = World::new();
    let phone = world.phone();
    for endpoint in [
        "https://127.0.0.1/",
        "http://fcm.googleapis.com/",
        "https://user@fcm.googleapis.com/",
        "https://evil.example/",
        "https://169.254.169.254/latest",
        &format!("{ENDPOINT}{}", "x".repeat(3000)),
    ] {
        assert!(is_invalid(&world.subscribe(&phone, endpoint).unwrap_err()), "{endpoint}");
    }
    let change = |subscription: Value| {
        let subscription = serde_json::from_value(subscription).unwrap();
        let settings =
            DeviceSettings { subscription: Some(Some(subscription)), ..DeviceSettings::default() };
        phone.signed(world.engine(), NOW).unwrap().change(&settings)
    };
    for keys in [("", ""), ("AAAA", "AAAA"), ("!", "AAAAAAAAAAAAAAAAAAAAAA")] {
        let given = json!({ "endpoint": ENDPOINT, "p256dh": keys.0, "auth": keys.1 });
        assert!(is_invalid(&change(given).unwrap_err()));
    }
    assert!(!phone.signed(world.engine(), NOW).unwrap().overview().unwrap().devices[0].push);
}

#[test]
fn a_device_changes_and_removes_itself_and_no_other() {
    let world = World::new();
    let (phone, other) = (world.phone(), world.phone());
    let settings = DeviceSettings {
        name: Some("Tablet".to_owned()),
        language: Some("ar".to_owned()),
        ..DeviceSettings::default()
    };
    phone.signed(world.engine(), NOW).unwrap().change(&settings).unwrap();
    let overview = other.signed(world.engine(), NOW).unwrap().overview().unwrap();
    let devices: Vec<_> = overview.devices.iter().map(|d| (d.name.as_str(), d.this)).collect();
    assert_eq!(devices, [("Tablet", false), ("Ada's phone", true)]);
    assert_eq!(
        (overview.application.as_str(), overview.account.as_str()),
        ("Seconder", "a***@example.com")
    );
    let device = phone.signed(world.engine(), NOW).unwrap();
    phone.signed(world.engine(), NOW).unwrap().remove().unwrap();
    assert_eq!(device.overview(), Err(Refused::Unauthorized));
    assert_eq!(device.change(&settings), Err(Refused::Unauthorized));
    assert_eq!(device.remove(), Err(Refused::Unauthorized));
    assert!(other.signed(world.engine(), NOW).is_ok());
}

#[test]
fn the_engine_finds_the_same_characters_misleading_as_the_page() {
    let listed =
        include_str!("vectors/misleading.txt").lines().filter(|line| !line.starts_with('#'));
    let ranges: Vec<_> = listed
        .map(|line| {
            let (first, last) = line.split_once('-').unwrap_or((line, line));
            [first, last].map(|code| u32::from_str_radix(code, 16).unwrap())
        })
        .collect();
    for letter in char::MIN..=char::MAX {
        let is_listed = ranges.iter().any(|[from, to]| (*from..=*to).contains(&letter.into()));
        assert_eq!(seconder::engine::approver::misleads(letter), is_listed, "{letter:?}");
    }
}

//! Approval on the user's phone.

use crate::stage::{Script, Stage, ask};
use seconder::engine::{ApprovalResponse, DeviceRegistered, RespondToApproval};
use seconder::model::Secret;
use seconder::{Canceller, Service};
use seconder_login::{Login, Outcome};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Has requests approved without a number.
const NO_NUMBER: &str = "number_digits = 0\n";

/// Responds to the request that is open, as the user's phone.
fn responding(stage: &Stage, response: ApprovalResponse) -> Box<dyn FnMut()> {
    let (service, phone): (Service, DeviceRegistered) = (stage.service.clone(), stage.phone());
    Box::new(move || {
        let engine = service.engine().unwrap();
        for request in engine.open_approvals(phone.device_id, &phone.secret).unwrap() {
            let uuid = request.uuid.clone();
            let (device_id, device_secret) = (phone.device_id, phone.secret.clone());
            let response =
                RespondToApproval { uuid, device_id, device_secret, response, number: None };
            let _ = engine.respond_to_approval(&response).unwrap();
        }
    })
}

#[test]
fn an_approved_request_is_accepted() {
    for (more, says) in [("", vec!["1"]), ("", vec!["push"]), ("method = push", vec![])] {
        let stage = Stage::new();
        let mut user = Script::of(&says);
        user.meanwhile = Some(responding(&stage, ApprovalResponse::Approve));
        let ended = stage.log_in(&format!("{NO_NUMBER}{more}"), &mut user);
        assert_eq!(ended.outcome, Outcome::Accepted, "{more}");
        assert!(ended.notice.ends_with("accepted (by an approval)"), "{}", ended.notice);
        let shown = "Approve the request on your phone, or press Enter to give it up.";
        assert_eq!(user.shown, [shown]);
    }
}

/// Types the number on the phone that the user reads on the screen, before each question and in each pause.
fn typing(stage: &Stage, screen: Receiver<String>) -> Box<dyn FnMut()> {
    let (service, phone): (Service, DeviceRegistered) = (stage.service.clone(), stage.phone());
    Box::new(move || {
        let texts = screen.try_iter().collect::<Vec<String>>().join(" ");
        let number = texts.split_once("type ").and_then(|(_, rest)| rest.split(' ').next());
        let engine = service.engine().unwrap();
        for request in engine.open_approvals(phone.device_id, &phone.secret).unwrap() {
            let _ = engine.respond_to_approval(&RespondToApproval {
                uuid: request.uuid.clone(),
                device_id: phone.device_id,
                device_secret: phone.secret.clone(),
                response: ApprovalResponse::Approve,
                number: number.map(Secret::new),
            });
        }
    })
}

#[test]
fn a_request_with_a_number_is_approved_by_typing_it_on_the_phone() {
    // Two digits unless the configuration says otherwise, or the application's limit says more.
    let cases = [
        ("", "", 2),
        ("number_digits=3", "", 3),
        ("number_digits=3", "number_digits = service", 3),
        ("number_digits=3", "number_digits = 6", 6),
    ];
    for (holds_text_back, (limits, more, length)) in
        [false, true].into_iter().flat_map(|held| cases.map(|case| (held, case)))
    {
        let stage = Stage::with_limits(limits);
        let (reader, screen) = std::sync::mpsc::channel();
        let mut user = Script::of(&["1", ""]);
        (user.reader, user.holds_text_back) = (Some(reader), holds_text_back);
        user.meanwhile = Some(typing(&stage, screen));
        assert_eq!(stage.log_in(more, &mut user).outcome, Outcome::Accepted, "{more}");
        let text = if holds_text_back { &user.asked[1] } else { &user.shown[0] };
        let rest = text.strip_prefix("To approve the request, type ").unwrap();
        let (number, rest) = rest.split_at(length);
        assert!(number.chars().all(|digit| digit.is_ascii_digit()), "{text}");
        let end = match holds_text_back {
            true => " on your phone, then press Enter, or type a code: ",
            false => " on your phone, or press Enter to give it up.",
        };
        assert_eq!(rest, end);
    }
}

#[test]
fn a_denied_request_ends_the_login() {
    for response in [ApprovalResponse::Deny, ApprovalResponse::Report] {
        let stage = Stage::new();
        let mut user = Script::of(&["1", "0000000"]);
        user.meanwhile = Some(responding(&stage, response));
        let ended = stage.log_in("", &mut user);
        assert_eq!((ended.outcome, user.asked.len()), (Outcome::Denied, 1));
    }
}

#[test]
fn a_request_that_expires_or_is_given_up_is_a_failed_try() {
    let stage = Stage::new();
    stage.phone();
    let mut user = Script::of(&["1", &stage.code()]);
    assert_eq!(stage.log_in("approval_timeout = 1", &mut user).outcome, Outcome::Accepted);
    assert_eq!(user.shown[1], "The request was not approved in time.");
    let mut user = Script::of(&["1", "1", "1", "1"]);
    user.enters = true;
    let ended = stage.log_in("approval_timeout = 600", &mut user);
    assert_eq!((ended.outcome, user.asked.len()), (Outcome::Denied, 3));
    assert_eq!(user.shown[1], "The request was given up.");
}

#[test]
fn where_text_is_held_back_the_user_presses_enter_when_it_is_approved() {
    let stage = Stage::new();
    let mut user = Script::of(&["1", ""]);
    user.holds_text_back = true;
    user.meanwhile = Some(responding(&stage, ApprovalResponse::Approve));
    assert_eq!(stage.log_in(NO_NUMBER, &mut user).outcome, Outcome::Accepted);
    let question = "Approve the request on your phone, then press Enter, or type a code: ";
    assert_eq!((user.asked[1].as_str(), user.shown.len()), (question, 0));
    let mut user = Script::of(&["1", &stage.code()]);
    user.holds_text_back = true;
    assert_eq!(stage.log_in("", &mut user).outcome, Outcome::Accepted);
}

#[test]
fn the_phone_shows_who_logs_in_where_and_how() {
    let stage = Stage::new();
    let phone = stage.phone();
    let service = stage.service.clone();
    let (sender, requests) = std::sync::mpsc::channel();
    let mut user = Script::of(&["1"]);
    user.enters = true;
    user.meanwhile = Some(Box::new(move || {
        let engine = service.engine().unwrap();
        for request in engine.open_approvals(phone.device_id, &phone.secret).unwrap() {
            sender.send((request.message, request.details)).unwrap();
        }
    }));
    let _ = stage.log_in("approval_message = Is {user} to use {service}?", &mut user);
    let (message, details) = requests.recv().unwrap();
    assert_eq!(message, "Is ada to use sshd?");
    assert_eq!((&details["Service"], &details["From"]), (&"sshd".into(), &"192.0.2.7".into()));
    assert!(!details["Host"].as_str().unwrap().is_empty());
}

#[test]
fn an_approval_of_another_user_or_request_lets_nobody_in() {
    let stage = Stage::new();
    let other = stage.service.create_user("eve@example.com", "555-010-0124", "1").unwrap().user_id;
    let engine = stage.service.engine().unwrap();
    let phone = engine.register_device(other, seconder::engine::DeviceType::Ios).unwrap();
    let uuid = stage.service.create_approval(other, "Log in?").unwrap().uuid;
    let (device_id, device_secret) = (phone.device_id, phone.secret);
    let response = ApprovalResponse::Approve;
    let response = RespondToApproval { uuid, device_id, device_secret, response, number: None };
    let _ = engine.respond_to_approval(&response).unwrap();
    stage.phone();
    let ended = stage.log_in("approval_timeout = 1\ntries = 1", &mut Script::of(&["1"]));
    assert_eq!(ended.outcome, Outcome::Denied);
}

/// A program that ends does not wait for the user.
#[test]
fn a_wait_ends_when_the_service_is_cancelled() {
    let stage = Stage::new();
    let (canceller, _phone) = (Canceller::new(), stage.phone());
    let service = stage.service.with_interrupt(Arc::new(canceller.clone()));
    let mut user = Script::of(&["123456"]);
    user.meanwhile = Some(Box::new(move || canceller.cancel()));
    let config = stage.config("method = push\napproval_timeout = 600");
    let ended = ask(&config, &service, &mut user, Login { user: "ada", ..Login::default() });
    assert_eq!(ended.outcome, Outcome::Denied, "{ended:?}");
    assert!(user.asked.is_empty(), "{:?}", user.asked);
}

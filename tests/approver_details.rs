//! Details of approval requests: phones show, and applications receive, what was sent.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::phone::Phone;
use crate::phone::world::{NOW, World};
use seconder::Verdict;
use seconder::calls::ApprovalStatus;
use seconder::engine::ApprovalResponse;
use seconder::engine::operator::{ListDevices, ShowUser};
use seconder::http::{Caller, RawReply, RawRequest, respond};
use seconder::wire::xml;
use serde_json::{Value, json};

fn sent(world: &World, method: &str, target: &str, body: &str) -> RawReply {
    let request = RawRequest::new(method, target)
        .header("x-svc-api-key", world.engine().api_key().expose())
        .header("content-type", "application/json")
        .body(body.as_bytes().to_vec());
    respond(world.engine(), Caller::Network, request)
}

#[test]
fn what_a_phone_shows_is_what_was_sent_digit_for_digit() {
    let world = World::new();
    let phone = Phone::register(world.engine(), &world.code(), NOW).unwrap();
    let numbers = [
        ("account", "12345678901234567890123"),
        ("small", "-9223372036854775809"),
        ("amount", "10.00"),
        ("rate", "0.1000000000000000055511151231257827"),
        ("whole", "18446744073709551615"),
        ("tiny", "0.00001"),
        ("huge", "1E400"),
    ];
    let fields: Vec<_> = numbers.iter().map(|(name, it)| format!("\"{name}\":{it}")).collect();
    let details = format!("{{{},\"list\":[7,{}]}}", fields.join(","), numbers[0].1);
    let target = format!("/push/json/users/{}/approval_requests", world.ada);
    let body = format!(r#"{{"message":"Pay?","details":{details},"hidden_details":{details}}}"#);
    let created = sent(&world, "POST", &target, &body);
    assert_eq!(created.status, 200, "{}", String::from_utf8_lossy(&created.body));
    let device = phone.signed(world.engine(), NOW).unwrap();
    let [request] = <[_; 1]>::try_from(device.requests().unwrap()).unwrap();
    let shown: Value = serde_json::from_str(&request.shown).unwrap();
    for ((name, number), pair) in numbers.iter().zip(shown["details"].as_array().unwrap()) {
        assert_eq!(*pair, json!([name, number]));
    }
    assert_eq!(shown["details"][numbers.len()], json!(["list", format!("[7,{}]", numbers[0].1)]));
    let response = phone.response(&request, ApprovalResponse::Approve, None, NOW);
    assert_eq!(world.engine().respond_signed(&response).unwrap(), ApprovalStatus::Approved);
    // A `Number` would write it as 1e+400, so it arrives as a text.
    let kept = details.replace("1E400", "\"1E400\"");
    let record = sent(&world, "GET", &format!("/push/json/approval_requests/{}", request.uuid), "");
    let record = String::from_utf8(record.body).unwrap();
    assert_eq!(record.matches(&kept).count(), 2, "{record}");
    let callback = world.callbacks.lock().unwrap()[0].to_string();
    assert_eq!(callback.matches(&kept).count(), 2, "{callback}");
    let in_xml = sent(&world, "GET", &format!("/push/xml/approval_requests/{}", request.uuid), "");
    let read = &xml::read(&in_xml.body).unwrap()["approval_request"]["details"];
    for (name, number) in numbers {
        assert_eq!(read[name].to_string().trim_matches('"'), number);
    }
}

#[test]
fn details_in_which_a_name_is_there_twice_are_rejected() {
    let world = World::new();
    let phone = Phone::register(world.engine(), &world.code(), NOW).unwrap();
    let target = format!("/push/json/users/{}/approval_requests", world.ada);
    for details in [
        r#"{"amount":"10","amount":"10000"}"#,
        r#"{"amount":"10","\u0061mount":"10000"}"#,
        r#"{"a":[{"amount":"10","amount":"10000"}]}"#,
        r#"{"a":{"$serde_json::private::Number":"1"}}"#,
        r#"{"a":{"$serde_json::private::RawValue":"[1]"}}"#,
    ] {
        let body = format!(r#"{{"message":"Pay?","details":{details}}}"#);
        assert_eq!(sent(&world, "POST", &target, &body).status, 400, "{details}");
    }
    let form = "?message=Pay?&details[amount]=10&details[amount]=10000";
    assert_eq!(sent(&world, "POST", &format!("{target}{form}"), "").status, 400);
    assert!(phone.signed(world.engine(), NOW).unwrap().requests().unwrap().is_empty());
}

#[test]
fn operators_see_the_name_of_a_phone_and_when_it_was_used() {
    let world = World::new();
    let phone = Phone::register(world.engine(), &world.code(), NOW).unwrap();
    let user_id = world.ada;
    let devices = || world.service.operate(&ListDevices { user_id }).unwrap().devices;
    let shown = |at: usize| (devices()[at].name.clone().unwrap(), devices()[at].used);
    assert_eq!(shown(0), ("Ada's phone".to_owned(), None));
    world.clock.set(NOW + 5);
    world.service.create_approval(user_id, "Log in?").unwrap();
    let [request] =
        <[_; 1]>::try_from(phone.signed(world.engine(), NOW + 5).unwrap().requests().unwrap())
            .unwrap();
    let response = phone.response(&request, ApprovalResponse::Deny, None, NOW + 5);
    assert_eq!(world.engine().respond_signed(&response).unwrap(), ApprovalStatus::Denied);
    assert_eq!(shown(0), ("Ada's phone".to_owned(), Some(NOW + 5)));
    world.clock.set(NOW + 60);
    let code = phone.code(NOW + 60);
    let verdict = world.service.verify(user_id, &code.parse().unwrap()).unwrap();
    assert_eq!(verdict, Verdict::Right);
    assert_eq!(shown(0).1, Some(NOW + 60));
    assert_eq!(world.service.operate(&ShowUser { user_id }).unwrap().devices, devices());
}

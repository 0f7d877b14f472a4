//! An argument that cannot be right is refused before anything is sent, whoever answers.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use seconder::calls::*;
use seconder::model::DisplayText;
use seconder::{Error, Handle, Result, Service, Settings};
use serde_json::{Map, Value};
use std::fmt::Debug;

/// An engine, and a remote service where nobody listens.
fn services() -> [Service; 2] {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let remote = Settings::new(&format!("http://127.0.0.1:{port}")).allow_loopback_http(true);
    [seconder::open("sandbox:").unwrap(), remote.api_key("key").open().unwrap()]
}

/// The argument that both services refuse.
fn refused<C: Call>(call: &C) -> String
where
    Service: Handle<C>,
    C::Reply: Debug,
{
    let parameter = |answer: Result<C::Reply>| match answer {
        Err(Error::InvalidArgument { parameter, .. }) => parameter.into_owned(),
        other => panic!("{other:?}"),
    };
    let [one, other] = services().map(|service| parameter(service.handle(call)));
    assert_eq!(one, other);
    one
}

fn large() -> Map<String, Value> {
    [("text".to_owned(), "x".repeat(16 * 1024).into())].into_iter().collect()
}

#[test]
fn approvals() {
    let call = CreateApproval::new(1.try_into().unwrap(), "Log in?".parse().unwrap());
    let logo = |res: &str| Logo { res: res.into(), url: "https://example.com/a.png".into() };
    for logos in [vec![logo("low")], vec![logo("default"), logo("huge")], vec![logo("")]] {
        assert_eq!(refused(&CreateApproval { logos, ..call.clone() }), "logos");
    }
    let many = vec![logo("default"); 1000];
    assert_eq!(refused(&CreateApproval { logos: many, ..call.clone() }), "logos");
    let seconds_to_expire = Some(315_360_001);
    assert_eq!(refused(&CreateApproval { seconds_to_expire, ..call.clone() }), "seconds_to_expire");
    assert_eq!(refused(&CreateApproval { details: large(), ..call.clone() }), "details");
    assert_eq!(refused(&CreateApproval { hidden_details: large(), ..call }), "hidden_details");
}

#[test]
fn sizes_and_lengths() {
    let user = 1.try_into().unwrap();
    for qr_size in [0, 99, 1001, u64::MAX] {
        let call = EnrolAuthenticator { qr_size: Some(qr_size), ..EnrolAuthenticator::new(user) };
        assert_eq!(refused(&call), "qr_size");
    }
    let (number, country) = ("555-010-0123".parse().unwrap(), "1".parse().unwrap());
    let call = StartPhoneVerification::new(Channel::Sms, number, country);
    for code_length in [0, 3, 11, 260] {
        let call = StartPhoneVerification { code_length: Some(code_length), ..call.clone() };
        assert_eq!(refused(&call), "code_length");
    }
    let call = RegisterActivity::new(user, ActivityType::Banned);
    assert_eq!(refused(&RegisterActivity { data: large(), ..call }), "data");
}

#[test]
fn the_name_is_the_arguments() {
    let parameter = |error: Option<Error>| match error {
        Some(Error::InvalidArgument { parameter, .. }) => parameter.into_owned(),
        other => panic!("{other:?}"),
    };
    for service in services() {
        let user = service.create_user("ada@example.com", "x", "1").err();
        assert_eq!(parameter(user), "cellphone");
        assert_eq!(parameter(service.phone_info("x", "1").err()), "phone_number");
        let start = service.start_phone_verification(Channel::Sms, "x", "1").err();
        assert_eq!(parameter(start), "phone_number");
        assert_eq!(parameter(service.create_approval(1.try_into().unwrap(), "").err()), "message");
    }
    // A label and an action's message are texts as well, and neither is a `message`.
    assert_eq!(parameter("".parse::<DisplayText>().err()), "text");
}

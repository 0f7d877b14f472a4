//! An invalid argument is rejected before anything is sent, by the engine and the client alike.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::calls::*;
use seconder::model::DisplayText;
use seconder::{Error, Handle, Result, Service, Settings};
use serde_json::{Map, Value};
use std::fmt::Debug;

/// An engine, and a remote service on a port that refuses connections: a call that was sent would
/// fail with `Unavailable` in place of `InvalidArgument`.
fn services() -> [Service; 2] {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let remote = Settings::new(&format!("http://127.0.0.1:{port}")).allow_loopback_http(true);
    [seconder::open("sandbox:").unwrap(), remote.api_key("key").open().unwrap()]
}

/// The name of the argument that both services reject.
fn rejected<C: Call>(call: &C) -> String
where
    Service: Handle<C>,
    C::Reply: Debug,
{
    let parameter = |result: Result<C::Reply>| match result {
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
fn invalid_approval_parameters_are_rejected_before_sending() {
    let call = CreateApproval::new(1.try_into().unwrap(), "Log in?".parse().unwrap());
    let logo = |res: &str| Logo { res: res.into(), url: "https://example.com/a.png".into() };
    for logos in [vec![logo("low")], vec![logo("default"), logo("huge")], vec![logo("")]] {
        assert_eq!(rejected(&CreateApproval { logos, ..call.clone() }), "logos");
    }
    let many = vec![logo("default"); 1000];
    assert_eq!(rejected(&CreateApproval { logos: many, ..call.clone() }), "logos");
    let seconds_to_expire = Some(315_360_001);
    assert_eq!(
        rejected(&CreateApproval { seconds_to_expire, ..call.clone() }),
        "seconds_to_expire"
    );
    assert_eq!(rejected(&CreateApproval { details: large(), ..call.clone() }), "details");
    assert_eq!(rejected(&CreateApproval { hidden_details: large(), ..call }), "hidden_details");
}

#[test]
fn invalid_sizes_and_lengths_are_rejected_before_sending() {
    let user = 1.try_into().unwrap();
    for qr_size in [0, 99, 1001, u64::MAX] {
        let call = EnrolAuthenticator { qr_size: Some(qr_size), ..EnrolAuthenticator::new(user) };
        assert_eq!(rejected(&call), "qr_size");
    }
    let (number, country) = ("555-010-0123".parse().unwrap(), "1".parse().unwrap());
    let call = StartPhoneVerification::new(Channel::Sms, number, country);
    for code_length in [0, 3, 11, 260] {
        let call = StartPhoneVerification { code_length: Some(code_length), ..call.clone() };
        assert_eq!(rejected(&call), "code_length");
    }
    let call = RegisterActivity::new(user, ActivityType::Banned);
    assert_eq!(rejected(&RegisterActivity { data: large(), ..call }), "data");
}

#[test]
fn errors_name_the_invalid_argument() {
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
    // `DisplayText` is also the type of labels and of action messages, so its own error says
    // `text`.
    assert_eq!(parameter("".parse::<DisplayText>().err()), "text");
}

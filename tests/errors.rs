//! Every rejection known from the interface and its practice maps to exactly one kind of error,
//! which determines who has to act.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::calls::{
    Call, CheckApproval, CheckPhoneVerification, DeleteUser, RequestSms, UserStatus,
};
use seconder::wire::Reply;
use seconder::{Error, Stage};
use serde_json::{Value, json};

/// The status and code of a rejection, and the kind of error it maps to.
const KNOWN: &[(u16, Option<&str>, &str)] = &[
    (400, Some("60002"), "Rejected"),
    (400, Some("60004"), "Rejected"),
    (400, Some("60027"), "Rejected"),
    (400, Some("60033"), "Rejected"),
    (400, None, "Rejected"),
    (400, Some("60025"), "Rejected"),
    (400, Some("60079"), "Rejected"),
    (401, Some("60001"), "Unauthorized"),
    (401, None, "Unauthorized"),
    (401, Some("60019"), "Rejected"),
    (401, Some("60020"), "Rejected"),
    (401, Some("60022"), "Rejected"),
    (403, Some("60082"), "Rejected"),
    (403, Some("60056"), "Rejected"),
    (403, None, "Rejected"),
    (404, Some("60016"), "Rejected"),
    (404, Some("60023"), "Rejected"),
    (404, Some("60026"), "Rejected"),
    (404, Some("60049"), "Rejected"),
    (404, None, "Rejected"),
    (429, Some("60003"), "RateLimited"),
    (429, None, "RateLimited"),
    (500, Some("60000"), "Unavailable"),
    (500, None, "Unavailable"),
    (502, None, "Unavailable"),
    (503, Some("60000"), "Unavailable"),
    (503, Some("60003"), "RateLimited"),
    (503, None, "RateLimited"),
    (503, Some("60006"), "Rejected"),
    (503, Some("60007"), "Rejected"),
    (503, Some("60008"), "Rejected"),
    (503, Some("60028"), "Rejected"),
    (503, Some("60029"), "Rejected"),
    (400, Some("99999"), "Rejected"),
    (302, None, "InvalidResponse"),
];

fn kind(error: &Error) -> &'static str {
    match error {
        Error::Rejected(_) => "Rejected",
        Error::Unauthorized { .. } => "Unauthorized",
        Error::RateLimited { .. } => "RateLimited",
        Error::Unavailable { .. } => "Unavailable",
        Error::InvalidResponse { .. } => "InvalidResponse",
        _ => "another",
    }
}

fn read<C: Call>(status: u16, body: &Value) -> Error {
    C::read(Reply::new(status, body.clone())).err().unwrap()
}

#[test]
fn every_status_and_code_maps_to_one_kind_of_error() {
    for (status, code, wanted) in KNOWN {
        let mut body = json!({"message": "No.", "success": false, "errors": {"message": "No."}});
        if let Some(code) = code {
            body["error_code"] = (*code).into();
        }
        for error in [
            read::<RequestSms>(*status, &body),
            read::<UserStatus>(*status, &body),
            read::<CheckApproval>(*status, &body),
        ] {
            assert_eq!(kind(&error), *wanted, "{status} {code:?}: {error}");
            assert!(!error.retry_safe() || *wanted == "RateLimited", "{status} {code:?}");
            if let Error::Rejected(rejection) = &error {
                assert_eq!(rejection.status, *status);
            }
            if ["Rejected", "Unauthorized", "RateLimited"].contains(wanted) {
                assert_eq!(error.code(), *code, "{status} {wanted}");
            }
        }
    }
}

/// Only the call that checks such a code can say that it is wrong.
#[test]
fn a_wrong_code_of_a_phone_verification_is_an_error_of_its_own() {
    let body = json!({"message": "No.", "success": false, "error_code": "60022"});
    let error = read::<CheckPhoneVerification>(401, &body);
    assert!(matches!(&error, Error::TokenWrong { message, .. } if message == "No."), "{error:?}");
    assert_eq!((error.code(), error.retry_safe()), (Some("60022"), false));
    assert_eq!(seconder::CallOutcome::from(&error), seconder::CallOutcome::TokenWrong);
    assert_eq!(kind(&read::<CheckPhoneVerification>(404, &body)), "Rejected");
    let other = json!({"message": "No.", "success": false, "error_code": "60020"});
    assert_eq!(kind(&read::<CheckPhoneVerification>(401, &other)), "Rejected");
}

/// A proxy or load balancer in front of the service sends 503 too, when the service is down.
#[test]
fn a_503_is_rate_limited_only_if_the_service_itself_sent_it() {
    let read = |body: Value, retry_after| {
        RequestSms::read(Reply { retry_after, ..Reply::new(503, body) }).err().unwrap()
    };
    let wait = Some(std::time::Duration::from_secs(1));
    // Bodies without a field of the service.
    for body in [json!({}), json!({"error": "upstream"}), json!({"error_code": ""})] {
        let error = read(body.clone(), None);
        assert!(!error.retry_safe(), "{error}");
        assert!(
            matches!(error, Error::Unavailable { stage: seconder::Stage::Response, .. }),
            "{error}"
        );
        let error = read(body, wait);
        assert!(
            matches!(error, Error::RateLimited { retry_after, .. } if retry_after == wait),
            "{error}"
        );
    }
    // Bodies with a field of the service.
    for body in [json!({"message": "Wait."}), json!({"errors": {}}), json!({"success": false})] {
        assert_eq!(kind(&read(body, None)), "RateLimited");
    }
    assert_eq!(kind(&read(json!({"error_code": "60003"}), None)), "RateLimited");
}

/// Programs decide by the name of the limit, and show it: nothing else than a name is taken for one.
#[test]
fn a_rate_limit_has_the_name_of_the_limit_if_the_service_says_it() {
    let read = |limit: Value| {
        let body = json!({"message": "Wait.", "error_code": "60003", "limit": limit});
        read::<RequestSms>(503, &body)
    };
    for (limit, of_operator) in
        [("cool_down", false), ("wrong_codes", false), ("new_1", false)].into_iter().chain(
            ["country_day", "application_day", "completion_min", "key_rate"]
                .map(|limit| (limit, true)),
        )
    {
        let error = read(limit.into());
        assert_eq!((error.limit(), error.is_operator_limit()), (Some(limit), of_operator));
    }
    let long = "a".repeat(41);
    for other in [json!(""), json!("1234567"), json!("a b"), json!("A"), json!(long), json!([])] {
        assert_eq!(read(other.clone()).limit(), None, "{other}");
    }
    assert_eq!(error_without_limit().limit(), None);
}

fn error_without_limit() -> Error {
    read::<RequestSms>(503, &json!({"message": "Wait.", "error_code": "60003"}))
}

#[test]
fn a_200_with_success_false_is_rejected() {
    for success in [json!(false), json!("false"), json!("False")] {
        let body = json!({"success": success, "message": "No."});
        assert!(matches!(read::<RequestSms>(200, &body), Error::Rejected(_)), "{body}");
    }
}

/// A server that returns 200 for every request must not verify a phone number, and must not appear
/// to have sent a code.
#[test]
fn an_action_succeeds_only_if_the_reply_confirms_it() {
    for body in [
        json!({}),
        json!({"status": "maintenance"}),
        json!({"success": null}),
        json!({"success": 0}),
        json!({"success": "no"}),
        json!({"success": "maybe"}),
        json!({"success": {"x": false}}),
        json!({"success": true, "error_code": "60022"}),
        json!({"success": true, "errors": {"message": "wrong"}}),
        json!({"message": "Verification code is correct."}),
    ] {
        read::<CheckPhoneVerification>(200, &body);
        read::<RequestSms>(200, &body);
        read::<DeleteUser>(200, &body);
    }
    for body in [json!({"success": true}), json!({"success": "true", "errors": {}})] {
        assert!(CheckPhoneVerification::read(Reply::new(200, body)).is_ok());
    }
    let older = json!({"success": "could not be sent: number blocked", "errors": {"message": "x"}});
    read::<RequestSms>(200, &older);
    assert!(CheckPhoneVerification::read(Reply::new(201, json!({"success": true}))).is_err());
}

#[test]
fn an_approval_with_two_different_users_is_an_error() {
    let of = |user: Value| {
        let mut request = json!({"status": "approved", "uuid": "a"});
        request.as_object_mut().unwrap().extend(user.as_object().unwrap().clone());
        CheckApproval::read(Reply::new(200, json!({"approval_request": request, "success": true})))
    };
    for user in [json!({"svc_id": 7}), json!({"_svc_id": 7}), json!({"svc_id": 7, "_svc_id": 7})] {
        assert_eq!(of(user).unwrap().user_id.unwrap().get(), 7);
    }
    assert!(of(json!({"svc_id": 7, "_svc_id": 8})).is_err());
}

fn limited(retry_after: Option<std::time::Duration>) -> Error {
    Error::RateLimited { message: "no".into(), retry_after, code: None, limit: None }
}

fn unavailable(stage: Stage) -> Error {
    Error::Unavailable { stage, message: "no".into(), reads: false }
}

#[test]
fn every_error_message_advises_what_to_do() {
    let long = Some(std::time::Duration::from_secs(30));
    for (error, advice) in [
        (Error::Unauthorized { message: "no".into(), code: None }, "Check the api_key"),
        (limited(long), "Try again in 30 s"),
        (limited(None), "Try again later"),
        (Error::InvalidResponse { message: "no".into() }, "Check that the URL"),
        (Error::Internal { message: "no".into() }, "report it"),
        (Error::InvalidCallback { message: "no".into() }, "Reply with status 401"),
        (read::<RequestSms>(404, &json!({"message": "No.", "error_code": "60026"})), "again"),
        (unavailable(Stage::Dns), "Check the host"),
        (unavailable(Stage::Connect), "Check that it runs"),
        (unavailable(Stage::Tls), "Nothing was sent"),
        (unavailable(Stage::Response), "check before you retry it"),
        (unavailable(Stage::Delivery), "request the code again"),
        (unavailable(Stage::Access), "its owner and its mode"),
        ("x".parse::<seconder::model::Token>().err().unwrap(), "must be 6 to 12 digits"),
        ("x".parse::<seconder::model::UserId>().err().unwrap(), "must be a positive whole number"),
    ] {
        assert!(error.to_string().contains(advice), "{error}");
    }
}

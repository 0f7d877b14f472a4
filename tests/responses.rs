//! Replies recorded from real services of this interface are interpreted as those services meant
//! them.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::calls::*;
use seconder::wire::{Format, Generation, Reply};
use seconder::{Error, Result};
use serde_json::Value;
use std::fmt::Debug;

fn vectors() -> Vec<Value> {
    serde_json::from_str(include_str!("vectors/responses.json")).unwrap()
}

fn read<C: Call>(vector: &Value) -> Result<C::Reply> {
    let text = |field: &str| vector[field].as_str().unwrap();
    let format = if text("endpoint").contains("/xml/") { Format::Xml } else { Format::Json };
    let body = format.read(text("body").as_bytes())?;
    let mut reply = Reply::new(vector["status"].as_u64().unwrap() as u16, body);
    if text("generation") == "older" {
        reply.generation = Generation::Older;
    }
    C::read(reply)
}

fn describe<T: Debug>(result: Result<T>) -> String {
    match result {
        Ok(reply) => format!("{reply:?}"),
        Err(Error::Rejected(rejection)) => {
            format!("rejected {} {}", rejection.status, rejection.code.unwrap_or_default())
        }
        Err(error) => format!("{error:?}"),
    }
}

/// Reads a reply as that of its endpoint's call, and describes the result as text.
fn outcome(vector: &Value) -> String {
    let endpoint = vector["endpoint"].as_str().unwrap();
    let path = endpoint.split('?').next().unwrap();
    let part = path.rsplit("/json/").next().unwrap().rsplit("/xml/").next().unwrap();
    match part {
        "users/new" => describe(read::<CreateUser>(vector)),
        "sms/{id}" => describe(read::<RequestSms>(vector)),
        "call/{id}" => describe(read::<RequestCall>(vector)),
        "verify/{token}/{id}" | "(any)" => describe(read::<Verify>(vector)),
        "users/delete/{id}" => describe(read::<DeleteUser>(vector)),
        "users/{id}/status" => describe(read::<UserStatus>(vector)),
        "users/{id}/register_activity" => describe(read::<RegisterActivity>(vector)),
        "app/details" => describe(read::<AppDetails>(vector)),
        "app/stats" => describe(read::<AppStats>(vector)),
        "phones/verification/start" => describe(read::<StartPhoneVerification>(vector)),
        "phones/verification/check" => describe(read::<CheckPhoneVerification>(vector)),
        "phones/info" => describe(read::<PhoneInfo>(vector)),
        "users/{id}/approval_requests" => describe(read::<CreateApproval>(vector)),
        "approval_requests/{uuid}" => describe(read::<CheckApproval>(vector)),
        other => panic!("no call has the endpoint {other}"),
    }
}

#[test]
fn recorded_replies_are_interpreted_correctly() {
    // In the order of the vectors: a part of each expected description.
    let wanted = [
        "UserCreated { user_id: UserId(1000)",
        "rejected 400 60027",
        "UserCreated { user_id: UserId(1635)",
        "cellphone: Some(\"+57-XXX-XXX-XX12\"), ignored: false",
        "rejected 404 60026",
        "message: Some(\"SMS sent.\"), cellphone: Some(\"+351-XXX-XXX-XX67\")",
        "ignored: true, device: Some(\"android\")",
        "verdict: Right, reused: false",
        "verdict: Wrong, reused: false",
        "verdict: Wrong, reused: false",
        "Done",
        "confirmed: true, registered: true, country_code: Some(1)",
        "Done",
        "name: \"Test\", plan: Some(\"pay_as_you_go\"), sms_enabled: false",
        "month: \"December\", year: 2015",
        "is_cellphone: Some(false)",
        "Done",
        "TokenWrong",
        "phone_type: Voip, provider: Some(\"Pinger\"), ported: Some(false)",
        "dda2c400-bc43-0135-d7be-1285ca17e122",
        "status: Expired",
        "rejected 404 60049",
        "InvalidResponse",
        // A user or an account that is suspended: waiting does not help.
        "rejected 503",
        "verdict: Right, reused: false",
        "rejected 404 60026",
        "ignored: true, device: Some(\"android\")",
    ];
    let vectors = vectors();
    assert_eq!(vectors.len(), wanted.len(), "`wanted` must have one entry for each vector");
    for (vector, wanted) in vectors.iter().zip(wanted) {
        let outcome = outcome(vector);
        assert!(outcome.contains(wanted), "{}: {outcome}\nwanted {wanted}", vector["endpoint"]);
    }
}

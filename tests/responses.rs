//! Every reply that real services of this interface were seen to send is read as what it means.

#![allow(clippy::unwrap_used, reason = "a test may end in a panic")]

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

fn shown<T: Debug>(read: Result<T>) -> String {
    match read {
        Ok(reply) => format!("{reply:?}"),
        Err(Error::Rejected(no)) => {
            format!("rejected {} {}", no.status, no.code.unwrap_or_default())
        }
        Err(error) => format!("{error:?}"),
    }
}

/// Reads a reply as the call of its endpoint, and tells in words what came of it.
fn told(vector: &Value) -> String {
    let endpoint = vector["endpoint"].as_str().unwrap();
    let path = endpoint.split('?').next().unwrap();
    let part = path.rsplit("/json/").next().unwrap().rsplit("/xml/").next().unwrap();
    match part {
        "users/new" => shown(read::<CreateUser>(vector)),
        "sms/{id}" => shown(read::<RequestSms>(vector)),
        "call/{id}" => shown(read::<RequestCall>(vector)),
        "verify/{token}/{id}" | "(any)" => shown(read::<Verify>(vector)),
        "users/delete/{id}" => shown(read::<DeleteUser>(vector)),
        "users/{id}/status" => shown(read::<UserStatus>(vector)),
        "users/{id}/register_activity" => shown(read::<RegisterActivity>(vector)),
        "app/details" => shown(read::<AppDetails>(vector)),
        "app/stats" => shown(read::<AppStats>(vector)),
        "phones/verification/start" => shown(read::<StartPhoneVerification>(vector)),
        "phones/verification/check" => shown(read::<CheckPhoneVerification>(vector)),
        "phones/info" => shown(read::<PhoneInfo>(vector)),
        "users/{id}/approval_requests" => shown(read::<CreateApproval>(vector)),
        "approval_requests/{uuid}" => shown(read::<CheckApproval>(vector)),
        other => panic!("no call has the endpoint {other}"),
    }
}

#[test]
fn recorded_replies_mean_what_they_say() {
    // In the order of the vectors: a part of what each must be read as.
    let wanted = [
        "UserCreated { id: UserId(1000)",
        "rejected 400 60027",
        "UserCreated { id: UserId(1635)",
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
        "rejected 401 60022",
        "phone_type: Voip, provider: Some(\"Pinger\"), ported: Some(false)",
        "dda2c400-bc43-0135-d7be-1285ca17e122",
        "status: Expired",
        "rejected 404 60049",
        "InvalidResponse",
        "RateLimited",
        "verdict: Right, reused: false",
        "rejected 404 60026",
        "ignored: true, device: Some(\"android\")",
    ];
    let vectors = vectors();
    assert_eq!(vectors.len(), wanted.len(), "each vector has its meaning here");
    for (vector, wanted) in vectors.iter().zip(wanted) {
        let told = told(vector);
        assert!(told.contains(wanted), "{}: {told}\nwanted {wanted}", vector["endpoint"]);
    }
}

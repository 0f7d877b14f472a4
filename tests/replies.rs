//! What the client makes of replies that differ from those of the interface document.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::fresh::{ada, open, url};
use seconder::calls::{
    self, Call, CheckApproval, CreateUser, Device, RequestCall, RequestSms, StartPhoneVerification,
    Verify,
};
use seconder::wire::{Format, Generation, Reply};
use seconder::{Error, Handle, Service, Settings, Verdict};
use serde_json::{Value, json};

/// The device of a reply to a verification, which is the same in every format.
fn device(device: Value) -> Option<Device> {
    let body = json!({"token": "is valid", "success": "true", "device": device});
    let found = [Format::Json, Format::Xml].map(|format| {
        let body = format.read(&format.write(&body)).unwrap();
        Verify::read(Reply::new(200, body)).unwrap().device
    });
    let [json, xml] = found;
    assert_eq!(json, xml);
    json
}

#[test]
fn a_device_loses_only_the_fields_that_do_not_fit() {
    let recorded = json!({
        "id": "abc",
        "ip": "192.0.2.1",
        "city": 7,
        "region": null,
        "country": {"name": "Norway"},
        "os_type": "android",
        "registration_device_id": -1,
        "registration_city": ["Oslo"],
        "registration_date": "2017-11-25 23:21:39 UTC",
        "last_account_recovery_at": "2017-11-25T23:21:39Z",
        "model": {"name": "unknown"},
    });
    let found = device(recorded).unwrap();
    assert_eq!((found.id, found.registration_device_id), (None, None));
    assert_eq!((found.registration_date, found.last_account_recovery_at), (None, None));
    assert_eq!((found.country, found.registration_city, found.region), (None, None, None));
    let texts = [found.ip, found.city, found.os_type].map(Option::unwrap);
    assert_eq!(texts, ["192.0.2.1", "7", "android"]);
}

#[test]
fn each_field_of_a_device_may_be_the_one_that_does_not_fit() {
    let whole = json!({
        "id": 1, "ip": "a", "city": "b", "region": "c", "country": "d", "os_type": "e",
        "registration_device_id": 2, "registration_ip": "f", "registration_city": "g",
        "registration_region": "h", "registration_country": "i", "registration_method": "j",
        "registration_date": 3, "last_account_recovery_at": 4,
    });
    let whole = whole.as_object().unwrap();
    for name in whole.keys() {
        let mut fields = whole.clone();
        fields[name] = json!({"of": "another type"});
        let found = serde_json::to_value(device(fields.into()).unwrap()).unwrap();
        for (other, value) in whole {
            let wanted = if other == name { &Value::Null } else { value };
            assert_eq!(&found[other], wanted, "{other} without {name}");
        }
    }
}

/// What clients with and without `new_only` make of a service that enrols Ada and says this, in
/// every format and generation: `created`, and the error.
fn created(said: Value) -> (Option<bool>, Option<String>) {
    let (email, cellphone) = ("ada@example.com".parse().unwrap(), "555-010-0123".parse().unwrap());
    let call = CreateUser::new(email, cellphone, "1".parse().unwrap());
    let only = CreateUser { new_only: true, ..call.clone() };
    let mut user = json!({"id": 7});
    if let Value::Object(said) = said {
        user.as_object_mut().unwrap().extend(said);
    }
    let mut found = Vec::new();
    for format in [Format::Json, Format::Xml] {
        for rest in [json!({"success": true, "message": "User created."}), json!({})] {
            let mut body = rest;
            body["user"] = user.clone();
            let body = format.read(&format.write(&body)).unwrap();
            let reply = call.read_own(Reply::new(200, body.clone())).unwrap();
            assert_eq!(reply.user_id.get(), 7);
            let error = match only.read_own(Reply::new(200, body)) {
                Ok(same) => {
                    assert_eq!(same, reply);
                    None
                }
                Err(Error::InvalidResponse { message }) => Some(message),
                Err(other) => panic!("{other}"),
            };
            found.push((reply.created, error));
        }
    }
    found.dedup();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn only_a_service_that_says_so_has_enrolled_a_new_user() {
    assert_eq!(created(json!({"created": true})), (Some(true), None));
    assert_eq!(created(json!({"created": "true"})), (Some(true), None));
    let (said, error) = created(json!({"created": false}));
    assert!(said == Some(false) && error.unwrap().contains("was there before"));
    // Services that do not have the field, or have another one of that name.
    for silent in [
        json!({}),
        json!({"created": null}),
        json!({"created": "2017-11-25T23:21:39Z"}),
        json!({"created": 1_511_652_099}),
        json!({"created": {"at": "x"}}),
    ] {
        let (said, error) = created(silent.clone());
        assert!(said.is_none(), "{silent}");
        assert!(error.unwrap().contains("does not say whether the user is new"), "{silent}");
    }
}

#[test]
fn only_whole_seconds_say_when_a_code_can_be_sent_again() {
    for (said, understood) in [
        (json!(30), Some(30)),
        (json!("30"), Some(30)),
        (json!(0), Some(0)),
        (json!(null), None),
        (json!(-1), None),
        (json!(1.5), None),
        (json!("2017-11-25T23:21:39Z"), None),
        (json!({"seconds": 30}), None),
    ] {
        let body = json!({"message": "sent", "success": true, "resend_after": said});
        let sms = RequestSms::read(Reply::new(200, body.clone())).unwrap();
        let call = RequestCall::read(Reply::new(200, body.clone())).unwrap();
        let number = StartPhoneVerification::read(Reply::new(200, body)).unwrap();
        let found = [sms.resend_after, call.resend_after, number.resend_after];
        assert_eq!(found, [understood; 3], "{said}");
    }
    let silent = Reply::new(200, json!({"message": "sent", "success": true}));
    assert_eq!(RequestSms::read(silent).unwrap().resend_after, None);
}

/// Services that do not know the parameter get the same request as before.
#[test]
fn the_wish_for_a_new_user_is_sent_only_where_it_is_one() {
    let (email, cellphone) = ("ada@example.com".parse().unwrap(), "555-010-0123".parse().unwrap());
    let call = CreateUser::new(email, cellphone, "1".parse().unwrap());
    let sent = |call: &CreateUser| {
        calls::request(call, Format::Json, Generation::Older).params.get("new_only").cloned()
    };
    assert_eq!(sent(&call), None);
    assert_eq!(sent(&CreateUser { new_only: true, ..call }), Some(json!(true)));
}

#[test]
fn a_wrong_token_keeps_the_services_code() {
    let read = |status, body| Verify::read(Reply::new(status, body)).unwrap();
    let found = read(401, json!({"token": "is invalid", "error_code": "60020"}));
    assert_eq!((found.verdict, found.error_code.as_deref()), (Verdict::Wrong, Some("60020")));
    let found = read(401, json!({"message": "used", "error_code": 60019}));
    assert_eq!((found.reused, found.error_code.as_deref()), (true, Some("60019")));
    for code in [json!(null), json!("")] {
        let body = json!({"success": "false", "token": "is invalid", "error_code": code});
        assert_eq!(read(401, body).error_code, None);
    }
    assert_eq!(read(200, json!({"token": "is valid", "success": "true"})).error_code, None);
}

/// The reply of an engine, as a client of it reads it.
fn by_wire<C: Call>(service: &Service, call: &C) -> seconder::Result<C::Reply>
where
    Service: Handle<C>,
{
    let request = calls::request(call, Format::Json, Generation::Current);
    C::read(calls::dispatch(service, request, Generation::Current).unwrap().1)
}

#[test]
fn an_engine_has_the_codes_that_it_sends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let (service, sent) = open(&path);
    let user = ada(&service);
    let sms = RequestSms::new(user);
    service.handle(&sms).unwrap();
    let here = service.handle(&sms).unwrap_err();
    let there = by_wire(&service, &sms).unwrap_err();
    assert_eq!((here.code(), there.code()), (Some("60003"), Some("60003")));

    let right: seconder::model::Token = sent.lock().unwrap()[0].code.parse().unwrap();
    let verify = |token: &seconder::model::Token| {
        service.handle(&Verify::new(user, token.clone())).unwrap().error_code
    };
    assert_eq!(verify(&right), None);
    assert_eq!(verify(&right).as_deref(), Some("60019"));
    let there = by_wire(&service, &Verify::new(user, right.clone())).unwrap();
    assert_eq!(there.error_code.as_deref(), Some("60019"));
    let wrong = if right.as_str() == "0000000" { "0000001" } else { "0000000" };
    assert_eq!(verify(&wrong.parse().unwrap()).as_deref(), Some("60020"));

    let error = Settings::new(&url(&path)).api_key("another").open().unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }) && error.code() == Some("60001"));
    assert_eq!("x".parse::<seconder::model::Token>().unwrap_err().code(), None);
}

#[test]
fn a_record_of_another_request_or_user_is_never_an_approval() {
    let call = CheckApproval::new("a-1".parse().unwrap());
    let read = |fields: Value| {
        let mut record = json!({"status": "approved"});
        record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let body = json!({"approval_request": record, "success": true});
        call.read_own(Reply::new(200, body))
    };
    assert!(matches!(
        read(json!({"uuid": "b-2", "svc_id": 7})),
        Err(Error::InvalidResponse { .. })
    ));
    let user = 7.try_into().unwrap();
    // The fields of the record, and whether it is an approval by the user, bound and not.
    for (fields, bound, unbound) in [
        (json!({"svc_id": 7}), true, true),
        (json!({"_svc_id": "7", "uuid": "a-1"}), true, true),
        (json!({"svc_id": 7, "user_id": 8}), true, true),
        (json!({}), false, true),
        (json!({"uuid": "a-1", "svc_id": null}), false, true),
        (json!({"user_id": "57fc7f1e2b1b0b0b0b0b0b0b"}), false, true),
        (json!({"user_id": 7}), false, true),
        (json!({"user_id": 8}), false, false),
        (json!({"user_id": "8"}), false, false),
        (json!({"user_id": "08"}), false, false),
        (json!({"user_id": " 8"}), false, false),
        (json!({"user_id": 8.0}), false, false),
        (json!({"user_id": -8}), false, false),
        (json!({"user_id": "٨"}), false, false),
        (json!({"user_id": [8]}), false, false),
        (json!({"user_id": "9".repeat(5000)}), false, false),
        (json!({"svc_id": 7, "_svc_id": "7"}), true, true),
        (json!({"svc_id": 7, "_svc_id": null}), true, true),
        (json!({"svc_id": 7, "details": ["x", {}], "logos": 1, "processed_at": {}}), true, true),
        (json!({"svc_id": 8}), false, false),
        (json!({"_svc_id": 8}), false, false),
        (json!({"svc_id": 8, "user_id": 7}), false, false),
        (json!({"status": "denied"}), false, false),
        (json!({"status": "pending"}), false, false),
        (json!({"status": "other"}), false, false),
    ] {
        let approval = read(fields.clone()).unwrap();
        let found = (approval.approved_by(user), approval.approved_unbound(user));
        assert_eq!(found, (bound, unbound), "{fields}");
        let copy: seconder::calls::Approval = serde_json::from_value(json!(approval)).unwrap();
        assert_eq!(copy, approval, "{fields}");
    }
    assert!(read(json!({"svc_id": 7, "_svc_id": 8})).is_err());
    assert!(read(json!({"svc_id": "another"})).is_err());
}

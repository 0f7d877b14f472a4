//! What the client makes of replies that differ from those of the interface document.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::calls::{Call, Device, Verify};
use seconder::wire::{Format, Reply};
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

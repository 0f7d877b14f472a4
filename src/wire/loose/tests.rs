//! Values that fit or do not fit each type of field.

use super::*;
use serde_json::json;

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Sample {
    id: u64,
    #[serde(default)]
    flag: bool,
    text: Option<String>,
    inner: Option<Box<Sample>>,
}

fn sample(value: Value) -> Result<Sample, Mismatch> {
    read(value.as_object().unwrap().clone())
}

#[test]
fn accepts_text_for_numbers_and_numbers_for_text() {
    let wanted = Sample { id: 7, flag: true, text: Some("5".into()), inner: None };
    assert_eq!(sample(json!({"id": "7", "flag": "True", "text": 5})).unwrap(), wanted);
    assert_eq!(sample(json!({"id": 7, "flag": 1, "text": "5", "inner": null})).unwrap(), wanted);
}

#[test]
fn only_canonical_numbers_are_accepted() {
    #[derive(Debug, serde::Deserialize)]
    struct Signed {
        at: i64,
    }
    for bad in ["+1", "01", "0001", "-1", " 1", "1 ", "", "00", "-0"] {
        assert!(sample(json!({"id": bad})).is_err(), "{bad}");
    }
    assert_eq!(sample(json!({"id": "0"})).unwrap().id, 0);
    let signed = |text: &str| {
        read::<Signed>(json!({"at": text}).as_object().unwrap().clone()).map(|read| read.at)
    };
    assert_eq!((signed("-1"), signed("0")), (Ok(-1), Ok(0)));
    assert!(signed("+1").is_err() && signed("-01").is_err());
}

#[test]
fn a_null_field_is_treated_as_absent() {
    assert!(!sample(json!({"id": 7, "flag": null})).unwrap().flag);
}

#[test]
fn a_list_and_nothing_are_accepted_as_maps() {
    #[derive(serde::Deserialize)]
    struct Free {
        data: Map<String, Value>,
    }
    let data = |value: Value| -> Value {
        let value = json!({ "data": value });
        read::<Free>(value.as_object().unwrap().clone()).unwrap().data.into()
    };
    assert_eq!(data(json!(["x", ["y"]])), json!({"0": "x", "1": ["y"]}));
    assert_eq!(data(json!([])), json!({}));
    assert_eq!(data(json!("")), json!({}));
    assert_eq!(data(json!({"n": 1})), json!({"n": 1}));
}

#[test]
fn messages_say_what_is_expected() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Sms,
        Call,
        Mail,
    }
    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code)] // The test looks only at errors.
    struct Typed {
        id: Option<u64>,
        time: Option<f64>,
        kind: Option<Kind>,
        map: Option<Map<String, Value>>,
        list: Option<Vec<u64>>,
        part: Option<Box<Typed>>,
        byte: Option<u8>,
    }
    let message =
        |value: Value| read::<Typed>(value.as_object().unwrap().clone()).unwrap_err().to_string();
    for bad in [json!(-1), json!(1.5), json!(true), json!("x")] {
        assert_eq!(message(json!({"id": bad})), "id must be a whole number");
    }
    assert_eq!(message(json!({"time": "x"})), "time must be a number");
    assert_eq!(message(json!({"kind": "x"})), "kind must be sms, call or mail");
    for bad in [json!("a secret"), json!(1), json!(1.5), json!(-1), json!(true)] {
        assert_eq!(message(json!({"map": bad})), "map must be an object");
        assert_eq!(message(json!({"list": bad})), "list must be a list");
        assert_eq!(message(json!({"part": bad})), "part must be an object");
    }
    assert_eq!(message(json!({"list": {"a": 1}})), "list must be a list");
    assert_eq!(message(json!({"byte": 300})), "byte must be u8");
}

/// serde_json would read another value: a number, or the JSON in the text.
#[test]
fn reserved_names_are_rejected() {
    for name in ["Number", "RawValue"] {
        let fields = json!({"a": {"b": {format!("{RESERVED}{name}"): "[1]"}}});
        let read = read::<Map<String, Value>>(fields.as_object().unwrap().clone());
        assert_eq!(read.unwrap_err().to_string(), "b has a name that is reserved");
    }
}

#[test]
fn names_the_innermost_field() {
    let field = |value| sample(value).unwrap_err().field;
    assert_eq!(field(json!({"id": 1, "inner": {"id": "x"}})), "id");
    assert_eq!(field(json!({"id": 1, "flag": "maybe"})), "flag");
    assert_eq!(field(json!({})), "id");
    assert_eq!(field(json!({"id": 1, "text": {}})), "text");
}

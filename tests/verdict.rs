//! Which replies let a user in: every status with every shape of body, in both formats and both
//! generations. `docs/attacks.md` has a table of the outcomes, which
//! `cargo test --test verdict -- --ignored` regenerates.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::calls::{Call, Recognise, Recognition, Verdict, Verify};
use seconder::model::BrowserToken;
use seconder::wire::{Format, Generation, Reply};
use seconder::{Error, Result};
use std::path::PathBuf;

const STATUSES: [u16; 13] = [200, 201, 202, 204, 400, 401, 403, 404, 409, 429, 500, 502, 503];
const DOCUMENT: &str = "docs/attacks.md";
const BEGIN: &str = "<!-- The table below is written by tests/verdict.rs. -->\n";
const END: &str = "<!-- The table above is written by tests/verdict.rs. -->\n";

/// Shapes of JSON bodies: those that a careless client could mistake for a right token, and those
/// that services were seen to send. The names appear in the table of `docs/attacks.md`.
const BODIES: &[(&str, &str)] = &[
    ("a right token", r#"{"token":"is valid","success":"true","message":"Token is valid."}"#),
    ("a right token, with a flag", r#"{"token":"is valid","success":true}"#),
    ("no `success`", r#"{"token":"is valid"}"#),
    ("`success` denies it", r#"{"token":"is valid","success":"false"}"#),
    ("`success` denies it, with a flag", r#"{"token":"is valid","success":false}"#),
    ("`success` is null", r#"{"token":"is valid","success":null}"#),
    ("`success` is something else", r#"{"token":"is valid","success":"yes"}"#),
    (
        "a right token beside an error",
        r#"{"token":"is valid","success":"true","errors":{"message":"Token is invalid."}}"#,
    ),
    (
        "a right token beside a list of errors",
        r#"{"token":"is valid","success":"true","errors":["Token is invalid."]}"#,
    ),
    (
        "a right token beside an error code",
        r#"{"token":"is valid","success":true,"error_code":"60020"}"#,
    ),
    (
        "a right token beside an error code that is a number",
        r#"{"token":"is valid","success":true,"error_code":60020}"#,
    ),
    ("no `success`, beside an error code", r#"{"token":"is valid","error_code":"60020"}"#),
    (
        "a right token, and no error",
        r#"{"token":"is valid","success":"true","errors":{},"error_code":""}"#,
    ),
    ("`success` alone", r#"{"success":"true"}"#),
    ("the words in another place", r#"{"message":"token is valid","success":"true"}"#),
    ("the field nested", r#"{"user":{"token":"is valid"},"success":"true"}"#),
    ("the token an object", r#"{"token":{"is valid":true},"success":"true"}"#),
    ("the token a list", r#"{"token":["is valid"],"success":"true"}"#),
    ("the token a flag", r#"{"token":true,"success":"true"}"#),
    ("a prefix", r#"{"token":"is","success":"true"}"#),
    ("more than the words", r#"{"token":"is valid ","success":"true"}"#),
    ("other capitals", r#"{"token":"Is Valid","success":"true"}"#),
    ("empty token", r#"{"token":"","success":"true"}"#),
    (
        "a wrong token",
        r#"{"message":"Token is invalid","token":"is invalid","success":false,"errors":{"message":"Token is invalid"},"error_code":"60020"}"#,
    ),
    ("a wrong token, older", r#"{"success":"false","errors":{"token":"is invalid"}}"#),
    ("a wrong token, an empty code", r#"{"token":"is invalid","success":false,"error_code":""}"#),
    ("a wrong token, a null code", r#"{"token":"is invalid","success":false,"error_code":null}"#),
    (
        "only the message of a wrong token",
        r#"{"message":"token is invalid","success":false,"errors":{"message":"token is invalid"}}"#,
    ),
    ("the same, with a full stop", r#"{"success":false,"errors":{"message":"Token is invalid."}}"#),
    (
        "more than the message of a wrong token",
        r#"{"message":"Token is invalid for this API key.","success":false}"#,
    ),
    (
        "a wrong API key, with the message of a wrong token",
        r#"{"message":"Token is invalid","success":false,"error_code":"60001"}"#,
    ),
    (
        "a used token",
        r#"{"message":"Token was used","success":"false","errors":{"message":"Token was used"},"error_code":"60019"}"#,
    ),
    (
        "a wrong API key",
        r#"{"message":"Invalid API key.","success":false,"errors":{"message":"Invalid API key."},"error_code":"60001"}"#,
    ),
    (
        "a wrong API key that speaks of the token",
        r#"{"token":"is invalid","success":false,"errors":{"message":"Invalid API key."},"error_code":"60001"}"#,
    ),
    (
        "not checked",
        r#"{"token":"Not checked. Pass force=true to check regardless.","success":"true"}"#,
    ),
    ("an SMS was sent", r#"{"success":true,"message":"SMS token was sent","cellphone":"x"}"#),
    ("an empty object", "{}"),
    ("an empty list", "[]"),
    ("a list of the right one", r#"[{"token":"is valid","success":"true"}]"#),
    ("null", "null"),
    ("a text", r#""is valid""#),
    ("nothing", ""),
    ("cut off", r#"{"token":"is valid","success":"tr"#),
    ("two bodies", r#"{"token":"is valid","success":"true"}{}"#),
    ("the key twice", r#"{"token":"is invalid","token":"is valid","success":"true"}"#),
    ("a page", r#"<html>{"token":"is valid","success":"true"}</html>"#),
];

/// Shapes that only XML has.
const XML_BODIES: &[&str] = &[
    "<!DOCTYPE hash [<!ENTITY v \"is valid\">]><hash><token>&v;</token><success>true</success></hash>",
    "<hash><token>is invalid</token><token>is valid</token><success>true</success></hash>",
    "<hash><hash><token>is valid</token><success>true</success></hash></hash>",
    "<token>is valid</token>",
    "<errors><token>is valid</token><success>true</success></errors>",
    "<errors><token>is valid</token></errors>",
    "<body><token>is valid</token><success>true</success></body>",
    "<hash><token>is valid</token><success>true</success></hash><!-- --><hash/>",
    "<hash><token type=\"array\"><t>is valid</t></token><success>true</success></hash>",
    "<hash><token nil=\"true\">is valid</token><success>true</success></hash>",
    "<hash><token>is valid</token><success>true</success>",
    "<html><hash><token>is valid</token><success>true</success></hash></html>",
];

fn verdict(status: u16, text: &str, format: Format, generation: Generation) -> Result<Verdict> {
    let mut reply = Reply::read(status, format.read(text.as_bytes()))?;
    reply.generation = generation;
    Verify::read(reply).map(|verification| verification.verdict)
}

fn name(result: &Result<Verdict>) -> &'static str {
    match result {
        Ok(Verdict::Right) => "**Right**",
        Ok(Verdict::Wrong) => "Wrong",
        Ok(Verdict::NotChecked) => "NotChecked",
        Err(Error::Unauthorized { .. }) => "Unauthorized",
        Err(Error::Rejected(_)) => "Rejected",
        Err(Error::RateLimited { .. }) => "RateLimited",
        Err(Error::Unavailable { .. }) => "Unavailable",
        Err(Error::InvalidResponse { .. }) => "InvalidResponse",
        Err(other) => panic!("{other:?}"),
    }
}

/// The same body in XML; `None` if it is not a JSON object.
fn in_xml(text: &str) -> Option<String> {
    let body = Format::Json.read(text.as_bytes()).ok().filter(serde_json::Value::is_object)?;
    Some(String::from_utf8(Format::Xml.write(&body)).unwrap())
}

#[test]
fn only_a_reply_that_confirms_the_token_is_right() {
    let mut right = Vec::new();
    for generation in [Generation::Current, Generation::Older] {
        for status in STATUSES {
            for (shape, text) in BODIES {
                let result = verdict(status, text, Format::Json, generation);
                // XML cannot distinguish an empty `errors` from an `errors` document, which is a
                // failure, so the two formats differ there.
                let alike = !text.contains(r#""errors":{}"#);
                if let Some(xml) = in_xml(text).filter(|_| alike) {
                    let in_xml = verdict(status, &xml, Format::Xml, generation);
                    assert_eq!(name(&result), name(&in_xml), "{status} {shape}: {xml}");
                }
                if matches!(result, Ok(Verdict::Right)) {
                    right.push((generation, status, *shape));
                }
            }
            for text in XML_BODIES {
                let result = verdict(status, text, Format::Xml, generation);
                assert!(!matches!(result, Ok(Verdict::Right)), "{status} {text}");
            }
        }
    }
    let wanted = [
        (Generation::Current, 200, "a right token"),
        (Generation::Current, 200, "a right token, with a flag"),
        (Generation::Current, 200, "a right token, and no error"),
        (Generation::Older, 200, "a right token"),
        (Generation::Older, 200, "a right token, with a flag"),
        (Generation::Older, 200, "no `success`"),
        (Generation::Older, 200, "a right token, and no error"),
    ];
    assert_eq!(right, wanted);
}

/// Shapes of JSON bodies that could be mistaken for a browser of user 7 that is recognised.
const BROWSERS: &[(&str, &str)] = &[
    ("recognised", r#"{"browser":"is recognised","svc_id":7,"success":true}"#),
    ("with texts", r#"{"browser":"is recognised","svc_id":"7","success":"true","message":"m"}"#),
    ("no `success`", r#"{"browser":"is recognised","svc_id":7}"#),
    ("`success` denies it", r#"{"browser":"is recognised","svc_id":7,"success":false}"#),
    ("no user", r#"{"browser":"is recognised","success":true}"#),
    ("a null user", r#"{"browser":"is recognised","svc_id":null,"success":true}"#),
    ("another user", r#"{"browser":"is recognised","svc_id":8,"success":true}"#),
    ("another spelling of the user", r#"{"browser":"is recognised","svc_id":"07","success":true}"#),
    ("a list of users", r#"{"browser":"is recognised","svc_id":[7],"success":true}"#),
    ("the user alone", r#"{"svc_id":7,"success":true}"#),
    ("not recognised", r#"{"browser":"is not recognised","svc_id":7,"success":true}"#),
    ("a flag", r#"{"browser":true,"svc_id":7,"success":true}"#),
    ("another field", r#"{"recognised":true,"svc_id":7,"success":true}"#),
    ("more than the words", r#"{"browser":"is recognised ","svc_id":7,"success":true}"#),
    ("other capitals", r#"{"browser":"Is recognised","svc_id":7,"success":true}"#),
    ("nested", r#"{"user":{"browser":"is recognised","svc_id":7},"success":true}"#),
    (
        "beside an error",
        r#"{"browser":"is recognised","svc_id":7,"success":true,"error_code":"60026"}"#,
    ),
    (
        "beside errors",
        r#"{"browser":"is recognised","svc_id":7,"success":true,"errors":{"message":"no"}}"#,
    ),
    (
        "the code of one that is not",
        r#"{"message":"no","success":false,"error_code":"not_recognised"}"#,
    ),
];

fn recognition(
    status: u16,
    text: &str,
    format: Format,
    generation: Generation,
) -> Result<Recognition> {
    let mut reply = Reply::read(status, format.read(text.as_bytes()))?;
    reply.generation = generation;
    let call = Recognise::new(7.try_into().unwrap(), BrowserToken::from("a-token"));
    call.read_own(reply).map(|checked| checked.recognition)
}

#[test]
fn only_a_reply_that_confirms_the_user_recognises_a_browser() {
    let (mut recognised, mut not) = (Vec::new(), Vec::new());
    for generation in [Generation::Current, Generation::Older] {
        for status in STATUSES {
            for (shape, text) in BODIES.iter().chain(BROWSERS) {
                let mut results = vec![recognition(status, text, Format::Json, generation)];
                if let Some(xml) = in_xml(text) {
                    results.push(recognition(status, &xml, Format::Xml, generation));
                }
                for result in results {
                    match result {
                        Ok(Recognition::Recognised) => recognised.push((status, *shape)),
                        Ok(Recognition::NotRecognised) => not.push((status, *shape)),
                        Err(_) => {}
                    }
                }
            }
            for text in XML_BODIES {
                assert!(recognition(status, text, Format::Xml, generation).is_err(), "{text}");
            }
        }
    }
    // In both formats and both generations.
    let four = |these: &[(u16, &'static str)]| -> Vec<(u16, &str)> {
        let twice = these.iter().flat_map(|one| [*one; 2]).collect::<Vec<_>>();
        [twice.clone(), twice].concat()
    };
    assert_eq!(recognised, four(&[(200, "recognised"), (200, "with texts")]));
    assert_eq!(not, four(&[(403, "the code of one that is not")]));
}

#[test]
fn zeroed_memory_means_wrong() {
    assert_eq!(Verdict::Wrong as u8, 0);
    assert_eq!(Verdict::default(), Verdict::Wrong);
}

#[test]
fn the_body_of_a_401_distinguishes_a_wrong_token_from_a_wrong_key() {
    let of = |shape: &str| {
        let (_, text) = BODIES.iter().find(|(name, _)| *name == shape).unwrap();
        verdict(401, text, Format::Json, Generation::Current)
    };
    for wrong in [
        "a wrong token",
        "a wrong token, older",
        "a wrong token, an empty code",
        "a wrong token, a null code",
        "a used token",
    ] {
        assert_eq!(of(wrong).unwrap(), Verdict::Wrong, "{wrong}");
    }
    for (shape, older) in [
        ("only the message of a wrong token", true),
        ("the same, with a full stop", true),
        ("more than the message of a wrong token", false),
        ("a wrong API key, with the message of a wrong token", false),
    ] {
        assert!(matches!(of(shape), Err(Error::Unauthorized { .. })), "{shape}");
        let (_, text) = BODIES.iter().find(|(name, _)| *name == shape).unwrap();
        for capitals in [text.to_string(), text.replace("oken is", "OKEN Is")] {
            let result = verdict(401, &capitals, Format::Json, Generation::Older);
            assert_eq!(matches!(result, Ok(Verdict::Wrong)), older, "{capitals}");
        }
    }
    for key in ["a wrong API key", "a wrong API key that speaks of the token", "an empty object"] {
        assert!(matches!(of(key), Err(Error::Unauthorized { .. })), "{key}");
    }
}

fn table() -> String {
    let mut out = String::from(BEGIN);
    out += "| body | 200 | 200, older | 401 | 401, older | 404 | 503 |\n|---|---|---|---|---|---|---|\n";
    for (shape, text) in BODIES {
        let of = |status, generation| name(&verdict(status, text, Format::Json, generation));
        out += &format!(
            "| {shape} | {} | {} | {} | {} | {} | {} |\n",
            of(200, Generation::Current),
            of(200, Generation::Older),
            of(401, Generation::Current),
            of(401, Generation::Older),
            of(404, Generation::Current),
            of(503, Generation::Current),
        );
    }
    out + END
}

fn document() -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT);
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

#[test]
fn the_table_in_the_document_is_up_to_date() {
    assert!(
        document().1.contains(&table()),
        "{DOCUMENT} is not up to date: cargo test --test verdict -- --ignored"
    );
}

#[test]
#[ignore = "writes the table into the document"]
fn write_the_document() {
    let (path, text) = document();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    std::fs::write(path, format!("{before}{}{after}", table())).unwrap();
}

//! The presets: how their providers are asked for receipts, and report.

use crate::http_provider::{Provider, Reply, response};
use crate::provider::printed;
use crate::serving::{FORM, PUBLIC, Running, database, receipt_url, sent, set_route, wait_until};
use serde_json::{Value, json};
use std::path::Path;

/// A provider whose ids are in the responses in this form.
pub(crate) fn always(status: u16, body: &'static str) -> Provider {
    Provider::start(move |_, _| Reply::Bytes(response(status, "", body)))
}

/// A preset, and how its provider reports.
struct Case {
    name: &'static str,
    settings: Value,
    accepts: (u16, &'static str),
    by_voice: bool,
    /// The method, the type of the body, and the parameters that report this state, of which the last is
    /// for a GET to add to the URL.
    report: fn(&str, &str) -> (&'static str, &'static str, String),
    /// What is on its way, what arrived, what failed, and how that is shown.
    states: [&'static str; 4],
}

fn cases() -> Vec<Case> {
    let mut cases = twilio();
    cases.extend(others());
    cases
}

fn twilio() -> Vec<Case> {
    let twilio = json!({"account_sid": "AC1", "auth_token": "t"});
    vec![
        Case {
            name: "twilio",
            settings: twilio.clone(),
            accepts: (201, r#"{"sid": "SM1"}"#),
            by_voice: false,
            report: |_, state| {
                let code = if state == "undelivered" { "&ErrorCode=30003" } else { "" };
                (
                    "POST",
                    FORM,
                    format!("MessageSid=SM1&MessageStatus={state}&To=%2B12025550100{code}"),
                )
            },
            states: ["sent", "delivered", "undelivered", "failed: undelivered, 30003"],
        },
        Case {
            name: "twilio-voice",
            settings: twilio,
            accepts: (201, r#"{"sid": "CA1"}"#),
            by_voice: true,
            report: |_, state| ("POST", FORM, format!("CallSid=CA1&CallStatus={state}&Duration=1")),
            states: ["ringing", "completed", "no-answer", "failed: no-answer"],
        },
    ]
}

fn others() -> Vec<Case> {
    vec![
        Case {
            name: "vonage",
            settings: json!({"api_key": "k", "api_secret": "s"}),
            accepts: (200, r#"{"messages": [{"status": "0", "message-id": "V1"}]}"#),
            by_voice: false,
            report: |_, state| {
                let body = json!({"messageId": "V1", "status": state, "msisdn": "12025550102",
                    "err-code": if state == "failed" { "6" } else { "0" }});
                ("POST", "application/json", body.to_string())
            },
            states: ["buffered", "delivered", "failed", "failed: failed, 6"],
        },
        Case {
            name: "messagebird",
            settings: json!({"access_key": "k"}),
            accepts: (201, r#"{"id": "MB1"}"#),
            by_voice: false,
            report: |_, state| {
                let code = if state == "delivery_failed" { "&statusErrorCode=27" } else { "" };
                (
                    "GET",
                    "",
                    format!("id=MB1&reference=r&recipient=12025550103&status={state}{code}"),
                )
            },
            states: ["buffered", "delivered", "delivery_failed", "failed: delivery_failed, 27"],
        },
        Case {
            name: "kannel",
            settings: json!({"username": "u", "password": "p"}),
            accepts: (202, "0: Accepted for delivery"),
            by_voice: false,
            report: |id, state| ("GET", "", format!("id={id}&state={state}")),
            states: ["4", "1", "16", "failed: 16"],
        },
        Case {
            name: "webhook",
            settings: json!({"signing_key": "k"}),
            accepts: (200, r#"{"id": "W1"}"#),
            by_voice: false,
            report: |_, state| {
                let body = json!({"id": "W1", "state": state, "reason": "+1 202 555 0105 is off"});
                ("POST", "application/json; charset=utf-8", body.to_string())
            },
            states: ["queued", "delivered", "failed", "failed: failed, +[redacted] is off"],
        },
    ]
}

#[test]
fn each_preset_gets_a_url_for_its_receipts_which_update_the_job() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    let mut providers = Vec::new();
    for (number, case) in cases().into_iter().enumerate() {
        let provider = always(case.accepts.0, case.accepts.1);
        let mut settings = case.settings.clone();
        settings["gateway"] = case.name.into();
        let url = if case.name == "webhook" { "url" } else { "base_url" };
        settings[url] = provider.origin.clone().into();
        settings["channels"] = json!([if case.by_voice { "call" } else { "sms" }]);
        settings["countries"] = json!([1, 2].map(|round| format!("+1202555{round}00{number}")));
        settings["from"] = "Example".into();
        set_route(folder, case.name, &settings);
        providers.push((case, provider));
    }
    let running = Running::start(folder, &["--public-url", PUBLIC]);
    let mut secrets = Vec::new();
    for (number, (case, provider)) in providers.iter().enumerate() {
        let name = case.name;
        for (round, outcome) in [(1, 1), (2, 2)] {
            running.send_code(&format!("202555{round}00{number}"), case.by_voice);
            let request = provider.request();
            let url = receipt_url(&request);
            let (url, _) = url.split_once('?').unwrap_or((&url, ""));
            let show = ["route", "show", name, "--receipts", "--public-url", PUBLIC];
            assert_eq!(printed(folder, &show).trim(), url, "{name}");
            secrets.push(url.rsplit('/').next().unwrap().to_owned());
            wait_until(name, || sent(folder, name).len() == round);
            // The later one is listed first.
            let id = sent(folder, name)[0]["id"].as_str().unwrap().to_owned();
            let job = || {
                let job = printed_job(folder, &id);
                (job["receipt"].clone(), job["receipt_at"].is_i64())
            };
            assert_eq!(job(), (Value::Null, false), "{name}");
            let send = |state: &str| {
                let (method, kind, parameters) = (case.report)(&id, state);
                match method {
                    "GET" => running.at.send(method, &format!("{url}?{parameters}"), "", "").0,
                    _ => running.at.send(method, url, kind, &parameters).0,
                }
            };
            let [pending, delivered, failed, shown] = case.states;
            assert_eq!(send(pending), 200, "{name}");
            assert_eq!(job(), (json!("pending"), true), "{name}");
            let (first, second, expected) = match outcome {
                1 => (delivered, failed, "delivered"),
                _ => (failed, delivered, shown),
            };
            // Twice, and then out of order.
            for state in [first, first, pending] {
                assert_eq!(send(state), 200, "{name}");
                assert_eq!(job(), (json!(expected), true), "{name}");
            }
            // One of an attempt before: the message has arrived.
            assert_eq!(send(second), 200, "{name}");
            assert_eq!(job(), (json!("delivered"), true), "{name}");
        }
    }
    let audit = printed(folder, &["audit", "--verdict", "not_delivered", "--json"]);
    assert_eq!(audit.lines().count(), providers.len(), "{audit}");
    let log = running.log();
    let shown = printed(folder, &["route", "list", "--json"])
        + &printed(folder, &["route", "show", "twilio"]);
    for secret in secrets {
        assert!(secret.len() >= 43 && !log.contains(&secret) && !shown.contains(&secret), "{log}");
    }
}

fn printed_job(folder: &Path, id: &str) -> Value {
    serde_json::from_str(&printed(folder, &["jobs", "show", id, "--json"])).unwrap()
}

#[test]
fn without_a_public_url_no_provider_is_asked_for_receipts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    let requests: Vec<String> = cases()
        .into_iter()
        .map(|case| {
            let provider = always(case.accepts.0, case.accepts.1);
            let mut settings = case.settings.clone();
            settings["gateway"] = case.name.into();
            let url = if case.name == "webhook" { "url" } else { "base_url" };
            settings[url] = provider.origin.clone().into();
            set_route(folder, case.name, &settings);
            printed(folder, &["route", "test", case.name, "+15550100123"]);
            provider.request()
        })
        .collect();
    for request in requests {
        for word in ["StatusCallback", "callback", "reportUrl", "dlr-url", "receipt"] {
            assert!(!request.contains(word), "{request}");
        }
        assert!(!request.starts_with("GET") || request.contains("&dlr-mask=0 HTTP"), "{request}");
    }
}

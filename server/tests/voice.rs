//! Documents that a provider of calls fetches.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a provider needs threads")]

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::http_provider as provider;
use crate::http_provider::{always, shown};
use crate::provider::error;
use crate::serving::{PUBLIC, Running, database, set_route};
use seconder::calls::Channel;
use seconder::remote::Dialer;
use seconder_gateways::{Outgoing, Urls};
use serde_json::{Value, json};

fn settings(origin: &str) -> Value {
    json!({"gateway": "twilio-voice", "account_sid": "AC1", "auth_token": "t", "twiml": "fetched",
        "language": "en-GB", "base_url": origin, "channels": ["call"], "from": "Example"})
}

#[test]
fn twilio_fetches_the_document_of_a_call_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    database(folder);
    let provider = always(201, "", r#"{"sid": "CA1"}"#);
    set_route(folder, "calls", &settings(&provider.origin));
    let failed = error(folder, &["route", "test", "calls", "+12025550100", "--via", "call"]);
    assert!(failed.contains("--public-url"), "{failed}");
    let refused =
        error(folder, &["serve", "--log-format=human", "--self-signed", "--listen", "127.0.0.1:0"]);
    assert!(refused.contains("public-url is missing") && refused.contains("calls"), "{refused}");
    let running = Running::start(folder, &["--public-url", PUBLIC]);
    for method in ["GET", "POST"] {
        let number = if method == "GET" { "2025550100" } else { "2025550101" };
        running.send_code(number, true);
        let request = provider.request();
        let body = request.split_once("\r\n\r\n").unwrap().1;
        let form = seconder::wire::form::read(body).unwrap();
        assert!(!form.contains_key("Twiml"), "{request}");
        let url = form["Url"].as_str().unwrap();
        assert!(url.starts_with(&format!("{PUBLIC}/voice/calls/")), "{url}");
        let token = url.rsplit('/').next().unwrap();
        assert_eq!(running.at.send(method, &url.replace("calls", "other"), "", "").0, 404);
        assert_eq!(running.at.send(method, &url.to_lowercase(), "", "").0, 404);
        let (status, document) = running.at.send(method, url, "", "");
        assert_eq!(status, 200);
        let say = "<Response><Say language=\"en-GB\" loop=\"3\">";
        assert!(document.starts_with(say) && document.contains(" … "), "{document}");
        assert_eq!(running.at.send(method, url, "", "").0, 404);
        assert!(!running.log().contains(token));
    }
}

#[test]
fn settings_for_documents_that_do_not_fit_are_rejected() {
    let problems = |settings: Value| {
        let problems =
            seconder_gateways::open(settings.as_object().unwrap(), &Dialer::default()).err();
        problems.unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let http = |more: Value| {
        let mut all = json!({"gateway": "http", "url": "https://calls.example"});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        problems(all)
    };
    let url = json!({"u": "{{document_url}}"});
    for (settings, wrong) in [
        (json!({"body": url}), "document is missing"),
        (json!({"body": "a=b", "document": "<a/>"}), "document is given"),
        (json!({"body": url, "document": "<a"}), "document is not XML"),
        (json!({"body": url, "document": "<a b='{{spoken_ssml}}'/>"}), "document has SSML"),
    ] {
        let found = http(settings);
        assert!(found.len() == 1 && found[0].starts_with(wrong), "{found:?}");
    }
    assert_eq!(http(json!({"body": url, "document": "<a>{{spoken_text_ssml}}</a>"})), [""; 0]);
    let mut twilio = settings("https://calls.example");
    twilio.as_object_mut().unwrap().retain(|name, _| !["channels", "from"].contains(&&**name));
    twilio["twiml"] = "sent".into();
    assert!(problems(twilio)[0].starts_with("twiml is `sent`"));
}

#[test]
fn a_code_in_ssml_is_read_character_by_character_and_adds_nothing() {
    let document = |place: &str, text: &str, code: &str| {
        let settings = json!({"gateway": "http", "url": "https://calls.example",
            "body": {"u": "{{document_url}}"}, "document": format!("<s>{{{{{place}}}}}</s>")});
        let gateway =
            seconder_gateways::open(settings.as_object().unwrap(), &Dialer::default()).unwrap();
        let urls = Urls::default();
        let message = Outgoing { text, code, channel: Channel::Call, urls, ..provider::message() };
        gateway.document(&message).unwrap().expose().to_owned()
    };
    let one = |c: &str| format!("<say-as interpret-as=\"characters\">{c}</say-as>");
    let code = [one("4"), one("8")].join("<break time=\"500ms\"/>");
    assert_eq!(document("spoken_ssml", "", "48"), format!("<s>{code}</s>"));
    let text = "A & <B>: 48.";
    let expected = format!("<s>A &amp; &lt;B&gt;: {code}.</s>");
    assert_eq!(document("spoken_text_ssml", text, "48"), expected);
    assert_eq!(document("spoken_ssml", "", "<"), format!("<s>{}</s>", one("&lt;")));
    assert_eq!(document("spoken_text_ssml", "<Say>", ""), "<s>&lt;Say&gt;</s>");
    let provider = always(200, "", "");
    let gateway = provider
        .gateway(json!({"format": "json", "body": {"ssml": "<speak>{{spoken_ssml}}</speak>"}}));
    let message = Outgoing { code: "48", ..provider::message() };
    assert_eq!(shown(&gateway.send(&message)).0, "sent");
    let body = provider.request();
    let body: Value = serde_json::from_str(body.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["ssml"], format!("<speak>{code}</speak>"));
}

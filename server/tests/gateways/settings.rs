//! What is accepted as a setting, and how an operator learns what is not.

use crate::http_provider::*;
use seconder::Settings;
use seconder::remote::Dialer;
use seconder_gateways::{Http, Problem};
use serde_json::{Value, json};

fn problems(settings: Value) -> Vec<String> {
    let problems = seconder_gateways::open(settings.as_object().unwrap(), &Dialer::default())
        .err()
        .unwrap_or_default();
    problems.iter().map(Problem::to_string).collect()
}

/// The problems of a gateway with this setting.
fn problem(name: &str, value: Value) -> Vec<String> {
    let mut settings = json!({"gateway": "http", "url": "http://127.0.0.1/"});
    settings[name] = value;
    problems(settings)
}

#[test]
fn a_gateway_is_named() {
    let all =
        "accepted: http, twilio, twilio-voice, vonage, messagebird, kannel, webhook, smpp, smtp";
    for (settings, wanted) in [
        (json!({}), "gateway is missing, or not a text"),
        (json!({"gateway": 7}), "gateway is missing, or not a text"),
        (json!({"gateway": "twillio"}), "gateway is `twillio`"),
    ] {
        let found = problems(settings);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with(wanted) && found[0].contains(all), "{found:?}");
    }
    for name in seconder_gateways::names() {
        assert!(seconder_gateways::fields(name).is_some(), "{name}");
    }
    assert!(seconder_gateways::fields("fax").is_none());
}

#[test]
fn all_problems_are_reported_at_once_and_without_secrets() {
    let found = problems(json!({
        "gateway": "http", "url": "https://user:hunter2@api.example/", "method": "DELETE",
        "headers": {"Host": "hunter2", "X y": "hunter2", "X-A": 7, "X-B": "{{txt}}"},
        "format": "yaml", "body": "a={{hunter2x}}", "auth": "digest", "password": "hunter2\n",
        "timeout": 0, "ca_file": "/nowhere/hunter3", "allow_http": "no",
        "success_status": "2xx", "permanent_status": "4xx", "retry_status": [],
        "success_value": "0", "id_pointer": "id", "permanent_codes": "4", "id_header": "a b",
        "signing_key": "hunter2", "succes_text": "hunter2",
    }));
    let names: Vec<&str> = found.iter().map(|line| line.split(' ').next().unwrap()).collect();
    for name in [
        "url",
        "method",
        "headers",
        "format",
        "body",
        "auth",
        "password",
        "timeout",
        "ca_file",
        "allow_http",
        "success_status",
        "permanent_status",
        "retry_status",
        "success_value",
        "id_pointer",
        "permanent_codes",
        "id_header",
        "signing_key",
        "`succes_text`",
    ] {
        assert!(names.contains(&name), "{name} in {found:#?}");
    }
    assert_eq!(names.iter().filter(|name| **name == "headers").count(), 4, "{found:#?}");
    assert!(found.contains(
        &"`succes_text` is not a setting of this gateway; accepted: success_text".into()
    ));
    let in_values = found.iter().filter(|line| line.contains("hunter2"));
    // The name of a placeholder is no secret.
    assert!(in_values.clone().all(|line| line.contains("placeholder `hunter2x`")), "{found:#?}");
}

#[test]
fn settings_that_contradict_each_other_are_not_accepted() {
    let fine = json!({"gateway": "http", "url": "http://127.0.0.1/"});
    assert!(problems(fine.clone()).is_empty());
    for (further, wanted) in [
        (json!({"auth": "basic"}), "auth"),
        (json!({"auth": "basic", "username": "a:b", "password": "c"}), "username"),
        (json!({"auth": "bearer"}), "auth"),
        (json!({"token": "a", "password": "b"}), "auth"),
        (json!({"token": "ä"}), "token"),
        (json!({"token": "a", "headers": {"Authorization": "b"}}), "headers"),
        (json!({"method": "GET", "body": "a=b"}), "body"),
        (json!({"content_type": "text/plain"}), "content_type"),
        (json!({"body": "a=b", "content_type": "plain"}), "content_type"),
        (json!({"format": "xml", "body": {"a": "b"}}), "body"),
        (json!({"format": "json", "body": "{\"a\": {{to}}}"}), "body"),
        (json!({"body": {"a": ["b"]}}), "body"),
        (json!({"signing_key": "key"}), "signing_key"),
        (json!({"signing_key": "key", "format": "json", "body": ["a"]}), "signing_key"),
        (
            json!({"signing_key": "key", "format": "json", "body": {}, "method": "PUT"}),
            "signing_key",
        ),
        (json!({"ca_file": "a.pem"}), "ca_file"),
        (json!({"permanent_codes": ["1"]}), "permanent_codes"),
        (json!({"body": "token={{token}}"}), "body"),
        (json!({"url": "http://192.0.2.1/"}), "url"),
        (json!({"url": "https://{{to}}.example/"}), "url"),
    ] {
        let mut settings = fine.clone();
        for (name, value) in further.as_object().unwrap() {
            settings[name] = value.clone();
        }
        let found = problems(settings);
        assert_eq!(found.len(), 1, "{further}: {found:?}");
        assert!(found[0].starts_with(wanted), "{further}: {found:?}");
    }
    let other = json!({"gateway": "http", "url": "http://192.0.2.1/", "allow_http": true});
    assert!(problems(other).is_empty());
}

#[test]
fn headers_of_the_connection_cannot_be_set() {
    for name in ["Host", "content-length", "Transfer-Encoding", "Connection", "X-Svc-Signature"] {
        assert_eq!(problem("headers", json!({name: "a"})).len(), 1, "{name}");
    }
    for value in [json!("a\r\nb"), json!(1), json!("{{to")] {
        assert_eq!(problem("headers", json!({"X-A": value})).len(), 1, "{value}");
    }
    assert_eq!(problem("headers", json!({"X-A": "{{to}}"})).len(), 0);
}

#[test]
fn a_file_of_authorities_has_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (name, text) in [("empty", ""), ("key", "-----BEGIN"), ("broken", broken)] {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let client = Settings::new("https://api.example").api_key("key").ca_file(&file);
        let wrong = format!("{}; accepted: ", client.open().unwrap_err());
        assert!(wrong.starts_with("ca_file "), "{wrong}");
        for settings in [
            json!({"gateway": "http", "url": "https://api.example/"}),
            json!({"gateway": "smpp", "host": "smsc.example", "tls": true, "system_id": "a"}),
            json!({"gateway": "smtp", "host": "mail.example", "from": "login@app.example"}),
        ] {
            let mut settings = settings;
            settings["ca_file"] = file.to_str().into();
            let found = problems(settings);
            assert!(found.len() == 1 && found[0].starts_with(&wrong), "{name}: {found:?}");
        }
    }
}

#[test]
fn a_preset_reports_problems_under_its_own_names() {
    let found =
        problems(json!({"gateway": "twilio", "account_sid": true, "base_url": "ftp://example.com",
        "timeout": 61, "authtoken": "hunter2", "body": "a"}));
    let names: Vec<&str> = found.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(
        names,
        ["account_sid", "auth_token", "`authtoken`", "`body`", "base_url", "timeout"],
        "{found:#?}"
    );
    assert!(!format!("{found:?}").contains("hunter2"));
    let colon = json!({"gateway": "twilio", "account_sid": "a:b", "auth_token": "c"});
    let wrong = "account_sid has a colon, which basic authentication cannot hold; accepted: a text";
    assert_eq!(problems(colon), [wrong]);
    let query = json!({"gateway": "kannel", "username": "u", "password": "p",
        "base_url": "http://127.0.0.1/?a=b"});
    assert_eq!(problems(query).len(), 1);
    let plain = json!({"gateway": "kannel", "username": "u", "password": "p",
        "base_url": "http://192.0.2.1:13013"});
    assert!(problems(plain.clone())[0].starts_with("base_url is http: for another machine"));
}

#[test]
fn debug_output_has_no_secret() {
    let settings = json!({"gateway": "http", "url": "http://127.0.0.1/hunter2?key=hunter2",
        "headers": {"X-Key": "hunter2"}, "username": "hunter2", "password": "hunter2"});
    let http = Http::from_settings(settings.as_object().unwrap(), &Dialer::default()).unwrap();
    let shown = format!("{http:?} {:?}", message());
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(!shown.contains(CODE) && !shown.contains("5550100123"), "{shown}");
}

#[test]
fn secrets_are_marked_so_that_they_are_sealed() {
    let sealed = |gateway: &str| -> Vec<&str> {
        let fields = seconder_gateways::fields(gateway).unwrap();
        fields.iter().filter(|field| field.sealed).map(|field| field.name).collect()
    };
    assert_eq!(sealed("http"), ["password", "token", "signing_key"]);
    assert_eq!(sealed("twilio"), ["auth_token"]);
    assert_eq!(sealed("vonage"), ["api_secret"]);
    assert_eq!(sealed("messagebird"), ["access_key"]);
    assert_eq!(sealed("kannel"), ["password"]);
    assert_eq!(sealed("webhook"), ["signing_key"]);
}

//! Look-ups of numbers by providers over HTTP, which are servers on this machine.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a provider runs beside the test")]

use crate::http_provider::{Provider, Reply, always, response};
use crate::provider::{error, printed};
use seconder::calls::{Channel, PhoneInfo, PhoneType, StartPhoneVerification};
use seconder::engine::{LineType, PhoneLine};
use seconder::remote::Dialer;
use seconder::{Handle, Service, Settings};
use seconder_gateways::{Field, HttpLookup, LookupError, Problem};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

const TO: &str = "+15550100123";
const MOBILE: &str = r#"{"carrier":{"name":"Acme"},"type":"cellular","ported":false}"#;

fn open(settings: &Value) -> HttpLookup {
    seconder_gateways::open_lookup(settings.as_object().unwrap(), &Dialer::default())
        .unwrap_or_else(|wrong| panic!("{wrong:?}"))
}

fn settings(origin: &str) -> Value {
    json!({ "gateway": "http", "url": format!("{origin}/v1/{{{{to}}}}?n={{{{to_digits}}}}"),
        "carrier_pointer": "/carrier/name", "type_pointer": "/type", "ported_pointer": "/ported",
        "disposable_pointer": "/burner", "types": {"web": "disposable"}, "timeout": 4 })
}

fn line(carrier: &str, kind: Option<LineType>, ported: Option<bool>) -> PhoneLine {
    let carrier = (!carrier.is_empty()).then(|| carrier.to_owned());
    PhoneLine { carrier, kind, ported }
}

#[test]
fn pointers_lead_to_what_is_known() {
    for (body, wanted) in [
        (MOBILE, line("Acme", Some(LineType::Mobile), Some(false))),
        (r#"{"type":"WEB","ported":"yes"}"#, line("", Some(LineType::Disposable), Some(true))),
        (
            r#"{"type":"fixed_line","ported":"assumed_ported"}"#,
            line("", Some(LineType::Landline), None),
        ),
        (r#"{"type":"nonFixedVoip","ported":1}"#, line("", Some(LineType::Voip), Some(true))),
        (r#"{"type":"mobile","burner":true}"#, line("", Some(LineType::Disposable), None)),
        (r#"{"type":"pager","carrier":null}"#, PhoneLine::default()),
        ("[]", PhoneLine::default()),
    ] {
        let provider = always(200, "", body);
        let found = open(&settings(&provider.origin)).look_up(TO);
        assert_eq!(found, Ok(wanted), "{body}");
    }
    let provider = always(404, "", "no such number");
    assert_eq!(open(&settings(&provider.origin)).look_up(TO), Ok(PhoneLine::default()));
}

#[test]
fn a_number_stays_where_it_was_written() {
    let provider = always(200, "", MOBILE);
    let lookup = open(&settings(&provider.origin));
    lookup.look_up(TO).unwrap();
    let request = provider.request();
    assert!(request.starts_with("GET /v1/%2B15550100123?n=15550100123 HTTP/1.1\r\n"), "{request}");
    assert!(!request.to_lowercase().contains("idempotency-key"), "{request}");
    // The engine gives no such number.
    lookup.look_up("+1/../x?a=b&c=\r\nX: y").unwrap();
    let request = provider.request();
    assert!(
        request.starts_with("GET /v1/%2B1%2F..%2Fx%3Fa%3Db%26c%3D%0D%0AX%3A%20y?n="),
        "{request}"
    );
    assert!(!request.contains("\r\nX: y"), "{request}");
}

#[test]
fn presets_ask_as_their_providers_want() {
    let body = r#"{"line_type_intelligence":{"carrier_name":"Acme","type":"landline"}}"#;
    let provider = always(200, "", body);
    let twilio = json!({ "gateway": "twilio", "account_sid": "AC1", "auth_token": "secret-token",
        "base_url": provider.origin });
    let found = open(&twilio).look_up(TO);
    assert_eq!(found, Ok(line("Acme", Some(LineType::Landline), None)));
    let request = provider.request();
    let path = "GET /v2/PhoneNumbers/%2B15550100123?Fields=line_type_intelligence HTTP/1.1\r\n";
    assert!(request.starts_with(path), "{request}");
    assert!(request.contains("authorization: Basic QUMxOnNlY3JldC10b2tlbg=="), "{request}");

    let body = r#"{"status":0,"current_carrier":{"name":"Acme","network_type":"virtual"},"ported":"not_ported"}"#;
    let provider = always(200, "", body);
    let vonage = json!({ "gateway": "vonage", "api_key": "key", "api_secret": "secret&key",
        "base_url": provider.origin });
    let found = open(&vonage).look_up(TO);
    assert_eq!(found, Ok(line("Acme", Some(LineType::Voip), Some(false))));
    let request = provider.request();
    assert!(request.starts_with("GET /ni/standard/json?number=15550100123 HTTP"), "{request}");
    assert!(request.contains("authorization: Basic a2V5OnNlY3JldCZrZXk="), "{request}");
}

#[test]
fn a_provider_that_rejects_a_number_did_not_fail() {
    let rejects = |settings: &Value| match open(settings).look_up(TO) {
        Err(LookupError::Rejected(reason)) => Some(reason),
        Err(LookupError::Failed(_)) => None,
        Ok(line) => panic!("{line:?}"),
    };
    for (status, body, rejected) in [
        (400, "no such number", true),
        (422, "", true),
        (401, "", false),
        (403, "", false),
        (429, "", false),
        (500, "", false),
        (302, "", false),
        (200, r#"{"error":{"code":7}}"#, true),
        (200, r#"{"error":{"code":8}}"#, false),
    ] {
        let provider = always(status, "", body);
        let mut settings = settings(&provider.origin);
        settings["success_pointer"] = "/type".into();
        settings["code_pointer"] = "/error/code".into();
        settings["rejected_codes"] = json!([7]);
        if status == 200 {
            settings["success_pointer"] = "/error/code".into();
            settings["success_value"] = "0".into();
        }
        assert_eq!(rejects(&settings).is_some(), rejected, "{status} {body}");
    }
    for (code, rejected) in [(1, false), (3, true), (4, false), (9, false), (43, true)] {
        let message = "Invalid: +15550100123 for secret%26key";
        let body = json!({"status": code, "status_message": message}).to_string();
        let provider = always(200, "", &body);
        let vonage = json!({ "gateway": "vonage", "api_key": "key", "api_secret": "secret&key",
            "base_url": provider.origin });
        let reason = rejects(&vonage);
        assert_eq!(reason.is_some(), rejected, "{code}");
        let redacted = |reason: String| reason.contains("Invalid: [redacted] for [redacted]");
        assert!(reason.is_none_or(redacted), "{code}");
    }
}

/// They are not those of messages.
#[test]
fn failures_are_described_as_those_of_look_ups() {
    for (status, body) in [(200, r#"{"type":""}"#), (204, ""), (401, ""), (500, ""), (418, "")] {
        let provider = always(status, "", body);
        let mut settings = settings(&provider.origin);
        settings["success_pointer"] = "/type".into();
        let reason = open(&settings).look_up(TO).unwrap_err().to_string();
        assert!(reason.contains(&format!("status {status}")), "{reason}");
        for foreign in ["message", "route", "sent"] {
            assert!(!reason.contains(foreign), "{reason}");
        }
    }
}

#[test]
fn what_goes_wrong_is_said_without_the_number_and_the_credentials() {
    let reply = response(403, "", "no +1 555 010-0123 for s3cret-token");
    for (reply, wanted) in [
        (Reply::Last(reply), "THE PROVIDER DOES NOT ACCEPT THE CREDENTIALS"),
        (Reply::Last(response(200, "", "<html>")), "not JSON"),
        (Reply::Last(response(302, "Location: https://evil.example/\r\n", "")), "redirect"),
        (Reply::Last(response(500, "", "")), "status 500"),
        (Reply::Last("HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n{".to_owned()), "incomplete"),
        (Reply::Last(response(200, "", &"x".repeat(70_000))), "64 KiB"),
        (Reply::Last("SSH-2.0\r\n".to_owned()), "not HTTP"),
        (Reply::Nothing, "timeout"),
    ] {
        let reply = std::sync::Mutex::new(Some(reply));
        let provider =
            Provider::start(move |_, _| reply.lock().unwrap().take().unwrap_or(Reply::Nothing));
        let settings_of = if wanted == "timeout" { hanging } else { settings };
        let mut settings = settings_of(&provider.origin);
        settings["token"] = "s3cret-token".into();
        let reason = open(&settings).look_up(TO).unwrap_err().to_string();
        assert!(reason.contains(wanted), "{wanted}: {reason}");
        assert!(!reason.contains("0123") && !reason.contains("s3cret"), "{reason}");
    }
}

/// Those of a provider that hangs.
fn hanging(origin: &str) -> Value {
    let mut settings = settings(origin);
    settings["timeout"] = 1.into();
    settings
}

/// A running `seconder serve`, and a client of it.
struct Running {
    child: Child,
    log: BufReader<ChildStderr>,
    client: Service,
}

impl Running {
    fn start(folder: &Path, limits: &str) -> Running {
        let mut child = Command::new(env!("CARGO_BIN_EXE_seconder"))
            .current_dir(folder)
            .args([
                "serve",
                "--log-format=human",
                "--listen",
                "127.0.0.1:0",
                "--self-signed",
                "--limit",
                limits,
            ])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let line = line_with(&mut log, "listening on ");
        let url = line.split_once("listening on ").unwrap().1.trim().to_owned();
        let key = printed(folder, &["key"]);
        let ca_file = folder.join("seconder-certificate.pem");
        let client = Settings::new(&url).api_key(key.trim()).ca_file(ca_file).open().unwrap();
        Running { child, log, client }
    }

    fn info(&self, number: &str) -> (PhoneType, String) {
        let call = PhoneInfo::new(number.parse().unwrap(), "1".parse().unwrap());
        let info = self.client.handle(&call).unwrap();
        (info.phone_type, info.provider.unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line_with(log: &mut BufReader<ChildStderr>, part: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "the log ended before: {part}");
        if line.contains(part) {
            return line;
        }
    }
}

fn database() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
    drop(seconder::open(&url).unwrap());
    folder
}

/// Sets a provider, with its settings in a file.
fn set(folder: &Path, settings: &Value) {
    fs::write(folder.join("lookup.json"), settings.to_string()).unwrap();
    printed(folder, &["lookup", "set", "--file", "lookup.json"]);
}

#[test]
fn a_provider_is_asked_once_for_a_number_and_can_be_changed_while_the_service_runs() {
    let folder = database();
    let provider = always(200, "", MOBILE);
    let unknown = || (PhoneType::Unknown, "Unknown".to_owned());
    let mut running = Running::start(folder.path(), "refuse=voip");
    assert_eq!(running.info("2025550100"), unknown());
    set(folder.path(), &settings(&provider.origin));
    line_with(&mut running.log, "the look-up of numbers was set");
    let acme = (PhoneType::Cellphone, "Acme".to_owned());
    assert_eq!(running.info("2025550101"), acme);
    assert_eq!(running.info("2025550101"), acme);
    let call = StartPhoneVerification::new(
        Channel::Sms,
        "2025550101".parse().unwrap(),
        "1".parse().unwrap(),
    );
    assert_eq!(running.client.handle(&call).unwrap().carrier.unwrap(), "Acme");
    assert_eq!(provider.unread(), 1, "one for the number");
    let tried = printed(folder.path(), &["lookup", "test", "+12025550101"]);
    assert_eq!(tried, "carrier: Acme\ntype: mobile\nported: no\n");
    assert!(error(folder.path(), &["lookup", "test", "202"]).contains("must be +"));
    printed(folder.path(), &["lookup", "remove"]);
    line_with(&mut running.log, "the look-up of numbers was removed");
    assert_eq!(running.info("2025550102"), unknown());
    assert_eq!(running.info("2025550101"), acme, "it was looked up before");
    for command in ["remove", "show"] {
        let report = error(folder.path(), &["lookup", command]);
        assert!(report.contains("seconder lookup set"), "{report}");
    }
    assert!(printed(folder.path(), &["route", "list"]).starts_with("there are no routes"));
}

#[test]
fn a_provider_that_hangs_means_that_nothing_is_known_and_is_soon_left_alone() {
    let folder = database();
    let provider = Provider::start(|_, _| Reply::Nothing);
    set(folder.path(), &hanging(&provider.origin));
    let mut running = Running::start(folder.path(), "refuse=voip+disposable+landline");
    for number in 0..8 {
        let number = format!("202555010{number}").parse().unwrap();
        let call = StartPhoneVerification::new(Channel::Sms, number, "1".parse().unwrap());
        let started = running.client.handle(&call).unwrap();
        assert_eq!(started.carrier.as_deref(), Some(""));
    }
    let line = line_with(&mut running.log, "nothing is known of the number ending in 00");
    assert!(line.contains("timeout") && !line.contains("2025550"), "{line}");
    line_with(&mut running.log, "lookup: the circuit breaker is open");
    assert_eq!(provider.unread(), 5);
    let audit = printed(folder.path(), &["audit", "--verdict", "not_looked_up"]);
    assert!(audit.contains("lookup_failed") && !audit.contains("2025550"), "{audit}");
    assert!(audit.contains("lookup_paused"), "{audit}");
}

/// Otherwise, whoever names bad numbers would switch `refuse` off for all others.
#[test]
fn numbers_that_a_provider_rejects_do_not_end_its_use() {
    let folder = database();
    let provider = Provider::start(|_, request| {
        let is_voip = request.contains("%2B12025550199");
        let (status, body) = if is_voip { (200, r#"{"type":"voip"}"#) } else { (400, "") };
        Reply::Bytes(response(status, "", body))
    });
    set(folder.path(), &settings(&provider.origin));
    let mut running = Running::start(folder.path(), "refuse=voip");
    for number in (0..8).chain(0..8) {
        running.info(&format!("202555010{number}"));
    }
    line_with(&mut running.log, "the number ending in 07 was rejected: status 400");
    assert_eq!(provider.unread(), 8, "the answer is kept");
    running.client.create_user("eve@example.com", "2025550199", "1").unwrap_err();
    assert_eq!(printed(folder.path(), &["audit", "--verdict", "not_looked_up"]), "");
}

#[test]
fn numbers_that_are_refused_get_no_code() {
    let folder = database();
    let provider = always(200, "", r#"{"type":"web"}"#);
    set(folder.path(), &settings(&provider.origin));
    let running = Running::start(folder.path(), "refuse=disposable");
    let report = running.client.create_user("eve@example.com", "2025550101", "1").unwrap_err();
    assert!(report.to_string().contains("a disposable number"), "{report}");
    assert!(!folder.path().join("seconder.spool").exists());
}

#[test]
fn secrets_are_read_from_files_and_never_shown() {
    let folder = database();
    let secret = "s3cret-of-the-provider";
    fs::write(folder.path().join("token"), format!("{secret}\n")).unwrap();
    let inline = format!("auth_token={secret}");
    let set = |token: &str| {
        ["lookup", "set", "gateway=twilio", "account_sid=AC0123", token].map(str::to_owned)
    };
    let arguments = set(&inline);
    let report = error(folder.path(), &arguments.each_ref().map(String::as_str));
    assert!(report.contains("auth_token=@FILE") && !report.contains(secret), "{report}");
    let arguments = set("auth_token=@token");
    printed(folder.path(), &arguments.each_ref().map(String::as_str));
    let shown = printed(folder.path(), &["lookup", "show"]);
    assert!(shown.contains("AC0123") && shown.contains("(sealed)"), "{shown}");
    assert!(!shown.contains(secret), "{shown}");
    for file in fs::read_dir(folder.path()).unwrap().flatten() {
        let bytes = fs::read(file.path()).unwrap_or_default();
        let has = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert_eq!(has, file.file_name() == "token", "{:?}", file.file_name());
    }
}

/// Otherwise it would start with a part of what its operator has set.
#[test]
fn everything_that_is_wrong_is_reported_and_a_service_does_not_start_with_it() {
    let folder = database();
    let wrong =
        ["lookup", "set", "gateway=http", "url=ftp://example.com", "timeout=90", "carier=/a"];
    let report = error(folder.path(), &wrong);
    for part in ["url is neither", "timeout is 90", "`carier` is not a setting", "type_pointer is"]
    {
        assert!(report.contains(part), "{part}: {report}");
    }
    let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
    let settings = seconder::model::Secret::new(r#"{"gateway":"http","timeout":-1}"#);
    seconder::open(&url).unwrap().engine().unwrap().set_lookup(&settings).unwrap();
    let report = error(
        folder.path(),
        &["serve", "--log-format=human", "--listen", "127.0.0.1:0", "--self-signed"],
    );
    assert!(report.contains("lookup: url is missing"), "{report}");
    assert!(report.contains("lookup: timeout is -1"), "{report}");
}

#[test]
fn a_look_up_ends_although_the_response_does_not() {
    let provider = Provider::start(|_, _| Reply::Bytes("HTTP/1.1 200 X\r\n".to_owned()));
    let lookup = open(&hanging(&provider.origin));
    let started = Instant::now();
    lookup.look_up(TO).unwrap_err();
    // Its own limit is 1 s. A machine that is busy must not fail the test.
    assert!(started.elapsed() < Duration::from_secs(30));
}

fn document() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/lookups.md")).unwrap()
}

#[test]
fn the_tables_have_every_setting_as_it_is_accepted() {
    let document = document();
    for name in seconder_gateways::lookup_names() {
        let (_, section) = document.split_once(&format!("\n### `{name}`\n")).unwrap();
        let section = section.split("\n##").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let found: Vec<[String; 3]> = rows
            .map(|row| {
                let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
                [cells[0], cells[2], cells[3]].map(|cell| cell.replace('`', ""))
            })
            .collect();
        let row = |field: &Field| {
            let default = if field.default.is_empty() { "required" } else { field.default };
            let sealed = if field.sealed { ", sealed" } else { "" };
            [field.name.to_owned(), format!("{}{sealed}", field.accepted), default.to_owned()]
        };
        let fields = seconder_gateways::lookup_settings(name).unwrap();
        let wanted: Vec<[String; 3]> = fields.iter().map(row).collect();
        assert_eq!(found, wanted, "{name}");
    }
}

#[test]
fn every_example_is_accepted() {
    let document = document();
    let mut named = Vec::new();
    for example in document.split("```json\n").skip(1) {
        let example = example.split("```").next().unwrap();
        let mut settings: Value = serde_json::from_str(example).unwrap();
        // A system may have its authorities at no usual path.
        let name = if settings["gateway"] == "http" { "url" } else { "base_url" };
        settings[name] = "http://127.0.0.1/{{to}}".into();
        if name == "base_url" {
            settings[name] = "http://127.0.0.1".into();
        }
        let problems =
            seconder_gateways::open_lookup(settings.as_object().unwrap(), &Dialer::default()).err();
        let problems = problems.unwrap_or_default();
        assert_eq!(problems.iter().map(Problem::to_string).collect::<Vec<_>>(), [""; 0]);
        named.push(settings["gateway"].as_str().unwrap().to_owned());
    }
    assert_eq!(named, seconder_gateways::lookup_names());
}

//! `seconder serve --sandbox`: what a test in any language does with it, as raw requests over HTTPS.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(
    clippy::disallowed_methods,
    reason = "a test waits in one thread for what another one does"
)]

use crate::command::error_of;
use crate::common::{self, HttpReply, exchange};
use seconder::calls::CheckApproval;
use seconder::http::{SANDBOX_API_KEY, SANDBOX_FAULTS, SANDBOX_OPERATIONS};
use seconder::sandbox::Sandbox;
use seconder::{Error, Handle, Service, Settings};
use seconder_server::{Listeners, Server, Tls};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const KEY: &str = "a-key-for-tests";

/// A sandbox in this process, by HTTPS.
struct World {
    server: Server,
    folder: TempDir,
}

impl World {
    fn new() -> World {
        let settings = |url: &str| Ok(Settings::new(url).api_key(KEY));
        let sandbox = Sandbox::open(settings).unwrap();
        let listeners =
            Listeners::new().tls(Tls::SelfSigned).https("127.0.0.1:0".parse().unwrap()).unwrap();
        let server = Server::sandbox(sandbox, listeners).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), server.certificate_pem()).unwrap();
        World { server, folder }
    }

    fn client(&self) -> Service {
        self.client_with(KEY)
    }

    fn client_with(&self, key: &str) -> Service {
        let settings = Settings::new(&self.server.url()).api_key(key);
        settings.ca_file(self.folder.path().join("ca.pem")).open().unwrap()
    }

    fn send(&self, method: &str, path: &str, body: &str) -> HttpReply {
        self.send_as(&format!("X-Svc-API-Key: {KEY}\r\n"), method, path, body)
    }

    fn send_as(&self, headers: &str, method: &str, path: &str, body: &str) -> HttpReply {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\
             Content-Length: {length}\r\n\r\n{body}"
        );
        let (addr, pem) = (self.server.addr(), self.server.certificate_pem());
        HttpReply::read(&String::from_utf8(exchange(addr, pem, request.as_bytes())).unwrap())
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let reply = self.send("GET", &format!("/-/sandbox/{path}"), "");
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        reply.body
    }

    #[track_caller]
    fn post(&self, name: &str, params: &Value) -> Value {
        let reply = self.send("POST", &format!("/-/sandbox/{name}"), &params.to_string());
        assert_eq!(reply.status, 200, "{name}: {}", reply.body);
        reply.body
    }

    /// The status and the message of a request that is rejected.
    #[track_caller]
    fn error(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let reply = self.send(method, &format!("/-/sandbox/{path}"), body);
        assert_eq!(reply.body["success"], false, "{path}: {}", reply.body);
        (reply.status, reply.body["message"].as_str().unwrap().to_owned())
    }
}

#[test]
fn a_test_in_javascript_needs_no_library() {
    let world = World::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/sandbox.mjs");
    let script = std::fs::read_to_string(example).unwrap().replace(SANDBOX_API_KEY, KEY);
    let file = world.folder.path().join("sandbox.mjs");
    std::fs::write(&file, script).unwrap();
    let mut node = Command::new("node");
    node.arg(&file).arg(format!("https://localhost:{}", world.server.addr().port()));
    let output = node.env("NODE_EXTRA_CA_CERTS", world.folder.path().join("ca.pem")).output();
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(output.stdout, b"ok\n");
}

#[test]
fn the_program_says_that_it_is_a_sandbox_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_seconder"))
        .current_dir(folder.path())
        .args(["serve", "--sandbox", "--listen", "127.0.0.1:0", "--log-format=human"])
        .args(["--names", "acme", "--application-name", "Shop"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut lines = String::new();
    while !lines.contains("listening on ") {
        assert_ne!(log.read_line(&mut lines).unwrap(), 0, "{lines}");
    }
    let (_, url) = lines.trim_end().rsplit_once(' ').unwrap();
    let names = seconder::wire::Names::new("acme").unwrap();
    let ca_file = folder.path().join("seconder-sandbox.pem");
    let settings = Settings::new(url).api_key(SANDBOX_API_KEY).names(names).ca_file(ca_file);
    let name = settings.open().unwrap().app_details().unwrap().name;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(name, "Shop");
    assert!(lines.contains("THIS IS A SANDBOX") && lines.contains(SANDBOX_API_KEY), "{lines}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "the certificate alone: {left:?}");
}

fn ada(client: &Service) -> seconder::model::UserId {
    client.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id
}

#[test]
fn a_test_reads_the_code_that_was_sent_and_logs_in_with_it() {
    let world = World::new();
    let client = world.client();
    let user = ada(&client);
    assert_eq!(world.get(&format!("messages?user_id={user}")), json!({ "messages": [] }));
    client.request_sms(user).unwrap();
    client.start_phone_verification(seconder::calls::Channel::Call, "555-010-0199", "1").unwrap();
    let code = world.get(&format!("code?user_id={user}"))["code"].clone();
    assert_eq!(world.get("code?to=0123")["code"], code);
    let messages = world.get("messages");
    assert_eq!(messages["messages"][0]["to"], "+15550100199", "the newest is the first");
    assert_eq!(messages["messages"][0]["via"], "call");
    assert_eq!(messages["messages"][1]["to"], "+15550100123");
    assert_eq!(world.get("messages?via=sms&limit=1")["messages"][0]["code"], code);
    let token = code.as_str().unwrap();
    let path = format!("/protected/json/verify/{token}/{user}?force=true");
    assert_eq!(world.send("GET", &path, "").status, 200);
    assert_eq!(world.send("GET", &path, "").status, 401, "it was used");
    let outcomes: Vec<_> = world.get("calls")["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            format!("{} {}", call["name"].as_str().unwrap(), call["outcome"].as_str().unwrap())
        })
        .collect();
    let expected = [
        "create_user ok",
        "request_sms ok",
        "start_phone_verification ok",
        "verify ok",
        "verify token_reused",
    ];
    assert_eq!(outcomes, expected);
    assert!(!world.get("calls").to_string().contains(token), "codes are masked");
}

#[test]
fn a_test_waits_for_a_message() {
    let world = World::new();
    let client = world.client();
    let user = ada(&client);
    assert_eq!(world.error("GET", "code?to=0123", ""), (404, "No code was sent there.".to_owned()));
    let code = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| world.get("code?to=0123&wait=60")["code"].clone());
        client.request_sms(user).unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(code, world.get("code?to=0123")["code"]);
}

#[test]
fn a_test_responds_to_approvals_and_gets_the_callback() {
    let world = World::new();
    let client = world.client();
    world.post("reset", &json!({ "callback_url": "https://app.example/callback", "post": false }));
    let user = ada(&client);
    let (status, message) = world.error("POST", "approve", &format!("user_id={user}"));
    assert_eq!(status, 404, "{message}");
    let uuid = client.create_approval(user, "Log in?").unwrap().uuid;
    let pending = world.get(&format!("pending?user_id={user}"));
    assert_eq!(pending["pending"][0]["message"], "Log in?");
    let approved = world.post("approve", &json!({ "user_id": user }));
    assert_eq!(
        (&approved["status"], &approved["uuid"]),
        (&json!("approved"), &json!(uuid.as_str()))
    );
    assert_eq!(approved["callback"]["url"], "https://app.example/callback");
    assert!(approved["callback"]["headers"]["X-Svc-Signature"].is_string());
    let approval = client.handle(&CheckApproval::new(uuid.clone())).unwrap();
    assert!(approval.approved_by(user));
    let second = client.create_approval(user, "Again?").unwrap().uuid;
    let denied = world.post("deny", &json!({ "uuid": second.as_str() }));
    assert_eq!(denied["status"], "denied");
    assert_eq!(world.get("callbacks")["callbacks"].as_array().unwrap().len(), 2);
    let (status, _) = world.error("POST", "deny", &format!("uuid={}", second.as_str()));
    assert_ne!(status, 200, "it is not pending any more");
}

#[test]
fn an_application_on_this_machine_receives_the_callback() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/callback", listener.local_addr().unwrap());
    world.post("reset", &json!({ "callback_url": url }));
    let user = ada(&world.client());
    world.client().create_approval(user, "Log in?").unwrap();
    let body = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut got = String::new();
            while !got.contains("\r\n\r\n") || !got.ends_with('}') {
                let mut part = [0; 4096];
                let length = stream.read(&mut part).unwrap();
                got.push_str(std::str::from_utf8(&part[..length]).unwrap());
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            got
        });
        world.post("approve", &json!({ "user_id": user }));
        receiving.join().unwrap()
    });
    assert!(body.contains("\"approved\""), "{body}");
}

#[test]
fn a_test_moves_the_time() {
    let world = World::new();
    let client = world.client();
    let user = ada(&client);
    client.enrol_authenticator(user).unwrap();
    assert_eq!(world.get("clock")["still"], false, "it passes as that of the machine");
    let started = world.post("reset", &json!({ "now": 1_700_000_000, "still": true }));
    assert_eq!(started, json!({ "now": 1_700_000_000.0, "still": true }));
    let user = ada(&client);
    let (status, _) = world.error("GET", &format!("authenticator_code?user_id={user}"), "");
    assert_eq!(status, 404);
    client.enrol_authenticator(user).unwrap();
    let code = world.get(&format!("authenticator_code?user_id={user}"))["code"].clone();
    assert_eq!(world.post("advance", &json!({ "seconds": 30 }))["now"], 1_700_000_030.0);
    let next = world.get(&format!("authenticator_code?user_id={user}"))["code"].clone();
    assert_ne!(code, next);
    assert_eq!(world.post("advance", &json!({ "until": 1_700_000_030 }))["now"], 1_700_000_030.0);
    client.request_sms(user).unwrap();
    let code = world.get(&format!("code?user_id={user}"))["code"].as_str().unwrap().to_owned();
    world.post("advance", &json!({ "seconds": 3601 }));
    let path = format!("/protected/json/verify/{code}/{user}?force=true");
    assert_eq!(world.send("GET", &path, "").status, 401, "it has expired");
    let wrong = world.error("POST", "advance", "{\"seconds\": -1}");
    assert_eq!(wrong.0, 400, "{}", wrong.1);
}

#[test]
fn a_test_injects_faults() {
    let world = World::new();
    let client = world.client();
    let user = ada(&client);
    let timeout = Duration::from_secs(2);
    for fault in SANDBOX_FAULTS {
        world.post("advance", &json!({ "seconds": 60 }));
        let calls = ["request_sms"];
        let wanted =
            json!({ "fault": fault, "calls": calls, "times": 1, "status": 418, "seconds": 60 });
        let id = world.post("failing", &wanted)["id"].clone();
        let held = ["timeout", "latency"].contains(fault);
        let own = if held { client.with_timeout(timeout) } else { client.clone() };
        let failed = own.request_sms(user).map(drop).unwrap_err();
        let is_expected = match *fault {
            "timeout" | "latency" | "lost" | "undelivered" | "storage" => {
                matches!(failed, Error::Unavailable { .. })
            }
            "rate_limited" => matches!(failed, Error::RateLimited { retry_after: Some(_), .. }),
            "unauthorized" => matches!(failed, Error::Unauthorized { .. }),
            "invalid_response" => matches!(failed, Error::InvalidResponse { .. }),
            _ => matches!(&failed, Error::Rejected(rejection) if rejection.status == 418),
        };
        assert!(is_expected, "{fault}: {failed:?}");
        let ended = world.post("end_fault", &json!({ "id": id }));
        assert_eq!((&ended["met"], &ended["ended"]), (&json!(1), &json!(true)));
    }
    assert_eq!(world.get("faults")["faults"].as_array().unwrap().len(), SANDBOX_FAULTS.len());
    world.post("advance", &json!({ "seconds": 60 }));
    client.request_sms(user).unwrap();
    let wrong = world.error("POST", "failing", "fault=fire");
    assert!(wrong.0 == 400 && wrong.1.contains("latency"), "{wrong:?}");
    let wrong = world.error("POST", "failing", "fault=lost&calls=vreify");
    assert!(wrong.0 == 400 && wrong.1.contains("vreify"), "{wrong:?}");
}

#[test]
fn a_call_with_a_wrong_key_uses_up_no_fault() {
    let world = World::new();
    world.post("failing", &json!({ "fault": "storage", "calls": "app_details", "times": 1 }));
    let stranger = world.client_with("another-key");
    assert!(matches!(stranger.app_details().unwrap_err(), Error::Unauthorized { .. }));
    assert_eq!(world.get("faults")["faults"][0]["met"], 0);
    assert!(matches!(world.client().app_details().unwrap_err(), Error::Unavailable { .. }));
}

#[test]
fn a_reset_begins_anew_with_settings_and_ends_what_waits() {
    let world = World::new();
    let client = world.client();
    let user = ada(&client);
    client.request_sms(user).unwrap();
    world.post("failing", &json!({ "fault": "timeout", "calls": "app_details" }));
    std::thread::scope(|scope| {
        let held = scope.spawn(|| client.app_details().unwrap_err());
        while world.get("faults")["faults"][0]["met"] == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let settings = json!({ "application_name": "Shop", "token_length": 6, "accept": "every" });
        world.post("reset", &settings);
        let error = held.join().unwrap();
        assert!(
            matches!(error, Error::Unavailable { .. } | Error::RateLimited { .. }),
            "{error:?}"
        );
    });
    assert_eq!(client.app_details().unwrap().name, "Shop");
    assert_eq!(world.get("messages"), json!({ "messages": [] }));
    assert_eq!(world.send("GET", "/protected/json/verify/1234567/99", "").status, 200);
    let wrong = world.error("POST", "reset", "accept=right%26clear_every%3D1");
    assert_eq!(wrong.0, 400, "{}", wrong.1);
    assert_eq!(client.app_details().unwrap().name, "Shop", "it stays as it was");
}

#[test]
fn whoever_lacks_the_key_or_misspells_a_path_changes_nothing() {
    let world = World::new();
    ada(&world.client());
    for headers in
        ["", "X-Svc-API-Key: another-key\r\n", "X-Svc-API-Key: a\r\nX-Svc-API-Key: b\r\n"]
    {
        for operation in SANDBOX_OPERATIONS {
            let path = format!("/-/sandbox/{}", operation.name);
            let reply = world.send_as(headers, operation.method, &path, "");
            // After some, the address has to wait.
            assert!(matches!(reply.status, 401 | 503), "{path} {}", reply.status);
        }
    }
    assert_eq!(world.get("calls")["calls"].as_array().unwrap().len(), 1);
    let (status, message) = world.error("GET", "mesages", "");
    assert!(status == 404 && message.contains("messages"), "{message}");
    assert_eq!(world.error("GET", "reset", "").0, 405);
    assert_eq!(world.error("POST", "reset", &"x".repeat(70_000)).0, 413);
    let (status, message) = world.error("POST", "advance", "second=3");
    assert!(status == 400 && message.contains("seconds"), "{message}");
    // Clients join a base URL that ends with a slash.
    assert_eq!(world.send("GET", "//-/sandbox/clock", "").status, 200);
}

#[test]
fn a_service_that_is_no_sandbox_has_no_such_paths() {
    let world = common::World::start();
    for operation in SANDBOX_OPERATIONS {
        let path = format!("/-/sandbox/{}", operation.name);
        assert_eq!(world.request(operation.method, &path, None).status, 404, "{path}");
    }
}

#[test]
fn a_sandbox_has_neither_a_database_nor_a_key_that_everybody_knows_on_other_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seconder.conf");
    std::fs::write(&file, "self_signed = true\n").unwrap();
    let file = file.to_str().unwrap();
    for with in [
        &["--database", "sqlite:seconder.db"][..],
        &["--database", "sandbox:"],
        &["--config", file],
        &["--keyring", "keys"],
        &["--app", "1"],
        &["--trusted-proxies", "127.0.0.1"],
        &["--proxy-protocol", "--trusted-proxies", "127.0.0.1"],
        &["--unix", "seconder.sock"],
        &["--socket-activation"],
        &["--metrics", "127.0.0.1:0"],
        &["--pid-file", "pid"],
        &["--public-url", "https://login.example"],
        &["--forward", "https://old.example"],
    ] {
        let error = error_of(folder.path(), &[&["serve", "--sandbox"], with].concat());
        assert!(error.contains("cannot be used with"), "{with:?}: {error}");
    }
    let error = error_of(folder.path(), &["serve", "--sandbox", "--listen", "0.0.0.0:0"]);
    assert!(error.contains("api-key-file is needed"), "{error}");
    std::fs::write(file, "sandbox = true\n").unwrap();
    let error = error_of(folder.path(), &["config", "check", file]);
    assert!(error.contains("sandbox is no setting"), "{error}");
    assert!(!folder.path().join("seconder.db").exists());
}

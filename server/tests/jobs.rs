//! `seconder jobs`, as an operator runs it.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a thread receives what the program posts")]

use seconder::calls::{Channel, CreateApproval, RequestCall, RequestSms};
use seconder::engine::{
    ApprovalResponse, Deliver, DeviceType, Message, Outcome, Post, RespondToApproval,
    SignedCallback,
};
use seconder::model::UserId;
use seconder::{Handle, Service, Settings};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    let command = command.current_dir(folder).arg("jobs").args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

/// The lines that a command printed, which must have succeeded.
fn printed(folder: &Path, arguments: &[&str]) -> Vec<String> {
    let output = run(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.is_empty(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The message of a command, which must have failed.
fn error_of(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

/// What an application uses that embeds the engine: nothing can be sent, calls are rejected for good, and
/// the receiver of callbacks wants none.
struct Down;

impl Deliver for Down {
    fn deliver(&self, _: &Message) -> Result<(), String> {
        Ok(())
    }

    fn attempt(&self, message: &Message, _: &str) -> Outcome {
        match message.via {
            Channel::Call => Outcome::Permanent("no landline".to_owned()),
            _ => Outcome::Retry { after: None, reason: "the gateway is busy".to_owned() },
        }
    }

    fn routes(&self, _: &str, _: Channel) -> Vec<String> {
        vec!["spool".to_owned()]
    }
}

impl Post for Down {
    fn post(&self, _: &SignedCallback) -> Result<(), String> {
        Ok(())
    }

    fn attempt(&self, _: &SignedCallback) -> Outcome {
        Outcome::Permanent("status 410".to_owned())
    }
}

fn open(folder: &Path, callback_url: &str) -> (Service, UserId) {
    let url = format!("sqlite:{}", folder.join("seconder.db").display());
    let settings = Settings::new(&url).deliver(Down).post(Down).callback_url(callback_url);
    let service = settings.open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    (service, user)
}

/// A database in which a message waits, and one failed.
fn messages(folder: &Path) {
    let (service, user) = open(folder, "");
    service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).unwrap();
    service.handle(&RequestCall { force: Some(true), ..RequestCall::new(user) }).unwrap_err();
}

/// A database in which a callback failed.
fn callback(folder: &Path, url: &str) {
    let (service, user) = open(folder, url);
    let engine = service.engine().unwrap();
    let device = engine.register_device(user, DeviceType::Ios).unwrap();
    let uuid = service.handle(&CreateApproval::new(user, "Log in?".parse().unwrap())).unwrap().uuid;
    let response = RespondToApproval {
        uuid,
        device_id: device.device_id,
        device_secret: device.secret,
        response: ApprovalResponse::Approve,
        number: None,
    };
    let _ = engine.respond_to_approval(&response).unwrap();
}

/// The id at the beginning of a line.
fn id(line: &str) -> &str {
    line.split(' ').next().unwrap()
}

#[test]
fn jobs_are_printed_one_in_each_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    messages(folder);
    let lines = printed(folder, &["list"]);
    assert_eq!(lines.len(), 2);
    let beginnings = [
        "sms waiting route=spool app=1 user=1 number=+1-XXX-XXX-XX23 created=",
        "calls failed route=spool app=1 user=1 number=+1-XXX-XXX-XX23 created=",
    ];
    for (line, beginning) in lines.iter().zip(beginnings) {
        assert_eq!(id(line).len(), 16, "{line}");
        assert!(line[17..].starts_with(beginning), "{line}");
        assert!(!line.contains("0100123"), "{line}");
    }
    assert!(lines[0].contains(" attempts=1 last_error=the_gateway_is_busy"), "{}", lines[0]);
    assert!(lines[0].contains(" due=") && lines[1].contains(" ended="));
    for filter in [["--state", "waiting"], ["--kind", "sms"], ["--limit", "1"]] {
        assert_eq!(printed(folder, &[&["list"][..], &filter].concat()), [lines[0].clone()]);
    }
    assert_eq!(printed(folder, &["list", "--route", "spool"]), lines);
    assert!(printed(folder, &["list", "--route", "host"]).is_empty());
    assert!(printed(folder, &["list", "--state", "sent"]).is_empty());
    for filter in [["--state", "gone"], ["--kind", "mail"]] {
        let error = error_of(folder, &[&["list"][..], &filter].concat());
        assert!(error.contains("waiting, leased, failed or sent") || error.contains("callback"));
    }
}

#[test]
fn jobs_are_printed_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    messages(folder);
    let lines = printed(folder, &["list", "--json"]);
    let (waiting, failed) = (json(&lines[0]), json(&lines[1]));
    assert_eq!((&waiting["state"], &failed["state"]), (&"waiting".into(), &"failed".into()));
    assert_eq!((&waiting["route"], &waiting["attempts"]), (&"spool".into(), &1.into()));
    assert!(waiting["due"].as_i64().unwrap() > waiting["created"].as_i64().unwrap());
    assert!(failed["due"].is_null() && waiting["provider_id"].is_null());
    let id = waiting["id"].as_str().unwrap();
    assert_eq!(printed(folder, &["show", "--json", id]), [lines[0].clone()]);
    let shown = printed(folder, &["show", id]);
    assert!(shown.contains(&format!("id {id}")), "{shown:?}");
    assert!(shown.contains(&"last_error the gateway is busy".to_owned()), "{shown:?}");
    let status = printed(folder, &["status", "--json"]);
    let status: Vec<_> = status.iter().map(|line| json(line)).collect();
    assert_eq!((&status[0]["kind"], &status[0]["failed"]), (&"calls".into(), &1.into()));
    assert_eq!((&status[1]["kind"], &status[1]["waiting"]), (&"sms".into(), &1.into()));
    assert!(status[1]["oldest"].is_u64() && status[1]["latency_p50"].is_null());
    let lines = printed(folder, &["status"]);
    assert_eq!(lines[0], "spool calls waiting=0 leased=0 failed=1 sent=0");
    assert!(lines[1].starts_with("spool sms waiting=1 leased=0 failed=0 sent=0 oldest="));
}

#[test]
fn a_message_that_waits_is_replayed_and_sent() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    messages(folder);
    let lines = printed(folder, &["list"]);
    let replayed = printed(folder, &["replay", id(&lines[0])]);
    assert!(replayed[0].contains(" sms waiting "), "{replayed:?}");
    assert_eq!(printed(folder, &["run"]), ["sent=1 waiting=0 failed=0"]);
    let written = std::fs::read_dir(folder.join("seconder.spool")).unwrap();
    assert_eq!(written.count(), 1);
    assert!(printed(folder, &["run"]).is_empty(), "a mail by cron would say nothing");
    let nothing = printed(folder, &["run", "--json", "--budget", "1"]);
    assert_eq!(json(&nothing[0])["sent"], 0);
    assert_eq!(printed(folder, &["list"]).len(), 1);
}

#[test]
fn a_callback_that_failed_is_replayed_and_posted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/callback", listener.local_addr().unwrap());
    callback(folder, &url);
    let lines = printed(folder, &["list", "--state", "failed"]);
    assert!(lines[0].contains(&format!(" url={url} ")), "{lines:?}");
    assert!(lines[0].ends_with("last_error=status_410"), "{lines:?}");
    assert!(printed(folder, &["run"]).is_empty());
    let id = id(&lines[0]);
    printed(folder, &["replay", id]);
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut part = [0; 4096];
        // The body ends with the object that it is.
        while !request.ends_with(b"}") {
            let read = stream.read(&mut part).unwrap();
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&request));
            request.extend_from_slice(&part[..read]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
        String::from_utf8(request).unwrap()
    });
    assert_eq!(json(&printed(folder, &["run", "--json"])[0])["sent"], 1);
    let request = receiver.join().unwrap();
    assert!(request.to_lowercase().contains(&format!("seconder-delivery: {id}")), "{request}");
    assert!(printed(folder, &["list"]).is_empty());
}

#[test]
fn jobs_are_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    messages(folder);
    let lines = printed(folder, &["list"]);
    let (waiting, failed) = (id(&lines[0]), id(&lines[1]));
    let cancelled = json(&printed(folder, &["cancel", "--json", waiting])[0]);
    assert_eq!(cancelled["id"], waiting);
    assert_eq!(printed(folder, &["list"]).len(), 1);
    let mut audit = Command::new(env!("CARGO_BIN_EXE_seconder"));
    let audit = audit.current_dir(folder).args(["audit", "--verdict", "not_delivered"]);
    let audit = String::from_utf8(audit.output().unwrap().stdout).unwrap();
    assert!(audit.contains("request_sms not_delivered") && audit.contains("reason=cancelled"));
    let error = error_of(folder, &["cancel", failed]);
    assert!(error.contains("has failed"), "{error}");
    for command in ["show", "replay", "cancel"] {
        let error = error_of(folder, &[command, waiting]);
        assert!(error.contains(waiting) && error.contains("is that of no job"), "{error}");
        let error = error_of(folder, &[command, "1"]);
        assert!(error.contains("16 hexadecimal digits"), "{error}");
    }
    let sandbox = error_of(folder, &["run", "--database", "sandbox:"]);
    assert!(sandbox.contains("in the memory of the process"), "{sandbox}");
}

/// With the id of a message that waits.
#[test]
fn the_commands_of_the_manual_work() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    messages(folder);
    let lines = printed(folder, &["list"]);
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/delivery.md");
    let page = std::fs::read_to_string(page).unwrap();
    let commands = page.lines().filter_map(|line| line.strip_prefix("seconder jobs "));
    let commands: Vec<_> = commands.collect();
    for command in &commands {
        // What other programs make of the output is theirs.
        let words = command.split(['#', '|']).next().unwrap().split_whitespace();
        let words = words.map(|word| if word == "0f3a52cc90e1b7d4" { id(&lines[0]) } else { word });
        printed(folder, &words.collect::<Vec<_>>());
    }
    assert!(commands.len() >= 6, "{commands:?}");
    assert_eq!(printed(folder, &["list"]).len(), 1, "one was cancelled");
}

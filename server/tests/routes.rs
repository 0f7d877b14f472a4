//! Messages of `seconder serve` by several providers, which are HTTP servers on this machine.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::provider::{DIES, MUCH_LATER, Provider, error, printed};
use seconder::calls::RequestSms;
use seconder::model::UserId;
use seconder::{Handle, Service, Settings};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A running `seconder serve`, and a client of it.
struct Running {
    child: Child,
    log: BufReader<ChildStderr>,
    client: Service,
}

impl Running {
    fn start(folder: &Path) -> Running {
        let mut child = Command::new(env!("CARGO_BIN_EXE_seconder"))
            .current_dir(folder)
            .args(["serve", "--log-format=human", "--listen", "127.0.0.1:0", "--self-signed"])
            .args(["--limit", "number_10_minutes=0 number_day=0"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let line = line(&mut log, "listening on ");
        let url = line.split_once("listening on ").unwrap().1.trim().to_owned();
        let key = printed(folder, &["key"]);
        let ca_file = folder.join("seconder-certificate.pem");
        let client = Settings::new(&url).api_key(key.trim()).ca_file(ca_file).open().unwrap();
        Running { child, log, client }
    }

    fn user(&self, number: u64) -> UserId {
        let number = format!("202555{number:04}");
        self.client.create_user("ada@example.com", &number, "1").unwrap().user_id
    }

    fn request(&self, user: UserId) -> seconder::Result<()> {
        self.client.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) }).map(drop)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The next line of the log that has this part.
fn line(log: &mut BufReader<ChildStderr>, part: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "the log ended before: {part}");
        if line.contains(part) {
            return line;
        }
    }
}

#[track_caller]
fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_true() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A database with its first application.
fn database() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
    drop(seconder::open(&url).unwrap());
    folder
}

#[test]
fn the_second_provider_sends_what_the_first_could_not() {
    let folder = database();
    let (first, second) = (Provider::start(503), Provider::start(200));
    first.set_route(folder.path(), "first", &["priority=1"]);
    second.set_route(folder.path(), "second", &["priority=2", "from=Example"]);
    let mut running = Running::start(folder.path());
    let user = running.user(1);
    running.request(user).unwrap();
    let (failed, sent) = (first.received(), second.received());
    assert_eq!((failed.len(), sent.len()), (1, 1));
    assert_eq!((&sent[0]["to"], &sent[0]["from"]), (&"+12025550001".into(), &"Example".into()));
    assert_eq!(failed[0]["id"], sent[0]["id"]);
    let text = sent[0]["text"].as_str().unwrap();
    let code = text.split(['.', ' ']).find(|word| word.len() == 7 && word.parse::<u32>().is_ok());
    let call = seconder::Verify::new(user, code.unwrap().parse().unwrap());
    assert_eq!(running.client.handle(&call).unwrap().verdict, seconder::Verdict::Right);
    let line = line(&mut running.log, "could not be sent");
    assert!(line.contains("route first: a message by sms to the number ending in 01"), "{line}");
    assert!(!line.contains(code.unwrap()) && !line.contains("2025550001"), "{line}");
}

#[test]
fn a_message_that_no_provider_took_is_sent_once_one_works_again() {
    let folder = database();
    let provider = Provider::start(503);
    provider.set_route(folder.path(), "only", &[]);
    let running = Running::start(folder.path());
    running.request(running.user(1)).unwrap();
    provider.status.store(200, Ordering::Relaxed);
    wait_until("the message is sent again", || provider.received().len() == 2);
    let received = provider.received();
    assert_eq!(received[0]["id"], received[1]["id"]);
}

/// Otherwise it would wait ever longer, although its provider works.
#[test]
fn a_message_that_waits_for_the_rate_of_its_route_has_made_no_attempt() {
    let folder = database();
    let provider = Provider::start(200);
    provider.set_route(folder.path(), "only", &["rate=1"]);
    let running = Running::start(folder.path());
    for number in 1..=4 {
        running.request(running.user(number)).unwrap();
    }
    wait_until("all are sent", || provider.received().len() == 4);
    let list = || printed(folder.path(), &["jobs", "list", "--state", "sent"]);
    wait_until("all are noted", || list().lines().count() == 4);
    let list = list();
    assert!(list.lines().all(|job| job.contains(" attempts=1 ")), "{list}");
}

/// The call waits for no more than the workers of the route allow.
#[test]
fn a_provider_that_hangs_holds_up_no_other_route_and_no_call() {
    let folder = database();
    let (hangs, works) = (Provider::start(0), Provider::start(200));
    hangs.set_route(folder.path(), "hangs", &[r#"countries=["+44"]"#, "workers=1", "timeout=2"]);
    works.set_route(folder.path(), "works", &[r#"countries=["+1"]"#]);
    let running = Running::start(folder.path());
    let british: Vec<_> = (0..3)
        .map(|number| {
            let number = format!("79111234{number:02}");
            running.client.create_user("eve@example.com", &number, "44").unwrap().user_id
        })
        .collect();
    let american: Vec<_> = (1..=20).map(|number| running.user(number)).collect();
    std::thread::scope(|scope| {
        for user in &british {
            scope.spawn(|| running.request(*user).unwrap());
        }
        wait_until("the provider hangs", || !hangs.received().is_empty());
        for user in &american {
            running.request(*user).unwrap();
        }
    });
    assert_eq!(works.received().len(), 20);
}

#[test]
fn routes_are_used_and_given_up_while_the_service_runs() {
    let folder = database();
    let (first, second) = (Provider::start(200), Provider::start(200));
    let mut running = Running::start(folder.path());
    first.set_route(folder.path(), "first", &[]);
    line(&mut running.log, "seconder: route first was set");
    running.request(running.user(1)).unwrap();
    assert_eq!(first.received().len(), 1);
    first.status.store(503, Ordering::Relaxed);
    running.request(running.user(2)).unwrap();
    // What waits for the route that is removed is sent by the other one.
    second.set_route(folder.path(), "second", &[]);
    printed(folder.path(), &["route", "remove", "first"]);
    wait_until("the message took the other route", || second.received().len() == 1);
    assert_eq!(second.received()[0]["to"], "+12025550002");
}

#[test]
fn everything_that_is_wrong_with_a_route_is_reported_and_nothing_is_stored() {
    let folder = database();
    let wrong = ["gateway=http", "url=ftp://example.com", "timeout=90", "wieght=2", "weight=0"];
    let mut arguments = vec!["route", "set", "one"];
    arguments.extend(wrong);
    let report = error(folder.path(), &arguments);
    for part in ["url ", "timeout is 90", "`wieght` is not a setting", "weight is 0"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let report = error(folder.path(), &["route", "set", "One", "gateway=http"]);
    assert!(report.contains("url is missing"), "{report}");
    let none = "there are no routes";
    assert!(printed(folder.path(), &["route", "list"]).starts_with(none));
    assert!(error(folder.path(), &["route", "show", "one"]).contains("is not that of a route"));
    assert!(error(folder.path(), &["route", "set", "one"]).contains("are missing"));
}

#[test]
fn secrets_are_read_from_files_and_never_shown() {
    let folder = database();
    let secret = "s3cret-of-the-provider";
    fs::write(folder.path().join("token"), format!("{secret}\n")).unwrap();
    let account = "account_sid=AC0123";
    let inline = format!("auth_token={secret}");
    let report = error(folder.path(), &["route", "set", "t", "gateway=twilio", account, &inline]);
    assert!(report.contains("auth_token=@FILE") && !report.contains(secret), "{report}");
    let set =
        ["route", "set", "t", "gateway=twilio", account, "auth_token=@token", "from=+15550100"];
    printed(folder.path(), &set);
    for arguments in [vec!["route", "show", "t"], vec!["route", "list", "--json"]] {
        let shown = printed(folder.path(), &arguments);
        assert!(shown.contains("AC0123") && shown.contains("(sealed)"), "{shown}");
        assert!(!shown.contains(secret), "{shown}");
    }
    for file in fs::read_dir(folder.path()).unwrap().flatten() {
        let name = file.file_name();
        let bytes = fs::read(file.path()).unwrap_or_default();
        let has = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert_eq!(has, name == "token", "{name:?}");
    }
}

#[test]
fn credentials_in_urls_headers_and_bodies_are_not_shown() {
    let folder = database();
    let secret = "s3cret-of-the-provider";
    let settings = format!(
        r#"{{"gateway":"http","url":"https://gw.example/send?key={secret}","format":"json",
            "headers":{{"X-Key":"{secret}","X-To":"{{{{to}}}}"}},"body":{{"key":"{secret}"}}}}"#
    );
    fs::write(folder.path().join("route.json"), settings).unwrap();
    printed(folder.path(), &["route", "set", "one", "--file", "route.json"]);
    for arguments in [vec!["route", "show", "one"], vec!["route", "list", "--json"]] {
        let shown = printed(folder.path(), &arguments);
        assert!(!shown.contains(secret), "{shown}");
        assert!(shown.contains("https://gw.example/send?(sealed)"), "{shown}");
        assert!(shown.contains("X-Key") && shown.contains("{{to}}"), "{shown}");
    }
}

/// Nobody asked for codes in a folder.
#[test]
fn a_route_that_cannot_be_used_any_more_is_no_reason_to_write_codes_to_a_folder() {
    let folder = database();
    let provider = Provider::start(200);
    let mut running = Running::start(folder.path());
    let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
    let settings = seconder::model::Secret::new(r#"{"gateway":"of a later version"}"#);
    let engine = seconder::open(&url).unwrap();
    engine.engine().unwrap().set_route("bad", &settings).unwrap();
    line(&mut running.log, "route bad: gateway is `of a later version`");
    running.request(running.user(1)).unwrap_err();
    assert!(!folder.path().join("seconder.spool").exists());
    provider.set_route(folder.path(), "bad", &[]);
    line(&mut running.log, "route bad was set");
    running.request(running.user(2)).unwrap();
    assert_eq!(provider.received().len(), 1);
}

#[test]
fn a_test_message_says_what_the_provider_answered() {
    let folder = database();
    let provider = Provider::start(200);
    provider.set_route(folder.path(), "one", &[]);
    let accepted = printed(folder.path(), &["route", "test", "one", "+15550100123"]);
    assert_eq!(accepted, "accepted by the provider, with the id provider-7\n");
    assert_eq!(provider.received()[0]["to"], "+15550100123");
    provider.status.store(400, Ordering::Relaxed);
    let report = error(folder.path(), &["route", "test", "one", "+15550100123"]);
    assert!(report.contains("the test message was rejected") && report.contains("400"), "{report}");
    assert!(error(folder.path(), &["route", "test", "one", "0123"]).contains("must be +"));
    let report = error(folder.path(), &["route", "test", "two", "+15550100123"]);
    assert!(report.contains("is not that of a route"), "{report}");
}

/// Otherwise it would start with a part of what its operator has set.
#[test]
fn a_service_does_not_start_with_a_route_that_cannot_be_used() {
    let folder = database();
    let url = format!("sqlite:{}", folder.path().join("seconder.db").display());
    let settings = seconder::model::Secret::new(r#"{"gateway":"http","timeout":-1}"#);
    seconder::open(&url).unwrap().engine().unwrap().set_route("bad", &settings).unwrap();
    let report = error(
        folder.path(),
        &["serve", "--log-format=human", "--listen", "127.0.0.1:0", "--self-signed"],
    );
    assert!(report.contains("bad: url is missing"), "{report}");
    assert!(report.contains("bad: timeout is -1"), "{report}");
}

#[test]
fn a_message_that_a_command_causes_leaves_by_a_route() {
    let folder = database();
    let path = folder.path();
    let spool = path.join("seconder.spool");
    let call = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        let output = command.current_dir(path).args(arguments).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments:?}: {errors}");
        (String::from_utf8(output.stdout).unwrap(), errors)
    };
    let request = ["call", "request-sms", "--user", "1", "--force"];
    let unlimited = || printed(path, &["limits", "number_10_minutes=0", "cool_down=0"]);
    unlimited();
    printed(path, &["app", "set", "--install-link", "https://example.com/app"]);
    let provider = Provider::start(200);
    provider.set_route(path, "one", &[]);
    let number = ["--cellphone", "2025550123", "--country-code", "1"];
    call(&[&["user", "create", "--email", "ada@example.com"][..], &number].concat());
    assert!(provider.received()[0]["text"].as_str().unwrap().contains("https://example.com/app"));
    let (reply, errors) = call(&request);
    assert!(reply.contains("SMS token was sent") && errors.is_empty(), "{reply} {errors}");
    assert_eq!(provider.received().len(), 2);
    // A message that the provider does not take is left to the service.
    provider.status.store(503, Ordering::Relaxed);
    let (_, errors) = call(&request);
    assert!(errors.contains("the message was not sent yet: "), "{errors}");
    assert!(errors.contains("It waits for `seconder serve`, or `seconder jobs run`"), "{errors}");
    provider.status.store(200, Ordering::Relaxed);
    let running = Running::start(path);
    wait_until("the service sends it", || provider.log().last().unwrap().status == 200);
    assert!(!spool.exists());
    drop(running);
    unlimited();
    provider.status.store(DIES, Ordering::Relaxed);
    let (_, errors) = call(&request);
    assert!(errors.contains("the message may have been sent: "), "{errors}");
    assert!(errors.contains("will send it again") && !errors.contains("not sent"), "{errors}");
    // No code lives until then, so it is not sent again.
    provider.status.store(MUCH_LATER, Ordering::Relaxed);
    unlimited();
    let errors = error(path, &["call", "request-sms", "--user", "1", "--force", "--action", "pay"]);
    assert!(errors.contains("the message was not sent: "), "{errors}");
    assert!(errors.contains("It will not be sent again") && !errors.contains("waits"), "{errors}");
    // Without a route, the command says where the message is.
    printed(path, &["route", "remove", "one"]);
    unlimited();
    let (_, errors) = call(&request);
    assert!(errors.contains("was written to the spool folder"), "{errors}");
    assert!(spool.exists());
}

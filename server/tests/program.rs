//! The `seconder` program, as an operator runs it.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use seconder::callback::{Received, verify};
use seconder::calls::ApprovalStatus;
use seconder::{Service, Settings};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const DATABASE: &str = "sqlite:seconder.db";

/// A running `seconder serve`, which is killed when the test ends.
struct Running {
    child: Child,
    url: String,
    /// What it logged before it listened.
    start: String,
    log: BufReader<std::process::ChildStderr>,
}

impl Running {
    fn start(folder: &Path, options: &[&str]) -> Running {
        let mut child =
            program(folder, &["serve", "--log-format=human", "--listen", "127.0.0.1:0"])
                .args(options)
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut lines = String::new();
        let url = loop {
            assert_ne!(log.read_line(&mut lines).unwrap(), 0, "{lines}");
            if let Some((_, url)) = lines.split_once("listening on ") {
                break url.trim().to_owned();
            }
        };
        Running { child, url, start: lines, log }
    }

    /// Sends SIGTERM, waits for a successful exit, and returns what the program logged after
    /// its address.
    fn end(mut self) -> String {
        let killed = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(killed.success());
        let started = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < Duration::from_secs(60), "still running after a minute");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(self.child.wait().unwrap().success());
        let mut text = String::new();
        self.log.read_to_string(&mut text).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("seconder: request "));
        lines.map(|line| format!("{line}\n")).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    program(folder, arguments).output().unwrap()
}

/// The output of a command, which must have succeeded without messages.
fn printed(output: Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The error message of a command, which must fail.
fn error_of(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Creates the database.
fn create(folder: &Path) {
    seconder::open(&format!("sqlite:{}", folder.join("seconder.db").display())).unwrap();
}

fn client(folder: &TempDir, running: &Running) -> Service {
    let key = printed(run(folder.path(), &["key"]));
    let ca_file = folder.path().join("seconder-certificate.pem");
    Settings::new(&running.url).api_key(key).ca_file(ca_file).open().unwrap()
}

/// Receives one callback, and responds with 200. Returns its headers and its body.
fn receive(listener: &TcpListener) -> (String, String) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let mut body = vec![0; header(&head, "content-length").parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    (head, String::from_utf8(body).unwrap())
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let line = |line: &'a str| line.split_once(": ").filter(|(n, _)| n.eq_ignore_ascii_case(name));
    head.lines().find_map(line).map(|(_, value)| value).unwrap()
}

#[test]
fn an_operator_runs_a_service_and_responds_to_an_approval() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let callback_url = format!("http://{}/callback", listener.local_addr().unwrap());
    let options = ["--self-signed", "--callback-url", &callback_url];
    let running = Running::start(folder.path(), &options);
    let service = client(&folder, &running);
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let uuid = service.create_approval(user, "Log in?").unwrap().uuid;

    let user_id = user;
    let user = user.to_string();
    let register = ["user", "register-device", "--user", &user, "--type", "android"];
    let registered = printed(run(folder.path(), &register));
    let mut words = registered.split_whitespace();
    let (_, id, _, secret) =
        (words.next(), words.next().unwrap(), words.next(), words.next().unwrap());
    std::fs::write(folder.path().join("device-secret"), format!("{secret}\n")).unwrap();
    let uuid_text = uuid.to_string();
    let mut respond = [
        "approval",
        "respond",
        "--database",
        DATABASE,
        "--device",
        id,
        "--uuid",
        &uuid_text,
        "--response",
        "approve",
        "--device-secret-file",
        "device-secret",
    ];
    let received = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(&listener));
        assert_eq!(printed(run(folder.path(), &respond)), "approved");
        receiver.join().unwrap()
    });
    assert_eq!(service.check_approval(&uuid).unwrap().status, ApprovalStatus::Approved);

    let (head, body) = received;
    let event = verify(
        &printed(run(folder.path(), &["key"])).parse().unwrap(),
        &Received {
            url: &callback_url,
            method: "POST",
            query: "",
            body: body.as_bytes(),
            signature: header(&head, "x-svc-signature"),
            nonce: header(&head, "x-svc-signature-nonce"),
        },
    );
    assert_eq!(event.unwrap().uuid, uuid);
    assert!(error_of(folder.path(), &respond).contains("60079"));

    // Nobody listens any more.
    drop(listener);
    let uuid = service.create_approval(user_id, "Log in?").unwrap().uuid.to_string();
    respond[7] = &uuid;
    let output = run(folder.path(), &respond);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"approved\n"[..]));
    assert!(said.contains("callback to http://127.0.0.1") && said.contains("jobs run"), "{said}");
    assert_eq!(running.end(), "seconder: stopping\nseconder: stopped\n");
}

#[test]
fn a_device_secret_is_read_from_standard_input_and_a_wrong_one_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    create(folder.path());
    let respond = "approval respond --device 1 --uuid 0a1b2c3d-0000-4000-8000-0123456789ab";
    let arguments: Vec<&str> = respond.split(' ').chain(["--response", "deny"]).collect();
    assert!(error_of(folder.path(), &arguments).contains("standard input holds no secret"));
    let mut child = program(folder.path(), &arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"hidden-secret\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && !errors.contains("hidden-secret"), "{errors}");
}

#[test]
fn serve_accepts_a_sandbox_an_api_key_file_and_certificate_files() {
    let folder = tempfile::tempdir().unwrap();
    let key_pair = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.self_signed(&key_pair).unwrap().pem();
    let write = |name, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("cert.pem", &certificate);
    write("key.pem", &key_pair.serialize_pem());
    write("api-key", "key-of-choice\n");
    let options = [
        "--certificate",
        "cert.pem",
        "--key",
        "key.pem",
        "--database",
        "sandbox:",
        "--api-key-file",
        "api-key",
        "--application-name",
        "Bank",
    ];
    let running = Running::start(folder.path(), &options);
    let settings = Settings::new(&running.url).api_key("key-of-choice");
    let service = settings.ca_file(folder.path().join("cert.pem")).open().unwrap();
    assert_eq!(service.app_details().unwrap().name, "Bank");
    running.end();
}

#[test]
fn mistakes_on_the_command_line_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let error =
        |arguments: &str| error_of(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    let none = error("serve");
    assert!(["--self-signed", "--unix"].iter().all(|option| none.contains(option)), "{none}");
    assert!(error("serve --unix s.sock --listen 127.0.0.1:0").contains("--self-signed"));
    assert!(error("serve --self-signed --allow root=login").contains("--unix"));
    assert!(error("serve --self-signed --unix-mode 0600").contains("--unix"));
    assert!(error("serve --self-signed --certificate a --key b").contains("cannot be used with"));
    assert!(error("serve --certificate a").contains("--key"));
    assert!(error("serve --certificate a --key b").contains("a cannot be read"));
    assert!(error("serve --self-signed --listen localhost").contains("--listen"));
    assert!(error("serve --self-signed --database nosql:x").contains("must begin with"));
    assert!(
        error("serve --self-signed --callback-url http://example.com").contains("callback_url")
    );
    assert!(error("key --database https://2fa.example.com").contains("must be sqlite:"));
    assert!(
        error("user register-device --user 1 --type ios --database sqlite:nowhere.db")
            .contains("nowhere.db does not exist, and is not created")
    );
    create(folder.path());
    assert!(error("user register-device --user 1 --type ios").contains("60026"));
    let types = "device_type must be android, android_tablet, ios or svc_chrome";
    assert!(error("user register-device --user 1 --type phone").contains(types));
    let slashes = DATABASE.replace("sqlite:", "sqlite://");
    let register = format!("user register-device --user 1 --type ios --database {slashes}");
    assert!(error(&register).contains("60026"), "{}", error(&register));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    assert!(error(&format!("serve --self-signed --listen {address}")).contains("cannot be bound"));
    let version = printed(run(folder.path(), &["--version"]));
    assert_eq!(version, concat!("seconder ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn only_serve_creates_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let device = "user register-device --user 1 --type ios";
    let approval = "approval respond --device 1 --uuid 0a1b2c3d-0000-4000-8000-0123456789ab \
                    --response deny";
    let error =
        |command: &str| error_of(folder.path(), &command.split_whitespace().collect::<Vec<_>>());
    for command in ["key", device, approval] {
        let text = error(command);
        assert!(text.contains("seconder.db does not exist, and is not created"), "{text}");
        assert!(
            error(&format!("{command} --database sandbox:")).contains("in the memory of")
                != (command == "key")
        );
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    std::fs::write(folder.path().join("seconder.db"), "").unwrap();
    assert!(error("key").contains("seconder.db is empty, and is not created"));
    assert_eq!(std::fs::metadata(folder.path().join("seconder.db")).unwrap().len(), 0);

    let text = error("key --database sandbox:?accept=right");
    assert!(text.contains("--api-key-file") && text.contains("prints at start"), "{text}");
}

#[test]
fn the_key_of_a_sandbox_is_printed_unless_it_was_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--self-signed", "--database", "sandbox:"];
    let running = Running::start(folder.path(), &options);
    let (_, key) = running.start.split_once("API key of this sandbox: ").unwrap();
    let key = key.lines().next().unwrap();
    let ca_file = folder.path().join("seconder-certificate.pem");
    let service = Settings::new(&running.url).api_key(key).ca_file(ca_file).open().unwrap();
    assert_eq!(service.app_details().unwrap().name, "Seconder");
    std::fs::write(folder.path().join("api-key"), "key-of-choice\n").unwrap();
    let chosen = [&options[..], &["--api-key-file", "api-key"]].concat();
    let running = Running::start(folder.path(), &chosen);
    assert!(!running.start.contains("key-of-choice") && !running.start.contains("API key of"));
    let stored = Running::start(folder.path(), &["--self-signed"]);
    let key = printed(run(folder.path(), &["key"]));
    assert!(!stored.start.contains(&key) && !stored.start.contains("API key of"));
}

#[test]
fn texts_and_a_domain_are_stored_and_shown_at_start() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("texts.json"), r#"{"de": {"sms": "{{code}}"}}"#).unwrap();
    let own = ["texts: de (sms)\n", "domain for codes in browsers: example.com\n"];
    let none = ["texts: those that are built in\n", "domain for codes in browsers: none\n"];
    let given = ["--texts", "texts.json", "--otp-domain", "example.com"];
    let removed = ["--texts", "", "--otp-domain", ""];
    for (options, lines) in
        [(&[][..], none), (&given[..], own), (&[][..], own), (&removed[..], none)]
    {
        let running = Running::start(folder.path(), &[&["--self-signed"], options].concat());
        for line in lines {
            assert!(running.start.contains(line), "{line}{}", running.start);
        }
    }
    std::fs::write(folder.path().join("texts.json"), r#"{"de": {"sms": "{{cod}}"}}"#).unwrap();
    let error = error_of(
        folder.path(),
        &["serve", "--log-format=human", "--self-signed", "--texts", "texts.json"],
    );
    assert!(error.contains("de.sms has the unknown placeholder {{cod}}"), "{error}");
    assert!(error.contains("de.sms lacks {{code}}"), "{error}");
}

#[test]
fn settings_are_stored_and_shown_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = rcgen::generate_simple_self_signed(["app.example".to_owned()]).unwrap();
    std::fs::write(folder.path().join("ca.pem"), certificate.cert.pem()).unwrap();
    let first = Running::start(folder.path(), &["--self-signed"]);
    for line in [
        "application: Seconder\n",
        "names: headers X-Svc-*, id field svc_id, browser svc_chrome, push path push\n",
        "replies: current\n",
        "token length: 7\n",
        "callback URL: none\n",
        "callback method: post\n",
        "callbacks to private addresses: no\n",
        "callback CA file: none\n",
        "install link: none\n",
        "offline days: 0\n",
    ] {
        assert!(first.start.contains(line), "{line}{}", first.start);
    }
    drop(first);

    let names = ["--names", "acme", "--push-path", "onetouch"];
    let database = ["--self-signed", "--database", "sqlite:acme.db"];
    let options = [
        &database[..],
        &names,
        &["--application-name", "Acme", "--replies", "older", "--callback-ca-file", "ca.pem"],
        &["--callback-url", "https://app.example/cb", "--install-link", "https://app.example/get"],
        &["--offline-days", "2", "--callback-method", "get", "--callback-private", "yes"],
    ];
    drop(Running::start(folder.path(), &options.concat()));
    for options in [database.to_vec(), [&database[..], &names].concat()] {
        let again = Running::start(folder.path(), &options);
        let ca_file = folder.path().canonicalize().unwrap().join("ca.pem");
        for line in [
            "application: Acme\n",
            "names: headers X-Acme-*, id field acme_id, browser acme_chrome, push path onetouch\n",
            "replies: older\n",
            "callback URL: https://app.example/cb\n",
            "callback method: get\n",
            "callbacks to private addresses: yes\n",
            &format!("callback CA file: {}\n", ca_file.display()),
            "install link: https://app.example/get\n",
            "offline days: 2\n",
        ] {
            assert!(again.start.contains(line), "{line}{}", again.start);
        }
    }
    let error =
        |arguments: &str| error_of(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    for others in ["--names svc", "--names acme", "--push-path onetouch", "--id-field acme_id"] {
        let text = error(&format!("key --database sqlite:acme.db {others}"));
        assert!(text.contains("names differ") && text.contains("X-Acme-*"), "{others}: {text}");
    }
    printed(run(folder.path(), &["key", "--database", "sqlite:acme.db"]));
    let register = "user register-device --user 1 --type ios --database sqlite:acme.db";
    assert!(error(register).contains("60026"));
    assert!(error("serve --self-signed --replies 2012").contains("must be current or older"));
    assert!(error("serve --self-signed --callback-method PUT").contains("must be post or get"));
    assert!(error("serve --self-signed --callback-private maybe").contains("maybe"));
    assert!(error("serve --self-signed --install-link http://a/").contains("install_link"));
    assert!(error("serve --self-signed --offline-days 8").contains("0..=7"));
    assert!(error("serve --self-signed --otp-domain a.example:1").contains("otp_domain"));
    assert!(error("serve --self-signed --texts nowhere").contains("nowhere cannot be read"));
    assert!(error("serve --self-signed --callback-ca-file nowhere").contains("nowhere"));
}

#[test]
fn a_database_is_backed_up_while_it_is_served_and_restored_when_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), &["--self-signed", "--database", DATABASE]);
    let run = |arguments: &[&str]| {
        let mut all = arguments.to_vec();
        all.splice(1..1, ["--database", DATABASE]);
        program(folder.path(), &all).output().unwrap()
    };
    let says = |output: &Output, words: &str| {
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains(words), "{text}");
    };
    let copied = run(&["backup", "copy.db"]);
    assert!(copied.status.success());
    says(&copied, "checked");
    let again = run(&["backup", "copy.db"]);
    assert!(!again.status.success());
    says(&again, "copy.db exists");
    let refused = run(&["restore", "--replace", "copy.db"]);
    assert!(!refused.status.success());
    says(&refused, "in use");
    let spent = run(&["spend-codes", "--yes"]);
    assert!(spent.status.success());
    says(&spent, "spent");
    running.end();
    let refused = run(&["restore", "copy.db"]);
    assert!(!refused.status.success());
    says(&refused, "exists");
    let key = run(&["key"]).stdout;
    let restored = run(&["restore", "--replace", "copy.db"]);
    assert!(restored.status.success());
    says(&restored, "spent");
    assert_eq!(run(&["key"]).stdout, key);
}

//! `seconder relay`: the cases of `tests/vectors/calls` through it, and a service that is in trouble.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::cases::{World, cases};
use crate::common::{self, KEY};
use crate::local_socket::{self, ADA, Running, copy_of_program, folder, head, is_root, program};
use seconder::calls::{self, Call, Handle};
use seconder::wire::{Format, Generation, Names, Reply, form};
use seconder::{Error, Result, Settings, Verdict};
use seconder_server::{Listeners, LocalSocket, PeerRules, Server, SocketOptions, Tls};
use std::cell::RefCell;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const DETAILS: &str = "/protected/json/app/details";
const VERIFY: &str = "/protected/json/verify/1234567/1";

/// A client on one connection to a local socket. Its replies are read as those of the network.
struct Client {
    stream: RefCell<UnixStream>,
    names: Names,
}

impl Client {
    fn new(socket: &Path, names: &Names) -> Client {
        let stream = RefCell::new(UnixStream::connect(socket).unwrap());
        Client { stream, names: names.clone() }
    }
}

impl<C: Call> Handle<C> for Client {
    fn handle(&self, call: &C) -> Result<C::Reply> {
        call.check()?;
        let request = calls::request(call, Format::Json, Generation::Current);
        let (mut target, body) =
            (self.names.path_to_wire(&request.path), form::write(&request.params));
        let mut headers = String::new();
        if request.method == "GET" && !body.is_empty() {
            target = format!("{target}?{body}");
        }
        let body = if request.method == "GET" { String::new() } else { body };
        if !body.is_empty() {
            headers += "Content-Type: application/x-www-form-urlencoded\r\n";
        }
        headers += &format!("Content-Length: {}\r\n", body.len());
        let mut stream = self.stream.borrow_mut();
        stream.write_all((head(request.method, &target, &headers) + &body).as_bytes()).unwrap();
        let got = local_socket::Reply::read(&mut *stream);
        let wait = got.head.lines().find_map(|line| line.strip_prefix("retry-after: "));
        let retry_after = wait.map(|seconds| Duration::from_secs(seconds.parse().unwrap()));
        let mut body = got.body;
        self.names.body_from_wire(&mut body)?;
        call.read_own(Reply { retry_after, ..Reply::new(got.status, body) })
    }
}

fn local(folder: &Path, name: &str) -> LocalSocket {
    let (options, rules) = (SocketOptions::default(), PeerRules::default());
    LocalSocket::bind(&folder.join(name), options, rules).unwrap()
}

/// Runs every case on the socket of a server that serves HTTPS too, or on that of a relay to it.
fn every_case(names: &Names, through_relay: bool) {
    for (name, text) in cases() {
        let folder = folder();
        let (mut world, engine) =
            World::new(folder.path(), &text, |settings| settings.names(names.clone()));
        let listeners = Listeners::new().tls(Tls::SelfSigned);
        let listeners = listeners.https(([127, 0, 0, 1], 0).into()).unwrap();
        let server =
            Server::serve(engine, listeners.local(local(folder.path(), "s.sock"))).unwrap();
        let certificate = folder.path().join("certificate.pem");
        fs::write(&certificate, server.certificate_pem()).unwrap();
        let service = Settings::new(&server.url())
            .api_key(world.engine.api_key().expose())
            .ca_file(certificate)
            .names(names.clone())
            .open()
            .unwrap();
        let listeners = Listeners::new().local(local(folder.path(), "relay.sock"));
        let _relay = Server::relay(service, names.clone(), listeners).unwrap();
        let socket = if through_relay { "relay.sock" } else { "s.sock" };
        let client = Client::new(&folder.path().join(socket), names);
        world.run(&client, &format!("{name}, {socket}"), &text);
    }
}

#[test]
fn every_case_passes_on_a_local_socket() {
    every_case(&Names::default(), false);
}

#[test]
fn every_case_passes_through_a_relay() {
    every_case(&Names::default(), true);
}

#[test]
fn every_case_passes_through_a_relay_under_other_names() {
    every_case(&Names::new("acme").unwrap().push_path("onetouch").unwrap(), true);
}

/// `seconder relay` to this URL, with the key and what makes it trust `ca.pem`.
fn relay(folder: &Path, url: &str, options: &[&str]) -> Running {
    let socket = folder.join("s.sock");
    let mut command = program();
    command.args([
        "relay",
        "--log-format=human",
        url,
        "--api-key-file",
        "key",
        "--ca-file",
        "ca.pem",
        "--unix",
    ]);
    Running::start(command.arg(&socket).args(options).current_dir(folder), socket)
}

fn write_key(folder: &Path, mode: u32) {
    fs::write(folder.join("key"), format!("{KEY}\n")).unwrap();
    fs::set_permissions(folder.join("key"), Permissions::from_mode(mode)).unwrap();
}

/// A service behind a relay, and the relay's folder.
fn world() -> (common::World, tempfile::TempDir) {
    let (world, folder) = (common::World::start(), folder());
    fs::copy(world.ca_file(), folder.path().join("ca.pem")).unwrap();
    write_key(folder.path(), 0o600);
    (world, folder)
}

#[test]
fn a_relay_holds_the_key_and_shows_it_to_nobody() {
    let (world, folder) = world();
    let mut running = relay(folder.path(), &world.server.url(), &["--unix-mode", "0666"]);
    let mut stream = running.connect();
    for _ in 0..100 {
        assert_eq!(local_socket::exchange(&mut stream, "GET", DETAILS).status, 200);
    }
    let id = world.client().create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    assert_eq!(running.call("GET", &format!("/protected/json/sms/{id}")).status, 200);
    let verify =
        |code: &str| running.call("GET", &format!("/protected/json/verify/{code}/{id}?force=true"));
    let right = world.code();
    let wrong = verify(if right == "0000000" { "0000001" } else { "0000000" });
    assert_eq!((wrong.status, &wrong.body["error_code"]), (401, &"60020".into()));
    assert_eq!(verify(&right).body["token"], "is valid");
    assert_eq!(verify(&right).body["error_code"], "60019");
    let unknown = running.call("GET", "/protected/json/users/4711/status");
    assert_eq!((unknown.status, &unknown.body["error_code"]), (404, &"60026".into()));
    if is_root() {
        let refused = running.call_as(ADA, ADA, "GET", VERIFY);
        assert!(refused.status == 403 && refused.message().contains("user 471101"), "{refused:?}");
    }
    let process = format!("/proc/{}", running.child.id());
    for file in ["cmdline", "environ"] {
        let read = fs::read(format!("{process}/{file}"));
        // The environment, as the memory, is for root alone.
        assert!(read.is_ok() || !is_root() && file == "environ", "{file}: {read:?}");
        assert!(!String::from_utf8_lossy(&read.unwrap_or_default()).contains(KEY), "{file}");
    }
    running.signal("HUP");
    running.wait_for("SIGHUP: there is no certificate");
    running.stop();
    assert!(!running.log().contains(KEY) && !running.log().contains(&right), "{}", running.log());
    assert!(!running.socket.exists());
}

#[test]
fn a_relay_creates_no_user_of_whom_the_number_is_missing() {
    let (world, folder) = world();
    let running = relay(folder.path(), &world.server.url(), &[]);
    let create = |fields: &str| {
        let path = format!("/protected/json/users/new?user[email]=ada@example.com{fields}");
        running.call("POST", &path)
    };
    for (fields, field) in [
        ("", "cellphone"),
        ("&without_phone=true", "cellphone"),
        ("&user[country_code]=1", "cellphone"),
        ("&user[without_phone]=maybe", "without_phone"),
        ("&user[without_phone]=true&user[cellphone]=555-010-0123", "without_phone"),
    ] {
        let refused = create(fields);
        assert!(refused.status == 400 && refused.body["errors"][field].is_string(), "{refused:?}");
    }
    assert_eq!(create("&user[without_phone]=true").status, 200);
    assert_eq!(world.client().app_stats().unwrap().total_users, Some(1));
}

#[test]
fn trouble_behind_the_relay_never_lets_a_user_in() {
    let (world, folder) = world();
    let url = world.server.url();
    fs::write(folder.path().join("key"), "another-key").unwrap();
    let running = relay(folder.path(), &url, &[]);
    let wrong = running.call("GET", VERIFY);
    assert_eq!((wrong.status, &wrong.body["error_code"]), (401, &"60001".into()));
    assert!(wrong.message().contains("rejected the relay's API key"), "{wrong:?}");
    assert!(wrong.body.get("token").is_none());
    running.wait_for("call=verify outcome=unauthorized");
    assert!(!running.log().contains("another-key"), "{}", running.log());
    drop(running);

    write_key(folder.path(), 0o640);
    let mut running = relay(folder.path(), &url, &[]);
    assert_eq!(running.call("GET", DETAILS).status, 200);
    world.server.stop();
    let down = running.call("GET", VERIFY);
    assert_eq!((down.status, &down.body["error_code"]), (503, &"60000".into()));
    assert!(down.message().contains("The service behind this relay failed"), "{down:?}");
    running.wait_for("outcome=unavailable");
    running.stop();
}

#[test]
fn a_service_that_hangs_is_a_504_within_the_time_limit() {
    let (world, folder) = world();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let mut running = relay(folder.path(), &url, &["--timeout", "1"]);
    let started = Instant::now();
    let late = running.call("GET", VERIFY);
    assert_eq!(late.status, 504, "{late:?}");
    // By default, it would wait for 8 s.
    assert!(started.elapsed() < Duration::from_secs(7), "{:?}", started.elapsed());
    assert!(late.message().contains("deadline"), "{late:?}");
    running.stop();
    drop(world);
}

/// A service that sends the first response of each connection again, once the next request has arrived.
fn repeats_itself(listener: &TcpListener) {
    const RIGHT: &str = r#"{"token":"is valid","success":"true","message":"Token is valid."}"#;
    let receive = |stream: &mut TcpStream| {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
            head.push(byte[0]);
        }
        String::from_utf8(head).unwrap()
    };
    let serve = |mut stream: TcpStream| {
        let head = receive(&mut stream);
        let id = head.lines().find(|line| line.starts_with("seconder-request-id: "));
        let id = id.unwrap_or("no: id");
        let length = RIGHT.len();
        let first = format!("HTTP/1.1 200 X\r\n{id}\r\nContent-Length: {length}\r\n\r\n{RIGHT}");
        stream.write_all(first.as_bytes()).unwrap();
        if !receive(&mut stream).is_empty() {
            stream.write_all(first.as_bytes()).unwrap();
        }
    };
    // A client of another test may still connect to a port that its own server had: it must not
    // hold up the relay.
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            scope.spawn(|| serve(stream.unwrap()));
        }
    });
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the service runs beside the relay under test")]
fn a_response_that_arrives_late_lets_no_other_user_in_through_a_relay() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || repeats_itself(&listener));
    let service = Settings::new(&url).allow_loopback_http(true).api_key(KEY);
    let service = service.max_idle(Duration::from_secs(60)).open().unwrap();
    let listeners = Listeners::new().local(local(folder.path(), "relay.sock"));
    let relay = Server::relay(service, Names::default(), listeners).unwrap();
    let client = Client::new(&folder.path().join("relay.sock"), &Names::default());
    let verify = |user: u64| {
        let call = calls::Verify::new(user.try_into().unwrap(), "1234567".parse().unwrap());
        client.handle(&call).map(|found| found.verdict)
    };
    assert_eq!(verify(1).unwrap(), Verdict::Right);
    assert!(matches!(verify(2).unwrap_err(), Error::Unavailable { .. }));
    relay.stop();
}

/// What must not be dumped has files in `/proc` that are not its user's own.
#[test]
fn the_memory_of_a_service_is_not_for_other_processes_of_its_user() {
    let folder = folder();
    let socket = folder.path().join("own/s.sock");
    fs::create_dir(folder.path().join("own")).unwrap();
    let user = match is_root() {
        true => ADA,
        false => rustix::process::geteuid().as_raw(),
    };
    let mut command = Command::new(copy_of_program(folder.path()));
    command.args(["serve", "--log-format=human", "--database=sandbox:", "--unix"]).arg(&socket);
    if is_root() {
        chown(folder.path().join("own"), Some(ADA), Some(ADA)).unwrap();
        command.uid(ADA).gid(ADA);
    }
    let running = Running::start(command.current_dir(folder.path().join("own")), socket);
    let process = format!("/proc/{}", running.child.id());
    assert_ne!(fs::metadata(format!("{process}/mem")).unwrap().uid(), user);
}

#[test]
fn options_that_would_show_a_secret_or_mean_something_else_are_rejected() {
    let (world, folder) = world();
    let url = world.server.url();
    let error = |url: &str, options: &[&str]| {
        let output = program()
            .args(["relay", "--log-format=human", url, "--unix", "s.sock", "--api-key-file", "key"])
            .args(options)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(!output.status.success(), "{url} {options:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!text.contains(KEY) && !text.contains("hidden"), "{text}");
        text
    };
    for database in ["sqlite:seconder.db", "sandbox:"] {
        let text = error(database, &[]);
        assert!(text.contains("seconder serve --unix PATH --database URL serves it"), "{text}");
    }
    assert!(error("http://127.0.0.1:1", &[]).contains("must begin with https:"));
    let proxy = error(&url, &["--proxy", "http://user:hidden@192.0.2.1:3128"]);
    assert!(proxy.contains("must not hold a password"), "{proxy}");
    assert!(error(&url, &["--pin", "sha1/x"]).contains("pin"));
    assert!(error(&url, &["--timeout", "0"]).contains("timeout"));
    assert!(error(&url, &["--allow", "roots=login"]).contains("must begin with root"));
    for mode in [0o604, 0o602, 0o601, 0o620, 0o777] {
        write_key(folder.path(), mode);
        assert!(error(&url, &[]).contains("key must not be open to others"), "{mode:o}");
    }
    write_key(folder.path(), 0o600);
    if is_root() {
        chown(folder.path().join("key"), Some(ADA), None).unwrap();
        assert!(error(&url, &[]).contains("must belong to root or to the user of this process"));
    }
    assert!(!folder.path().join("s.sock").exists());
}

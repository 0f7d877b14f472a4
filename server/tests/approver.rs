//! The approver over HTTPS, as browsers and phones ask for it, and the device that is a program.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::node::reserved_port;
use crate::provider::{error, printed};
use crate::serving::{Running, database, wait_until};
use crate::terminal::Terminal;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

const PUBLIC: [&str; 2] = ["--public-url", "https://login.example"];
const API: &str = "/-/approver/api/";

/// A service that a device reaches by its public URL.
fn reachable(folder: &Path) -> Running {
    let (port, _held) = reserved_port();
    let (listen, url) = (format!("127.0.0.1:{port}"), format!("https://localhost:{port}"));
    let running = Running::start(folder, &["--listen", &listen, "--public-url", &url]);
    running.client.create_user("ada@example.com", "2025550123", "1").unwrap();
    running
}

fn object(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Registers a device that is a program, whose file has this name.
fn enrol(folder: &Path, file: &str) -> String {
    let invited = object(&printed(folder, &["user", "invite-device", "--user", "1", "--json"]));
    std::fs::write(folder.join("link"), invited["link"].as_str().unwrap()).unwrap();
    enrol_again(folder, file, printed)
}

fn enrol_again(folder: &Path, file: &str, run: fn(&Path, &[&str]) -> String) -> String {
    let trusted = ["--ca-file", "seconder-certificate.pem", "--link-file", "link"];
    let arguments =
        ["device", "register", "--device-file", file, trusted[0], trusted[1], trusted[2]];
    run(folder, &[&arguments[..], &trusted[3..]].concat())
}

fn ask(folder: &Path, more: &[&str]) -> Value {
    let call = ["call", "create-approval", "--user", "1", "--message", "Log in?"];
    object(&printed(folder, &[&call[..], more].concat()))
}

fn status(folder: &Path, asked: &Value) -> Value {
    let uuid = asked["approval_request"]["uuid"].as_str().unwrap();
    object(&printed(folder, &["call", "check-approval", "--uuid", uuid]))["approval_request"]
        .clone()
}

#[test]
fn a_program_registers_by_an_invitation_and_responds_as_a_phone_does() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let _running = reachable(folder);
    let shown = enrol(folder, "phone.json");
    assert_eq!(shown.trim(), "device 1.1 of a***@example.com at Seconder");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(folder.join("phone.json")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    let again = enrol_again(folder, "again.json", error);
    assert!(again.contains("invitation_spent") && !folder.join("again.json").exists(), "{again}");
    let taken = enrol_again(folder, "phone.json", error);
    assert!(taken.contains("cannot be created"), "{taken}");
    let device =
        |command: &str| ["device", command, "--device-file", "phone.json"].map(str::to_owned);
    let run = |command: &str, more: &[&str], run: fn(&Path, &[&str]) -> String| {
        let device = device(command);
        let all: Vec<&str> =
            device.iter().map(String::as_str).chain(more.iter().copied()).collect();
        run(folder, &all)
    };
    for command in ["approve", "deny"] {
        let none = run(command, &[], error);
        assert!(none.contains("no open request"), "{none}");
    }
    let asked = ask(folder, &["--number-digits", "3", "--details", r#"{"Location":"Bern"}"#]);
    let pending = object(&run("pending", &["--json"], printed));
    assert_eq!(pending["shown"]["details"], json!([["Location", "Bern"]]));
    let listed = run("pending", &[], printed);
    assert!(listed.contains(r#"Log in?  "Location": "Bern"  3 digits"#), "{listed}");
    let uuid = asked["approval_request"]["uuid"].as_str().unwrap();
    let missing = run("approve", &[uuid], error);
    assert!(missing.contains("one of 3 digits"), "{missing}");
    let number = asked["approval_request"]["number"].as_str().unwrap();
    // Nobody here has seen which one it is.
    let unseen = run("approve", &["--number", number], error);
    assert!(unseen.contains("UUID is needed") && unseen.contains("device pending"), "{unseen}");
    assert_eq!(status(folder, &asked)["status"], "pending");
    let wrong = if number == "000" { "001" } else { "000" };
    let refused = run("approve", &[uuid, "--number", wrong], error);
    assert!(refused.contains("wrong_number"), "{refused}");
    assert_eq!(run("approve", &[uuid, "--number", number], printed).trim(), "approved");
    assert_eq!(status(folder, &asked)["status"], "approved");
    let evidence = object(&printed(folder, &["approval", "evidence", uuid]));
    assert!(evidence["signed"].as_str().unwrap().contains(uuid), "{evidence}");
    for (options, becomes) in [(&[][..], "denied"), (&["--report"], "denied")] {
        let asked = ask(folder, &[]);
        let answered = run("deny", options, printed);
        let uuid = asked["approval_request"]["uuid"].as_str().unwrap();
        for part in [uuid, "Seconder", "Log in?", "\n"] {
            assert!(answered.contains(part), "{part}: {answered}");
        }
        assert!(answered.ends_with(&format!("\n{becomes}\n")), "{answered}");
        assert_eq!(status(folder, &asked)["status"], becomes);
    }
    let code = run("code", &[], printed);
    std::fs::write(folder.join("code"), code).unwrap();
    let verify = ["call", "verify", "--user", "1", "--force", "--token-file", "code"];
    let verified = object(&printed(folder, &verify));
    assert_eq!(verified["device"]["id"], 1, "{verified}");
    assert_eq!(run("remove", &[], printed).trim(), "removed");
    assert!(!folder.join("phone.json").exists());
    let left = printed(folder, &["user", "show", "--user", "1", "--json"]);
    assert!(!left.contains("svc_chrome"), "{left}");
}

#[test]
fn at_a_terminal_the_only_request_is_shown_and_approved_once_that_is_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let _running = reachable(folder);
    enrol(folder, "phone.json");
    let asked = ask(folder, &["--details", r#"{"Location":"Bern","Note":"\u202eevil\u009b2J"}"#]);
    let uuid = asked["approval_request"]["uuid"].as_str().unwrap();
    let approve = || {
        let mut program = Command::new(env!("CARGO_BIN_EXE_seconder"));
        let file = folder.join("phone.json");
        program.args(["device", "approve", "--device-file"]).arg(file);
        Terminal::start(program, 80)
    };
    for typed in ["\n", "n\n", "x\n", "\u{4}"] {
        let mut terminal = approve();
        let shown = terminal.until("Approve it? [y/N] ");
        for part in [uuid, "Seconder", "Log in?", r#""Location": "Bern""#] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains(['\u{202e}', '\u{9b}']), "{shown:?}");
        terminal.type_in(typed);
        let (shown, ended) = terminal.end();
        assert!(!ended.success() && shown.contains("nothing was approved"), "{typed:?}: {shown}");
        assert_eq!(status(folder, &asked)["status"], "pending");
    }
    let mut terminal = approve();
    terminal.until("Approve it? [y/N] ");
    terminal.type_in("y\n");
    let (shown, ended) = terminal.end();
    assert!(ended.success() && shown.contains("approved"), "{shown}");
    assert_eq!(status(folder, &asked)["status"], "approved");
    // A number confirms it too.
    let asked = ask(folder, &["--number-digits", "2"]);
    for typed in ["", asked["approval_request"]["number"].as_str().unwrap()] {
        let mut terminal = approve();
        terminal.until("type the number of 2 digits that the login shows: ");
        terminal.type_in(&format!("{typed}\n"));
        let (shown, ended) = terminal.end();
        assert_eq!(ended.success(), !typed.is_empty(), "{shown}");
    }
    assert_eq!(status(folder, &asked)["status"], "approved");
}

#[test]
fn nothing_of_the_approver_is_served_without_a_public_url() {
    let folder = tempfile::tempdir().unwrap();
    database(folder.path());
    let running = Running::start(folder.path(), &[]);
    for path in ["/-/approver", "/-/approver/", "/-/approver/sw.js", "/-/approver/api/requests"] {
        assert_eq!(running.at.send("GET", path, "", "").0, 404, "{path}");
    }
    let refused = error(folder.path(), &["user", "invite-device", "--user", "1"]);
    assert!(refused.contains("--public-url"), "{refused}");
}

/// The response to a request for a file.
struct Got {
    status: u16,
    head: String,
    body: String,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_default()
    }
}

fn file(running: &Running, path: &str, more: &str) -> Got {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: login.example\r\nConnection: close\r\n{more}\r\n");
    let mut stream = running.at.connect();
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = Vec::new();
    // Whether TLS is closed in order is another test's.
    let _ = stream.read_to_end(&mut reply);
    let reply = String::from_utf8_lossy(&reply).into_owned();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Got { status, head: head.to_owned(), body: body.to_owned() }
}

#[test]
fn the_page_may_load_nothing_from_anywhere_else_and_its_files_are_kept_by_hash() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), &PUBLIC);
    let page = file(&running, "/-/approver/", "");
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy");
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "form-action 'none'",
    ] {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(page.header("referrer-policy"), "no-referrer");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert_eq!(page.header("cache-control"), "no-cache");
    let known = format!("If-None-Match: {}\r\n", page.header("etag"));
    assert_eq!(file(&running, "/-/approver/", &known).status, 304);
    let names: Vec<&str> =
        page.body.split('"').filter(|part| part.starts_with("assets/")).collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        let asset = file(&running, &format!("/-/approver/{name}"), "");
        assert_eq!(asset.status, 200, "{name}");
        assert!(asset.header("cache-control").contains("immutable"), "{name}");
    }
    for inline in ["<style", "style=", "onclick", "javascript:"] {
        assert!(!page.body.contains(inline), "{inline}");
    }
    let manifest = file(&running, "/-/approver/app.webmanifest", "");
    assert_eq!(manifest.header("content-type"), "application/manifest+json");
    assert_eq!(file(&running, "/-/approver/assets/../index.html", "").status, 404);
    assert_eq!(running.at.send("POST", "/-/approver/", "", "").0, 405);
}

#[test]
fn the_app_has_the_name_and_the_icon_of_the_operator() {
    let folder = tempfile::tempdir().unwrap();
    let icon = folder.path().join("icon.png");
    let mut picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    picture.extend([0, 0, 2, 0, 0, 0, 2, 0]);
    picture.resize(4321, 7);
    std::fs::write(&icon, &picture).unwrap();
    let (name, icon) = (r#"Bank "A" & <B>"#, icon.to_str().unwrap());
    let running = Running::start(
        folder.path(),
        &["--approver-name", name, "--approver-icon", icon, PUBLIC[0], PUBLIC[1]],
    );
    let page = file(&running, "/-/approver/", "").body;
    let shown = r#"Bank "A" &amp; &lt;B&gt;"#;
    for part in [format!("<title>{shown}</title>"), format!("<span>{shown}</span>")] {
        assert!(page.contains(&part), "{part}: {page}");
    }
    let worker = file(&running, "/-/approver/sw.js", "").body;
    assert!(worker.contains(r#"showNotification("Bank \"A\" & <B>","#), "{worker}");
    let manifest = object(&file(&running, "/-/approver/app.webmanifest", "").body);
    assert_eq!(manifest["name"], name);
    let pictures = manifest["icons"].as_array().unwrap();
    assert_eq!((pictures.len(), &pictures[0]["sizes"]), (1, &json!("512x512")));
    let served = pictures[0]["src"].as_str().unwrap();
    let got = file(&running, &format!("/-/approver/{served}"), "");
    assert_eq!(got.header("content-length"), picture.len().to_string());
    for text in [&page, &worker] {
        assert!(text.contains(served) && !text.contains("assets/icon."), "{text}");
        assert!(!text.contains("Seconder\"") && !text.contains("Seconder<"), "{text}");
    }
    drop(running);
    std::fs::write(icon, "<svg/>").unwrap();
    let refused = error(folder.path(), &["serve", "--self-signed", "--approver-icon", icon]);
    assert!(refused.contains("approver-icon must be a PNG picture of 512 by 512"), "{refused}");
}

#[test]
fn a_request_that_is_not_signed_gets_the_same_reply_whatever_it_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(folder.path(), &PUBLIC);
    let unsigned = |path: &str, header: &str| file(&running, &format!("{API}{path}"), header);
    let uuid = "00000000-0000-4000-8000-000000000000";
    let mut bodies = Vec::new();
    for header in [
        "",
        "Authorization: Bearer x\r\n",
        "Authorization: Seconder device=1.1, time=1790000000, signature=AAAA\r\n",
        "Authorization: Seconder device=9.9, time=x, signature=!\r\n",
    ] {
        for path in
            ["device", "requests", &format!("requests/{uuid}"), &format!("requests/{uuid}/logo")]
        {
            let reply = unsigned(path, header);
            assert_eq!(reply.status, 401, "{path}");
            assert_eq!(reply.header("cache-control"), "no-store");
            bodies.push(reply.body);
        }
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert!(bodies[0].contains("unauthorized"));
    assert_eq!(unsigned("nothing", "").status, 404);
    let send = |path: &str, body: &str| running.at.send("POST", &format!("{API}{path}"), "", body);
    let (status, body) = send("devices", "{\"code\": 7, \"key\": \"secret\"}");
    assert!(status == 400 && !body.contains("secret"), "{status} {body}");
    let (status, _) = send(&format!("requests/{uuid}/respond"), &"x".repeat(100_000));
    assert_eq!(status, 413);
    // Anybody can send this one.
    let (status, body) = send("devices", &"x".repeat(5000));
    assert!(status == 413 && body.contains("4 KiB"), "{status} {body}");
    assert_eq!(running.at.send("PUT", &format!("{API}device"), "", "").0, 405);
}

#[test]
fn bodies_of_strangers_are_kept_up_to_a_limit() {
    const LENGTH: usize = 64 * 1024;
    let folder = tempfile::tempdir().unwrap();
    let running = reachable(folder.path());
    let uuid = "00000000-0000-4000-8000-000000000000";
    let head = format!(
        "POST {API}requests/{uuid}/respond HTTP/1.1\r\nHost: localhost\r\nContent-Length: {LENGTH}\r\n\r\n"
    );
    // All but the last byte, for which the service waits.
    let body = "x".repeat(LENGTH - 1);
    let mut streams: Vec<_> = (0..24)
        .map(|_| {
            let mut stream = running.at.connect();
            stream.write_all(head.as_bytes()).unwrap();
            // One that is refused may be closed meanwhile.
            let _ = stream.write_all(body.as_bytes()).and_then(|()| stream.flush());
            stream
        })
        .collect();
    let mut statuses: Vec<String> = Vec::new();
    for stream in &mut streams {
        let _ = stream.write_all(b"x").and_then(|()| stream.flush());
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        statuses.push(String::from_utf8_lossy(&status[9..]).into_owned());
    }
    // 1 MiB of one address.
    let refused = statuses.iter().filter(|status| *status == "503").count();
    assert!((8..24).contains(&refused), "{statuses:?}");
    drop(streams);
    let path = format!("{API}requests/{uuid}/respond");
    wait_until("room", || running.at.send("POST", &path, "", &"x".repeat(LENGTH)).0 == 400);
}

#[test]
fn an_address_that_guesses_codes_has_to_wait_after_five() {
    let folder = tempfile::tempdir().unwrap();
    let running = reachable(folder.path());
    let invited = printed(folder.path(), &["user", "invite-device", "--user", "1", "--json"]);
    std::fs::write(folder.path().join("link"), object(&invited)["link"].as_str().unwrap()).unwrap();
    let link = std::fs::read_to_string(folder.path().join("link")).unwrap();
    let page = link.split_once('#').unwrap().0;
    for number in 0..6 {
        std::fs::write(folder.path().join("link"), format!("{page}#0000{number}-00000")).unwrap();
        let refused = enrol_again(folder.path(), "guess.json", error);
        let expected = if number < 5 { "invitation_unknown" } else { "too_many_tries" };
        assert!(refused.contains(expected), "{number}: {refused}");
    }
    // The limit is of the address, and its other requests go on.
    assert_eq!(running.at.send("GET", "/-/approver/", "", "").0, 200);
    wait_until("a line", || running.log().contains("path=/-/approver/api/devices"));
    assert!(!running.log().contains(link.split_once('#').unwrap().1));
}

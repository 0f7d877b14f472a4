//! Runs the examples in C as users do: with typed input, responses on a phone, and callbacks of a
//! service.

use super::tools::{Folder, PATIENCE, command, compile, eventually};
use seconder::engine::{
    ApprovalResponse, DeviceRegistered, DeviceType, RespondToApproval, operator::SetLimits,
};
use seconder::model::{ApiKey, Secret, UserId};
use seconder::otp::Totp;
use seconder::{Service, Settings};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::SystemTime;

/// A running program, which is killed when the test ends.
struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn start(program: &Path, arguments: &[&str]) -> Running {
        let mut child = command(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Running { input: child.stdin.take(), output, child }
    }

    fn types(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Waits for its end. Returns whether it succeeded, and the rest of its output.
    fn ends(mut self) -> (bool, String) {
        drop(self.input.take());
        let status = eventually("the program ends", || self.child.try_wait().unwrap());
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        (status.success(), text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The login example with a new database, which this test has open too.
struct Login {
    folder: Folder,
    program: std::path::PathBuf,
    url: String,
    service: Service,
    user: UserId,
}

impl Login {
    fn new() -> Login {
        let folder = Folder::new();
        let program = compile("examples/login.c", &folder);
        let url = format!("sqlite:{}", folder.path().join("login.db").display());
        let service = seconder::open(&url).unwrap();
        let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
        Login { folder, program, url, service, user }
    }

    /// Starts the program, and types the password and this input.
    fn begin(&self, then: &str) -> Running {
        let mut running = Running::start(&self.program, &[&self.url]);
        running.types(&format!("ada\nanalytical engine\n{then}"));
        running
    }

    /// The code of the one message in the spool folder.
    fn code(&self) -> String {
        let spool = self.folder.path().join("login.spool");
        eventually("a message", || {
            let file = std::fs::read_dir(&spool).ok()?.flatten().map(|file| file.path());
            let message =
                file.into_iter().find(|path| path.extension().is_some_and(|e| e == "txt"));
            let text = std::fs::read_to_string(message?).ok()?;
            text.lines().find_map(|line| line.strip_prefix("Code: ")).map(str::to_owned)
        })
    }
}

#[track_caller]
fn lets_in(running: Running) {
    let (good, text) = running.ends();
    assert!(good && text.ends_with("Welcome.\n"), "{text}");
}

#[track_caller]
fn keeps_out(running: Running, because: &str) {
    let (good, text) = running.ends();
    assert!(!good && text.ends_with("Access denied.\n") && !text.contains("Welcome"), "{text}");
    assert!(text.contains(because), "{text}");
}

#[test]
fn a_code_by_sms_logs_in_once() {
    let login = Login::new();
    let mut running = login.begin("sms\n");
    let code = login.code();
    running.types(&format!("../sms\n{code}{code}{code}{code}{code}{code}\n{code}\n"));
    lets_in(running);
    keeps_out(login.begin(&format!("sms\n{code}\n")), "That is not the code.");
}

#[test]
fn a_login_is_rate_limited_after_wrong_codes() {
    let login = Login::new();
    let mut running = login.begin("sms\n");
    let wrong = if login.code() == "0000000" { "0000001" } else { "0000000" };
    running.types(&format!("{wrong}\n{wrong}\n{wrong}\n"));
    keeps_out(running, "That is not the code.");
    // The next one is answered, and so is the one after it if the machine takes longer than the wait.
    keeps_out(login.begin(&format!("app\n{wrong}\n{wrong}\n{wrong}\n")), "Please wait ");
}

/// The number has had all messages that it gets, so no code was sent a moment ago. The code of the last one
/// is valid nevertheless.
#[test]
fn a_login_says_that_no_code_can_be_sent_and_takes_an_earlier_one() {
    let login = Login::new();
    let limits = SetLimits { limits: "number_10_minutes=1 cool_down=0".into() };
    login.service.operate(&limits).unwrap();
    let running = login.begin("sms\n");
    let code = login.code();
    keeps_out(running, "A code goes to");
    let (good, text) = login.begin(&format!("sms\n{code}\n")).ends();
    assert!(good && text.contains("We cannot send a code at the moment."), "{text}");
    assert!(!text.contains("moment ago"), "{text}");
}

#[test]
fn an_authenticator_code_logs_in() {
    let login = Login::new();
    let app = login.service.enrol_authenticator(login.user).unwrap();
    let code = Totp::from_uri(app.uri.expose()).unwrap().code(now());
    lets_in(login.begin(&format!("app\n{}\n", code.expose())));
    keeps_out(login.begin("app\n12345\n"), "Please type the digits");
}

#[test]
fn an_approval_on_the_phone_logs_in() {
    for (response, succeeds) in [(ApprovalResponse::Approve, true), (ApprovalResponse::Deny, false)]
    {
        let login = Login::new();
        let engine = login.service.engine().unwrap();
        let phone = engine.register_device(login.user, DeviceType::Ios).unwrap();
        let mut running = login.begin("push\n");
        let line = running.line();
        let (_, shown) = line.split_once("Please type ").expect(&line);
        let number = shown.strip_suffix(" on your phone.\n");
        respond_to_one(&login.service, &phone, response, number);
        match succeeds {
            true => lets_in(running),
            false => keeps_out(running, "denied on the phone"),
        }
    }
}

/// Waits for the approval request on a phone, and responds to it.
pub(super) fn respond_to_one(
    service: &Service,
    phone: &DeviceRegistered,
    response: ApprovalResponse,
    number: Option<&str>,
) {
    let engine = service.engine().unwrap();
    let request = eventually("an approval request", || {
        engine.open_approvals(phone.device_id, &phone.secret).unwrap().into_iter().next()
    });
    let (device_id, device_secret) = (phone.device_id, phone.secret.clone());
    // A request that is denied needs none.
    let number = number.filter(|_| response == ApprovalResponse::Approve).map(Secret::new);
    let response =
        RespondToApproval { uuid: request.uuid, device_id, device_secret, response, number };
    let _ = engine.respond_to_approval(&response).unwrap();
}

#[test]
fn a_login_fails_without_a_factor_a_password_or_a_service() {
    let login = Login::new();
    keeps_out(login.begin("stars\n"), "no such second factor");
    keeps_out(login.begin(""), "Second factor");
    let mut running = Running::start(&login.program, &[&login.url]);
    running.types("ada\nwrong\nsms\n0000000\n");
    keeps_out(running, "Password: ");
    let (good, text) = Running::start(&login.program, &["gopher://example.com"]).ends();
    assert!(!good && text.contains("out of order"), "{text}");
    let (good, text) = Running::start(&login.program, &["https://127.0.0.1:1", "key"]).ends();
    assert!(!good && text.contains("out of order") && text.ends_with("Access denied.\n"));
}

#[allow(clippy::disallowed_methods, reason = "the programs use the system's clock")]
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

const KEY: &str = "the-application-key";

#[test]
fn the_callback_example_accepts_only_signed_callbacks() {
    let folder = Folder::new();
    let program = compile("examples/callback.c", &folder);
    let mut running = Running::start(&program, &[KEY, "0", "6"]);
    let line = running.line();
    let url = line.trim().rsplit(' ').next().unwrap().to_owned();

    let database = format!("sqlite:{}", folder.path().join("service.db").display());
    let settings = Settings::new(&database).api_key(KEY).callback_url(url.as_str());
    let service = settings.open().unwrap();
    let user = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let phone = service.engine().unwrap().register_device(user, DeviceType::Android).unwrap();
    for (response, text) in
        [(ApprovalResponse::Approve, "approved"), (ApprovalResponse::Deny, "did not approve")]
    {
        let request = service.create_approval(user, "Log in?").unwrap();
        respond_to_one(&service, &phone, response, None);
        let line = running.line();
        assert_eq!(line, format!("User {user} {text} request {}.\n", request.uuid));
    }

    let (nonce, body) =
        (format!("{}.1", now()), r#"{"uuid":"a-1","status":"approved","svc_id":7}"#);
    let key: ApiKey = KEY.parse().unwrap();
    let signature = seconder::callback::sign(&key, &nonce, &url, body.as_bytes()).unwrap();
    let head = |signature: &str| {
        format!(
            "POST /callback HTTP/1.1\r\nHost: x\r\nX-Svc-Signature: {signature}\r\n\
             X-Svc-Signature-Nonce: {nonce}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
    };
    let host = url.strip_prefix("http://").unwrap().strip_suffix("/callback").unwrap();
    let forged = head(&signature.replace(|c: char| c.is_ascii_alphabetic(), "A"));
    assert_eq!(posted(host, &format!("{forged}{body}")), "401");
    assert_eq!(posted(host, &format!("{}{body}", head(&signature))), "200");
    assert_eq!(posted(host, &format!("{}{body}", head(&signature))), "401", "a replay");
    assert_eq!(posted(host, &head(&signature)), "400", "a body that never arrives");
    let (good, text) = running.ends();
    assert!(good && text.contains("received before"), "{text}");
}

/// Sends a request, and returns the status of the response.
fn posted(host: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response.split(' ').nth(1).unwrap_or_default().to_owned()
}

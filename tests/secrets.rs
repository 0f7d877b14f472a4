//! The API key and codes go to the service and nowhere else: not to another origin, not into errors
//! or `Debug`, and not into what the libraries beneath log when a program asks for every detail.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what fails here fails the test")]

mod stub;
#[path = "stub/tls.rs"]
mod tls;

use seconder::calls::CreateUser;
use seconder::wire::{Generation, Reply};
use seconder::{Handle, Service, Settings};
use std::cell::Cell;
use std::fmt::Write;
use std::sync::Mutex;
use stub::{KEY, RIGHT, Stub, TOKEN, response};
use tls::{Identity, params};

const PASSWORD: &str = "hidden-pass";
const PHONE: &str = "555-010-0199";

/// Everything that was logged on the threads that watch: other tests have services that repeat
/// secrets, in replies that a program may log.
struct Log(Mutex<String>);

thread_local! {
    static WATCHES: Cell<bool> = const { Cell::new(false) };
}

static LOG: Log = Log(Mutex::new(String::new()));

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if !WATCHES.get() {
            return;
        }
        let mut all = self.0.lock().unwrap();
        writeln!(all, "{} {} {}", record.level(), record.target(), record.args()).unwrap();
    }

    fn flush(&self) {}
}

/// What was logged as it is, and what rows of sixteen bytes in hexadecimal stand for.
fn logged() -> (String, String) {
    let all = LOG.0.lock().unwrap().clone();
    let mut bytes = Vec::new();
    for row in all.lines().filter_map(|line| line.split_once("util ")) {
        for pair in row.1.split(' ').take(8) {
            let byte = |at| u8::from_str_radix(pair.get(at..at + 2)?, 16).ok();
            bytes.extend([byte(0), byte(2)].into_iter().flatten());
        }
    }
    (all, String::from_utf8_lossy(&bytes).into_owned())
}

fn verify(service: &Service) -> String {
    let answer = service.verify(&TOKEN.parse().unwrap(), 1.try_into().unwrap());
    format!(
        "{answer:?} {service:?} {}",
        answer.as_ref().map_or_else(ToString::to_string, |_| String::new())
    )
}

/// Every secret that these tests know, as it is and in the Base64 of the proxy's header.
const SECRETS: [&str; 5] = [KEY, TOKEN, PASSWORD, "aGlkZGVu", PHONE];

#[test]
fn nothing_that_is_sent_is_logged_or_told() {
    WATCHES.set(true);
    log::set_logger(&LOG).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let identity = Identity::self_signed(params());
    let proxy = Stub::answering(response(407, "", ""));
    let mut told = String::new();
    for answer in [
        response(200, "", RIGHT),
        response(401, "", r#"{"message":"Invalid API key","error_code":"60001"}"#),
        response(503, "Retry-After: 9\r\n", "busy"),
        response(200, "", "<html>"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{".to_vec(),
        b"nothing of the kind".to_vec(),
        Vec::new(),
    ] {
        let stub = tls::start(identity.config(), move |mut peer| {
            peer.request();
            peer.send(&answer);
        });
        let settings = Settings::new(&format!("https://{}", stub.addr)).api_key(KEY);
        let settings = settings.pin(identity.pin());
        told += &format!("{settings:?}");
        told += &verify(&settings.clone().open().unwrap());
        told += &verify(&settings.clone().generation(Generation::Older).open().unwrap());
        let service = settings.clone().open().unwrap();
        let email = "ada@example.com".parse().unwrap();
        let user = CreateUser::new(email, PHONE.parse().unwrap(), "1".parse().unwrap());
        told += &format!("{:?}", service.handle(&user).map(|created| created.id));
        let proxy = format!("http://user:{PASSWORD}@{}", proxy.addr);
        told += &verify(&settings.proxy(proxy).open().unwrap());
        assert!(stub.asked().iter().all(|asked| asked.contains(KEY)), "{:?}", stub.asked());
    }
    assert!(proxy.asked().iter().all(|asked| !asked.contains(KEY)));
    is_logged_at_trace_alone(&identity);
    let (plain, bytes) = logged();
    assert!(plain.contains("ureq") && bytes.contains("HTTP/1.1 200 OK"), "{plain} {bytes}");
    for secret in SECRETS {
        assert!(!told.contains(secret), "{secret} is told: {told}");
        assert!(!plain.contains(secret), "{secret} is logged: {plain}");
        assert!(!bytes.contains(secret), "{secret} is logged in bytes: {bytes}");
    }
}

/// What a service tells in confidence is logged at one level of one library, as the documentation
/// of `Remote` says.
fn is_logged_at_trace_alone(identity: &Identity) {
    const TOLD: &str =
        r#"{"success":true,"otpauth_uri":"otpauth://totp/x?secret=JBSWY3DPEHPK3PXP"}"#;
    let stub = tls::start(identity.config(), |mut peer| {
        peer.request();
        peer.send(&response(200, "X-Told: JBSWY3DPEHPK3PXP\r\n", TOLD));
    });
    let settings = Settings::new(&format!("https://{}", stub.addr)).api_key(KEY);
    let service = settings.pin(identity.pin()).open().unwrap();
    let enrolled = format!("{:?}", service.enrol_authenticator(1.try_into().unwrap()));
    assert!(enrolled.starts_with("Ok(") && !enrolled.contains("JBSWY3DP"), "{enrolled}");
    let (plain, bytes) = logged();
    assert!(bytes.contains("secret=JBSWY3DPEHPK3PXP"), "{bytes}");
    let told = |line: &&str| line.contains("JBSWY3DP") || line.contains("4a42 5357");
    for line in plain.lines().filter(told) {
        assert!(line.starts_with("TRACE ureq_proto::"), "{line}");
    }
}

#[test]
fn debug_shows_neither_bodies_nor_urls() {
    let reply = Reply::new(200, serde_json::json!({"uri": KEY}));
    assert_eq!(format!("{reply:?}"), "Reply { status: 200, .. }");
    for url in ["https://host?api_key=", "https://user:", "nonsense "] {
        let settings = Settings::new(&format!("{url}{KEY}"));
        let shown = format!("{settings:?}");
        assert!(!shown.contains(KEY) && !shown.contains("host"), "{shown}");
    }
}

/// A service that repeats what it was sent, wherever an answer has room for it.
#[test]
fn no_error_repeats_what_was_sent() {
    let words = format!("{KEY} {TOKEN}");
    let rejection = format!(r#"{{"success":false,"message":"{words}","token":"{words}"}}"#);
    let fields = format!(r#"{{"errors":{{"{KEY}":"x","{TOKEN}":["y"],"z":"{words}"}}}}"#);
    let code = format!(r#"{{"errors":{{}},"error_code":"{KEY}"}}"#);
    for (status, host, body) in [
        (200, "", rejection.as_str()),
        (401, "", &rejection),
        (503, "", &rejection),
        (400, "", &fields),
        (400, "", &code),
        (404, "", &words),
        (302, KEY, ""),
        (302, TOKEN, ""),
    ] {
        let stub = Stub::answering(response(status, &format!("Location: //{host}.a/\r\n"), body));
        let settings = Settings::new(&stub.url()).api_key(KEY).allow_loopback_http(true);
        let service = settings.open().unwrap();
        let told = match service.verify(&TOKEN.parse().unwrap(), 1.try_into().unwrap()) {
            Err(error) => format!("{error:?} {error}"),
            Ok(verdict) => panic!("{verdict:?}"),
        };
        assert!(!told.contains(KEY) && !told.contains(TOKEN), "{told}");
        let number = TOKEN.parse::<u64>().unwrap().try_into().unwrap();
        let told = service.user_status(number).map(|_| ()).unwrap_err();
        let told = format!("{told:?} {told}");
        assert!(!told.contains(KEY) && !told.contains(TOKEN), "{told}");
    }
}

/// A program that takes for granted what did not happen ends with what it held in its panic's text.
#[test]
fn no_panic_of_a_program_tells_secrets() {
    for generation in [Generation::Current, Generation::Older] {
        let rejection = format!(r#"{{"success":false,"message":"{KEY} {TOKEN}"}}"#);
        let stub = Stub::answering(response(400, "", &rejection));
        let settings = Settings::new(&stub.url()).api_key(KEY).allow_loopback_http(true);
        let settings = settings.generation(generation);
        let service = settings.clone().open().unwrap();
        let key = seconder::model::Secret::new(KEY);
        let token: seconder::model::Token = TOKEN.parse().unwrap();
        let call = seconder::Verify::new(token.clone(), 1.try_into().unwrap());
        let refused = service.handle(&call);
        for ends in [
            &(|| drop(refused.clone().expect("let in"))) as &dyn Fn(),
            &|| panic!("{service:?}"),
            &|| panic!("{settings:?}"),
            &|| panic!("{key:?} {token:?} {call:?}"),
        ] {
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(ends)).unwrap_err();
            let told = panic.downcast_ref::<String>().unwrap();
            assert!(!told.contains(KEY) && !told.contains(TOKEN), "{told}");
        }
    }
}

#[test]
fn another_origin_gets_nothing() {
    let remote = Stub::answering(response(200, "", RIGHT));
    for status in [301, 302, 303, 307, 308] {
        for to in [remote.url(), format!("//{}", remote.addr), "/somewhere".to_owned()] {
            let stub = Stub::answering(response(status, &format!("Location: {to}/x\r\n"), ""));
            let settings = Settings::new(&stub.url()).api_key(KEY).allow_loopback_http(true);
            let told = verify(&settings.open().unwrap());
            assert!(told.contains("redirects") && !told.contains("/x"), "{told}");
            assert_eq!(stub.asked().len(), 1);
        }
    }
    assert_eq!(remote.connections(), 0);
}

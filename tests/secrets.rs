//! The API key and codes are sent to the service only: they reach no other origin, appear in no
//! error and no `Debug` output, and neither this library nor those below it log them, even at the
//! most detailed level.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

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

/// Everything that was logged on the threads that opted in: the stubs of other tests echo secrets.
struct Log(Mutex<String>);

thread_local! {
    static RECORDS: Cell<bool> = const { Cell::new(false) };
}

static LOG: Log = Log(Mutex::new(String::new()));

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if !RECORDS.get() {
            return;
        }
        let mut all = self.0.lock().unwrap();
        writeln!(all, "{} {} {}", record.level(), record.target(), record.args()).unwrap();
    }

    fn flush(&self) {}
}

/// Everything that a program can see of a verification, as text.
fn verify(service: &Service) -> String {
    let result = service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap());
    format!(
        "{result:?} {service:?} {}",
        result.as_ref().map_or_else(ToString::to_string, |_| String::new())
    )
}

/// The secrets of these tests. "aWRkZW4t" is how the key and the password begin in Base64.
const SECRETS: [&str; 6] = [KEY, TOKEN, PASSWORD, "aWRkZW4t", PHONE, "JBSWY3DP"];

#[test]
fn secrets_that_are_sent_appear_in_no_log_and_no_error() {
    RECORDS.set(true);
    log::set_logger(&LOG).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let identity = Identity::self_signed(params());
    let proxy = Stub::responding(response(407, "", ""));
    let mut shown = String::new();
    for bytes in [
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
            peer.send(&bytes);
        });
        let settings = Settings::new(&format!("https://{}", stub.addr)).api_key(KEY);
        let settings = settings.pin(identity.pin());
        shown += &format!("{settings:?}");
        shown += &verify(&settings.clone().open().unwrap());
        shown += &verify(&settings.clone().generation(Generation::Older).open().unwrap());
        let service = settings.clone().open().unwrap();
        let email = "ada@example.com".parse().unwrap();
        let user = CreateUser::new(email, PHONE.parse().unwrap(), "1".parse().unwrap());
        shown += &format!("{:?}", service.handle(&user).map(|created| created.user_id));
        let proxy = format!("http://user:{PASSWORD}@{}", proxy.addr);
        shown += &verify(&settings.proxy(proxy).open().unwrap());
        assert!(
            stub.requests().iter().all(|request| request.contains(KEY)),
            "{:?}",
            stub.requests()
        );
    }
    assert!(proxy.requests().iter().all(|request| !request.contains(KEY)));
    a_reply_does_not_show(&identity);
    log::info!("the log is recorded");
    let logged = LOG.0.lock().unwrap().clone();
    assert!(logged.contains("the log is recorded"), "{logged}");
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{secret} is shown: {shown}");
        assert!(!logged.contains(secret), "{secret} is logged: {logged}");
    }
    // A dump of bytes would hide them from the checks above.
    for target in ["http", "rustix"] {
        assert!(!logged.contains(target), "{target} logs: {logged}");
    }
    // Another crate of the same build may have turned on what rustls logs. It must not be what is
    // encrypted.
    for dump in SECRETS.iter().flat_map(|secret| dumps(secret)) {
        assert!(!logged.contains(&dump), "{dump} is logged: {logged}");
    }
}

/// How bytes are written by what dumps them.
fn dumps(secret: &str) -> [String; 3] {
    let all = |write: fn(&u8) -> String, between: &str| {
        secret.bytes().map(|byte| write(&byte)).collect::<Vec<_>>().join(between)
    };
    [
        all(|byte| format!("{byte:02x}"), ""),
        all(|byte| format!("{byte:02x}"), " "),
        all(|byte| byte.to_string(), ", "),
    ]
}

/// The secret of an authenticator app is in the reply.
fn a_reply_does_not_show(identity: &Identity) {
    const BODY: &str =
        r#"{"success":true,"otpauth_uri":"otpauth://totp/x?secret=JBSWY3DPEHPK3PXP"}"#;
    let stub = tls::start(identity.config(), |mut peer| {
        peer.request();
        peer.send(&response(200, "X-Secret: JBSWY3DPEHPK3PXP\r\n", BODY));
    });
    let settings = Settings::new(&format!("https://{}", stub.addr)).api_key(KEY);
    let service = settings.pin(identity.pin()).open().unwrap();
    let enrolled = format!("{:?}", service.enrol_authenticator(1.try_into().unwrap()));
    assert!(enrolled.starts_with("Ok(") && !enrolled.contains("JBSWY3DP"), "{enrolled}");
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

/// The stub echoes what it received in every field of a response that can end up in an error.
#[test]
fn errors_redact_secrets_that_the_service_echoes() {
    let echo = format!("{KEY} {TOKEN}");
    let rejection = format!(r#"{{"success":false,"message":"{echo}","token":"{echo}"}}"#);
    let fields = format!(r#"{{"errors":{{"{KEY}":"x","{TOKEN}":["y"],"z":"{echo}"}}}}"#);
    let code = format!(r#"{{"errors":{{}},"error_code":"{KEY}"}}"#);
    for (status, host, body) in [
        (200, "", rejection.as_str()),
        (401, "", &rejection),
        (503, "", &rejection),
        (400, "", &fields),
        (400, "", &code),
        (404, "", &echo),
        (302, KEY, ""),
        (302, TOKEN, ""),
    ] {
        let stub = Stub::responding(response(status, &format!("Location: //{host}.a/\r\n"), body));
        let settings = Settings::new(&stub.url()).api_key(KEY).allow_loopback_http(true);
        let service = settings.open().unwrap();
        let shown = match service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap()) {
            Err(error) => format!("{error:?} {error}"),
            Ok(verdict) => panic!("{verdict:?}"),
        };
        assert!(!shown.contains(KEY) && !shown.contains(TOKEN), "{shown}");
        let number = TOKEN.parse::<u64>().unwrap().try_into().unwrap();
        let error = service.user_status(number).map(|_| ()).unwrap_err();
        let shown = format!("{error:?} {error}");
        assert!(!shown.contains(KEY) && !shown.contains(TOKEN), "{shown}");
    }
}

/// A program that unwraps an error panics with its `Debug` output, which often ends up in a log.
#[test]
fn panic_messages_contain_no_secrets() {
    for generation in [Generation::Current, Generation::Older] {
        let rejection = format!(r#"{{"success":false,"message":"{KEY} {TOKEN}"}}"#);
        let stub = Stub::responding(response(400, "", &rejection));
        let settings = Settings::new(&stub.url()).api_key(KEY).allow_loopback_http(true);
        let settings = settings.generation(generation);
        let service = settings.clone().open().unwrap();
        let key: seconder::model::ApiKey = KEY.parse().unwrap();
        let token: seconder::model::Token = TOKEN.parse().unwrap();
        let call = seconder::Verify::new(1.try_into().unwrap(), token.clone());
        let result = service.handle(&call);
        for panics in [
            &(|| drop(result.clone().expect("verified"))) as &dyn Fn(),
            &|| panic!("{service:?}"),
            &|| panic!("{settings:?}"),
            &|| panic!("{key:?} {token:?} {call:?}"),
        ] {
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).unwrap_err();
            let text = panic.downcast_ref::<String>().unwrap();
            assert!(!text.contains(KEY) && !text.contains(TOKEN), "{text}");
        }
    }
}

#[test]
fn redirects_are_not_followed() {
    let remote = Stub::responding(response(200, "", RIGHT));
    for status in [301, 302, 303, 307, 308] {
        for to in [remote.url(), format!("//{}", remote.addr), "/somewhere".to_owned()] {
            let stub = Stub::responding(response(status, &format!("Location: {to}/x\r\n"), ""));
            let settings = Settings::new(&stub.url()).api_key(KEY).allow_loopback_http(true);
            let shown = verify(&settings.open().unwrap());
            assert!(shown.contains("redirects") && !shown.contains("/x"), "{shown}");
            assert_eq!(stub.requests().len(), 1);
        }
    }
    assert_eq!(remote.connections(), 0);
}

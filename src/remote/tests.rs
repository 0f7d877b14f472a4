//! Tests of the client with a service that misbehaves.

use super::loopback::{Canned, Loopback, ok, reply};
use crate::calls::{
    ActivityType, AppDetails, CreateApproval, CreateUser, RegisterActivity, RequestSms, Verify,
};
use crate::{Error, Handle, Service, Settings, Stage, Verdict};
use std::time::{Duration, Instant};

const KEY: &str = "hidden-key";
const TOKEN: &str = "7654321";
const RIGHT: &str = r#"{"token":"is valid","success":"true","message":"Token is valid."}"#;

fn settings(server: &Loopback) -> Settings {
    let settings = Settings::new(&server.url("/base/")).allow_loopback_http(true);
    settings.api_key(KEY).timeout(Duration::from_secs(5))
}

fn open(server: &Loopback) -> Service {
    settings(server).open().unwrap()
}

fn verify(service: &Service) -> crate::Result<Verdict> {
    service.verify(&TOKEN.parse().unwrap(), 1.try_into().unwrap())
}

/// The error of a verification, after checking that it shows neither the key nor the token.
fn error(canned: impl Fn() -> Canned + Send + 'static) -> Error {
    let server = Loopback::start(move |_| canned());
    let error = verify(&open(&server)).unwrap_err();
    for shown in [error.to_string(), format!("{error:?}")] {
        assert!(!shown.contains(KEY) && !shown.contains(TOKEN) && !shown.contains("/protected"));
    }
    error
}

fn is_invalid_response(error: Error, with: &str) {
    let text = error.to_string();
    assert!(matches!(error, Error::InvalidResponse { .. }) && text.contains(with), "{text}");
}

#[test]
fn a_get_carries_its_parameters_in_the_query_and_the_key_in_a_header() {
    let server = Loopback::start(|_| ok(RIGHT));
    let call = Verify { force: true, ..Verify::new(TOKEN.parse().unwrap(), 1.try_into().unwrap()) };
    assert_eq!(open(&server).handle(&call).unwrap().verdict, Verdict::Right);
    let request = server.request().to_lowercase();
    assert!(
        request.starts_with("get /base/protected/json/verify/7654321/1?force=true http/1.1\r\n")
    );
    assert!(request.contains("\r\nx-svc-api-key: hidden-key\r\n"), "{request}");
    assert!(request.contains(concat!(
        "\r\nuser-agent: seconder/",
        env!("CARGO_PKG_VERSION"),
        "\r\n"
    )));
    assert!(!request.contains("accept-encoding") && request.ends_with("\r\n\r\n"), "{request}");
}

#[test]
fn a_post_carries_a_form_and_a_push_carries_json() {
    let server = Loopback::start(|request| match request.contains("/push/") {
        true => ok(r#"{"success":true,"approval_request":{"uuid":"0a1b2c3d"}}"#),
        false => ok(r#"{"success":true,"user":{"id":7}}"#),
    });
    let service = open(&server);
    let email = "ada@example.com".parse().unwrap();
    let user = CreateUser::new(email, "555-010-0123".parse().unwrap(), "1".parse().unwrap());
    service.handle(&user).unwrap();
    let request = server.request();
    assert!(request.starts_with("POST /base/protected/json/users/new HTTP/1.1\r\n"), "{request}");
    assert!(
        request.to_lowercase().contains("\r\ncontent-type: application/x-www-form-urlencoded\r\n")
    );
    assert!(request.contains("\r\n\r\nuser[email]=ada%40example.com&"), "{request}");

    let push = CreateApproval::new(7.try_into().unwrap(), "Log in?".parse().unwrap());
    service.handle(&push).unwrap();
    let request = server.request();
    assert!(request.to_lowercase().contains("\r\ncontent-type: application/json\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"message\":\"Log in?\"}"), "{request}");
}

#[test]
fn free_objects_are_sent_unchanged() {
    let server = Loopback::start(|_| ok(r#"{"success":true}"#));
    let data = serde_json::json!({
        "n": 1, "0": "x", "a[b]": true, "": null, "list": [], "in": {"1": 2.5, "]": "&="},
    });
    let mut call = RegisterActivity::new(7.try_into().unwrap(), ActivityType::Banned);
    call.data = data.as_object().unwrap().clone();
    open(&server).handle(&call).unwrap();
    let request = server.request();
    assert!(request.to_lowercase().contains("\r\ncontent-type: application/json\r\n"), "{request}");
    let body = request.split_once("\r\n\r\n").unwrap().1;
    let sent: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(sent, serde_json::json!({"type": "banned", "data": data}));
}

#[test]
fn a_redirect_is_not_followed_and_the_key_goes_nowhere() {
    let remote = Loopback::start(|_| ok(RIGHT));
    for status in [301, 302, 303, 307, 308] {
        let to = remote.url("/protected/json/verify/7654321/1?api_key=hidden-key");
        let location = format!("Location: {to}\r\n");
        is_invalid_response(
            error(move || reply(status, &location, "")),
            "redirects to 127.0.0.1 (status 30",
        );
    }
    let back = remote.url("/");
    let server = Loopback::start(move |_| reply(307, &format!("Location: {back}\r\n"), "moved"));
    let push = CreateApproval::new(7.try_into().unwrap(), "Log in?".parse().unwrap());
    is_invalid_response(open(&server).handle(&push).unwrap_err(), "redirects");
    assert!(remote.is_untouched());
}

#[test]
fn responses_that_are_too_large_are_rejected() {
    is_invalid_response(
        error(|| ok(&format!("{RIGHT}{}", " ".repeat(1024 * 1024)))),
        "over 1048576 bytes",
    );
    is_invalid_response(
        error(|| reply(200, &format!("X: {}\r\n", "x".repeat(40_000)), RIGHT)),
        "headers",
    );
    is_invalid_response(error(|| reply(200, &"X: x\r\n".repeat(500), RIGHT)), "HTTP/1.1");
}

#[test]
fn a_response_that_trickles_in_ends_at_the_deadline() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n";
    for drip in [b" ".to_vec(), b"X: x\r\n".to_vec()] {
        let end = if drip == b" " { "\r\n" } else { "" };
        let first = format!("{head}{end}").into_bytes();
        let pause = Duration::from_millis(20);
        let pieces = move || [vec![first.clone()], vec![drip.clone(); 400]].concat();
        let server = Loopback::start(move |_| Canned { pieces: pieces(), pause });
        let service = settings(&server).timeout(Duration::from_millis(300)).open().unwrap();
        let started = Instant::now();
        let error = verify(&service).unwrap_err();
        assert!(started.elapsed() < Duration::from_millis(900), "{:?}", started.elapsed());
        assert!(matches!(error, Error::Unavailable { stage: Stage::Response, .. }), "{error}");
        assert!(error.timed_out() && error.to_string().contains("the deadline was exceeded"));
    }
}

#[test]
fn responses_that_are_not_of_the_interface_are_invalid() {
    is_invalid_response(error(|| ok("<html>is valid</html>")), "not JSON");
    is_invalid_response(error(|| ok("")), "not JSON");
    is_invalid_response(error(|| ok(r#"["is valid"]"#)), "not an object");
    is_invalid_response(error(|| reply(401, "", "Requires authentication")), "status 401");
    is_invalid_response(error(|| reply(403, "", "<html>")), "status 403");
    is_invalid_response(error(|| reply(204, "", "")), "");
    is_invalid_response(
        error(|| Canned { pieces: vec![b"SSH-2.0-x\r\n\r\n".to_vec()], pause: Duration::ZERO }),
        "HTTP",
    );
    let broken = format!("HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{RIGHT}").into_bytes();
    let error = error(move || Canned { pieces: vec![broken.clone()], pause: Duration::ZERO });
    assert!(matches!(error, Error::Unavailable { stage: Stage::Response, .. }), "{error}");
}

#[test]
fn statuses_of_a_proxy_before_the_service_are_understood() {
    for status in [429, 503] {
        let error = error(move || reply(status, "Retry-After: 7\r\n", "<html>busy</html>"));
        let wait = Some(Duration::from_secs(7));
        assert!(
            matches!(error, Error::RateLimited { retry_after, .. } if retry_after == wait),
            "{error}"
        );
    }
    // A 503 without a wait may come after the request went on to the service.
    for status in [500, 502, 503, 504] {
        let error = error(move || reply(status, "", "<html>down</html>"));
        assert!(matches!(error, Error::Unavailable { stage: Stage::Response, .. }), "{error}");
        assert!(!error.retry_safe(), "{error}");
    }
}

#[test]
fn a_connection_that_is_refused_is_safe_to_retry() {
    // While the socket is kept, no other process can listen on its port.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap().as_socket().unwrap());
    let service = Settings::new(&url).allow_loopback_http(true).api_key(KEY).open().unwrap();
    let error = verify(&service).unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Connect, .. }), "{error}");
    assert!(error.retry_safe() && error.to_string().contains("connection refused"), "{error}");
}

#[test]
fn a_connection_that_the_service_closed_is_replaced() {
    let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"success\":true}";
    let canned = || Canned { pieces: vec![reply.to_vec()], pause: Duration::ZERO };
    let server = Loopback::start(move |_| canned());
    let service = open(&server);
    for _ in 0..3 {
        service.handle(&RequestSms::new(1.try_into().unwrap())).unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn invalid_settings_are_rejected_before_anything_is_sent() {
    let server = Loopback::start(|_| ok(RIGHT));
    let parameter = |settings: Settings| match settings.open() {
        Err(Error::InvalidArgument { parameter, .. }) => parameter.into_owned(),
        other => panic!("{other:?}"),
    };
    let bare = || Settings::new(&server.url("")).allow_loopback_http(true);
    assert_eq!(parameter(bare()), "api_key");
    for key in ["", "key\n", "k ey", "kéy"] {
        assert_eq!(parameter(bare().api_key(key)), "api_key", "{key:?}");
    }
    assert_eq!(parameter(settings(&server).allow_loopback_http(false)), "url");
    assert_eq!(parameter(settings(&server).timeout(Duration::ZERO)), "timeout");
    assert_eq!(parameter(settings(&server).timeout(Duration::MAX)), "timeout");
    assert_eq!(parameter(Settings::new("https://a").api_key(KEY).ca_file("/nowhere")), "ca_file");
    assert!(server.is_untouched());
}

#[test]
fn the_key_does_not_show() {
    let server = Loopback::start(|_| {
        reply(401, "", r#"{"message":"Invalid API key","error_code":"60001"}"#)
    });
    let service = open(&server);
    assert!(!format!("{service:?} {:?}", settings(&server)).contains(KEY));
    let error = service.handle(&AppDetails::default()).unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
}

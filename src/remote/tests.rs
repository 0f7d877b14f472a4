//! Tests of the client with a service that misbehaves.

use super::loopback::{Canned, Loopback, ok, reply};
use crate::calls::{
    ActivityType, AppDetails, CreateApproval, CreateUser, Logo, RegisterActivity, RequestSms,
    Verify,
};
use crate::wire::Generation;
use crate::{Error, Handle, Service, Settings, Stage, Verdict};
use serde_json::json;
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
    service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap())
}

/// Returns the error of a verification, after checking that it shows neither the key nor the token.
fn error(canned: impl Fn() -> Canned + Send + Sync + 'static) -> Error {
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
    let call = Verify::new(1.try_into().unwrap(), TOKEN.parse().unwrap());
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

const CREATED: &str = r#"{"success":true,"approval_request":{"uuid":"0a1b2c3d"}}"#;
const FORM: &str = "\r\ncontent-type: application/x-www-form-urlencoded\r\n";
const JSON: &str = "\r\ncontent-type: application/json\r\n";

/// Returns the body of a request, whose head must say that it is of this type.
fn body_of(request: &str, media_type: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(format!("{head}\r\n").to_lowercase().contains(media_type), "{request}");
    body.to_owned()
}

fn map(value: serde_json::Value) -> serde_json::Map<String, serde_json::Value> {
    value.as_object().unwrap().clone()
}

fn push() -> CreateApproval {
    CreateApproval::new(7.try_into().unwrap(), "Log in?".parse().unwrap())
}

fn activity(data: serde_json::Value) -> RegisterActivity {
    let call = RegisterActivity::new(7.try_into().unwrap(), ActivityType::Banned);
    RegisterActivity { data: map(data), ..call }
}

#[test]
fn every_post_carries_a_form() {
    let server = Loopback::start(|request| match request.contains("/push/") {
        true => ok(CREATED),
        false => ok(r#"{"success":true,"user":{"id":7}}"#),
    });
    let service = open(&server);
    let email = "ada@example.com".parse().unwrap();
    let user = CreateUser::new(email, "555-010-0123".parse().unwrap(), "1".parse().unwrap());
    service.handle(&user).unwrap();
    let request = server.request();
    assert!(request.starts_with("POST /base/protected/json/users/new HTTP/1.1\r\n"), "{request}");
    assert!(body_of(&request, FORM).starts_with("user[email]=ada%40example.com&"), "{request}");

    let logo = |res: &str| Logo { res: res.into(), url: format!("https://a.example/{res}") };
    let call = CreateApproval {
        details: map(json!({"city": "Oslo & more", "seats": 2})),
        hidden_details: map(json!({"ip": "192.0.2.1", "none": null, "empty": "", "list": []})),
        logos: vec![logo("default"), logo("low")],
        seconds_to_expire: Some(0),
        ..push()
    };
    service.handle(&call).unwrap();
    let wanted = "message=Log%20in%3F&details[city]=Oslo%20%26%20more&details[seats]=2\
        &hidden_details[ip]=192.0.2.1&hidden_details[empty]=\
        &logos[0][res]=default&logos[0][url]=https%3A%2F%2Fa.example%2Fdefault\
        &logos[1][res]=low&logos[1][url]=https%3A%2F%2Fa.example%2Flow&seconds_to_expire=0";
    assert_eq!(body_of(&server.request(), FORM), wanted);

    let data = json!({"n": 1, "yes": true, "half": 2.5, "in": {"list": ["a", "b"]}});
    service.handle(&activity(data)).unwrap();
    let wanted = "type=banned&data[n]=1&data[yes]=true&data[half]=2.5\
        &data[in][list][0]=a&data[in][list][1]=b";
    assert_eq!(body_of(&server.request(), FORM), wanted);
}

#[test]
fn nested_data_is_sent_as_json_if_the_caller_asks_for_it() {
    let server = Loopback::start(|request| match request.contains("/push/") {
        true => ok(CREATED),
        false => ok(r#"{"success":true,"user":{"id":7}}"#),
    });
    let service = settings(&server).nested_as_json(true).open().unwrap();
    for data in [
        json!({
            "n": 1, "0": "x", "a[b]": true, "": null, "list": [], "in": {"1": 2.5, "]": "&="},
        }),
        json!({"n": 1}),
        json!({"n": null}),
        json!({"a][b": "x"}),
    ] {
        service.handle(&activity(data.clone())).unwrap();
        let sent: serde_json::Value =
            serde_json::from_str(&body_of(&server.request(), JSON)).unwrap();
        assert_eq!(sent, json!({"type": "banned", "data": data}));
    }
    service.handle(&CreateApproval { details: map(json!({"a": {"b": "c"}})), ..push() }).unwrap();
    let wanted = r#"{"message":"Log in?","details":{"a":{"b":"c"}}}"#;
    assert_eq!(body_of(&server.request(), JSON), wanted);

    // Parameters that a form carries unchanged are sent as a form, and so is every other parameter.
    service.handle(&activity(json!({"reason": "chargeback", "none": ""}))).unwrap();
    let wanted = "type=banned&data[reason]=chargeback&data[none]=";
    assert_eq!(body_of(&server.request(), FORM), wanted);
    let logos = vec![Logo { res: "default".into(), url: "u".into() }];
    let details = map(json!({"city": "Oslo"}));
    service.handle(&CreateApproval { logos, details, ..push() }).unwrap();
    body_of(&server.request(), FORM);
    let email = "ada@example.com".parse().unwrap();
    let user = CreateUser::new(email, "555-010-0123".parse().unwrap(), "1".parse().unwrap());
    service.handle(&user).unwrap();
    body_of(&server.request(), FORM);
}

#[test]
fn a_name_that_a_form_cannot_carry_is_rejected() {
    let server = Loopback::start(|_| ok(CREATED));
    for bad in [json!({"": 1}), json!({"a[b]": 1}), json!({"a": [{"b]": 1}]})] {
        let rejected = |error| match error {
            Error::InvalidArgument { parameter, reason } => {
                assert!(reason.contains("nested_as_json"), "{reason}");
                parameter.into_owned()
            }
            other => panic!("{other}"),
        };
        let service = open(&server);
        assert_eq!(rejected(service.handle(&activity(bad.clone())).unwrap_err()), "data");
        let call = CreateApproval { hidden_details: map(bad), ..push() };
        assert_eq!(rejected(service.handle(&call).unwrap_err()), "hidden_details");
    }
    assert!(server.is_untouched());
}

/// Interface 5.4: the calls of push approvals have the key in the header in every generation.
#[test]
fn in_the_older_generation_push_has_the_key_in_the_header() {
    let server = Loopback::start(|request| match request.contains("/push/") {
        true => ok(r#"{"success":true,"approval_request":{"uuid":"0a1b2c3d","status":"pending"}}"#),
        false => ok(r#"{"success":"SMS sent"}"#),
    });
    let service = settings(&server).generation(Generation::Older).open().unwrap();
    service.handle(&RequestSms::new(7.try_into().unwrap())).unwrap();
    let request = server.request();
    assert!(request.starts_with("GET /base/protected/json/sms/7?api_key=hidden-key HTTP/1.1\r\n"));
    assert!(!request.to_lowercase().contains("api-key:"), "{request}");

    service.handle(&push()).unwrap();
    let created = server.request();
    let path = "/base/push/json/users/7/approval_requests";
    assert!(created.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{created}");
    let _ = service.check_approval(&"0a1b2c3d".parse().unwrap()).unwrap();
    let checked = server.request();
    let path = "/base/push/json/approval_requests/0a1b2c3d";
    assert!(checked.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{checked}");
    for request in [created, checked] {
        assert!(request.to_lowercase().contains("\r\nx-svc-api-key: hidden-key\r\n"), "{request}");
        assert!(!request.contains("api_key"), "{request}");
    }
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
        let pieces = move || [vec![first.clone()], vec![drip.clone(); 600]].concat();
        let server = Loopback::start(move |_| Canned { pieces: pieces(), pause });
        let service = settings(&server).timeout(Duration::from_millis(300)).open().unwrap();
        let started = Instant::now();
        let error = verify(&service).unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
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
        server.wait_for_close();
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

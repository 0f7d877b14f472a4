//! Responses that no service of the interface sends. None of them lets a user in.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

mod stub;

use seconder::calls::Recognition;
use seconder::wire::Format;
use seconder::{Error, Result, Service, Settings, Verdict};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use stub::{KEY, RIGHT, Stub, TOKEN, in_time, response};

/// Enough for every response on a busy machine, and less than a stub goes on with an endless one.
const DEADLINE: Duration = Duration::from_secs(4);
/// By how much a response may make this process grow, in kilobytes: the client reads 1 MiB at most.
const GROWTH: u64 = 6 * 1024;
/// The same for bodies of many small values, which take more memory than their text.
const MANY: u64 = 32 * 1024;
const XML: &str = "<hash><token>is valid</token><success>true</success></hash>";

fn open(url: &str, format: Format) -> Service {
    let settings = Settings::new(url).allow_loopback_http(true).api_key(KEY).format(format);
    settings.timeout(DEADLINE).open().unwrap()
}

fn verify(url: &str, format: Format) -> Result<Verdict> {
    open(url, format).verify(1.try_into().unwrap(), &TOKEN.parse().unwrap())
}

/// A name for the case, the response, the kind of error it must cause, and a part of the message.
type Case = (&'static str, Vec<u8>, Kind, &'static str);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    InvalidResponse,
    RateLimited,
    Rejected,
    Unauthorized,
    Unavailable,
}

fn kind(error: &Error) -> Option<Kind> {
    match error {
        Error::InvalidResponse { .. } => Some(Kind::InvalidResponse),
        Error::RateLimited { .. } => Some(Kind::RateLimited),
        Error::Rejected(_) => Some(Kind::Rejected),
        Error::Unauthorized { .. } => Some(Kind::Unauthorized),
        Error::Unavailable { .. } => Some(Kind::Unavailable),
        _ => None,
    }
}

fn body(name: &'static str, body: &str, part: &'static str) -> Case {
    (name, response(200, "Content-Type: application/json\r\n", body), Kind::InvalidResponse, part)
}

fn headers(name: &'static str, headers: &str, part: &'static str) -> Case {
    (name, response(200, headers, RIGHT), Kind::InvalidResponse, part)
}

fn raw(name: &'static str, bytes: impl AsRef<[u8]>, part: &'static str) -> Case {
    (name, bytes.as_ref().to_vec(), Kind::InvalidResponse, part)
}

/// A gzip stream of 10 kB that expands to 10 MB: each zero bit means "258 bytes more".
fn bomb() -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    bytes.extend([0xed, 0xc1, 1, 1, 0, 0, 0, 0x80, 0x90, 0xfe, 0xaf, 0xee, 8, 10]);
    bytes.extend(vec![0; 10_000]);
    bytes
}

fn bodies() -> Vec<Case> {
    let nested = format!(r#"{{"answer":{RIGHT}}}"#);
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let utf16: Vec<u8> = RIGHT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin =
        RIGHT.replace("valid.", "valid\u{fe}.").chars().map(|c| c as u8).collect::<Vec<_>>();
    vec![
        body("empty", "", "not JSON"),
        body("null", "null", "not an object"),
        body("true", "true", "not an object"),
        body("a text", r#""is valid""#, "not an object"),
        body("a number", "1e999", "not an object"),
        body("an array", &format!("[{RIGHT}]"), "not an object"),
        body("an array of words", r#"["is valid"]"#, "not an object"),
        body("no fields", "{}", "token"),
        body("nested", &nested, "token"),
        body("truncated", &RIGHT[..RIGHT.len() - 1], "not JSON"),
        body("twice", &format!("{RIGHT}{RIGHT}"), "not JSON"),
        body("a field twice", &RIGHT.replace('{', r#"{"token":"is invalid","#), ""),
        body("deep", &deep, "not JSON"),
        body("HTML", "<html><body>\"token\":\"is valid\"</body></html>", "not JSON"),
        body("HTML after a valid body", &format!("{RIGHT}<html>"), "not JSON"),
        body("JavaScript", &format!("answer({RIGHT})"), "not JSON"),
        body("a prefix", r#"{"token":"is","success":"true"}"#, "token"),
        body("capitals", r#"{"token":"IS VALID","success":"true"}"#, "token"),
        body("a line feed", r#"{"token":"is valid\n","success":"true"}"#, "token"),
        body("a NUL", r#"{"token":"is valid\u0000","success":"true"}"#, "token"),
        body("a list", r#"{"token":["is valid"],"success":"true"}"#, "token"),
        body("success is the text false", r#"{"token":"is valid","success":"false"}"#, "token"),
        body("success is false", r#"{"token":"is valid","success":false}"#, "token"),
        body("success is 1", r#"{"token":"is valid","success":1}"#, "token"),
        body("success is True", r#"{"token":"is valid","success":"True"}"#, "token"),
        body("success is null", r#"{"token":"is valid","success":null}"#, "token"),
        body("no token", r#"{"success":true}"#, "token"),
        raw("UTF-16", response(200, "", utf16), "not JSON"),
        raw("Latin-1", response(200, "", latin), "not JSON"),
        raw(
            "two byte order marks",
            response(200, "", format!("\u{feff}\u{feff}{RIGHT}")),
            "not JSON",
        ),
        raw(
            "10 MB",
            response(200, "", format!("{RIGHT}{}", " ".repeat(10_000_000))),
            "1048576 bytes",
        ),
        raw("a bomb", response(200, "Content-Encoding: gzip\r\n", bomb()), "compressed"),
        raw("a bomb without Content-Encoding", response(200, "", bomb()), "not JSON"),
    ]
}

fn xml() -> Vec<Case> {
    let within = |declared: &str, token: &str| {
        format!("{declared}<hash><token>{token}</token><success>true</success></hash>")
    };
    let lol = |from: &str, to: &str| format!("<!ENTITY {to} \"{}\">", from.repeat(10));
    let laughs: String = ["&a;", "&b;", "&c;", "&d;"]
        .iter()
        .zip(["b", "c", "d", "e"])
        .map(|(from, to)| lol(from, to))
        .collect();
    let laughs = format!("<!DOCTYPE hash [<!ENTITY a \"is valid\">{laughs}]>");
    let outside = "<!DOCTYPE hash [<!ENTITY x SYSTEM \"file:///etc/hostname\">]>";
    let deep = format!("<hash>{}{}</hash>", "<a>".repeat(70_000), "</a>".repeat(70_000));
    let many = format!("<hash><token {}>is valid</token></hash>", "a=\"\" ".repeat(100_000));
    let utf16: Vec<u8> = XML.encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        body("empty", "", "not the XML"),
        body("JSON", RIGHT, "not the XML"),
        body("HTML", &format!("<html><body>{XML}</body></html>"), "not the XML"),
        body("a document type", &within("<!DOCTYPE hash>", "is valid"), "document types"),
        body("an entity", &within("<!DOCTYPE hash [<!ENTITY v \"is valid\">]>", "&v;"), "allowed"),
        body("an undefined entity", &within("", "&v;"), "unknown entity"),
        body("an entity from a file", &within(outside, "&x;"), "allowed"),
        body("a billion laughs", &within(&laughs, "&e;"), "allowed"),
        body("an instruction", &within("<?php echo ?>", "is valid"), "allowed"),
        body(
            "an element twice",
            &XML.replace("<success>", "<token>x</token><success>"),
            "duplicate",
        ),
        body(
            "nested",
            &format!("<hash><answer>{}</answer></hash>", &XML[6..XML.len() - 7]),
            "token",
        ),
        body("two roots", &format!("{XML}{XML}"), "more than one"),
        body("truncated", &XML[..XML.len() - 1], "not the XML"),
        body("deep", &deep, "too deep"),
        body("many attributes", &many, "not the XML"),
        body("success is the text false", &XML.replace("true", "false"), "token"),
        body("a list", &XML.replace("<token>", "<token type=\"array\">"), "token"),
        raw("UTF-16", response(200, "", utf16), "not the XML"),
        raw(
            "10 MB",
            response(200, "", format!("{XML}{}", " ".repeat(10_000_000))),
            "1048576 bytes",
        ),
    ]
}

fn heads() -> Vec<Case> {
    let many = "X: x\r\n".repeat(5_000);
    let long = format!("X: {}\r\n", "x".repeat(1_000_000));
    vec![
        headers("many headers", &many, ""),
        headers("a long header", &long, "headers"),
        headers("a false claim of gzip", "Content-Encoding: gzip\r\n", "compressed"),
        headers("a false claim of brotli", "Content-Encoding: br\r\n", "compressed"),
        headers("two encodings", "Content-Encoding: identity, gzip\r\n", "compressed"),
        headers("a second length", "Content-Length: 1\r\n", "HTTP"),
        headers("a length and chunks", "Transfer-Encoding: chunked\r\n", "HTTP"),
        headers("a header without a colon", "no colon\r\n", "HTTP"),
        raw(
            "chunks, and a length",
            chunked(&format!("{:x}\r\n{RIGHT}\r\n0\r\n\r\n", RIGHT.len())).replacen(
                "\r\n",
                "\r\nContent-Length: 5\r\n",
                1,
            ),
            "both Content-Length and",
        ),
        raw("a negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}", "HTTP"),
        raw("a length in words", "HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n{}", "HTTP"),
        raw("a chunk too large", chunked("ffffffffffffffffff\r\n"), "HTTP"),
        raw("a chunk in words", chunked("ten\r\n"), "HTTP"),
        raw(
            "chunks of 10 MB",
            chunked(&format!("989680\r\n{}", " ".repeat(10_000_000))),
            "1048576",
        ),
        raw("no status", "HTTP/1.1 OK\r\n\r\n", "HTTP"),
        raw("HTTP/2", "HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP"),
        raw("HTTP/0.9", RIGHT, "HTTP"),
        raw("another protocol", "220 mail.example.com ESMTP\r\n", "HTTP"),
        raw("noise", [0xff; 4096], "HTTP"),
        ("nothing", Vec::new(), Kind::Unavailable, "closed the connection"),
    ]
}

/// Each status with the body of a right token (interface 7). Statuses that the interface does not
/// define are invalid responses, except those from 500 on: a proxy in front of a service sends
/// them, and RFC 9110, section 15, counts invalid status codes among them.
fn statuses() -> Vec<Case> {
    let case = |status: u16| {
        let (kind, part) = match status {
            300..400 => (Kind::InvalidResponse, "redirects"),
            204 => (Kind::InvalidResponse, "not JSON"),
            200..300 => (Kind::InvalidResponse, "the interface has no status"),
            401 => (Kind::Unauthorized, "api_key"),
            429 | 503 => (Kind::RateLimited, "Try again later"),
            400..500 => (Kind::Rejected, "Token is valid."),
            _ => (Kind::Unavailable, "check before you retry it"),
        };
        ("status", response(status, "", RIGHT), kind, part)
    };
    let codes = [201, 202, 204, 206, 226, 300, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403];
    let more =
        [404, 405, 407, 409, 410, 418, 422, 429, 451, 500, 501, 502, 503, 504, 511, 599, 999];
    codes.into_iter().chain(more).map(case).collect()
}

fn chunked(rest: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{rest}")
}

/// Resets the peak of this process's memory, and returns its present size in kilobytes.
fn reset() -> u64 {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    peak()
}

/// The peak of this process's memory since [`reset`], in kilobytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or_default()
}

/// Held by each test while it measures: memory belongs to the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// Checks that a case is the expected error, in time and in little memory, and without secrets.
fn is_rejected((name, bytes, wanted, part): Case, format: Format, growth: u64) {
    let stub = Stub::start(move |mut peer| {
        peer.request();
        peer.send(&bytes);
    });
    let (before, started) = (reset(), Instant::now());
    let error = verify(&stub.url(), format).expect_err(name);
    let (took, grew) = (started.elapsed(), peak().saturating_sub(before));
    let text = format!("{error} {error:?}");
    assert!(text.contains(part), "{name}: {text}");
    assert!(!text.contains(KEY) && !text.contains(TOKEN), "{name}: {text}");
    assert_eq!(kind(&error), Some(wanted), "{name}: {text}");
    assert!(took < DEADLINE && grew < growth, "{name}: {took:?}, {grew} kB");
    assert_eq!(stub.requests().len(), 1, "{name}");
}

#[test]
fn only_a_valid_response_lets_a_user_in() {
    let _alone = ALONE.lock();
    for body in [RIGHT.to_owned(), format!("\u{feff}{RIGHT}")] {
        let good = Stub::responding(response(200, "", body));
        assert_eq!(verify(&good.url(), Format::Json).unwrap(), Verdict::Right);
    }
    for case in [bodies(), heads(), statuses()].concat() {
        is_rejected(case, Format::Json, GROWTH);
    }
}

/// The same responses, with the body of a browser that is recognised in place of a right token.
#[test]
fn only_a_valid_response_recognises_a_browser() {
    let _alone = ALONE.lock();
    let body =
        format!("{:<1$}", r#"{"browser":"is recognised","svc_id":1,"success":true}"#, RIGHT.len());
    assert_eq!(body.len(), RIGHT.len(), "so that lengths in the cases stay right");
    let recognise = |bytes: Vec<u8>| {
        let stub = Stub::responding(bytes);
        let service = open(&stub.url(), Format::Json);
        service.recognise(1.try_into().unwrap(), &"a-token".into())
    };
    assert_eq!(recognise(response(200, "", &body)).unwrap(), Recognition::Recognised);
    let find = |bytes: &[u8]| bytes.windows(RIGHT.len()).position(|part| part == RIGHT.as_bytes());
    for (name, mut bytes, ..) in [bodies(), heads(), statuses()].concat() {
        while let Some(at) = find(&bytes) {
            bytes[at..at + RIGHT.len()].copy_from_slice(body.as_bytes());
        }
        let error = recognise(bytes).expect_err(name);
        assert!(!error.to_string().contains("a-token"), "{name}: {error}");
    }
}

#[test]
fn only_a_valid_xml_response_lets_a_user_in() {
    let _alone = ALONE.lock();
    let good = Stub::responding(response(200, "", XML));
    assert_eq!(verify(&good.url(), Format::Xml).unwrap(), Verdict::Right);
    for case in [xml(), heads()].concat() {
        is_rejected(case, Format::Xml, GROWTH);
    }
}

#[test]
fn a_body_of_many_values_uses_bounded_memory() {
    let _alone = ALONE.lock();
    let json = format!(r#"{{"token":[{}0],"success":"true"}}"#, "{},".repeat(100_000));
    is_rejected(body("many values", &json, "token"), Format::Json, MANY);
    let xml = format!("<hash><token type=\"array\">{}</token></hash>", "<a/>".repeat(80_000));
    is_rejected(body("many elements", &xml, "token"), Format::Xml, MANY);
}

#[test]
fn an_endless_response_is_abandoned_by_the_deadline() {
    let _alone = ALONE.lock();
    for (head, piece) in [
        ("HTTP/1.1 200 OK\r\n", "X: x\r\n"),
        ("HTTP/1.1 200 OK\r\nX: ", "xxxxxxxx"),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "        "),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "        "),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "8\r\n        \r\n"),
    ] {
        let stub = Stub::start(move |mut peer| {
            peer.request();
            peer.send(head.as_bytes());
            peer.drip(piece.repeat(1000).as_bytes(), Duration::ZERO);
        });
        let before = reset();
        let error = in_time(DEADLINE, || verify(&stub.url(), Format::Json).unwrap_err());
        let grew = peak().saturating_sub(before);
        assert!(
            matches!(error, Error::InvalidResponse { .. } | Error::Unavailable { .. }),
            "{error}"
        );
        assert!(grew < GROWTH, "{head}{piece}: {grew} kB");
    }
}

/// The HTTP library skips these, and would go on until the deadline.
#[test]
fn interim_responses_and_trailers_end_after_64_kib() {
    let _alone = ALONE.lock();
    let chunks = |end: &str| chunked(&format!("{:x}\r\n{RIGHT}\r\n0\r\n{end}", RIGHT.len()));
    let hints = "HTTP/1.1 103 Early Hints\r\nX: x\r\n\r\n";
    for (head, piece) in [
        (String::new(), hints),
        (String::new(), "HTTP/1.1 100 Continue\r\n\r\n"),
        (chunks(""), "X: x\r\n"),
    ] {
        for pause in [Duration::ZERO, Duration::from_millis(1)] {
            let (head, piece) = (head.clone(), piece.repeat(1024 / piece.len()));
            let stub = Stub::start(move |mut peer| {
                peer.request();
                peer.send(head.as_bytes());
                while peer.send(piece.as_bytes()) {
                    std::thread::sleep(pause);
                }
            });
            let error = verify(&stub.url(), Format::Json).unwrap_err();
            assert_eq!(kind(&error), Some(Kind::InvalidResponse), "{error}");
            let text = error.to_string();
            // Many that arrive at once look like one large head.
            let known = ["interim responses or trailers", "headers are too large"];
            assert!(known.iter().any(|part| text.contains(part)), "{text}");
        }
    }
    let some =
        format!("{}{}", hints.repeat(100), String::from_utf8(response(200, "", RIGHT)).unwrap());
    let trailers = chunks(&format!("{}\r\n", "X: x\r\n".repeat(1000)));
    for bytes in [some, trailers] {
        let stub = Stub::responding(bytes);
        assert_eq!(verify(&stub.url(), Format::Json).unwrap(), Verdict::Right);
    }
}

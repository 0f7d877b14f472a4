//! The stack and the descriptors that calls need are those that seconder-daemon(3) names.

use super::programs::{Program, Watch};
use super::services::Service;
use super::stub::response;
use super::tls::{self, Identity};
use super::tools::root;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};

/// What the page says, between these two texts.
fn documented(before: &str, after: &str) -> usize {
    let page = fs::read_to_string(root().join("man/seconder-daemon.3.in")).unwrap();
    let (_, rest) = page.split_once(before).unwrap_or_else(|| panic!("{before}"));
    rest.split_once(after).unwrap().0.trim().parse().unwrap()
}

/// Makes every call, and returns the number of descriptors between them.
fn makes_every_call(arguments: &[&str]) -> usize {
    let program = Program::build("tests/safety/stack.c", Watch::Unwatched);
    let outcome = program.outcome(arguments);
    assert!(outcome.good, "stack.c {arguments:?}: {}", outcome.text);
    assert!(!outcome.text.contains("response"), "the replies are read: {}", outcome.text);
    let last = outcome.text.lines().last().unwrap();
    last.split_once(' ').unwrap().1.parse().unwrap()
}

/// The library that the tests build is not optimised.
fn stack() -> String {
    documented("without optimisation needs", "KiB").to_string()
}

#[test]
fn the_stack_suffices_for_every_call_on_a_database() {
    let service = Service::sqlite();
    assert_eq!(makes_every_call(&[&service.url, &stack()]), documented("A database has", ","));
}

#[test]
fn the_stack_suffices_for_every_call_over_tls() {
    let identity = Identity::self_signed(tls::params());
    let stub = tls::start(identity.config(), |peer| {
        let mut stream = BufReader::new(peer.stream);
        while let Some((line, id)) = request(&mut stream) {
            let reply = response(200, &id, body(&line));
            if stream.get_mut().write_all(&reply).is_err() || stream.get_mut().flush().is_err() {
                return;
            }
        }
    });
    let (chain, _) = identity.files();
    let url = format!("https://{}", stub.addr);
    let descriptors = makes_every_call(&[&url, &stack(), chain.to_str().unwrap()]);
    assert_eq!(descriptors, 1, "the connection that is kept");
}

/// The first line of a request, whose body is read, and the line with its id. `None` once the connection is closed.
fn request(stream: &mut impl BufRead) -> Option<(String, String)> {
    let (mut first, mut line, mut id, mut length) =
        (String::new(), String::new(), String::new(), 0);
    stream.read_line(&mut first).ok().filter(|read| *read > 0)?;
    while stream.read_line(&mut line).ok()? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        } else if line.starts_with("seconder-request-id:") {
            id.clone_from(&line);
        }
        line.clear();
    }
    stream.take(length).read_to_end(&mut Vec::new()).ok()?;
    Some((first, id))
}

/// A reply to each call, with as much in it as services send.
fn body(request: &str) -> String {
    let has = |part: &str| request.contains(part);
    let reply = match () {
        () if has("/devices ") => r#""devices":[{"id":1,"type":"ios","created_at":1}]"#,
        () if has("/offline ") => {
            r#""authenticator_id":1,"digits":6,"period":30,"last_step":1,"first_step":2,"expires_at":60,"hash_key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","hashes":"AAAAAAAAAAA=""#
        }
        () if has("/logins/ada") => r#""svc_id":1,"login":"ada","devices":["ios"]"#,
        () if has("/browsers ") => r#""token":"a-token","expires_at":60"#,
        () if has("/browsers/recognise") => r#""browser":"is recognised","svc_id":1"#,
        () if has("/users/new") => r#""user":{"id":1}"#,
        () if has("/verify/") || has("/confirm") => {
            r#""token":"is valid","device":{"id":1,"city":"Vienna"}"#
        }
        () if has("/secret") => {
            r#""label":"a","issuer":"b","qr_code":"data:image/png;base64,AAAA","uri":"otpauth://totp/b:a?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=b&algorithm=SHA1&digits=6&period=30""#
        }
        () if has("verification/status") => r#""status":"pending","seconds_to_expire":600"#,
        () if has("/status") => {
            r#""status":{"svc_id":1,"confirmed":true,"registered":true,"devices":["ios"],"has_hard_token":false,"account_disabled":false,"country_code":1,"phone_number":"XXX-XXX-0123","factors":{"sms":true,"authenticators":[{"id":"1","confirmed":true,"label":"a","created_at":1}],"devices":[{"id":1,"type":"ios","created_at":1}],"recovery_codes":1}}"#
        }
        () if has("approval_requests") => {
            r#""approval_request":{"uuid":"a-1","svc_id":1,"status":"approved","message":"m","details":{"a":{"b":[1]}},"hidden_details":{},"logos":[]}"#
        }
        () if has("app/details") => {
            r#""app":{"app_id":1,"name":"a","plan":"p","sms_enabled":true,"phone_calls_enabled":true,"onetouch_enabled":true,"white_label":false}"#
        }
        () if has("app/stats") => {
            r#""count":1,"total_users":1,"app_id":1,"stats":[{"month":"May","year":2026,"sms_count":1,"users_count":1,"auths_count":1,"calls_count":1,"api_calls_count":1}]"#
        }
        () if has("phones/info") => r#""type":"cellphone","provider":"Unknown","ported":false"#,
        () => {
            r#""cellphone":"+1-XXX-XXX-XX23","carrier":"","is_cellphone":true,"is_ported":false,"seconds_to_expire":600,"uuid":"u-1""#
        }
    };
    format!(r#"{{{reply},"message":"m","success":true}}"#)
}

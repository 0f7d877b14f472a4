//! What a provider responds, and what becomes of the message.

use crate::http_provider::*;
use seconder::engine::Outcome;
use serde_json::{Value, json};
use std::time::Duration;

/// What becomes of a message after this response.
fn after(status: u16, headers: &str, body: &str, settings: Value) -> Outcome {
    always(status, headers, body).gateway(settings).send(&message())
}

fn kind(status: u16, body: &str, settings: Value) -> &'static str {
    shown(&after(status, "", body, settings)).0
}

#[test]
fn a_message_is_sent_as_the_settings_say() {
    let provider = always(201, "X-Id: m-1\r\n", "{}");
    let gateway = provider.gateway(json!({
        "url": format!("{}/v1/{{{{to}}}}?from={{{{from}}}}&key={{{{password}}}}", provider.origin),
        "method": "PUT", "username": "u", "password": "p/w", "id_header": "X-Id",
        "headers": {"X-Channel": "{{channel}}", "X-Empty": "", "Accept": "text/plain"},
        "body": {"To": "{{to_digits}}", "Text": "{{text}}", "a b": "c&d", "None": ""},
    }));
    assert_eq!(gateway.send(&message()), Outcome::Sent(Some("m-1".into())));
    let request = provider.request();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let target = "PUT /v1/%2B15550100123?from=Ex%20%26%20Ample&key=p%2Fw HTTP/1.1\r\n";
    assert!(head.starts_with(target), "{head}");
    for line in [
        "authorization: Basic dTpwL3c=",
        "x-channel: sms",
        "accept: text/plain",
        "idempotency-key: 00112233445566aa",
        "content-type: application/x-www-form-urlencoded",
    ] {
        assert!(head.lines().any(|found| found.eq_ignore_ascii_case(line)), "{line}: {head}");
    }
    assert!(!head.to_lowercase().contains("x-empty"), "{head}");
    let text = "Your%20code%20for%20Ex%20%26%20Ample%20is%204815162.%20Do%20not%20share%20it.";
    assert_eq!(body, format!("To=15550100123&Text={text}&a%20b=c%26d"));
}

#[test]
fn each_format_has_its_type() {
    for (format, body, wanted, sent) in [
        ("json", json!({"to": ["{{to}}"]}), "application/json", r#"{"to":["+15550100123"]}"#),
        (
            "xml",
            json!("<m>{{from}}</m>"),
            "application/xml; charset=utf-8",
            "<m>Ex &amp; Ample</m>",
        ),
        ("text", json!("{{from}}"), "text/plain; charset=utf-8", "Ex & Ample"),
        (
            "form",
            json!("from={{from}}"),
            "application/x-www-form-urlencoded",
            "from=Ex%20%26%20Ample",
        ),
    ] {
        let provider = always(200, "", "");
        let gateway = provider.gateway(json!({"format": format, "body": body, "token": "t0"}));
        assert_eq!(gateway.send(&message()), Outcome::Sent(None));
        let request = provider.request();
        assert!(request.contains(&format!("content-type: {wanted}\r\n")), "{request}");
        assert!(request.contains("authorization: Bearer t0\r\n"), "{request}");
        assert!(request.ends_with(&format!("\r\n\r\n{sent}")), "{request}");
    }
}

#[test]
fn the_status_decides_whether_another_attempt_is_made() {
    for (statuses, wanted) in [
        (&[200, 201, 202, 204, 299][..], "sent"),
        (&[301, 302, 304, 307, 308, 400, 401, 403, 404, 410, 422, 451][..], "permanent"),
        (&[408, 409, 425, 429, 500, 501, 503, 507][..], "retry"),
        (&[502, 504][..], "ambiguous"),
    ] {
        for status in statuses {
            // No body, as some of these statuses cannot have one.
            assert_eq!(kind(*status, "", json!({})), wanted, "{status}");
        }
    }
    assert_eq!(kind(409, "", json!({"permanent_status": "409", "retry_status": 500})), "permanent");
    assert_eq!(kind(404, "", json!({"permanent_status": "400", "retry_status": "404"})), "retry");
    assert_eq!(kind(200, "", json!({"success_status": "202"})), "ambiguous");
    assert_eq!(kind(304, "", json!({"success_status": "200, 304"})), "sent");
}

#[test]
fn a_provider_says_when_to_try_again() {
    let wait = |headers: &str| match after(429, headers, "", json!({})) {
        Outcome::Retry { after, .. } => after.map(|after| after.as_secs()),
        other => panic!("{other:?}"),
    };
    let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    assert_eq!(wait(""), None);
    assert_eq!(wait("Retry-After: 120\r\n"), Some(120));
    assert_eq!(wait(&format!("{date}Retry-After: Sun, 06 Nov 1994 08:50:07 GMT\r\n")), Some(30));
    assert_eq!(wait("Retry-After: soon\r\n"), None);
    assert_eq!(wait("Retry-After: 18446744073709551615\r\n"), Some(24 * 3600));
    let Outcome::Retry { after, .. } =
        after(503, "Retry-After: 7\r\n", "", json!({"retry_status": "503"}))
    else {
        panic!()
    };
    assert_eq!(after, Some(Duration::from_secs(7)));
}

#[test]
fn the_body_decides_where_the_settings_say_so() {
    let settings = || {
        json!({"success_pointer": "/parts/*/status", "success_value": "0",
            "permanent_codes": [4, "E9"], "retry_codes": ["1"]})
    };
    for (body, wanted) in [
        (r#"{"parts": [{"status": "0"}]}"#, "sent"),
        (r#"{"parts": [{"status": 0}, {"status": "0"}]}"#, "sent"),
        (r#"{"parts": [{"status": "0"}, {"status": "4"}]}"#, "ambiguous"),
        (r#"{"parts": [{"status": "4"}]}"#, "permanent"),
        (r#"{"parts": [{"status": "E9"}]}"#, "permanent"),
        (r#"{"parts": [{"status": 1}]}"#, "retry"),
        (r#"{"parts": [{"status": 77}]}"#, "retry"),
        (r#"{"parts": []}"#, "ambiguous"),
        ("{}", "ambiguous"),
        ("", "ambiguous"),
        ("<html>", "ambiguous"),
        (r#"{"parts": [{"status": "0"}"#, "ambiguous"),
    ] {
        assert_eq!(kind(200, body, settings()), wanted, "{body}");
    }
    assert_eq!(kind(500, r#"{"parts": [{"status": 4}]}"#, settings()), "permanent");
    let number = || {
        json!({"success_pointer": "/id", "number_status": "404", "number_codes": ["to"],
            "number_pointer": "/errors/*/field"})
    };
    for (status, body, wanted) in [
        (404, "", "number refused"),
        (400, r#"{"errors": [{"field": "to"}]}"#, "number refused"),
        (200, r#"{"id": "", "errors": [{"field": "to"}]}"#, "number refused"),
        (200, r#"{"id": 1, "errors": [{"field": "to"}]}"#, "sent"),
        (400, r#"{"errors": [{"field": "from"}]}"#, "permanent"),
    ] {
        assert_eq!(kind(status, body, number()), wanted, "{status} {body}");
    }
    assert_eq!(kind(400, r#"{"parts": [{"status": 1}]}"#, settings()), "retry");
    let any = || json!({"success_pointer": "/id"});
    assert_eq!(kind(200, r#"{"id": "x"}"#, any()), "sent");
    for nothing in [r#"{"id": ""}"#, r#"{"id": null}"#, r#"{"id": false}"#, r#"{"id": []}"#] {
        assert_eq!(kind(200, nothing, any()), "retry", "{nothing}");
    }
    let text = || json!({"success_text": "OK:"});
    assert_eq!(kind(200, "OK: 7", text()), "sent");
    assert_eq!(kind(200, "ERROR", text()), "retry");
}

#[test]
fn the_id_of_a_message_is_found_in_the_body() {
    let id = |body: &str| match after(200, "", body, json!({"id_pointer": "/m/0/id"})) {
        Outcome::Sent(id) => id,
        other => panic!("{other:?}"),
    };
    assert_eq!(id(r#"{"m": [{"id": "SM-1"}]}"#).as_deref(), Some("SM-1"));
    assert_eq!(id(r#"{"m": [{"id": 77}]}"#).as_deref(), Some("77"));
    // What is not an id is no reason to send the message again.
    for none in ["", "{}", r#"{"m": [{"id": "a\nb"}]}"#, r#"{"m": [{"id": {}}]}"#] {
        assert_eq!(id(none), None, "{none}");
    }
    for repeated in [CODE, TO, "15550100123", &"x".repeat(129)] {
        assert_eq!(id(&format!(r#"{{"m": [{{"id": "{repeated}"}}]}}"#)), None, "{repeated}");
    }
}

#[test]
fn the_reason_is_what_the_provider_says() {
    let reason = |status, body: &str, settings| shown(&after(status, "", body, settings)).1;
    let settings = || json!({"code_pointer": "/code", "reason_pointer": "/message"});
    let body = r#"{"code": 21211, "message": "The 'To' number is not valid"}"#;
    assert_eq!(
        reason(400, body, settings()),
        "status 400, code 21211: The 'To' number is not valid"
    );
    assert_eq!(
        reason(503, "Temporal failure, try again later.\n", json!({})),
        "status 503: Temporal failure, try again later."
    );
    assert_eq!(reason(500, "<html><body>Oops", json!({})), "status 500");
    let unauthorized = reason(401, "", json!({}));
    assert!(unauthorized.contains("DOES NOT ACCEPT THE CREDENTIALS"), "{unauthorized}");
}

#[test]
fn no_reason_has_a_secret_whatever_the_provider_repeats() {
    let provider = Provider::start(|number, request| {
        let status = [400, 401, 429, 500, 504, 200][number % 6];
        // All of the request in one line, as a text and in JSON.
        let line = request.replace(['\r', '\n'], " ");
        let body = json!({"error": line}).to_string();
        Reply::Bytes(response(status, "", if number < 6 { &body } else { &line }))
    });
    let url = format!("{}/{{{{to}}}}?code={{{{code}}}}&key=very-secret%2Fkey", provider.origin);
    for further in [json!({"reason_pointer": "/error"}), json!({})] {
        let mut settings = json!({"url": url, "username": "operator", "password": "pass word&1",
            "headers": {"X-Api-Key": "another-secret"}, "success_pointer": "/ok",
            "body": "to={{to}}&text={{text}}&password={{password}}"});
        for (name, value) in further.as_object().unwrap() {
            settings[name] = value.clone();
        }
        let gateway = provider.gateway(settings);
        for _ in 0..6 {
            let outcome = gateway.send(&message());
            let shown = format!("{outcome:?}");
            for secret in [
                CODE,
                "5550100123",
                "very-secret",
                "pass word",
                "pass%20word",
                "another-secret",
                "share",
                "b3BlcmF0b3I6",
                "operator",
            ] {
                assert!(!shown.contains(secret), "{secret} in {shown}");
            }
            assert!(shown.contains("status"), "{shown}");
        }
    }
}

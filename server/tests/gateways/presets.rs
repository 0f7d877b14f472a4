//! The presets: the requests that their providers document, and what their responses mean.

use crate::http_provider::*;
use seconder::callback::{Received, verify_parameters};
use seconder::calls::Channel;
use seconder_gateways::Outgoing;
use serde_json::json;

/// The line, the headers and the body of a request.
fn parts(request: &str) -> (&str, String, &str) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let (line, headers) = head.split_once("\r\n").unwrap();
    (line, format!("\r\n{headers}\r\n"), body)
}

fn header(request: &str, name: &str) -> String {
    let (_, headers, _) = parts(request);
    let found = headers.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    found.unwrap_or_else(|| panic!("{name} in {request}")).to_owned()
}

#[test]
fn twilio_gets_a_form_with_basic_authentication() {
    let created = r#"{"sid": "SM123", "status": "queued", "error_code": null}"#;
    let provider = always(201, "", created);
    let settings = json!({"gateway": "twilio", "account_sid": "AC1", "auth_token": "t",
        "base_url": provider.origin});
    assert_eq!(shown(&open(settings.clone()).send(&message())), ("sent", "SM123".into()));
    let request = provider.request();
    let (line, _, body) = parts(&request);
    assert_eq!(line, "POST /2010-04-01/Accounts/AC1/Messages.json HTTP/1.1");
    assert_eq!(header(&request, "authorization"), "Basic QUMxOnQ=");
    assert_eq!(
        body,
        "To=%2B15550100123&From=Ex%20%26%20Ample&Body=Your%20code%20for%20Ex%20%26%20\
        Ample%20is%204815162.%20Do%20not%20share%20it."
    );
    let mut with_service = settings;
    with_service["messaging_service_sid"] = json!("MG1");
    open(with_service).send(&Outgoing { from: "", ..message() });
    assert!(provider.request().contains("\r\n\r\nTo=%2B15550100123&MessagingServiceSid=MG1&Body="));
}

#[test]
fn the_errors_of_twilio_are_understood() {
    for (status, body, wanted) in [
        (
            400,
            r#"{"code": 21211, "message": "Invalid 'To' Phone Number: +1555010XXXX"}"#,
            "number refused",
        ),
        (400, r#"{"code": 21608, "message": "unverified"}"#, "permanent"),
        (401, r#"{"code": 20003, "message": "Authenticate"}"#, "permanent"),
        (429, r#"{"code": 20429, "message": "Too Many Requests"}"#, "retry"),
        (503, r#"{"code": 20503, "message": "Service unavailable"}"#, "retry"),
    ] {
        let provider = always(status, "", body);
        let gateway = open(json!({"gateway": "twilio", "account_sid": "AC1", "auth_token": "t",
            "base_url": provider.origin}));
        let (kind, reason) = shown(&gateway.send(&message()));
        assert_eq!(kind, wanted, "{reason}");
        assert!(reason.contains(", code 2"), "{reason}");
    }
}

#[test]
fn a_call_reads_the_digits_one_by_one() {
    let provider = always(201, "", r#"{"sid": "CA123"}"#);
    let gateway = open(json!({"gateway": "twilio-voice", "account_sid": "AC1", "auth_token": "t",
        "language": "en-GB", "base_url": format!("{}/", provider.origin)}));
    let message = Outgoing { channel: Channel::Call, text: "<Ex> & Co: 4815162.", ..message() };
    assert_eq!(shown(&gateway.send(&message)), ("sent", "CA123".into()));
    let request = provider.request();
    let (line, _, body) = parts(&request);
    assert_eq!(line, "POST /2010-04-01/Accounts/AC1/Calls.json HTTP/1.1");
    let twiml = body.split_once("&Twiml=").unwrap().1;
    let twiml = seconder::wire::form::unescape(twiml).unwrap();
    assert_eq!(
        twiml,
        "<Response><Say language=\"en-GB\" loop=\"3\">&lt;Ex&gt; &amp; Co: \
         4 … 8 … 1 … 5 … 1 … 6 … 2.</Say></Response>"
    );
}

#[test]
fn a_call_is_in_the_language_of_the_text_unless_the_route_has_another() {
    let provider = always(201, "", r#"{"sid": "CA123"}"#);
    let gateway = open(json!({"gateway": "twilio-voice", "account_sid": "AC1", "auth_token": "t",
        "base_url": provider.origin}));
    for (language, voice) in [("de-DE", "de-DE"), ("ar", "ar-XA"), ("en-GB", "en-GB")] {
        let text = "\u{631}\u{645}\u{632} 4815162.";
        let message = Outgoing { channel: Channel::Call, text, language, ..message() };
        assert_eq!(shown(&gateway.send(&message)), ("sent", "CA123".into()));
        let request = provider.request();
        let twiml = request.split_once("&Twiml=").unwrap().1;
        let twiml = seconder::wire::form::unescape(twiml).unwrap();
        let say = format!("<Response><Say language=\"{voice}\" loop=\"3\">");
        assert!(twiml.starts_with(&say), "{twiml}");
        assert!(twiml.contains("\u{632} 4 … 8 … 1 … 5 … 1 … 6 … 2."), "{twiml}");
    }
}

#[test]
fn vonage_says_in_the_body_what_became_of_each_part() {
    let part = |(number, status): (usize, &&str)| {
        format!(
            r#"{{"to": "15550100123", "message-id": "m{number}", "status": "{status}", "error-text": "no"}}"#
        )
    };
    for (parts, wanted) in [
        (vec!["0"], "sent"),
        (vec!["0", "0"], "sent"),
        (vec!["0", "1"], "ambiguous"),
        (vec!["1"], "retry"),
        (vec!["5"], "retry"),
        (vec!["10"], "retry"),
        (vec!["4"], "permanent"),
        (vec!["9"], "permanent"),
        (vec!["29"], "permanent"),
        (vec!["99"], "retry"),
        (vec![], "ambiguous"),
    ] {
        let found: Vec<String> = (1..).zip(&parts).map(part).collect();
        let body = format!(r#"{{"message-count": "1", "messages": [{}]}}"#, found.join(","));
        let provider = always(200, "", &body);
        let gateway = open(json!({"gateway": "vonage", "api_key": "k&1", "api_secret": "s=2",
            "base_url": provider.origin}));
        let (kind, detail) = shown(&gateway.send(&message()));
        assert_eq!(kind, wanted, "{parts:?}: {detail}");
        let request = provider.request();
        assert!(request.starts_with("POST /sms/json HTTP/1.1\r\n"), "{request}");
        assert!(!request.contains("authorization"), "{request}");
        for pair in [
            "api_key=k%261",
            "api_secret=s%3D2",
            "to=15550100123",
            "type=text",
            "client-ref=00112233445566aa",
        ] {
            assert!(request.contains(pair), "{pair}: {request}");
        }
        if kind == "sent" {
            assert_eq!(detail, ["m1", "m1 m2"][parts.len() - 1]);
        } else if !parts.is_empty() {
            assert!(detail.ends_with(": no"), "{detail}");
        }
        let unicode = Outgoing { text: "Код 4815162", ..message() };
        gateway.send(&unicode);
        assert!(provider.request().contains("type=unicode"));
    }
}

#[test]
fn messagebird_gets_json_with_its_own_authorization() {
    let provider = always(201, "", r#"{"id": "e8077d803532c0b5937c639b60216938"}"#);
    let gateway = open(json!({"gateway": "messagebird", "access_key": "live_1",
        "base_url": provider.origin}));
    let (kind, id) = shown(&gateway.send(&message()));
    assert_eq!((kind, id.as_str()), ("sent", "e8077d803532c0b5937c639b60216938"));
    let request = provider.request();
    let (line, _, body) = parts(&request);
    assert_eq!(line, "POST /messages HTTP/1.1");
    assert_eq!(header(&request, "authorization"), "AccessKey live_1");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        body,
        json!({"recipients": ["15550100123"], "originator": "Ex & Ample",
        "body": TEXT, "datacoding": "auto", "reference": ID})
    );
    let errors = r#"{"errors": [{"code": 25, "description": "Not enough balance"}]}"#;
    let provider = always(422, "", errors);
    let gateway = open(json!({"gateway": "messagebird", "access_key": "live_1",
        "base_url": provider.origin}));
    let (kind, reason) = shown(&gateway.send(&message()));
    assert_eq!((kind, reason.as_str()), ("permanent", "status 422, code 25: Not enough balance"));
}

#[test]
fn kannel_accepts_with_its_own_status() {
    for (status, body, wanted) in [
        (202, "0: Accepted for delivery", "sent"),
        (202, "3: Queued for later delivery", "sent"),
        (403, "Authorization failed for sendsms", "permanent"),
        (503, "Temporal failure, try again later.", "retry"),
        (200, "something else", "ambiguous"),
    ] {
        let provider = always(status, "", body);
        let gateway = open(json!({"gateway": "kannel", "base_url": provider.origin,
            "username": "tester", "password": "f o&o"}));
        let (kind, reason) = shown(&gateway.send(&message()));
        assert_eq!(kind, wanted, "{reason}");
        let request = provider.request();
        let line = parts(&request).0;
        assert_eq!(
            line,
            "GET /cgi-bin/sendsms?username=tester&password=f%20o%26o&\
            from=Ex%20%26%20Ample&to=%2B15550100123&charset=UTF-8&coding=0&text=Your%20code%20for%20\
            Ex%20%26%20Ample%20is%204815162.%20Do%20not%20share%20it.&dlr-mask=0 HTTP/1.1"
        );
        gateway.send(&Outgoing { text: "Код", ..message() });
        assert!(provider.request().contains("&coding=2&text=%D0%9A"));
    }
}

#[test]
fn a_webhook_is_signed_as_a_callback() {
    let provider = always(200, "", r#"{"id": "w-1"}"#);
    let url = format!("{}/hook?tenant=7", provider.origin);
    let key = "the-signing-key";
    let gateway = open(json!({"gateway": "webhook", "url": url, "signing_key": key}));
    let mut nonces = Vec::new();
    for _ in 0..2 {
        assert_eq!(shown(&gateway.send(&message())), ("sent", "w-1".into()));
        let request = provider.request();
        let (line, _, body) = parts(&request);
        assert_eq!(line, "POST /hook?tenant=7 HTTP/1.1");
        assert_eq!(header(&request, "idempotency-key"), ID);
        let signature = header(&request, "x-svc-signature");
        let nonce = header(&request, "x-svc-signature-nonce");
        let received =
            Received { url: &url, ..Received::post(body.as_bytes(), &signature, &nonce) };
        let found = verify_parameters(&key.parse().unwrap(), &received).unwrap();
        assert_eq!(found.get("code"), Some(&json!(CODE)));
        let sent: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            sent,
            json!({"id": ID, "channel": "sms", "to": TO, "from": "Ex & Ample",
            "text": TEXT, "code": CODE})
        );
        assert!(verify_parameters(&"another-key".parse().unwrap(), &received).is_err());
        assert!(nonce.split_once('.').unwrap().0.parse::<u64>().unwrap() > 1_700_000_000);
        nonces.push(nonce);
    }
    assert_ne!(nonces[0], nonces[1]);
}

//! Providers that fail, and networks that do.

use crate::http_provider::*;
use serde_json::json;
use std::net::TcpListener;

#[test]
fn nobody_who_listens_means_another_attempt() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gateway = open(json!({"gateway": "http", "url": format!("http://{address}/")}));
    let (kind, reason) = shown(&gateway.send(&message()));
    assert_eq!(kind, "retry", "{reason}");
}

#[test]
fn a_request_without_a_response_may_have_been_carried_out() {
    for (part, reply) in [
        ("nothing", ""),
        ("a part of the first line", "HTTP/1.1 2"),
        ("a part of the headers", "HTTP/1.1 200 OK\r\nContent-Le"),
        ("another protocol", "220 mail.example ESMTP\r\n\r\n"),
    ] {
        let provider = Provider::start(move |_, _| Reply::Last(reply.to_owned()));
        let (kind, reason) = shown(&provider.gateway(json!({})).send(&message()));
        assert_eq!(kind, "ambiguous", "{part}: {reason}");
        provider.request();
        assert_eq!(provider.unread(), 0, "{part}");
    }
}

#[test]
fn a_provider_that_hangs_is_waited_for_no_longer_than_the_timeout() {
    let provider = Provider::start(|_, _| Reply::Nothing);
    let (kind, reason) = shown(&provider.gateway(json!({"timeout": 1})).send(&message()));
    assert_eq!((kind, reason.as_str()), ("ambiguous", "no response within the timeout"));
    let slow = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{".to_owned();
    let provider = Provider::start(move |_, _| Reply::Bytes(slow.clone()));
    let settings = json!({"timeout": 1, "success_pointer": "/ok"});
    assert_eq!(shown(&provider.gateway(settings).send(&message())).0, "ambiguous");
}

#[test]
fn a_peer_that_never_finishes_tls_was_sent_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let gateway = open(json!({"gateway": "http", "url": url, "timeout": 1}));
    assert_eq!(shown(&gateway.send(&message())).0, "retry");
}

#[test]
fn an_incomplete_body_matters_only_where_the_body_decides() {
    for (what, reply) in [
        ("cut", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"ok\"".to_owned()),
        ("chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned()),
        ("large", response(200, "", &format!("{{\"ok\":\"{}\"}}", "x".repeat(64 * 1024)))),
    ] {
        let provider = Provider::start(move |_, _| Reply::Last(reply.clone()));
        let kind = |settings| shown(&provider.gateway(settings).send(&message())).0;
        assert_eq!(kind(json!({})), "sent", "{what}");
        assert_eq!(kind(json!({"success_pointer": "/ok"})), "ambiguous", "{what}");
        assert_eq!(kind(json!({"success_text": "ok"})), "ambiguous", "{what}");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let target = always(200, "", "");
    let location = format!("Location: {}/?secret=1\r\n", target.origin);
    for status in [301, 302, 303, 307, 308] {
        let provider = always(status, &location, "");
        let (kind, reason) = shown(&provider.gateway(json!({})).send(&message()));
        assert_eq!(kind, "permanent");
        assert!(reason.contains("a redirect to 127.0.0.1"), "{reason}");
        assert!(!reason.contains("secret"), "{reason}");
        provider.request();
        assert_eq!(provider.unread(), 0);
    }
    assert_eq!(target.unread(), 0);
}

#[test]
fn a_kept_connection_that_ends_does_not_send_a_message_twice() {
    // The second request on the connection is read, and gets no response.
    let provider = Provider::start(|number, _| match number {
        1 => Reply::Last(String::new()),
        _ => Reply::Bytes(response(200, "", "{}")),
    });
    let gateway = provider.gateway(json!({}));
    let kinds: Vec<&str> = (0..3).map(|_| shown(&gateway.send(&message())).0).collect();
    assert_eq!(kinds, ["sent", "ambiguous", "sent"]);
    assert_eq!(provider.unread(), 3);
}

#[test]
fn a_kept_connection_that_the_provider_has_closed_is_not_used() {
    let provider = Provider::start(|_, _| Reply::Last(response(200, "", "{}")));
    let gateway = provider.gateway(json!({}));
    for _ in 0..3 {
        let (kind, reason) = shown(&gateway.send(&message()));
        // The end of the connection may arrive after the next request was begun.
        assert!(kind == "sent" || kind == "ambiguous", "{reason}");
    }
    assert!(provider.unread() <= 3);
}

#[test]
fn what_a_header_or_a_path_cannot_hold_is_not_sent() {
    let provider = always(200, "", "");
    let url = format!("{}/{{{{text}}}}/send", provider.origin);
    let gateway = provider.gateway(json!({"url": url, "body": null}));
    for text in ["..", "."] {
        let message = seconder_gateways::Outgoing { text, ..message() };
        assert_eq!(shown(&gateway.send(&message)).0, "permanent", "{text}");
    }
    let gateway = provider.gateway(json!({"headers": {"X-Text": "{{text}}"}}));
    for text in ["a\r\nX-Injected: b", "a\n", "a\0b"] {
        let message = seconder_gateways::Outgoing { text, ..message() };
        let (kind, reason) = shown(&gateway.send(&message));
        assert_eq!(kind, "permanent");
        assert!(reason.contains("x-text cannot hold control characters"), "{reason}");
    }
    assert_eq!(provider.unread(), 0);
}

#[test]
fn a_provider_is_authenticated_by_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (provider, pem) = Provider::with_tls(|_, _| Reply::Bytes(response(200, "", "{}")));
    let (_, other_pem) = Provider::with_tls(|_, _| Reply::Nothing);
    let file = |name: &str, pem: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (right, wrong) = (file("right.pem", &pem), file("wrong.pem", &other_pem));
    let send = |url: &str, ca_file: Option<&str>| {
        shown(&provider.gateway(json!({"url": url, "ca_file": ca_file})).send(&message()))
    };
    assert_eq!(send(&provider.origin, Some(&right)).0, "sent");
    assert!(provider.request().starts_with("POST / HTTP/1.1\r\n"));
    let numeric = provider.origin.replace("localhost", "127.0.0.1");
    for (url, ca_file) in [
        (provider.origin.as_str(), Some(wrong.as_str())),
        (provider.origin.as_str(), None),
        // Another name than that of the certificate.
        (numeric.as_str(), Some(right.as_str())),
    ] {
        let (kind, reason) = send(url, ca_file);
        assert_eq!(kind, "retry", "{reason}");
        assert!(reason.contains("certificate"), "{reason}");
    }
    assert_eq!(provider.unread(), 0);
}

#[test]
fn a_certificate_with_the_defaults_of_openssl_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let (provider, pem) = Provider::with_certificate("localhost", is_ca, |_, _| Reply::Nothing);
    let file = folder.path().join("own.pem");
    std::fs::write(&file, pem).unwrap();
    let gateway = provider.gateway(json!({"ca_file": file.to_str().unwrap()}));
    let (kind, reason) = shown(&gateway.send(&message()));
    assert_eq!(kind, "retry", "{reason}");
    assert!(reason.starts_with("TLS failed: its certificate is for an authority"), "{reason}");
    assert!(reason.ends_with("Create one with `-addext basicConstraints=CA:FALSE`"), "{reason}");
}

#[test]
fn a_gateway_that_was_stopped_sends_nothing() {
    let provider = always(200, "", "");
    let gateway = provider.gateway(json!({}));
    assert_eq!(shown(&gateway.send(&message())).0, "sent");
    gateway.stop();
    assert_eq!(shown(&gateway.send(&message())).0, "retry");
    assert_eq!(provider.unread(), 1);
}

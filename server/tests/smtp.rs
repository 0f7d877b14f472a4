//! The gateway by SMTP, with a mail server of another implementation.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::name_server::NameServer;
use crate::peer::Peer;
use seconder::Settings;
use seconder::calls::Channel;
use seconder::engine::Outcome;
use seconder::remote::Dialer;
use seconder_gateways::{Gateway, Outgoing, Smtp};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{Builder, JoinHandle};
use tempfile::TempDir;

const PASSWORD: &str = "hunter2";
const TEXT: &str = "Your code is 48151";
/// A name that only the name server of a test knows.
const NAME: &str = "mail.example.test";

fn with(mut settings: Value, more: Value) -> Value {
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings
}

/// A gateway to a server without TLS, which waits long enough for a busy machine.
fn gateway(port: u64, settings: Value) -> Smtp {
    dialed_by(&Dialer::default(), port, settings)
}

fn dialed_by(dialer: &Dialer, port: u64, settings: Value) -> Smtp {
    let all = json!({"gateway": "smtp", "host": "127.0.0.1", "port": port, "tls": "none",
        "from": "Example <login@example.com>", "timeout": 60});
    Smtp::from_settings(with(all, settings).as_object().unwrap(), dialer).unwrap()
}

fn message(text: &str) -> Outgoing<'_> {
    let (id, to, channel) = ("00112233445566aa", "ada@example.net", Channel::Sms);
    let urls = seconder_gateways::Urls::default();
    Outgoing { id, to, text, language: "en", code: "48151", from: "", channel, urls }
}

fn send(gateway: &Smtp) -> Outcome {
    gateway.send(&message(TEXT))
}

fn sent() -> Outcome {
    Outcome::Sent(Some("4Q2w3r4t5y".to_owned()))
}

/// The reason of an attempt that may be repeated.
fn retry(outcome: Outcome) -> String {
    match outcome {
        Outcome::Retry { after: None, reason } => reason,
        other => panic!("{other:?}"),
    }
}

/// Files with a certificate, its key, and another certificate.
struct Certificates {
    _folder: TempDir,
    certificate: String,
    key: String,
    other: String,
}

fn certificates() -> Certificates {
    let folder = tempfile::tempdir().unwrap();
    let mut params =
        rcgen::CertificateParams::new(["localhost".to_owned(), NAME.to_owned()]).unwrap();
    params.subject_alt_names.push(rcgen::SanType::IpAddress("127.0.0.1".parse().unwrap()));
    let file = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).display().to_string()
    };
    let (key, other) = (rcgen::KeyPair::generate().unwrap(), rcgen::KeyPair::generate().unwrap());
    Certificates {
        certificate: file("certificate", params.self_signed(&key).unwrap().pem()),
        key: file("key", key.serialize_pem()),
        other: file("other", params.self_signed(&other).unwrap().pem()),
        _folder: folder,
    }
}

#[test]
fn a_message_arrives_as_an_e_mail() {
    let server = Peer::mail(&json!({}));
    let gateway = gateway(server.port(), json!({"subject": "{{code}} is your code"}));
    assert_eq!(send(&gateway), sent());
    let mail = &server.wait("message", 1)[0];
    assert_eq!(
        (&mail["mail_from"], &mail["hello"]),
        (&json!("login@example.com"), &json!("example.com"))
    );
    assert_eq!(mail["rcpt_tos"], json!(["ada@example.net"]));
    let content = mail["content"].as_str().unwrap();
    for line in [
        "From: Example <login@example.com>",
        "To: ada@example.net",
        "Subject: 48151 is your code",
        "Message-ID: <00112233445566aa@example.com>",
    ] {
        assert!(content.split("\r\n").any(|found| found == line), "{line} in {content}");
    }
    assert!(content.ends_with(&format!("\r\n\r\n{TEXT}\r\n")), "{content}");
}

#[test]
fn a_number_is_reached_by_the_address_that_its_provider_has() {
    let server = Peer::mail(&json!({}));
    let gateway = gateway(server.port(), json!({"to": "{{to_digits}}@sms.example.net"}));
    let number = Outgoing { to: "+15550100123", ..message("Ваш код 48151\n.\n") };
    assert_eq!(gateway.send(&number), sent());
    let mail = &server.wait("message", 1)[0];
    assert_eq!(mail["rcpt_tos"], json!(["15550100123@sms.example.net"]));
    let content = mail["content"].as_str().unwrap();
    let encoded = content.contains("quoted-printable") || content.contains("base64");
    assert!(encoded && content.is_ascii() && !content.contains("Subject"), "{content}");
}

#[test]
fn a_connection_is_used_again_and_replaced_when_the_server_has_closed_it() {
    let mut server = Peer::mail(&json!({}));
    let gateway = gateway(server.port(), json!({}));
    for _ in 0..3 {
        assert_eq!(send(&gateway), sent());
    }
    assert_eq!((server.wait("message", 3).len(), server.count("connected")), (3, 1));
    server.change(&json!({"drop": {"mail": 1}}));
    assert_eq!(send(&gateway), sent());
    assert_eq!((server.wait("message", 4).len(), server.count("connected")), (4, 2));
    gateway.stop();
    server.wait("quit", 1);
}

#[test]
fn the_status_says_whether_to_try_again() {
    let mut server = Peer::mail(&json!({}));
    let gateway = gateway(server.port(), json!({}));
    for step in ["mail", "rcpt", "data"] {
        server.change(&json!({step: "451 4.7.1 Try again later"}));
        let reason = retry(send(&gateway));
        assert_eq!(reason, "the mail server has refused the message: 451 4.7.1 Try again later");
        server.change(&json!({step: "550 5.1.1 No such user {to}, code 48151\u{7}"}));
        match send(&gateway) {
            Outcome::NumberRefused(reason) => {
                assert!(reason.contains("550 5.1.1 No such user"), "{reason}");
                assert!(!reason.contains("ada@example.net"), "{reason}");
                assert!(!reason.contains("48151") && !reason.contains('\u{7}'), "{reason}");
            }
            other => panic!("{other:?}"),
        }
        server.change(&json!({step: "550 5.1.15 Relay access denied"}));
        assert!(matches!(send(&gateway), Outcome::Permanent(_)));
        server.change(&json!({step: null}));
    }
    assert_eq!(send(&gateway), sent());
}

#[test]
fn a_server_that_lets_nobody_in_is_asked_again_later() {
    let server = Peer::mail(&json!({"greeting": "554 5.7.1 Not today"}));
    let reason = retry(send(&gateway(server.port(), json!({}))));
    assert_eq!(reason, "the mail server lets nobody in: 554 5.7.1 Not today");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let reason = retry(send(&gateway(port.into(), json!({}))));
    assert!(reason.starts_with("the mail server cannot be reached: "), "{reason}");
}

#[test]
fn a_message_may_have_been_sent_when_the_connection_is_lost_after_its_content() {
    let server = Peer::mail(&json!({"drop": {"data": 1}}));
    let gateway = gateway(server.port(), json!({}));
    let outcome = send(&gateway);
    assert!(matches!(outcome, Outcome::Ambiguous(_)), "{outcome:?}");
    assert_eq!(send(&gateway), sent());
    let messages = server.wait("message", 2);
    let id = |mail: &Value| {
        let content = mail["content"].as_str().unwrap();
        content.lines().find(|line| line.starts_with("Message-ID: ")).unwrap().to_owned()
    };
    assert_eq!(id(&messages[0]), id(&messages[1]));
}

#[test]
fn a_message_may_have_been_sent_when_the_server_does_not_respond() {
    let server = Peer::mail(&json!({"silent": true}));
    let gateway = gateway(server.port(), json!({"timeout": 5}));
    match send(&gateway) {
        Outcome::Ambiguous(reason) => {
            assert_eq!(reason, "the mail server did not respond in time");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_that_says_nothing_holds_up_an_attempt_no_longer_than_its_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let gateway = gateway(port.into(), json!({"timeout": 1}));
    assert_eq!(retry(send(&gateway)), "the mail server did not respond in time");
}

#[test]
fn only_some_connections_are_open_at_once() {
    let server = Peer::mail(&json!({}));
    let gateway = gateway(server.port(), json!({"connections": 2}));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..3).for_each(|_| assert_eq!(send(&gateway), sent())));
        }
    });
    assert_eq!(server.wait("message", 24).len(), 24);
    assert!((1..=2).contains(&server.count("connected")), "{}", server.count("connected"));
}

#[test]
fn tls_is_required_and_trusts_only_the_authority_that_is_set() {
    let files = certificates();
    for (tls, wrapper) in [("starttls", false), ("wrapper", true)] {
        let server = Peer::mail(&json!({"key": files.key, "certificate": files.certificate,
            "wrapper": wrapper, "user": "ada", "password": PASSWORD}));
        let settings = |ca_file: &str, password: &str| {
            gateway(
                server.port(),
                json!({"tls": tls, "ca_file": ca_file, "user": "ada", "password": password}),
            )
        };
        assert_eq!(send(&settings(&files.certificate, PASSWORD)), sent());
        let mail = &server.wait("message", 1)[0];
        assert_eq!((&mail["tls"], &mail["user"]), (&json!(true), &json!("ada")));
        let reason = retry(send(&settings(&files.other, PASSWORD)));
        assert!(reason.starts_with("TLS failed: "), "{reason}");
        let wrong = settings(&files.certificate, "hunter3");
        let reason = retry(send(&wrong));
        assert!(reason.starts_with("the mail server lets nobody in: 535"), "{reason}");
        assert!(!format!("{reason} {wrong:?}").contains("hunter"), "{reason}");
        assert_eq!(server.wait("login", 2).len(), 2);
    }
}

#[test]
fn the_host_is_resolved_by_the_name_servers_of_the_settings() {
    let names = NameServer::start(&[format!("--host-record={NAME},127.0.0.1")]);
    let dialer = Settings::new("sandbox:").name_server(names.address()).dialer().unwrap();
    let files = certificates();
    let server = Peer::mail(&json!({"key": files.key, "certificate": files.certificate}));
    let settings = json!({"host": NAME, "tls": "starttls", "ca_file": files.certificate});
    assert_eq!(send(&dialed_by(&dialer, server.port(), settings)), sent());
    assert_eq!(names.queries(NAME), 1);
    let unknown = json!({"host": "no.example.test", "tls": "starttls"});
    let reason = retry(send(&dialed_by(&dialer, server.port(), unknown)));
    assert!(reason.contains("the name could not be resolved"), "{reason}");
}

#[test]
fn servers_without_auth_plain_get_auth_login() {
    let files = certificates();
    let server = Peer::mail(&json!({"key": files.key, "certificate": files.certificate,
        "user": "ada", "password": PASSWORD, "without": ["PLAIN"]}));
    let settings = json!({"tls": "starttls", "ca_file": files.certificate, "user": "ada",
        "password": PASSWORD});
    assert_eq!(send(&gateway(server.port(), settings)), sent());
    assert_eq!(server.wait("login", 1)[0]["mechanism"], "LOGIN");
}

#[test]
fn nothing_is_sent_to_a_server_without_starttls() {
    let server = Peer::mail(&json!({}));
    let reason = retry(send(&gateway(server.port(), json!({"tls": "starttls"}))));
    assert_eq!(reason, "the mail server does not offer STARTTLS");
    assert_eq!(server.count("message"), 0);
}

/// A server that responds with these lines, each to one that it receives but for the first.
fn scripted(lines: Vec<&'static str>) -> (u64, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = move || {
        let (mut stream, _): (TcpStream, _) = listener.accept().unwrap();
        let mut received = BufReader::new(stream.try_clone().unwrap());
        for line in lines {
            // The client may have gone.
            let _ = stream.write_all(line.as_bytes());
            let _ = received.read_line(&mut String::new());
        }
    };
    (port.into(), Builder::new().spawn(serve).unwrap())
}

#[test]
fn what_was_written_before_starttls_does_not_count_as_the_servers() {
    let (port, server) = scripted(vec![
        "220 mail.test\r\n",
        "250-mail.test\r\n250 STARTTLS\r\n",
        "220 go ahead\r\n250-mail.test\r\n250 AUTH PLAIN\r\n",
    ]);
    let reason = retry(send(&gateway(port, json!({"tls": "starttls"}))));
    assert_eq!(reason, "something was received before STARTTLS");
    server.join().unwrap();
}

#[test]
fn whatever_a_server_responds_is_refused_or_understood() {
    for greeting in
        ["\r\n", "hello\r\n", "2\u{fffd}0\r\n", "100 wait\r\n", "999 no\r\n", "250 odd\r\n"]
    {
        let (port, server) = scripted(vec![greeting]);
        let gateway = gateway(port, json!({}));
        retry(send(&gateway));
        drop(gateway);
        server.join().unwrap();
    }
}

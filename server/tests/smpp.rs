//! The gateway by SMPP, with an SMSC of another implementation.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::name_server::NameServer;
use crate::peer::Peer;
use seconder::Settings;
use seconder::calls::Channel;
use seconder::engine::Outcome;
use seconder::remote::Dialer;
use seconder_gateways::{Delivery, Gateway, Outgoing, Receipt, Smpp, Urls};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PASSWORD: &str = "hunter2";
const NUMBER: &str = "+15550100123";

fn smsc(settings: Value) -> Peer {
    Peer::smsc(&with(json!({"password": PASSWORD}), settings))
}

fn with(mut settings: Value, more: Value) -> Value {
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings
}

/// A gateway to an SMSC, which waits long enough for a busy machine.
fn gateway(port: u64, settings: Value) -> Smpp {
    dialed_by(&Dialer::default(), port, settings)
}

fn dialed_by(dialer: &Dialer, port: u64, settings: Value) -> Smpp {
    let all = json!({"gateway": "smpp", "host": "127.0.0.1", "port": port, "system_id": "seconder",
        "password": PASSWORD, "timeout": 60});
    Smpp::from_settings(with(all, settings).as_object().unwrap(), dialer).unwrap()
}

fn message(text: &str) -> Outgoing<'_> {
    let (id, from, channel) = ("00112233445566aa", "Example", Channel::Sms);
    Outgoing {
        id,
        to: NUMBER,
        text,
        language: "en",
        code: "48151",
        from,
        channel,
        urls: Urls::default(),
    }
}

fn send(gateway: &Smpp, text: &str) -> Outcome {
    gateway.send(&message(text))
}

fn sent(id: &str) -> Outcome {
    Outcome::Sent(Some(id.to_owned()))
}

fn reason(outcome: Outcome) -> String {
    match outcome {
        Outcome::Retry { reason, .. } | Outcome::Permanent(reason) | Outcome::Ambiguous(reason) => {
            reason
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_arrive_as_they_were_written() {
    let smsc = smsc(json!({}));
    let gateway = gateway(smsc.port(), json!({"validity": 600}));
    let texts = ["Your code is 48151. @£€[]{}~ àéÖ", "Ваш код 48151", "رمزك هو 48151", "🔑 48151"];
    for (number, text) in (1..).zip(texts) {
        assert_eq!(send(&gateway, text), sent(&format!("m-{number}")));
    }
    let submits = smsc.wait("submit", texts.len());
    for ((submit, text), coding) in submits.iter().zip(texts).zip([0, 8, 8, 8]) {
        assert_eq!(submit["text"], text);
        assert_eq!(submit["coding"], coding);
        assert_eq!(
            (&submit["to"], &submit["destination"]),
            (&json!("15550100123"), &json!([1, 1]))
        );
        assert_eq!((&submit["from"], &submit["source"]), (&json!("Example"), &json!([5, 0])));
        assert_eq!((&submit["receipt"], &submit["parts"]), (&json!(1), &Value::Null));
        assert_eq!(submit["reference"], submits[0]["reference"]);
    }
    let binds = smsc.events("bind");
    assert_eq!((binds.len(), &binds[0]["command"]), (1, &json!("bind_transceiver")));
}

#[test]
fn long_texts_arrive_in_parts_that_phones_join() {
    let smsc = smsc(json!({}));
    let text = format!("{}€ 48151", "Your code is 48151. ".repeat(18));
    for (multipart, parts) in [("udh", 3), ("sar", 3), ("payload", 1)] {
        let gateway = gateway(smsc.port(), json!({"multipart": multipart}));
        let before = smsc.count("submit");
        let outcome = send(&gateway, &text);
        let submits = smsc.wait("submit", before + parts).split_off(before);
        let ids: Vec<_> = submits.iter().map(|submit| submit["id"].as_str().unwrap()).collect();
        assert_eq!(outcome, sent(&ids.join(" ")));
        let joined: String =
            submits.iter().map(|submit| submit["text"].as_str().unwrap()).collect();
        assert_eq!(joined, text, "{multipart}");
        for (number, submit) in (1..).zip(&submits).filter(|_| parts > 1) {
            let marks = &submit["parts"];
            assert_eq!((&marks["total"], &marks["part"]), (&json!(parts), &json!(number)));
            assert_eq!(marks["reference"], submits[0]["parts"]["reference"]);
            assert_eq!(submit["receipt"], 1);
        }
        assert_eq!(submits[0]["payload"], json!(multipart == "payload"));
    }
}

#[test]
fn a_part_that_is_refused_for_now_is_repeated_alone() {
    let smsc = smsc(json!({"accept": 1, "throttle": 2}));
    let gateway = gateway(smsc.port(), json!({}));
    assert_eq!(send(&gateway, &"a".repeat(200)), sent("m-1 m-4"));
    let submits = smsc.wait("submit", 4);
    let parts: Vec<_> = submits.iter().map(|submit| submit["parts"]["part"].as_u64()).collect();
    assert_eq!(parts, [Some(1), Some(2), Some(2), Some(2)]);
}

fn receipts(gateway: Smpp) -> (Smpp, Receiver<Receipt>) {
    let (give, take) = channel();
    let give = Mutex::new(give);
    gateway.set_receiver(Arc::new(move |receipt| give.lock().unwrap().send(receipt).is_ok()));
    (gateway, take)
}

#[test]
fn receipts_are_taken_and_acknowledged() {
    let mut smsc = smsc(json!({"receipts": "DELIVRD"}));
    let (gateway, receipts) = receipts(gateway(smsc.port(), json!({})));
    let failed = Delivery::Failed("UNDELIV, error 069".to_owned());
    let plain = Delivery::Failed("UNDELIV".to_owned());
    let cases = [
        ("DELIVRD", "tlv", Delivery::Delivered),
        ("DELIVRD", "text", Delivery::Delivered),
        ("UNDELIV", "text", failed),
        ("UNDELIV", "tlv", plain),
        ("ACCEPTD", "text", Delivery::Pending),
        ("FAILED", "text", Delivery::Failed("FAILED, error 069".to_owned())),
        ("DELIVRD", "ucs2", Delivery::Delivered),
        ("DELIVRD", "data", Delivery::Delivered),
        ("REJECTD", "data", Delivery::Failed("REJECTD, error 069".to_owned())),
    ];
    for (number, (state, style, expected)) in (1..).zip(cases) {
        smsc.change(&json!({"receipts": state, "receipt_style": style}));
        let id = format!("m-{number}");
        assert_eq!(send(&gateway, "Your code is 48151"), sent(&id));
        let receipt = receipts.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!((receipt.id, receipt.state), (id, expected));
        assert_eq!(smsc.wait("receipt", number)[number - 1]["status"], 0);
    }
    // What cannot be read is counted as one without an id.
    smsc.change(&json!({"malformed": true}));
    let receipt = receipts.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!((receipt.id, receipt.state), (String::new(), Delivery::Pending));
}

#[test]
fn a_receipt_that_is_not_taken_is_to_be_delivered_later() {
    let smsc = smsc(json!({"receipts": "DELIVRD"}));
    let gateway = gateway(smsc.port(), json!({}));
    gateway.set_receiver(Arc::new(|_| false));
    assert_eq!(send(&gateway, "Your code is 48151"), sent("m-1"));
    // ESME_RX_T_APPN.
    assert_eq!(smsc.wait("receipt", 1)[0]["status"], 0x64);
}

#[test]
fn a_transmitter_asks_for_no_receipts() {
    let smsc = smsc(json!({"receipts": "DELIVRD"}));
    let gateway = gateway(smsc.port(), json!({"bind": "transmitter"}));
    assert_eq!(send(&gateway, "Your code is 48151"), sent("m-1"));
    assert_eq!(smsc.wait("submit", 1)[0]["receipt"], 0);
    assert_eq!(smsc.events("bind")[0]["command"], "bind_transmitter");
}

#[test]
fn the_status_says_whether_to_try_again() {
    let mut smsc = smsc(json!({"throttle": 1}));
    let gateway = gateway(smsc.port(), json!({}));
    let throttled = send(&gateway, "Your code is 48151");
    let second = Some(Duration::from_secs(1));
    assert!(
        matches!(&throttled, Outcome::Retry { after, .. } if *after == second),
        "{throttled:?}"
    );
    assert!(reason(throttled).contains("ESME_RTHROTTLED (0x58)"));
    for (status, expected) in [(8, "ESME_RSYSERR (0x8)"), (0x4ff, "status 0x4ff")] {
        smsc.change(&json!({"status": status}));
        let outcome = send(&gateway, "Your code is 48151");
        assert!(matches!(outcome, Outcome::Retry { after: None, .. }), "{outcome:?}");
        assert_eq!(reason(outcome), format!("the SMSC has refused the message: {expected}"));
    }
    smsc.change(&json!({"status": 11}));
    let outcome = send(&gateway, "Your code is 48151");
    assert!(
        matches!(&outcome, Outcome::NumberRefused(reason) if reason.contains("ESME_RINVDSTADR")),
        "{outcome:?}"
    );
    smsc.change(&json!({"status": 0}));
    assert_eq!(send(&gateway, "Your code is 48151"), sent("m-5"));
    assert_eq!(smsc.count("bind"), 1);
}

#[test]
fn a_message_may_have_been_sent_when_the_connection_is_lost_after_it() {
    let smsc = smsc(json!({"drop": 1}));
    let gateway = gateway(smsc.port(), json!({}));
    let outcome = send(&gateway, "Your code is 48151");
    assert!(matches!(outcome, Outcome::Ambiguous(_)), "{outcome:?}");
    // The session is bound again, and the repetition has the same reference.
    assert_eq!(send(&gateway, "Your code is 48151"), sent("m-2"));
    let submits = smsc.wait("submit", 2);
    assert_eq!(submits[0]["dropped"], true);
    assert_eq!(submits[0]["reference"], submits[1]["reference"]);
    assert_eq!(smsc.count("bind"), 2);
}

#[test]
fn a_message_may_have_been_sent_when_the_smsc_does_not_respond() {
    let smsc = smsc(json!({"silent": true}));
    let gateway = gateway(smsc.port(), json!({"timeout": 5}));
    let outcome = send(&gateway, "Your code is 48151");
    assert!(matches!(outcome, Outcome::Ambiguous(_)), "{outcome:?}");
    assert!(reason(outcome).contains("did not respond in time"));
    assert_eq!(smsc.wait("submit", 1).len(), 1);
}

#[test]
fn nothing_was_sent_when_nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let gateway = gateway(port.into(), json!({"timeout": 2}));
    let outcome = send(&gateway, "Your code is 48151");
    assert!(matches!(outcome, Outcome::Retry { .. }), "{outcome:?}");
    assert!(reason(outcome).contains("the SMSC cannot be reached"));
}

#[test]
fn the_host_is_resolved_by_the_name_servers_of_the_settings() {
    let names = NameServer::start(&["--host-record=smsc.example.test,127.0.0.1".to_owned()]);
    let dialer = Settings::new("sandbox:").name_server(names.address()).dialer().unwrap();
    let smsc = smsc(json!({}));
    let gateway = dialed_by(&dialer, smsc.port(), json!({"host": "smsc.example.test"}));
    assert_eq!(send(&gateway, "Your code is 48151"), sent("m-1"));
    assert_eq!(names.queries("smsc.example.test"), 1);
    let unknown = json!({"host": "no.example.test", "timeout": 1});
    let unknown = dialed_by(&dialer, smsc.port(), unknown);
    unknown.start().unwrap();
    // With the second attempt, the reason of the first one is known.
    let started = Instant::now();
    while names.queries("no.example.test") < 2 {
        assert!(started.elapsed() < Duration::from_secs(60), "it does not connect again");
        std::thread::sleep(Duration::from_millis(20));
    }
    let outcome = send(&unknown, "Your code is 48151");
    assert!(matches!(outcome, Outcome::Retry { .. }), "{outcome:?}");
    assert!(reason(outcome).contains("the name could not be resolved"));
}

#[test]
fn nothing_was_sent_when_the_smsc_never_binds() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let gateway = gateway(port.into(), json!({"timeout": 1}));
    let outcome = send(&gateway, "Your code is 48151");
    assert!(matches!(outcome, Outcome::Retry { .. }), "{outcome:?}");
}

#[test]
fn a_wrong_password_is_reported_without_it() {
    let smsc = smsc(json!({"password": "another"}));
    let gateway = gateway(smsc.port(), json!({}));
    let outcome = send(&gateway, "Your code is 48151");
    assert!(matches!(outcome, Outcome::Retry { .. }), "{outcome:?}");
    let reason = reason(outcome);
    assert_eq!(reason, "the SMSC has refused to bind: ESME_RINVPASWD (0xe)");
    for shown in [format!("{gateway:?}"), reason] {
        assert!(!shown.contains(PASSWORD), "{shown}");
    }
}

#[test]
fn an_idle_session_is_kept_alive() {
    let smsc = smsc(json!({}));
    let gateway = gateway(smsc.port(), json!({"enquire_link": 1}));
    gateway.start().unwrap();
    smsc.wait("enquire_link", 3);
    assert_eq!(smsc.count("bind"), 1);
}

#[test]
fn a_session_without_a_response_is_bound_again() {
    let mut smsc = smsc(json!({"deaf": true}));
    let gateway = gateway(smsc.port(), json!({"enquire_link": 1, "timeout": 5}));
    gateway.start().unwrap();
    smsc.wait("bind", 2);
    smsc.change(&json!({"deaf": false}));
    smsc.wait("close", 1);
}

#[test]
fn what_an_smsc_sends_by_itself_gets_its_response() {
    let mut smsc = smsc(json!({}));
    let gateway = gateway(smsc.port(), json!({}));
    assert_eq!(send(&gateway, "Your code is 48151"), sent("m-1"));
    smsc.change(&json!({"malformed": true}));
    smsc.change(&json!({"enquire": true}));
    smsc.wait("enquire_link_resp", 1);
    assert_eq!(smsc.wait("nack", 1)[0]["status"], 3);
    assert_eq!(send(&gateway, "Your code is 48151"), sent("m-2"));
    assert_eq!(smsc.count("bind"), 1);
    smsc.change(&json!({"unbind": true}));
    smsc.wait("bind", 2);
    assert_eq!(send(&gateway, "Your code is 48151"), sent("m-3"));
}

#[test]
fn no_more_messages_than_the_window_wait_for_a_response() {
    let smsc = smsc(json!({"delay": 20}));
    let gateway = gateway(smsc.port(), json!({"window": 3}));
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let outcome = send(&gateway, "Your code is 48151");
                    assert!(matches!(outcome, Outcome::Sent(Some(_))), "{outcome:?}");
                }
            });
        }
    });
    let submits = smsc.wait("submit", 36);
    let most = submits.iter().filter_map(|submit| submit["open"].as_u64()).max();
    assert_eq!((submits.len(), most), (36, Some(3)));
}

#[test]
fn stopping_ends_the_session() {
    let smsc = smsc(json!({}));
    let gateway = gateway(smsc.port(), json!({}));
    assert_eq!(send(&gateway, "Your code is 48151"), sent("m-1"));
    gateway.stop();
    smsc.wait("unbind", 1);
    smsc.wait("close", 1);
}

#[test]
fn a_session_by_tls_trusts_only_the_authority_that_is_set() {
    let folder = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.subject_alt_names.push(rcgen::SanType::IpAddress("127.0.0.1".parse().unwrap()));
    let file = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).display().to_string()
    };
    let certificate = file("certificate", params.self_signed(&key).unwrap().pem());
    let other = rcgen::KeyPair::generate().unwrap();
    let other = file("other", params.self_signed(&other).unwrap().pem());
    let key = file("key", key.serialize_pem());
    let smsc = smsc(json!({"key": key, "certificate": certificate}));
    let trusting = gateway(smsc.port(), json!({"tls": true, "ca_file": certificate}));
    assert_eq!(send(&trusting, "Your code is 48151"), sent("m-1"));
    let wary = gateway(smsc.port(), json!({"tls": true, "ca_file": other}));
    let outcome = send(&wary, "Your code is 48151");
    assert!(matches!(outcome, Outcome::Retry { .. }), "{outcome:?}");
    assert!(reason(outcome).starts_with("TLS failed: "));
    assert_eq!(smsc.wait("submit", 1).len(), 1);
}

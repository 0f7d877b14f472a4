//! Which servers the client trusts over TLS, by which keys, and that its deadline covers TLS too.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::stub::{self, KEY, Peer, RIGHT, Stub, TOKEN, in_time, response};
use crate::tls::{self, Encrypted, Identity, authority, params, pin};
use rcgen::{BasicConstraints, CertificateParams, IsCa, date_time_ymd};
use seconder::{Error, Result, Service, Settings, Stage, Verdict};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const DEADLINE: Duration = Duration::from_millis(500);

fn settings(stub: &Stub) -> Settings {
    let url = format!("https://{}", stub.addr);
    Settings::new(&url).api_key(KEY).timeout(Duration::from_secs(5))
}

fn verify(settings: Settings) -> Result<Verdict> {
    settings.open()?.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap())
}

fn respond(mut peer: Peer<Encrypted>) {
    while peer.respond(&response(200, "", RIGHT)) {}
}

fn is_right(settings: Settings) {
    assert_eq!(verify(settings).unwrap(), Verdict::Right);
}

fn is_rejected(settings: Settings, part: &str) {
    let error = verify(settings).unwrap_err();
    assert!(matches!(error, Error::Unavailable { stage: Stage::Tls, .. }), "{error}");
    assert!(error.retry_safe() && error.to_string().contains(part), "{error}");
}

#[test]
fn a_pinned_key_is_trusted_whoever_signed_the_certificate() {
    let ours = Identity::self_signed(params());
    let stub = tls::start(ours.config(), respond);
    let other = Identity::self_signed(params());
    is_right(settings(&stub).pin(ours.pin()));
    is_right(settings(&stub).pin(other.pin()).pin(ours.pin()));
    let hint = format!("its operator says that it is {}", ours.pin());
    is_rejected(settings(&stub).pin(other.pin()), &hint);
    // Without a pin, a self-signed certificate is untrusted.
    is_rejected(settings(&stub), "setting ca_file");
}

#[test]
fn a_pinned_certificate_must_be_current_and_name_the_host() {
    let rejects = |params: CertificateParams, part: &str| {
        let identity = Identity::self_signed(params);
        let stub = tls::start(identity.config(), respond);
        is_rejected(settings(&stub).pin(identity.pin()), part);
    };
    let (mut expired, mut early, mut remote) = (params(), params(), params());
    (expired.not_before, expired.not_after) =
        (date_time_ymd(1999, 1, 1), date_time_ymd(2001, 1, 1));
    rejects(expired, "has expired");
    early.not_before = date_time_ymd(4000, 1, 1);
    rejects(early, "not valid yet");
    remote.subject_alt_names.clear();
    rejects(remote, "for another host");
    rejects(CertificateParams::new(["2fa.example.com".to_owned()]).unwrap(), "for another host");
}

#[test]
fn a_ca_certificate_used_by_a_server_needs_a_pin() {
    let mut params = params();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let identity = Identity::self_signed(params);
    let stub = tls::start(identity.config(), respond);
    is_rejected(settings(&stub).ca_file(identity.files().0), "seconder serve --self-signed");
    is_rejected(settings(&stub).ca_file(identity.files().0), "setting pin");
    is_right(settings(&stub).pin(identity.pin()));
}

/// Uses the commands that are common for certificates, and those of the documents for pins. Does
/// nothing on a machine without `openssl`.
#[test]
fn a_pin_computed_by_openssl_is_accepted() {
    const MAKE: &str = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -keyout key -out certificate.pem -days 2 -subj /CN=2fa -addext subjectAltName=IP:127.0.0.1";
    const PIN: &str = "openssl x509 -in certificate.pem -noout -pubkey |
        openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64";
    let folder = tempfile::tempdir().unwrap();
    let sh = |script| {
        let mut sh = std::process::Command::new("sh");
        sh.args(["-c", script]).current_dir(folder.path()).output().unwrap()
    };
    if !sh("command -v openssl").status.success() {
        return;
    }
    assert!(sh(MAKE).status.success());
    let pin = format!("sha256/{}", String::from_utf8(sh(PIN).stdout).unwrap().trim_end());
    let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let identity = Identity::read(&read("certificate.pem"), &read("key"));
    let stub = tls::start(identity.config(), respond);
    is_right(settings(&stub).pin(pin));
    is_rejected(settings(&stub).ca_file(folder.path().join("certificate.pem")), "setting pin");
}

#[test]
fn a_pinned_authority_must_have_signed_the_certificate() {
    let (ours, other) = (authority("ours"), authority("other"));
    let identity = Identity::signed(params(), &ours);
    let stub = tls::start(identity.config(), respond);
    is_right(settings(&stub).pin(pin(ours.key())));
    is_right(settings(&stub).pin(identity.pin()));
    is_rejected(settings(&stub).pin(pin(other.key())), "setting pin");
    // A chain with the pinned authority, which did not sign the certificate.
    let mut forged = Identity::signed(params(), &other);
    forged.chain[1] = ours.der().clone();
    let stub = tls::start(forged.config(), respond);
    is_rejected(settings(&stub).pin(pin(ours.key())), "trusted");
    let mut expired = params();
    expired.not_before = date_time_ymd(1999, 1, 1);
    expired.not_after = date_time_ymd(2001, 1, 1);
    let stub = tls::start(Identity::signed(expired, &ours).config(), respond);
    is_rejected(settings(&stub).pin(pin(ours.key())), "has expired");
}

#[test]
fn with_ca_file_and_pin_both_must_match() {
    let (ours, other) = (authority("ours"), authority("other"));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, authority: &tls::Authority| {
        let path = folder.path().join(name);
        std::fs::write(&path, authority.pem()).unwrap();
        path
    };
    let (ours_file, other_file) = (file("ours", &ours), file("other", &other));
    let mut identity = Identity::signed(params(), &ours);
    identity.chain.truncate(1);
    let stub = tls::start(identity.config(), respond);
    is_right(settings(&stub).ca_file(&ours_file));
    is_right(settings(&stub).ca_file(&ours_file).pin(identity.pin()));
    // The chain lacks the authority, so the pin is checked against that of the file.
    is_right(settings(&stub).ca_file(&ours_file).pin(pin(ours.key())));
    is_rejected(settings(&stub).ca_file(&ours_file).pin(pin(other.key())), "setting pin");
    is_rejected(settings(&stub).ca_file(&other_file).pin(identity.pin()), "trusted");
}

#[test]
fn a_client_presents_its_certificate() {
    let (clients, others) = (authority("clients"), authority("others"));
    let identity = Identity::self_signed(params());
    let stub = tls::start(identity.config_for(Some(&clients)), respond);
    let pinned = || settings(&stub).pin(identity.pin());
    let (known, stranger) =
        (Identity::signed(params(), &clients), Identity::signed(params(), &others));
    let (certificate, key) = known.files();
    is_right(pinned().client_certificate(&certificate).client_key(&key));
    for settings in
        [pinned(), pinned().client_certificate(stranger.files().0).client_key(stranger.files().1)]
    {
        let error = verify(settings).unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. }), "{error}");
        assert!(error.to_string().contains("setting client_certificate"), "{error}");
    }
    let error = |certificate: &Path, key: &Path| {
        let error = pinned().client_certificate(certificate).client_key(key).open().unwrap_err();
        assert!(
            matches!(
                &error,
                Error::InvalidArgument { parameter, .. } if parameter == "client_certificate"
            ),
            "{error}"
        );
        error.to_string()
    };
    assert!(error(Path::new("/nowhere/a"), &key).contains("/nowhere/a cannot be read"));
    assert!(error(&certificate, Path::new("/nowhere/b")).contains("/nowhere/b cannot be read"));
    assert!(error(&certificate, &certificate).contains("no private key"));
    assert!(error(&key, &key).contains("no certificate"));
    assert!(error(&certificate, &stranger.files().1).contains("do not belong together"));
}

#[test]
fn tls_before_1_2_is_rejected() {
    for version in [0, 1, 2] {
        let stub = Stub::start(move |mut peer| {
            // A ServerHello that chooses an older version.
            let mut hello = vec![22, 3, version, 0, 42, 2, 0, 0, 38, 3, version];
            hello.extend([7; 32]);
            hello.extend([0, 0, 0x2f, 0]);
            peer.send(&hello);
            peer.stay_silent();
        });
        let identity = Identity::self_signed(params());
        is_rejected(settings(&stub).pin(identity.pin()), "no TLS version from 1.2 on");
    }
}

#[test]
fn tls_connections_are_reused() {
    let identity = Identity::self_signed(params());
    let stub = tls::start(identity.config(), respond);
    let settings = settings(&stub).pin(identity.pin()).max_idle(Duration::from_secs(60));
    let service = settings.open().unwrap();
    for _ in 0..5 {
        assert!(service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap()).is_ok());
    }
    assert_eq!((stub.connections(), stub.requests().len()), (1, 5));
}

/// The sizes vary so that the second response starts before, at and after the end of a read of the
/// client. In no case may a part of it remain for the next call.
#[test]
fn a_connection_with_unsolicited_data_is_not_reused() {
    let identity = Identity::self_signed(params());
    let length = Arc::new(AtomicUsize::new(0));
    let served = Arc::clone(&length);
    let stub = tls::start(identity.config(), move |mut peer| {
        while peer.request().is_some() {
            let body = format!("{{\"x\":\"{}\"}}", "x".repeat(served.load(Ordering::SeqCst)));
            // Two records, sent in one write.
            let wrong = peer.named(&response(401, "", body));
            let (tls, mut bytes) = (&mut peer.stream.conn, Vec::new());
            for reply in [wrong, response(200, "", RIGHT)] {
                tls.writer().write_all(&reply).unwrap();
                tls.write_tls(&mut bytes).unwrap();
            }
            peer.stream.sock.write_all(&bytes).unwrap();
        }
    });
    let service = settings(&stub).pin(identity.pin()).open().unwrap();
    for (calls, size) in (3500..4200).step_by(50).enumerate() {
        length.store(size, Ordering::SeqCst);
        let error = service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap()).unwrap_err();
        assert!(matches!(error, Error::Unauthorized { .. }), "{size} {error}");
        assert_eq!(stub.connections(), calls + 1, "{size}");
    }
}

/// The error of a call that must end in time.
fn ends(service: &Service) -> Error {
    let service = service.with_timeout(DEADLINE);
    in_time(DEADLINE, || {
        service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap()).unwrap_err()
    })
}

/// A client that has done the handshake, which takes its time on a busy machine.
fn connected(stub: &Stub, pin: String) -> Service {
    let service = settings(stub).pin(pin).max_idle(Duration::from_secs(60)).open().unwrap();
    service.keep_warm().unwrap();
    service
}

fn is_late(error: &Error, at: Stage) {
    assert!(matches!(error, Error::Unavailable { stage, .. } if *stage == at), "{error}");
    assert!(error.to_string().contains("the deadline was exceeded"), "{error}");
    assert_eq!(error.retry_safe(), at == Stage::Tls);
}

#[test]
fn silence_before_or_after_the_handshake_ends_at_the_deadline() {
    let identity = Identity::self_signed(params());
    let stub = Stub::start(|mut peer| peer.stay_silent());
    is_late(&ends(&settings(&stub).pin(identity.pin()).open().unwrap()), Stage::Tls);
    let stub = tls::start(identity.config(), |mut peer| peer.stay_silent());
    is_late(&ends(&connected(&stub, identity.pin())), Stage::Response);
}

#[test]
fn a_dripping_handshake_ends_at_the_deadline() {
    let identity = Identity::self_signed(params());
    let served = tls::start(identity.config(), respond);
    // A relay that passes the service's bytes on one at a time.
    let stub = Stub::start(move |mut peer| {
        use std::io::Read;
        let mut service = std::net::TcpStream::connect(served.addr).unwrap();
        let (mut from, mut to) = (peer.stream.try_clone().unwrap(), service.try_clone().unwrap());
        stub::spawn(move || drop(std::io::copy(&mut from, &mut to)));
        let mut byte = [0];
        while service.read(&mut byte).is_ok_and(|count| count > 0) && peer.send(&byte) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = service.shutdown(std::net::Shutdown::Both);
    });
    is_late(&ends(&settings(&stub).pin(identity.pin()).open().unwrap()), Stage::Tls);
}

#[test]
fn a_dripping_response_over_tls_ends_at_the_deadline() {
    for (head, drip) in [
        ("", "HTTP/1.1 103 Early Hints\r\n\r\n"),
        ("HTTP/1.1 200 OK\r\n", "X: x\r\n"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", " "),
    ] {
        let identity = Identity::self_signed(params());
        let stub = tls::start(identity.config(), move |mut peer| {
            peer.request();
            peer.send(head.as_bytes());
            peer.drip(drip.as_bytes(), Duration::from_millis(20));
        });
        is_late(&ends(&connected(&stub, identity.pin())), Stage::Response);
    }
}

#[test]
fn a_truncated_tls_response_is_unavailable() {
    let identity = Identity::self_signed(params());
    // Without a length, only TLS's close_notify marks the end of a body.
    for head in ["Connection: close\r\n\r\n", "Content-Length: 400\r\n\r\n"] {
        let stub = tls::start(identity.config(), move |mut peer| {
            peer.request();
            peer.send(format!("HTTP/1.1 200 OK\r\n{head}{RIGHT}").as_bytes());
            let _ = peer.stream.sock.flush();
            let _ = peer.stream.sock.shutdown(std::net::Shutdown::Both);
        });
        let error = verify(settings(&stub).pin(identity.pin())).unwrap_err();
        assert!(matches!(error, Error::Unavailable { stage: Stage::Response, .. }), "{error}");
    }
}

//! A process without descriptors left: each error names the cause, and blames no argument.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

use crate::stub::{KEY, RIGHT, TOKEN, response};
use crate::tls::{self, Identity, params};
use seconder::{Error, Service, Settings, Stage, Verdict};
use std::fs::File;
use std::process::Command;
use std::time::Duration;

const CAUSE: &str = "too many open files in this process: raise the limit (ulimit -n)";
const CHILD: &str = "SECONDER_TEST_DESCRIPTORS";

#[test]
fn errors_name_the_lack_of_descriptors() {
    let identity = Identity::self_signed(params());
    let stub =
        tls::start(identity.config(), |mut peer| while peer.respond(&response(200, "", RIGHT)) {});
    let (ca_file, _) = identity.files();
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "descriptors::child_without_descriptors",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, format!("{} {}", stub.addr, ca_file.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// The child process of the test above. Without the variable, it does nothing.
#[test]
#[allow(clippy::disallowed_methods, reason = "the first test passes the address in a variable")]
fn child_without_descriptors() {
    let Ok(given) = std::env::var(CHILD) else { return };
    let (address, ca_file) = given.split_once(' ').unwrap();
    let settings = |url: &str| Settings::new(url).api_key(KEY).timeout(Duration::from_secs(5));
    let url = format!("https://{address}");
    let trusting = || settings(&url).ca_file(ca_file);
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("service.db").display());
    let remote = trusting().open().unwrap();
    let named = settings("https://service.example.test").ca_file(ca_file).open().unwrap();
    let queried = settings("https://service.example.test").name_server("127.0.0.1:9");
    let queried = queried.ca_file(ca_file).open().unwrap();
    let existing = format!("sqlite:{}", folder.path().join("existing.db").display());
    Settings::new(&existing).open().unwrap();

    let mut files = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
    }
    is_unavailable(trusting().open(), Stage::Tls);
    is_unavailable(settings(&url).open(), Stage::Tls);
    is_unavailable(trusting().client_certificate(ca_file).client_key(ca_file).open(), Stage::Tls);
    is_unavailable(verify(&remote), Stage::Connect);
    is_unavailable(verify(&named), Stage::Dns);
    is_unavailable(verify(&queried), Stage::Dns);
    // With some, each of them gets a little further, until there are enough.
    let mut tries = 0;
    while let Err(error) = Settings::new(&database).open() {
        assert!(matches!(error, Error::Storage { .. }), "{error}");
        assert!(error.to_string().contains(CAUSE), "{error}");
        files.pop().expect("few descriptors suffice");
        tries += 1;
    }
    assert!(tries > 1);
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
    }
    while let Err(error) = Settings::new(&existing).open() {
        assert!(error.to_string().contains(CAUSE), "{error}");
        files.pop().expect("few descriptors suffice");
    }
    drop(files);
    assert_eq!(verify(&remote).unwrap(), Verdict::Right);
}

fn verify(service: &Service) -> seconder::Result<Verdict> {
    service.verify(1.try_into().unwrap(), &TOKEN.parse().unwrap())
}

fn is_unavailable<T>(result: seconder::Result<T>, wanted: Stage) {
    let error = result.err().expect("there are no descriptors");
    assert!(matches!(&error, Error::Unavailable { stage, .. } if *stage == wanted), "{error}");
    assert!(error.to_string().contains(CAUSE) && error.retry_safe(), "{error}");
}

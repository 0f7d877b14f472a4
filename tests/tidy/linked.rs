//! Which packages are linked into what a login process loads.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use super::source::root;
use std::collections::BTreeSet;
use std::process::Command;

/// The packages that are linked into another one.
fn linked_into(package: &str, options: &[&str]) -> BTreeSet<String> {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--package", package])
        .args(options)
        .args(["--edges", "normal", "--prefix", "none", "--offline", "--locked"])
        .current_dir(root())
        .output();
    let tree = tree.unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let text = String::from_utf8(tree.stdout).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// The library with these features alone.
fn linked_with(features: &str) -> BTreeSet<String> {
    linked_into("seconder", &["--no-default-features", "--features", features])
}

#[test]
fn a_client_links_nothing_of_the_engine() {
    // What the engine has: its database, its keyring, its numbering plans, its pictures.
    let engine = ["aes-gcm", "fast_qr", "libsqlite3-sys", "rlibphonenumber", "rusqlite"];
    let postgres = ["fallible-iterator", "postgres-protocol", "stringprep"];
    let full = linked_into("seconder-c", &[]);
    for name in engine.iter().chain(&postgres) {
        assert!(full.contains(*name), "tests/tidy/linked.rs:1: the library for C has no {name}");
    }
    let alone = linked_with("capi,engine");
    assert!(
        !alone.contains("postgres-protocol") && alone.contains("rusqlite"),
        "Cargo.toml:1: an engine without the feature postgres depends on postgres-protocol"
    );
    let clients = [
        ("the client in C", linked_into("seconder-c", &["--no-default-features"])),
        ("the PAM module", linked_into("seconder-pam", &[])),
    ];
    for (what, packages) in clients {
        let more: Vec<_> =
            engine.iter().chain(&postgres).filter(|&&n| packages.contains(n)).collect();
        assert!(
            more.is_empty(),
            "Cargo.toml:1: {what} depends on {more:?}, which only the engine needs"
        );
    }
}

#[test]
fn a_client_of_a_local_socket_links_no_tls_and_no_resolver() {
    let (https, unix) = (linked_with("https"), linked_with("unix"));
    for name in ["rustls", "ring", "rustls-webpki"] {
        assert!(https.contains(name), "tests/tidy/linked.rs:1: the client of https: has no {name}");
        assert!(
            !unix.contains(name),
            "Cargo.toml:1: the feature unix depends on {name}: a process that asks a service on \
             this machine needs no TLS and no resolver"
        );
    }
}

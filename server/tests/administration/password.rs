//! The password of a database: where it is accepted.

use crate::command::{error_of, run};
use crate::postgres_server;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn rejected(folder: &Path, arguments: &[&str]) {
    let error = error_of(folder, arguments);
    assert!(error.contains("passfile=FILE") && !error.contains("hidden"), "{error}");
}

#[test]
fn a_password_is_rejected_on_a_command_line_and_in_a_file_and_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for url in [
        "postgres://anna:hidden@h/d",
        "POSTGRESQL://anna:hidden@h/d?sslmode=disable",
        "postgres://anna@h/d?password=hidden",
        "postgres:anna:hidden@h/d",
        "postgres://anna@h/d?p%61ssword=hidden",
    ] {
        rejected(folder, &["key", "--database", url]);
        rejected(folder, &["serve", "--self-signed", "--database", url]);
        rejected(folder, &["user", "list", &format!("--database={url}")]);
        rejected(folder, &["init", "self_signed=true", &format!("database={url}")]);
        fs::write(folder.join("s.conf"), format!("database = \"{url}\"\nself_signed = true\n"))
            .unwrap();
        rejected(folder, &["config", "check", "s.conf"]);
        rejected(folder, &["serve", "--config", "s.conf"]);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "{url}");
    }
    // A URL that cannot be read may have one too.
    for url in ["postgres://anna:hidden%@h/d", "postgres://anna:hidden@h/d?x"] {
        let error = error_of(folder, &["key", "--database", url]);
        assert!(!error.contains("hidden"), "{error}");
    }
}

#[test]
fn the_password_is_in_a_file_that_the_url_names_or_that_systemd_passes() {
    let server = postgres_server::Server::start();
    server.database("d");
    server.sql("postgres", "CREATE ROLE anna LOGIN SUPERUSER PASSWORD 'p@s&s'");
    let rules = server.folder().join("data/pg_hba.conf");
    fs::write(rules, "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n").unwrap();
    server.sql("postgres", "SELECT pg_reload_conf()");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let url = format!("postgres://anna@127.0.0.1:{}/d", server.port());
    let create = |url: &str, passed: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        let database = format!("database={url}");
        command.args(["init", "--no-input", "self_signed=true", "keyring=ring", &database]);
        command.current_dir(folder).stdin(Stdio::null()).env("CREDENTIALS_DIRECTORY", passed);
        let done = command.output().unwrap();
        let _ = fs::remove_file(folder.join("seconder.conf"));
        String::from_utf8([done.stdout, done.stderr].concat()).unwrap()
    };
    // The server reads its rules some time after it was asked to.
    let begun = Instant::now();
    while create(&url, folder).contains("What to do next") {
        assert!(begun.elapsed() < Duration::from_secs(30), "the server asks for no password");
        std::thread::sleep(Duration::from_millis(5));
    }
    let shown = create(&url, folder);
    assert!(shown.contains("password") && shown.contains("passfile="), "{shown}");
    let passed = folder.join("credentials");
    fs::create_dir(&passed).unwrap();
    fs::write(passed.join("database-password"), "p@s&s\n").unwrap();
    let shown = create(&url, &passed);
    assert!(shown.contains("What to do next") && !shown.contains("p@s"), "{shown}");
    let shown = create(&format!("{url}?connect_timeout=5"), &passed);
    assert!(shown.contains("What to do next") && !shown.contains("p@s"), "{shown}");
    // A file that the URL names is the one.
    let file = folder.join("pass");
    fs::write(&file, "127.0.0.1:*:d:anna:other\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let named = format!("{url}?passfile={}", file.display());
    let shown = create(&named, &passed);
    assert!(!shown.contains("What to do next"), "{shown}");
    fs::write(&file, "127.0.0.1:*:d:anna:p@s&s\n").unwrap();
    let listed = ["keyring", "list", "--keyring", "ring", "--database", &named];
    assert!(run(folder, &listed).status.success());
}

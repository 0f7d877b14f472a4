//! `seconder init`.

use crate::command::{error_of, printed, run};
use crate::postgres_server;
use crate::terminal::Terminal;
use rustix::process::geteuid;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

/// The settings of a file that are not commented out.
fn settings(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let given = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    given.map(str::to_owned).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_service_has_a_file_with_its_settings_a_keyring_and_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let given = ["init", "self_signed=true", "application_name=Acme \"A\"", "limit=tries=3"];
    let shown = printed(folder, &[&given[..], &["limit=countries=1+44"]].concat());
    for line in ["seconder serve --config ", "seconder key --config ", "Copy the keyring"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let file = folder.join("seconder.conf");
    let shown = folder.display();
    assert_eq!(
        settings(&file),
        [
            &format!("database = \"sqlite:{shown}/seconder.db\""),
            "self_signed = true",
            "metrics = \"127.0.0.1:9464\"",
            "application_name = \"Acme \\\"A\\\"\"",
            "limit = [\"tries=3\", \"countries=1+44\"]",
        ]
    );
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    printed(folder, &["config", "check", "seconder.conf"]);
    let stored = printed(folder, &["app", "show", "--config", "seconder.conf", "--json"]);
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored["name"], "Acme \"A\"", "{stored}");
    let key = printed(folder, &["key", "--config", "seconder.conf"]);

    // What is there stays as it is.
    let before = fs::read(folder.join("seconder.db.keys")).unwrap();
    let made = printed(folder, &["init", "--json"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!(made["database"], format!("sqlite:{shown}/seconder.db"));
    assert_eq!(made["keyring"], format!("{shown}/seconder.db.keys"));
    assert_eq!(fs::read(folder.join("seconder.db.keys")).unwrap(), before);
    assert_eq!(printed(folder, &["key", "--config", "seconder.conf"]), key);
    let error = error_of(folder, &["init", "self_signed=true"]);
    assert!(error.contains("exists already: edit it"), "{error}");
}

#[test]
fn nothing_is_created_if_a_setting_is_invalid_or_missing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (given, expected) in [
        (&[][..], "one of certificate, self_signed, unix, socket_activation"),
        (&["self_signed=yes"], "self_signed must be true or false"),
        (&["selfsigned=true"], "there is self_signed"),
        (&["self_signed"], "is not SETTING=VALUE"),
        (&["self_signed = true"], "is not SETTING=VALUE"),
        (&["[limit]\ntries=3", "self_signed=true"], "is not SETTING=VALUE"),
        (&["self_signed=true", "self_signed=true"], "must be true or false"),
        (&["sandbox=true"], "sandbox is no setting"),
        (&["self_signed=true", "database=sandbox:"], "no other process can reach it"),
        (&["self_signed=true", "database=mysql://x"], "postgres://user@host/database"),
        (&["self_signed=true", "certificate=c.pem", "key=k.pem"], "cannot be used with"),
        (&["certificate=c.pem"], "certificate requires key"),
        (&["self_signed=true", "application_name=a\nb = 1"], "application_name"),
        (&["self_signed=true", "database=sqlite:missing/seconder.db"], "missing"),
        (&["self_signed=true", "--config", "missing/seconder.conf"], "create its folder first"),
    ] {
        let error = error_of(folder, &[&["init"], given].concat());
        assert!(error.contains(expected), "{given:?}: {error}");
        assert_eq!(names(folder), [] as [&str; 0], "{given:?}");
    }
    // A file that is somewhere else.
    std::os::unix::fs::symlink("missing", folder.join("seconder.conf")).unwrap();
    let error = error_of(folder, &["init"]);
    assert!(error.contains("cannot be read"), "{error}");
    assert_eq!(names(folder), ["seconder.conf"]);
    fs::remove_file(folder.join("seconder.conf")).unwrap();
    // All that is wrong is reported at once.
    let error = error_of(folder, &["init", "listen=x", "limit=tries=0", "proxy_protocol=1"]);
    for wrong in ["listen has", "limit has", "proxy_protocol must"] {
        assert!(error.contains(wrong), "{wrong}: {error}");
    }
}

#[test]
fn the_same_command_completes_what_one_that_was_killed_has_begun() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    printed(folder, &["init", "self_signed=true"]);
    let (key, all) = (printed(folder, &["key"]), names(folder));
    // The file with the settings gets its name at the end.
    let text = fs::read_to_string(folder.join("seconder.conf")).unwrap();
    fs::write(folder.join("seconder.conf.seconder-part"), &text[..text.len() / 2]).unwrap();
    fs::remove_file(folder.join("seconder.conf")).unwrap();
    printed(folder, &["init", "self_signed=true"]);
    assert_eq!(names(folder), all);
    assert_eq!(printed(folder, &["key", "--config", "seconder.conf"]), key);
}

#[test]
fn a_database_on_a_server_is_created_with_a_keyring() {
    let server = postgres_server::Server::start();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let database = format!("database={}", server.database("init"));
    let error = error_of(folder, &["init", "self_signed=true", &database]);
    assert!(error.contains("keyring"), "{error}");
    assert_eq!(names(folder), [] as [&str; 0]);
    printed(folder, &["init", "self_signed=true", "keyring=ring", &database]);
    let key = printed(folder, &["key", "--config", "seconder.conf"]);
    // A further machine has a copy of the keyring, and a file of its own.
    printed(folder, &["init", "--config=2.conf", "self_signed=true", "keyring=ring", &database]);
    assert_eq!(printed(folder, &["key", "--config", "2.conf"]), key);
    // Another keyring is of no use.
    let other = ["init", "--config=3.conf", "self_signed=true", "keyring=other", &database];
    let error = error_of(folder, &other);
    assert!(error.contains("key"), "{error}");
    assert!(!folder.join("3.conf").exists());
}

#[test]
fn a_terminal_is_asked_for_what_is_not_given() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let file = folder.join("seconder.conf");
    let init = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        command.args(["init", "application_name=Acme", "--config"]).arg(&file);
        Terminal::start(command, 100)
    };
    let mut terminal = init();
    terminal.until("Database [sqlite:seconder.db]: ");
    // Ctrl-C.
    terminal.type_in("\x03");
    assert!(!terminal.end().1.success());
    assert_eq!(names(&folder), [] as [&str; 0]);

    let mut terminal = init();
    terminal.until("Database [sqlite:seconder.db]: ");
    terminal.type_in(&format!("sqlite:{}/own.db\n", folder.display()));
    terminal.until("1, 2 or 3: ");
    terminal.type_in("4\n");
    terminal.until("1, 2 or 3: ");
    terminal.type_in("2\n");
    terminal.until("Address and port [127.0.0.1:8443]: ");
    terminal.type_in("localhost\n");
    terminal.until("invalid value");
    terminal.until("Address and port [127.0.0.1:8443]: ");
    terminal.type_in("\n");
    let (shown, status) = terminal.end();
    assert!(status.success() && shown.contains("What to do next"), "{shown}");
    assert_eq!(
        settings(&file),
        [
            &format!("database = \"sqlite:{}/own.db\"", folder.display()),
            "listen = \"127.0.0.1:8443\"",
            "self_signed = true",
            "metrics = \"127.0.0.1:9464\"",
            "application_name = \"Acme\"",
        ]
    );
    assert!(folder.join("own.db").exists());
}

#[test]
fn root_creates_the_database_as_the_user_who_owns_the_folder() {
    if !geteuid().is_root() {
        println!("skipped: only root can give a folder to another user");
        return;
    }
    const DAEMON: u32 = 1;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let program = folder.join("seconder");
    // The program of the tests is where other users may not be. A process of its own copies it: this one could not run
    // the copy while a program that another test has just started still has it open.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_seconder")).arg(&program).status();
    assert!(copied.unwrap().success());
    fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    chown(&data, Some(DAEMON), Some(DAEMON)).unwrap();
    fs::set_permissions(&data, PermissionsExt::from_mode(0o700)).unwrap();
    let database = format!("database=sqlite:{}/seconder.db", data.display());
    let init = |config: &str| {
        let mut command = Command::new(&program);
        command.current_dir(folder).args(["init", "self_signed=true", &database, "--config"]);
        command.arg(config).output().unwrap()
    };
    let output = init("seconder.conf");
    assert!(output.status.success(), "{output:?}");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("runuser -u daemon -- seconder serve --config "), "{shown}");
    for name in ["seconder.db", "seconder.db.keys"] {
        assert_eq!(data.join(name).metadata().unwrap().uid(), DAEMON, "{name}");
    }
    let config = folder.join("seconder.conf").metadata().unwrap();
    assert_eq!((config.uid(), config.gid(), config.mode() & 0o777), (0, DAEMON, 0o640));
    // A file that the user cannot reach is of no use.
    fs::create_dir(folder.join("closed")).unwrap();
    fs::set_permissions(folder.join("closed"), PermissionsExt::from_mode(0o700)).unwrap();
    let output = init("closed/seconder.conf");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("as the user daemon"), "{error}");
    assert_eq!(names(&folder.join("closed")), [] as [&str; 0]);
    let again = run(folder, &["init"]);
    assert!(again.status.success(), "{again:?}");
}

#[test]
fn a_file_in_the_way_of_the_unfinished_one_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let part = folder.join("seconder.conf.seconder-part");
    let ends = |what: &str| {
        let mut command = Command::new("timeout");
        command.current_dir(folder).arg("30").arg(env!("CARGO_BIN_EXE_seconder"));
        let output = command.args(["init", "self_signed=true", "--no-input"]).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{what}: {errors}");
        assert!(errors.contains("seconder-part is in the way"), "{what}: {errors}");
        fs::remove_file(&part).unwrap();
        assert_eq!(names(folder), [] as [&str; 0]);
    };
    std::os::unix::fs::symlink("/nowhere", &part).unwrap();
    ends("a link");
    assert!(Command::new("mkfifo").arg(&part).status().unwrap().success());
    ends("a pipe");
}

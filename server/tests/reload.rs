//! What `seconder reload` changes in a running service.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::local_socket::{Running, exchange, folder, program};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const SETTINGS: &str = "database = \"sqlite:seconder.db\"\n\
                        unix = \"s.sock\"\n\
                        pid_file = \"pid\"\n";

fn write(folder: &Path, more: &str) {
    fs::write(folder.join("s.conf"), format!("{SETTINGS}{more}")).unwrap();
}

fn serve(folder: &Path) -> Running {
    let mut command = program();
    command.args(["serve", "--config", "s.conf"]).current_dir(folder);
    Running::start(&mut command, folder.join("s.sock"))
}

fn reload(folder: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_seconder"))
        .arg("reload")
        .args(options)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What the service calls itself.
fn name(running: &Running) -> String {
    running.call("GET", "/protected/json/app/details").body["app"]["name"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_reload_applies_what_can_be_applied_and_names_what_needs_a_restart() {
    let folder = folder();
    write(folder.path(), "application_name = \"Before\"\notp_domain = \"example.com\"\n");
    let mut running = serve(folder.path());
    let mut kept = running.connect();
    assert_eq!(name(&running), "Before");
    fs::write(folder.path().join("t.json"), r#"{"en": {"sms": "{{app}} {{code}}"}}"#).unwrap();
    write(
        folder.path(),
        "application_name = \"After\"\ntexts = \"t.json\"\nmetrics = \"127.0.0.1:0\"\n\
         log_level = \"debug\"\n\
         [limit]\nnumber_day = 7\n",
    );
    let output = reload(folder.path(), &["--config", "s.conf"]);
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(
        lines,
        [
            "application_name has changed",
            "limit has changed",
            "log_level has changed",
            "metrics has changed, which needs a restart",
            "otp_domain is given no more, and stays as it is stored",
            "texts has changed",
            "the routes were read again",
            "there is no certificate, so there is no file to read",
        ]
    );
    running.wait_for("SIGHUP: limit has changed");
    assert_eq!(name(&running), "After");
    // Also on a connection that there was.
    let reply = exchange(&mut kept, "GET", "/protected/json/app/details");
    assert_eq!(reply.body["app"]["name"], "After");
    // What needs a restart is named until then, and what was applied once.
    let again = reload(folder.path(), &["--pid-file", "pid"]);
    let again = text(&again.stdout);
    assert!(again.starts_with("metrics has changed, which needs a restart\nthe routes"), "{again}");
    running.stop();
    assert!(!folder.path().join("pid").exists() && !folder.path().join("pid.reload").exists());
}

#[test]
fn a_reload_of_what_is_not_valid_fails_and_changes_nothing() {
    let folder = folder();
    write(folder.path(), "application_name = \"Before\"\n");
    let running = serve(folder.path());
    let fails = |more: &str, problem: &str| {
        write(folder.path(), more);
        // The command needs no valid file, if it knows the process.
        let output = reload(folder.path(), &["--pid-file", "pid"]);
        let errors = text(&output.stderr);
        assert!(!output.status.success() && errors.contains(problem), "{problem}: {errors}");
        assert!(errors.contains("nothing was changed"), "{errors}");
        running.wait_for(problem);
        assert_eq!(name(&running), "Before");
    };
    fails("application_name = \"After\"\nlimits = 3\n", "s.conf:5:1: limits is no setting");
    fails("application_name = \"After\"\nself_signed = 3\n", "s.conf:5:15: self_signed must be");
    fails("application_name = \"After\"\ntexts = \"missing\"\n", "missing cannot be read");
    fails("application_name = \"After\"\nkey = \"k.pem\"\n", "key requires certificate");
    fails("application_name = \"a:b\"\n", "application_name");
}

#[test]
fn other_nodes_of_the_database_have_the_settings_soon() {
    let folder = folder();
    write(folder.path(), "application_name = \"Before\"\n");
    let one = serve(folder.path());
    let mut command = program();
    command
        .args(["serve", "--database", "sqlite:seconder.db", "--unix", "other.sock"])
        .current_dir(folder.path());
    let other = Running::start(&mut command, folder.path().join("other.sock"));
    assert_eq!(name(&other), "Before");
    write(folder.path(), "application_name = \"After\"\n");
    assert!(reload(folder.path(), &["--config", "s.conf"]).status.success());
    assert_eq!(name(&one), "After");
    let started = Instant::now();
    while name(&other) != "After" {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn no_other_process_is_taken_for_the_service() {
    let folder = folder();
    let failed = |problem: &str| {
        let output = reload(folder.path(), &["--pid-file", "pid"]);
        let errors = text(&output.stderr);
        assert!(!output.status.success() && errors.contains(problem), "{problem}: {errors}");
    };
    failed("no service was found");
    // That of this test is one that nobody holds. SIGHUP would end the test.
    fs::write(folder.path().join("pid"), std::process::id().to_string()).unwrap();
    failed("of a service that has ended");
    write(folder.path(), "");
    let _running = serve(folder.path());
    // A second service leaves the file alone.
    let output = Command::new(env!("CARGO_BIN_EXE_seconder"))
        .args(["serve", "--unix", "other.sock", "--pid-file", "pid"])
        .args(["--database", "sandbox:"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let errors = text(&output.stderr);
    assert!(!output.status.success() && errors.contains("a service that is running"), "{errors}");
    assert!(reload(folder.path(), &["--pid-file", "pid"]).status.success());
}

#[test]
fn a_file_that_was_named_by_mistake_is_left_as_it_is() {
    let folder = folder();
    let mistaken = "a file that somebody needs\n";
    fs::write(folder.path().join("pid"), mistaken).unwrap();
    write(folder.path(), "");
    let mut command = program();
    command.args(["serve", "--config", "s.conf"]).current_dir(folder.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(!output.status.success());
    let error = text(&output.stderr);
    assert!(error.contains("is no file with the id of a process"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join("pid")).unwrap(), mistaken);
}

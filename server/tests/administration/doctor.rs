//! `seconder doctor`.

use super::{database, printed};
use crate::command::run;
use crate::serving::wait_until;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustix::process::geteuid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What the checks found, and whether the command succeeded.
#[derive(Debug)]
struct Report {
    findings: BTreeMap<String, Value>,
    is_success: bool,
}

impl Report {
    fn of(folder: &Path, options: &[&str]) -> Report {
        let output = run(folder, &[&["doctor", "--json"], options].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        let objects = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let named = |object: Value| (object["check"].as_str().unwrap().to_owned(), object);
        Report { findings: objects.map(named).collect(), is_success: output.status.success() }
    }

    fn status(&self, check: &str) -> &str {
        self.findings[check]["status"].as_str().unwrap()
    }

    fn text(&self, check: &str, field: &str) -> &str {
        self.findings[check][field].as_str().unwrap_or_default()
    }
}

/// Writes a certificate that expires in this year, and its key.
fn certificate(folder: &Path, name: &str, year: i32) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2001, 1, 1);
    params.not_after = date_time_ymd(year, 1, 1);
    let certificate = params.self_signed(&key).unwrap();
    fs::write(folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
    fs::write(folder.join(format!("{name}-key.pem")), key.serialize_pem()).unwrap();
}

#[test]
fn a_new_database_lacks_routes_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(database(folder.path()));
    let report = Report::of(folder.path(), &[]);
    assert!(report.is_success);
    for check in ["database", "keyring", "clock", "messages", "limits", "mode"] {
        assert_eq!(report.status(check), "ok", "{:?}", report.findings[check]);
    }
    assert_eq!(report.status("routes"), "warning");
    assert!(report.text("routes", "advice").contains("seconder route set"));
    let shown = printed(folder.path(), &["doctor"]);
    assert!(shown.starts_with("CHECK  ") && shown.contains("routes"), "{shown}");
    assert!(shown.contains("\n\nroutes: `seconder route set` adds a gateway"), "{shown}");
}

#[test]
fn what_is_wrong_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    printed(folder, &["limits", "key_rate=0", "number_day=0"]);
    let report = Report::of(folder, &[]);
    assert_eq!((report.is_success, report.status("limits")), (true, "warning"));
    assert_eq!(report.text("limits", "found"), "switched off: number_day, key_rate");
    fs::rename(folder.join("seconder.db.keys"), folder.join("away")).unwrap();
    let report = Report::of(folder, &[]);
    assert_eq!((report.is_success, report.status("database")), (false, "failed"));
    assert!(report.text("database", "found").contains("restore it from its backup"));
    assert!(!report.findings.contains_key("keyring"));
}

#[cfg(unix)]
#[test]
fn a_database_that_others_can_write_is_a_failure() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    for (mode, status) in [(0o600, "ok"), (0o640, "warning"), (0o660, "failed")] {
        let file = folder.join("seconder.db");
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        let report = Report::of(folder, &[]);
        assert_eq!(report.status("mode"), status, "{mode:o}");
        assert_eq!(report.is_success, status != "failed");
    }
}

#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    certificate(folder, "new", 2999);
    for (mode, status) in [(0o600, "ok"), (0o640, "ok"), (0o644, "warning"), (0o666, "failed")] {
        fs::set_permissions(folder.join("new-key.pem"), fs::Permissions::from_mode(mode)).unwrap();
        let report = Report::of(folder, &["--certificate", "new.pem", "--key", "new-key.pem"]);
        assert_eq!(report.status("key"), status, "{mode:o}");
        assert_eq!(report.is_success, status != "failed");
    }
}

#[cfg(unix)]
#[test]
fn a_clock_that_is_behind_a_file_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    let file = fs::File::options().append(true).open(folder.join("seconder.db")).unwrap();
    let written = file.metadata().unwrap().modified().unwrap();
    file.set_modified(written + Duration::from_secs(3600)).unwrap();
    let report = Report::of(folder, &[]);
    assert_eq!((report.status("time"), report.is_success), ("failed", false), "{report:?}");
    let found = report.text("time", "found");
    assert!(found.contains(" s behind the time at which seconder.db was written"), "{found}");
}

#[test]
fn a_gateway_that_takes_no_connection_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("url=http://{}/send", listener.local_addr().unwrap());
    printed(folder, &["route", "set", "main", "gateway=http", &url, "body={{text}}"]);
    let report = Report::of(folder, &[]);
    assert!(report.is_success && !report.findings.contains_key("gateway"), "{report:?}");
    drop(listener);
    let report = Report::of(folder, &[]);
    assert_eq!((report.status("gateway"), report.is_success), ("failed", false));
    assert!(report.text("gateway", "found").starts_with("main is dead: 127.0.0.1:"), "{report:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_descriptors_are_those_of_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    let report = Report::of(folder, &["--pid-file", "pid"]);
    assert!(report.text("descriptors", "found").starts_with("no service was found"), "{report:?}");
    // As that of a unit with LimitNOFILE=.
    let serve = "ulimit -n 300; exec \"$0\" serve --unix socket --pid-file pid";
    let mut shell = Command::new("sh");
    shell.current_dir(folder).args(["-c", serve, env!("CARGO_BIN_EXE_seconder")]);
    let mut service = shell.stderr(Stdio::null()).spawn().unwrap();
    wait_until("the service", || folder.join("socket").exists());
    let report = Report::of(folder, &["--pid-file", "pid"]);
    service.kill().unwrap();
    service.wait().unwrap();
    assert_eq!(report.status("descriptors"), "warning", "{report:?}");
    let found = report.text("descriptors", "found");
    assert!(found.starts_with(&format!("the service, process {}, ", service.id())), "{found}");
    // The memory of a service is protected, so only root can count its files.
    let counted = if geteuid().is_root() { " of 300 files open" } else { " may open 300 files" };
    assert!(found.ends_with(counted), "{found}");
}

#[test]
fn the_certificate_of_the_configuration_file_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drop(database(folder));
    certificate(folder, "old", 2002);
    certificate(folder, "new", 2999);
    for (key, status, found) in
        [("new", "ok", "is valid for another"), ("old", "failed", "cannot be used with the key")]
    {
        let conf =
            format!("certificate = \"new.pem\"\nkey = \"{key}-key.pem\"\nlisten = [\"[::1]:1\"]\n");
        fs::write(folder.join("conf"), conf).unwrap();
        let report = Report::of(folder, &["--config", "conf"]);
        assert_eq!((report.status("certificate"), report.is_success), (status, status == "ok"));
        assert!(report.text("certificate", "found").contains(found), "{key}");
    }
    let files = ["--certificate", "old.pem", "--key", "old-key.pem"];
    let report = Report::of(folder, &files);
    assert_eq!((report.status("certificate"), report.is_success), ("failed", false));
    assert_eq!(report.text("certificate", "found"), "has expired");
}

//! The configuration file of the program.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod starts;
mod values;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// What `seconder config check` prints of a file with this text, and whether it is valid.
fn checked(text: impl AsRef<[u8]>) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.conf"), text).unwrap();
    let output = run(folder.path(), &["config", "check", "s.conf"]);
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(printed).unwrap())
}

/// A running `seconder serve`, which is ended with this.
struct Serving(Child);

impl Serving {
    /// Starts it, and returns what it logs until it listens.
    fn start(folder: &Path, arguments: &[&str]) -> (Serving, String) {
        Serving::start_until(folder, arguments, "listening on ")
    }

    /// The same, until it logs this.
    fn start_until(folder: &Path, arguments: &[&str], text: &str) -> (Serving, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_seconder"))
            .current_dir(folder)
            .args(["serve", "--log-format=human"])
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let serving = Serving(child);
        let mut all = String::new();
        while !all.contains(text) {
            let before = all.len();
            log.read_line(&mut all).unwrap();
            assert!(all.len() > before, "{all}");
        }
        (serving, all)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const VALID: &str = r#"
database = "sqlite:own.db"
listen = "127.0.0.1:0"
self_signed = true
application_name = "Acme"
offline_days = 3
callback_private = true
plan = "annual"
white_label = true
sms_enabled = false
force_codes = true
logo = "https://app.example/logo.png"
authenticator_digits = 8
authenticator_period = 60
[limit]
number_day = 10
countries = [1, 44]
"#;

#[test]
fn a_service_has_the_settings_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.conf"), VALID).unwrap();
    let (_serving, log) = Serving::start(folder.path(), &["--config", "s.conf"]);
    for line in ["application: Acme", "offline days: 3", "number_day=10", "countries=1+44"] {
        assert!(log.contains(line), "{line}: {log}");
    }
    for line in [
        "callbacks to private addresses: yes",
        "plan: annual",
        "white label: yes",
        "SMS: no",
        "codes to users who have an app: yes",
        "logo of approval requests: https://app.example/logo.png",
        "codes of new authenticator apps: 8 digits, 60 s",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
    assert!(folder.path().join("own.db").exists());
    // Other commands have what they need from it.
    let output = run(folder.path(), &["key", "--config=s.conf"]);
    assert!(output.status.success(), "{output:?}");
    assert!(!run(folder.path(), &["key"]).status.success());
    // `limit` and `key` are something else there.
    for command in [&["jobs", "status"][..], &["jobs", "list"], &["audit"], &["keyring", "list"]] {
        let output = run(folder.path(), &[command, &["--config", "s.conf"]].concat());
        assert!(output.status.success(), "{output:?}");
    }
}

#[test]
fn options_override_settings() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.conf"), VALID).unwrap();
    let options = ["--config", "s.conf", "--application-name", "Other", "--limit", "number_day=7"];
    let (serving, log) = Serving::start(folder.path(), &options);
    for line in ["application: Other", "offline days: 3", "number_day=7", "countries=1+44"] {
        assert!(log.contains(line), "{line}: {log}");
    }
    drop(serving);
    // One that a setting cannot be used with replaces it too.
    let certificate = folder.path().join("seconder-certificate.pem");
    let (pem, key) = (certificate.to_str().unwrap(), "missing.key");
    let options =
        ["serve", "--log-format=human", "--config", "s.conf", "--certificate", pem, "--key", key];
    let output = String::from_utf8(run(folder.path(), &options).stderr).unwrap();
    assert!(output.contains("missing.key"), "{output}");
}

#[test]
fn a_service_listens_on_each_address_of_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let text = VALID.replace("\"127.0.0.1:0\"", "[\"127.0.0.1:0\", \"127.0.0.1:0\"]");
    fs::write(folder.path().join("s.conf"), text).unwrap();
    // One on the command line is a further one.
    let options = ["--config", "s.conf", "--listen", "127.0.0.2:0", "--unix", "s.sock"];
    let (_serving, log) = Serving::start_until(folder.path(), &options, "listening on unix:");
    let urls: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split_once("listening on https://"))
        .map(|l| l.1)
        .collect();
    assert_eq!(urls.len(), 3, "{log}");
    assert!(urls[2].starts_with("127.0.0.2:"), "{log}");
    let key = String::from_utf8(run(folder.path(), &["key", "--config", "s.conf"]).stdout).unwrap();
    let ca_file = folder.path().join("seconder-certificate.pem");
    for port in urls.iter().take(2).map(|url| url.rsplit(':').next().unwrap()) {
        let client = seconder::Settings::new(&format!("https://localhost:{port}"));
        let client = client.api_key(key.trim()).ca_file(&ca_file).open().unwrap();
        assert_eq!(client.app_details().unwrap().name, "Acme");
    }
}

#[test]
fn all_that_is_wrong_is_reported_at_once_with_its_place() {
    let (valid, printed) = checked(
        "listen = \"nowhere\"\n\
         self_signed = \"yes\"\n\
         applicaton_name = \"Acme\"\n\
         [limit]\n\
         \t\"number_day\" = 1.5\n",
    );
    assert!(!valid);
    for part in [
        "s.conf:1:10: listen has the invalid value \"nowhere\": invalid socket address syntax",
        "s.conf:2:15: self_signed must be true or false",
        "s.conf:3:1: applicaton_name is no setting; there is application_name",
        "s.conf:5:17: limit must be a text or a number",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}

#[test]
fn settings_that_are_repeated_or_do_not_fit_together_are_refused() {
    let twice = "self_signed = true\nself_signed = true\nproxy_protocol = true\n";
    let (valid, printed) = checked(twice);
    assert!(!valid && printed.contains("s.conf:2:1: duplicate key"), "{printed}");
    assert!(printed.contains("s.conf:3:1: proxy_protocol requires trusted_proxies"), "{printed}");
    for (text, problem) in [
        (
            "self_signed = true\nkey = \"k.pem\"\ncertificate = \"c.pem\"\n",
            "s.conf:2:1: key cannot be used with self_signed of line 1\n  \
             s.conf:3:1: certificate cannot be used with self_signed of line 1",
        ),
        (
            "application_name = \"Acme\"\n",
            "s.conf:1:1: the file lacks how the service is reached, one of self_signed, certificate",
        ),
        (
            "self_signed = true\ncertificate_out = \"c\"\nforward_key_file = \"k\"\n",
            "s.conf:3:1: forward_key_file requires forward\n",
        ),
        (
            "unix = \"s\"\nlisten = \"127.0.0.1:0\"\n",
            "s.conf:2:1: listen requires one of self_signed, certificate\n",
        ),
    ] {
        let (valid, printed) = checked(text);
        assert!(!valid && printed.contains(problem), "{printed}");
        assert!(!printed.contains("--"), "{printed}");
    }
    let (valid, printed) = checked("self_signed = true\n");
    assert!(valid, "{printed}");
}

#[test]
fn settings_that_do_not_fit_together_are_reported_beside_other_problems() {
    let text = "self_signed = true\n\
                key = \"k.pem\"\n\
                app = 1\n\
                api_key_file = \"s.conf\"\n\
                unix_mode = \"0600\"\n\
                offline_days = 8\n\
                no_setting = 1\n";
    let problems = "s.conf:2:1: key cannot be used with self_signed of line 1
  s.conf:2:1: key requires certificate
  s.conf:4:1: api_key_file cannot be used with app of line 3
  s.conf:5:1: unix_mode requires unix
  s.conf:6:16: offline_days has the invalid value \"8\": 8 is not in 0..=7
  s.conf:7:1: no_setting is no setting";
    let (valid, printed) = checked(text);
    assert!(!valid && printed.contains(problems), "{printed}");
    // A service says so too, but for what its options replace or add.
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.conf"), text).unwrap();
    let output = run(folder.path(), &["serve", "--config", "s.conf"]);
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains(problems), "{printed}");
    let options = ["--app=1", "--unix=s.sock", "--certificate=c.pem"];
    let output = run(folder.path(), &[&["serve", "--config", "s.conf"][..], &options].concat());
    let printed = String::from_utf8(output.stderr).unwrap();
    let problems = "config is invalid:\n  s.conf:6:16: offline_days";
    assert!(printed.contains(problems) && !printed.contains("cannot be used"), "{printed}");
}

#[test]
fn an_address_is_listened_on_once() {
    let text = "self_signed = true\n\
                listen = [\"127.0.0.1:9464\", \"127.0.0.1:0\", \"127.0.0.1:0\", \"0.0.0.0:9464\"]\n\
                metrics = \"127.0.0.1:9464\"\n";
    let (valid, printed) = checked(text);
    assert!(!valid, "{printed}");
    assert!(
        printed.contains("s.conf:2:59: 0.0.0.0:9464 is in use by 127.0.0.1:9464 of line 2"),
        "{printed}"
    );
    assert!(printed.contains("s.conf:3:11: 127.0.0.1:9464 is in use"), "{printed}");
    let (valid, printed) = checked(text.replace("metrics = \"127", "metrics = \"[::1]:1\" #"));
    assert!(!valid && !printed.contains("s.conf:3"), "{printed}");
}

#[test]
fn nothing_starts_with_a_file_that_is_not_valid() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &[u8], part: &str| {
        fs::write(folder.path().join("s.conf"), text).unwrap();
        let output = run(
            folder.path(),
            &["serve", "--log-format=human", "--config", "s.conf", "--self-signed"],
        );
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && printed.contains(part), "{part}: {printed}");
    };
    refused(b"database = \n", "s.conf:1:");
    refused(b"config = \"other.conf\"\n", "config is no setting");
    refused(b"help = true\n", "help is no setting");
    refused(b"api-key-file = \"k\"\n", "api-key-file is no setting; there is api_key_file");
    refused(&[0xff, 0xfe], "is not a text in UTF-8");
    refused(&vec![b'#'; 2 * 1024 * 1024], "larger than 1 MiB");
    refused(&b"[".repeat(100_000), "s.conf:1:");
    fs::remove_file(folder.path().join("s.conf")).unwrap();
    let output =
        run(folder.path(), &["serve", "--log-format=human", "--config", "s.conf", "--self-signed"]);
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("s.conf: cannot be read"), "{printed}");
    assert!(!folder.path().join("seconder.db").exists());
}

#[cfg(unix)]
#[test]
fn a_file_that_everybody_can_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.conf");
    fs::write(&file, "self_signed = true\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let output = run(folder.path(), &["config", "check", "s.conf"]);
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(printed.contains("can be written by every user"), "{printed}");
}

#[test]
fn the_example_has_every_option_of_serve_and_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["config", "example"]);
    let example = String::from_utf8(output.stdout).unwrap();
    let (valid, printed) = checked(format!("{example}\nself_signed = true\n"));
    assert!(valid, "{printed}");
    let help = run(folder.path(), &["serve", "--help"]).stdout;
    let help = String::from_utf8(help).unwrap();
    let options = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    let names = options.map(|line| line.split([' ', ',']).next().unwrap().replace('-', "_"));
    // No file makes a sandbox of a service.
    let names: Vec<String> =
        names.filter(|name| !["config", "sandbox"].contains(&name.as_str())).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(example.contains(&format!("\n#{name} = ")), "{name}");
    }
}

#[test]
fn options_that_are_wrong_are_reported_as_without_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.conf"), VALID).unwrap();
    let output = run(
        folder.path(),
        &["serve", "--log-format=human", "--config", "s.conf", "--no-such-option"],
    );
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("--no-such-option"), "{printed}");
    let help =
        run(folder.path(), &["serve", "--log-format=human", "--config", "missing.conf", "--help"]);
    assert!(help.status.success());
}

/// The file of this machine's service, in a mount namespace where `/etc` is a copy.
#[cfg(target_os = "linux")]
#[test]
fn commands_read_the_file_of_the_service_of_this_machine() {
    const HIDDEN: &str = "cp -a /etc/passwd /etc/group etc && mount --bind etc /etc && exec \"$@\"";
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let as_installed = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", HIDDEN, "sh", env!("CARGO_BIN_EXE_seconder")]);
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap()
    };
    fs::create_dir_all(folder.join("etc/seconder")).unwrap();
    if !as_installed(&["--version"]).status.success() {
        println!("skipped: this user cannot mount folders");
        return;
    }
    let (path, file) = (folder.join("own.db"), folder.join("etc/seconder/seconder.conf"));
    fs::write(&file, format!("database = \"sqlite:{}\"\nself_signed = true\n", path.display()))
        .unwrap();
    drop(Serving::start(folder, &["--config", file.to_str().unwrap(), "--listen=127.0.0.1:0"]));
    let shown = as_installed(&["key"]);
    assert!(shown.status.success(), "{shown:?}");
    assert_eq!(shown.stdout, run(folder, &["key", "--config", file.to_str().unwrap()]).stdout);
    // A command line that says where the database is has the last word.
    let named = as_installed(&["key", "--database=sqlite:other.db"]);
    assert!(String::from_utf8_lossy(&named.stderr).contains("other.db"), "{named:?}");
    fs::write(&file, "databse = 1\n").unwrap();
    let wrong = as_installed(&["key"]);
    let text = String::from_utf8_lossy(&wrong.stderr);
    assert!(text.contains("/etc/seconder/seconder.conf") && text.contains("database"), "{text}");
}

//! `seconder enrol`, as a user sees it: on a pseudo-terminal, and as a program runs it.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::local_socket::{Running, copy_of_program, folder};
use crate::terminal::{Terminal, app, now};
use seconder::model::LoginName;
use seconder::otp::Totp;
use seconder::{Handle, Service, Verdict, Verify};
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A user and a group that every system has, who may do nothing.
const DAEMON: &str = "1";

/// A database that anyone may use, and a service on it.
struct World {
    folder: TempDir,
    url: String,
    service: Service,
}

impl World {
    fn new() -> World {
        let folder = TempDir::new().unwrap();
        let open = |path: &std::path::Path, mode| {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        open(folder.path(), 0o777);
        let url = format!("sqlite:{}", folder.path().join("test.db").display());
        let service = seconder::open(&url).unwrap();
        for end in ["", "-wal", "-shm"] {
            open(&folder.path().join(format!("test.db{end}")), 0o666);
        }
        World { folder, url, service }
    }

    fn enrol(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        command.args(["enrol", "--database", &self.url]).args(options);
        command
    }

    /// `seconder enrol` with these options, run by another user than root.
    fn enrol_as_daemon(&self, options: &[&str]) -> Command {
        let program = copy_of_program(self.folder.path());
        let mut command = Command::new("setpriv");
        command.args(["--reuid", DAEMON, "--regid", DAEMON, "--clear-groups"]).arg(program);
        command.arg("enrol").args(options);
        command
    }

    /// `seconder serve` for users who see to their own accounts, and the URL of its socket.
    fn serve(&self) -> (Running, TempDir, String) {
        let folder = folder();
        let rules = ["--allow", "any=own-account", "--unix-mode", "0666"];
        let running = Running::serve_database(&self.url, folder.path(), &rules);
        let url = format!("unix:{}", running.socket.display());
        (running, folder, url)
    }

    fn user(&self, login: &str) -> seconder::model::UserId {
        let user = self.service.create_user("x@example.com", "555-010-0123", "1").unwrap().user_id;
        self.service.set_login(user, &login.parse().unwrap()).unwrap();
        user
    }

    /// A user whose app has shown a code that was accepted.
    fn with_app(&self, login: &str) -> (seconder::model::UserId, Totp) {
        let user = self.user(login);
        let uri = self.service.enrol_authenticator(user).unwrap().uri;
        let app = Totp::from_uri(uri.expose()).unwrap();
        // The step of the app may end before the code is looked at, and then it is too old.
        let is_right = |_| self.verify(user, app.code(now() - 30).expose()) == Verdict::Right;
        assert!((0..2).any(is_right));
        (user, app)
    }

    fn code_by_sms(&self, user: seconder::model::UserId) -> String {
        self.service.request_sms(user).unwrap();
        let mut files = std::fs::read_dir(self.folder.path().join("test.spool")).unwrap();
        let text = std::fs::read_to_string(files.next().unwrap().unwrap().path()).unwrap();
        text.lines().find_map(|line| line.strip_prefix("Code: ")).unwrap().to_owned()
    }

    fn verify(&self, user: seconder::model::UserId, code: &str) -> Verdict {
        let call = Verify::new(user, code.parse().unwrap());
        self.service.handle(&call).unwrap().verdict
    }
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

fn login(name: &str) -> LoginName {
    name.parse().unwrap()
}

#[test]
fn root_enrols_a_user_whom_the_service_does_not_know() {
    if !is_root() {
        return;
    }
    let world = World::new();
    let mut terminal = Terminal::start(world.enrol(&["--login", "ada"]), 80);
    terminal.until("E-mail address: ");
    terminal.type_in("ada@example.com\n");
    terminal.until("Calling code");
    terminal.type_in("+1\n");
    terminal.until("Phone number");
    terminal.type_in("555-010-0123\n");
    let shown = terminal.until("shows now: ");
    assert!(shown.contains("Scan this") && shown.contains("█▀▀▀▀▀█"), "{shown}");
    assert!(shown.contains("time-based, SHA1, 6 digits, 30 seconds"), "{shown}");
    let (code, other) = (app(&shown).code(now()), app(&shown).code(now() - 86_400));
    let user = world.service.find_user(&login("ada")).unwrap();
    assert!(!user.authenticator);

    // What is mistyped shows the key again.
    terminal.type_in("12 34 56\n");
    let again = terminal.until("shows now: ");
    assert!(again.contains("digits only") && again.contains("█▀▀▀▀▀█"), "{again}");
    assert_eq!(app(&again).secret(), app(&shown).secret());
    terminal.type_in(&format!("{}\n", other.expose()));
    assert!(terminal.until("shows now: ").contains("not a code of this key"));
    terminal.type_in(&format!("{}\n", code.expose()));
    let shown = terminal.until("Press Enter");
    let codes: Vec<String> = shown
        .lines()
        .map(|line| line.trim().replace(' ', ""))
        .filter(|line| line.len() == 12 && line.bytes().all(|b| b.is_ascii_digit()))
        .collect();
    assert_eq!(codes.len(), 10, "{shown}");
    terminal.type_in("\n");
    let (_, status) = terminal.end();
    assert!(status.success());
    let user = world.service.find_user(&login("ada")).unwrap();
    assert!(user.authenticator && user.recovery_codes_left == 10);
    assert_eq!(world.verify(user.user_id, &codes[4]), Verdict::Right);
}

#[test]
fn a_narrow_terminal_shows_the_key_as_text() {
    if !is_root() {
        return;
    }
    let world = World::new();
    world.user("ada");
    let mut terminal = Terminal::start(world.enrol(&["--login", "ada"]), 40);
    let shown = terminal.until("shows now: ");
    assert!(shown.contains("too narrow") && !shown.contains('█'), "{shown}");
    for _ in 0..2 {
        terminal.type_in("000000000000\n");
        terminal.until("shows now: ");
    }
    terminal.type_in("000000000000\n");
    let (shown, status) = terminal.end();
    assert!(
        !status.success() && shown.contains("was wrong 3 times: no app was enrolled"),
        "{shown}"
    );
    assert!(!world.service.find_user(&login("ada")).unwrap().authenticator);
}

#[test]
fn ctrl_c_leaves_the_earlier_app_valid() {
    if !is_root() {
        return;
    }
    let world = World::new();
    let (user, old) = world.with_app("ada");
    let mut terminal = Terminal::start(world.enrol(&["--login", "ada"]), 80);
    let shown = terminal.until("shows now: ");
    assert!(shown.contains("present app stays valid"), "{shown}");
    terminal.type_in("\x03");
    let (_, status) = terminal.end();
    assert!(!status.success());
    // The step after the one of the last code is in the future for half a minute at most.
    assert_eq!(world.verify(user, old.code(now() + 30).expose()), Verdict::Right);
    // A code of the earlier app does not show that the new key has arrived.
    let mut terminal = Terminal::start(world.enrol(&["--login", "ada"]), 80);
    terminal.until("shows now: ");
    terminal.type_in(&format!("{}\n", old.code(now() + 60).expose()));
    assert!(terminal.until("shows now: ").contains("not a code of this key"));
}

/// Of two people with one phone number, the second gets neither the first one's account nor an app
/// for it.
#[test]
fn the_number_of_a_known_user_is_rejected_unless_that_user_is_meant() {
    let world = World::new();
    let known = world.service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let eve = ["--json", "--login", "eve", "--email", "eve@example.com", "--country-code", "1"];
    let enrol = |more: &[&str]| {
        let options = [&eve[..], &["--cellphone", "555-010-0123"], more].concat();
        world.enrol(&options).stdin(Stdio::null()).output().unwrap()
    };
    let refused = enrol(&[]);
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && refused.stdout.is_empty(), "no key is shown");
    assert!(text.contains("belongs to a user") && text.contains("--use-known"), "{text}");
    assert!(world.service.find_user(&login("eve")).is_err());
    let meant = enrol(&["--use-known"]);
    assert!(String::from_utf8(meant.stdout).unwrap().contains("otpauth:"));
    assert_eq!(world.service.find_user(&login("eve")).unwrap().user_id, known);
}

/// Somebody at an unlocked terminal must not replace what protects the account.
#[test]
fn users_enrol_themselves_once() {
    if !is_root() {
        return;
    }
    let world = World::new();
    let (_running, _folder, url) = world.serve();
    let enrol = |options: &[&str]| world.enrol_as_daemon(&[&["--url", &url], options].concat());
    let (shown, status) = Terminal::start(enrol(&[]), 80).end();
    assert!(!status.success() && shown.contains("ask the administrator"), "{shown}");
    assert!(Terminal::start(enrol(&["--login", "root"]), 80).end().0.contains("root alone"));
    world.user("daemon");
    let mut terminal = Terminal::start(enrol(&["--login", "daemon"]), 80);
    let shown = terminal.until("shows now: ");
    terminal.type_in(&format!("{}\n", app(&shown).code(now()).expose()));
    terminal.until("Press Enter");
    terminal.type_in("\n");
    assert!(terminal.end().1.success());
    let (shown, status) = Terminal::start(enrol(&[]), 80).end();
    let reason = "which only the administrator can replace";
    assert!(!status.success() && shown.contains(reason), "{shown}");

    // Nor may they add an app to an account that something else protects.
    let world = World::new();
    let (_running, _folder, url) = world.serve();
    let user = world.user("daemon");
    world.service.create_recovery_codes(user).unwrap();
    let enrol = world.enrol_as_daemon(&["--url", &url]);
    let (shown, status) = Terminal::start(enrol, 80).end();
    assert!(!status.success() && shown.contains("a second factor already"), "{shown}");
}

/// Such as the user that the service runs as.
#[test]
fn whoever_has_the_database_and_the_keyring_enrols_any_user() {
    if !is_root() {
        return;
    }
    let world = World::new();
    let ring = world.folder.path().join("ring");
    std::fs::copy(world.folder.path().join("test.db.keys"), &ring).unwrap();
    let options = ["--database", &world.url, "--login", "ada", "--keyring", ring.to_str().unwrap()];
    let enrol = || world.enrol_as_daemon(&options);
    let (shown, status) = Terminal::start(enrol(), 80).end();
    assert!(!status.success() && shown.contains("Permission denied"), "{shown}");
    std::os::unix::fs::chown(&ring, Some(1), Some(1)).unwrap();
    let mut terminal = Terminal::start(enrol(), 80);
    for (asked, typed) in
        [("E-mail", "ada@example.com\n"), ("Calling code", "1\n"), ("Phone", "555-010-0123\n")]
    {
        terminal.until(asked);
        terminal.type_in(typed);
    }
    let shown = terminal.until("shows now: ");
    terminal.type_in(&format!("{}\n", app(&shown).code(now()).expose()));
    terminal.until("Press Enter");
    terminal.type_in("\n");
    assert!(terminal.end().1.success());
    assert!(world.service.find_user(&login("ada")).unwrap().authenticator);
    // Replacing the app is not restricted either.
    let mut terminal = Terminal::start(enrol(), 80);
    assert!(terminal.until("shows now: ").contains("present app stays valid"));
}

/// The service of another user than root is trusted where an option names that user.
#[test]
fn the_user_of_the_service_is_an_option() {
    if !is_root() {
        return;
    }
    let world = World::new();
    let folder = folder();
    std::os::unix::fs::chown(folder.path(), Some(1), Some(1)).unwrap();
    let program = copy_of_program(world.folder.path());
    let mut command = Command::new("setpriv");
    command.args(["--reuid", DAEMON, "--regid", DAEMON, "--clear-groups"]).arg(program);
    command.args(["serve", "--log-format=human", "--database", "sandbox:", "--unix"]);
    let socket = folder.path().join("s.sock");
    let running = Running::start(command.arg(&socket).stdin(Stdio::null()), socket);
    let url = format!("unix:{}", running.socket.display());
    let show = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        command.args(["user", "show", "--login", "ada", "--url", &url]).args(options);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    assert!(show(&[]).contains("user 1 listens there, who is not trusted"));
    for user in ["daemon", DAEMON] {
        let text = show(&["--service-user", user]);
        assert!(!text.contains("not trusted") && text.contains("404"), "{text}");
    }
    assert!(show(&["--service-user", "no-such-user"]).contains("does not exist: no-such-user"));
}

#[test]
fn programs_enrol_with_json() {
    let world = World::new();
    let own = nix::unistd::User::from_uid(nix::unistd::getuid()).unwrap().unwrap().name;
    let user = world.user(&own);
    let refused = world.enrol(&[]).stdin(Stdio::null()).output().unwrap();
    assert!(!refused.status.success() && refused.stdout.is_empty());
    assert!(String::from_utf8(refused.stderr).unwrap().contains("--json"));
    let mut command = world.enrol(&["--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(output));
    let mut object = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let key = object();
    assert_eq!(key["login"], own.as_str());
    let app = Totp::from_uri(key["uri"].as_str().unwrap()).unwrap();
    writeln!(input, "x").unwrap();
    assert!(object()["wrong"].as_str().unwrap().contains("digits"));
    // A code by SMS would be right for the user, and does not show that the key was scanned.
    writeln!(input, "{}", world.code_by_sms(user)).unwrap();
    assert!(object()["wrong"].as_str().unwrap().contains("not a code of this key"));
    writeln!(input, "{}", app.code(now()).expose()).unwrap();
    let end = object();
    assert_eq!(
        (&end["enrolled"], end["recovery_codes"].as_array().unwrap().len()),
        (&true.into(), 10)
    );
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_user_without_a_login_name_enrols_by_the_id() {
    let world = World::new();
    let user = world.user("ada").to_string();
    let mut command = world.enrol(&["--json", "--user", &user]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(output));
    let mut object = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let key = object();
    assert_eq!((key["user_id"].to_string(), &key["login"]), (user, &Value::Null));
    let app = Totp::from_uri(key["uri"].as_str().unwrap()).unwrap();
    writeln!(input, "{}", app.code(now()).expose()).unwrap();
    assert_eq!(object()["enrolled"], true);
    assert!(child.wait().unwrap().success());
}

/// The app is enrolled whatever becomes of the recovery codes, and a program must not take it for a
/// failure.
#[test]
fn programs_learn_that_an_app_was_enrolled_without_recovery_codes() {
    let world = World::new();
    let (_running, _folder, url) = world.serve();
    let own = nix::unistd::User::from_uid(nix::unistd::getuid()).unwrap().unwrap().name;
    let user = world.user(&own);
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.args(["enrol", "--json", "--url", &url]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(output));
    let mut object = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let app = Totp::from_uri(object()["uri"].as_str().unwrap()).unwrap();
    // An administrator creates some meanwhile, so that the user may not.
    world.service.create_recovery_codes(user).unwrap();
    writeln!(input, "{}", app.code(now()).expose()).unwrap();
    let end = object();
    assert_eq!((&end["enrolled"], &end["recovery_codes"]), (&true.into(), &Value::Null), "{end}");
    assert!(end["reason"].as_str().unwrap().contains("none left"), "{end}");
    assert!(child.wait().unwrap().success());
}

/// What is said of an enrolment that ended early is true: a key that was shown stays valid.
#[test]
fn an_input_that_ends_says_what_is_so() {
    let world = World::new();
    let own = nix::unistd::User::from_uid(nix::unistd::getuid()).unwrap().unwrap().name;
    world.user(&own);
    let ended = world.enrol(&["--json"]).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success() && text.contains("no app was enrolled"), "{text}");
    assert!(!text.contains("nothing was changed"), "{text}");
}

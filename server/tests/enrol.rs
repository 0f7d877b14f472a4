//! `seconder enrol`, as a user sees it: on a pseudo-terminal, and as a program runs it.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a thread reads the terminal, and apps have clocks")]

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use seconder::model::LoginName;
use seconder::otp::Totp;
use seconder::{Handle, Service, Verdict, Verify};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// How long a program may take for what a test waits for.
const PATIENCE: Duration = Duration::from_secs(30);
/// The user `nobody` of most systems.
const NOBODY: &str = "65534";

/// A program on a terminal of its own, of which it is the controlling process.
struct Terminal {
    screen: File,
    child: Child,
    output: Receiver<Vec<u8>>,
    /// What was shown after what the test has waited for.
    shown: String,
}

impl Terminal {
    fn start(program: Command, columns: u16) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let end = || OpenOptions::new().read(true).write(true).open(&name).unwrap();
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(program.get_program()).args(program.get_args());
        command.env("TERM", "xterm").env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        drop(command);
        let screen = File::from(master);
        let (mut reader, (send, output)) = (screen.try_clone().unwrap(), channel());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // It fails when the last program that has the terminal ends.
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                if send.send(bytes[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal { screen, child, output, shown: String::new() }
    }

    /// Waits until this is shown, and returns what was shown before it.
    fn until(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.shown.find(text) {
                let rest = self.shown.split_off(at + text.len());
                return std::mem::replace(&mut self.shown, rest);
            }
            let Ok(bytes) = self.output.recv_timeout(PATIENCE) else {
                panic!("`{text}` was not shown, but:\n{}", self.shown);
            };
            self.shown += &String::from_utf8_lossy(&bytes);
        }
    }

    fn type_in(&mut self, text: &str) {
        self.screen.write_all(text.as_bytes()).unwrap();
    }

    /// What was shown until the program ended, and how it ended.
    fn end(mut self) -> (String, ExitStatus) {
        while let Ok(bytes) = self.output.recv_timeout(PATIENCE) {
            self.shown += &String::from_utf8_lossy(&bytes);
        }
        (std::mem::take(&mut self.shown), self.child.wait().unwrap())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
        for file in std::fs::read_dir(folder.path()).unwrap() {
            open(&file.unwrap().path(), 0o666);
        }
        World { folder, url, service }
    }

    fn enrol(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
        command.args(["enrol", "--database", &self.url]).args(options);
        command
    }

    /// The same, run by another user than root.
    fn enrol_as_nobody(&self, options: &[&str]) -> Command {
        let program = self.folder.path().join("seconder");
        std::fs::copy(env!("CARGO_BIN_EXE_seconder"), &program).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(program);
        command.args(["enrol", "--database", &self.url]).args(options);
        command
    }

    fn user(&self, login: &str) -> seconder::model::UserId {
        let user = self.service.create_user("x@example.com", "555-010-0123", "1").unwrap().id;
        self.service.set_login(user, &login.parse().unwrap()).unwrap();
        user
    }

    /// A user whose app has shown a code that was accepted.
    fn with_app(&self, login: &str) -> (seconder::model::UserId, Totp) {
        let user = self.user(login);
        let uri = self.service.enrol_authenticator(user).unwrap().uri;
        let app = Totp::from_uri(uri.expose()).unwrap();
        assert_eq!(self.verify(user, app.code(now() - 30).expose()), Verdict::Right);
        (user, app)
    }

    fn verify(&self, user: seconder::model::UserId, code: &str) -> Verdict {
        let call = Verify { force: true, ..Verify::new(code.parse().unwrap(), user) };
        self.service.handle(&call).unwrap().verdict
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The app whose key a terminal shows.
fn app(shown: &str) -> Totp {
    let key = shown.lines().find_map(|line| line.trim().strip_prefix("key ")).unwrap();
    Totp::from_uri(&format!("otpauth://totp/x?secret={}", key.replace(' ', ""))).unwrap()
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

/// Somebody at an unlocked terminal must not replace what protects the account.
#[test]
fn users_enrol_themselves_once() {
    if !is_root() {
        return;
    }
    let world = World::new();
    let (shown, status) = Terminal::start(world.enrol_as_nobody(&[]), 80).end();
    assert!(!status.success() && shown.contains("ask the administrator"), "{shown}");
    let other = world.enrol_as_nobody(&["--login", "root"]);
    assert!(Terminal::start(other, 80).end().0.contains("root alone"));
    world.user("nobody");
    let mut terminal = Terminal::start(world.enrol_as_nobody(&["--login", "nobody"]), 80);
    let shown = terminal.until("shows now: ");
    terminal.type_in(&format!("{}\n", app(&shown).code(now()).expose()));
    terminal.until("Press Enter");
    terminal.type_in("\n");
    assert!(terminal.end().1.success());
    let (shown, status) = Terminal::start(world.enrol_as_nobody(&[]), 80).end();
    assert!(!status.success() && shown.contains("which only root can replace"), "{shown}");

    // Nor may they add an app to an account that something else protects.
    let world = World::new();
    let user = world.user("nobody");
    world.service.create_recovery_codes(user).unwrap();
    let (shown, status) = Terminal::start(world.enrol_as_nobody(&[]), 80).end();
    assert!(!status.success() && shown.contains("a second factor already"), "{shown}");
}

#[test]
fn programs_enrol_with_json() {
    let world = World::new();
    let own = nix::unistd::User::from_uid(nix::unistd::getuid()).unwrap().unwrap().name;
    world.user(&own);
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
    writeln!(input, "{}", app.code(now()).expose()).unwrap();
    let end = object();
    assert_eq!(
        (&end["enrolled"], end["recovery_codes"].as_array().unwrap().len()),
        (&true.into(), 10)
    );
    assert!(child.wait().unwrap().success());
}

/// The app is enrolled whatever becomes of the recovery codes, and a program must not take it for a
/// failure.
#[test]
fn programs_learn_that_an_app_was_enrolled_without_recovery_codes() {
    let world = World::new();
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("s.sock");
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.args(["serve", "--database", &world.url, "--allow", "any=own-account", "--unix"]);
    let mut server = command.arg(&socket).stdin(Stdio::null()).spawn().unwrap();
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let own = nix::unistd::User::from_uid(nix::unistd::getuid()).unwrap().unwrap().name;
    let user = world.user(&own);
    let mut command = Command::new(env!("CARGO_BIN_EXE_seconder"));
    command.args(["enrol", "--json", "--url", &format!("unix:{}", socket.display())]);
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
    server.kill().unwrap();
    server.wait().unwrap();
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

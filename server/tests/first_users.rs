//! What docs/pam.md, seconder(8) and the units for systemd say of the first users: the commands are run
//! as they are printed there.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use crate::local_socket::{ADA, Running, copy_of_program, folder, is_root};
use crate::terminal::{Terminal, app, now};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The user of the service in these tests, whom no machine has; and one whom every machine has, with
/// the login name `daemon`, instead of ada.
const SERVICE: u32 = ADA;
const DAEMON: u32 = 1;

/// Listens on a socket with this mode, owner and group, as systemd does, and becomes a program of another
/// user, to which it passes it.
const ACTIVATE: &str = "import os, socket, sys
path, mode, user, group, program = sys.argv[1], int(sys.argv[2], 8), *map(int, sys.argv[3:5]), sys.argv[5:]
made = socket.socket(socket.AF_UNIX); made.bind(path); made.listen()
os.chown(path, user, group); os.chmod(path, mode)
os.dup2(os.dup(made.fileno()), 3)
os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))
os.setgroups([]); os.setresgid(user, user, user); os.setresuid(user, user, user)
os.execv(program[0], program)";

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// The commands of a text that begin with this, as words.
fn commands(text: &str, start: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\e\n", " ").replace("\\\n", " ");
    let lines = joined.lines().filter(|line| line.starts_with(start));
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// The value of a key of a unit that is set last.
fn value(unit: &str, key: &str) -> String {
    let joined = unit.replace("\\\n", " ");
    let mut lines = joined.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    lines.next_back().unwrap().to_owned()
}

/// The block of a page for this file.
fn block<'a>(page: &'a str, title: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("# in {title}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

/// The folders of a machine: that of the service's database, and that of its socket.
struct Machine {
    folder: TempDir,
    program: PathBuf,
}

impl Machine {
    fn new() -> Machine {
        let folder = folder();
        let program = copy_of_program(folder.path());
        let state = folder.path().join("state");
        fs::create_dir(&state).unwrap();
        chown(&state, Some(SERVICE), Some(SERVICE)).unwrap();
        fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
        Machine { folder, program }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s.sock")
    }

    /// The words of a command with the places and the users of this machine.
    fn here(&self, words: &[String]) -> Vec<String> {
        let folder = self.folder.path().display();
        let words = words.iter().map(|word| match word.as_str() {
            "seconder" | "/usr/bin/seconder" => self.program.display().to_string(),
            "ada" => "daemon".to_owned(),
            word => word
                .replace("/var/lib/seconder/", &format!("{folder}/state/"))
                .replace("/etc/seconder/", &format!("{folder}/state/"))
                .replace("/run/seconder/seconder.sock", &self.socket().display().to_string()),
        });
        words.collect()
    }

    /// A command that is printed somewhere, as this user.
    fn command(&self, user: u32, words: &[String]) -> Command {
        let mut command = Command::new("setpriv");
        let id = user.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).args(self.here(words));
        command.stdin(Stdio::null());
        command
    }

    /// A command of docs/pam.md, for which `runuser` becomes the user of the service.
    fn as_service(&self, words: &[String]) -> Command {
        assert_eq!(words[..4], ["runuser", "-u", "seconder", "--"]);
        self.command(SERVICE, &words[4..])
    }

    /// `seconder enrol` as the user daemon, who has no other way in.
    fn enrol_oneself(&self) -> Command {
        let url = format!("unix:{}", self.socket().display());
        self.command(DAEMON, &["seconder", "enrol", "--url", &url].map(str::to_owned))
    }

    /// Writes the configuration as the page says.
    fn init(&self, page: &str) {
        printed(self.command(SERVICE, &commands(page, "seconder init")[0]));
        // Tests that run at the same time have no port each.
        let file = self.folder.path().join("state/seconder.conf");
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("metrics = "));
        fs::write(file, lines.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    }

    /// The service of the units, with this group of the socket.
    fn start(&self, service: &str, socket: &str, group: u32) -> Running {
        let words: Vec<String> =
            value(service, "ExecStart").split_whitespace().map(str::to_owned).collect();
        let _ = fs::remove_file(self.socket());
        let mut command = Command::new("python3");
        command.args(["-c", ACTIVATE]).arg(self.socket());
        command
            .args([value(socket, "SocketMode"), SERVICE.to_string(), group.to_string()])
            .args(self.here(&words));
        Running::start(command.stdin(Stdio::null()), self.socket())
    }
}

fn printed(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Types what an enrolment asks for, until it has ended well.
fn enrol(command: Command, is_new: bool) {
    let mut terminal = Terminal::start(command, 80);
    let new = [("E-mail", "ada@example.com"), ("Calling", "1"), ("Phone", "555-010-0123")];
    for (asked, typed) in new.into_iter().filter(|_| is_new) {
        terminal.until(asked);
        terminal.type_in(&format!("{typed}\n"));
    }
    let shown = terminal.until("shows now: ");
    terminal.type_in(&format!("{}\n", app(&shown).code(now()).expose()));
    terminal.until("Press Enter");
    terminal.type_in("\n");
    assert!(terminal.end().1.success());
}

#[test]
fn the_page_about_logins_enrols_the_first_user() {
    if !is_root() {
        return;
    }
    let (page, machine) = (read("docs/pam.md"), Machine::new());
    machine.init(&page);
    let units =
        ["service", "socket"].map(|kind| read(&format!("packaging/systemd/seconder.{kind}")));
    let running = machine.start(&units[0], &units[1], SERVICE);
    let commands = commands(&page, "runuser ");
    assert_eq!(commands.len(), 3);
    enrol(machine.as_service(&commands[0]), true);
    let shown = printed(machine.as_service(&commands[1]));
    assert!(
        shown.contains("login daemon\n") && shown.contains("\nauthenticator id=1 confirmed "),
        "{shown}"
    );
    // As the page says, the units allow logins alone, and root nothing else.
    let status = "/protected/json/users/1/status";
    assert_eq!(running.call("GET", status).status, 200);
    assert_eq!(running.call("GET", "/protected/json/app/details").status, 403);
    assert_eq!(running.call_as(DAEMON, DAEMON, "GET", status).reason, "Permission denied");
}

#[test]
fn the_page_about_logins_lets_users_enrol_themselves() {
    if !is_root() {
        return;
    }
    let (page, machine) = (read("docs/pam.md"), Machine::new());
    machine.init(&page);
    let service = block(&page, "/etc/systemd/system/seconder.service.d/users.conf");
    let socket = block(&page, "/etc/systemd/system/seconder.socket.d/users.conf");
    let running = machine.start(service, socket, SERVICE);
    let create = &commands(&page, "runuser ")[2];
    assert!(printed(machine.as_service(create)).contains("user_id 1"));
    enrol(machine.enrol_oneself(), false);
    let (shown, _) = Terminal::start(machine.enrol_oneself(), 80).end();
    assert!(shown.contains("authenticator app already"), "{shown}");
    assert_eq!(running.call("GET", "/protected/json/users/1/status").status, 200);
}

#[test]
fn the_page_about_logins_lets_freeradius_check_codes() {
    if !is_root() {
        return;
    }
    let (page, machine) = (read("docs/pam.md"), Machine::new());
    machine.init(&page);
    // The machine of the test may have no FreeRADIUS.
    let service = block(&page, "/etc/systemd/system/seconder.service.d/radius.conf");
    let service = service.replace("user:freerad=", "user:daemon=");
    let socket = block(&page, "/etc/systemd/system/seconder.socket.d/radius.conf");
    assert_eq!([value(socket, "SocketGroup"), value(socket, "SocketMode")], ["freerad", "0660"]);
    let running = machine.start(&service, socket, DAEMON);
    let status = "/protected/json/users/1/status";
    assert_eq!(running.call_as(DAEMON, DAEMON, "GET", status).status, 404);
    assert_eq!(running.call_as(5, DAEMON, "GET", status).status, 403);
    assert_eq!(running.call_as(5, 5, "GET", status).reason, "Permission denied");
}

#[test]
fn the_examples_of_the_man_page_enrol_users() {
    if !is_root() {
        return;
    }
    let (page, machine) = (read("man/seconder.8.in"), Machine::new());
    let (_, examples) = page.split_once(".Sh EXAMPLES").unwrap();
    let serve = commands(examples, "seconder serve");
    let serve = serve.into_iter().find(|words| words.contains(&"--unix".to_owned())).unwrap();
    let running = Running::start(&mut machine.command(0, &serve), machine.socket());
    let mut enrolments = commands(examples, "seconder enrol").into_iter();
    // The page has this one for either of two ways to begin.
    enrol(machine.command(0, &enrolments.next().unwrap()), true);
    drop(running);
    let machine = Machine::new();
    let _running = Running::start(&mut machine.command(0, &serve), machine.socket());
    let create = &commands(examples, "seconder user create")[0];
    assert!(printed(machine.command(0, create)).contains("user_id 1"));
    enrol(machine.enrol_oneself(), false);
}

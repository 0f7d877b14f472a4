//! Drives the example daemons with hundreds of logins, many at once, while signals interrupt every
//! thread and another thread changes the environment (`storm.c`).

use super::tools::{Folder, PATIENCE, command, compile, eventually, root, run, strict};
use seconder::model::UserId;
use seconder::{Handle, Service, Settings, Verdict, Verify};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, thread};

const KEY: &str = "the-key-of-the-daemon";
/// How many users log in, in each of two rounds.
const USERS: usize = 30;
/// How many clients there are at a time.
const CLIENTS: usize = 8;
/// How many calls are under way when the daemon gets SIGTERM.
const LAST: usize = 6;
/// So many connections may be kept between the calls.
const KEPT: usize = 4;

struct User {
    id: UserId,
    code: String,
}

impl User {
    /// A code that is not the user's.
    fn wrong(&self) -> String {
        let last = if self.code.ends_with('0') { "1" } else { "0" };
        format!("{}{last}", &self.code[..self.code.len() - 1])
    }
}

/// A process that is killed when the test ends.
pub(super) struct Process(pub(super) Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running daemon, and its database, which this test has open too.
struct Daemon {
    process: Process,
    _server: Option<Process>,
    folder: Folder,
    service: Service,
    sent: Arc<Mutex<String>>,
}

/// The program `seconder`.
pub(super) fn server_program() -> PathBuf {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("debug/seconder");
    assert!(program.exists(), "`make programs` builds it");
    program
}

impl Daemon {
    /// Starts a daemon on a new database, or on a server in front of it.
    fn start(source: &str, remote: bool) -> Daemon {
        let folder = Folder::new();
        let program = compile(source, &folder);
        let storm = folder.path().join("storm.so");
        let mut shared = strict("gcc", "c99");
        shared.args(["-shared", "-fPIC"]).arg(root().join("tests/capi/storm.c"));
        let outcome = run(shared.arg("-o").arg(&storm).arg("-lpthread"));
        assert!(outcome.good, "storm.c: {}", outcome.text);
        let key = folder.write("key", &format!("{KEY}\n"));
        fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();

        let database = format!("sqlite:{}", folder.path().join("login.db").display());
        let sent: Arc<Mutex<String>> = Arc::default();
        let keep = Arc::clone(&sent);
        let settings = Settings::new(&database).api_key(KEY).deliver(
            move |message: &seconder::engine::Message| {
                keep.lock().unwrap().clone_from(&message.code);
                Ok(())
            },
        );
        let service = settings.open().unwrap();
        let (server, url) = match remote {
            true => serve(&folder, &database),
            false => (None, database),
        };
        let mut daemon = command(program);
        daemon.current_dir(folder.path()).args([&url, "key", "login.sock"]);
        if remote {
            daemon.arg("ca.pem");
        }
        let log = fs::File::create(folder.path().join("log")).unwrap();
        daemon.env("LD_PRELOAD", &storm).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let process = Process(daemon.spawn().unwrap());
        let daemon = Daemon { process, _server: server, folder, service, sent };
        eventually("the daemon listens", || UnixStream::connect(daemon.socket()).ok());
        daemon
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("login.sock")
    }

    /// A confirmed user, to whom a code was sent.
    fn user(&self, number: usize) -> User {
        let cellphone = format!("555-010-{number:04}");
        let enrolled = self.service.create_user("ada@example.com", &cellphone, "1").unwrap();
        let code = || {
            self.service.request_sms(enrolled.user_id).unwrap();
            self.sent.lock().unwrap().clone()
        };
        let confirmation = Verify::new(enrolled.user_id, code().parse().unwrap());
        assert_eq!(self.service.handle(&confirmation).unwrap().verdict, Verdict::Right);
        // A second message by the same channel would have to wait.
        self.service.request_call(enrolled.user_id).unwrap();
        User { id: enrolled.user_id, code: self.sent.lock().unwrap().clone() }
    }

    fn users(&self, from: usize, count: usize) -> Vec<User> {
        (from..from + count).map(|number| self.user(number)).collect()
    }

    /// The reply to a line; empty if the daemon closes the connection.
    fn says(&self, line: &str) -> String {
        let mut reply = String::new();
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut byte = [0];
        let _ = stream.write_all(format!("{line}\n").as_bytes());
        while matches!(stream.read(&mut byte), Ok(1)) && byte[0] != b'\n' {
            reply.push(char::from(byte[0]));
        }
        reply
    }

    fn login(&self, user: &User, code: &str) -> String {
        self.says(&format!("LOGIN {} {code}", user.id))
    }

    /// Every user gives a code that is none, a wrong one, the right one twice at once, and the right
    /// one again.
    fn everyone_logs_in(&self, users: &[User]) {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    while let Some(user) = users.get(next.fetch_add(1, Ordering::Relaxed)) {
                        self.user_logs_in(user);
                    }
                });
            }
        });
    }

    fn user_logs_in(&self, user: &User) {
        assert_eq!(self.login(user, "../sms"), "WRONG");
        assert_eq!(self.login(user, &user.wrong()), "WRONG");
        let mut both = thread::scope(|scope| {
            let other = scope.spawn(|| self.login(user, &user.code));
            [self.login(user, &user.code), other.join().unwrap()]
        });
        both.sort();
        assert_eq!(both, ["OK", "WRONG"], "a code opens one door: {}", self.log());
        assert_eq!(self.login(user, &user.code), "WRONG", "it was used");
    }

    /// The number of open descriptors. The storm has one more at times.
    fn descriptors(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.process.0.id());
        (0..20).map(|_| fs::read_dir(&folder).map_or(0, Iterator::count)).min().unwrap()
    }

    /// The number of child processes, zombies included.
    fn children(&self) -> usize {
        let own = self.process.0.id().to_string();
        let stats = fs::read_dir("/proc").unwrap().flatten();
        let stats = stats.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
        // The name, in brackets, may have spaces in it.
        let parent = |stat: &String| {
            let fields = stat.rsplit_once(')')?.1;
            Some(fields.split_whitespace().nth(1)? == own)
        };
        stats.filter(|stat| parent(stat) == Some(true)).count()
    }

    /// Ends the daemon while codes are checked, which a lock on the database delays.
    /// Returns the replies.
    fn ends_with_calls_under_way(&mut self, users: &[User]) -> Vec<String> {
        let lock = rusqlite::Connection::open(self.folder.path().join("login.db")).unwrap();
        lock.execute_batch("BEGIN IMMEDIATE").unwrap();
        let before = self.descriptors();
        let replies = thread::scope(|scope| {
            let logins: Vec<_> =
                users.iter().map(|user| scope.spawn(|| self.login(user, &user.code))).collect();
            // It forks for a login, or has one more descriptor.
            eventually("a login begins", || {
                (self.children() > 0 || self.descriptors() > before).then_some(())
            });
            thread::sleep(Duration::from_millis(700));
            let pid = self.process.0.id().to_string();
            assert!(run(command("kill").args(["-TERM", &pid])).good);
            thread::sleep(Duration::from_millis(300));
            lock.execute_batch("ROLLBACK").unwrap();
            logins.into_iter().map(|login| login.join().unwrap()).collect()
        });
        let status = eventually("the daemon ends", || self.process.0.try_wait().unwrap());
        assert!(status.success(), "{status}: {}", self.log());
        assert!(!self.socket().exists(), "the socket is removed");
        replies
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

/// Runs `seconder serve` on a database. Returns its URL.
fn serve(folder: &Folder, database: &str) -> (Option<Process>, String) {
    let path = folder.path().join("server.log");
    let mut server = command(server_program());
    server.current_dir(folder.path()).args([
        "serve",
        "--log-format=human",
        "--self-signed",
        "--database",
        database,
    ]);
    server.args(["--listen", "127.0.0.1:0", "--api-key-file", "key", "--limit", "key_rate=0"]);
    server.args(["--certificate-out", "ca.pem"]).stdin(Stdio::null());
    let server = Process(server.stderr(fs::File::create(&path).unwrap()).spawn().unwrap());
    let url = eventually("the server listens", || {
        let log = fs::read_to_string(&path).unwrap();
        let (_, rest) = log.split_once("listening on ")?;
        Some(rest.split_once('\n')?.0.to_owned())
    });
    (Some(server), url)
}

fn survives(source: &str, remote: bool) {
    let mut daemon = Daemon::start(source, remote);
    let unconfirmed =
        daemon.service.create_user("eve@example.com", "555-020-0001", "1").unwrap().user_id;
    assert_eq!(daemon.says(&format!("LOGIN {unconfirmed} 1234567")), "UNCONFIRMED");
    for line in ["LOGIN 999999 1234567", "LOGIN 0 1234567", "LOGIN 1", "HELLO", ""] {
        assert_eq!(daemon.says(line), "ERROR", "{line}");
    }
    assert_eq!(daemon.says(&"x".repeat(500)), "", "a line that is too long");

    let users = daemon.users(0, 2 * USERS);
    let (first, second) = users.split_at(USERS);
    daemon.everyone_logs_in(first);
    eventually("no children are left", || (daemon.children() == 0).then_some(()));
    let descriptors = daemon.descriptors();
    daemon.everyone_logs_in(second);
    eventually("no children are left", || (daemon.children() == 0).then_some(()));
    eventually("no descriptors are left open", || {
        (daemon.descriptors() <= descriptors + KEPT).then_some(())
    });

    let guesser = daemon.user(2 * USERS);
    let replies: Vec<String> = (0..8).map(|_| daemon.login(&guesser, &guesser.wrong())).collect();
    assert!(replies.iter().any(|reply| reply.starts_with("RETRY ")), "{replies:?}");

    let last = daemon.users(2 * USERS + 1, LAST);
    let replies = daemon.ends_with_calls_under_way(&last);
    assert!(replies.iter().any(|reply| reply == "OK"), "{replies:?}: {}", daemon.log());
    for (user, reply) in last.iter().zip(&replies) {
        // Without a reply that says otherwise, the code is as good as before.
        let again = Verify::new(user.id, user.code.parse().unwrap());
        let again = daemon.service.handle(&again).unwrap();
        let expected = if reply == "OK" { Verdict::Wrong } else { Verdict::Right };
        assert_eq!(again.verdict, expected, "{reply}");
    }
    let log = daemon.log();
    let secrets = users.iter().chain(&last).map(|user| user.code.as_str()).chain([KEY]);
    assert!(!secrets.into_iter().any(|secret| log.contains(secret)), "{log}");
}

#[test]
fn the_epoll_daemon_survives_a_storm_on_a_database() {
    survives("examples/daemon_epoll.c", false);
}

#[test]
fn the_epoll_daemon_survives_a_storm_over_https() {
    survives("examples/daemon_epoll.c", true);
}

#[test]
fn the_forking_daemon_survives_a_storm_on_a_database() {
    survives("examples/daemon_fork.c", false);
}

#[test]
fn the_forking_daemon_survives_a_storm_over_https() {
    survives("examples/daemon_fork.c", true);
}

/// A key that others may read is not used.
#[test]
fn the_daemons_reject_a_key_file_that_others_may_read() {
    for source in ["examples/daemon_epoll.c", "examples/daemon_fork.c"] {
        let folder = Folder::new();
        let program = compile(source, &folder);
        let key = folder.write("key", KEY);
        fs::set_permissions(key, fs::Permissions::from_mode(0o644)).unwrap();
        let mut daemon = command(program);
        let daemon = daemon.current_dir(folder.path()).args(["sqlite:login.db", "key", "s"]);
        let outcome = run(daemon);
        assert!(!outcome.good && outcome.text.contains("chmod 600"), "{}", outcome.text);
    }
}

/// Each daemon is to be copied on its own, so both have these functions.
#[test]
fn the_daemons_read_secrets_and_check_codes_alike() {
    let both = ["examples/daemon_epoll.c", "examples/daemon_fork.c"]
        .map(|source| fs::read_to_string(root().join(source)).unwrap());
    for function in ["static void read_secret(", "static void check("] {
        let [one, other] = both.each_ref().map(|text| {
            let (_, rest) = text.split_once(function).unwrap();
            rest.split_once("\n}\n").unwrap().0
        });
        assert_eq!(one, other, "{function}");
    }
}

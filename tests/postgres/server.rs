//! A PostgreSQL server of a test's own, on a private socket. It ends with the process that started it,
//! however that ends.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Ends the server when its standard input ends, as it does with the process that holds it, and then
/// removes what it left, unless it is to be started again.
const SUPERVISOR: &str = r#"trap "" INT TERM; "$@" & read -r word; kill -INT $!; wait $!
[ -n "$word" ] || rm -rf "$PWD""#;

#[allow(dead_code, reason = "each test uses some of it")]
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    options: Vec<String>,
    supervisor: Option<Child>,
}

/// PostgreSQL does not run as root: as whom it runs there.
fn account() -> Option<(u32, u32)> {
    let own = fs::metadata("/proc/self").unwrap();
    if std::os::unix::fs::MetadataExt::uid(&own) != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let ids = |name: &str| {
        let line = users.lines().find(|line| line.starts_with(&format!("{name}:")))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    Some(ids("postgres").or_else(|| ids("nobody")).unwrap())
}

/// The folder of the server's programs.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found =
        versions.map(|entry| entry.path().join("bin")).find(|bin| bin.join("initdb").exists());
    found.unwrap_or_else(|| panic!("PostgreSQL is missing: apt-get install postgresql"))
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
    if let Some((user, group)) = account() {
        command.uid(user).gid(group);
    }
    command
}

#[allow(dead_code, reason = "each test uses some of it")]
impl Server {
    pub(crate) fn start() -> Server {
        Server::with(&[])
    }

    /// With these settings, such as `ssl=on`.
    pub(crate) fn with(options: &[&str]) -> Server {
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        if let Some((user, group)) = account() {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        let made = command(programs().join("initdb"), folder.path())
            .args([
                "--no-sync",
                "--auth=trust",
                "--username=seconder",
                "--encoding=UTF8",
                "-D",
                "data",
            ])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let mut server = Server { folder, port: free_port(), options, supervisor: None };
        // Another process may take the port between its choice and the start, hence the attempts.
        for _ in 0..4 {
            if server.starts() {
                return server;
            }
            server.stop();
            server.port = free_port();
        }
        server.go();
        server
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a setting, which applies from the next start on.
    pub(crate) fn set(&mut self, option: &str) {
        self.options.push(option.to_owned());
    }

    /// Makes a file the server's own, as it requires of its key.
    pub(crate) fn own(&self, file: &Path, mode: u32) {
        if let Some((user, group)) = account() {
            std::os::unix::fs::chown(file, Some(user), Some(group)).unwrap();
        }
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(file, mode).unwrap();
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Starts the server, after [`Server::stop`].
    pub(crate) fn go(&mut self) {
        assert!(self.starts(), "{}", self.log());
    }

    /// Starts the server, unless another process has its port.
    fn starts(&mut self) -> bool {
        let mut start = command("sh", self.folder());
        start.args(["-c", SUPERVISOR, "sh"]).arg(programs().join("postgres"));
        start.args([
            "-D",
            "data",
            "-c",
            "listen_addresses=127.0.0.1",
            "-p",
            &self.port.to_string(),
        ]);
        start.arg("-k").arg(self.folder()).args(["-c", "max_connections=60"]);
        // No test takes the power from the machine, and a busy disk would keep others waiting.
        start.args(["-c", "fsync=off"]);
        for option in &self.options {
            start.args(["-c", option]);
        }
        let log = fs::File::create(self.folder().join("log")).unwrap();
        start.stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log);
        self.supervisor = Some(start.spawn().unwrap());
        let begun = Instant::now();
        while !self.run("postgres", "SELECT 1").0 {
            if self.log().contains("could not create any TCP/IP sockets") {
                return false;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        true
    }

    /// Stops the server, which ends all its connections.
    pub(crate) fn stop(&mut self) {
        if let Some(mut supervisor) = self.supervisor.take() {
            let mut input = supervisor.stdin.take().unwrap();
            std::io::Write::write_all(&mut input, b"keep\n").unwrap();
            drop(input);
            supervisor.wait().unwrap();
        }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder().join("log")).unwrap_or_default()
    }

    fn run(&self, database: &str, sql: &str) -> (bool, String) {
        let done = command(programs().join("psql"), self.folder())
            .args([
                "-X",
                "-A",
                "-t",
                "-q",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "seconder",
                "-d",
                database,
            ])
            .arg("-h")
            .arg(self.folder())
            .args(["-p", &self.port.to_string(), "-c", sql])
            .output()
            .unwrap();
        let text = if done.status.success() { done.stdout } else { done.stderr };
        (done.status.success(), String::from_utf8(text).unwrap().trim().to_owned())
    }

    /// Executes statements with PostgreSQL's own client.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> String {
        let (done, text) = self.run(database, sql);
        assert!(done, "{sql}: {text}");
        text
    }

    /// A backup of a database, as text.
    pub(crate) fn dump(&self, name: &str) -> Vec<u8> {
        let mut dump = command(programs().join("pg_dump"), self.folder());
        dump.args(["-U", "seconder", "-d", name, "-p", &self.port.to_string(), "-h"]);
        let done = dump.arg(self.folder()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        done.stdout
    }

    /// A new database, of which this is the URL.
    pub(crate) fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(name)
    }

    pub(crate) fn url(&self, name: &str) -> String {
        let folder = self.folder().display().to_string().replace('/', "%2F");
        format!("postgres://seconder@{folder}:{}/{name}", self.port)
    }

    /// The processes of the server.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.folder().join("data/postmaster.pid")).unwrap();
        let first: u32 = text.lines().next().unwrap().parse().unwrap();
        let parent = |process: u32| -> Option<u32> {
            let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
        };
        let all = fs::read_dir("/proc").unwrap().flatten();
        let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let children = all.filter(|process| parent(*process) == Some(first));
        std::iter::once(first).chain(children).collect()
    }

    /// Sends a signal, such as `STOP`, to every process of the server.
    pub(crate) fn signal(&self, name: &str) {
        let processes = self.processes().into_iter().map(|process| process.to_string());
        let sent = Command::new("kill").arg(format!("-{name}")).args(processes).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

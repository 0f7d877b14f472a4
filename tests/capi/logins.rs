//! Runs the example daemon whose logins are each one call, as its clients see it.

use super::daemons::{Process, server_program};
use super::examples::{now, respond_to_one};
use super::tools::{Folder, PATIENCE, command, compile, eventually, run};
use seconder::calls::SetLogin;
use seconder::engine::{ApprovalResponse, DeviceType};
use seconder::model::UserId;
use seconder::otp::Totp;
use seconder::{Handle, Service, Settings};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;

const QUESTION: &str = "Code, or 1 for an SMS, 2 for a call: ";
const OFFLINE: &str = "The service cannot be reached. Code of your authenticator app: ";
const DENIED: &str = "Access denied.\r\n";

/// A running daemon, and the database of its service.
struct Daemon {
    process: Process,
    folder: Folder,
    service: Service,
    ada: UserId,
    app: Totp,
}

/// The folder of a service with one user, ada, who has an authenticator app.
fn enrol() -> (Folder, Service, UserId, Totp) {
    let folder = Folder::new();
    let url = format!("sqlite:{}", folder.path().join("login.db").display());
    let service = Settings::new(&url).offline_days(3).open().unwrap();
    let ada = service.create_user("ada@example.com", "555-010-0123", "1").unwrap().user_id;
    let _ = service.handle(&SetLogin::new(ada, "ada".parse().unwrap())).unwrap();
    let app = service.enrol_authenticator(ada).unwrap();
    let app = Totp::from_uri(app.uri.expose()).unwrap();
    (folder, service, ada, app)
}

impl Daemon {
    /// Starts the daemon with an engine of its own, on the same database.
    fn start() -> Daemon {
        let (folder, service, ada, app) = enrol();
        let url = format!("sqlite:{}", folder.path().join("login.db").display());
        let process = serve(&folder, &[&url, "users=directory"]);
        Daemon { process, folder, service, ada, app }
    }

    /// A client that has typed a name and the password.
    fn client(&self, name: &str) -> Client {
        let stream = UnixStream::connect(self.folder.path().join("login.sock")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut client = Client(stream);
        client.reads("Login: ");
        client.types(name);
        client.reads("Password: ");
        client.types("analytical engine");
        client
    }

    /// The code that ada's app shows now, or in so many seconds.
    fn code(&self, seconds: u64) -> String {
        self.app.code(now() + seconds).expose().to_owned()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

/// Starts the daemon in a folder, and waits until it listens.
fn serve(folder: &Folder, arguments: &[&str]) -> Process {
    let log = File::create(folder.path().join("log")).unwrap();
    let mut daemon = command(compile("examples/login_daemon.c", folder));
    daemon.current_dir(folder.path()).arg("login.sock").args(arguments);
    let process =
        Process(daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap());
    let socket = folder.path().join("login.sock");
    eventually("the daemon listens", || UnixStream::connect(&socket).ok());
    process
}

struct Client(UnixStream);

impl Client {
    fn types(&mut self, line: &str) {
        self.0.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    }

    /// Reads this text, and nothing beyond it.
    #[track_caller]
    fn reads(&mut self, text: &str) {
        assert_eq!(self.reads_next(text.len()), text);
    }

    /// Reads what is shown for an approval request, and returns the number to type on the phone.
    #[track_caller]
    fn reads_number(&mut self) -> String {
        self.reads("To approve the request, type ");
        let number = self.reads_next(2);
        self.reads(" on your phone, or press Enter to give it up.\r\n");
        number
    }

    fn reads_next(&mut self, length: usize) -> String {
        let mut found = vec![0; length];
        let mut read = 0;
        while read < found.len() {
            match self.0.read(&mut found[read..]).unwrap() {
                0 => break,
                more => read += more,
            }
        }
        String::from_utf8_lossy(&found[..read]).into_owned()
    }

    #[track_caller]
    fn ends(mut self, text: &str) {
        let mut rest = String::new();
        self.0.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, text);
    }
}

#[test]
fn a_code_logs_in_once_and_wrong_ones_do_not() {
    let daemon = Daemon::start();
    let code = daemon.code(0);
    let mut client = daemon.client("ada");
    client.reads(QUESTION);
    client.types(&code);
    client.ends("Welcome.\r\n");

    let mut client = daemon.client("ada");
    client.reads(QUESTION);
    client.types(&code);
    client.reads("This code was used before. Wait for the next one.\r\n");
    for typed in ["telepathy", "000 000"] {
        client.reads(QUESTION);
        client.types(typed);
        let shown =
            if typed == "telepathy" { "A code has 6 to 12 digits." } else { "The code is wrong." };
        client.reads(&format!("{shown}\r\n"));
    }
    client.ends(DENIED);

    daemon.client("eve").ends(DENIED);
    let mut client = daemon.client("ada");
    client.reads(QUESTION);
    drop(client);
    let log = eventually("four logins", || {
        Some(daemon.log()).filter(|log| log.matches("login of ").count() == 4)
    });
    for line in [
        "login of ada by login_daemon: accepted (by a code)\n",
        "login of ada by login_daemon: denied (3 failed tries)\n",
        "login of eve by login_daemon: not enrolled (the login name has no user id)\n",
        "login of ada by login_daemon: no terminal (there is nobody to ask)\n",
    ] {
        assert_eq!(log.matches(line).count(), 1, "{line}{log}");
    }
    assert!(!log.contains(&code) && !log.contains("analytical"), "{log}");
}

#[test]
fn an_approval_on_the_phone_logs_in() {
    let daemon = Daemon::start();
    let engine = daemon.service.engine().unwrap();
    let phone = engine.register_device(daemon.ada, DeviceType::Ios).unwrap();
    let question = "Code, or 1 for a request on your phone, 2 for an SMS, 3 for a call: ";
    for (response, end) in
        [(ApprovalResponse::Approve, "Welcome.\r\n"), (ApprovalResponse::Deny, DENIED)]
    {
        let mut client = daemon.client("ada");
        client.reads(question);
        client.types("push");
        let number = client.reads_number();
        respond_to_one(&daemon.service, &phone, response, Some(&number));
        client.ends(end);
    }
    let mut client = daemon.client("ada");
    client.reads(question);
    client.types("1");
    client.reads_number();
    client.types("");
    client.reads("The request was given up.\r\n");
    client.reads(question);
    client.types(&daemon.code(0));
    client.ends("Welcome.\r\n");
}

/// A question and a wait for the phone are both under way.
#[test]
fn a_signal_ends_the_logins_and_the_daemon() {
    let mut daemon = Daemon::start();
    let engine = daemon.service.engine().unwrap();
    engine.register_device(daemon.ada, DeviceType::Ios).unwrap();
    let question = "Code, or 1 for a request on your phone, 2 for an SMS, 3 for a call: ";
    let (mut asked, mut waiting) = (daemon.client("ada"), daemon.client("ada"));
    asked.reads(question);
    waiting.reads(question);
    waiting.types("push");
    waiting.reads_number();
    assert!(run(command("kill").args(["-TERM", &daemon.process.0.id().to_string()])).good);
    asked.ends(DENIED);
    waiting.ends(DENIED);
    let status = eventually("the daemon ends", || daemon.process.0.try_wait().unwrap());
    assert!(status.success(), "{status}: {}", daemon.log());
}

/// Starts `seconder serve` on a socket in a folder.
fn service_at(folder: &Folder) -> Process {
    let log = File::create(folder.path().join("server.log")).unwrap();
    let mut server = command(server_program());
    server.current_dir(folder.path()).args(["serve", "--log-format=human", "--unix", "2fa.sock"]);
    let server = server.args(["--database", "sqlite:login.db"]).stdin(Stdio::null()).stderr(log);
    let process = Process(server.spawn().unwrap());
    let socket = folder.path().join("2fa.sock");
    eventually("the service listens", || UnixStream::connect(&socket).ok());
    process
}

#[test]
fn a_code_that_was_prepared_logs_in_while_the_service_is_down() {
    if !PathBuf::from("/etc/machine-id").exists() {
        return println!("skipped: this machine has no /etc/machine-id");
    }
    let (folder, service, ada, app) = enrol();
    let server = service_at(&folder);
    let url = format!("unix:{}", folder.path().join("2fa.sock").display());
    let cache = format!("offline_cache={}", folder.path().join("cache").display());
    let process = serve(&folder, &[&url, "users=directory", "offline=yes", &cache]);
    let daemon = Daemon { process, folder, service, ada, app };
    let mut client = daemon.client("ada");
    client.reads(QUESTION);
    client.types(&daemon.code(0));
    client.ends("Welcome.\r\n");
    drop(server);

    let code = daemon.code(30);
    for (typed, end) in [(&code, "Welcome.\r\n"), (&code, DENIED)] {
        let mut client = daemon.client("ada");
        client.reads(OFFLINE);
        client.types(typed);
        if end == DENIED {
            client.reads("The code is wrong, or was used before.\r\n");
            client.reads(OFFLINE);
            client.0.shutdown(std::net::Shutdown::Write).unwrap();
        }
        client.ends(end);
    }
    // A user of whom nothing is known here does not log in.
    daemon.client("eve").ends(DENIED);
    let log = daemon.log();
    assert!(log.contains("accepted (OFFLINE: by a code that this machine checked"), "{log}");
    assert!(log.contains("login of eve by login_daemon: service unavailable"), "{log}");
}

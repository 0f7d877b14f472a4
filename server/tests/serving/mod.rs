//! `seconder serve` as a program that runs, and what its providers ask it for.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]
#![allow(clippy::disallowed_methods, reason = "a thread reads the log of the program")]

use crate::common::{connect, exchange};
use crate::provider::printed;
use rustls::{ClientConnection, StreamOwned};
use seconder::calls::{CreateUser, RequestCall, RequestSms};
use seconder::wire::form;
use seconder::{Handle, Service, Settings};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) const PUBLIC: &str = "https://login.example";
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// A running `seconder serve`, and a client of it.
pub(crate) struct Running {
    child: Child,
    log: Arc<Mutex<String>>,
    pub(crate) at: Address,
    pub(crate) client: Service,
    settings: Settings,
}

/// Where it is, and its certificate.
#[derive(Clone)]
pub(crate) struct Address(SocketAddr, String);

impl Address {
    pub(crate) fn addr(&self) -> SocketAddr {
        self.0
    }

    pub(crate) fn connect(&self) -> StreamOwned<ClientConnection, TcpStream> {
        connect(self.0, &self.1)
    }

    /// The status and the body of the response to a request for this URL, or path.
    pub(crate) fn send(&self, method: &str, url: &str, kind: &str, body: &str) -> (u16, String) {
        let path = url.strip_prefix(PUBLIC).unwrap_or(url);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: login.example\r\nConnection: close\r\n\
             Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let got = String::from_utf8(exchange(self.0, &self.1, request.as_bytes())).unwrap();
        let (head, body) = got.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }
}

impl Running {
    pub(crate) fn start(folder: &Path, more: &[&str]) -> Running {
        let program = Command::new(env!("CARGO_BIN_EXE_seconder"));
        Running::start_by(program, folder, more, || printed(folder, &["key"]))
    }

    /// Starts it by another program, which runs it with the arguments that are added. `key` returns the API key.
    pub(crate) fn start_by(
        mut command: Command,
        folder: &Path,
        more: &[&str],
        key: impl FnOnce() -> String,
    ) -> Running {
        let mut child = command
            .current_dir(folder)
            .args(["serve", "--log-format=human", "--listen", "127.0.0.1:0", "--self-signed"])
            .args(["--limit", "number_10_minutes=0 number_day=0"])
            .args(more)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(String::new()));
        let url = loop {
            let mut line = String::new();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "{}", log.lock().unwrap());
            log.lock().unwrap().push_str(&line);
            if let Some((_, url)) = line.split_once("listening on ") {
                break url.trim().to_owned();
            }
        };
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let ca_file = folder.join("seconder-certificate.pem");
        let pem = std::fs::read_to_string(&ca_file).unwrap();
        let settings = Settings::new(&url).api_key(key().trim()).ca_file(ca_file);
        let client = settings.clone().open().unwrap();
        let addr = url.strip_prefix("https://").unwrap().parse().unwrap();
        Running { child, log, at: Address(addr, pem), client, settings }
    }

    /// Another client of it, with connections of its own.
    pub(crate) fn new_client(&self) -> Service {
        self.settings.clone().open().unwrap()
    }

    /// Those of its clients.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a code to this number, of ten digits.
    pub(crate) fn send_code(&self, number: &str, by_voice: bool) {
        let [email, number] = ["ada@example.com", number];
        let new =
            CreateUser::new(email.parse().unwrap(), number.parse().unwrap(), "1".parse().unwrap());
        // A link to the app would be another message.
        let new = CreateUser { send_install_link_via_sms: false, ..new };
        let user = self.client.handle(&new).unwrap().user_id;
        let sent = match by_voice {
            true => self
                .client
                .handle(&RequestCall { force: Some(true), ..RequestCall::new(user) })
                .map(drop),
            false => self
                .client
                .handle(&RequestSms { force: Some(true), ..RequestSms::new(user) })
                .map(drop),
        };
        sent.unwrap();
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
pub(crate) fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_true() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Makes an empty database.
pub(crate) fn database(folder: &Path) {
    let url = format!("sqlite:{}", folder.join("seconder.db").display());
    drop(Settings::new(&url).open().unwrap());
}

pub(crate) fn set_route(folder: &Path, name: &str, settings: &Value) {
    let file = folder.join(format!("{name}.json"));
    std::fs::write(&file, settings.to_string()).unwrap();
    printed(folder, &["route", "set", name, "--file", file.to_str().unwrap()]);
}

/// The jobs of a route that were sent, as `seconder jobs` prints them.
pub(crate) fn sent(folder: &Path, route: &str) -> Vec<Value> {
    let lines = printed(folder, &["jobs", "list", "--state", "sent", "--route", route, "--json"]);
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The URL for receipts in a request, however it is escaped there.
pub(crate) fn receipt_url(request: &str) -> String {
    let plain = form::unescape(request).unwrap();
    let start = plain.find(&format!("{PUBLIC}/receipts/")).unwrap_or_else(|| panic!("{plain}"));
    let end = plain[start..].find(['"', '&', ' ', '\r', '\n']).unwrap_or(plain.len() - start);
    plain[start..start + end].to_owned()
}

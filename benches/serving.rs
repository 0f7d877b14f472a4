//! Durable verifications over HTTPS, as many as a server carries, for `make bench`.
//!
//! - `serving server FOLDER USERS` serves a database with so many users, each with an authenticator app,
//!   until its standard input ends: it prints what clients need, and then a line of what it has used for
//!   each line that it reads. It logs each request to standard error, as JSON.
//! - `serving bare FOLDER USERS` does the same with a server that stores and checks nothing, and has one
//!   response to every request: what axum, rustls and the clients take.
//! - `serving strangers ADDR CONNECTIONS` opens so many connections to a server and leaves them idle, and
//!   sends it something else than a request fifty times a second, until its standard input ends.
//! - `serving load server|besieged|bare FOLDER USERS CONNECTIONS SECONDS` runs one of them, `besieged` being
//!   `server` with `strangers`, and verifies right codes over so many connections at once, each of which waits
//!   for its response before it sends the next request. Prints the time and the server's processor time of a verification, and the time within which half and
//!   99 % of the responses arrived, in nanoseconds, and the server's memory in bytes and its threads.

#![allow(
    clippy::disallowed_methods,
    reason = "the clients share a clock with the server, and a login process does not load them"
)]

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use rustix::time::{ClockId, clock_gettime};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use seconder::calls::{CreateUser, EnrolAuthenticator};
use seconder::engine::{Clock, Message};
use seconder::model::UserId;
use seconder::otp::Totp;
use seconder::{Handle, Settings};
use seconder_server::{Level, Listeners, LogFormat, Logger, Server, Tls};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;

type Failure = Box<dyn Error + Send + Sync>;

const KEY: &str = "the-key-of-the-benchmark";
/// Nothing is to be limited but by the machine.
const UNLIMITED: &str = "key_rate=0";
const STEP: u64 = 30;
/// The response to a right code of an authenticator app.
const BODY: &str = r#"{"message":"Token is valid.","token":"is valid","success":"true"}"#;
/// How much faster than time the clock of the server runs, so that each user has a new code twice a second.
const FASTER: u32 = 60;

fn main() -> Result<(), Failure> {
    // Cargo adds an argument of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["server", folder, users] => server(folder, users.parse()?),
        ["bare", _, users] => bare(users.parse()?),
        ["strangers", addr, connections] => strangers(addr.parse()?, connections.parse()?),
        ["load", which @ ("server" | "besieged" | "bare"), folder, users, connections, seconds] => {
            let seconds = Duration::from_secs_f64(seconds.parse()?);
            let printed = load([which, folder, users], connections.parse()?, seconds)?;
            Ok(writeln!(std::io::stdout(), "{printed}")?)
        }
        _ => Err("usage: serving server|bare|strangers|load …, see serving.rs".into()),
    }
}

/// A clock that runs faster since this time, in nanoseconds of Unix time.
#[derive(Clone, Copy)]
struct Fast(u64);

impl Fast {
    fn new() -> Result<Fast, Failure> {
        Ok(Fast(unix()?))
    }
}

impl Clock for Fast {
    fn now(&self) -> Duration {
        let since = unix().unwrap_or(self.0).saturating_sub(self.0);
        Duration::from_nanos(self.0) + Duration::from_nanos(since) * FASTER
    }
}

fn unix() -> Result<u64, Failure> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(u64::try_from(now.as_nanos())?)
}

fn server(folder: &str, users: usize) -> Result<(), Failure> {
    let clock = Fast::new()?;
    let settings = Settings::new(&format!("sqlite:{folder}/serving.db")).api_key(KEY);
    let settings = settings.clock(clock).limits(UNLIMITED).deliver(|_: &Message| Ok(()));
    let service = settings.open()?;
    let (made, next) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let enrol = || -> Result<(), Failure> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= users {
                return Ok(());
            }
            let phone = format!("212{:07}", 5_550_000 + number).parse()?;
            let call = CreateUser::new("ada@example.com".parse()?, phone, "1".parse()?);
            let user_id = service.handle(&call)?.user_id;
            let enrolled = service.handle(&EnrolAuthenticator::new(user_id))?;
            let user = json!([user_id.get(), enrolled.uri.expose()]);
            made.lock().map_err(|_| "a thread panicked")?.push(user);
        }
    };
    // Enough of them that they share commits.
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..32).map(|_| scope.spawn(enrol)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
    })?;
    seconder_server::raise_descriptor_limit();
    let logger = Logger::new(LogFormat::Json, Level::Info);
    let listeners = Listeners::new().tls(Tls::SelfSigned).https("127.0.0.1:0".parse()?)?;
    let server = Server::serve(service.clone(), listeners.requests(Some(logger)))?;
    let users = made.into_inner()?;
    serve(&json!({ "addr": server.addr().to_string(), "pem": server.certificate_pem(),
        "clock": clock.0, "users": users }))
}

/// A server that only answers.
fn bare(users: usize) -> Result<(), Failure> {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)?;
    let config = RustlsConfig::from_config(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let addr = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.spawn(async move {
        let router =
            Router::new().fallback(|| async { ([(CONTENT_TYPE, "application/json")], BODY) });
        let acceptor = RustlsAcceptor::new(config).acceptor(NoDelayAcceptor);
        let server = axum_server::from_tcp(listener)?.acceptor(acceptor);
        server.serve(router.into_make_service()).await
    });
    let uri = "otpauth://totp/ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
    // It is so much faster than a server that checks codes that its clients would have to wait for new ones.
    let users = (1..=users * 8).map(|user| json!([user, uri]));
    let users: Vec<Value> = users.collect();
    serve(&json!({ "addr": addr.to_string(), "pem": certified.cert.pem(), "clock": unix()?,
        "users": users }))
}

/// Prints what clients need, and what this process has used whenever it is asked.
fn serve(printed: &Value) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    writeln!(out, "{printed}")?;
    for _ in std::io::stdin().lines() {
        writeln!(out, "{}", used()?)?;
    }
    Ok(())
}

/// What the server logs, in its folder.
const LOG: &str = "serving.log";
/// The fewest verifications of which the slowest hundredth is one.
const FEWEST: usize = 100;
/// How many idle connections a server has that is besieged.
const STRANGERS: usize = 5000;

/// Leaves connections idle, and sends what is no request.
fn strangers(addr: SocketAddr, connections: usize) -> Result<(), Failure> {
    seconder_server::raise_descriptor_limit();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        for number in 0..connections {
            // One address may have half of all.
            let mut stream = stranger(addr, number).await?;
            tokio::spawn(async move {
                loop {
                    // Until the server closes it.
                    let _ = stream.read(&mut [0; 16]).await;
                    match stranger(addr, number).await {
                        Ok(another) => stream = another,
                        Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                    }
                }
            });
        }
        Ok::<_, Failure>(())
    })?;
    runtime.spawn(async move {
        let garbage: [&[u8]; 4] = [
            &[0xff; 500],
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            // A handshake that announces more than it sends.
            b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03",
            b"",
        ];
        for (number, garbage) in garbage.into_iter().cycle().enumerate() {
            if let Ok(mut stream) = stranger(addr, number).await {
                let _ = stream.write_all(garbage).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    serve(&json!({}))
}

async fn stranger(addr: SocketAddr, number: usize) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    let own = if number.is_multiple_of(2) { [127, 0, 0, 2] } else { [127, 0, 0, 3] };
    socket.bind(SocketAddr::from((own, 0)))?;
    socket.connect(addr).await
}

/// What this process has used.
fn used() -> Result<Value, Failure> {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let status = std::fs::read_to_string("/proc/self/status")?;
    let number = |name| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Ok(json!({
        "cpu": time.tv_sec as f64 * 1e9 + time.tv_nsec as f64,
        "threads": number("Threads:"),
        "memory": number("VmRSS:").map(|kilobytes| kilobytes * 1024),
    }))
}

/// A server in a process of its own.
struct Running {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Starts one, which logs to this file if it logs anything.
    fn start(arguments: &[&str], log: Stdio) -> Result<(Running, Value), Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut running = Running { child, input, output };
        let printed = running.line()?;
        Ok((running, printed))
    }

    fn line(&mut self) -> Result<Value, Failure> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    fn used(&mut self) -> Result<Value, Failure> {
        writeln!(self.input)?;
        self.line()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What all connections share.
struct Clients {
    clock: Fast,
    /// Those with no request under way: of two codes of one user that are under way at once, the server may
    /// check the newer one first, and then the older one is rejected.
    users: Mutex<VecDeque<User>>,
    /// Of the verifications since the beginning was over, in nanoseconds.
    times: Mutex<Vec<u64>>,
    addr: SocketAddr,
    tls: TlsConnector,
}

struct User {
    id: UserId,
    totp: Totp,
    /// The step whose code was used.
    step: u64,
}

fn load(
    [which, folder, users]: [&str; 3],
    connections: usize,
    time: Duration,
) -> Result<Value, Failure> {
    let (which, is_besieged) = match which {
        "besieged" => ("server", true),
        which => (which, false),
    };
    // As a service does whose log a supervisor writes to a file.
    let log = File::create(format!("{folder}/{LOG}"))?;
    let started = Running::start(&[which, folder, users], log.into());
    let (mut server, printed) = started.map_err(|error| format!("{error}, see {LOG}"))?;
    let addr = printed["addr"].as_str().ok_or("no address")?;
    let count = STRANGERS.to_string();
    let strangers =
        is_besieged.then(|| Running::start(&["strangers", addr, &count], Stdio::inherit()));
    let _strangers = strangers.transpose()?;
    let clients = Arc::new(clients(&printed)?);
    let idle = server.used()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (begun, before) = runtime.block_on(async {
        let mut tasks: Vec<_> = Vec::new();
        for _ in 0..connections {
            tasks.push(tokio::spawn(verify_on_and_on(Arc::clone(&clients))));
        }
        // Until all are connected, and what is made once is.
        tokio::time::sleep(time / 4).await;
        let (begun, before) = (Instant::now(), server.used()?);
        clients.times.lock().map_err(|_| "a panic")?.clear();
        tokio::time::sleep(time).await;
        // A short run on a machine that does other things.
        while clients.times.lock().map_err(|_| "a panic")?.len() < FEWEST
            && !tasks.iter().any(tokio::task::JoinHandle::is_finished)
        {
            tokio::time::sleep(time).await;
        }
        if let Some(failed) = tasks.into_iter().find(tokio::task::JoinHandle::is_finished) {
            failed.await??;
        }
        Ok::<_, Failure>((begun, before))
    })?;
    let (took, after) = (begun.elapsed(), server.used()?);
    let mut times = std::mem::take(&mut *clients.times.lock().map_err(|_| "a panic")?);
    times.sort_unstable();
    let count = times.len();
    let within = |part: f64| times.get((count as f64 * part) as usize);
    let cpu = |used: &Value| used["cpu"].as_f64().unwrap_or_default();
    Ok(json!({
        "time": took.as_nanos() as f64 / count as f64,
        "cpu": (cpu(&after) - cpu(&before)) / count as f64,
        "half": within(0.5),
        "p99": within(0.99),
        "longest": times.last(),
        "memory": after["memory"],
        "threads": after["threads"],
        "memory_idle": idle["memory"],
        "threads_idle": idle["threads"],
    }))
}

fn clients(printed: &Value) -> Result<Clients, Failure> {
    let mut roots = RootCertStore::empty();
    let pem = printed["pem"].as_str().ok_or("no certificate")?;
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes())?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let user = |user: &Value| -> Result<User, Failure> {
        let id = UserId::try_from(user[0].as_u64().ok_or("no id")?)?;
        let totp = Totp::from_uri(user[1].as_str().ok_or("no URI")?)?;
        Ok(User { id, totp, step: 0 })
    };
    let users = printed["users"].as_array().ok_or("no users")?;
    Ok(Clients {
        clock: Fast(printed["clock"].as_u64().ok_or("no clock")?),
        users: Mutex::new(users.iter().map(user).collect::<Result<_, _>>()?),
        times: Mutex::default(),
        addr: printed["addr"].as_str().ok_or("no address")?.parse()?,
        tls: TlsConnector::from(Arc::new(config)),
    })
}

async fn verify_on_and_on(clients: Arc<Clients>) -> Result<(), Failure> {
    let socket = TcpStream::connect(clients.addr).await?;
    socket.set_nodelay(true)?;
    let mut stream = clients.tls.connect("localhost".try_into()?, socket).await?;
    let (mut request, mut response) = (Vec::new(), Vec::new());
    loop {
        let (user, code) = clients.code().await?;
        let id = user.id;
        request.clear();
        write!(
            request,
            "GET /protected/json/verify/{code}/{id}?force=true HTTP/1.1\r\n\
             Host: localhost\r\nX-Svc-API-Key: {KEY}\r\n\r\n"
        )?;
        let begun = Instant::now();
        stream.write_all(&request).await?;
        response.clear();
        while !is_whole(&response) {
            if stream.read_buf(&mut response).await? == 0 {
                return Err("the server closed a connection".into());
            }
        }
        let took = u64::try_from(begun.elapsed().as_nanos())?;
        if !response.starts_with(b"HTTP/1.1 200 ") {
            return Err(String::from_utf8_lossy(&response).into_owned().into());
        }
        clients.times.lock().map_err(|_| "a panic")?.push(took);
        clients.users.lock().map_err(|_| "a panic")?.push_back(user);
    }
}

/// Whether a response is complete.
fn is_whole(response: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(response) else { return false };
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_some_and(|length| length.parse() == Ok(body.len()))
}

impl Clients {
    /// A user, who is to be put back, and a code of theirs that was not used before.
    async fn code(&self) -> Result<(User, String), Failure> {
        loop {
            if let Some(taken) = self.try_code()? {
                return Ok(taken);
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Nothing if nobody has a new code yet.
    fn try_code(&self) -> Result<Option<(User, String)>, Failure> {
        let now = self.clock.now().as_secs();
        let mut users = self.users.lock().map_err(|_| "a panic")?;
        // The first one has waited for the longest time.
        let Some(mut user) = users.pop_front_if(|user| user.step < now / STEP) else {
            return Ok(None);
        };
        user.step = now / STEP;
        let code = user.totp.code(now).expose().to_owned();
        Ok(Some((user, code)))
    }
}

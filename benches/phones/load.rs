//! `phones load ADDR CERTIFICATE PROCESS KEY USERS PHONES SECONDS` has so many phones look for requests, as a page does
//! that is open, each over a connection of HTTP/2 of its own: phones of users between the first one and the last,
//! which all have this key. For so many seconds they only look; then some of them respond too, for as long again.
//!
//! Prints the time within which 95 % of the polls and of the responses were replied to, in nanoseconds; the processor
//! time of the process in a second while they only look, in nanoseconds; its memory after that, in bytes; and what it
//! has added to the memory that the process has when many users were looked up, over one connection.

use super::{Done, SERVICE};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use h2::client::SendRequest;
use http::{Request, StatusCode, request};
use ring::rand::SystemRandom;
use ring::signature::EcdsaKeyPair;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use seconder::engine::approver::hash_of;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// How often a page looks that is open.
const PERIOD: Duration = Duration::from_secs(3);
/// How many phones look, for each that responds.
const LOOKING: u32 = 10;
/// How many polls there are before that, and how many of them at once: enough for all connections to the database to
/// have what they keep of it.
const WARM_UP: u32 = 10_000;
const AT_ONCE: usize = 16;
/// How many addresses the phones have, as each may have only a part of all connections.
const ADDRESSES: u32 = 16;
const API: &str = "https://localhost/-/approver/";

/// The key of all phones.
pub(crate) struct Owner(EcdsaKeyPair);

impl Owner {
    pub(crate) fn new(key: EcdsaKeyPair) -> Owner {
        Owner(key)
    }

    pub(crate) fn sign(&self, text: &str) -> Done<Vec<u8>> {
        let signature = self.0.sign(&SystemRandom::new(), text.as_bytes());
        Ok(signature.map_err(|_| "no signature")?.as_ref().to_vec())
    }

    /// What a phone signs of a request without a body.
    pub(crate) fn call(device: &str, method: &str, path: &str, time: u64) -> String {
        let body = hash_of(b"");
        format!("seconder-call-v1\n{SERVICE}\n{device}\n{method} {path}\n{body}\n{time}")
    }
}

pub(crate) struct Load {
    pub(crate) addr: SocketAddr,
    pub(crate) certificate: Vec<u8>,
    pub(crate) process: u32,
    pub(crate) owner: Owner,
    pub(crate) users: u32,
    pub(crate) phones: u32,
    pub(crate) time: Duration,
}

/// What all phones share.
struct Shared {
    addr: SocketAddr,
    tls: TlsConnector,
    owner: Owner,
    /// Of the polls and of the responses since they were last cleared.
    times: [Mutex<Vec<Duration>>; 2],
    is_responding: AtomicBool,
}

const POLLS: usize = 0;
const RESPONSES: usize = 1;

impl Load {
    pub(crate) fn run(self) -> Done<Value> {
        seconder_server::raise_descriptor_limit();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&self.certificate)?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let shared = Arc::new(Shared {
            addr: self.addr,
            tls: TlsConnector::from(Arc::new(config)),
            owner: self.owner,
            times: Default::default(),
            is_responding: AtomicBool::new(false),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (process, time) = (self.process, self.time);
        runtime.block_on(async {
            let user = |number| 1 + number * (self.users / self.phones);
            let client = connect(&shared, 0).await?;
            let mut polls = JoinSet::new();
            for number in 0..self.users.min(WARM_UP) {
                let (shared, client) = (Arc::clone(&shared), client.clone());
                let user = 1 + number * (self.users / WARM_UP).max(1);
                let device = device(user);
                polls.spawn(async move { poll(&shared.owner, &client, &device).await });
                if polls.len() >= AT_ONCE {
                    polls.join_next().await.ok_or("no poll")??.map(drop)?;
                }
            }
            for polled in polls.join_all().await {
                polled?;
            }
            let alone = memory(process)?;
            let begun = Instant::now();
            let mut phones = Vec::new();
            for number in 0..self.phones {
                // Not all at once, as people do not open their phones at once.
                let share = f64::from(number) / f64::from(self.phones);
                let first = begun + PERIOD.mul_f64(2.0 + share);
                let phone = look(Arc::clone(&shared), number, user(number), first);
                phones.push(tokio::spawn(phone));
                tokio::time::sleep(PERIOD / self.phones).await;
            }
            // Until each has looked twice.
            tokio::time::sleep(3 * PERIOD).await;
            shared.taken(POLLS)?;
            let (begun, before) = (Instant::now(), processor_time(process)?);
            tokio::time::sleep(time).await;
            let used = (processor_time(process)? - before) / begun.elapsed().as_secs_f64();
            let memory = memory(process)?;
            let polls = within(shared.taken(POLLS)?);
            shared.is_responding.store(true, Ordering::Relaxed);
            tokio::time::sleep(time).await;
            if let Some(failed) = phones.into_iter().find(tokio::task::JoinHandle::is_finished) {
                failed.await??;
            }
            Ok::<_, super::Failure>(json!({
                "polls": polls,
                "responses": within(shared.taken(RESPONSES)?),
                "processor": used,
                "memory": memory,
                "added": memory.saturating_sub(alone),
            }))
        })
    }
}

/// The time within which 95 % were over, in nanoseconds.
fn within(mut times: Vec<Duration>) -> Option<u128> {
    times.sort_unstable();
    times.get(times.len() * 95 / 100).map(Duration::as_nanos)
}

impl Shared {
    fn taken(&self, which: usize) -> Done<Vec<Duration>> {
        let times = self.times.get(which).ok_or("no times")?;
        Ok(std::mem::take(&mut *times.lock().map_err(|_| "a panic")?))
    }

    fn add(&self, which: usize, time: Duration) -> Done<()> {
        let times = self.times.get(which).ok_or("no times")?;
        times.lock().map_err(|_| "a panic")?.push(time);
        Ok(())
    }
}

/// By what the phone of a user is known. The application is the first one.
fn device(user: u32) -> String {
    format!("1.{user}")
}

async fn connect(shared: &Shared, number: u32) -> Done<SendRequest<Body>> {
    let socket = TcpSocket::new_v4()?;
    let own = [127, 0, 1, u8::try_from(number % ADDRESSES)? + 1];
    socket.bind(SocketAddr::from((own, 0)))?;
    let socket = socket.connect(shared.addr).await?;
    socket.set_nodelay(true)?;
    let stream = shared.tls.connect("localhost".try_into()?, socket).await?;
    let (client, connection) = h2::client::Builder::new().handshake(stream).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// What the phone of a user does.
async fn look(shared: Arc<Shared>, number: u32, user: u32, first: Instant) -> Done<()> {
    let client = connect(&shared, number).await?;
    let device = device(user);
    let mut next = tokio::time::Instant::from_std(first);
    let mut turn = number;
    loop {
        tokio::time::sleep_until(next).await;
        next += PERIOD;
        let begun = Instant::now();
        let reply = poll(&shared.owner, &client, &device).await?;
        shared.add(POLLS, begun.elapsed())?;
        turn += 1;
        let open = &reply["requests"][0];
        let is_due = shared.is_responding.load(Ordering::Relaxed) && turn.is_multiple_of(LOOKING);
        if is_due && open.is_object() {
            let begun = Instant::now();
            let reply = respond(&shared.owner, &client, &device, open).await?;
            shared.add(RESPONSES, begun.elapsed())?;
            if reply["status"] != "approved" {
                return Err(format!("not approved: {reply}").into());
            }
        }
    }
}

async fn poll(owner: &Owner, client: &SendRequest<Body>, device: &str) -> Done<Value> {
    let (path, time) = ("api/requests", super::now()?);
    let signature = owner.sign(&Owner::call(device, "GET", path, time))?;
    let signature = URL_SAFE_NO_PAD.encode(signature);
    let request = Request::get(format!("{API}{path}")).header(
        "authorization",
        format!("Seconder device={device}, time={time}, signature={signature}"),
    );
    exchange(client, request, Vec::new()).await
}

async fn respond(
    owner: &Owner,
    client: &SendRequest<Body>,
    device: &str,
    open: &Value,
) -> Done<Value> {
    let uuid = open["uuid"].as_str().ok_or("no uuid")?;
    let shown = hash_of(open["shown"].as_str().ok_or("nothing is shown")?.as_bytes());
    let time = super::now()?;
    let text =
        format!("seconder-response-v1\n{SERVICE}\n{device}\n{uuid}\napprove\n-\n{shown}\n{time}");
    let body = json!({
        "device": device,
        "response": "approve",
        "shown": shown,
        "time": time,
        "signature": URL_SAFE_NO_PAD.encode(owner.sign(&text)?),
    });
    let request = Request::post(format!("{API}api/requests/{uuid}/respond"));
    let request = request.header("content-type", "application/json");
    exchange(client, request, body.to_string().into_bytes()).await
}

type Body = std::io::Cursor<Vec<u8>>;

async fn exchange(
    client: &SendRequest<Body>,
    request: request::Builder,
    body: Vec<u8>,
) -> Done<Value> {
    let mut client = client.clone().ready().await?;
    let is_all = body.is_empty();
    let (response, mut sender) = client.send_request(request.body(())?, is_all)?;
    if !is_all {
        sender.send_data(std::io::Cursor::new(body), true)?;
    }
    let (head, mut body) = response.await?.into_parts();
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        bytes.extend_from_slice(&data?);
    }
    if head.status != StatusCode::OK {
        return Err(format!("{}: {}", head.status, String::from_utf8_lossy(&bytes)).into());
    }
    Ok(serde_json::from_slice(&bytes)?)
}

/// The processor time that a process has used, in nanoseconds.
fn processor_time(process: u32) -> Done<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program, in parentheses, may have spaces. User and system time are fields 14 and 15.
    let fields = stat.rsplit_once(')').ok_or("no process")?.1;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    let ticks: u64 = ticks.sum::<std::result::Result<_, _>>()?;
    // Linux counts hundredths of a second, whatever its own clock is.
    Ok(ticks as f64 * 1e7)
}

/// The memory of a process, in bytes.
fn memory(process: u32) -> Done<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()).ok_or("no memory")?;
    Ok(kilobytes.parse::<u64>()? * 1024)
}

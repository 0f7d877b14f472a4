//! How fast messages leave, and whether a provider that hangs holds up calls, for `make bench`.
//!
//! - `messages providers` runs a provider of messages by HTTP and one by SMPP, until its standard input
//!   ends, and prints their ports: see `messages/providers.rs`.
//! - `messages queue FOLDER COUNT` makes a database with so many messages that are due.
//! - `messages send FOLDER HTTP SMPP COUNT http|smpp` sends them as `seconder serve` does, by the provider at
//!   one of those ports. Prints the time and the processor time of a message, in nanoseconds.
//! - `messages calls FOLDER HTTP CALLS hang|send` makes calls to a server while messages to another
//!   country go by a provider that hangs, or sends. Prints the time that 99 % of the calls took, or less.

#![allow(
    clippy::disallowed_methods,
    reason = "providers and clients need threads, and a login process does not load them"
)]

#[path = "messages/providers.rs"]
mod providers;

use providers::Counted;
use rustix::time::{ClockId, clock_gettime};
use seconder::calls::{Channel, RequestSms, UserStatus};
use seconder::engine::{Clock, Deliver, Message, Outcome};
use seconder::model::{Secret, UserId};
use seconder::remote::Dialer;
use seconder::{Handle, Service, Settings};
use seconder_server::routes::Routes;
use seconder_server::{Listeners, Metrics, Server, Tls, Workers};
use serde_json::{Value, json};
use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, scope, sleep};
use std::time::{Duration, Instant, SystemTime};

type Failure = Box<dyn Error + Send + Sync>;

const KEY: &str = "the-key-of-the-benchmark";
/// Nothing is to be limited but by the machine.
const UNLIMITED: &str = "number_10_minutes=0 number_day=0 country_day=0 application_day=0 key_rate=0 \
                         cool_down=0 sends=100";
/// How many threads make calls, and how many request codes by the provider that may hang.
const CLIENTS: usize = 4;
const OTHERS: usize = 16;
/// How often each of those does.
const PERIOD: Duration = Duration::from_secs(1);
/// How many users the codes of a client go to.
const USERS: usize = 50;

fn main() -> Result<(), Failure> {
    // Cargo adds an argument of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let printed = match arguments.as_slice() {
        ["providers"] => return providers::run(),
        ["queue", folder, count] => return queue(folder, count.parse()?),
        ["send", folder, http, smpp, count, gateway] => {
            let settings = match *gateway {
                "http" => by_http(http, "send"),
                _ => json!({ "gateway": "smpp", "host": "127.0.0.1", "port": smpp.parse::<u16>()?,
                    "system_id": "bench", "receipts": false }),
            };
            send(folder, &settings, &Counted::at(http)?, count.parse()?)?
        }
        ["calls", folder, http, calls, how] => compare_calls(folder, http, calls.parse()?, how)?,
        _ => return Err("usage: messages providers|queue|send|calls …, see messages.rs".into()),
    };
    writeln!(std::io::stdout(), "{printed}")?;
    Ok(())
}

fn by_http(port: &str, path: &str) -> Value {
    json!({
        "gateway": "http", "url": format!("http://127.0.0.1:{port}/{path}"), "allow_http": true,
        "format": "json", "body": { "to": "{{to}}", "text": "{{text}}", "id": "{{id}}" },
    })
}

fn settings(folder: &str) -> Settings {
    Settings::new(&format!("sqlite:{folder}/messages.db")).api_key(KEY).limits(UNLIMITED)
}

/// A gateway that asks to be asked again.
struct Busy;

impl Deliver for Busy {
    fn deliver(&self, _: &Message) -> Result<(), String> {
        Ok(())
    }

    fn attempt(&self, _: &Message, _: &str) -> Outcome {
        Outcome::Retry { after: None, reason: "busy".to_owned() }
    }

    fn routes(&self, _: &str, _: Channel) -> Vec<String> {
        vec!["main".to_owned()]
    }
}

fn queue(folder: &str, count: usize) -> Result<(), Failure> {
    let service = settings(folder).deliver(Busy).open()?;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || -> Result<(), Failure> {
        while next.load(Ordering::Relaxed) < count {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number < count {
                request(&service, user(&service, "1", number)?)?;
            }
        }
        Ok(())
    };
    // Together they share the time that each transaction waits for the disk.
    scope(|scope| {
        let threads: Vec<_> = (0..OTHERS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a panic")?)
    })
}

fn user(service: &Service, country: &str, number: usize) -> Result<UserId, Failure> {
    let number = match country {
        "1" => format!("202{:07}", 5_550_000 + number),
        _ => format!("7400{number:06}"),
    };
    Ok(service.create_user("ada@example.com", &number, country)?.user_id)
}

fn request(service: &Service, user: UserId) -> Result<(), Failure> {
    service.handle(&RequestSms { force: Some(true), ..RequestSms::new(user) })?;
    Ok(())
}

/// The time when all messages of the queue are due.
struct Ahead;

impl Clock for Ahead {
    fn now(&self) -> Duration {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        now + Duration::from_secs(20)
    }
}

fn send(folder: &str, route: &Value, provider: &Counted, count: usize) -> Result<String, Failure> {
    let routes = Routes::new(Busy, Arc::new(|_| {}), None, Dialer::default());
    let service = settings(folder).deliver(routes.clone()).clock(Ahead).open()?;
    let engine = service.require_engine()?;
    engine.set_route("main", &Secret::new(route.to_string()))?;
    routes.load(engine)?;
    let metrics = Metrics::new(engine.clone());
    provider.begin()?;
    let (begun, cpu) = (Instant::now(), processor());
    let mut workers = Workers::start(engine.clone(), routes, metrics, Arc::new(|_| {}))?;
    provider.wait(count)?;
    // Until what became of the last of them is written down.
    workers.stop();
    let (time, cpu) = (begun.elapsed().as_nanos() as f64, processor() - cpu);
    let left =
        engine.job_status()?.iter().map(|status| status.waiting + status.leased).sum::<u32>();
    if left > 0 {
        return Err(format!("{left} messages were not sent").into());
    }
    let count = count as f64;
    Ok(json!({ "time": time / count, "cpu": cpu / count }).to_string())
}

fn processor() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn compare_calls(folder: &str, http: &str, calls: usize, how: &str) -> Result<String, Failure> {
    let routes = Routes::new(Busy, Arc::new(|_| {}), None, Dialer::default());
    let service = settings(folder).deliver(routes.clone()).open()?;
    let engine = service.require_engine()?.clone();
    for (name, path, country) in [("good", "send", "+1"), ("other", how, "+44")] {
        let mut route = by_http(http, path);
        route["countries"] = json!([country]);
        engine.set_route(name, &Secret::new(route.to_string()))?;
    }
    routes.load(&engine)?;
    let own: Vec<Vec<UserId>> = (0..CLIENTS)
        .map(|client| (0..USERS).map(|at| user(&service, "1", client * USERS + at)).collect())
        .collect::<Result<_, _>>()?;
    let others: Vec<UserId> =
        (0..OTHERS).map(|at| user(&service, "44", at)).collect::<Result<_, _>>()?;
    let metrics = Metrics::new(engine.clone());
    let mut workers = Workers::start(engine, routes, metrics, Arc::new(|_| {}))?;
    let listeners = Listeners::new().tls(Tls::SelfSigned);
    let server = Server::serve(service, listeners.https("127.0.0.1:0".parse()?)?)?;
    let (url, file) = (server.url(), format!("{folder}/messages.pem"));
    std::fs::write(&file, server.certificate_pem())?;
    let open = || Settings::new(&url).api_key(KEY).ca_file(&file).open();
    let stop = AtomicBool::new(false);
    let times = scope(|scope| -> Result<Vec<u128>, Failure> {
        for user in &others {
            let client = open()?;
            scope.spawn(|| again_and_again(client, *user, &stop));
        }
        // Until the provider that hangs holds all threads of its route.
        sleep(2 * PERIOD);
        let threads: Vec<_> = own
            .iter()
            .map(|users| Ok(scope.spawn(timed(open()?, users, calls / CLIENTS))))
            .collect::<Result<_, Failure>>()?;
        let times = threads.into_iter().map(|thread| thread.join().map_err(|_| "a panic")?);
        let times: Result<Vec<_>, Failure> = times.collect();
        stop.store(true, Ordering::Relaxed);
        Ok(times?.concat())
    });
    let mut times = times?;
    server.stop();
    // Its threads wait for the provider that hangs.
    thread::spawn(move || workers.stop());
    times.sort_unstable();
    let p99 = times.get(times.len() * 99 / 100).ok_or("there were no calls")?;
    Ok(json!({ "time": *p99 as f64 }).to_string())
}

/// Requests a code from time to time. It is sent, or waits: either is a success.
fn again_and_again(client: Service, user: UserId, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        if let Err(error) = request(&client, user) {
            let _ = writeln!(std::io::stderr(), "a code was not requested: {error}");
        }
        sleep(PERIOD.saturating_sub(begun.elapsed()));
    }
}

/// How long each of these calls takes.
fn timed(
    client: Service,
    users: &[UserId],
    calls: usize,
) -> impl FnOnce() -> Result<Vec<u128>, Failure> {
    move || {
        let mut times = Vec::with_capacity(calls);
        for at in 0..calls {
            let (begun, user) = (Instant::now(), users[at % USERS]);
            match at % 2 {
                0 => request(&client, user)?,
                _ => drop(client.handle(&UserStatus::new(user))?),
            }
            times.push(begun.elapsed().as_nanos());
        }
        Ok(times)
    }
}
